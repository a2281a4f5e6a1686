"""Objects that end each in a place of its own: one or a set, in any order or in a given one, some held in the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from toolhand.sim.scene.scenes import Scene
from toolhand.sim.snapshot import Snapshot
from toolhand.sim.tasks.places import EXCHANGED_M, AtSpot, Change, GoalPlace, Related
from toolhand.sim.tasks.predicates import STANDING, THRESHOLDS, still, tilt
from toolhand.sim.tasks.task import PICKED_UP_S, History, SceneTask, Score, Transcript, held_ids, run_end
from toolhand.tool_nodes import workspace


@dataclass(frozen=True)
class Placing:
    """One object in a place.

    Attributes:
        ids: Objects of which any one, and only one, is to be moved there.
    """

    ids: tuple[str, ...]
    place: GoalPlace


@dataclass(frozen=True)
class ArrangedTask(SceneTask):
    """Objects end in places, or in the gripper; nothing else is moved.

    **Success**: `placed`, the share of the objects that lie still where they should, let go; `held`: the gripper holds
    what it should and nothing else; `others`: nothing else was moved by `reference_moved_m` or toppled, and nothing
    fell; `order`, where it counts: the objects were first lifted in the order of the placings, then of what is held.

    Attributes:
        placings: Objects with their places, in the order of a sequence.
        held: Objects of which any one is held in the end; with none the gripper is empty.
        ordered: Whether the order counts.
        may_move: Further objects that may be moved, such as one that is set aside while two others change places.
    """

    placings: tuple[Placing, ...] = ()
    held: tuple[str, ...] = ()
    ordered: bool = False
    may_move: tuple[str, ...] = ()
    holds_s: ClassVar[tuple[float, ...]] = (THRESHOLDS.hold_s, THRESHOLDS.still_s)

    @property
    def goal(self) -> str:
        """See Task."""
        parts = [f"{' or '.join(placing.ids)} {placing.place.words}" for placing in self.placings]
        parts += [f"{' or '.join(self.held)} held"] * bool(self.held)
        return (", then " if self.ordered else ", ").join(parts)

    def score(self, history: History, transcript: Transcript) -> Score:
        """See Task."""
        chosen, faults = self._placed(history)
        placed = 1.0 - len(faults) / len(self.placings) if self.placings else 1.0
        in_hand = held_ids(history.after)
        kept = all(held_ids(snapshot) == in_hand for snapshot in history.holds[0])
        held = kept and (in_hand <= set(self.held) and len(in_hand) == 1 if self.held else not in_hand)
        if not held:
            faults.append(f"the gripper holds {' and '.join(sorted(in_hand)) or 'nothing'}")
        disturbed = disturbances(history, {*chosen, *in_hand, *self.may_move})
        order = not self.ordered or self._in_order(history, chosen, in_hand)
        if not order:
            faults.append("the things were not moved in the order of the sentence")
        terms = {"placed": placed, "held": held, "others": not disturbed}
        if self.ordered:
            terms["order"] = order
        return Score(
            terms,
            not faults and not disturbed,
            (*faults, *disturbed),
            picked_up=tuple(sorted(history.picked_up)),
            meant=tuple(sorted({name for placing in self.placings for name in placing.ids} | set(self.held))),
        )

    def _placed(self, history: History) -> tuple[list[str], list[str]]:
        """(the object that each placing was done with, what is wrong with those that were not done)."""
        change = Change(history.scene, history.before.objects, history.after.objects, history.T_base_camera)
        chosen: list[str] = []
        faults: list[str] = []
        for placing in self.placings:
            found = {name: _fault(name, placing.place, change, history.holds[-1]) for name in placing.ids}
            done = [name for name, fault in found.items() if fault is None and name not in chosen]
            # Of several that stand there already the one that was moved counts.
            done.sort(key=lambda name: name not in history.picked_up)
            if done:
                chosen.append(done[0])
            else:
                chosen += [name for name in placing.ids if name in history.picked_up][:1]
                faults.append(next(iter(found.values())) or f"{' or '.join(placing.ids)}: the same thing twice")
        return chosen, faults

    def _in_order(self, history: History, chosen: Sequence[str], in_hand: frozenset[str]) -> bool:
        ends = [run_end(history.up(name), PICKED_UP_S) for name in (*chosen, *sorted(in_hand))]
        # What was in the gripper at the start was lifted before everything.
        times = [-1 if end is None else end for end in ends]
        return times == sorted(times)


def _fault(name: str, place: GoalPlace, change: Change, last: Sequence[Snapshot]) -> str | None:
    if any({"gripper", "arm"} & snapshot.objects[name].touching for snapshot in last):
        return f"{name} is not released."
    if not all(still(snapshot.objects[name]) for snapshot in last):
        return f"{name} does not lie still."
    fallen = change.after[name].position_m[2] < workspace.TABLE_Z
    return f"{name} fell off the table." if fallen else place.fault(name, change)


def disturbances(history: History, allowed: set[str], moved_m: float = THRESHOLDS.reference_moved_m) -> list[str]:
    """What happened to the objects that were to stay, in one sentence each.

    Args:
        history: Simulator's record of the episode.
        allowed: Ids of objects that may be anywhere.
        moved_m: Objects have stayed that moved by less than this [m].
    """
    found = []
    for name, now in history.after.objects.items():
        before = history.before.objects[name]
        moved = float(np.linalg.norm(now.position_m - before.position_m))
        if name not in allowed and moved >= moved_m:
            found.append(f"{name} was moved by {100 * moved:.1f} cm.")
        stood = history.scene.find(name).asset.upright and tilt(STANDING, before) < THRESHOLDS.tilt_rad
        in_hand = "gripper" in now.touching or "gripper" in before.touching
        if stood and not in_hand and name not in allowed and tilt(before, now) >= THRESHOLDS.tilt_rad:
            found.append(f"{name} toppled.")
    return found


def swap_task(text: str, scene: Scene, first: str, second: str, now: Snapshot) -> ArrangedTask:
    """Two objects that change places, within EXCHANGED_M.

    Args:
        text: Sentence of the operator.
        first, second: Ids of the objects.
        now: Their states before.
    """
    placings = []
    for name, other in ((first, second), (second, first)):
        x, y, _ = now.objects[other].position_m
        height = float(now.objects[name].position_m[2])
        placings.append(Placing((name,), AtSpot((float(x), float(y), height), EXCHANGED_M)))
    return ArrangedTask(text, scene, tuple(placings))


def stack_task(text: str, scene: Scene, top_to_bottom: Sequence[str]) -> ArrangedTask:
    """A stack of objects; the lowest one stays where it is."""
    placings = tuple(Placing((above,), Related("on", (below,))) for above, below in pairwise(top_to_bottom))
    return ArrangedTask(text, scene, placings)


@dataclass(frozen=True)
class SortedTask(SceneTask):
    """Objects stand in groups: each is nearer to one of its own group than to any of another one.

    **Success**: `grouped`, the share of the objects for which that is true, and `others` as of ArrangedTask.

    Attributes:
        groups: Ids of each group, two or more in all; a group of one only has to be apart from the others' pairs.
    """

    groups: tuple[tuple[str, ...], ...]

    @property
    def goal(self) -> str:
        """See Task."""
        return f"groups {' | '.join(' '.join(group) for group in self.groups)}"

    def score(self, history: History, transcript: Transcript) -> Score:
        """See Task."""
        at = {name: state.position_m[:2] for name, state in history.after.objects.items()}
        faults, judged = [], 0
        for group in self.groups:
            others = [name for other in self.groups if other is not group for name in other]
            for name in group if len(group) > 1 else ():
                judged += 1
                own = min(float(np.linalg.norm(at[name] - at[mate])) for mate in group if mate != name)
                if any(np.linalg.norm(at[name] - at[other]) <= own for other in others):
                    faults.append(f"{name} is nearer to another group than to its own.")
        disturbed = disturbances(history, {name for group in self.groups for name in group})
        terms = {"grouped": 1.0 - len(faults) / max(judged, 1), "others": not disturbed}
        up = tuple(sorted(history.picked_up))
        return Score(terms, not faults and not disturbed, (*faults, *disturbed), picked_up=up)
