"""What becomes of a grasp, a placement and a look when the arm's driver fails at one of their legs.

One simulated graph with `driver:=kortex`, in lockstep. A fault comes in a given goal of the controllers, after a given
share of its motion. What is judged is what the simulator counted and when: goals that began after the fault, and for
how long after it a goal went on to command the arm. The last word on each run is whether the next command works once a
person has put the driver right.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller_manager_msgs.srv import SwitchController
from geometry_msgs.msg import Point, PointStamped
from simulation_interfaces.srv import StepSimulation
from std_msgs.msg import Header
from std_srvs.srv import Trigger
from toolhand_interfaces.srv import GetHeld, LookCloser

from toolhand.bench.ros.task import PickAndPlace
from toolhand.sim.ros.driver import DRIVER_FAULTS
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.messages import BASE_FRAME

LEGS: Mapping[str, tuple[str, ...]] = {
    "grasp": (
        "opening",
        "the move to the pre-grasp",
        "the approach",
        "closing",
        "the lift",
        "the return to the park position",
    ),
    "place": (
        "the move above the place",
        "the descent",
        "the release",
        "the retreat",
        "opening",
        "the return to the park position",
    ),
    "look": ("opening", "the move to the view", "the return to the park position"),
}
"""The legs of each command in their order, each one goal of a controller; the words are those of `motion.stages`."""

CODES = dict.fromkeys(DRIVER_FAULTS, ErrorCode.CONTROLLER_FAULT) | {"connection_lost": ErrorCode.UNAVAILABLE}
"""How a command must end. Without a connection nobody knows the arm's state: the robot is not there."""

SYSTEM_FAILURES = frozenset({"UNAVAILABLE", "INTERNAL", "TIMEOUT", "CONTROLLER_FAULT", "STOPPED", "CANCELLED"})
"""A command that ends like this has not worked; with any other code it has run, and something else failed."""

_LIFTED_STEPS = 800
"""Time steps in which a person lifts the arm that is guided by hand: 1.6 s, for 10 cm at 10 cm/s."""


@dataclass(frozen=True)
class DriverFault:
    """One fault.

    Attributes:
        command: A key of `LEGS`.
        leg: Number of the leg, from 1.
        kind: One of `DRIVER_FAULTS`.
        share: After this share of the leg's motion, 0 to 1.
    """

    command: str
    leg: int
    kind: str
    share: float

    @property
    def leg_name(self) -> str:
        """The leg's words."""
        return LEGS[self.command][self.leg - 1]


@dataclass(frozen=True)
class FaultRun:
    """What became of a command with a fault.

    Attributes:
        fault: The fault.
        came: The fault came.
        code, message: How the command ended.
        last_goal: Number of the last goal that began in the command.
        arm_after, jaws_after: Goals that began after the fault, until the driver was put right; those of a second
            command, which is sent meanwhile, too.
        reaction_s: For how long after the fault a goal still commanded, in time of the robot [s].
        meanwhile: Error code of that second command.
        repaired: Why the driver could not be put right; "" where it could.
        next_code, next_message: How the first command after that ended.
    """

    fault: DriverFault
    came: bool
    code: str
    message: str
    last_goal: int
    arm_after: int
    jaws_after: int
    reaction_s: float
    meanwhile: str
    repaired: str
    next_code: str
    next_message: str

    @property
    def right(self) -> bool:
        """It ended with the right code, at the leg with the fault, and says which that was."""
        named = self.fault.leg_name in self.message or self.fault.command == "look"
        return self.came and self.code == CODES[self.fault.kind] and self.last_goal == self.fault.leg and named

    @property
    def still(self) -> bool:
        """Neither arm nor jaws were given a goal after the fault."""
        return self.came and self.arm_after == self.jaws_after == 0

    @property
    def works(self) -> bool:
        """The driver could be put right, and the next command was carried out, or failed as a task."""
        return not self.repaired and self.next_code not in SYSTEM_FAILURES


class Trials(PickAndPlace):
    """Plays commands with faults.

    Args:
        node: Spun by an executor in another thread.
    """

    poll_s = 0.01

    def run(self, fault: DriverFault) -> FaultRun:
        """One run; the arm is parked, and holds the block where the fault is one of a placement."""
        self.set("sim", "fault_goal", fault.leg)
        self.set("sim", "fault_share", fault.share)
        self.set("sim", "fault", fault.kind)
        status = self.command(fault.command)
        first = self.driver()
        meanwhile = self.command(fault.command).error_code
        driver = self.driver()
        came = driver["fault_s"] is not None
        repaired = self._repair(fault.kind)
        held = "place" if fault.command != "look" and self._holds() else "grasp"
        following = self.command("look" if fault.command == "look" else held)
        return FaultRun(
            fault=fault,
            came=came,
            code=status.error_code,
            message=status.message,
            last_goal=first["goals"],
            arm_after=driver["goals_after"]["arm"],
            jaws_after=driver["goals_after"]["jaws"],
            reaction_s=max(0.0, driver["commanded_s"] - driver["fault_s"]) if came else 0.0,
            meanwhile=meanwhile,
            repaired=repaired,
            next_code=following.error_code,
            next_message=following.message,
        )

    def prepare(self, command: str) -> None:
        """The arm is parked; for a placement it holds the block. Raises ToolError INTERNAL where it cannot."""
        if command == "place" and self._holds():
            return
        self.begin()
        if command == "place":
            status = self.command("grasp")
            if not status.success:
                raise ToolError(ErrorCode.INTERNAL, f"The undisturbed grasp failed: {status.message}")

    def command(self, name: str) -> Any:
        """The status that a command ends with."""
        if name == "look":
            x, y, z = 0.42, 0.12, 0.02  # the toy block of the scene
            place = PointStamped(header=Header(frame_id=BASE_FRAME), point=Point(x=x, y=y, z=z))
            return self.call(LookCloser, "look_closer", place=place).status
        client, goal = (self.grasps, self.grasp_goal) if name == "grasp" else (self.places, self.place_goal)
        return self.end(self.send(client, goal)).status

    def driver(self) -> dict[str, Any]:
        """What the simulator counted, see `toolhand.sim.ros.driver.Driver.record`."""
        record: dict[str, Any] = json.loads(self.call(Trigger, "sim/get_truth").message)["driver"]
        return record

    def _holds(self) -> bool:
        return bool(self.call(GetHeld, "get_held").holding)

    def _repair(self, kind: str) -> str:
        """What a person does at the arm, and then at the computer; why it did not help, or ""."""
        if kind == "hand_guiding":
            self.call(StepSimulation, "step_simulation", steps=_LIFTED_STEPS)
        self.set("sim", "fault", "")
        if kind == "controller_stopped":
            robot = load_robot()
            names = [action.partition("/")[0] for action in (robot.trajectory_action, robot.gripper_action)]
            answer = self.call(
                SwitchController, "controller_manager/switch_controller", activate_controllers=names, strictness=2
            )
            return "" if answer.ok else str(answer.message)
        if kind == "connection_lost":
            seen = len(self.readings)
            self.wait(lambda: len(self.readings) > seen)
            return ""
        answer = self.call(Trigger, "reset_fault")
        return "" if answer.success else str(answer.message)
