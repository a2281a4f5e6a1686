"""What the arm does beside putting objects somewhere, and what leaves everything as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from toolhand.sim.tasks.arranged import disturbances
from toolhand.sim.tasks.predicates import THRESHOLDS, Shapes
from toolhand.sim.tasks.regions import PARTS, TOLERANCE_M
from toolhand.sim.tasks.task import History, SceneTask, Score, Transcript, held_ids, run_end
from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.types import BoolArray

UNTOUCHED_M = 0.01
"""What was not to be touched has moved by less than this [m]; see `toolhand.sim.tasks.places.BACK_M`."""
HAND_STILL_M = 0.02
"""A hand that was to stay has gone no further than this from where it was [m]: a jaw's width."""
HAND_HOME_M = 0.03
"""A hand is parked within this of the parking position [m]."""
OPEN_M = 0.06
"""Jaws that are open are at least this far apart [m]; most objects pass between them."""
CLOSED_M = 0.02
"""Jaws that are closed on nothing are at most this far apart [m]."""
OVER_M = 0.03
"""A hand is over an object when it is at most this far beside its middle [m]."""
HOVER_M = (0.0, 0.20)
"""And so far above its top [m]."""
POINTING_S = 0.4
"""For so long on end, that somebody sees it [s]."""
HANDED_S = 1.0
"""An object is held out for so long on end, that somebody can take it [s]."""
HANDED_UP_M = 0.05
"""And its lowest point so far above the table [m]."""
A_LITTLE_M = (0.01, 0.20)
"""Lifted a little is so far above the table [m]."""

Jaws = Literal["open", "closed"]


@dataclass(frozen=True)
class UntouchedTask(SceneTask):
    """A question, a refusal, or a wait: nothing is touched, and what was held is held.

    **Success**: `untouched`: nothing has moved by UNTOUCHED_M, the gripper holds what it held; with `hand_stays`
    also `hand_stayed`: at no time was the hand away from where it began by more than HAND_STILL_M.

    Attributes:
        hand_stays: The arm may not move either.
    """

    hand_stays: bool = True

    @property
    def goal(self) -> str:
        """See Task."""
        return "nothing moves" if self.hand_stays else "nothing is touched"

    def score(self, history: History, transcript: Transcript) -> Score:
        """See Task."""
        stays = [("hand_stayed", hand_way(history) <= HAND_STILL_M, "the hand moved")] if self.hand_stays else []
        return _untouched(history, stays)


@dataclass(frozen=True)
class JawsTask(SceneTask):
    """The gripper is opened or closed; what it held is let go on the table, and nothing else is touched.

    **Success**: `jaws`, open by OPEN_M or closed to CLOSED_M, and `untouched`: nothing moved but what was held, which
    ends on the table or on what stands there.
    """

    jaws: Jaws

    @property
    def goal(self) -> str:
        """See Task."""
        return f"the jaws are {self.jaws}"

    def score(self, history: History, transcript: Transcript) -> Score:
        """See Task."""
        held = held_ids(history.before)
        faults = disturbances(history, set(held), UNTOUCHED_M)
        opening = history.opening_m
        right = opening is not None and (opening >= OPEN_M if self.jaws == "open" else opening <= CLOSED_M)
        reasons = list(faults)
        if not right:
            reasons.append(f"the jaws are {1000 * (opening or 0):.0f} mm apart")
        for name in held:
            if history.after.objects[name].position_m[2] < workspace.TABLE_Z:
                reasons.append(f"{name} fell off the table")
        if self.jaws == "open" and held_ids(history.after):
            reasons.append("the gripper still holds a thing")
        return Score({"jaws": right, "untouched": not faults}, not reasons, tuple(reasons))


@dataclass(frozen=True)
class ParkedTask(SceneTask):
    """The arm goes to its parking position with what it holds, and nothing is touched.

    **Success**: `parked` within HAND_HOME_M, and `untouched` as of UntouchedTask.
    """

    goal: ClassVar[str] = "the arm is parked"

    def score(self, history: History, transcript: Transcript) -> Score:
        """See Task."""
        parked = False
        if history.hand is not None and history.parked_hand is not None and len(history.hand):
            parked = bool(np.linalg.norm(history.hand[-1] - history.parked_hand) <= HAND_HOME_M)
        elif history.hand is not None:
            parked = True  # nothing was logged: it has not moved since the last command, which ended there
        return _untouched(history, [("parked", parked, "the arm is not parked")])


