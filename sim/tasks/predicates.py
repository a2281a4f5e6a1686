"""Truth: whether the right object was picked, and whether it was placed where it should be.

Directions are those of the scene camera: "right" is the camera's x axis and "behind" its viewing direction, both laid
flat on the table. Everything is judged from true states, which the robot never sees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from toolhand.sim.objects.asset import Cavity
from toolhand.sim.scene.scenes import Scene, convex_outline, distances, gap
from toolhand.sim.snapshot import ObjectState, Snapshot
from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import matrix_from_quat_wxyz
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.types import FloatArray

Relation = Literal["in", "on", "left_of", "right_of", "in_front_of", "behind", "next_to", "between"]
RELATIONS: tuple[Relation, ...] = get_args(Relation)

PlaceRelation = Relation | Literal["anywhere"]
"""`anywhere` is the bare command "put it down": standing on the table, wherever."""


@dataclass(frozen=True)
class Thresholds:
    """Every number that decides a score.

    Attributes:
        lift_m: A picked object has risen by at least this much [m].
        hold_s: A picked object is held for this long [s].
        still_s: A placed object lies still for this long [s].
        still_speed: Still is slower than this [m/s].
        still_spin: Still turns slower than this [rad/s].
        margin_m: A relation of direction is true by at least this much [m].
        gap_m: Objects beside each other are at most this far apart, edge to edge [m].
        reference_moved_m: A reference object has moved by less than this [m].
        tilt_rad: An object whose up axis is within this of the vertical stands; one that stood and tilts by this much
            has toppled [rad].
        support_m: Height difference up to which one object stands on another, or on the table [m].
        clock_s: Slack on durations for sampled time [s].
    """

    lift_m: float = 0.05
    hold_s: float = 2.0
    still_s: float = 0.5
    still_speed: float = 0.02
    still_spin: float = 0.3
    margin_m: float = 0.01
    gap_m: float = 0.15
    reference_moved_m: float = 0.02
    tilt_rad: float = float(np.radians(30.0))
    support_m: float = 0.01
    clock_s: float = 0.01


THRESHOLDS = Thresholds()


PlaceFault = Literal["held", "moving", "misplaced", "others moved"]
"""What can be wrong with a place: with the object that was placed, and last with the others."""


@dataclass(frozen=True)
class PlaceVerdict:
    """Whether a place counts; if not, why, one sentence each."""

    ok: bool
    reasons: tuple[str, ...] = ()


def judge_pick(
    before: Snapshot,
    history: Sequence[Snapshot],
    target_ids: Sequence[str],
    thresholds: Thresholds = THRESHOLDS,
) -> bool:
    """True if one target, and nothing else, is up in the gripper throughout the hold.

    What is up has left the table: a long object that lay, and was only raised at one end, is not.

    Args:
        before: The scene before the robot moved.
        history: Snapshots over at least `hold_s`, first and last included.
        target_ids: Any one of them counts.
        thresholds: The numbers that decide.

    Raises:
        ToolError: INTERNAL if a state is not finite or the history is too short.
    """
    _check(before, history, thresholds.hold_s, thresholds)
    lifted = [lifted_ids(before, snapshot, thresholds) for snapshot in history]
    if len(lifted[0]) != 1 or any(other != lifted[0] for other in lifted):
        return False
    (held,) = lifted[0]
    touching = [snapshot.objects[held].touching for snapshot in history]
    return held in target_ids and all("gripper" in others and "table" not in others for others in touching)


def judge_place(
    scene: Scene,
    before: Snapshot,
    history: Sequence[Snapshot],
    moved_id: str,
    relation: PlaceRelation,
    reference_ids: Sequence[str],
    T_base_camera: FloatArray,
    thresholds: Thresholds = THRESHOLDS,
) -> PlaceVerdict:
    """Whether an object was let go, lies still and stands in a relation, with nothing pushed or toppled.

    Arguments and errors are those of `place_faults`.
    """
    faults = place_faults(scene, before, history, moved_id, relation, reference_ids, T_base_camera, thresholds)
    return PlaceVerdict(not faults, tuple(sentence for _, sentence in faults))


def place_faults(
    scene: Scene,
    before: Snapshot,
    history: Sequence[Snapshot],
    moved_id: str,
    relation: PlaceRelation,
    reference_ids: Sequence[str],
    T_base_camera: FloatArray,
    thresholds: Thresholds = THRESHOLDS,
) -> list[tuple[PlaceFault, str]]:
    """All that is wrong with a place, each with a sentence; nothing where it counts.

    Args:
        scene: For the shapes of the objects.
        before: The scene before the robot moved.
        history: Snapshots over at least `still_s`, first and last included.
        moved_id: The object that was placed.
        T_base_camera: (4, 4) pose of the scene camera.
        thresholds: The numbers that decide.

    Raises:
        ToolError: INTERNAL as for `judge_pick`; INVALID_ARGUMENT as for `relation_holds`.
    """
    _check(before, history, thresholds.still_s, thresholds)
    last = history[-1].objects
    faults: list[tuple[PlaceFault, str]] = []
    if any({"gripper", "arm"} & snapshot.objects[moved_id].touching for snapshot in history):
        faults.append(("held", f"{moved_id} is not released."))
    if not all(still(snapshot.objects[moved_id], thresholds) for snapshot in history):
        faults.append(("moving", f"{moved_id} does not lie still."))
    for name in reference_ids:
        moved = float(np.linalg.norm(last[name].position_m - before.objects[name].position_m))
        if moved >= thresholds.reference_moved_m:
            faults.append(("others moved", f"{name} was moved by {100 * moved:.1f} cm."))
    for name, state in last.items():
        where: PlaceFault = "misplaced" if name == moved_id else "others moved"
        if state.position_m[2] < workspace.TABLE_Z:
            faults.append((where, f"{name} fell off the table."))
        if name == moved_id and relation == "in":
            continue
        # A ball has no upright: rolling is no toppling. Neither can what lay on its side at the start topple.
        stood = scene.find(name).asset.upright and tilt(STANDING, before.objects[name]) < thresholds.tilt_rad
        if stood and tilt(before.objects[name], state) >= thresholds.tilt_rad:
            faults.append((where, f"{name} toppled."))
    if relation == "anywhere":
        fault = Shapes(scene, last, thresholds).fault_on_table(moved_id)
    else:
        fault = relation_fault(relation, moved_id, reference_ids, scene, last, T_base_camera, thresholds)
    if fault is not None:
        faults.append(("misplaced", fault))
    return faults


def score(picked: bool, verdict: PlaceVerdict | None = None) -> int:
    """0 or 1 for a pick, 0 to 2 for pick and place: a point for the right pick, a point for the right place."""
    return int(picked) + int(verdict is not None and verdict.ok)


def relation_holds(
    relation: Relation,
    moved_id: str,
    reference_ids: Sequence[str],
    scene: Scene,
    objects: Mapping[str, ObjectState],
    T_base_camera: FloatArray,
    thresholds: Thresholds = THRESHOLDS,
) -> bool:
    """True if the moved object stands in a relation to the references.

    - left_of, right_of, in_front_of, behind: it stands on the table, its centre lies within 45 degrees of the
      direction from the middle of the references (by `margin_m`) and `margin_m` beyond the centre of each, apart
      from all of them and at most `gap_m` from the nearest, edge to edge on the table.
    - next_to: on the table, apart from all references and at most `gap_m` from the nearest.
    - between: on the table, its centre projects `margin_m` inside the segment between the two references' centres and
      lies within half that segment's length (at most `gap_m`) of it, apart from both.
    - in: its centre is inside the container's opening and its lowest point below the rim, both by `margin_m`; it
      touches the container or something in it.
    - on: it touches the reference, not the table; its centre is above the reference's top and its lowest point within
      `support_m` of that top.

    Raises:
        ToolError: INVALID_ARGUMENT for an unknown relation, a wrong number of references or no container.
    """
    return relation_fault(relation, moved_id, reference_ids, scene, objects, T_base_camera, thresholds) is None


def relation_fault(
    relation: Relation,
    moved_id: str,
    reference_ids: Sequence[str],
    scene: Scene,
    objects: Mapping[str, ObjectState],
    T_base_camera: FloatArray,
    thresholds: Thresholds = THRESHOLDS,
) -> str | None:
    """Why a relation does not hold, in one sentence; None if it holds. Arguments as for `relation_holds`."""
    if relation not in RELATIONS:
        raise invalid(f'"{relation}" is not a relation, the relations are {", ".join(RELATIONS)}.')
    wanted = {"in": 1, "on": 1, "between": 2}.get(relation)
    if not reference_ids or (wanted is not None and len(reference_ids) != wanted):
        raise invalid(f'"{relation}" takes {wanted or "at least one"} reference(s), not {len(reference_ids)}.')
    for name in (moved_id, *reference_ids):
        if name not in objects:
            raise invalid(f'There is no object "{name}", there are {", ".join(objects)}.')
    view = Shapes(scene, objects, thresholds)
    if relation == "in":
        return view.fault_in(moved_id, reference_ids[0])
    if relation == "on":
        return view.fault_on(moved_id, reference_ids[0])
    fault = view.fault_on_table(moved_id) or view.fault_apart(moved_id, reference_ids)
    if fault is not None:
        return fault
    if relation == "between":
        return view.fault_between(moved_id, reference_ids)
    fault = view.fault_near(moved_id, reference_ids)
    if fault is not None or relation == "next_to":
        return fault
    return view.fault_direction(moved_id, reference_ids, _direction(relation, T_base_camera), relation)


def camera_directions(T_base_camera: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(right, away): unit vectors (2,) on the table, the camera's x axis and its viewing direction laid flat."""
    right, forward = T_base_camera[:2, 0], T_base_camera[:2, 2]
    if np.linalg.norm(forward) < 1e-6:
        # Seen straight from above, further away is up in the image.
        forward = -T_base_camera[:2, 1]
    return right / np.linalg.norm(right), forward / np.linalg.norm(forward)


