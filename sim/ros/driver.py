"""The manners of the driver between controllers and arm: none (`ideal`), or those of ros2_kortex (`kortex`).

With `ros2_control` there is no driver and no controller here: a controller manager elsewhere has the arm
(`toolhand.sim.ros.joint_commands`).

ros2_kortex 1fdbef3 ignores every command while its arm is in fault, and its controllers say success all the same: the
trajectory controller has no tolerances, and the gripper's takes jaws that stay where they are for stalled ones.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from toolhand.sim.arm import START_TOLERANCE, Motion, StopCheck, brake, move_knuckle, slow_down
from toolhand.sim.world import World
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.types import FloatArray, GripperOutcome, MotionOutcome, MotionStatus, Trajectory

DRIVERS = ("ideal", "kortex", "ros2_control")
"""Values of the parameter `driver`."""

DRIVER_FAULTS = ("internal_fault", "hand_guiding", "controller_stopped", "connection_lost")
"""Values of the parameter `fault` that only the driver kortex has.

internal_fault: the arm brakes and reports a fault, which outlasts this value until reset_fault. hand_guiding: the same,
because a person takes the arm into high-level servoing and lifts it by GUIDED_M. controller_stopped: somebody makes the
controllers of arm and gripper inactive, until they are switched on again. connection_lost: the arm brakes, no joint
states come, and all controllers are inactive until the value is taken back, as after a new start of the driver.
"""

ACTIVE, INACTIVE = "active", "inactive"
"""States of a controller in controller_manager_msgs/msg/ControllerState."""

FIRST_STATE_S = 1.0
"""Nothing is known of the joints for so long after the start, by the wall clock [s]; a round figure: ros2_control
spawns its broadcaster after the hardware, the controllers after the broadcaster."""

SHORT_S = 0.1
"""A trajectory that takes less time may be ignored [s]: ros_kortex, issue 339."""
SHORT_RAD = 0.01
"""A trajectory in which no joint turns further may be ignored [rad]: the same issue; a round figure."""
_IGNORED = 0.5
"""Share of the short trajectories that are ignored [-]: the issue says sometimes."""

SAG_M = 0.003
"""What is held pulls the hand down by this [m], whatever it weighs."""
_SQUEEZING = 0.05
"""Jaws that stay open further than commanded by more than this hold something [rad]; twice what counts as arrived."""

STALL_S = 1.0
"""Jaws that have not moved for so long are said to be stalled [s]: stall_timeout of ros2_controllers' gripper."""

GUIDED_M = 0.1
"""How far a person lifts the hand [m]."""
_GUIDED_M_S = 0.1
"""How fast a person lifts the hand [m/s]; a round figure, a tenth of the arm's greatest speed."""
_REST = 5e-3
"""An arm none of whose joints is faster stands still for a reset [rad/s]: twice what `still_velocity` of the motion
node calls rest, which in lockstep may be the last that is seen of a braking arm."""


@dataclass(frozen=True)
class InjectedFault:
    """When a fault comes, see `toolhand.sim.ros.settings.Settings`.

    Attributes:
        name: One of `DRIVER_FAULTS`; anything else is no fault of the driver.
        goal: In which goal from now on, counted over both controllers; 0 is at once.
        share: After which share of that goal's motion, 0 to 1.
    """

    name: str = ""
    goal: int = 0
    share: float = 0.0


