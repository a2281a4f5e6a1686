"""What a station's joints did, and where its things truly were, for the recording of a run."""

from __future__ import annotations

import mujoco
import numpy as np

from agent_node.runs.mcap.recorder import MotionLog
from agent_node.runs.mcap.scene_markers import Shape, ShapeKind, TruthLog
from sim.station import Station
from sim.tasks.judge import JudgedStation

_EVERY = 5
"""Logged states for each one in which the things are kept [-]: 5 Hz, enough to look at."""
_KINDS: dict[int, ShapeKind] = {
    int(mujoco.mjtGeom.mjGEOM_BOX): "box",
    int(mujoco.mjtGeom.mjGEOM_SPHERE): "sphere",
    int(mujoco.mjtGeom.mjGEOM_ELLIPSOID): "sphere",
    int(mujoco.mjtGeom.mjGEOM_CYLINDER): "cylinder",
    int(mujoco.mjtGeom.mjGEOM_CAPSULE): "cylinder",
}
"""How a viewer draws MuJoCo's geoms; a capsule as the cylinder that holds it. Others are left out."""


def motion_log(station: JudgedStation) -> MotionLog:
    """The logged joint positions of arm and gripper and their rates of change; empty where nothing has moved."""
    model, log, robot = station.world.model, station.world.log, station.world.robot
    address = [int(model.joint(name).qposadr[0]) for name in robot.joints]
    times = np.array([time for time, _ in log])
    positions = np.array([qpos[address] for _, qpos in log]).reshape(-1, len(robot.joints))
    velocities = np.gradient(positions, times, axis=0) if len(times) > 1 else np.zeros_like(positions)
    return MotionLog(times, robot.joints, positions, velocities, robot)


def truth_log(station: Station) -> TruthLog:
    """Table and things in the simulator's own geometry, from the log of the physics at 5 Hz and as they are now."""
    world = station.world
    model, data = world.model, mujoco.MjData(world.model)
    things = {placed.id for placed in world.scene.objects}
    geoms, shapes = [], []
    for geom in range(model.ngeom):
        body = model.body(int(model.geom_bodyid[geom])).name
        name = "table" if model.geom(geom).name == "table" else body
        if name != "table" and name not in things:
            continue
        if (kind := _KINDS.get(int(model.geom_type[geom]))) is not None:
            geoms.append(geom)
            shapes.append(Shape(name, kind, _extents(model, geom), tuple(model.geom_rgba[geom].tolist())))
    states = [*world.log[::_EVERY], (world.time, world.data.qpos.copy())]
    positions, quats = np.zeros((len(states), len(geoms), 3)), np.zeros((len(states), len(geoms), 4))
    for row, (_, qpos) in enumerate(states):
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        positions[row] = data.geom_xpos[geoms]
        for k, geom in enumerate(geoms):
            mujoco.mju_mat2Quat(quats[row, k], data.geom_xmat[geom])
    return TruthLog(np.array([time for time, _ in states]), shapes, positions, quats)


def _extents(model: mujoco.MjModel, geom: int) -> tuple[float, float, float]:
    """Whole extents of a geom along its own axes [m]; MuJoCo's sizes are half ones, or a radius and a half length."""
    x, y, z = model.geom_size[geom].tolist()
    kind = int(model.geom_type[geom])
    if kind == int(mujoco.mjtGeom.mjGEOM_SPHERE):
        return 2 * x, 2 * x, 2 * x
    if kind == int(mujoco.mjtGeom.mjGEOM_CYLINDER):
        return 2 * x, 2 * x, 2 * y
    if kind == int(mujoco.mjtGeom.mjGEOM_CAPSULE):
        return 2 * x, 2 * x, 2 * (x + y)
    return 2 * x, 2 * y, 2 * z
