"""The guard between callers that ask for motions and the arm: modes, limits, approval. It trusts no caller.

A `Manipulator` reaches its arm only through a `GuardedArm`, and that moves only what an open `Permit` names: each step
of the approved motion in its order, bit for bit, and afterwards the few continuations that can be planned only on the
way.
"""

from __future__ import annotations

import functools
import json
import logging
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from typing import ParamSpec, TypeVar

import numpy as np

from toolhand.tool_nodes.geometry import rotation_angle
from toolhand.tool_nodes.motion.approval import (
    Approver,
    Decision,
    MotionStep,
    NobodyApprover,
    PlannedMotion,
    make_request,
    motion_hash,
    step_hash,
)
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.limits import MotionLimits, check_trajectory
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.ports import Arm
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid, unavailable
from toolhand.tool_nodes.stop_latch import StopWatch
from toolhand.tool_nodes.types import ArmState, GripperOutcome, MotionOutcome, Trajectory

LOG = logging.getLogger("toolhand.safety")
"""One JSON object a line for every attempt to move: what, mode, outcome, and the hash and person of an approval."""

APPROVAL_S = 30.0
"""An approval that is not used for so long [s] is void."""

MOVED_M = 0.005
"""An approval is void when the gripper is further from where the motion starts [m]; a round figure."""
MOVED_RAD = 0.02
"""Or when it is turned further from it [rad]; a round figure."""

LIFT_M = 0.12
"""A continuation leads straight up by no more than this [m]."""

_LIFT_SLACK_M = 0.01
"""A continuation that lifts may stray this far sideways, downwards and over LIFT_M [m]; a round figure."""
_LIFT_TURN = 0.05
"""Angle by which such a continuation may turn the gripper [rad]; a round figure."""
_PARK_SLACK = 1e-3
"""A motion that ends this near to the park position, in each joint, leads there [rad]; a round figure."""
_MAX_CONTINUATIONS = 2
"""How often each sort of continuation may come in one motion: once in the course of objects, once after a failure."""


class Mode(StrEnum):
    """Who lets a motion run; later is stricter."""

    AUTO = "auto"
    ASK = "ask-motion"
    DRY_RUN = "dry-run"


def stricter(first: Mode, second: Mode) -> Mode:
    """The stricter of two modes."""
    order = list(Mode)
    return max(first, second, key=order.index)


def parse_mode(text: str) -> Mode:
    """The mode of a name. Raises ToolError INVALID_ARGUMENT."""
    if text not in set(Mode):
        raise invalid(f"The approval must be {', '.join(Mode)}, got {text[:60]!r}.", "Choose one.")
    return Mode(text)


P = ParamSpec("P")
R = TypeVar("R")


def record(outcome: str, **entry: str) -> None:
    """Record one attempt to move, as one line of JSON."""
    level = logging.WARNING if outcome == "refused" else logging.INFO
    LOG.log(level, "%s", json.dumps({"outcome": outcome, **entry}))


