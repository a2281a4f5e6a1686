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

from toolhand.tool_nodes.drivers.external_planner import ExternalPlanner
from toolhand.tool_nodes.drivers.library_calls import LibraryCalls
from toolhand.tool_nodes.drivers.moveit import PLANNING_S
from toolhand.tool_nodes.files import write_whole
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.motion.scene_model import attached_opening
from toolhand.tool_nodes.results import ErrorCode, ToolError, unavailable, words_of
from toolhand.tool_nodes.robot_export.description import describe, exported_urdf
from toolhand.tool_nodes.robot_export.folder import collision_model
from toolhand.tool_nodes.robot_export.moveit_files import ARM, OMPL, PILZ, PLANNER, parameters, srdf
from toolhand.tool_nodes.types import CollisionScene, FloatArray, PoseGoal, Trajectory

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


class MoveItPyPlanner(ExternalPlanner):
    """Plans with MoveItPy; see ports.Planner. OMPL finds paths, Pilz's planner LIN follows straight lines.

    OMPL draws anew for each plan: its generator has one seed in the life of a process.

    Args:
        seed: Seed of the embedded planner, which says whether a pose can be reached.
        robot: The robot; the default one where None.
        planning_s: Time that one search for a path may take [s]; PLANNING_S where None.

    Raises:
        ToolError: UNAVAILABLE where moveit_py is missing, or does not start.
    """

    def __init__(self, seed: int = 0, robot: RobotModel | None = None, planning_s: float | None = None) -> None:
        _require_package()
        super().__init__(seed, robot, planning_s)
        self._planning_s = planning_s or PLANNING_S
        self._frame = describe(self._robot).base
        self._calls, self._moveit = _started(self._robot)
        self._component = self._calls.run(
            lambda: self._moveit.get_planning_component(planning_component_name=ARM), _GRACE_S
        )
        self._there: frozenset[str] = frozenset()

    def _line(self, q: FloatArray, T: FloatArray, scene: CollisionScene, speed: float) -> Trajectory:
        line = self._at_poses([T], _LINE_TOLERANCE, _LINE_TOLERANCE)
        return self._asked(q, line, scene, speed, (PILZ, _LINE))

    def _to_joints(self, q: FloatArray, target: FloatArray, scene: CollisionScene, speed: float) -> Trajectory:
        from toolhand.tool_nodes.ros.moveit_messages import joint_constraints

        joints = [joint_constraints(self._robot.arm_joints, target, _JOINT_TOLERANCE)]
        return self._asked(q, joints, scene, speed, (OMPL, PLANNER))

    def _to_poses(
        self, q: FloatArray, poses: list[FloatArray], goal: PoseGoal, scene: CollisionScene, speed: float
    ) -> Trajectory:
        goals = self._at_poses(poses, goal.position_tolerance, goal.rotation_tolerance)
        return self._asked(q, goals, scene, speed, (OMPL, PLANNER))

    def _at_poses(self, poses: list[FloatArray], position: float, rotation: float) -> list[Any]:
        from toolhand.tool_nodes.ros.moveit_messages import pose_constraints

        return [pose_constraints(T, self._frame, self._robot.tip_frame, position, rotation) for T in poses]

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
        raise unavailable(f"The planner 'moveit_py' needs MoveIt's moveit_py: {words_of(error)}.", WHERE) from error


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
