"""Objects described by a URDF: links with their visual and collision geometry, as one rigid body."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import numpy as np
from scipy.spatial.transform import Rotation

from toolhand.sim.objects.reading.assets import Placed
from toolhand.sim.objects.reading.bodies import MOST_GEOMETRIES, DescribedObject, box, cylinder, ellipsoid
from toolhand.sim.objects.reading.mesh_files import FORMATS, RawMesh, read_mesh
from toolhand.tool_nodes.motion.packages import find_package
from toolhand.tool_nodes.motion.urdf_xml import UrdfFile
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.types import FloatArray

_MOST_LINKS = 32
"""Links of an object [-]: a laptop has two; more is a robot."""


def read_urdf(path: Path, root: Path) -> DescribedObject:
    """An object from a URDF whose joints stand at zero.

    Args:
        root: Folder that neither it nor its meshes may lie outside of, but in packages.

    Raises:
        ToolError: INVALID_ARGUMENT, naming file and line, for what is wrong; UNAVAILABLE without the extra `objects`.
    """
    if not path.resolve().is_relative_to(root.resolve()):
        raise invalid(f"The URDF {path.name} lies outside of {root.name}.")
    try:
        file = UrdfFile(path)
        poses, movable = _poses(file)
        links = file.root.findall("link")
        if not 1 <= len(links) <= _MOST_LINKS:
            raise file.error(file.root, f"an object has 1 to {_MOST_LINKS} links, got {len(links)}")
        meshes = [mesh for link in links for mesh in _geometries(file, link, poses, root)]
        if not 1 <= len(meshes) <= MOST_GEOMETRIES:
            raise file.error(file.root, f"an object has 1 to {MOST_GEOMETRIES} geometries, got {len(meshes)}")
        masses = [file.number(each, "value", above=0.0) for each in file.root.findall("link/inertial/mass")]
        frictions = [file.number(each, "value", above=0.0) for each in file.root.iter("lateral_friction")]
    except ToolError as error:
        raise ToolError(error.code, error.message, error.hint.replace("the robot's file", "the URDF")) from error
    remarks = (f"The joints of {path.name} do not move: it is one rigid body.",) if movable else ()
    return DescribedObject(tuple(meshes), sum(masses) or None, min(frictions, default=None), remarks)


def _poses(file: UrdfFile) -> tuple[dict[str, FloatArray], bool]:
    """Pose (4, 4) of each link in the first one's frame, and whether some joint could move."""
    joints = file.root.findall("joint")
    parents = {}
    for joint in joints:
        child = file.name(file.child(joint, "child"), "link")
        parents[child] = (file.name(file.child(joint, "parent"), "link"), _origin(file, joint))
    poses: dict[str, FloatArray] = {}
    for link in file.root.findall("link"):
        T, name, seen = np.eye(4), file.name(link), set()
        while name in parents:
            if name in seen:
                raise file.error(link, "its joints go round in a circle")
            seen.add(name)
            name, T_parent_child = parents[name]
            T = T_parent_child @ T
        poses[file.name(link)] = T
    return poses, any(joint.attrib.get("type") != "fixed" for joint in joints)


def _origin(file: UrdfFile, element: ET.Element) -> FloatArray:
    T, origin = np.eye(4), element.find("origin")
    if origin is not None:
        T[:3, 3] = file.numbers(origin, "xyz", 3, default="0 0 0")
        T[:3, :3] = Rotation.from_euler("xyz", file.numbers(origin, "rpy", 3, default="0 0 0")).as_matrix()
    return T


def _geometries(file: UrdfFile, link: ET.Element, poses: dict[str, FloatArray], root: Path) -> Iterator[Placed]:
    visuals, collisions = link.findall("visual"), link.findall("collision")
    for elements, drawn, solid in ((visuals, True, not collisions), (collisions, not visuals, True)):
        for element in elements:
            raw, stretch = _shape(file, file.child(element, "geometry"), root)
            T = poses[file.name(link)] @ _origin(file, element)
            colour = element.find("material/color")
            if colour is None and element.find("material") is not None:
                named = element.find("material").attrib.get("name", "")  # type: ignore[union-attr]
                colour = next((m.find("color") for m in file.root.findall("material") if m.get("name") == named), None)
            if colour is not None:
                rgb = np.clip(file.numbers(colour, "rgba", 4)[:3], 0, 1)
                raw = replace(raw, rgb=np.where(np.isnan(raw.rgb), rgb, raw.rgb), metric=False, y_up=False)
            yield Placed(raw, T[:3, :3] @ np.diag(stretch), T[:3, 3], drawn, solid, metric=True)


def _shape(file: UrdfFile, geometry: ET.Element, root: Path) -> tuple[RawMesh, tuple[float, ...]]:
    """A geometry, and how far its axes are stretched."""
    shape = next(iter(geometry), None)
    if shape is None:
        raise file.error(geometry, "it must hold a mesh, box, cylinder or sphere")
    if shape.tag == "mesh":
        stretch = file.numbers(shape, "scale", 3, default="1 1 1")
        if 0.0 in stretch:
            raise file.error(shape, "scale must not be zero along an axis")
        return read_mesh(_mesh_path(file, shape, root), root), stretch
    if shape.tag == "box":
        return box(np.array(file.numbers(shape, "size", 3, above=0.0)) / 2), (1.0, 1.0, 1.0)
    if shape.tag == "cylinder":
        radius, length = file.number(shape, "radius", above=0.0), file.number(shape, "length", above=0.0)
        return cylinder(radius, length / 2), (1.0, 1.0, 1.0)
    if shape.tag == "sphere":
        return ellipsoid(np.full(3, file.number(shape, "radius", above=0.0))), (1.0, 1.0, 1.0)
    raise file.error(shape, "it must be a mesh, box, cylinder or sphere")


def _mesh_path(file: UrdfFile, shape: ET.Element, root: Path) -> Path:
    """The file of a mesh: beside the URDF, or in a ROS package that is found or lies in the folder of objects."""
    address = file.name(shape, "filename").strip()
    scheme, _, rest = address.rpartition("://")
    path = file.path.parent / address
    if scheme == "package":
        package, _, within = unquote(rest).partition("/")
        folder = find_package(package)
        candidates = [root / package / within, root / within] + ([folder / within] if folder else [])
        path = next((each for each in candidates if each.is_file()), candidates[0])
        if folder and path == folder / within and path.resolve().is_relative_to(folder.resolve()):
            root = folder
    elif scheme:
        raise file.error(shape, "a mesh is named by a path or package://")
    if path.suffix.lower() not in FORMATS:
        raise file.error(shape, f"a mesh must be one of {', '.join(FORMATS)}, got {address[:80]!r}")
    if not path.is_file():
        raise file.error(shape, f"the mesh {address[:80]!r} is not there")
    if not path.resolve().is_relative_to(root.resolve()):
        raise file.error(shape, f"the mesh {address[:80]!r} lies outside of the folder of objects")
    return path
