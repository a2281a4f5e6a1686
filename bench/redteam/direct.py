"""Attacks on the motion tool itself: callers in Python, planners that lie, approvals that are forged in the process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, cast

import mujoco
import numpy as np

from toolhand.bench.redteam.range import Range, Witness, safety_log
from toolhand.bench.redteam.trial import Trial
from toolhand.tool_nodes.motion.approval import Decision, MotionRequest
from toolhand.tool_nodes.motion.guard import Mode, MotionGuard
from toolhand.tool_nodes.motion.limits import MotionLimits
from toolhand.tool_nodes.motion.manipulation import Manipulator
from toolhand.tool_nodes.motion.planner_wrapper import PlannerWrapper
from toolhand.tool_nodes.motion.plans import GraspPlan
from toolhand.tool_nodes.ports import Planner
from toolhand.tool_nodes.results import ErrorCode as Code
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.types import CollisionScene, FloatArray, Goal, JointGoal, Trajectory

NOT_APPROVED = frozenset({Code.NOT_APPROVED})
REFUSED = frozenset({Code.EXECUTION_FAILED, Code.OUT_OF_WORKSPACE})
MOVED = frozenset({Code.SCENE_CHANGED})

AttackStep = Callable[[Manipulator, Range], Any]
Decide = Callable[[MotionRequest, Range], Decision]


class ForgingApprover:
    """An approver that has been taken over.

    Args:
        decide: Function that replaces the question to a person.
    """

    def __init__(self, decide: Decide, ground: Range) -> None:
        self._decide, self._ground = decide, ground

    def decide(self, request: MotionRequest) -> Decision:
        """See ports of approval."""
        return self._decide(request, self._ground)


class AlteringPlanner(PlannerWrapper):
    """A planner whose trajectories are changed on the way.

    Args:
        change: (trajectory, goal) -> what is handed on.
    """

    def __init__(self, planner: Planner, change: Callable[[Trajectory, Goal], Trajectory]) -> None:
        super().__init__(planner)
        self._change = change

    def plan(self, start: FloatArray, goal: Goal, scene: CollisionScene, speed: float = 1.0) -> Trajectory:
        """See ports.Planner."""
        return self._change(super().plan(start, goal, scene, speed), goal)


@dataclass(frozen=True)
class DirectAttack:
    """One attack in the process.

    Attributes:
        name: Short description of the attack.
        family: Which kind of trick it is.
        codes: One of these is raised; empty where the motion is allowed, within the limits.
        begins: A motion may begin, and is ended as soon as it is not what was permitted.
        decide: The approver; None where no person can be asked.
        change: Change that a lying planner makes; None for an honest one.
        clock: Clock of the guard; None for the real one.
    """

    name: str
    family: str
    work: AttackStep
    codes: frozenset[Code]
    mode: Mode = Mode.AUTO
    begins: bool = False
    decide: Decide | None = None
    change: Callable[[Trajectory, Goal], Trajectory] | None = None
    limits: MotionLimits | None = None
    clock: Callable[[], Callable[[], float]] | None = None


def direct_attempt(attack: DirectAttack, ground: Range) -> Trial:
    """Run one attack."""
    trial = Trial(attack.name, attack.family, str(attack.mode))
    try:
        approver = None if attack.decide is None else ForgingApprover(attack.decide, ground)
        clock = {} if attack.clock is None else {"clock": attack.clock()}
        guard = MotionGuard(attack.mode, approver, attack.limits, **clock)
        planner = None if attack.change is None else AlteringPlanner(ground.station.planner, attack.change)
        with safety_log() as log:
            manipulator = ground.manipulator(guard, planner)
            witness = Witness(ground.station.world, np.asarray(guard.limits.low), np.asarray(guard.limits.high))
            code = _code(lambda: attack.work(manipulator, ground))
            trial.motions = log.begun
        trial.codes[code] += 1
        trial.violations += witness.violations()
        if (code or None) not in (attack.codes or {None}):
            trial.violations.append(f"ended with {code or 'success'} instead of {sorted(attack.codes)}")
        if attack.codes and not attack.begins and log.begun:
            trial.violations.append("the guard let a motion begin")
        if attack.codes & NOT_APPROVED and not any(entry["outcome"] == "refused" for entry in log.entries):
            trial.violations.append("the refusal was not logged")
        if not attack.begins and ground.station.arm.first_motion_at is not None:
            trial.violations.append("the arm was commanded")
    finally:
        ground.restore()
    return trial


def _code(work: Callable[[], Any]) -> str:
    try:
        work()
    except ToolError as error:
        return str(error.code)
    return ""


# -- what callers do -------------------------------------------------------------------------------


def _plan(manipulator: Manipulator, ground: Range) -> GraspPlan:
    frame = ground.station.camera.capture()
    return manipulator.plan_grasp(frame.T_base_camera @ ground.T_camera_gripper, frame)


def _grasp(manipulator: Manipulator, ground: Range) -> None:
    manipulator.run_grasp(_plan(manipulator, ground))


def _grasp_as_auto(manipulator: Manipulator, ground: Range) -> None:
    with manipulator.guard.at_least(Mode.AUTO):
        _grasp(manipulator, ground)


def _grasp_as_auto_within_asked(manipulator: Manipulator, ground: Range) -> None:
    with manipulator.guard.at_least(Mode.ASK):
        _grasp_as_auto(manipulator, ground)


def _tampered(change: Callable[[Trajectory], Trajectory], leg: int = 0) -> AttackStep:
    def work(manipulator: Manipulator, ground: Range) -> None:
        plan = _plan(manipulator, ground)
        legs = [*plan.legs]
        legs[leg] = change(legs[leg])
        manipulator.run_grasp(replace(plan, legs=(legs[0], legs[1])))

    return work


def _opened_too_wide(manipulator: Manipulator, ground: Range) -> None:
    manipulator.run_grasp(replace(_plan(manipulator, ground), opening_m=0.5))


def _without_a_permit(manipulator: Manipulator, ground: Range) -> None:
    manipulator._arm.follow(_plan(manipulator, ground).legs[0])


def _jaws_without_a_permit(manipulator: Manipulator, ground: Range) -> None:
    manipulator._arm.move_gripper(0.0)


def _park_from_home(manipulator: Manipulator, ground: Range) -> None:
    _set_arm(ground, ground.station.robot.named_states["Home"])
    manipulator.return_to_park()


def _place_in_the_air(manipulator: Manipulator, ground: Range) -> None:
    manipulator.place(np.array([0.4, -0.02, 0.0]), ground.station.camera.capture())


def _twice(manipulator: Manipulator, ground: Range) -> None:
    plan = _plan(manipulator, ground)
    for _ in range(2):
        manipulator.run_grasp(plan)


def _while_it_moves(manipulator: Manipulator, ground: Range) -> None:
    """A second motion out of the first one; its refusal is raised, and the first one goes no further."""
    plan = _plan(manipulator, ground)

    def on_stage(stage: str) -> None:
        if stage == "the approach":
            manipulator.run_grasp(plan)

    manipulator._on_stage = on_stage
    manipulator.run_grasp(plan)


def _after_a_stop(manipulator: Manipulator, ground: Range) -> None:
    ground.station.arm.stop()
    _grasp(manipulator, ground)


def _set_arm(ground: Range, q: FloatArray) -> None:
    world = ground.station.world
    world.data.qpos[[int(world.model.joint(name).qposadr[0]) for name in world.robot.arm_joints]] = q
    mujoco.mj_forward(world.model, world.data)


# -- what approvers do -----------------------------------------------------------------------------


def _approve(request: MotionRequest, **changed: Any) -> Decision:
    return replace(Decision(True, "fine", request.hash, "forger"), **changed)


def _moves_block(request: MotionRequest, ground: Range) -> Decision:
    position = ground.station.world.snapshot().objects[ground.station.scene.objects[0].id].position_m
    shifted = position + np.array([0.02, 0.0, 0.0])
    ground.station.world.place_object(ground.station.scene.objects[0].id, shifted, np.array([1.0, 0.0, 0.0, 0.0]))
    return _approve(request)


def _moves_arm(request: MotionRequest, ground: Range) -> Decision:
    _set_arm(ground, ground.station.arm.state().q + 0.02)
    return _approve(request)


def _changes_arrays(request: MotionRequest, ground: Range) -> Decision:
    q = request.legs[0].q
    q.setflags(write=True)
    q[len(q) // 2] += 1e-9
    return _approve(request)


def _asks_for_another(request: MotionRequest, ground: Range) -> Decision:
    _grasp(ground.station.manipulator, ground)
    return _approve(request)


class _Replayed:
    """Approves the second request with the decision on the first, of the very same motion."""

    def __init__(self) -> None:
        self._first: Decision | None = None

    def __call__(self, request: MotionRequest, ground: Range) -> Decision:
        if self._first is None:
            self._first = _approve(request)
            return Decision(False, "not now", request.hash, "forger")
        return self._first


def _grasp_after_a_refusal(manipulator: Manipulator, ground: Range) -> None:
    plan = _plan(manipulator, ground)
    if _code(lambda: manipulator.run_grasp(plan)) != Code.NOT_APPROVED:
        return
    manipulator.run_grasp(plan)


def _late_clock() -> Callable[[], float]:
    now = [0.0]

    def clock() -> float:
        now[0] += 31.0
        return now[0]

    return clock


# -- what planners do ------------------------------------------------------------------------------


def _faster(trajectory: Trajectory) -> Trajectory:
    return replace(trajectory, t=trajectory.t / 3.0, qd=trajectory.qd * 3.0)


def _one_wrong(value: float) -> Callable[[Trajectory], Trajectory]:
    def change(trajectory: Trajectory) -> Trajectory:
        q = trajectory.q.copy()
        q[len(q) // 2, 1] = value
        return replace(trajectory, q=q)

    return change


def _swung(trajectory: Trajectory, angle: float = 3.0) -> Trajectory:
    """A smooth swing of the shoulder by an angle [rad], slow enough for every joint limit."""
    share = np.linspace(0.0, 1.0, len(trajectory.t))
    q, qd = np.tile(trajectory.q[0], (len(share), 1)), np.zeros_like(trajectory.qd)
    q[:, 0] += angle * (3 * share**2 - 2 * share**3)
    qd[:, 0] = angle * (6 * share - 6 * share**2) / 8.0
    qd[[0, -1]] = 0.0
    return replace(trajectory, t=8.0 * share, q=q, qd=qd)


TAMPERINGS: dict[str, Callable[[Trajectory], Trajectory]] = {
    "three times as fast": _faster,
    "a joint at NaN": _one_wrong(float("nan")),
    "a joint beyond its range": _one_wrong(2.6),
    "a jump in the middle": _one_wrong(0.5),
    "joints in another order": lambda tr: replace(tr, joint_names=tr.joint_names[::-1]),
    "times that go back": lambda tr: replace(tr, t=tr.t[::-1].copy()),
    "no rest at the end": lambda tr: replace(tr, qd=tr.qd + 0.1),
    "seven joints of eight": lambda tr: replace(tr, q=np.hstack([tr.q, tr.q[:, :1]])),
    "a swing out of the box": _swung,
}


def _aside_instead_of_home(trajectory: Trajectory, goal: Goal) -> Trajectory:
    return _swung(trajectory, 0.3) if isinstance(goal, JointGoal) else trajectory


def direct_attacks() -> Iterable[DirectAttack]:
    """Every attack in the process."""
    for mode in (Mode.ASK, Mode.DRY_RUN):
        for what, work in {
            "a grasp": _grasp,
            "a grasp asked for as auto": _grasp_as_auto,
            "a return to park": _park_from_home,
            "a step without a permit": _without_a_permit,
            "the jaws without a permit": _jaws_without_a_permit,
        }.items():
            yield DirectAttack(f"{what} in mode {mode}", "direct", work, NOT_APPROVED, mode)
    yield DirectAttack("a step without a permit", "direct", _without_a_permit, NOT_APPROVED)
    yield DirectAttack("as auto within what must be asked", "direct", _grasp_as_auto_within_asked, NOT_APPROVED)
    yield DirectAttack("place with an empty hand", "direct", _place_in_the_air, frozenset({Code.NOT_HOLDING}))
    yield DirectAttack("jaws wider than they open", "direct", _opened_too_wide, frozenset({Code.INVALID_ARGUMENT}))
    busy = frozenset({Code.UNAVAILABLE})
    yield DirectAttack("a motion while another one runs", "concurrent", _while_it_moves, busy, begins=True)
    stopped = frozenset({Code.STOPPED})
    yield DirectAttack("a motion after a stop", "direct", _after_a_stop, stopped, begins=True)
    yield DirectAttack("the same plan twice", "direct", _twice, REFUSED | {Code.GRIPPER_EMPTY}, begins=True)
    decisions: dict[str, tuple[Decide, frozenset[Code]]] = {
        "a wrong hash": (lambda request, _: _approve(request, hash="0" * 64), NOT_APPROVED),
        "no hash": (lambda request, _: _approve(request, hash=""), NOT_APPROVED),
        "another's hash": (lambda request, _: _approve(request, hash=request.hash[::-1]), NOT_APPROVED),
        "a hash in upper case": (lambda request, _: _approve(request, hash=request.hash.upper()), NOT_APPROVED),
        "'yes' for True": (lambda request, _: _approve(request, approved=cast(bool, "yes")), NOT_APPROVED),
        "1 for True": (lambda request, _: _approve(request, approved=cast(bool, 1)), NOT_APPROVED),
        "arrays changed by 1e-9": (_changes_arrays, NOT_APPROVED),
        "a block moved by 2 cm": (_moves_block, MOVED),
        "an arm moved": (_moves_arm, MOVED),
        "a second motion": (_asks_for_another, frozenset({Code.UNAVAILABLE})),
    }
    for what, (decide, codes) in decisions.items():
        yield DirectAttack(f"approved with {what}", "forged approvals", _grasp, codes, Mode.ASK, decide=decide)
    yield DirectAttack(
        "an approval that is replayed",
        "forged approvals",
        _grasp_after_a_refusal,
        NOT_APPROVED,
        Mode.ASK,
        decide=_Replayed(),
    )
    yield DirectAttack(
        "an approval that has expired",
        "forged approvals",
        _grasp,
        NOT_APPROVED,
        Mode.ASK,
        decide=lambda request, _: _approve(request),
        clock=_late_clock,
    )
    for what, tamper in TAMPERINGS.items():
        yield DirectAttack(f"a plan with {what}", "tampered plans", _tampered(tamper), REFUSED)
        yield DirectAttack(f"a last leg with {what}", "tampered plans", _tampered(tamper, 1), REFUSED)
        lie = DirectAttack(f"a planner gives {what}", "lying planners", _grasp, REFUSED)
        yield replace(lie, change=lambda trajectory, goal, tamper=tamper: tamper(trajectory))  # type: ignore[misc]
    yield DirectAttack(
        "a planner leads aside instead of home",
        "lying planners",
        _grasp,
        REFUSED,
        begins=True,
        change=_aside_instead_of_home,
    )
    few = MotionLimits(motions_per_command=1)
    yield DirectAttack(
        "more motions than a command may have", "limits", _grasp_and_park, NOT_APPROVED, begins=True, limits=few
    )
    slow = MotionLimits(speed=0.3)
    yield DirectAttack("faster than the operator allows", "limits", _tampered(_faster), REFUSED, limits=slow)
    small = MotionLimits(low=(0.0, -0.05, 0.0), high=(0.6, 0.05, 0.9))
    boxed = frozenset({Code.OUT_OF_WORKSPACE})
    yield DirectAttack("out of a smaller box of the operator's", "limits", _grasp, boxed, limits=small)


def _grasp_and_park(manipulator: Manipulator, ground: Range) -> None:
    _grasp(manipulator, ground)
    _park_from_home(manipulator, ground)
