"""A robot for MoveIt 2 (Jazzy and later): SRDF, the parameters of its nodes, and a package with them that it loads."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import numpy as np

from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.motion.timing import SAMPLE_PERIOD
from toolhand.tool_nodes.robot_export.description import describe
from toolhand.tool_nodes.robot_export.touching import IgnoredPair

ARM, GRIPPER = "manipulator", "gripper"
"""Names of the planning groups, as in Kinova's own configurations."""
OMPL, PILZ = "ompl", "pilz_industrial_motion_planner"
"""Names of the planning pipelines."""
PLANNER = "RRTConnectkConfigDefault"
"""Name that MoveIt's own configurations have for OMPL's RRT-Connect."""

_SEGMENT_RAD = 0.05
"""How far apart OMPL checks a path, the sum over the joints [rad]; a round figure. MoveIt's default is a hundredth of
all ranges together, 0.4 rad for a Gen3, between which an arm passes through objects."""
_TIMED_PATH_RAD = 0.02
"""How far timing may round off the corners of a path [rad]: what the own check lets lie between two configurations.
MoveIt's default is 0.1 rad, which is no longer the path that was checked."""
_SCALING = 0.1
"""Share of velocities and accelerations where a request names none [-]: MoveIt's own default for new robots."""
_CARTESIAN = {"max_trans_vel": 1.0, "max_trans_acc": 2.25, "max_trans_dec": -5.0, "max_rot_vel": 1.57}
"""Limits of straight lines [m/s], [m/s^2], [rad/s]: those of Kinova's configuration; joints limit them besides."""
_GRIPPER_ACCELERATION = 1.0
"""[rad/s^2]; that of Kinova's configuration."""
_UPDATE_RATE_HZ = 100
"""Of the controller manager: that of the trajectories' samples [Hz]."""
_PATH_TOLERANCE, _GOAL_TOLERANCE = 0.2, 0.02
"""How far a joint may be beside its path, and from its goal [rad]: what the simulated arm keeps, the goal twice as
wide. Without them the controller says that it succeeded wherever the arm is."""
_GOAL_TIME_S = 0.5
"""How much later than planned the arm may arrive [s]: what the motion node waits, too."""


def srdf(robot: RobotModel, ignored: list[IgnoredPair]) -> str:
    """The semantic description: groups, named states, the end effector, and pairs of links that are not checked."""
    names = describe(robot)
    root = ET.Element("robot", name=names.name)
    arm = ET.SubElement(root, "group", name=ARM)
    ET.SubElement(arm, "chain", base_link=names.base, tip_link=robot.tip_frame)
    gripper = ET.SubElement(root, "group", name=GRIPPER)
    for joint in names.hand_joints:
        ET.SubElement(gripper, "joint", name=joint)
    for state, q in robot.named_states.items():
        _state(root, state, ARM, dict(zip(robot.arm_joints, q.tolist(), strict=True)))
    _state(root, "Open", GRIPPER, {robot.gripper.joint: robot.gripper.open_at})
    _state(root, "Close", GRIPPER, {robot.gripper.joint: robot.gripper.closed_at})
    ET.SubElement(root, "end_effector", name=GRIPPER, parent_link=names.hand_parent, group=GRIPPER)
    for joint in names.mimics:
        ET.SubElement(root, "passive_joint", name=joint)
    for pair in ignored:
        ET.SubElement(root, "disable_collisions", link1=pair.first, link2=pair.second, reason=pair.reason)
    ET.indent(root)
    return '<?xml version="1.0"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _state(root: ET.Element, name: str, group: str, values: dict[str, float]) -> None:
    state = ET.SubElement(root, "group_state", name=name, group=group)
    for joint, value in values.items():
        ET.SubElement(state, "joint", name=joint, value=repr(float(value)))


