"""The simulated arm behind the Arm port: servo references in lockstep, a stop that latches.

A motion is a generator that commands the servos and yields whenever physics must take one step. Its driver decides
what else happens in that step: `SimArm` steps until the motion is over, the simulator's ROS 2 node runs arm
and gripper side by side.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TypeVar

import numpy as np

from toolhand.sim.camera.sensors.readings import EXACT
from toolhand.sim.world import World
from toolhand.tool_nodes.motion.trajectory_checks import beside, unfit
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.stop_latch import StopLatch, StopWatch
from toolhand.tool_nodes.types import ArmState, FloatArray, GripperOutcome, MotionOutcome, MotionStatus, Trajectory

GOAL_TOLERANCE = 0.01
"""Largest joint error at the goal [rad]."""
PATH_TOLERANCE = 0.20
"""Largest joint error on the way before a motion is aborted [rad]."""
START_TOLERANCE = 0.05
"""Largest distance of a trajectory's start from the arm [rad]."""
SETTLE_S = 0.5
"""Time that the arm has to settle at the goal [s]."""
STILL = 0.02
"""The arm is at rest when no joint is faster [rad/s]; a round figure."""
GRIPPER_DEADLINE_S = 3.0
"""Longest motion of the jaws [s]."""
STALL_S = 0.10
"""Time over which the driven joint's travel is measured [s]."""
STALL_TRAVEL = 0.008
"""The jaws rest when the driven joint stays within STALL_TRAVEL [rad] for STALL_S [s]."""

Outcome = TypeVar("Outcome")
Motion = Generator[None, None, Outcome]
"""Yields once for each time step that it needs, and returns how it ended."""

StopCheck = Callable[[], bool]


def slow_down(world: World, reference_velocity: FloatArray) -> Motion[None]:
    """Run the reference down to rest within the acceleration limits."""
    dt = world.timestep
    q, qd = world.arm_reference, reference_velocity.copy()
    while np.abs(qd).max() > 0:
        qd = np.sign(qd) * np.maximum(np.abs(qd) - world.robot.acceleration * dt, 0.0)
        q = q + qd * dt
        world.command_arm(q)
        yield


def brake(world: World, reference_velocity: FloatArray) -> Motion[None]:
    """Run the reference down to rest within the acceleration limits, then hold until still."""
    yield from slow_down(world, reference_velocity)
    for _ in range(round(SETTLE_S / world.timestep)):
        if np.abs(world.arm_velocity).max() < 1e-3:
            break
        yield


def follow_trajectory(world: World, trajectory: Trajectory, stopped: StopCheck) -> Motion[MotionOutcome]:
    """Run a trajectory; its deadline is 1.1 times its duration plus 0.5 s of simulated time.

    Args:
        trajectory: Must start where the arm is; whole turns of continuous joints do not count.
        stopped: Polled in every step; True brakes and ends with STOPPED.

    Raises:
        ToolError: EXECUTION_FAILED, before the first step, where the trajectory is none or starts elsewhere.
    """
    if why := unfit(trajectory, world.robot):
        raise ToolError(ErrorCode.EXECUTION_FAILED, f"The trajectory was refused before it began: {why}.")
    start = world.robot.nearest_turn(trajectory.q[0], world.arm_position)
    trajectory = replace(trajectory, q=trajectory.q + (start - trajectory.q[0]))
    start_error = float(np.abs(start - world.arm_position).max())
    if start_error > START_TOLERANCE:
        raise ToolError(
            ErrorCode.EXECUTION_FAILED, f"The trajectory starts {start_error:.2f} rad away from where the arm is."
        )
    began = world.time
    steps = int(np.ceil(trajectory.duration / world.timestep))
    times = np.minimum(np.arange(1, steps + 1) * world.timestep, trajectory.duration)
    reference = np.column_stack([np.interp(times, trajectory.t, column) for column in trajectory.q.T])
    for k in range(steps):
        if stopped():
            velocity = (reference[k] - reference[k - 1]) / world.timestep if k else np.zeros(world.robot.dof)
            yield from brake(world, velocity)
            return MotionOutcome(MotionStatus.STOPPED, "stopped", duration=world.time - began)
        world.command_arm(reference[k])
        yield
        error = _largest(reference[k] - world.arm_position)
        if error > PATH_TOLERANCE:
            world.command_arm(world.arm_position)
            yield from brake(world, np.zeros(world.robot.dof))
            message = f"the arm is {error:.2f} rad off its path, something is in the way"
            return MotionOutcome(MotionStatus.FAILED, message, error, world.time - began)
    deadline = began + 1.1 * trajectory.duration + SETTLE_S
    while world.time < deadline:
        error = _largest(trajectory.q[-1] - world.arm_position)
        if error < GOAL_TOLERANCE and np.abs(world.arm_velocity).max() < STILL:
            return MotionOutcome(MotionStatus.SUCCEEDED, max_error_rad=error, duration=world.time - began)
        if stopped():
            yield from brake(world, np.zeros(world.robot.dof))
            return MotionOutcome(MotionStatus.STOPPED, "stopped", duration=world.time - began)
        yield
    error = float(np.abs(trajectory.q[-1] - world.arm_position).max())
    elapsed = world.time - began
    # Whatever holds the arm back must not be pressed against any longer.
    world.command_arm(world.arm_position)
    yield from brake(world, np.zeros(world.robot.dof))
    message = f"the goal was missed by {error:.3f} rad at the deadline"
    at_rest = _largest(world.arm_velocity) < STILL
    held_up = at_rest and beside(trajectory, world.arm_position, world.robot)
    return MotionOutcome(MotionStatus.FAILED, message, error, elapsed, held_up=held_up)


