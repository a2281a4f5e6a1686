"""The collision shapes of a robot's links, as its URDF has them and as MuJoCo reads them: one source for every file.

MuJoCo reads boxes, cylinders, spheres and meshes (STL, OBJ); of a mesh it collides the convex hull, and so does the
planner, so that the hull is what is exported.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import mujoco
import numpy as np

from toolhand.tool_nodes.motion.robot_file import robot_error
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.motion.robot_spec import compile_spec, load_robot_spec
from toolhand.tool_nodes.types import FloatArray

BOX, CYLINDER, SPHERE, MESH = "box", "cylinder", "sphere", "mesh"

_KINDS = {
    int(mujoco.mjtGeom.mjGEOM_BOX): BOX,
    int(mujoco.mjtGeom.mjGEOM_CYLINDER): CYLINDER,
    int(mujoco.mjtGeom.mjGEOM_SPHERE): SPHERE,
    int(mujoco.mjtGeom.mjGEOM_MESH): MESH,
}


@dataclass(frozen=True, eq=False)
class LinkShape:
    """A collision shape of a link.

    Attributes:
        link: Name of the link.
        kind: `BOX`, `CYLINDER`, `SPHERE` or `MESH`.
        T_link_shape: (4, 4) pose of the shape's centre in the frame of the link.
        size: Half extents of a box, (radius, half length) of a cylinder about its Z, (radius,) of a sphere [m]; empty
            for a mesh.
        vertices: (V, 3) of a mesh, in its own frame [m]; (0, 3) for the others.
    """

    link: str
    kind: str
    T_link_shape: FloatArray
    size: tuple[float, ...]
    vertices: FloatArray


@cache
def link_shapes(robot: RobotModel) -> tuple[LinkShape, ...]:
    """Every collision shape of the robot, links in the order of the tree.

    Raises:
        ToolError: INVALID_ARGUMENT where MuJoCo refuses the robot, or gives a shape that is none of these.
    """
    model = compile_spec(load_robot_spec(robot), robot)
    shapes = []
    for geom in np.flatnonzero(model.geom_contype).tolist():
        kind = _KINDS.get(int(model.geom_type[geom]))
        link = model.body(model.geom_bodyid[geom]).name
        if kind is None:
            raise robot_error(
                robot.urdf_path, f"the link {link!r} has a shape that is no box, cylinder, sphere or mesh"
            )
        sizes = {BOX: 3, CYLINDER: 2, SPHERE: 1, MESH: 0}[kind]
        vertices = np.empty((0, 3))
        if kind == MESH:
            mesh = model.geom_dataid[geom]
            first = model.mesh_vertadr[mesh]
            vertices = np.array(model.mesh_vert[first : first + model.mesh_vertnum[mesh]], float)
        shapes.append(
            LinkShape(link, kind, _pose(model, geom), tuple(model.geom_size[geom, :sizes].tolist()), vertices)
        )
    return tuple(shapes)


def _pose(model: mujoco.MjModel, geom: int) -> FloatArray:
    T = np.eye(4)
    R = np.empty(9)
    mujoco.mju_quat2Mat(R, model.geom_quat[geom])
    T[:3, :3], T[:3, 3] = R.reshape(3, 3), model.geom_pos[geom]
    return T