def _direction(relation: Relation, T_base_camera: FloatArray) -> FloatArray:
    right, away = camera_directions(T_base_camera)
    return {"right_of": right, "left_of": -right, "behind": away, "in_front_of": -away}[relation]


class Shapes:
    """The objects' shapes at their true poses, and the faults that can be read off them.

    Args:
        thresholds: Numbers that decide.
    """

    def __init__(self, scene: Scene, objects: Mapping[str, ObjectState], thresholds: Thresholds) -> None:
        self.scene = scene
        self.objects = objects
        self.thresholds = thresholds

    def points(self, name: str) -> FloatArray:
        """(K, 3) hull points in the base frame [m]."""
        state = self.objects[name]
        return self.scene.find(name).asset.hull_points @ matrix_from_quat_wxyz(state.quat_wxyz).T + state.position_m

    def outline(self, name: str) -> FloatArray:
        """(K, 2) footprint [m]."""
        return convex_outline(self.points(name)[:, :2])

    def centre(self, name: str) -> FloatArray:
        """(2,) on the table [m]."""
        return self.objects[name].position_m[:2]

    def fault_on_table(self, moved: str) -> str | None:
        """Why an object does not stand on the table; None where it does."""
        height = self.points(moved)[:, 2].min() - workspace.TABLE_Z
        return None if height <= self.thresholds.support_m else f"{moved} does not stand on the table."

    def fault_apart(self, moved: str, references: Sequence[str]) -> str | None:
        """Why an object is not apart from others; None where it is."""
        outline = self.outline(moved)
        for name in references:
            if gap(outline, self.outline(name)) <= 0 or name in self.objects[moved].touching:
                return f"{moved} is not apart from {name}."
        return None

    def fault_near(self, moved: str, references: Sequence[str]) -> str | None:
        """Why an object is not near others; None where it is."""
        outline = self.outline(moved)
        nearest = min(gap(outline, self.outline(name)) for name in references)
        if nearest <= self.thresholds.gap_m:
            return None
        return f"{moved} is {100 * nearest:.0f} cm away, more than {100 * self.thresholds.gap_m:.0f} cm."

    def fault_direction(
        self, moved: str, references: Sequence[str], direction: FloatArray, relation: Relation
    ) -> str | None:
        """Why an object is not in a direction (2,) of others; None where it is."""
        centres = np.stack([self.centre(name) for name in references])
        offset = self.centre(moved) - centres.mean(axis=0)
        along = float(offset @ direction)
        across = abs(float(offset[0] * direction[1] - offset[1] * direction[0]))
        beyond_each = ((self.centre(moved) - centres) @ direction >= self.thresholds.margin_m).all()
        if beyond_each and along >= across + self.thresholds.margin_m:
            return None
        return f"{moved} is not {relation.replace('_', ' ')} {' and '.join(references)}."

    def fault_between(self, moved: str, references: Sequence[str]) -> str | None:
        """Why an object is not between two others; None where it is."""
        a, b = (self.centre(name) for name in references)
        length = float(np.linalg.norm(b - a))
        axis = (b - a) / max(length, 1e-9)
        offset = self.centre(moved) - a
        along, across = float(offset @ axis), abs(float(offset[0] * axis[1] - offset[1] * axis[0]))
        margin = self.thresholds.margin_m
        if margin <= along <= length - margin and across <= min(self.thresholds.gap_m, length / 2):
            return None
        return f"{moved} is not between {references[0]} and {references[1]}."

    def fault_in(self, moved: str, container: str) -> str | None:
        """Why an object is not in a container; None where it is. Raises ToolError INVALID_ARGUMENT for no container."""
        asset = self.scene.find(container).asset
        inside = asset.cavity
        if inside is None or not asset.takes_objects:
            raise invalid(f"Nothing can be put in {container}, it is no container.")
        margin = self.thresholds.margin_m
        centre, lowest = self._in_frame_of(container, moved)
        if not _inside(inside, centre, margin) or lowest > inside.rim_z - margin:
            return f"{moved} is not in {container}."

        def is_in(name: str) -> bool:
            position, bottom = self._in_frame_of(container, name)
            return _inside(inside, position, 0.0) and bottom < inside.rim_z

        if container not in self._connected(moved, is_in):
            return f"{moved} does not rest in {container}."
        return None

    def fault_on(self, moved: str, reference: str) -> str | None:
        """Why an object does not stand on another; None where it does."""
        touching = self.objects[moved].touching
        if reference not in touching or "table" in touching:
            return f"{moved} does not rest on {reference}."
        points = self.points(reference)
        top = float(points[:, 2].max())
        face = points[points[:, 2] >= top - self.thresholds.support_m, :2]
        # A pointed top has no face to stand on; its outline decides instead.
        flat = len(face) >= 3 and np.linalg.matrix_rank(face - face[0], tol=1e-3) == 2
        outline = convex_outline(face if flat else points[:, :2])
        over = distances(self.centre(moved)[None], outline)[0] == 0
        level = abs(float(self.points(moved)[:, 2].min()) - top) <= self.thresholds.support_m
        return None if over and level else f"{moved} is not on top of {reference}."

    def _in_frame_of(self, container: str, name: str) -> tuple[FloatArray, float]:
        """An object's centre (2,) and lowest height in a container's frame [m]."""
        frame = self.objects[container]
        R = matrix_from_quat_wxyz(frame.quat_wxyz)
        local = (self.points(name) - frame.position_m) @ R
        centre = (self.objects[name].position_m - frame.position_m) @ R
        return centre[:2], float(local[:, 2].min())

    def _connected(self, start: str, through: Callable[[str], bool]) -> set[str]:
        """Everything that start touches, directly or over other objects for which `through` is true."""
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for name in self.objects[waiting.pop()].touching - seen - {start}:
                seen.add(name)
                if name in self.objects and through(name):
                    waiting.append(name)
        return seen


