"""Robot, table and things as one MuJoCo model."""

from __future__ import annotations

import mujoco

from sim.scene.scenes import Scene
from tool_nodes import workspace
from tool_nodes.motion.robot_model import RobotModel
from tool_nodes.motion.robot_spec import compile_spec, load_robot_spec

TABLE_THICKNESS = 0.04
"""Thickness of the table top [m]."""
FLOOR_Z = -0.75
"""Height of the floor in the base frame [m]."""


def build_model(scene: Scene, robot: RobotModel) -> mujoco.MjModel:
    """Compile robot, table and objects into one model."""
    spec = load_robot_spec(robot)
    x0, x1 = -0.30, workspace.TABLE_X[1]
    y0, y1 = workspace.TABLE_Y
    spec.worldbody.add_geom(
        name="table",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[(x1 - x0) / 2, (y1 - y0) / 2, TABLE_THICKNESS / 2],
        pos=[(x0 + x1) / 2, (y0 + y1) / 2, workspace.TABLE_Z - TABLE_THICKNESS / 2],
        rgba=[*scene.table_rgb, 1.0],
        friction=[0.8, 0.005, 0.0001],
    )
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