@dataclass(frozen=True)
class PointTask(SceneTask):
    """The hand shows an object from above and touches nothing.

    **Success**: `pointed`: for POINTING_S on end the hand was over the middle of one of the objects, and over none
    else; `untouched` as of UntouchedTask.

    Attributes:
        ids: Objects of which any one counts.
    """

    ids: tuple[str, ...]

    @property
    def goal(self) -> str:
        """See Task."""
        return f"the hand is held over {' or '.join(self.ids)}"

    def score(self, history: History, transcript: Transcript) -> Score:
        """See Task."""
        pointed = any(run_end(self._over(history, name), POINTING_S) is not None for name in self.ids)
        return _untouched(history, [("pointed", pointed, f"the hand was not held over {' or '.join(self.ids)}")])

    @staticmethod
    def _over(history: History, name: str) -> BoolArray:
        """(T,) when the hand was over an object, in its reach of heights."""
        hand = history.hand if history.hand is not None else np.empty((0, 3))
        view = Shapes(history.scene, history.before.objects, THRESHOLDS)
        above = hand[:, 2] - view.points(name)[:, 2].max()
        low, high = HOVER_M
        return (np.linalg.norm(hand[:, :2] - view.centre(name), axis=1) <= OVER_M) & (low <= above) & (above <= high)


@dataclass(frozen=True)
class HandOverTask(SceneTask):
    """An object is held out towards the operator over the front of the table, for HANDED_S at least.

    It may then be let go only there, to somebody who takes it; where nobody does it is still held in the end.

    **Success**: `handed` and `held`, and nothing else was moved.

    Attributes:
        ids: Objects of which any one counts.
    """

    ids: tuple[str, ...]

    @property
    def goal(self) -> str:
        """See Task."""
        return f"{' or '.join(self.ids)} is held out to the operator"

    def score(self, history: History, transcript: Transcript) -> Score:
        """See Task."""
        in_hand, held, not_held = _in_hand(history, self.ids)
        handed = held and self._handed(history, next(iter(in_hand)))
        faults = disturbances(history, set(in_hand))
        if not handed:
            faults.append(f"{' or '.join(self.ids)} was not held out over the front of the table")
        faults += not_held
        up = tuple(sorted(history.picked_up))
        return Score({"handed": handed, "held": held}, not faults, tuple(faults), picked_up=up, meant=self.ids)

    @staticmethod
    def _handed(history: History, name: str) -> bool:
        poses = history.poses[name]
        half = history.scene.find(name).asset.size_m[2] / 2
        front = PARTS["front"].x[0] - TOLERANCE_M
        out = (poses[:, 0] >= front) & (poses[:, 2] - half - workspace.TABLE_Z >= HANDED_UP_M)
        return run_end(out, HANDED_S) is not None


@dataclass(frozen=True)
class LiftedTask(SceneTask):
    """An object is held a little above the table, and nothing else is moved.

    **Success**: `held` and `height`, within A_LITTLE_M.

    Attributes:
        ids: Objects of which any one counts.
    """

    ids: tuple[str, ...]
    holds_s: ClassVar[tuple[float, ...]] = (THRESHOLDS.hold_s,)

    @property
    def goal(self) -> str:
        """See Task."""
        return f"{' or '.join(self.ids)} is lifted a little"

    def score(self, history: History, transcript: Transcript) -> Score:
        """See Task."""
        in_hand, held, not_held = _in_hand(history, self.ids)
        faults = disturbances(history, set(in_hand))
        height = 0.0
        if held:
            view = Shapes(history.scene, history.after.objects, THRESHOLDS)
            height = float(view.points(next(iter(in_hand)))[:, 2].min()) - workspace.TABLE_Z
        right = A_LITTLE_M[0] <= height <= A_LITTLE_M[1]
        faults += not_held
        if held and not right:
            faults.append(f"it is {100 * height:.0f} cm above the table")
        up = tuple(sorted(history.picked_up))
        return Score({"held": held, "height": held and right}, not faults, tuple(faults), picked_up=up, meant=self.ids)


def _untouched(history: History, further: Sequence[tuple[str, bool, str]]) -> Score:
    """The score of a gesture in which nothing is touched; `further` are terms with the reason where each is false."""
    faults = disturbances(history, set(held_ids(history.before)), UNTOUCHED_M)
    if held_ids(history.after) != held_ids(history.before):
        faults.append("the gripper holds something else than before")
    terms = {"untouched": not faults} | {name: true for name, true, _ in further}
    faults += [reason for _, true, reason in further if not true]
    return Score(terms, not faults, tuple(faults), picked_up=tuple(sorted(history.picked_up)))


def _in_hand(history: History, ids: tuple[str, ...]) -> tuple[frozenset[str], bool, list[str]]:
    """What is held in the end; whether that is one of some objects and nothing else; the reason where it is not."""
    in_hand = held_ids(history.after)
    held = len(in_hand) == 1 and in_hand <= set(ids)
    return in_hand, held, [] if held else [f"the gripper holds {' and '.join(sorted(in_hand)) or 'nothing'}"]


def hand_way(history: History) -> float:
    """Greatest distance of the hand from where it was at the beginning [m]; 0 where that is not known."""
    if history.hand is None or not len(history.hand):
        return 0.0
    return float(np.linalg.norm(history.hand - history.hand[0], axis=1).max())
