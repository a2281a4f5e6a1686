"""Robot, table and objects as one MuJoCo model."""

from __future__ import annotations

import mujoco

from toolhand.sim.objects.asset import ABOVE_PADS
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.scene.table import add_table
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.motion.robot_spec import compile_spec, load_robot_spec

FLOOR_Z = -0.75
"""Height of the floor in the base frame [m]."""


def build_model(scene: Scene, robot: RobotModel) -> mujoco.MjModel:
    """Compile robot, table and objects into one model."""
    spec = load_robot_spec(robot)
    pads = [geom for geom in spec.geoms if geom.priority]
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
    _pair(spec, pads)
    return compile_spec(spec, robot)


def _pair(spec: mujoco.MjSpec, pads: list[mujoco.MjsGeom]) -> None:
    """Let objects whose own friction holds against the pads be as firm as the pads: it is their friction that differs.

    MuJoCo takes all parameters of a contact from the geom with the higher priority, and with its default softness the
    lighter body gives way: pads sank 3 mm into a card of 20 g before they pressed on it with 15 N, and pushed it out.
    """
    for number, pad in enumerate(pads):
        pad.name = pad.name or f"pad_{number}"
    for geom in [geom for geom in spec.geoms if geom.priority == ABOVE_PADS]:
        sliding, turning, rolling = geom.friction
        for pad in pads:
            spec.add_pair(
                geomname1=pad.name,
                geomname2=geom.name,
                condim=geom.condim,
                friction=[sliding, sliding, turning, rolling, rolling],
                solref=pad.solref,
                solimp=pad.solimp,
            )
