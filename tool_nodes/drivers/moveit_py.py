"""The planner `moveit_py`: MoveIt plans in this process, by its own Python package, which comes with MoveIt 2.

MoveItPy initialises ROS 2 for C++ in the process and spins a thread that never ends; its `shutdown`, and its end, shut
down ROS 2 for the whole process. So it is started once for a robot, kept, and never shut down. Where it crashes, the
process does: `moveit` asks move_group, which is another one. What it answers is checked like any planner's
(`toolhand.tool_nodes.motion.checked_planner`).
"""

from __future__ import annotations

import copy
import shutil
import tempfile
import weakref
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from toolhand.tool_nodes.drivers.library_calls import LibraryCalls
from toolhand.tool_nodes.drivers.moveit import PLANNING_S
from toolhand.tool_nodes.drivers.room import with_room
from toolhand.tool_nodes.files import write_whole
from toolhand.tool_nodes.motion.kinematics import Kinematics, check_pose
from toolhand.tool_nodes.motion.planner import EmbeddedPlanner
from toolhand.tool_nodes.motion.reach import (
    check_poses,
    check_speed,
    check_start,
    has_solution,
    joint_target,
    no_solution,
    reach_error,
    reachable_poses,
)
from toolhand.tool_nodes.motion.robot_model import RobotModel, load_robot
from toolhand.tool_nodes.motion.scene_model import SceneModels, attached_opening, check_scene
from toolhand.tool_nodes.ports import PlannerStats
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid, unavailable
from toolhand.tool_nodes.robot_export.description import describe, exported_urdf
from toolhand.tool_nodes.robot_export.folder import collision_model
from toolhand.tool_nodes.robot_export.moveit_files import ARM, OMPL, PILZ, PLANNER, parameters, srdf
from toolhand.tool_nodes.types import CollisionScene, FloatArray, Goal, JointGoal, LinearGoal, PoseGoal, Trajectory

WHERE = (
    "Install ros-ROS_DISTRO-moveit-py and source ROS 2, or use planner:=moveit; the package moveit on PyPI is not it."
)
"""Where moveit_py comes from."""

_SETUP_S = 60.0
"""How long MoveIt may take to start in this process [s]; a round figure."""
_GRACE_S = 5.0
"""How much longer than a search may take it is waited for its answer [s]; a round figure."""
_JOINT_TOLERANCE = 1e-4
"""How near a joint goal is to be reached [rad]: what MoveIt's own clients ask for."""
_LINE_TOLERANCE = 1e-6
"""How near the end of a straight line is to be reached [m], [rad]: Pilz goes to the middle of what is allowed."""
_LINE = "LIN"
"""Name of Pilz's planner of straight lines."""


