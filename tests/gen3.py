"""The default robot, a Kinova Gen3 with a Robotiq 2F-85, by the names that tests use, and functions with it."""

from collections.abc import Sequence

import mujoco

from toolhand.tool_nodes.motion import robot_spec, timing
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.types import FloatArray, Trajectory

GEN3 = load_robot("gen3")
ARM_JOINTS = GEN3.arm_joints
GRIPPER_JOINT = GEN3.gripper.joint
NAMED_STATES = GEN3.named_states
POSITION_LIMITS = GEN3.upper
CONTINUOUS = GEN3.continuous
VELOCITY_LIMITS = GEN3.velocity
ACCELERATION_LIMITS = GEN3.acceleration
TIP_FRAME = GEN3.tip_frame
URDF_PATH = GEN3.urdf_path
MAX_OPENING = GEN3.gripper.max_opening
MAX_WIDTH = GEN3.gripper.max_width
GRIPPER_BOX = (GEN3.reach.low, GEN3.reach.high)

pad_depth = GEN3.gripper.pad_depth
fingertip_depth = GEN3.gripper.fingertip_depth
gripper_points = GEN3.gripper.points
knuckle_from_opening = GEN3.gripper.joint_position
opening_from_knuckle = GEN3.gripper.opening
nearest_turn = GEN3.nearest_turn
joint_difference = GEN3.joint_difference


def load_robot_spec() -> mujoco.MjSpec:
    return robot_spec.load_robot_spec(GEN3)


def time_waypoints(waypoints: FloatArray, speed: float = 1.0) -> Trajectory:
    return timing.time_waypoints(waypoints, GEN3, speed)


def time_path(s: Sequence[float] | FloatArray, path: FloatArray, speed: float = 1.0) -> Trajectory:
    return timing.time_path(s, path, GEN3, speed)


def overload(trajectory: Trajectory, speed: float = 1.0) -> float:
    return timing.overload(trajectory, GEN3, speed)
