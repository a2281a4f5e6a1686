"""From meshes in a file's unit and axes to an object that a scene can hold; what is repaired is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import ConvexHull

from toolhand.sim.objects.asset import MASS_KG, SIZE_M, Cavity, Contact, Triple
from toolhand.sim.objects.mesh_asset import MeshAsset, Skin
from toolhand.sim.objects.meshes import MassProperties, TriangleMesh, convex_mesh, joined, mass_properties
from toolhand.sim.objects.reading.colours import skins
from toolhand.sim.objects.reading.mesh_files import RawMesh
from toolhand.sim.objects.reading.notes import Note
from toolhand.sim.objects.reading.solids import coarsened, convex_parts, hull_of
from toolhand.tool_nodes.catalogue import Description
from toolhand.tool_nodes.perception.colours import name_colour
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import FloatArray

WIDEST_M = 0.6
"""Longest side of an object that is read [m]: the depth of the table."""
_MILLIMETRES = (30.0, 600.0)
"""Longest side of a mesh, in its unit, that can only be in millimetres: in metres, or in centimetres, it would be wider
than what a hand lifts and most of the table."""
_DENSITY = 400.0
"""Density of what nothing is said of [kg/m^3]: half that of wood, as packets and hard foam have it."""
_UNSAID_KG = (0.02, 1.0)
"""Bounds of the mass of an object of which none is said [kg]."""
_SEEN_FACES = 30_000
"""Triangles of an object that are drawn [-]: finer ones are coarsened to less than a camera resolves."""
_THINNEST_M = SIZE_M[0]
_ROUND_FRICTION, _FLAT_FRICTION = (0.005, 0.001), (0.005, 0.0001)
"""Torsional and rolling friction [m] of what rolls and of what stands."""
_DIRECTIONS = 24
"""Directions in which the wall of a hollow is looked for [-]."""
_LEVEL_RAD, _FIRM_M = float(np.radians(4.0)), 0.004
"""How far the faces on which an object stands slope at most [rad], and how far its centre of mass is inside of them
[m]: less than a push at the height of a hand tips over."""
_GAPS = 2
"""Directions in which the wall may be missing [-]: convex solids leave slits between them."""
_LEAST_DEPTH_M, _LEAST_RADIUS_M = 0.012, 0.012
"""A hollow is at least so deep and so wide about the middle [m]: something can be put in it."""


@dataclass(frozen=True, eq=False)
class Placed:
    """A mesh of an object and where it is in it.

    Attributes:
        R: (3, 3) turn and stretch, in units of the mesh.
        t: (3,) shift.
        drawn: Whether it is seen.
        solid: Whether it touches.
        metric: Whether R and t are in metres.
        hull: Whether it touches as its convex hull does.
    """

    raw: RawMesh
    R: FloatArray
    t: FloatArray
    drawn: bool = True
    solid: bool = True
    metric: bool = False
    hull: bool = False

    @classmethod
    def as_it_is(cls, raw: RawMesh) -> Placed:
        """An object of one mesh."""
        return cls(raw, np.eye(3), np.zeros(3))


@dataclass(frozen=True)
class ReadObject:
    """An object as it was read.

    Attributes:
        unit: The unit of its mesh and who says so, in words.
        remarks: Sentences about what was repaired or guessed.
    """

    asset: MeshAsset
    unit: str
    remarks: tuple[str, ...]


def asset_of(meshes: Sequence[Placed], note: Note, words: Description, where: str) -> ReadObject:
    """An object from its meshes.

    Args:
        meshes: At least one that is solid.
        note: Its owner's description.
        words: Name that it has where the note gives none.
        where: Name of its file in messages.

    Raises:
        ToolError: INVALID_ARGUMENT for a mesh that cannot be repaired, with what is allowed; UNAVAILABLE without the
            extra `objects`.
    """
    remarks = [remark for mesh in meshes for remark in mesh.raw.remarks]
    turn = _upright(note.up or ("y" if all(mesh.raw.y_up for mesh in meshes) else "z"))
    solids = [(mesh, _transformed(mesh.raw.vertices, mesh, turn)) for mesh in meshes if mesh.solid]
    span = np.ptp(np.vstack([vertices for _, vertices in solids]), axis=0)
    metric = all(mesh.raw.metric or mesh.metric for mesh in meshes)
    scale, unit = _scale(float(span.max()), note, metric, where, remarks)
    _check_size(span * scale, where)
    parts: list[FloatArray] = []
    closed_meshes: list[TriangleMesh] = []
    for mesh, vertices in solids:
        closed = mesh.raw.closed or mesh.hull
        solid = TriangleMesh(vertices * scale, mesh.raw.faces)
        if mesh.hull:
            solid = hull_of(vertices * scale, where)
        if closed:
            solid = _outwards(solid, where, remarks)
            closed_meshes.append(solid)
        else:
            remarks.append(f"{where} is open or crosses itself: its volume is that of its convex solids.")
        parts += convex_parts(solid, closed, where)
    corners = np.vstack(parts)
    middle = (corners.min(axis=0) + corners.max(axis=0)) / 2
    parts = [part - middle for part in parts]
    size = _triple(np.ptp(corners, axis=0))
    of_solids = mass_properties(joined([convex_mesh(part) for part in parts]))
    matter = of_solids
    if len(closed_meshes) == len(solids):
        moved = [TriangleMesh(solid.vertices - middle, solid.faces) for solid in closed_meshes]
        exact = mass_properties(joined(moved))
        if _possible(exact):
            matter = exact
    painted = _painted(meshes, turn, scale, middle)
    inside = _cavity(parts, size)
    stands = _stands(corners - middle, matter.centre_m)
    mass = note.mass or float(np.clip((note.density or _DENSITY) * matter.volume_m3, *_UNSAID_KG))
    rolling = _FLAT_FRICTION if stands else _ROUND_FRICTION
    colours = list(dict.fromkeys(name_colour(255 * np.array(skin.rgb)) for skin in painted))
    asset = MeshAsset(
        name=note.name or words.name,
        kind=note.kind or words.kind,
        colour=note.colour or colours[0],
        secondary_colour=None if note.colour or len(colours) == 1 else colours[1],
        synonyms=note.synonyms,
        categories=note.categories,
        attributes=note.attributes,
        container=inside is not None and min(inside.half_extents_m) >= 0.02,
        size_m=size,
        mass_kg=float(np.clip(mass, *MASS_KG)),
        contact=Contact((note.friction or 0.7, *rolling), 4 if stands else 6),
        cavity=inside,
        upright=stands,
        shape=note.kind or words.kind,
        parts=tuple(parts),
        skins=painted,
        matter=matter,
        own_grip=note.friction is not None,
    )
    return ReadObject(asset, unit, tuple(dict.fromkeys(remarks)))


def _upright(up: str) -> FloatArray:
    """Rotation (3, 3) that turns an axis of a mesh upwards."""
    sign, axis = (-1.0, up[1]) if up.startswith("-") else (1.0, up)
    if axis == "z":
        return np.diag([1.0, sign, sign])
    if axis == "y":
        return np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -sign], [0.0, sign, 0.0]])
    return np.array([[0.0, 0.0, -sign], [0.0, 1.0, 0.0], [sign, 0.0, 0.0]])


def _transformed(points: FloatArray, mesh: Placed, turn: FloatArray) -> FloatArray:
    return (points @ mesh.R.T + mesh.t) @ turn.T


def _scale(longest: float, note: Note, metric: bool, where: str, remarks: list[str]) -> tuple[float, str]:
    """Metres for each unit of a mesh whose longest side has a length in that unit, and who says so."""
    if note.scale is not None:
        return note.scale, f"{note.scale:g} m, as YAML says"
    if metric or SIZE_M[0] <= longest <= 1.0:
        return 1.0, "m, as its format says" if metric else "m, by its size"
    low, high = _MILLIMETRES
    if low <= longest <= high:
        remarks.append(f"{where} is {longest:.4g} units long, which are taken for millimetres; `scale` says otherwise.")
        return 0.001, "mm, by its size"
    raise invalid(
        f"{where} is {longest:.4g} units long, which is no object for a table in metres and might be in more than one "
        "other unit: say `scale`, the metres of one unit, in its YAML."
    )


def _check_size(size: FloatArray, where: str) -> None:
    if size.max() > WIDEST_M:
        raise invalid(f"{where} is {size.max():.3g} m long, and objects on the table may be {WIDEST_M:g} m long.")
    if size.min() < _THINNEST_M:
        raise invalid(
            f"{where} is {1e3 * size.min():.2g} mm thick, and an object must have at least {1e3 * _THINNEST_M:g} mm "
            "along each axis."
        )


def _outwards(mesh: TriangleMesh, where: str, remarks: list[str]) -> TriangleMesh:
    if mass_properties(mesh).volume_m3 >= 0:
        return mesh
    remarks.append(f"{where} was inside out: its faces are turned.")
    return TriangleMesh(mesh.vertices, np.ascontiguousarray(mesh.faces[:, ::-1]))


def _possible(matter: MassProperties) -> bool:
    """Whether a body can have these: the volume is positive and no moment exceeds the sum of the other two."""
    moments = np.linalg.eigvalsh(matter.inertia_m2)
    return matter.volume_m3 > 0 and moments[0] > 0 and bool(moments[2] < moments[0] + moments[1])


def _painted(meshes: Sequence[Placed], turn: FloatArray, scale: float, middle: FloatArray) -> tuple[Skin, ...]:
    drawn = [mesh for mesh in meshes if mesh.drawn] or list(meshes)
    corners = np.concatenate([_transformed(mesh.raw.corners.reshape(-1, 3), mesh, turn) for mesh in drawn])
    corners = (corners * scale - middle).reshape(-1, 3, 3)
    found = skins(corners, np.concatenate([mesh.raw.rgb for mesh in drawn]))
    faces = sum(len(skin.mesh.faces) for skin in found)
    if faces <= _SEEN_FACES:
        return found
    return tuple(
        Skin(coarsened(skin.mesh, max(100, _SEEN_FACES * len(skin.mesh.faces) // faces)), skin.rgb) for skin in found
    )


def _stands(corners: FloatArray, centre: FloatArray) -> bool:
    """Whether an object stays as it is put: its centre of mass is above what touches the table, with a margin."""
    hull = ConvexHull(corners)
    level = (hull.equations[:, 2] < -np.cos(_LEVEL_RAD)) & (corners[hull.simplices][:, :, 2].min(axis=1) < 0)
    if not level.any():
        return False
    lowest = corners[hull.simplices[level]].reshape(-1, 3)[:, :2]
    for angle in np.arange(_DIRECTIONS) * 2 * np.pi / _DIRECTIONS:
        away = np.array([np.cos(angle), np.sin(angle)])
        if (lowest @ away).max() < centre[:2] @ away + _FIRM_M:
            return False
    return True


def _cavity(parts: Sequence[FloatArray], size: Triple) -> Cavity | None:
    """The hollow about the middle that is open above and has a wall all around; None where there is none."""
    halves = [_halfspaces(part) for part in parts]
    angles = np.arange(_DIRECTIONS) * 2 * np.pi / _DIRECTIONS
    reach = np.linspace(0, np.hypot(*size[:2]) / 2, 40)
    spots = np.stack([np.outer(np.cos(angles), reach), np.outer(np.sin(angles), reach)], axis=-1)
    top = np.max([_top_of(half, spots.reshape(-1, 2)) for half in halves], axis=0).reshape(_DIRECTIONS, -1)
    floor, rim = float(top[:, 0].max()), float(np.sort(top.max(axis=1))[_GAPS])
    if not np.isfinite(floor) or rim - floor < _LEAST_DEPTH_M:
        return None
    high = top > (floor + rim) / 2
    radius = float(reach[np.argmax(high, axis=1)[high.any(axis=1)]].min() - reach[1])
    return Cavity((radius, radius), True, floor, rim) if radius >= _LEAST_RADIUS_M else None


def _halfspaces(part: FloatArray) -> tuple[FloatArray, FloatArray]:
    mesh = convex_mesh(part)
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    normal = np.cross(b - a, c - a)
    return normal, np.einsum("ij,ij->i", normal, a)


def _top_of(half: tuple[FloatArray, FloatArray], spots: FloatArray) -> FloatArray:
    """Heights (N,) at which vertical lines through spots (N, 2) leave a convex solid; -inf where they miss it."""
    normal, offset = half
    room = offset - spots @ normal[:, :2].T
    with np.errstate(divide="ignore", invalid="ignore"):
        height = room / normal[:, 2]
    rising, falling = normal[:, 2] > 1e-12, normal[:, 2] < -1e-12
    high = np.where(rising, height, np.inf).min(axis=1)
    low = np.where(falling, height, -np.inf).max(axis=1)
    beside = (np.where(rising | falling, np.inf, room) < 0).any(axis=1)
    return np.where(beside | (low > high), -np.inf, high)


def _triple(values: FloatArray) -> Triple:
    x, y, z = (float(value) for value in values)
    return x, y, z
