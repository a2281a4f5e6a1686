"""Objects described by an MJCF, MuJoCo's own format, as LIBERO and robosuite keep them: one rigid body.

Of a mesh the file says scale and pose; geoms that nothing collides with are what is seen, and the others are what
touches, each as its convex hull, as MuJoCo has it. https://mujoco.readthedocs.io/en/stable/XMLreference.html
"""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from toolhand.sim.objects.reading.assets import Placed
from toolhand.sim.objects.reading.bodies import MOST_GEOMETRIES, DescribedObject, box, cylinder, ellipsoid
from toolhand.sim.objects.reading.mesh_files import FORMATS, RawMesh, read_mesh
from toolhand.tool_nodes.files import MIB, read_file
from toolhand.tool_nodes.motion.urdf_xml import UrdfFile
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.types import FloatArray

_LONGEST = 4 * MIB
"""Longest file that is looked at [bytes]; those of objects have some kilobytes."""
_SEEN_GROUP = 2
"""Last group of geoms that MuJoCo draws where nobody asks for others [-]."""
_FILE = re.compile(rb"<mesh\b[^>]*?\bfile\s*=\s*[\"']([^\"'<>]+)[\"']")
_FOLDER = re.compile(rb"\b(?:meshdir|assetdir)\s*=\s*[\"']([^\"'<>]*)[\"']")


def meshes_named(path: Path, root: Path) -> tuple[Path, ...] | None:
    """The files that an MJCF names as meshes, without parsing it; None for what describes no object."""
    try:
        content = read_file(path, _LONGEST, root)
    except OSError:
        return None
    if b"<mujoco" not in content or b"<geom" not in content or b"<actuator" in content:
        return None  # scenes' settings, or a robot
    folders = ["", *(os.fsdecode(name) for name in _FOLDER.findall(content))]
    names = [os.fsdecode(name) for name in _FILE.findall(content)]
    return tuple(Path(os.path.normpath(path.parent / folder / name)) for name in names for folder in folders)


def read_mjcf(path: Path, root: Path) -> DescribedObject:
    """An object from an MJCF whose joints stand at zero.

    Args:
        root: Folder that neither it nor its meshes may lie outside of.

    Raises:
        ToolError: INVALID_ARGUMENT, naming file and line, for what is wrong; UNAVAILABLE without the extra `objects`.
    """
    if not path.resolve().is_relative_to(root.resolve()):
        raise invalid(f"The MJCF {path.name} lies outside of {root.name}.")
    try:
        return _Mjcf(UrdfFile(path, "mujoco"), root).object()
    except ToolError as error:
        raise ToolError(error.code, error.message, error.hint.replace("the robot's file", "the MJCF")) from error


@dataclass(frozen=True)
class _Geom:
    """A geom with its defaults: how it is written, its attributes, and its pose (4, 4)."""

    element: ET.Element
    T: FloatArray
    mesh: str
    drawn: bool
    touches: bool


