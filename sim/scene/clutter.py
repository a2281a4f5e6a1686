"""Scenes of objects in clutter, settled in physics: a seed, a kind and sets of objects give the same scene."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from scipy.spatial.transform import Rotation

from toolhand.sim.objects.fixtures import BOARD_M, BOARDS_M
from toolhand.sim.objects.folders import say_once
from toolhand.sim.objects.products import PRODUCTS
from toolhand.sim.objects.sets import find_asset, object_set
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import PlacedObject, Scene, convex_outline, gap, object_ids, triple
from toolhand.sim.scene.settling import BodyPose, Settling, settled_alone
from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import intrinsics, invert, look_at, project, transform
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.types import FloatArray

Clutter = Literal["single", "packed", "touching", "pile", "bin", "shelf", "stacked", "lying"]
CLUTTER: tuple[Clutter, ...] = get_args(Clutter)
"""Kinds of clutter: one object; objects 2 to 6 cm apart; objects that touch; a heap; a heap in a bin; objects on the
boards of a shelf; objects on top of each other; toppled objects, 2 to 6 cm apart."""

MOST_OBJECTS = 40
"""Most objects of a scene [-]: more find no room within reach."""
OBJECTS: dict[Clutter, int] = {
    "single": 1,
    "packed": 6,
    "touching": 5,
    "pile": 10,
    "bin": 10,
    "shelf": 6,
    "stacked": 6,
    "lying": 6,
}
"""How many objects a scene has where nobody says."""

_GAPS_M: dict[str, tuple[float, float]] = {"touching": (3e-4, 3e-4)}
"""Least and greatest gap of an object to the nearest one [m], where it is not that of `_APART_M`."""
_APART_M = (0.02, 0.06)
"""The same of objects that stand apart [m]: from what no finger fits into to what two hands fit into."""
_ALONE_M = (0.10, 0.15)
"""The same of several single objects [m]: a hand has room on every side."""
_TOWERS_M = (0.05, 0.08)
"""The same of what others stand on [m]: they may stick out of it."""
_FACE_M = 0.01
"""What is so little below the top of an object belongs to the face that others stand on, and what moved by less is
where it was [m]; a round figure."""
_BORNE_M = 0.002
"""What is on or in another object is so far above the table and within the other's outline at least [m]: less than the
floor of a cup is thick."""
_STACK_TRIES = 3
"""Turns in which an object is put on another one before it is tried elsewhere [-]; a round figure."""
_STACK_S = 1.5
"""Time in which what was put on something stays there or does not [s]; a round figure."""
_FIXTURES: dict[Clutter, str] = {"bin": "fixtures/bin", "shelf": "fixtures/shelf"}
"""What stands there beside the objects, by kind of clutter."""
_FIXTURE_X, _FIXTURE_Y = (0.46, 0.50), (-0.06, 0.06)
"""Where the middle of a bin or a shelf lies, base frame [m]."""
_TRIES = 40
"""Directions in which room is looked for, for one object [-]; a round figure."""
_MARGIN_PX = 6.0
"""Objects are in view when this far from the image's edge [px of 640x480]."""
_HIGHEST_M = 0.35
"""Nothing lies higher than this [m]: the hand comes from above it."""
_HEAP_M, _LEAST_HEAP_M = 0.026, 0.05
"""Half width of the walls that hold a heap of one object together, growing with the root of their number, and the least
one [m]: objects 4 to 10 cm long lie two or three upon each other in it."""
_BESIDE_M = 0.15
"""What rolls further than this from where the walls stood lies beside the heap, and is dropped again [m]."""
_DROP_INSIDE_M = 0.045
"""Objects are dropped so far within the walls [m]: half of one's length."""
_FALL_S = 0.16
"""Time between one drop and the next [s]: a fall over 2 cm takes 0.06 s, the rest is rolling."""
_DROP_M = 0.015
"""Height from which an object is let go above what is there [m]."""
_REST_S = 2.5
"""After this long what still moves is left out [s]."""
_SHORT_REST_S = 1.0
"""So long a heap comes to rest before the walls are taken away, and before it is nudged [s]; a round figure."""
_ROUNDS = 6
"""How often what rolled away is dropped again before it is left out [-]; a round figure."""