def _inside(opening: Cavity, xy: FloatArray, margin: float) -> bool:
    x, y = opening.half_extents_m
    return Cavity((x - margin, y - margin), opening.round, opening.floor_z, opening.rim_z).contains(xy)


def lifted_ids(before: Snapshot, now: Snapshot, thresholds: Thresholds = THRESHOLDS) -> frozenset[str]:
    """Objects that are higher than before, by `lift_m`."""
    return frozenset(
        name
        for name, state in now.objects.items()
        if state.position_m[2] - before.objects[name].position_m[2] >= thresholds.lift_m
    )


def still(state: ObjectState, thresholds: Thresholds = THRESHOLDS) -> bool:
    """True if an object lies still."""
    speed, spin = (float(np.linalg.norm(part)) for part in (state.velocity[:3], state.velocity[3:]))
    return speed < thresholds.still_speed and spin < thresholds.still_spin


STANDING = ObjectState("", np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(6))
"""An object at the origin that is not turned [m, quaternion wxyz]."""


def tilt(before: ObjectState, after: ObjectState) -> float:
    """Angle between the verticals of two times in an object's own frame [rad]: turning about the vertical is none."""
    then, now = (matrix_from_quat_wxyz(state.quat_wxyz)[2] for state in (before, after))
    return float(np.arctan2(np.linalg.norm(np.cross(now, then)), now @ then))


def _check(before: Snapshot, history: Sequence[Snapshot], duration: float, thresholds: Thresholds) -> None:
    """Raises ToolError INTERNAL where the states are no evidence for any score."""
    for snapshot in (before, *history):
        for state in snapshot.objects.values():
            values = np.concatenate([state.position_m, state.quat_wxyz, state.velocity])
            if not np.isfinite(values).all():
                raise _internal(f"The state of {state.id} is not finite at t={snapshot.time:.3f} s.")
    covered = history[-1].time - history[0].time if history else 0.0
    if covered < duration - thresholds.clock_s:
        raise _internal(f"The snapshots cover {covered:.2f} s, judging needs {duration:g} s.")


def _internal(message: str) -> ToolError:
    return ToolError(ErrorCode.INTERNAL, message)
