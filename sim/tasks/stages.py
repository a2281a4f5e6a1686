"""How far a pick, or a pick and place, came: stages that the physics shows, each with its time.

| stage | reached when |
|---|---|
| `hand_at_target` | the point between the jaws comes within HAND_AT_M of the object, or the jaws touch it |
| `jaws_touch_target` | any link of the gripper touches it |
| `held` | the jaws touch it for HELD_S on end while nothing below carries it, or while it is up |
| `lifted` | it is `lift_m` up while the jaws touch it |
| `carried` | it is held up for as long as the judge of the task asks: a pick at the end, a place at any time |
| `above_place` | once carried, it is in the jaws over a spot where, let down, it would stand as asked |
| `let_go` | after that, or where it stands as asked, neither jaws nor arm touch it any more |
| `at_rest` | in the end it lies still |
| `relation_true` | in the end it stands as asked, upright and on the table |
| `nothing_else_moved` | the judge of the task finds nothing wrong with the other objects |

A pick has the first five and the last. Of the others its judge asks that none is up in the end; that of a place, that
none was lifted, none fell or toppled, and no reference was pushed. `carried`, `at_rest`, `relation_true` and
`nothing_else_moved` are the judge's own findings. The last three can be true before anything was done, and what only
the end shows has its time. Stages that need contacts or the hand are left out where the history has none, as of a
simulator that does not tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from toolhand.sim.contacts import Contacts, touching
from toolhand.sim.objects.asset import ObjectAsset
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.snapshot import ObjectState, Snapshot
from toolhand.sim.tasks.predicates import THRESHOLDS, PlaceRelation, lifted_ids, place_faults, relation_fault
from toolhand.sim.tasks.task import History, Stage, held_ids, run_end
from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import matrix_from_quat_wxyz
from toolhand.tool_nodes.types import BoolArray, FloatArray

HAND_AT_M = 0.02
"""The hand is at an object when the point between its jaws is at most this far from the box around it [m]: a jaw's
width, so that closing there would touch it."""

HELD_S = 0.2
"""Jaws hold what they touch for this long while nothing else carries it [s]: what is knocked over or bounces is in the
air for less."""

LOOK_AGAIN_M = 0.03
"""Whether an object is above its place is asked again when it has gone this far, and where it was held last [m]; places
beside objects are five times as wide. Not smaller, for speed."""

Stages = Mapping[str, Stage]
"""By name, in the order of the table above."""


def pick_stages(history: History, target_ids: Sequence[str]) -> Stages:
    """How far a pick came, of the target that came furthest; empty where none of them is on the table.

    Args:
        history: Simulator's record of the episode, with one hold at the end.
        target_ids: Any one of them counts.
    """
    return _furthest(_pick_stages(history, name) for name in target_ids if name in history.poses)


def place_stages(
    history: History, target_ids: Sequence[str], relation: PlaceRelation, reference_ids: Sequence[str]
) -> Stages:
    """How far a pick and place came, of the target that came furthest; empty where none of them is on the table.

    Args:
        history: Simulator's record of the episode, with the placed object lying still in the last hold.
        target_ids: Any one of them counts.

    Raises:
        ToolError: As of `predicates.place_faults`.
    """
    known = (name for name in target_ids if name in history.poses)
    return _furthest(_place_stages(history, name, relation, reference_ids) for name in known)


def _furthest(candidates: Iterable[Stages]) -> Stages:
    return max(candidates, key=lambda stages: sum(map(bool, stages.values())), default={})


def _pick_stages(history: History, name: str) -> Stages:
    watched = _Watched(history, name)
    up = [lifted_ids(history.before, snapshot) for snapshot in history.holds[0]]
    kept = all(name in ids for ids in up)
    in_jaws = all("gripper" in snapshot.objects[name].touching for snapshot in history.holds[0])
    others = frozenset[str]().union(*up) - {name}
    return {
        **watched.grasp(),
        "carried": watched.in_the_end(kept and in_jaws),
        "nothing_else_moved": watched.in_the_end(not others),
    }


def _place_stages(history: History, name: str, relation: PlaceRelation, reference_ids: Sequence[str]) -> Stages:
    watched = _Watched(history, name)
    faults = place_faults(
        history.scene,
        history.before,
        history.holds[-1],
        name,
        relation,
        reference_ids,
        history.T_base_camera,
    )
    kinds = {kind for kind, _ in faults}
    stands = "misplaced" not in kinds
    others = (history.lifted | held_ids(history.before)) - {name}
    grasp = watched.grasp()
    carried = watched.carried()
    stages = {**grasp, "carried": carried, "above_place": watched.above(carried, relation, reference_ids)}
    let_go = Stage(False)
    if "held" in grasp:
        if grasp["held"] and (stages["above_place"] or stands) and "held" not in kinds:
            let_go = watched.untouched()
        stages["let_go"] = let_go
    stages["at_rest"] = Stage(False) if "moving" in kinds else watched.still(let_go)
    stages["relation_true"] = watched.in_the_end(stands)
    stages["nothing_else_moved"] = watched.in_the_end(not others and "others moved" not in kinds)
    return stages


class _Watched:
    """One object through an episode: before it, which is moment 0, and in each logged state."""

    def __init__(self, history: History, name: str) -> None:
        self._history = history
        self._name = name
        self._began = history.before.time
        state = history.before.objects[name]
        self._times = np.concatenate([[0.0], history.times - self._began])
        self._poses = np.vstack([np.concatenate([state.position_m, state.quat_wxyz]), history.poses[name]])
        self._up = np.concatenate([[False], history.up(name)])

    def in_the_end(self, reached: bool) -> Stage:
        return Stage(True, float(self._history.after.time - self._began)) if reached else Stage(False)

    def _first(self, flags: BoolArray) -> Stage:
        return Stage(True, float(self._times[np.argmax(flags)])) if flags.any() else Stage(False)

    # -- grasping --------------------------------------------------------------------------------------

    def grasp(self) -> dict[str, Stage]:
        """Up to "lifted"."""
        touched, in_hand = self._touched, self._in_hand
        stages = {}
        if self._history.hand is not None and touched is not None:
            stages["hand_at_target"] = self._first(self._hand_near(self._history.hand) | touched)
        if touched is not None:
            stages["jaws_touch_target"] = self._first(touched)
            end = run_end(in_hand, HELD_S)
            since = None if end is None else np.flatnonzero(~in_hand[: end + 1])
            first = 0 if since is None or not len(since) else since[-1] + 1
            stages["held"] = Stage(False) if end is None else Stage(True, float(self._times[first]))
        return {**stages, "lifted": self._first(self._up if touched is None else self._up & touched)}

    def carried(self) -> Stage:
        """As `History.lifted` has it, and what was in the hand before."""
        end = run_end(self._up, THRESHOLDS.hold_s)
        if end is not None:
            return Stage(True, float(self._times[end]))
        return Stage(True, 0.0) if self._name in held_ids(self._history.before) else Stage(False)

    def _hand_near(self, hand: FloatArray) -> BoolArray:
        """(T+1,) where the point between the jaws is near the box around the object."""
        half = np.asarray(self._history.scene.find(self._name).asset.size_m) / 2
        near = [False]
        for point, pose in zip(hand, self._poses[1:], strict=True):
            local = matrix_from_quat_wxyz(pose[3:]).T @ (point - pose[:3])
            near.append(bool(np.linalg.norm(np.maximum(np.abs(local) - half, 0.0)) <= HAND_AT_M))
        return np.array(near)

    @cached_property
    def _contacts(self) -> tuple[Contacts, ...] | None:
        history = self._history
        return None if history.contacts is None else (_contacts_of(history.before), *history.contacts)

    def _where(self, contacts: Sequence[Contacts], true: Mapping[Contacts, bool]) -> BoolArray:
        return np.array([true[moment] for moment in contacts])

    @cached_property
    def _touched(self) -> BoolArray | None:
        """(T+1,) where the jaws touch it; None where that is not known."""
        contacts = self._contacts
        if contacts is None:
            return None
        return self._where(contacts, {moment: "gripper" in touching(moment, self._name) for moment in set(contacts)})

    @cached_property
    def _in_hand(self) -> BoolArray:
        """(T+1,) where the jaws alone carry it; without contacts, where it is up."""
        contacts, touched = self._contacts, self._touched
        if contacts is None or touched is None:
            return self._up
        free = self._where(contacts, {moment: not _carried_by_table(moment, self._name) for moment in set(contacts)})
        return touched & (free | self._up)

    # -- placing ---------------------------------------------------------------------------------------

    def above(self, carried: Stage, relation: PlaceRelation, reference_ids: Sequence[str]) -> Stage:
        """When, once carried, it first was where, let down, it would stand in the relation."""
        if carried.first_at_s is None:
            return Stage(False)
        candidates = self._in_hand & (self._times >= carried.first_at_s)
        if relation != "anywhere":
            candidates &= self._about(reference_ids)
        moments = np.flatnonzero(candidates).tolist()
        asked_at = np.full(2, np.inf)
        for index in moments:
            far = np.abs(self._poses[index, :2] - asked_at).max() >= LOOK_AGAIN_M
            if far or index == moments[-1]:
                asked_at = self._poses[index, :2]
                if self._over(index, relation, reference_ids):
                    return Stage(True, float(self._times[index]))
        return Stage(False)

    def _about(self, reference_ids: Sequence[str]) -> BoolArray:
        """(T+1,) where no relation is out of the question, because the references are too far away."""
        history = self._history
        positions = np.stack([history.poses[name][:, :2] for name in reference_ids])
        middle = positions.mean(axis=0)
        spread = np.linalg.norm(positions - middle, axis=2).max(axis=0)
        radii = [np.linalg.norm(history.scene.find(name).asset.size_m) / 2 for name in (self._name, *reference_ids)]
        near = spread + THRESHOLDS.gap_m + radii[0] + max(radii[1:])
        return np.concatenate([[False], np.linalg.norm(self._poses[1:, :2] - middle, axis=1) <= near])

    def _over(self, index: int, relation: PlaceRelation, reference_ids: Sequence[str]) -> bool:
        history = self._history
        if relation == "anywhere":
            (x0, x1), (y0, y1) = workspace.TABLE_X, workspace.TABLE_Y
            x, y = self._poses[index, :2]
            return bool(x0 <= x <= x1 and y0 <= y <= y1)
        objects = {name: self._state(name, index) for name in reference_ids}
        down = let_down(history.scene, self._state(self._name, index), objects[reference_ids[0]], relation)
        placed = {**objects, self._name: down}
        return relation_fault(relation, self._name, reference_ids, history.scene, placed, history.T_base_camera) is None

    def _state(self, name: str, index: int) -> ObjectState:
        history = self._history
        if index == 0:
            return history.before.objects[name]
        pose = history.poses[name][index - 1]
        return ObjectState(name, pose[:3], pose[3:], np.zeros(6))

    def untouched(self) -> Stage:
        """Since when neither jaws nor arm have touched it; they do not in the end."""
        contacts = self._contacts or ()
        touched = self._where(
            contacts, {moment: bool({"gripper", "arm"} & touching(moment, self._name)) for moment in set(contacts)}
        )
        return self._since(touched)

    def still(self, let_go: Stage) -> Stage:
        """Since when it has lain still, but not before it was let go."""
        steps = np.diff(self._times)
        speed = np.linalg.norm(np.diff(self._poses[:, :3], axis=0), axis=1)
        same = np.abs(np.sum(self._poses[1:, 3:] * self._poses[:-1, 3:], axis=1))
        spin = 2.0 * np.arccos(np.clip(same, 0.0, 1.0))
        moving = (speed >= THRESHOLDS.still_speed * steps) | (spin >= THRESHOLDS.still_spin * steps)
        since = self._since(np.concatenate([[False], moving]))
        return Stage(True, max(since.first_at_s or 0.0, let_go.first_at_s or 0.0))

    def _since(self, flags: BoolArray) -> Stage:
        """The moment after the last in which something was true."""
        last = np.flatnonzero(flags)
        index = int(last[-1]) + 1 if len(last) else 0
        return Stage(True, float(self._times[min(index, len(self._times) - 1)]))


def let_down(scene: Scene, state: ObjectState, reference: ObjectState, relation: PlaceRelation) -> ObjectState:
    """An object straight below where it is, on what it is to stand on, touching that alone."""
    support, height = "table", workspace.TABLE_Z
    if relation in ("in", "on"):
        support, asset = reference.id, scene.find(reference.id).asset
        inside = asset.cavity
        top = float(_points(asset, reference)[:, 2].max())
        height = top
        if relation == "in" and inside is not None:
            height = reference.position_m[2] + matrix_from_quat_wxyz(reference.quat_wxyz)[2, 2] * inside.floor_z
    lowest = float(_points(scene.find(state.id).asset, state)[:, 2].min())
    position = state.position_m + np.array([0.0, 0.0, height - lowest])
    return replace(state, position_m=position, touching=frozenset({support}))


def _points(asset: ObjectAsset, state: ObjectState) -> FloatArray:
    """(K, 3) hull points of an object where it is, base frame [m]."""
    return asset.hull_points @ matrix_from_quat_wxyz(state.quat_wxyz).T + state.position_m


def _contacts_of(snapshot: Snapshot) -> Contacts:
    pairs = ((name, other) for name, state in snapshot.objects.items() for other in state.touching)
    return frozenset((min(pair), max(pair)) for pair in pairs)


def _carried_by_table(contacts: Contacts, name: str) -> bool:
    """True if the table bears an object, at once or over other objects."""
    seen, waiting = {name, "gripper", "arm"}, [name]
    while waiting:
        for other in touching(contacts, waiting.pop()) - seen:
            if other == "table":
                return True
            seen.add(other)
            waiting.append(other)
    return False