def parameters(robot: RobotModel) -> dict[str, dict[str, Any]]:
    """The YAML files of the package's folder `config`, by their names."""
    trajectory, trajectory_action = _controller(robot.trajectory_action)
    gripper, gripper_action = _controller(robot.gripper_action)
    return {
        "kinematics.yaml": {
            ARM: {
                "kinematics_solver": "kdl_kinematics_plugin/KDLKinematicsPlugin",
                "kinematics_solver_search_resolution": 0.005,
                "kinematics_solver_timeout": 0.05,
            }
        },
        "joint_limits.yaml": {
            "default_velocity_scaling_factor": _SCALING,
            "default_acceleration_scaling_factor": _SCALING,
            "joint_limits": _joint_limits(robot),
        },
        "ompl_planning.yaml": _ompl(robot),
        f"{PILZ}_planning.yaml": {
            **_pipeline("pilz_industrial_motion_planner/CommandPlanner", adds_times=False),
            "default_planner_config": "LIN",
        },
        "pilz_cartesian_limits.yaml": {"cartesian_limits": dict(_CARTESIAN)},
        "moveit_controllers.yaml": {
            "moveit_controller_manager": "moveit_simple_controller_manager/MoveItSimpleControllerManager",
            "moveit_simple_controller_manager": {
                "controller_names": [trajectory, gripper],
                trajectory: {
                    "type": "FollowJointTrajectory",
                    "action_ns": trajectory_action,
                    "default": True,
                    "joints": list(robot.arm_joints),
                },
                gripper: {
                    "type": "ParallelGripperCommand",
                    "action_ns": gripper_action,
                    "default": True,
                    "joints": [robot.gripper.joint],
                },
            },
        },
        "ros2_controllers.yaml": _controllers(robot, trajectory, gripper),
        "moveit_cpp.yaml": moveit_cpp(),
    }


def moveit_cpp() -> dict[str, Any]:
    """Parameters that MoveItCpp, and so moveit_py, needs besides."""
    return {
        "planning_scene_monitor_options": {
            "name": "planning_scene_monitor",
            "robot_description": "robot_description",
            "wait_for_initial_state_timeout": 10.0,
        },
        "planning_pipelines": {"pipeline_names": [OMPL, PILZ]},
        "plan_request_params": {
            "planning_pipeline": OMPL,
            "planner_id": PLANNER,
            "planning_attempts": 1,
            "planning_time": 5.0,
            "max_velocity_scaling_factor": _SCALING,
            "max_acceleration_scaling_factor": _SCALING,
        },
    }


def package_files(robot: RobotModel) -> dict[str, str]:
    """What makes the folder a ROS 2 package, by paths."""
    names = describe(robot)
    return {
        "package.xml": _PACKAGE_XML.format(package=names.package, robot=names.name),
        "CMakeLists.txt": _CMAKE.format(package=names.package),
        ".setup_assistant": _SETUP_ASSISTANT.format(package=names.package, robot=names.name),
        "launch/move_group.launch.py": _LAUNCH.format(package=names.package, robot=names.name),
    }


def _controller(action: str) -> tuple[str, str]:
    """(controller, name of its action) of an action's full name."""
    controller, _, name = action.strip("/").rpartition("/")
    return controller or name, name


def _joint_limits(robot: RobotModel) -> dict[str, dict[str, Any]]:
    limits: dict[str, dict[str, Any]] = {}
    for name, velocity, acceleration in zip(
        robot.arm_joints, robot.velocity.tolist(), robot.acceleration.tolist(), strict=True
    ):
        limits[name] = {
            "has_velocity_limits": True,
            "max_velocity": velocity,
            "has_acceleration_limits": True,
            "max_acceleration": acceleration,
            "has_jerk_limits": True,
            "max_jerk": round(acceleration / robot.jerk_time, 9),
        }
    limits[robot.gripper.joint] = {
        "has_velocity_limits": True,
        "max_velocity": robot.gripper.speed,
        "has_acceleration_limits": True,
        "max_acceleration": _GRIPPER_ACCELERATION,
    }
    return limits


def _pipeline(plugin: str, adds_times: bool) -> dict[str, Any]:
    before = ("ResolveConstraintFrames", "ValidateWorkspaceBounds", "CheckStartStateBounds", "CheckStartStateCollision")
    after = ("AddTimeOptimalParameterization",) * adds_times + ("ValidateSolution", "DisplayMotionPath")
    return {
        "planning_plugins": [plugin],
        "request_adapters": [f"default_planning_request_adapters/{name}" for name in before],
        "response_adapters": [f"default_planning_response_adapters/{name}" for name in after],
    }


