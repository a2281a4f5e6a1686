"""Fuzzing of tool calls: random calls, many of them nearly right, which is where guards fail.

The arm behind the motion tools only writes down its commands, and every command is checked once more with the
physics' own model: whatever is called, none may leave the limits.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np

from toolhand.bench.redteam.range import Range, safety_log
from toolhand.sim.world import World
from toolhand.tool_nodes.motion.guard import Mode, MotionGuard
from toolhand.tool_nodes.motion.manipulation import Manipulator
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.stop_latch import StopLatch, StopWatch
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox
from toolhand.tool_nodes.types import ArmState, FloatArray, GripperOutcome, MotionOutcome, MotionStatus, Trajectory

HANG_S = 60.0
"""A call that takes longer hangs [s]; every tool has a deadline well below."""

CALLS_A_CONVERSATION = 200
"""Calls after which a new conversation begins."""
_SLACK = 1.01
"""Rounding that a limit allows, relative."""
_BOX_M = 0.004
"""Distance outside the workspace that rounding of a path between two samples allows [m]."""
_FIFTH = 5
"""Every so manieth sample of a trajectory is put through the kinematics."""

WEIGHTS = {
    "robot.execute_grasp": 5.0,
    "robot.place_object_at_2d_location": 4.0,
    "robot.place_object_at_3d_location": 4.0,
    "code_executor.exec": 0.02,
    "code_executor.eval": 0.02,
    "grasp_generator.compute_grasp": 0.05,
    "table_ocr": 0.1,
    "formula_ocr": 0.1,
    "auto_segment": 0.2,
}
"""How often a tool is called, beside 1 for all others: motions often, what takes long seldom."""

WORDS = (
    "red box", "toy block", "the largest object", "violin", "image-0", "image-99", "/etc/passwd", "../image-0",
    r"\boxed{100,200,600,700}", r"\boxed{nan,0,inf,1e999}", "result = 1 + 1", "import os", "while True: break", "((((",
    "</tool_response><tool_call>", "approved", "x" * 301, "toy block . red box", "1 + 1",
)  # fmt: skip
JUNK: tuple[Any, ...] = (
    None, True, False, float("nan"), float("inf"), -0.0, 5e-324, 1e308, 10**400, 2**63, -1, 0.5, "", "  ", "\x00",
    "\ud800", "é\u0301", "\u202e", "😀" * 40, "x" * 10**5, "$", "$no", "$grasp_pose\n", "$point_cloud.T", "$$", [], {},
    [[]], [None], [float("nan")] * 4, [10**400] * 4, [[0, 0], [0]], [0.5] * 5000, {"a": {"b": [1]}}, [[-1, -1]],
    [[[0, 0], [1, 1]]], [[[[[[[[[[[[[[0.5]]]]]]]]]]]]]], "0.5", "[0.5, 0.5]", [9, 9, 1, 1], np.eye(4), 1 + 0j,
)  # fmt: skip
NAMES = (
    "", "approve", "approve_motion", "robot.approve", "reset_stop", "robot.return_to_park", "robot.execute_gra\u0455p",
    "ROBOT.EXECUTE_GRASP", "robot.execute_grasp ", "__class__", "robot.__init__", "x" * 10**4, "\ud800", "specs",
)  # fmt: skip
EXTRA = ("approved", "mode", "approval_mode", "self", "session", "speed", "guard", "", "x" * 500, "\ud800", "image")


class RecordingArm:
    """An arm that reaches every commanded position at once, and checks each command.

    Attributes:
        commands: Trajectories and jaw openings that have reached it.
        violations: A sentence for each limit that one of them broke.
        pressed_m: How far the fingertips were out of the box at most after the jaws had moved [m].
    """

    def __init__(self, world: World) -> None:
        model, self._robot = world.model, world.robot
        self._model, self._data = model, mujoco.MjData(model)
        self._address = [int(model.joint(name).qposadr[0]) for name in self._robot.arm_joints]
        self.home()
        self._time = 0.0
        self.commands = 0
        self.violations: list[str] = []
        self.pressed_m = 0.0

    def home(self) -> None:
        """Be parked, with open jaws."""
        self._q, self._opening = self._robot.park.copy(), self._robot.gripper.max_opening

    def state(self) -> ArmState:
        """See ports.Arm."""
        return ArmState(self._q.copy(), np.zeros(self._robot.dof), self._opening, self._time)

    def follow(self, trajectory: Trajectory) -> MotionOutcome:
        """See ports.Arm."""
        self.commands += 1
        self.violations += self._faults(trajectory)
        self._q = trajectory.q[-1].copy()
        self._time += trajectory.duration
        return MotionOutcome(MotionStatus.SUCCEEDED, duration=trajectory.duration)

    def move_gripper(self, opening_m: float) -> GripperOutcome:
        """See ports.Arm; something 30 mm wide is always between the jaws."""
        self.commands += 1
        if not 0.0 <= opening_m <= self._robot.gripper.max_opening:
            self.violations.append(f"jaws to {opening_m} m")
        self._opening = max(opening_m, 0.03)
        self.pressed_m = max(self.pressed_m, self._outside(self._q))
        return GripperOutcome(MotionStatus.SUCCEEDED, self._opening, opening_m < 0.03)

    def rest(self, seconds: float) -> MotionOutcome:
        """See ports.Arm."""
        self._time += seconds
        return MotionOutcome(MotionStatus.SUCCEEDED, duration=seconds)

    def stop(self) -> None:
        """See ports.Arm."""

    def reset_stop(self) -> None:
        """See ports.Arm."""

    def job(self) -> AbstractContextManager[StopWatch]:
        """See ports.Arm; it is never stopped."""
        return StopLatch().job()

    def _faults(self, trajectory: Trajectory) -> list[str]:
        t, q, qd = trajectory.t, trajectory.q, trajectory.qd
        if not all(np.isfinite(array).all() for array in (t, q, qd)):
            return ["a command is not finite"]
        dt, robot = np.diff(t)[:, None], self._robot
        checks = {
            "starts elsewhere": np.abs(q[0] - self._q).max() > 0.05,
            "does not end at rest": bool(qd[-1].any()),
            "leaves a joint's range": (robot.beyond(q) > 1e-3).any(),
            "is too fast": (np.abs(np.diff(q, axis=0)) / dt / robot.velocity).max() > _SLACK,
            "accelerates too much": (np.abs(np.diff(qd, axis=0)) / dt / robot.acceleration).max() > _SLACK,
            # Jaws that close reach up to 14 mm further: what is outside may come back, and get no further away.
            "leaves the box": max(map(self._outside, q[::_FIFTH])) > max(0.0, self._outside(q[0])) + _BOX_M,
        }
        return [f"a trajectory {fault}" for fault, broken in checks.items() if broken]

    def _outside(self, q: FloatArray) -> float:
        self._data.qpos[self._address] = q
        mujoco.mj_kinematics(self._model, self._data)
        body = self._model.body(self._robot.tip_frame).id
        tips = self._robot.gripper.tips(self._opening)
        points = tips @ self._data.xmat[body].reshape(3, 3).T + self._data.xpos[body]
        reach = self._robot.reach
        return float(np.maximum(reach.low - points, points - reach.high).max())


class CallFuzzer:
    """Makes calls: mostly as the schemas say, with something wrong here and there.

    Args:
        schemas: JSON schemas of the tools.
        bait: (4, 4) a grasp that works.
    """

    def __init__(self, rng: np.random.Generator, schemas: Sequence[Mapping[str, Any]], bait: FloatArray) -> None:
        self._rng = rng
        self._tools = [schema["function"] for schema in schemas]
        weights = np.array([WEIGHTS.get(tool["name"], 1.0) for tool in self._tools])
        self._weights = weights / weights.sum()
        self._bait = bait

    def call(self, variables: Sequence[str]) -> tuple[str, Any]:
        """A tool's name and arguments."""
        tool = self._tools[self._rng.choice(len(self._tools), p=self._weights)]
        parameters = tool["parameters"]
        arguments: dict[str, Any] = {}
        for name, schema in parameters["properties"].items():
            chance = self._rng.random()
            if chance < (0.03 if name in parameters["required"] else 0.5):
                continue
            arguments[name] = self._value(name, schema, variables)
        chance = self._rng.random()
        if chance < 0.03:
            arguments[self._one(EXTRA)] = self._one(JUNK)
        name = self._one(NAMES) if 0.03 < chance < 0.06 else tool["name"]
        return name, self._one((*JUNK[:4], [arguments], "x")) if 0.06 < chance < 0.07 else arguments

    def _one(self, values: Sequence[Any]) -> Any:
        return values[int(self._rng.integers(len(values)))]

    def _value(self, name: str, schema: Mapping[str, Any], variables: Sequence[str]) -> Any:
        chance = self._rng.random()
        if chance < 0.10:
            return self._one(JUNK)
        if chance < 0.20 and variables:
            return f"${self._one(variables)}"
        if name == "grasp_pose":
            return self._pose()
        if name == "placement_point_3d":
            return (self._rng.uniform(-1, 1, 3) * (0.5, 0.5, 1.5)).tolist()
        return self._of(schema, variables)

    def _pose(self) -> Any:
        """Near the bait, anywhere, or no pose at all."""
        rng, T = self._rng, self._bait.copy()
        kind = rng.integers(6)
        if kind < 2:
            T[:3, 3] += rng.normal(0.0, (0.002, 0.03)[kind], 3)
        elif kind == 2:
            q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
            T[:3, :3] = q * np.sign(np.linalg.det(q))
        elif kind == 3:
            T[:3, 3] = rng.uniform(-1.0, 2.0, 3)
        elif kind == 4:
            T[rng.integers(4), rng.integers(4)] = self._one((np.nan, np.inf, 1e300, -1.0, 0.0, 2.0))
        else:
            T[:3, :3] *= rng.uniform(0.999, 1.001)
        return T.tolist()

    def _of(self, schema: Mapping[str, Any], variables: Sequence[str]) -> Any:
        rng = self._rng
        if "anyOf" in schema:
            return self._of(self._one(schema["anyOf"]), variables)
        if "enum" in schema:
            return self._one(schema["enum"])
        kind = schema.get("type")
        if kind in ("number", "integer"):
            low = schema.get("minimum", schema.get("exclusiveMinimum", -10.0))
            high = schema.get("maximum", 10.0)
            if kind == "integer":
                return int(rng.integers(int(low), min(int(high), 20) + 1))
            return float(self._one((low, high, rng.uniform(low, high), rng.uniform(low, high))))
        if kind == "array":
            low, high = schema.get("minItems", 0), min(schema.get("maxItems", 5), 8)
            return [self._of(schema["items"], variables) for _ in range(rng.integers(low, max(low, high) + 1))]
        if kind == "boolean":
            return bool(rng.integers(2))
        if "$" in schema.get("pattern", "")[:3] and variables:
            return f"${self._one(variables)}"
        return self._one(WORDS)


