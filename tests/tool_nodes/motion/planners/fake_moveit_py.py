"""moveit_py as a double of its signatures: the embedded planner answers the messages, with MoveIt's manners."""

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from moveit_msgs.msg import MoveItErrorCodes, PlanningScene, RobotTrajectory
from scipy.interpolate import CubicHermiteSpline
from trajectory_msgs.msg import JointTrajectoryPoint

from tests.gen3 import GEN3
from tests.tool_nodes.motion.planners.tables import PackageDouble
from toolhand.sim.ros.move_group_scene import MessageRefused, Workcell, read_goal
from toolhand.tool_nodes.motion.checked_planner import checked
from toolhand.tool_nodes.motion.collision import Checker
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.planner import EmbeddedPlanner
from toolhand.tool_nodes.motion.scene_model import SceneModel
from toolhand.tool_nodes.ports import Planner
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.types import CollisionScene, LinearGoal, PoseGoal, Trajectory

LINE_SAMPLES_S = 0.1
"""Spacing of Pilz's samples [s]."""


LONG_S = 300.0
"""A bound against hanging [s], for computers that are busy with something else."""


class MoveIt:
    """What is behind the double."""

    def __init__(self, config: dict[str, Any]) -> None:
        assert f'robot name="{GEN3.urdf.file.root.attrib["name"]}"' in config["robot_description"]
        assert "<chain " in config["robot_description_semantic"]
        for pipeline in config["planning_pipelines"]["pipeline_names"]:
            assert config[pipeline]["planning_plugins"]
        for needed in ("plan_request_params", "planning_scene_monitor_options"):
            assert config[needed]
        self.pipelines = config["planning_pipelines"]["pipeline_names"]
        self.spacing = {"LIN": LINE_SAMPLES_S, "RRTConnectkConfigDefault": config["ompl"]["totg"]["resample_dt"]}
        self.kinematics = Kinematics(GEN3)
        self.cell = Workcell(GEN3, "base_link", self.kinematics)
        self.planner = EmbeddedPlanner(0, GEN3)
        self.locked = False
        self.joints: dict[str, float] = {}

    def change(self, attached: Any = None, one: Any = None) -> None:
        assert self.locked, "the planning scene may be changed within read_write() alone"
        message = PlanningScene(is_diff=True)
        message.robot_state.is_diff = True
        message.robot_state.attached_collision_objects = [attached] if attached is not None else []
        message.world.collision_objects = [one] if one is not None else []
        self.cell.change(message)

    def plan(self, joints: dict[str, float], goals: list[Any], request: Any) -> Trajectory:
        """Raises MessageRefused, ToolError."""
        q = np.array([joints[name] for name in GEN3.arm_joints])
        self.cell.q = q
        scene = self.cell.scene(GEN3.gripper.opening(joints[GEN3.gripper.joint]), True)
        goal = read_goal(goals, GEN3, "base_link")
        if request.planning_pipeline not in self.pipelines:
            raise MessageRefused("FAILURE")
        if request.planner_id == "LIN":
            assert isinstance(goal, PoseGoal)
            goal = LinearGoal(goal.T_base_gripper[0])
            scene = CollisionScene(table_z=-10.0, opening_m=scene.opening_m)
        elif not Checker(SceneModel(scene, GEN3)).free(q):
            raise MessageRefused("START_STATE_IN_COLLISION")
        speed = min(request.max_velocity_scaling_factor, float(np.sqrt(request.max_acceleration_scaling_factor)))
        return self.planner.plan(q, goal, scene, speed)


def message(trajectory: Trajectory, spacing: float) -> RobotTrajectory:
    t = np.arange(0.0, trajectory.duration, spacing)
    t = np.append(t[trajectory.duration - t > 1e-3], trajectory.duration)
    path = CubicHermiteSpline(trajectory.t, trajectory.q, trajectory.qd)
    made = RobotTrajectory()
    made.joint_trajectory.joint_names = list(reversed(GEN3.arm_joints))
    for when in t:
        q, qd = path(when)[::-1], path(when, 1)[::-1]
        point = JointTrajectoryPoint(positions=q.tolist(), velocities=qd.tolist())
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(round(float(when) * 1e9), 10**9)
        made.joint_trajectory.points.append(point)
    return made