class MoveItPyPlanner:
    """Plans with MoveItPy; see ports.Planner. OMPL finds paths, Pilz's planner LIN follows straight lines.

    Args:
        seed: Seed of the embedded planner, which says whether a pose can be reached.
        robot: The robot; the default one where None.
        planning_s: Time that one search for a path may take [s]; PLANNING_S where None.

    Raises:
        ToolError: UNAVAILABLE where moveit_py is missing, or does not start.
    """

    def __init__(self, seed: int = 0, robot: RobotModel | None = None, planning_s: float | None = None) -> None:
        _require_package()
        self._robot = robot or load_robot()
        self._planning_s = planning_s or PLANNING_S
        self._own = EmbeddedPlanner(seed, self._robot, planning_s)
        self._kinematics = Kinematics(self._robot)
        self._models = SceneModels(robot=self._robot)
        self._frame = describe(self._robot).base
        self._calls, self._moveit = _started(self._robot)
        self._component = self._calls.run(
            lambda: self._moveit.get_planning_component(planning_component_name=ARM), _GRACE_S
        )
        self._there: frozenset[str] = frozenset()

    @property
    def stats(self) -> PlannerStats:
        """See ports.Planner; MoveIt does not count."""
        return PlannerStats()

    def reseed(self, seed: int) -> None:
        """See ports.Planner. OMPL draws anew for each plan: its generator has one seed in the life of a process."""
        self._own.reseed(seed)

    def plan(self, start: FloatArray, goal: Goal, scene: CollisionScene, speed: float = 1.0) -> Trajectory:
        """See ports.Planner.

        Raises:
            ToolError: OUT_OF_WORKSPACE, IK_FAILED, PLAN_FAILED; INVALID_ARGUMENT on malformed input; TIMEOUT where
                MoveIt does not answer, UNAVAILABLE where it fails or answers what cannot be used.
        """
        from toolhand.tool_nodes.ros.moveit_messages import joint_constraints, pose_constraints

        q = check_start(start, self._robot)
        check_speed(speed)
        check_scene(scene)
        tip = self._robot.tip_frame
        if isinstance(goal, LinearGoal):
            T = check_pose(goal.T_base_gripper, "goal pose")
            if (error := reach_error(T, scene, self._robot)) is not None:
                raise error
            line = [pose_constraints(T, self._frame, tip, _LINE_TOLERANCE, _LINE_TOLERANCE)]
            return self._asked(q, line, scene, speed, (PILZ, _LINE))
        if isinstance(goal, JointGoal):
            target = joint_target(q, goal, self._robot)
            joints = [joint_constraints(self._robot.arm_joints, target, _JOINT_TOLERANCE)]
            return with_room(
                q, scene, self._models, lambda among: self._asked(q, joints, among, speed, (OMPL, PLANNER))
            )
        if not isinstance(goal, PoseGoal):
            raise invalid(f"The goal must be a PoseGoal, LinearGoal or JointGoal, got {type(goal).__name__}.")
        poses = [T for _, T in reachable_poses(check_poses(goal)[0], scene, self._robot)]
        solvable = [T for T in poses if has_solution(T, q, self._kinematics)]
        if not solvable:
            raise no_solution(poses[0], self._robot)
        tolerance = goal.position_tolerance, goal.rotation_tolerance
        goals = [pose_constraints(T, self._frame, tip, *tolerance) for T in solvable]
        return with_room(q, scene, self._models, lambda among: self._asked(q, goals, among, speed, (OMPL, PLANNER)))

    def reachable(self, T_base_gripper: FloatArray, scene: CollisionScene, back: FloatArray | None = None) -> bool:
        """See ports.Planner; the embedded planner says so."""
        return self._own.reachable(T_base_gripper, scene, back)

    # -- MoveIt ----------------------------------------------------------------------------------

    def _asked(
        self, q: FloatArray, goals: list[Any], scene: CollisionScene, speed: float, by: tuple[str, str]
    ) -> Trajectory:
        """The path from joint positions (n,) to any of the constraints, by a (pipeline, planner)."""
        from toolhand.tool_nodes.ros.moveit_messages import followed, refusal

        def ask() -> tuple[Any, Any]:
            self._show(scene)
            self._component.set_start_state(robot_state=self._state(q, scene))
            self._component.set_goal_state(motion_plan_constraints=goals)
            answer = self._component.plan(single_plan_parameters=self._request(speed, by))
            if answer is None:
                return None, None
            message = answer.trajectory.get_robot_trajectory_msg() if answer else None
            return answer.error_code, message

        code, message = self._calls.run(ask, self._planning_s + _GRACE_S)
        if code is None:
            raise unavailable("MoveItPy answered nothing.", "Look at the log of this process.")
        what = "MoveIt found no straight line" if by[0] == PILZ else "MoveIt found no path"
        if (error := refusal(code, what)) is not None:
            raise error
        if message is None:
            raise ToolError(ErrorCode.UNAVAILABLE, "MoveItPy says that there is a path, and gives none.")
        return followed(message, q, self._robot)

    def _show(self, scene: CollisionScene) -> None:
        """Put a scene in the place of the one before, in MoveIt's planning scene."""
        from toolhand.tool_nodes.ros.moveit_messages import hand_links, scene_change

        change = scene_change(scene, self._frame, self._robot.tip_frame, hand_links(self._robot), self._there)
        attached = change.robot_state.attached_collision_objects
        with self._moveit.get_planning_scene_monitor().read_write() as there:
            for held in attached:
                there.process_attached_collision_object(object=held)
            for one in change.world.collision_objects:
                there.apply_collision_object(collision_object_msg=one)
            there.current_state.update()
        world = {one.id for one in change.world.collision_objects if one.operation == one.ADD}
        self._there = frozenset(world | {held.object.id for held in attached if scene.attached})

    def _state(self, q: FloatArray, scene: CollisionScene) -> Any:
        """MoveIt's state with the joints at (n,) and what is held still attached."""
        gripper = self._robot.gripper
        with self._moveit.get_planning_scene_monitor().read_only() as there:
            state = copy.deepcopy(there.current_state)
        positions = dict(zip(self._robot.arm_joints, q.tolist(), strict=True))
        state.joint_positions = {**positions, gripper.joint: gripper.joint_position(attached_opening(scene, gripper))}
        state.update()
        return state

    def _request(self, speed: float, by: tuple[str, str]) -> Any:
        from moveit.planning import PlanRequestParameters

        from toolhand.tool_nodes.ros.moveit_messages import ACCELERATION_SHARE, SPEED_SHARE

        request = PlanRequestParameters(self._moveit, "")
        request.planning_pipeline, request.planner_id = by
        request.planning_attempts, request.planning_time = 1, float(self._planning_s)
        request.max_velocity_scaling_factor = SPEED_SHARE * speed
        request.max_acceleration_scaling_factor = ACCELERATION_SHARE * speed**2
        return request


