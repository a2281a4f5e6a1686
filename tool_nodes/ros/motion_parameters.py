"""Parameters of the motion node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Interval

from toolhand.tool_nodes.motion.guard import Mode
from toolhand.tool_nodes.port_names import DEFAULT_PLANNER
from toolhand.tool_nodes.ros.joint_states import STILL_VELOCITIES, STILL_VELOCITY
from toolhand.tool_nodes.ros.messages import BASE_FRAME
from toolhand.tool_nodes.ros.parameters import NonEmpty, Seconds


@dataclass(frozen=True)
class MotionParameters:
    """Parameters of the motion node.

    Attributes:
        base_frame: Frame of the robot's base.
        arm: Backend that moves the robot: a name of the group toolhand.arm.
        lockstep: Time passes by steps that motions ask for.
        planner: Backend that plans motions.
        planning_s: How long one search for a path may take, free running [s].
        stop_deadline_s: How long a stop may take to be confirmed [s].
        still_velocity: A joint that reports more is not at rest [rad/s].
        approval: Who lets a motion run, at the least; no goal is let through more easily.
        approval_deadline_s: How long to wait for a person's approval [s].
    """

    base_frame: NonEmpty = BASE_FRAME
    arm: NonEmpty = "ros2_control"
    lockstep: bool = False
    planner: NonEmpty = DEFAULT_PLANNER
    planning_s: Seconds = 5.0
    stop_deadline_s: Seconds = 5.0
    still_velocity: Annotated[float, Interval(ge=STILL_VELOCITIES[0], le=STILL_VELOCITIES[1])] = STILL_VELOCITY
    approval: Mode = Mode.AUTO
    approval_deadline_s: Seconds = 60.0