def stay(world: World, seconds: float, stopped: StopCheck) -> Motion[MotionOutcome]:
    """Command nothing new for so long [s], or until `stopped`."""
    began = world.time
    for _ in range(round(seconds / world.timestep)):
        if stopped():
            return MotionOutcome(MotionStatus.STOPPED, "stopped", duration=world.time - began)
        yield
    return MotionOutcome(MotionStatus.SUCCEEDED, duration=world.time - began)


def close_or_open(world: World, opening_m: float, stopped: StopCheck) -> Motion[GripperOutcome]:
    """Move the jaws to an opening [m] until they arrive or stall.

    Raises:
        ToolError: INVALID_ARGUMENT, before the first step, for an opening that the gripper does not have.
    """
    return (yield from move_knuckle(world, world.robot.gripper.joint_position(opening_m), stopped))


def move_knuckle(world: World, target: float, stopped: StopCheck) -> Motion[GripperOutcome]:
    """Move the gripper's driven joint to a position [rad] until the jaws arrive or stall."""
    dt = world.timestep
    command, travel = world.knuckle, world.robot.gripper.speed * dt
    began = world.time
    window = max(round(STALL_S / dt), 1)
    recent: deque[float] = deque(maxlen=window)
    while world.time - began < GRIPPER_DEADLINE_S:
        if stopped():
            return GripperOutcome(MotionStatus.STOPPED, world.opening_m, False, "stopped")
        command += max(-travel, min(travel, target - command))
        world.command_knuckle(command)
        yield
        # While the reference is still close ahead of the jaws, they stand still only because it moves slowly.
        if abs(command - target) > 1e-6 and abs(command - world.knuckle) < 0.25:
            recent.clear()
        recent.append(world.knuckle)
        if len(recent) == window and max(recent) - min(recent) < STALL_TRAVEL:
            world.command_knuckle(target)
            stalled = abs(world.knuckle - target) > 0.02
            return GripperOutcome(MotionStatus.SUCCEEDED, world.opening_m, stalled)
    return GripperOutcome(MotionStatus.FAILED, world.opening_m, False, "the jaws did not come to rest in time")


def _largest(error: FloatArray) -> float:
    """Largest absolute value of an (n,); for a handful of numbers in every step, five times as fast as numpy."""
    return max(map(abs, error.tolist()))


class SimArm:
    """Drives the world's servos. `stop` may be called from a signal handler or another thread.

    Args:
        world: The physics; stepped only inside motions.

    Attributes:
        readings: Noise and steps of what it reads of joints and jaws; exact until a station sets another one.
        first_motion_at: Wall clock (monotonic) when the arm first began to move [s], or None.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._latch = StopLatch()
        self.readings = EXACT
        self.first_motion_at: float | None = None

    def state(self) -> ArmState:
        """The measured state."""
        world = self._world
        q = self.readings.joints(world.arm_position, world.time)
        return ArmState(q, world.arm_velocity, self._opening_m(), world.time)

    def _opening_m(self) -> float:
        return self.readings.opening(self._world.opening_m, self._world.time)

    def stop(self) -> None:
        """Latch a stop; the running motion brakes at once, later ones are refused."""
        self._latch.set()

    def reset_stop(self) -> None:
        """Release the latch; what was stopped does not go on."""
        self._latch.clear()

    def reset(self) -> None:
        """Be as a new one."""
        self.reset_stop()
        self.first_motion_at = None

    def job(self) -> AbstractContextManager[StopWatch]:
        """See ports.Arm."""
        return self._latch.job()

    def follow(self, trajectory: Trajectory) -> MotionOutcome:
        """Run a trajectory to its end, or report why not; see `follow_trajectory`."""
        with self._latch.job() as job:
            if job.halted:
                return MotionOutcome(MotionStatus.STOPPED, "stopped before it began")
            return self._run(follow_trajectory(self._world, trajectory, lambda: job.halted), moves_arm=True)

    def move_gripper(self, opening_m: float) -> GripperOutcome:
        """Move the jaws until they arrive or stall; see `close_or_open`."""
        with self._latch.job() as job:
            if job.halted:
                return GripperOutcome(MotionStatus.STOPPED, self._opening_m(), False, "stopped before it began")
            outcome = self._run(close_or_open(self._world, opening_m, lambda: job.halted))
            return replace(outcome, opening_m=self._opening_m())

    def rest(self, seconds: float) -> MotionOutcome:
        """Let time pass with the last commands; see `stay`."""
        with self._latch.job() as job:
            return self._run(stay(self._world, seconds, lambda: job.halted))

    def _run(self, motion: Motion[Outcome], moves_arm: bool = False) -> Outcome:
        try:
            while True:
                next(motion)
                if moves_arm and self.first_motion_at is None:
                    self.first_motion_at = time.monotonic()
                self._world.step()
        except StopIteration as end:
            self._world.check_health()
            return end.value