def _require_package() -> None:
    """Raises ToolError UNAVAILABLE where moveit_py, or the messages that it takes, are not installed."""
    try:
        for module in ("moveit.planning", "toolhand.tool_nodes.ros.moveit_messages"):
            import_module(module)
    except ImportError as error:
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise unavailable(f"The planner 'moveit_py' needs MoveIt's moveit_py: {reason}.", WHERE) from error


@cache
def _started(robot: RobotModel) -> tuple[LibraryCalls, Any]:
    """MoveItPy for a robot, and what runs its calls; kept for the life of the process."""
    from moveit.planning import MoveItPy

    calls = LibraryCalls("MoveItPy")
    name = f"toolhand_{describe(robot).package}"
    folder = Path(tempfile.mkdtemp(prefix="toolhand_moveit_"))
    weakref.finalize(calls, shutil.rmtree, folder, ignore_errors=True)  # at the end of the process
    config = moveit_parameters(robot, folder)
    return calls, calls.run(
        lambda: MoveItPy(node_name=name, config_dict=config, provide_planning_service=False), _SETUP_S
    )


def moveit_parameters(robot: RobotModel, folder: Path) -> dict[str, Any]:
    """All parameters of a node with MoveIt in it: those of the exported package, and the robot's descriptions.

    Args:
        robot: The robot.
        folder: Folder that its meshes are written to.
    """
    files = parameters(robot)
    urdf, meshes = exported_urdf(robot, folder.resolve().as_uri())
    for name, content in meshes.items():
        write_whole(folder / name, content)
    lines = dict(files[f"{PILZ}_planning.yaml"])
    # A straight line may begin in contact, as when the hand lets go, and end beside what it grasps: the own check says
    # what is free.
    lines["request_adapters"] = [name for name in lines["request_adapters"] if not name.endswith("StateCollision")]
    lines["response_adapters"] = [name for name in lines["response_adapters"] if not name.endswith("ValidateSolution")]
    cpp = copy.deepcopy(files["moveit_cpp.yaml"])
    cpp["planning_scene_monitor_options"]["wait_for_initial_state_timeout"] = 0.0  # every plan says where it starts
    return {
        "robot_description": urdf,
        "robot_description_semantic": srdf(robot, collision_model(robot).pairs),
        "robot_description_kinematics": files["kinematics.yaml"],
        "robot_description_planning": {**files["joint_limits.yaml"], **files["pilz_cartesian_limits.yaml"]},
        OMPL: files["ompl_planning.yaml"],
        PILZ: lines,
        **files["moveit_controllers.yaml"],
        **cpp,
    }