class Driver:
    """What becomes of commands and measurements. All but the constructor and `active` runs in the physics thread.

    Args:
        name: One of `DRIVERS`.
        seed: Decides which short trajectories are ignored.

    Attributes:
        kortex: True for the manners of ros2_kortex.
        external: True where a controller manager elsewhere commands the joints, and shows them.
        internal_fault: True while the arm is in fault; only reset_fault, or a new world, ends that.
        controllers: State of each controller by its name, `ACTIVE` or `INACTIVE`.
        fault_s: When the injected fault came, simulated time [s]; None before.
        commanded_s: When a goal last commanded something and was not asked to stop, simulated time [s].
        goals_after: Goals of arm and jaws that began after the injected fault.
    """

    def __init__(self, name: str, robot: RobotModel, seed: Callable[[], int]) -> None:
        self.kortex, self.external = name == "kortex", name == "ros2_control"
        self.trajectory_controller = robot.trajectory_action.partition("/")[0]
        self.gripper_controller = robot.gripper_action.partition("/")[0]
        self.fault_s: float | None = None
        self.commanded_s = 0.0
        self.goals_after = {"arm": 0, "jaws": 0}
        self._fault, self._seed = InjectedFault(), seed
        self._shown_from_s = time.monotonic() + (FIRST_STATE_S if self.kortex else 0.0)
        self._resets: list[Future[None]] = []
        self._world: World | None = None
        self._goals = 0
        self.begin()

    def begin(self) -> None:
        """All is as after a start of the driver."""
        self.internal_fault = False
        self._short = 0
        self._guided_m, self._guided_s = 0.0, math.nan
        self._lost = False
        self.controllers = {
            "joint_state_broadcaster": ACTIVE,
            self.trajectory_controller: ACTIVE,
            "twist_controller": INACTIVE,
            self.gripper_controller: ACTIVE,
            "fault_controller": ACTIVE,
        }

    def active(self, controller: str) -> bool:
        """True if a controller takes goals and publishes."""
        return self.controllers[controller] == ACTIVE

    @property
    def obeys(self) -> bool:
        """True while commands reach the arm and the jaws."""
        return not (self.internal_fault or self._lost)

    @property
    def shows_joints(self) -> bool:
        """True while joint states are published."""
        return self.active("joint_state_broadcaster") and time.monotonic() >= self._shown_from_s

    def reset_fault(self) -> Future[None]:
        """Brake, and be in fault no more once the arm stands still; done then. There is no deadline, as there."""
        done: Future[None] = Future()
        self.internal_fault = True
        self._resets.append(done)
        return done

    def record(self) -> dict[str, Any]:
        """What judges of an injected fault need to know; plain data."""
        return {
            "fault_s": self.fault_s,
            "goals": self._goals,
            "commanded_s": self.commanded_s,
            "goals_after": dict(self.goals_after),
        }

    # -- as time passes ----------------------------------------------------------------------------

    def expect_fault(self, fault: InjectedFault, world: World) -> None:
        """The injected fault is another one: its goals are counted from here on."""
        self._fault = fault
        self._goals, self.fault_s = 0, None
        self.goals_after = {"arm": 0, "jaws": 0}
        if self._lost and self._fault.name != "connection_lost":
            self.begin()
        self.observe(world)

    def observe(self, world: World) -> None:
        """What happens by itself; called after each batch of time steps, and while time stands still."""
        if not self.kortex:
            return
        if world is not self._world:
            self._world = world
            self.begin()
        if self._resets and not self._lost and np.abs(world.arm_velocity).max() < _REST:
            self.internal_fault = False
            for done in self._resets:
                done.set_result(None)
            self._resets.clear()
        if self._fault.goal == 0 or self.fault_s is not None:
            self._suffer(world)
        if self._fault.name == "hand_guiding" and self.internal_fault:
            self._guide(world)
        _pull_down(world, SAG_M if world.knuckle - _knuckle_reference(world) < -_SQUEEZING else 0.0)

    def _suffer(self, world: World) -> None:
        """The injected fault is there; one that is repaired while its cause lasts comes again."""
        fault = self._fault.name
        if fault not in DRIVER_FAULTS:
            return
        first = self.fault_s is None
        if self.fault_s is None:
            self.fault_s = world.time
        if fault in ("internal_fault", "hand_guiding"):
            self.internal_fault = True
        elif fault == "connection_lost":
            self._lost = True
            self.controllers = dict.fromkeys(self.controllers, INACTIVE)
        elif first:
            self.controllers[self.trajectory_controller] = self.controllers[self.gripper_controller] = INACTIVE

    def _begin_goal(self, moved: str) -> None:
        self._goals += 1
        if self.fault_s is not None:
            self.goals_after[moved] += 1

    def _pass(self, world: World, share: float) -> None:
        """So much of the newest goal's motion is over; it has not been asked to stop."""
        self.commanded_s = world.time
        fault = self._fault
        if fault.goal == self._goals and self.fault_s is None and share >= fault.share:
            self._suffer(world)

    def _guide(self, world: World) -> None:
        """A person lifts the hand, straight up."""
        passed, self._guided_s = world.time - self._guided_s, world.time
        if not passed > 0.0 or self._guided_m >= GUIDED_M:
            return
        rise = min(_GUIDED_M_S * passed, GUIDED_M - self._guided_m)
        self._guided_m += rise
        jacobian = _tip_jacobian(world)
        world.command_arm(world.arm_reference + jacobian.T @ np.linalg.solve(jacobian @ jacobian.T, [0.0, 0.0, rise]))

    # -- motions -----------------------------------------------------------------------------------

    def follow(self, world: World, trajectory: Trajectory, stopped: StopCheck) -> Motion[MotionOutcome]:
        """Command a trajectory, and say success after its time, wherever the arm is.

        A trajectory that starts elsewhere is one jump of the command: the actuators go into fault. Who is not obeyed
        once is not obeyed for the rest of the trajectory, whose commands would jump.
        """
        self._begin_goal("arm")
        robot, began, dt = world.robot, world.time, world.timestep
        start = robot.nearest_turn(trajectory.q[0], world.arm_position)
        if np.abs(start - world.arm_position).max() > START_TOLERANCE:
            self.internal_fault = True
        steps = int(np.ceil(trajectory.duration / dt))
        times = np.minimum(np.arange(steps + 1) * dt, trajectory.duration)
        q = trajectory.q + (start - trajectory.q[0])
        reference = np.column_stack([np.interp(times, trajectory.t, column) for column in q.T])
        deaf: Motion[None] | None = _nothing() if self._ignores(trajectory) else None
        for before, now, share in zip(reference[:-1], reference[1:], np.arange(steps) / steps, strict=True):
            if not stopped():
                self._pass(world, share)
            if deaf is None and not self.obeys:
                deaf = slow_down(world, (now - before) / dt)
            if stopped() or not self.active(self.trajectory_controller):
                # The arm of a driver that obeys stands still before its controller says that it was cancelled.
                yield from deaf or brake(world, (now - before) / dt)
                return MotionOutcome(MotionStatus.STOPPED, self._why_stopped(), duration=world.time - began)
            if deaf is None:
                world.command_arm(now)
            else:
                next(deaf, None)
            yield
        self._pass(world, 1.0)
        return MotionOutcome(MotionStatus.SUCCEEDED, duration=world.time - began)

    def _why_stopped(self) -> str:
        lost = not self.active(self.trajectory_controller)
        return "Current goal cancelled during deactivate transition." if lost else "stopped"

    def _ignores(self, trajectory: Trajectory) -> bool:
        """True for a short trajectory that is not carried out; the same ones for the same seed."""
        if trajectory.duration >= SHORT_S and np.abs(trajectory.q - trajectory.q[0]).max() >= SHORT_RAD:
            return False
        self._short += 1
        return bool(np.random.default_rng((self._seed(), self._short)).random() < _IGNORED)

    def move_knuckle(self, world: World, target: float, stopped: StopCheck) -> Motion[GripperOutcome]:
        """Move the jaws for as long as commands are obeyed; then they stay, which is said to be a stall."""
        self._begin_goal("jaws")
        while not self.active(self.gripper_controller):
            if stopped():
                return GripperOutcome(MotionStatus.STOPPED, world.opening_m, False, "stopped")
            yield
        motion, began = move_knuckle(world, target, stopped), world.time
        least_s = max(abs(target - world.knuckle) / world.robot.gripper.speed, world.timestep)
        while self.obeys and self.active(self.gripper_controller):
            try:
                next(motion)
            except StopIteration as end:
                self._pass(world, 1.0)
                outcome: GripperOutcome = end.value
                return outcome
            if not stopped():
                self._pass(world, min((world.time - began) / least_s, 0.99))
            yield
        motion.close()
        for _ in range(round(STALL_S / world.timestep)):
            if stopped() or not self.active(self.gripper_controller):
                return GripperOutcome(MotionStatus.STOPPED, world.opening_m, False, "stopped")
            self.commanded_s = world.time
            yield
        return GripperOutcome(MotionStatus.SUCCEEDED, world.opening_m, abs(world.knuckle - target) > 0.02)


def _nothing() -> Motion[None]:
    yield from ()


def _knuckle_reference(world: World) -> float:
    return float(world.data.ctrl[world.model.actuator(world.robot.gripper.joint).id])


def _tip_jacobian(world: World) -> FloatArray:
    """Velocity of the tip per joint velocity (3, n) [m/rad]."""
    model, data = world.model, world.data
    jacobian = np.zeros((3, model.nv))
    mujoco.mj_jacBody(model, data, jacobian, None, model.body(world.robot.tip_frame).id)
    return jacobian[:, [int(model.joint(name).dofadr[0]) for name in world.robot.arm_joints]]


def _pull_down(world: World, sag_m: float) -> None:
    """The force on the hand under which the servos give way by so much [m]."""
    model = world.model
    force = 0.0
    if sag_m:
        stiffness = np.array([model.actuator(name).gainprm[0] for name in world.robot.arm_joints])
        force = sag_m / float(np.sum(_tip_jacobian(world)[2] ** 2 / stiffness))
    world.data.xfrc_applied[model.body(world.robot.tip_frame).id, 2] = -force
