"""What a station's joints did, and where its objects truly were, for the recording of a run."""

from __future__ import annotations

import mujoco
import numpy as np
from scipy.spatial import ConvexHull, QhullError

from toolhand.agent_node.runs.mcap.recorder import MotionLog
from toolhand.agent_node.runs.mcap.scene_markers import Shape, ShapeKind, TruthLog
from toolhand.sim.station import Station
from toolhand.sim.tasks.judge import JudgedStation

_EVERY = 5
"""Logged states for each one in which the objects are kept [-]: 5 Hz, enough to look at."""
_KINDS: dict[int, ShapeKind] = {
    int(mujoco.mjtGeom.mjGEOM_BOX): "box",
    int(mujoco.mjtGeom.mjGEOM_SPHERE): "sphere",
    int(mujoco.mjtGeom.mjGEOM_ELLIPSOID): "sphere",
    int(mujoco.mjtGeom.mjGEOM_CYLINDER): "cylinder",
    int(mujoco.mjtGeom.mjGEOM_CAPSULE): "cylinder",
    int(mujoco.mjtGeom.mjGEOM_MESH): "triangles",
}
"""How a viewer draws MuJoCo's geoms; a capsule as the cylinder that holds it. Others are left out."""
_CORNERS = 24
"""Corners of the convex hull that stands for a solid of a mesh [-]: its outline in this many directions. While an
object is carried, a recording has each of its solids every 0.2 s, in 3 kB."""
_LAST_DRAWN_GROUP = 2
"""Geoms of higher groups are not drawn by MuJoCo's cameras [-]: solids that only touch."""


def motion_log(station: JudgedStation) -> MotionLog:
    """The logged joint positions of arm and gripper and their rates of change; empty where nothing has moved."""
    model, log, robot = station.world.model, station.world.log, station.world.robot
    address = [int(model.joint(name).qposadr[0]) for name in robot.joints]
    times = np.array([time for time, _ in log])
    positions = np.array([qpos[address] for _, qpos in log]).reshape(-1, len(robot.joints))
    velocities = np.gradient(positions, times, axis=0) if len(times) > 1 else np.zeros_like(positions)
    return MotionLog(times, robot.joints, positions, velocities, robot)


def truth_log(station: Station) -> TruthLog:
    """Table and objects in the simulator's own geometry, from the log of the physics at 5 Hz and as they are now."""
    world = station.world
    model, data = world.model, mujoco.MjData(world.model)
    objects = {placed.id for placed in world.scene.objects}
    geoms, shapes = [], []
    for geom in range(model.ngeom):
        body = model.body(int(model.geom_bodyid[geom])).name
        name = "table" if model.geom(geom).name == "table" else body
        if name != "table" and name not in objects:
            continue
        kind = _KINDS.get(int(model.geom_type[geom]))
        if kind is None or (kind == "triangles" and not model.geom_contype[geom]):  # a skin of solids that are drawn
            continue
        geoms.append(geom)
        if kind == "triangles":
            shapes.append(Shape(name, kind, (1.0, 1.0, 1.0), _rgba(model, geom), _triangles(model, geom)))
        else:
            shapes.append(Shape(name, kind, _extents(model, geom), _rgba(model, geom)))
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


def _rgba(model: mujoco.MjModel, geom: int) -> tuple[float, float, float, float]:
    """Colour of a geom; where it is not drawn itself, that of its body's largest skin."""
    shown = geom
    if model.geom_group[geom] > _LAST_DRAWN_GROUP:
        of_body = np.flatnonzero(model.geom_bodyid == model.geom_bodyid[geom])
        skins = of_body[model.geom_group[of_body] <= _LAST_DRAWN_GROUP]
        shown = int(skins[np.argmax(model.geom_rbound[skins])]) if len(skins) else geom
    r, g, b, a = model.geom_rgba[shown].tolist()
    return r, g, b, a


def _triangles(model: mujoco.MjModel, geom: int) -> tuple[tuple[float, float, float], ...]:
    """Corners (3 T, 3) of the triangles of a mesh's convex hull, simplified, in the geom's frame [m]."""
    mesh = int(model.geom_dataid[geom])
    first = int(model.mesh_vertadr[mesh])
    points = np.asarray(model.mesh_vert[first : first + int(model.mesh_vertnum[mesh])], dtype=float)
    k = np.arange(_CORNERS) + 0.5
    polar, around = np.arccos(1 - 2 * k / _CORNERS), np.pi * (1 + 5**0.5) * k  # even over the sphere
    towards = np.column_stack([np.cos(around) * np.sin(polar), np.sin(around) * np.sin(polar), np.cos(polar)])
    points = points[np.unique(np.argmax(points @ towards.T, axis=0))]
    try:
        hull = ConvexHull(points)
    except QhullError:  # thinner than what the hull of its corners can be told from a plane
        return ()
    corners = points[hull.simplices]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inwards = np.einsum("ij,ij->i", normals, hull.equations[:, :3]) < 0
    corners[inwards] = corners[inwards][:, ::-1]
    return tuple((x, y, z) for x, y, z in corners.reshape(-1, 3).tolist())