class _Mjcf:
    def __init__(self, file: UrdfFile, root: Path) -> None:
        self._file, self._root = file, root
        for included in file.root.iter("include"):
            raise file.error(included, "an object's file must hold all of it: what it includes is not read")
        compilers = file.root.findall("compiler")
        self._compiler = {key: value for each in compilers for key, value in each.attrib.items()}
        self._defaults: dict[str, Mapping[str, Mapping[str, str]]] = {"main": {}}
        for each in file.root.findall("default"):
            self._note_defaults(each, "main", {})
        assets = [each for part in file.root.findall("asset") for each in part]
        self._meshes = {
            self._mesh_name(each): self._with_defaults(each, "main") for each in assets if each.tag == "mesh"
        }
        self._materials = {each.get("name", ""): each for each in assets if each.tag == "material"}
        self._read: dict[str, RawMesh] = {}

    def object(self) -> DescribedObject:
        file = self._file
        geoms = [geom for world in file.root.findall("worldbody") for geom in self._geoms(world, np.eye(4), "main")]
        if not 1 <= len(geoms) <= MOST_GEOMETRIES:
            raise file.error(file.root, f"an object has 1 to {MOST_GEOMETRIES} geometries, got {len(geoms)}")
        apart = any(geom.touches for geom in geoms) and any(geom.drawn for geom in geoms)
        seen = {geom.mesh for geom in geoms if geom.drawn and geom.mesh}
        meshes = [
            self._placed(geom, geom.drawn or not apart, geom.touches or not apart, apart and geom.mesh not in seen)
            for geom in geoms
        ]
        masses = [file.number(each, "mass", above=0.0) for each in file.root.iter("inertial")]
        if not masses:
            heavy = [geom.element for geom in geoms if "mass" in geom.element.attrib and geom.touches]
            masses = [file.number(each, "mass", above=-1e-12) for each in heavy]
        rubbing = [geom.element.attrib["friction"].split() for geom in geoms if "friction" in geom.element.attrib]
        frictions = [float(words[0]) for words in rubbing if words and re.fullmatch(r"\d*\.?\d+", words[0])]
        moves = any(each.tag == "joint" and each.get("type") != "free" for each in file.root.iter())
        remarks = (f"The joints of {file.path.name} do not move: it is one rigid body.",) if moves else ()
        return DescribedObject(
            tuple(meshes), sum(masses) or None, min((f for f in frictions if f), default=None), remarks
        )

    # ---- Defaults, poses ----

    def _note_defaults(self, element: ET.Element, name: str, parent: Mapping[str, Mapping[str, str]]) -> None:
        merged = {tag: dict(values) for tag, values in parent.items()}
        for child in element:
            if child.tag != "default":
                merged[child.tag] = {**merged.get(child.tag, {}), **child.attrib}
        self._defaults[name] = merged
        for child in element.findall("default"):
            self._note_defaults(child, self._file.name(child, "class"), merged)

    def _with_defaults(self, element: ET.Element, inherited: str) -> ET.Element:
        """The element itself, completed by the defaults of its class."""
        name = element.get("class", inherited)
        if name not in self._defaults:
            raise self._file.error(element, f"there is no default class {name[:60]!r}")
        for key, value in self._defaults[name].get(element.tag, {}).items():
            if key != "class":
                element.attrib.setdefault(key, value)
        return element

    def _geoms(self, body: ET.Element, T: FloatArray, inherited: str) -> Iterator[_Geom]:
        inherited = body.get("childclass", inherited)
        for child in body:
            if child.tag in ("body", "frame"):
                yield from self._geoms(child, T @ self._pose(child), inherited)
            elif child.tag == "geom":
                self._with_defaults(child, inherited)
                if child.get("type", "mesh" if "mesh" in child.attrib else "sphere") == "plane":
                    continue  # of a scene around it
                meets = [self._file.number(child, key, default="1") for key in ("contype", "conaffinity")]
                touches = any(meets)
                drawn = not touches and self._file.number(child, "group", default="0") <= _SEEN_GROUP
                yield _Geom(child, T @ self._pose(child), child.get("mesh", ""), drawn, touches)

    def _pose(self, element: ET.Element) -> FloatArray:
        file, T = self._file, np.eye(4)
        if "fromto" in element.attrib:
            ends = np.array(file.numbers(element, "fromto", 6)).reshape(2, 3)
            T[:3, 3] = ends.mean(axis=0)
            along = ends[1] - ends[0]
            if not along.any():
                raise file.error(element, "fromto must have a length")
            T[:3, :3] = Rotation.align_vectors(along[None], [[0, 0, 1]])[0].as_matrix()
            return T
        T[:3, 3] = file.numbers(element, "pos", 3, default="0 0 0")
        degrees = self._compiler.get("angle", "degree") != "radian"
        if "quat" in element.attrib:
            T[:3, :3] = self._rotation(element, "quat")
        elif "euler" in element.attrib:
            order = self._compiler.get("eulerseq", "xyz").swapcase()  # ours writes turning axes as capitals
            if not re.fullmatch(r"[xyz]{3}|[XYZ]{3}", order):
                raise file.error(element, "eulerseq must be three of x, y and z")
            T[:3, :3] = Rotation.from_euler(order, file.numbers(element, "euler", 3), degrees=degrees).as_matrix()
        elif "axisangle" in element.attrib:
            *axis, angle = file.numbers(element, "axisangle", 4)
            unit = np.array(axis) / (np.linalg.norm(axis) or 1.0)
            T[:3, :3] = Rotation.from_rotvec(unit * (np.radians(angle) if degrees else angle)).as_matrix()
        elif "xyaxes" in element.attrib or "zaxis" in element.attrib:
            raise file.error(element, "xyaxes and zaxis are not read: write the turn as quat or euler")
        return T

    def _rotation(self, element: ET.Element, key: str) -> FloatArray:
        w, x, y, z = self._file.numbers(element, key, 4, default="1 0 0 0")
        if not any((w, x, y, z)):
            raise self._file.error(element, f"{key} must not be zero")
        found: FloatArray = Rotation.from_quat((x, y, z, w)).as_matrix()
        return found

    # ---- Geometry ----

    def _placed(self, geom: _Geom, drawn: bool, solid: bool, hull: bool) -> Placed:
        raw, R_own, t_own = self._shape(geom)
        material = self._materials.get(geom.element.get("material", ""))
        paint = next((each for each in (geom.element, material) if each is not None and "rgba" in each.attrib), None)
        if paint is not None:
            rgb = np.clip(self._file.numbers(paint, "rgba", 4)[:3], 0, 1)
            raw = replace(raw, rgb=np.where(np.isnan(raw.rgb), rgb, raw.rgb))
        R, t = geom.T[:3, :3], geom.T[:3, 3]
        # An MJCF is in metres with z upwards, whatever the mesh's own format means.
        return Placed(replace(raw, y_up=False), R @ R_own, R @ t_own + t, drawn, solid, metric=True, hull=hull)

    def _shape(self, geom: _Geom) -> tuple[RawMesh, FloatArray, FloatArray]:
        """A geom's mesh, and the turn and shift of it that are its own."""
        file, element = self._file, geom.element
        kind = element.get("type", "mesh" if geom.mesh else "sphere")
        if kind == "mesh":
            asset = self._meshes.get(geom.mesh)
            if asset is None:
                raise file.error(element, f"there is no mesh {geom.mesh[:60]!r} among the assets")
            scale = np.array(file.numbers(asset, "scale", 3, default="1 1 1"))
            if not scale.all():
                raise file.error(asset, "scale must not be zero along an axis")
            R = np.diag(scale) @ self._rotation(asset, "refquat").T
            return self._mesh(geom.mesh, asset), R, -R @ np.array(file.numbers(asset, "refpos", 3, default="0 0 0"))
        words = {"box": 3, "ellipsoid": 3, "sphere": 1, "cylinder": 2, "capsule": 2}.get(kind)
        if words is None:
            raise file.error(
                element, f"a geom must be a mesh, box, sphere, cylinder, capsule or ellipsoid, got {kind[:20]!r}"
            )
        text = element.get("size", "")
        if "fromto" in element.attrib:
            ends = np.array(file.numbers(element, "fromto", 6)).reshape(2, 3)
            text = f"{text.split()[0] if text.split() else ''} {np.linalg.norm(ends[1] - ends[0]) / 2}"
        element.set("size", " ".join(text.split()[:words]))
        size = np.array(file.numbers(element, "size", words, above=0.0))
        if kind == "box":
            raw = box(size)
        elif kind == "ellipsoid":
            raw = ellipsoid(size)
        elif kind == "cylinder":
            raw = cylinder(*size)
        else:
            raw = ellipsoid(np.full(3, size[0]), size[1] if kind == "capsule" else 0.0)
        return raw, np.eye(3), np.zeros(3)

    def _mesh_name(self, element: ET.Element) -> str:
        return element.get("name") or Path(element.get("file", "")).stem

    def _mesh(self, name: str, asset: ET.Element) -> RawMesh:
        if name not in self._read:
            file = self._file
            address = file.name(asset, "file")
            folder = self._compiler.get("meshdir", self._compiler.get("assetdir", ""))
            path = file.path.parent / folder / address
            if path.suffix.lower() not in FORMATS:
                raise file.error(asset, f"a mesh must be one of {', '.join(FORMATS)}, got {address[:80]!r}")
            if not path.is_file():
                raise file.error(asset, f"the mesh {address[:80]!r} is not there")
            if not path.resolve().is_relative_to(self._root.resolve()):
                raise file.error(asset, f"the mesh {address[:80]!r} lies outside of the folder of objects")
            self._read[name] = read_mesh(path, self._root)
        return self._read[name]