_CENTRE_X, _CENTRE_Y = (0.43, 0.51), (-0.12, 0.12)
"""Where the middle of the clutter lies, base frame [m]: objects 17 cm off it are within reach of both arms, and
seen."""


def clutter_scene(kind: Clutter, seed: int, sets: Sequence[str] = ("generated",), n: int | None = None) -> Scene:
    """A scene of objects in clutter, at rest.

    Objects that found no room, rolled out of reach or out of the scene camera's view, or did not come to rest are
    dropped or placed anew, and left out where that fails; the scene's name says how many there are then.

    Args:
        kind: How the objects lie, one of CLUTTER.
        seed: Decides everything; the same arguments give the same scene, to the last bit.
        sets: Names of object sets, as in `set/object`; objects are drawn from them in turn.
        n: How many objects, 1 to MOST_OBJECTS; OBJECTS of the kind where None. A bin or a shelf is not counted.

    Raises:
        ToolError: INVALID_ARGUMENT for an unknown kind or set, a seed below 0, a number of objects out of range, and a
            set without graspable objects.
    """
    if kind not in CLUTTER:
        raise invalid(f"The kind of clutter must be one of {', '.join(CLUTTER)}, not {str(kind)[:60]!r}.")
    if seed < 0:
        raise invalid(f"The seed must be 0 or more, got {seed}.")
    count = OBJECTS[kind] if n is None else n
    if not 1 <= count <= MOST_OBJECTS:
        raise invalid(f"A scene of clutter has from 1 to {MOST_OBJECTS} objects, not {count}.")
    rng = np.random.default_rng([seed, CLUTTER.index(kind), 0xC2])
    around = generate_scene(seed, n_objects=1)
    objects = _drawn(rng, seed, sets, count)
    T_base_camera = around.displaced(look_at(workspace.SCENE_CAMERA_POSITION, workspace.SCENE_CAMERA_TARGET))
    table = _Place(rng, T_base_camera, objects)
    placed = _KINDS[kind](table)
    found = len(placed) - (kind in _FIXTURES)
    left_out = "" if found == count else f", {found} of {count} objects"
    return replace(around, objects=tuple(placed), name=f"{kind} {seed} of {'+'.join(sets)}{left_out}")