def moveit_py() -> PackageDouble:
    """moveit_py 2.14."""

    def start(this: Any) -> None:
        this.__dict__["_moveit"] = MoveIt(this.config_dict)

    @contextlib.contextmanager
    def locked(this: Any, write: bool) -> Iterator[Any]:
        moveit = this._moveit
        moveit.locked = write
        state = double.make("RobotState", _moveit=moveit, joint_positions=dict.fromkeys(GEN3.joints, 0.0))
        yield double.make("PlanningScene", _moveit=moveit, current_state=state)
        moveit.locked = False

    def goal(this: Any, motion_plan_constraints: Any, **others: Any) -> bool:
        assert all(value is None for value in others.values())  # exactly one kind
        this.__dict__["_goals"] = motion_plan_constraints
        return True

    def set_start(this: Any, configuration_name: Any, robot_state: Any) -> bool:
        assert configuration_name is None
        assert set(robot_state.joint_positions) >= set(GEN3.joints)
        assert robot_state._updated
        this.__dict__["_start"] = robot_state.joint_positions
        return True

    def update(this: Any, force: bool, type: str) -> None:
        this.__dict__["_updated"] = True

    def plan(this: Any, single_plan_parameters: Any, **others: Any) -> Any:
        assert all(value is None for value in others.values())
        code, trajectory = MoveItErrorCodes(val=MoveItErrorCodes.SUCCESS), None
        try:
            path = this._moveit.plan(this._start, this._goals, single_plan_parameters)
            trajectory = double.make(
                "RobotTrajectory", _message=message(path, this._moveit.spacing[single_plan_parameters.planner_id])
            )
        except (MessageRefused, ToolError) as error:
            name = str(error) if isinstance(error, MessageRefused) else "PLANNING_FAILED"
            code = MoveItErrorCodes(val=getattr(MoveItErrorCodes, name, MoveItErrorCodes.FAILURE), message=str(error))
        return double.make("MotionPlanResponse", error_code=code, trajectory=trajectory)

    double = PackageDouble(
        "moveit_py",
        {
            "MoveItPy.__init__": start,
            "MoveItPy.get_planning_component": lambda this, planning_component_name: double.make(
                "PlanningComponent", _moveit=this._moveit, _group=planning_component_name
            ),
            "MoveItPy.get_planning_scene_monitor": lambda this: double.make(
                "PlanningSceneMonitor", _moveit=this._moveit
            ),
            "PlanningSceneMonitor.read_only": lambda this: locked(this, False),
            "PlanningSceneMonitor.read_write": lambda this: locked(this, True),
            "PlanningScene.apply_collision_object": lambda this, collision_object_msg, color_msg: this._moveit.change(
                one=collision_object_msg
            ),
            "PlanningScene.process_attached_collision_object": lambda this, object: this._moveit.change(object),
            "RobotState.__deepcopy__": lambda this: double.make(
                "RobotState", _moveit=this._moveit, joint_positions=dict(this.joint_positions)
            ),
            "RobotState.update": update,
            "PlanningComponent.set_start_state": set_start,
            "PlanningComponent.set_goal_state": goal,
            "PlanningComponent.plan": plan,
            "MotionPlanResponse.__bool__": lambda this: this.error_code.val == MoveItErrorCodes.SUCCESS,
            "RobotTrajectory.get_robot_trajectory_msg": lambda this, joint_filter: this._message,
        },
    )
    return double


@contextlib.contextmanager
def installed(double: PackageDouble) -> Iterator[None]:
    """With the modules of the double."""
    from toolhand.tool_nodes.drivers import moveit_py as driver

    driver._started.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        for name, module in double.modules.items():
            patch.setitem(sys.modules, name, module)
        yield
    driver._started.cache_clear()


@contextlib.contextmanager
def over_moveit_py() -> Iterator[Planner]:
    """The planner `moveit_py` over the double, checked as in the node motion."""
    from toolhand.tool_nodes.drivers.moveit_py import MoveItPyPlanner

    with installed(moveit_py()):
        yield checked(MoveItPyPlanner(0, GEN3, LONG_S), GEN3)