def recorded(what: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorates what plans a motion: an attempt that fails there is recorded as refused, like those that fail later."""

    def decorate(plan: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(plan)
        def planned(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return plan(*args, **kwargs)
            except ToolError as error:
                record("refused", what=what, code=str(error.code), reason=error.message)
                raise

        return planned

    return decorate


class Permit:
    """What may be moved now: the steps of one motion, then its continuations.

    Args:
        motion: Approved.
        kinematics: For the continuations.
    """

    def __init__(self, motion: PlannedMotion, kinematics: Kinematics) -> None:
        self._steps = deque(step_hash(step) for step in motion.steps)
        self._kinematics = kinematics
        self._continued: dict[str, int] = {}

    def use(self, step: MotionStep) -> None:
        """Let one step pass. Raises ToolError NOT_APPROVED for one that is neither next nor a continuation."""
        if self._steps and step_hash(step) == self._steps[0]:
            self._steps.popleft()
            return
        sort = self._continuation(step)
        if sort is None or self._continued.get(sort, 0) >= _MAX_CONTINUATIONS:
            raise ToolError(
                ErrorCode.NOT_APPROVED,
                "A step was refused: it is not what was approved, nor straight up, opening or returning to park.",
                "Plan anew.",
            )
        self._continued[sort] = self._continued.get(sort, 0) + 1
        self._steps.clear()

    def _continuation(self, step: MotionStep) -> str | None:
        if not isinstance(step, Trajectory):
            return "open" if step == self._kinematics.robot.gripper.max_opening else None
        robot = self._kinematics.robot
        if np.abs(robot.nearest_turn(robot.park, step.q[-1]) - step.q[-1]).max() < _PARK_SLACK:
            return "park"
        T = np.array([self._kinematics.fk(q) for q in step.q])
        sideways = np.linalg.norm(T[:, :2, 3] - T[0, :2, 3], axis=1).max()
        turn = max(rotation_angle(T[0, :3, :3], R) for R in T[:, :3, :3])
        rise = T[:, 2, 3] - T[0, 2, 3]
        straight = sideways < _LIFT_SLACK_M and turn < _LIFT_TURN and rise.min() > -_LIFT_SLACK_M
        return "lift" if straight and rise.max() < LIFT_M + _LIFT_SLACK_M else None


class MotionGuard:
    """Decides whether a planned motion may run, and records every attempt.

    Args:
        mode: No motion is let through more easily than this.
        approver: Asked in the mode ask-motion.
        limits: Hold in every mode, and say for which robot.
        clock: Monotonic time [s].
    """

    def __init__(
        self,
        mode: Mode = Mode.AUTO,
        approver: Approver | None = None,
        limits: MotionLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.mode = mode
        self.limits = limits or MotionLimits()
        self._asked_for = Mode.AUTO
        self._approver = approver or NobodyApprover()
        self._clock = clock
        self._kinematics = Kinematics(robot=self.robot)
        self._busy = threading.Lock()
        self._permit: Permit | None = None
        self._in_command = 0
        self._begun_s: deque[float] = deque()

    @property
    def robot(self) -> RobotModel:
        """Whose motions it guards."""
        return self.limits.robot

    @property
    def in_force(self) -> Mode:
        """The mode of the next motion."""
        return stricter(self.mode, self._asked_for)

    @contextmanager
    def at_least(self, mode: Mode) -> Iterator[None]:
        """Within it motions are let through no more easily than in a mode; it can only make the guard stricter."""
        before = self._asked_for
        self._asked_for = stricter(before, mode)
        try:
            yield
        finally:
            self._asked_for = before

    def begin_command(self) -> None:
        """An operator gave a new command: its motions are counted from 0."""
        self._in_command = 0

    def check(self, trajectory: Trajectory, opening_m: float) -> None:
        """See `limits.check_trajectory`."""
        check_trajectory(trajectory, opening_m, self.limits, self._kinematics)

    def _count(self) -> None:
        """Raises ToolError NOT_APPROVED when one more motion would be too many."""
        now, limits = self._clock(), self.limits
        while self._begun_s and now - self._begun_s[0] >= 60.0:
            self._begun_s.popleft()
        if limits.motions_per_command is not None and self._in_command >= limits.motions_per_command:
            raise ToolError(
                ErrorCode.NOT_APPROVED,
                f"This command has used its {limits.motions_per_command} motions; nothing has moved.",
                "The operator can give a new command.",
            )
        if limits.motions_per_minute is not None and len(self._begun_s) >= limits.motions_per_minute:
            raise ToolError(
                ErrorCode.NOT_APPROVED,
                f"There were {limits.motions_per_minute} motions within a minute already; nothing has moved.",
                "Wait.",
            )
        self._in_command += 1
        self._begun_s.append(now)

    # -- permits ---------------------------------------------------------------------------------

    @contextmanager
    def permit(
        self,
        motion: Callable[[], PlannedMotion],
        opening_m: float,
        unchanged: Callable[[PlannedMotion], None],
    ) -> Iterator[None]:
        """Within it the motion may run, and nothing else; refused motions never get in.

        Args:
            motion: Makes the motion of the arrays as they are at the time of the call.
            opening_m: Present opening of the jaws [m].
            unchanged: Raises ToolError if the world is not as it was when the motion was planned.

        Raises:
            ToolError: NOT_APPROVED, OUT_OF_WORKSPACE, EXECUTION_FAILED for limits, SCENE_CHANGED where something has
                changed, UNAVAILABLE while another motion runs; whatever the approver raises.
        """
        if not self._busy.acquire(blocking=False):
            raise unavailable("busy: another motion is running.", "Wait for its end.")
        try:
            planned = motion()
            entry = {"what": planned.what, "mode": str(self.in_force)}
            try:
                self._authorise(planned, motion, opening_m, unchanged, entry)
            except ToolError as error:
                record("refused", **entry, code=str(error.code), reason=error.message)
                raise
            except BaseException as error:
                record("refused", **entry, reason=type(error).__name__)
                raise
            record("begun", **entry)
            self._permit = Permit(planned, self._kinematics)
            yield
        finally:
            self._permit = None
            self._busy.release()

    def _authorise(
        self,
        planned: PlannedMotion,
        motion: Callable[[], PlannedMotion],
        opening_m: float,
        unchanged: Callable[[PlannedMotion], None],
        entry: dict[str, str],
    ) -> None:
        jaws = opening_m
        for step in planned.steps:
            if isinstance(step, Trajectory):
                self.check(step, jaws)
            elif 0.0 <= step <= self.robot.gripper.max_opening:
                jaws = step
            else:
                raise invalid(f"The jaw opening must be between 0 and {self.robot.gripper.max_opening} m, got {step}.")
        if entry["mode"] == Mode.DRY_RUN:
            raise ToolError(
                ErrorCode.NOT_APPROVED,
                f"Dry run: {planned.what}, in {planned.duration_s:.1f} s, is planned and within the limits; "
                "nothing has moved.",
            )
        if entry["mode"] == Mode.ASK:
            self._ask(planned, motion, unchanged, entry)
        self._count()

    def _ask(
        self,
        planned: PlannedMotion,
        motion: Callable[[], PlannedMotion],
        unchanged: Callable[[PlannedMotion], None],
        entry: dict[str, str],
    ) -> None:
        request_id = uuid.uuid4().hex
        request = make_request(planned, request_id, self._kinematics)
        entry |= {"hash": request.hash}
        record("asked", **entry)
        decision = self._approver.decide(request)
        decided_s = self._clock()
        entry |= {"by": decision.by, "decision": decision.reason}
        self._heed(decision, request.hash)
        unchanged(planned)
        # What was shown is compared with the arrays that will be handed to the arm, not with a copy of them.
        if motion_hash(motion(), request_id) != request.hash:
            raise _refused("The motion is not the one that was approved")
        if self._clock() - decided_s > APPROVAL_S:
            raise _refused(f"The approval is older than {APPROVAL_S:.0f} s")

    @staticmethod
    def _heed(decision: Decision, asked: str) -> None:
        if decision.approved is not True:
            why = f": {decision.reason}" if decision.reason else ""
            raise _refused(f"The motion was not approved{why}")
        if decision.hash != asked:
            raise _refused("The approval names another motion")

    def use(self, step: MotionStep, opening_m: float) -> None:
        """Let one step pass to the arm, or raise ToolError; see `Permit.use` and `check`."""
        if self._permit is None:
            error = ToolError(ErrorCode.NOT_APPROVED, "No motion is permitted now; nothing has moved.", "Plan anew.")
            record("refused", what="a step without a permit", code=str(error.code), reason=error.message)
            raise error
        try:
            self._permit.use(step)
            if isinstance(step, Trajectory):
                self.check(step, opening_m)
        except ToolError as error:
            record("refused", what="a step", code=str(error.code), reason=error.message)
            raise


def _refused(what: str) -> ToolError:
    return ToolError(ErrorCode.NOT_APPROVED, f"{what.rstrip('.')}; nothing has moved.")


class GuardedArm:
    """The Arm port for those who plan: it moves only what the guard permits.

    Args:
        arm: Moves.
        guard: Decides.
    """

    def __init__(self, arm: Arm, guard: MotionGuard) -> None:
        self._arm = arm
        self._guard = guard

    def state(self) -> ArmState:
        """See ports.Arm."""
        return self._arm.state()

    def follow(self, trajectory: Trajectory) -> MotionOutcome:
        """See ports.Arm. Raises ToolError where the guard refuses."""
        # A copy of its own: what is checked is what is handed on, even if the caller's arrays change meanwhile.
        own = Trajectory(tuple(trajectory.joint_names), trajectory.t.copy(), trajectory.q.copy(), trajectory.qd.copy())
        self._guard.use(own, self._arm.state().opening_m)
        return self._arm.follow(own)

    def move_gripper(self, opening_m: float) -> GripperOutcome:
        """See ports.Arm. Raises ToolError where the guard refuses."""
        self._guard.use(opening_m, opening_m)
        return self._arm.move_gripper(opening_m)

    def rest(self, seconds: float) -> MotionOutcome:
        """See ports.Arm; nothing is commanded."""
        return self._arm.rest(seconds)

    def stop(self) -> None:
        """See ports.Arm."""
        self._arm.stop()

    def reset_stop(self) -> None:
        """See ports.Arm."""
        self._arm.reset_stop()

    def job(self) -> AbstractContextManager[StopWatch]:
        """See ports.Arm."""
        return self._arm.job()
