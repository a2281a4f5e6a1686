"""Robot, table and things as one MuJoCo model."""

from __future__ import annotations

import mujoco

from sim.scene.scenes import Scene
from sim.scene.table import add_table
from tool_nodes.motion.robot_model import RobotModel
from tool_nodes.motion.robot_spec import compile_spec, load_robot_spec

FLOOR_Z = -0.75
"""Height of the floor in the base frame [m]."""


def build_model(scene: Scene, robot: RobotModel) -> mujoco.MjModel:
    """Compile robot, table and objects into one model."""
    spec = load_robot_spec(robot)
    add_table(spec, scene.table_rgb)
    spec.worldbody.add_geom(
        name="floor",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[5, 5, 0.1],
        pos=[0, 0, FLOOR_Z],
        rgba=[0.45, 0.46, 0.48, 1],
    )
    for index, placed in enumerate(scene.objects):
        placed.add_to(spec, index)
    return compile_spec(spec, robot)
