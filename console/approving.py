"""The motion that waits for an approval, for all pages of a console: one answer to each, and only the operator's.

What a page shows is made from the legs of the request. The hash is made again from them before there is a button, and
once more before an approval is sent. The operator's token is in the robot's link, and never here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from toolhand.console.robot import Close, Robot, WaitingMotion
from toolhand.tool_nodes.motion.approval import Decision, MotionRequest, step_line
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.types import Trajectory

BY = "console"
"""Who decided, in the records."""

LONGEST_REASON = 200
"""Characters of a reason that are sent; the motion node keeps as many."""


@dataclass(frozen=True)
class ApprovalCard:
    """What a page shows of the motion that waits.

    Attributes:
        motion: The motion; None where none waits.
        steps: A line for each of its steps, made from its legs, and the request's own line about what follows.
        is_true: Its hash is that of its legs: without that there is no button.
        answer: The answer that was given, "approved" or "rejected"; empty while there is none.
        said: Sentence about the last answer, or about the motion that waited before; empty for none.
    """

    motion: WaitingMotion | None
    steps: tuple[str, ...] = ()
    is_true: bool = False
    answer: str = ""
    said: str = ""

    @property
    def may_be_answered(self) -> bool:
        """There is something to approve, and it is what it says."""
        return self.motion is not None and self.is_true and not self.answer


class Approvals:
    """Shares the motion that waits among all pages. May be used from any thread.

    Args:
        robot: Tells which motion waits, and takes the answer.
        require_operator: Raises ToolError for the name of a page that may not answer.
        clock: Monotonic time [s], that of `WaitingMotion.expires_s`.
    """

    def __init__(
        self, robot: Robot, require_operator: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._robot = robot
        self._require_operator = require_operator
        self._clock = clock
        self._lock = threading.RLock()
        self._card = ApprovalCard(None)
        self._close: Close | None = None

    def attend(self, present: bool) -> None:
        """Listen to motions that wait, or not: a motion node to which nobody listens refuses at once."""
        with self._lock:
            if present and self._close is None:
                self._close = self._robot.motions(self._hear)
            elif not present and self._close is not None:
                close, self._close = self._close, None
                close()
                self._card = ApprovalCard(None)

    @property
    def card(self) -> ApprovalCard:
        """What is shown now."""
        return self._card

    def left_s(self) -> float:
        """Time in which the motion that waits can still be answered [s]; 0 where none waits."""
        motion = self._card.motion
        return 0.0 if motion is None else max(0.0, motion.expires_s - self._clock())

    def answer(self, page: str, request_hash: str, approve: bool, reason: str = "") -> str:
        """Answer the motion that waits.

        Args:
            page: Name of the page that answers.
            request_hash: Hash of the motion that this page shows.
            approve: Let it run.
            reason: Why not, for the policy; may be empty.

        Returns:
            Empty where the motion node has taken the answer, else one sentence that says why it was not given or taken.
        """
        try:
            self._require_operator(page)
        except ToolError as error:
            return error.message
        with self._lock:
            refusal = self._refusal(request_hash, approve)
            if refusal:
                return refusal
            self._card = self._answered("approved" if approve else "rejected", "The answer is sent.")
        decision = Decision(approve, reason.strip()[:LONGEST_REASON], request_hash, BY)
        try:
            refusal = self._robot.decide(decision)
        except ToolError as error:
            refusal = f"{error} Nobody knows whether the answer has arrived: look at the arm."
        with self._lock:
            motion = self._card.motion
            if motion is not None and motion.request.hash == request_hash:
                self._card = self._answered(self._card.answer, refusal or f"The motion is {self._card.answer}.")
        return refusal

    def _refusal(self, request_hash: str, approve: bool) -> str:
        """Why an answer is not sent; empty where it is."""
        card = self._card
        if card.motion is None:
            return "No motion waits for an approval any more."
        if card.motion.request.hash != request_hash:
            return "Another motion waits now than the one that this page showed; look at it first."
        if card.answer:
            return f"The motion has its answer already: {card.answer}."
        if self._clock() >= card.motion.expires_s:
            return "The time for an answer is over; nothing was approved."
        if approve and not card.motion.request.is_true:
            return "The hash of this motion is not that of its legs; it cannot be approved."
        return ""

    def _answered(self, answer: str, said: str) -> ApprovalCard:
        return ApprovalCard(self._card.motion, self._card.steps, self._card.is_true, answer, said)

    def _hear(self, motion: WaitingMotion | None) -> None:
        with self._lock:
            before = self._card
            if motion is not None:
                request = motion.request
                same = before.motion is not None and before.motion.request.hash == request.hash
                if not same:
                    lines = (*map(step_line, request.steps), *request.summary[-1:])
                    self._card = ApprovalCard(motion, lines, request.is_true)
            elif before.motion is not None:
                gone = f"The motion is {before.answer}." if before.answer else "The motion does not wait any more."
                self._card = ApprovalCard(None, answer=before.answer, said=gone)


class MotionTimeline:
    """Where arm and jaws are at each moment of a motion, as its legs say; nothing is smoothed or planned anew.

    Args:
        request: The motion.

    Attributes:
        duration_s: Duration of all legs together [s].
    """

    def __init__(self, request: MotionRequest) -> None:
        self._steps = request.steps
        ends = np.cumsum([step.duration if isinstance(step, Trajectory) else 0.0 for step in self._steps])
        self._ends = ends
        self.duration_s = float(ends[-1]) if len(ends) else 0.0

    def at(self, time_s: float) -> MotionMoment:
        """The moment at a time from the beginning [s]; before and after the motion it stands still."""
        number = min(int(np.searchsorted(self._ends, time_s)), len(self._steps) - 1)
        positions: dict[str, float] = {}
        opening_m = None
        for k, step in enumerate(self._steps[: number + 1]):
            if not isinstance(step, Trajectory):
                opening_m = float(step)
                continue
            since_s = time_s - (self._ends[k] - step.duration) if k == number else step.duration
            columns = [float(np.interp(since_s, step.t, column)) for column in step.q.T]
            positions |= dict(zip(step.joint_names, columns, strict=True))
        if not positions:  # the jaws move first: the arm is where its first leg begins
            first = next((step for step in self._steps if isinstance(step, Trajectory)), None)
            if first is not None:
                positions = dict(zip(first.joint_names, map(float, first.q[0]), strict=True))
        return MotionMoment(number + 1, positions, opening_m)


@dataclass(frozen=True)
class MotionMoment:
    """A moment of a motion.

    Attributes:
        step: Number of the step that is under way, from 1; 0 for a motion without steps.
        positions: Joint positions by name [rad].
        opening_m: Opening that the jaws were last moved to [m]; None before they move.
    """

    step: int
    positions: dict[str, float]
    opening_m: float | None