def _drawn(rng: np.random.Generator, seed: int, sets: Sequence[str], count: int) -> list[PlacedObject]:
    """Objects of the sets in turn, not yet anywhere."""
    if not sets:
        raise invalid("A scene of clutter needs at least one object set.")
    sources = [_names(rng, seed, name, math.ceil(count / len(sets))) for name in sets]
    items = [sources[k % len(sources)][k // len(sources)] for k in range(count)]
    ids = object_ids([find_asset(item).name.replace("/", "_") for item in items])
    return [PlacedObject(name, item, (0.0, 0.0, 0.0), 0.0) for name, item in zip(ids, items, strict=True)]


def _names(rng: np.random.Generator, seed: int, set_name: str, count: int) -> list[str]:
    """Names of the objects that a scene takes from a set: those that an endless set draws for the seed, else graspable
    ones at random, none twice before all were taken. Of a folder what is left out is said once."""
    objects = object_set(set_name)
    if hasattr(objects, "drawn"):
        return [f"{set_name}/{name}" for name in objects.drawn(seed, count)]
    names, chosen = sorted(objects), []
    refused: ToolError | None = None
    for k in rng.permutation(len(names)):
        try:
            item = objects[names[k]]
        except ToolError as error:
            if error.code is not ErrorCode.INVALID_ARGUMENT:
                raise
            # One mesh of a folder of many that cannot be read is no reason to do without the others.
            say_once(f"{set_name}/{names[k]} is left out: {error.message}")
            refused = error
            continue
        if item.container and objects is not PRODUCTS:
            say_once(f"{set_name}/{names[k]} is left out: it is a container, and scenes of clutter draw none.")
        if item.graspable and not item.container:
            chosen.append(names[k] if set_name == "catalogue" else f"{set_name}/{names[k]}")
        if len(chosen) == count:
            break
    if not chosen and refused is not None:
        raise refused
    if not chosen:
        raise invalid(f'The set "{set_name[:60]}" has nothing that a hand could grasp.')
    return [chosen[k % len(chosen)] for k in range(count)]


class _Place:
    """The objects of a scene, and where on the table they may be.

    Args:
        rng: Random numbers of the scene.
        T_base_camera: (4, 4) pose of the scene camera.
    """

    def __init__(self, rng: np.random.Generator, T_base_camera: FloatArray, objects: Sequence[PlacedObject]) -> None:
        self.rng = rng
        self.objects = list(objects)
        self.centre = np.array([rng.uniform(*_CENTRE_X), rng.uniform(*_CENTRE_Y)])
        self._T_camera_base = invert(T_base_camera)
        self._K = intrinsics(workspace.SCENE_CAMERA_FOCAL_PX, *workspace.IMAGE_SIZE)

    def workable(self, points: FloatArray) -> bool:
        """Whether an object with these points (K, 3) is within reach and wholly in view, base frame [m]."""
        middle = (points.min(axis=0) + points.max(axis=0)) / 2
        if not workspace.within_reach(middle) or not points[:, 2].min() >= workspace.TABLE_Z - 0.01:
            return False
        pixels = project(transform(self._T_camera_base, points), self._K)
        low, high = np.full(2, _MARGIN_PX), np.asarray(workspace.IMAGE_SIZE) - 1 - _MARGIN_PX
        return bool(points[:, 2].max() <= _HIGHEST_M and (pixels >= low).all() and (pixels <= high).all())

    @property
    def upright(self) -> list[FloatArray]:
        """(N,) quaternions (4,) wxyz in which the objects stand."""
        return [np.array([1.0, 0.0, 0.0, 0.0])] * len(self.objects)

    def any_rotation(self) -> FloatArray:
        """A random quaternion (4,) wxyz."""
        x, y, z, w = Rotation.random(random_state=self.rng).as_quat()
        return np.array([w, x, y, z])

    def lying_down(self) -> FloatArray:
        """A quaternion (4,) wxyz that lays an object on a random side."""
        roll, turn = self.rng.uniform(-math.pi, math.pi, 2)
        x, y, z, w = (Rotation.from_euler("z", turn) * Rotation.from_euler("xz", [math.pi / 2, roll])).as_quat()
        return np.array([w, x, y, z])


# ---- Side by side ----


def _beside(table: _Place, gaps_m: tuple[float, float], lying: bool = False) -> list[PlacedObject]:
    """Objects as they rest by themselves, each a gap away from the nearest one before it.

    Where none of them comes to rest, as an object that rocks on a rounded face, they are laid on other sides.
    """
    placed: list[PlacedObject] = []
    for attempt in range(_ROUNDS):
        tilts = [table.lying_down() for _ in table.objects] if lying or attempt else table.upright
        alone = settled_alone(table.objects, tilts)
        placed = _settled(table, _side_by_side(table, range(len(alone)), alone, gaps_m)[0], nudged=False)
        if placed:
            break
    return placed


def _side_by_side(
    table: _Place, indices: Iterable[int], alone: Sequence[BodyPose], gaps_m: tuple[float, float]
) -> tuple[dict[int, BodyPose], list[FloatArray]]:
    """Poses of those of some objects that found room a gap away from the nearest one before, and their outlines."""
    poses: dict[int, BodyPose] = {}
    outlines: list[FloatArray] = []
    for index in indices:
        found = _room(table, table.objects[index], alone[index], outlines, float(table.rng.uniform(*gaps_m)))
        if found is not None:
            poses[index], outline = found
            outlines.append(outline)
    return poses, outlines


class _Stand:
    """An object as it rests by itself, turned about the vertical.

    Args:
        yaw: By how much it is turned [rad].

    Attributes:
        points: (K, 3) hull points [m], above the origin of the table.
        outline: (M, 2) its outline seen from above, counter-clockwise [m].
    """

    def __init__(self, item: PlacedObject, rest: BodyPose, yaw: float) -> None:
        turned = Rotation.from_euler("z", yaw) * Rotation.from_quat(rest[1][[1, 2, 3, 0]])
        x, y, z, w = turned.as_quat()
        self._quat, self._height = np.array([w, x, y, z]), float(rest[0][2])
        self.points: FloatArray = item.asset.hull_points @ turned.as_matrix().T + [0.0, 0.0, self._height]
        self.outline = convex_outline(self.points[:, :2])

    def at(self, xy: FloatArray, height: float = 0.0) -> BodyPose:
        """Its pose at a place (2,), on something of a height [m]."""
        return np.array([*xy, self._height + height]), self._quat


def _room(
    table: _Place, item: PlacedObject, rest: BodyPose, outlines: Sequence[FloatArray], apart: float
) -> tuple[BodyPose, FloatArray] | None:
    """Where an object stands a gap away from the outlines of others, nearest to the middle; None where it cannot."""
    for _ in range(_TRIES):
        yaw, away = table.rng.uniform(-math.pi, math.pi, 2)
        stand = _Stand(item, rest, yaw)
        direction = np.array([math.cos(away), math.sin(away)])
        spot = table.centre
        while outlines and (least := min(gap(stand.outline + spot, other) for other in outlines)) < apart - 1e-4:
            spot = spot + direction * max(apart - least, 1e-4)
        if table.workable(stand.points + np.array([*spot, 0.0])):
            return stand.at(spot), stand.outline + spot
    return None


def _settled(
    table: _Place, poses: dict[int, BodyPose], fixed: Sequence[PlacedObject] = (), nudged: bool = True
) -> list[PlacedObject]:
    """Objects let go at their poses, as they are at rest; what is not workable then is left out."""
    left = sorted(poses)
    for _ in range(_ROUNDS):
        world = Settling([table.objects[k] for k in left], fixed)
        for slot, k in enumerate(left):
            world.put(slot, poses[k])
        if nudged:
            world.nudge()
            world.rest(_REST_S)
        resting = world.rest(_REST_S, exact=True)
        kept = [k for slot, k in enumerate(left) if resting[slot] and table.workable(world.points(slot))]
        if kept == left:
            return [*fixed, *(world.placed(slot) for slot in range(len(left)))]
        left = kept
    return [*fixed, *(world.placed(slot) for slot, k in enumerate(left))]


# ---- Heaps ----


def _heap(table: _Place, fixed: Sequence[PlacedObject] = ()) -> list[PlacedObject]:
    """Objects dropped one upon the other; what rolls away is dropped again.

    Args:
        fixed: A bin that they are dropped into; walls hold them together until all are dropped where there is none.
    """
    x, y = table.centre.tolist()
    room = np.full(2, max(_LEAST_HEAP_M, _HEAP_M * math.sqrt(len(table.objects))))
    inside = room + _BESIDE_M
    for tote in fixed:
        assert tote.asset.cavity is not None
        room = inside = np.array(tote.asset.cavity.half_extents_m)
    world = Settling(table.objects, fixed, None if fixed else (x, y, room[0]))

    def stays(points: FloatArray) -> bool:
        middle = (points[:, :2].min(axis=0) + points[:, :2].max(axis=0)) / 2
        return table.workable(points) and bool((np.abs(middle - table.centre) < inside).all())

    for attempt in range(_ROUNDS):
        for index in np.flatnonzero(~world.dropped).tolist():
            _drop(table, world, index, np.maximum(room - _DROP_INSIDE_M, 0.0))
        if attempt == 0:
            world.rest(_SHORT_REST_S)
            world.open()
        world.rest(_SHORT_REST_S)
        world.nudge()
        still = world.rest(_REST_S)
        for index in np.flatnonzero(world.dropped).tolist():
            if not still[index] or not stays(world.points(index)):
                world.take_away(index)
        if world.dropped.all():
            break
    return _settled(table, {k: world.pose(k) for k in np.flatnonzero(world.dropped).tolist()}, fixed, nudged=False)


def _drop(table: _Place, world: Settling, index: int, scatter: FloatArray) -> None:
    """Let an object go above what is there, turned at random, within a rectangle (2,) about the middle [m]."""
    at = table.centre + table.rng.uniform(-scatter, scatter)
    turn = table.any_rotation()
    world.put(index, (np.array([*at, 0.0]), turn))
    low = world.points(index)[:, 2].min()
    world.take_away(index)
    radius = table.objects[index].asset.outer_radius
    world.put(index, (np.array([*at, world.top(at, radius) + _DROP_M - low]), turn))
    world.run(_FALL_S)


def _binned(table: _Place) -> list[PlacedObject]:
    """A heap in a bin."""
    return _heap(table, [_standing("bin", table)])


def _standing(kind: Clutter, table: _Place) -> PlacedObject:
    """A bin or a shelf at the middle of the clutter; the middle moves to where all of it is in view."""
    item = _FIXTURES[kind]
    table.centre = np.array([table.rng.uniform(*_FIXTURE_X), table.rng.uniform(*_FIXTURE_Y)])
    return PlacedObject(f"{kind}_1", item, triple(np.array([*table.centre, find_asset(item).size_m[2] / 2])), 0.0)


# ---- On something ----


def _shelved(table: _Place) -> list[PlacedObject]:
    """Objects on the boards of a shelf in turn."""
    shelf = _standing("shelf", table)
    poses: dict[int, BodyPose] = {}
    outlines: list[list[FloatArray]] = [[] for _ in BOARDS_M]
    for index, (item, rest) in enumerate(zip(table.objects, settled_alone(table.objects, table.upright), strict=True)):
        for attempt in range(_TRIES):
            board = (index + attempt) % len(BOARDS_M)
            x, height = BOARDS_M[board]
            room = np.asarray(BOARD_M) / 2
            middle = table.centre + np.array([x, 0.0])
            stand = _Stand(item, rest, table.rng.uniform(-math.pi, math.pi))
            spot = middle + table.rng.uniform(-room, room)
            outline = stand.outline + spot
            on_board = bool((np.abs(outline - middle) <= room).all())
            apart = all(gap(outline, other) >= _APART_M[0] for other in outlines[board])
            if on_board and apart and table.workable(stand.points + np.array([*spot, height])):
                outlines[board].append(outline)
                poses[index] = stand.at(spot, height)
                break
    return _settled(table, poses, [shelf])


def _stacked(table: _Place) -> list[PlacedObject]:
    """The wider half of the objects side by side, the others each on one of them; beside them where none stays up."""
    area = [item.asset.size_m[0] * item.asset.size_m[1] for item in table.objects]
    order = [int(k) for k in np.argsort(area)[::-1]]
    lower, upper = order[: (len(order) + 1) // 2], order[(len(order) + 1) // 2 :]
    alone = settled_alone(table.objects, table.upright)
    poses, outlines = _side_by_side(table, lower, alone, _TOWERS_M)
    world = Settling(table.objects)
    for k, pose in poses.items():
        world.put(k, pose)
    world.rest(_REST_S)
    free = list(poses)
    for k in upper:
        for base in list(free):
            if any(_stays_on(table, world, k, base, alone[k]) for _ in range(_STACK_TRIES)):
                free.remove(base)
                break
        else:
            found = _room(table, table.objects[k], alone[k], outlines, float(table.rng.uniform(*_APART_M)))
            if found is not None:
                world.put(k, found[0])
                outlines.append(found[1])
    return _settled(table, {k: world.pose(k) for k in np.flatnonzero(world.dropped).tolist()})


def _stays_on(table: _Place, world: Settling, index: int, base: int, rest: BodyPose) -> bool:
    """Put an object on another one; True where it comes to rest there, else all is as it was."""
    before = {k: world.pose(k) for k in np.flatnonzero(world.dropped).tolist()}
    points = world.points(base)
    top = float(points[:, 2].max())
    face = points[points[:, 2] > top - _FACE_M, :2]
    stand = _Stand(table.objects[index], rest, table.rng.uniform(-math.pi, math.pi))
    world.put(index, stand.at((face.min(axis=0) + face.max(axis=0)) / 2, top + 1e-3))
    still = world.rest(_STACK_S)
    as_before = all(np.abs(world.pose(k)[0] - pose[0]).max() < _FACE_M for k, pose in before.items())
    foot, below = world.points(index), world.points(base)
    borne = foot[:, 2].min() > below[:, 2].min() + _BORNE_M
    over = gap(convex_outline(foot[:, :2]), convex_outline(below[:, :2])) < -_BORNE_M
    if still.sum() == len(before) + 1 and as_before and borne and over:
        return True
    world.take_away(index)
    for k, pose in before.items():
        world.put(k, pose)
    return False


_KINDS: dict[Clutter, Callable[[_Place], list[PlacedObject]]] = {
    "single": lambda table: _beside(table, _ALONE_M),
    "packed": lambda table: _beside(table, _APART_M),
    "touching": lambda table: _beside(table, _GAPS_M["touching"]),
    "pile": _heap,
    "bin": _binned,
    "shelf": _shelved,
    "stacked": _stacked,
    "lying": lambda table: _beside(table, _APART_M, lying=True),
}
