"""A robot's URDF, checked: every mistake is one sentence with file, line and element.

What is checked is what others would trip over: names, the tree that joints make of links, numbers, limits, masses,
shapes and the files of meshes. What MuJoCo refuses besides is turned into such a sentence by `compiled`.
"""

from __future__ import annotations

import copy
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np

from toolhand.tool_nodes.motion.packages import mesh_file
from toolhand.tool_nodes.motion.robot_file import robot_error
from toolhand.tool_nodes.motion.urdf_xml import UrdfFile, described

JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
"""As the URDF's specification has them."""
_WITH_RANGE = ("revolute", "prismatic")
_MESH_FORMATS = (".stl", ".obj")
"""What physics reads; other meshes (.dae) are only looked at, and left out there."""

_PLAIN = re.compile(r"[^A-Za-z0-9._-]")

_Value = TypeVar("_Value")


class Urdf:
    """A URDF, for what physics, planning and robot.yaml need of it.

    Args:
        path: The file.

    Attributes:
        links, joints: Elements by name.
        above: Name of a link to the joint whose child it is; the root has none.

    Raises:
        ToolError: INVALID_ARGUMENT for the first mistake, UNAVAILABLE where the file is missing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = UrdfFile(path)
        self.links = self._named("link")
        self.joints = self._named("joint")
        self.above: dict[str, ET.Element] = {}
        for joint in self.joints.values():
            self._check_ends(joint)
        self._check_tree()
        for joint in self.joints.values():
            self._check_joint(joint)
        self._check_mimics()
        for link in self.links.values():
            self._check_link(link)
        self._check_masses()

    def parent(self, joint: ET.Element) -> str:
        """Name of the link that a joint hangs on."""
        return self.file.child(joint, "parent").attrib["link"]

    def child(self, joint: ET.Element) -> str:
        """Name of the link that hangs on a joint."""
        return self.file.child(joint, "child").attrib["link"]

    def chain(self, tip: str) -> list[ET.Element]:
        """The joints from the root to a link, root first."""
        joints: list[ET.Element] = []
        link = tip
        while link in self.above:  # ends: `_check_tree` has found every link from a root
            joints.insert(0, self.above[link])
            link = self.parent(self.above[link])
        return joints

    def limit(self, joint: str, key: str) -> float | None:
        """A number of a joint's element `limit`; None where there is none."""
        element = self.joints[joint].find("limit")
        return None if element is None or key not in element.attrib else self.file.number(element, key)

    def offset(self, joint: str) -> tuple[float, ...]:
        """(x, y, z) of a joint in the frame of its parent [m]."""
        origin = self.joints[joint].find("origin")
        return (0.0, 0.0, 0.0) if origin is None else self.file.numbers(origin, "xyz", 3, default="0 0 0")

    @cached_property
    def for_physics(self) -> tuple[str, Mapping[str, bytes]]:
        """(XML, files) for MuJoCo: each mesh has a name of its own and is among the files, bytes by name."""
        root = copy.deepcopy(self.file.root)
        names: dict[Path, str] = {}
        for link, own in zip(root.findall("link"), self.file.root.findall("link"), strict=True):
            for tag in ("visual", "collision"):
                for shape, its in zip(link.findall(tag), own.findall(tag), strict=True):
                    mesh, source = shape.find("geometry/mesh"), its.find("geometry/mesh")
                    if mesh is None or source is None:
                        continue
                    path = self._mesh(source)
                    if path.suffix.lower() in _MESH_FORMATS:
                        name = names.setdefault(path, f"{len(names)}_{_PLAIN.sub('_', path.stem)}{path.suffix.lower()}")
                        mesh.set("filename", name)
                    else:
                        link.remove(shape)
        return ET.tostring(root, encoding="unicode"), {name: path.read_bytes() for path, name in names.items()}

    # -- checks ------------------------------------------------------------------------------------

    def _named(self, tag: str) -> dict[str, ET.Element]:
        found: dict[str, ET.Element] = {}
        for element in self.file.root.findall(tag):
            name = self.file.name(element)
            if name in found:
                raise self.file.error(element, f"the name is taken by another <{tag}>; each must have its own")
            found[name] = element
        if not found:
            raise self.file.error(self.file.root, f"it must have an element <{tag}>")
        return found

    def _check_ends(self, joint: ET.Element) -> None:
        kind = joint.attrib.get("type", "")
        if kind not in JOINT_TYPES:
            has = f"got {kind[:40]!r}" if kind else "it is missing"
            raise self.file.error(joint, f"type must be one of {', '.join(JOINT_TYPES)}; {has}")
        for end in ("parent", "child"):
            element = self.file.child(joint, end)
            name = self.file.name(element, "link")
            if name not in self.links:
                raise self.file.error(joint, f"its {end} {name[:60]!r} is no link of the file")
        parent, child = self.parent(joint), self.child(joint)
        if parent == child:
            raise self.file.error(joint, f"it joins the link {child[:60]!r} to itself; parent and child must differ")
        if child in self.above:
            other = described(self.above[child])
            raise self.file.error(joint, f"its child {child[:60]!r} is the child of {other} too; a link has one parent")
        self.above[child] = joint

    def _check_tree(self) -> None:
        """Every link hangs on a root: what does not, hangs on a cycle."""
        below: dict[str, list[str]] = {}
        for joint in self.joints.values():
            below.setdefault(self.parent(joint), []).append(self.child(joint))
        pending = [name for name in self.links if name not in self.above]
        reached = set(pending)
        while pending:
            pending.extend(found := below.get(pending.pop(), []))
            reached.update(found)
        for name in self.links:
            if name not in reached:
                joint = self._on_cycle(name)
                what = (
                    f"it closes a cycle of joints, by {self.parent(joint)[:60]!r}; joints must make a tree of the links"
                )
                raise self.file.error(joint, what)

    def _on_cycle(self, link: str) -> ET.Element:
        """A joint of the cycle that is above a link."""
        seen: set[str] = set()
        while link not in seen:
            seen.add(link)
            link = self.parent(self.above[link])
        return self.above[link]

    def _check_joint(self, joint: ET.Element) -> None:
        self._check_origin(joint)
        kind = joint.attrib["type"]
        if kind in ("fixed", "floating"):
            return
        axis = joint.find("axis")
        if axis is not None and not np.linalg.norm(self.file.numbers(axis, "xyz", 3)) > 1e-6:
            raise self.file.error(axis, f"of the joint {joint.attrib['name']!r}: xyz must not be zero")
        dynamics = joint.find("dynamics")
        if dynamics is not None:
            for key in ("damping", "friction"):
                self._not_negative(dynamics, key)
        limit = joint.find("limit")
        if limit is None:
            if kind in _WITH_RANGE:
                raise self.file.error(joint, f"a {kind} joint must have an element <limit> with lower and upper")
            return
        for key in ("effort", "velocity"):
            self._not_negative(limit, key)
        if kind in _WITH_RANGE:
            lower, upper = (self.file.number(limit, key, default="0") for key in ("lower", "upper"))
            if lower > upper:
                raise self.file.error(
                    limit, f"of the joint {joint.attrib['name']!r}: lower {lower:g} is above upper {upper:g}"
                )

    def _not_negative(self, element: ET.Element, key: str) -> None:
        if self.file.number(element, key, default="0") < 0.0:
            raise self.file.error(element, f"{key} must not be negative, got {element.attrib[key][:60]!r}")

    def _check_origin(self, element: ET.Element) -> None:
        origin = element.find("origin")
        if origin is not None:
            for key in ("xyz", "rpy"):
                self.file.numbers(origin, key, 3, default="0 0 0")

    def _check_mimics(self) -> None:
        follows: dict[str, str] = {}
        for name, joint in self.joints.items():
            mimic = joint.find("mimic")
            if mimic is None:
                continue
            leader = self.file.name(mimic, "joint")
            if leader not in self.joints:
                raise self.file.error(mimic, f"of the joint {name!r}: {leader[:60]!r} is no joint of the file")
            for key, default in (("multiplier", "1"), ("offset", "0")):
                self.file.number(mimic, key, default=default)
            follows[name] = leader
        for name in follows:
            seen = {name}
            leader = follows[name]
            while leader in follows and leader not in seen:
                seen.add(leader)
                leader = follows[leader]
            if leader in seen:
                raise self.file.error(
                    self.joints[leader], "it mimics itself over other joints; a joint that is mimicked must be driven"
                )

    def _check_link(self, link: ET.Element) -> None:
        inertial = link.find("inertial")
        if inertial is not None:
            self._check_origin(inertial)
            if self.file.number(self.file.child(inertial, "mass"), "value") < 0.0:
                raise self.file.error(inertial, f"of the link {link.attrib['name']!r}: the mass must not be negative")
            inertia = self.file.child(inertial, "inertia")
            for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"):
                self.file.number(inertia, key)
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            self._check_origin(shape)
            self._check_shape(shape, link.attrib["name"])

    def _check_shape(self, shape: ET.Element, link: str) -> None:
        geometry = self.file.child(shape, "geometry")
        box, cylinder, sphere, mesh = (geometry.find(tag) for tag in ("box", "cylinder", "sphere", "mesh"))
        if box is not None:
            self.file.numbers(box, "size", 3, above=0.0)
        elif cylinder is not None:
            for key in ("radius", "length"):
                self.file.number(cylinder, key, above=0.0)
        elif sphere is not None:
            self.file.number(sphere, "radius", above=0.0)
        elif mesh is not None:
            scale = self.file.numbers(mesh, "scale", 3, default="1 1 1")
            if 0.0 in scale:
                raise self.file.error(mesh, "scale must not be zero along any axis")
            path = self._mesh(mesh)
            if shape.tag == "collision" and path.suffix.lower() not in _MESH_FORMATS:
                formats = " or ".join(_MESH_FORMATS)
                raise self.file.error(mesh, f"a mesh for collisions must be {formats}, got {path.name[:80]!r}")
        else:
            raise self.file.error(geometry, f"of the link {link!r}: it must hold <box>, <cylinder>, <sphere> or <mesh>")

    def _mesh(self, mesh: ET.Element) -> Path:
        try:
            return mesh_file(self.file.name(mesh, "filename"), self.path.parent)
        except (ValueError, OSError) as error:
            raise self.file.error(mesh, str(error).rstrip(".")) from error

    def _check_masses(self) -> None:
        """What a joint moves, with all that is fixed to it, has a mass and moments of inertia."""
        fixed: dict[str, list[str]] = {}
        for joint in self.joints.values():
            if joint.attrib["type"] == "fixed":
                fixed.setdefault(self.parent(joint), []).append(self.child(joint))
        for joint in self.joints.values():
            if joint.attrib["type"] == "fixed":
                continue
            pending, heavy = [self.child(joint)], False
            while pending and not heavy:
                link = pending.pop()
                heavy = self._is_heavy(self.links[link])
                pending.extend(fixed.get(link, []))
            if not heavy:
                raise self.file.error(
                    self.links[self.child(joint)],
                    f"the joint {joint.attrib['name']!r} moves it, so that it must have an <inertial> with a mass and "
                    "ixx, iyy and izz above 0",
                )

    def _is_heavy(self, link: ET.Element) -> bool:
        inertial = link.find("inertial")
        if inertial is None:
            return False
        inertia = self.file.child(inertial, "inertia")
        values = [self.file.number(self.file.child(inertial, "mass"), "value")]
        values += [self.file.number(inertia, key) for key in ("ixx", "iyy", "izz")]
        return min(values) > 0.0


def compiled(path: Path, make: Callable[[], _Value]) -> _Value:
    """What MuJoCo makes of a robot's files; its ValueError becomes a sentence about the file.

    Raises:
        ToolError: INVALID_ARGUMENT.
    """
    try:
        return make()
    except ValueError as error:
        lines = [line.strip().rstrip(".") for line in str(error).splitlines()]
        raise robot_error(path, "the physics refuses it: " + "; ".join(_sayable(lines))[:300]) from error


def _sayable(lines: list[str]) -> Iterator[str]:
    return (line.removeprefix("Error: ") for line in lines if line and not line.startswith("Object name = ,"))