def _ompl(robot: RobotModel) -> dict[str, Any]:
    low, high = robot.sampled_range
    group = {
        "planner_configs": [PLANNER],
        "longest_valid_segment_fraction": float(np.round(_SEGMENT_RAD / (high - low).sum(), 6)),
    }
    return {
        **_pipeline("ompl_interface/OMPLPlanner", adds_times=True),
        # Samples as dense as the project's own: at MoveIt's 0.1 s the cubics between them leave the path.
        "totg": {"path_tolerance": _TIMED_PATH_RAD, "resample_dt": SAMPLE_PERIOD},
        "planner_configs": {PLANNER: {"type": "geometric::RRTConnect", "range": 0.0}},
        ARM: group,
    }


def _controllers(robot: RobotModel, trajectory: str, gripper: str) -> dict[str, Any]:
    tolerances: dict[str, Any] = {"stopped_velocity_tolerance": 0.02, "goal_time": _GOAL_TIME_S}
    for joint in robot.arm_joints:
        tolerances[joint] = {"trajectory": _PATH_TOLERANCE, "goal": _GOAL_TOLERANCE}
    return {
        "controller_manager": {
            "ros__parameters": {
                "update_rate": _UPDATE_RATE_HZ,
                "joint_state_broadcaster": {"type": "joint_state_broadcaster/JointStateBroadcaster"},
                trajectory: {"type": "joint_trajectory_controller/JointTrajectoryController"},
                gripper: {"type": "parallel_gripper_action_controller/GripperActionController"},
            }
        },
        trajectory: {
            "ros__parameters": {
                "joints": list(robot.arm_joints),
                "command_interfaces": ["position"],
                "state_interfaces": ["position", "velocity"],
                "state_publish_rate": 100.0,
                "action_monitor_rate": 20.0,
                "allow_partial_joints_goal": False,
                "constraints": tolerances,
            }
        },
        gripper: {"ros__parameters": {"joint": robot.gripper.joint, "allow_stalling": True}},
    }


_PACKAGE_XML = """<?xml version="1.0"?>
<package format="3">
  <name>{package}</name>
  <version>0.1.0</version>
  <description>MoveIt configuration of {robot}, exported by toolhand</description>
  <maintainer email="maintainer@example.com">Whoever uses it</maintainer>
  <license>Apache-2.0</license>
  <buildtool_depend>ament_cmake</buildtool_depend>
  <exec_depend>moveit_ros_move_group</exec_depend>
  <exec_depend>moveit_kinematics</exec_depend>
  <exec_depend>moveit_planners</exec_depend>
  <exec_depend>moveit_simple_controller_manager</exec_depend>
  <exec_depend>moveit_configs_utils</exec_depend>
  <exec_depend>joint_trajectory_controller</exec_depend>
  <exec_depend>parallel_gripper_action_controller</exec_depend>
  <exec_depend>controller_manager</exec_depend>
  <export><build_type>ament_cmake</build_type></export>
</package>
"""
_CMAKE = """cmake_minimum_required(VERSION 3.22)
project({package})
find_package(ament_cmake REQUIRED)
install(DIRECTORY config launch curobo DESTINATION share/${{PROJECT_NAME}})
install(DIRECTORY meshes DESTINATION share/${{PROJECT_NAME}} OPTIONAL)
install(FILES .setup_assistant DESTINATION share/${{PROJECT_NAME}})
ament_package()
"""
_SETUP_ASSISTANT = """moveit_setup_assistant_config:
  urdf:
    package: {package}
    relative_path: config/{robot}.urdf
  srdf:
    relative_path: config/{robot}.srdf
"""
_LAUNCH = '''"""Starts move_group with this configuration; the robot's driver publishes states and transforms."""

from moveit_configs_utils import MoveItConfigsBuilder
from moveit_configs_utils.launches import generate_move_group_launch


def generate_launch_description():
    """What `ros2 launch {package} move_group.launch.py` starts."""
    builder = MoveItConfigsBuilder("{robot}", package_name="{package}")
    pipelines = ["ompl", "pilz_industrial_motion_planner"]
    return generate_move_group_launch(builder.planning_pipelines(pipelines=pipelines).to_moveit_configs())
'''