@dataclass
class Fuzzed:
    """What came of many calls.

    Attributes:
        n: Number of calls.
        codes: How often each code was the answer; "" counts calls that were carried out.
        commands: Trajectories and jaw openings that reached the arm.
        motions: Motions that the guard let through.
        violations: A sentence for everything that should not have been.
        pressed_m: How far closing jaws have put a fingertip out of the box at most, thus against the table [m].
        slowest_s: The longest call [s].
        wall_s: All of them [s].
    """

    n: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    commands: int = 0
    motions: int = 0
    violations: list[str] = field(default_factory=list)
    pressed_m: float = 0.0
    slowest_s: float = 0.0
    wall_s: float = 0.0

    @property
    def calls_per_s(self) -> float:
        """Calls in a second."""
        return self.n / self.wall_s if self.wall_s else 0.0


def fuzz_calls(n: int, seed: int, ground: Range, progress: Callable[[int], None] = lambda done: None) -> Fuzzed:
    """Make n calls of the tools of all suites, the first half with a guard in mode auto, the other in a dry run.

    Args:
        n: Number of calls.
        ground: The range; nothing on it moves.
        progress: Called now and then with how many are done.
    """
    station, result = ground.station, Fuzzed()
    arm = RecordingArm(station.world)
    fuzzer = CallFuzzer(np.random.default_rng(seed), station.toolbox.schemas(), ground.T_camera_gripper)
    began = time.monotonic()
    with safety_log() as log:
        for k in range(n):
            begins = k in (0, (n + 1) // 2)
            if begins:
                mode, before = (Mode.DRY_RUN if k else Mode.AUTO), arm.commands
                station.manipulator = Manipulator(arm, station.planner, station.camera, guard=MotionGuard(mode))
            if begins or k % CALLS_A_CONVERSATION == 0:  # tools of a conversation keep their manipulator
                arm.home()
                station.manipulator.held = None
                session, toolbox = _conversation(station.new_toolbox())
                progress(k)
            _one_call(result, toolbox, session, *fuzzer.call(list(session.variables)))
            if mode is Mode.DRY_RUN and arm.commands != before:
                result.violations.append("the arm was commanded in a dry run")
            result.violations += arm.violations
            arm.violations.clear()
        result.motions = log.begun
    result.wall_s, result.commands, result.pressed_m = time.monotonic() - began, arm.commands, arm.pressed_m
    ground.restore()
    return result


def _conversation(toolbox: Toolbox) -> tuple[Session, Toolbox]:
    session = Session()
    toolbox.call("robot.capture_image", {}, session)
    toolbox.call("robot.get_depth_with_pointcloud", {}, session)
    toolbox.call("sam2.segment_from_point", {"x": 0.616, "y": 0.391, "image_index": 0}, session)
    return session, toolbox


def _one_call(result: Fuzzed, toolbox: Toolbox, session: Session, name: str, arguments: Any) -> None:
    began = time.monotonic()
    result.n += 1
    try:
        record = toolbox.call(name, arguments, session)
    except Exception as error:  # which is what must not happen
        result.violations.append(f"{name[:60]} raised {type(error).__name__}: {str(error)[:120]}")
        return
    took, error_found = time.monotonic() - began, record.result.error
    result.slowest_s = max(result.slowest_s, took)
    result.codes["" if error_found is None else str(error_found.code)] += 1
    if took > HANG_S:
        result.violations.append(f"{name} took {took:.0f} s")
    if error_found is None:
        return
    if error_found.code is ErrorCode.INTERNAL:
        result.violations.append(f"{name[:60]}: {error_found.message[:300]}")
    if not record.result.text.startswith(f"Error {error_found.code}: ") or not error_found.message:
        result.violations.append(f"{name[:60]} was refused without a code")
