"""The planner `curobo`: NVIDIA's cuRobo plans on a GPU, version 0.7 (MotionGen) or 0.8 (MotionPlanner).

cuRobo works in single precision and to 5 mm. Its path is what is taken; where it ends is solved exactly, and the time
law is the project's own. What comes of that is checked like any planner's
(`toolhand.tool_nodes.motion.checked_planner`). Straight lines, and the question whether a pose can be reached, are the
embedded planner's: cuRobo follows none exactly.
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from toolhand.tool_nodes.drivers.curobo_model import (
    HELD_COUNT,
    JAWS,
    cuboids,
    jaw_count,
    padded,
    pose_list,
    robot_document,
    timed,
)
from toolhand.tool_nodes.drivers.external_planner import ExternalPlanner
from toolhand.tool_nodes.drivers.library_calls import LibraryCalls
from toolhand.tool_nodes.motion.reach import check_poses
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.motion.scene_model import attached_opening
from toolhand.tool_nodes.results import ErrorCode, ToolError, unavailable
from toolhand.tool_nodes.robot_export.curobo_files import ATTACHED
from toolhand.tool_nodes.robot_export.description import describe, exported_urdf
from toolhand.tool_nodes.robot_export.folder import collision_model
from toolhand.tool_nodes.robot_export.hand import held_balls, jaw_balls
from toolhand.tool_nodes.types import CollisionScene, FloatArray, LinearGoal, PoseGoal, Trajectory

WHERE = "Install it from github.com/NVlabs/curobo: packages named curobo or nvidia-curobo on PyPI are not it."
"""Where cuRobo comes from."""

PLANNING_S = 10.0
"""How long one search may take [s] where nothing else is said: cuRobo's own default."""
_SETUP_S = 600.0
"""How long it may take to load cuRobo and to warm it up [s]: it compiles its kernels, which takes minutes at first."""
_GRACE_S = 5.0
"""How much longer than a search may take it is waited for its answer [s]; a round figure."""
_FIRST_OBSTACLES = 512
"""Obstacles that there is memory for at first; more are loaded with a new planner with room for eight times as many."""
_MOST_POSES = 4
"""Poses of a goal that are tried, the preferred first; a round figure."""
_EXACT_ITERATIONS = 60
"""Iterations of inverse kinematics from the end of cuRobo's path, which is 5 mm away at most; a round figure."""
_TRIVIAL_RAD = 1e-6
"""Joint positions this close are the same [rad]: single precision."""
_SAMPLES_S = 0.02
"""Spacing of the samples that cuRobo is asked for [s]: its own default."""


class CuroboVersion(Protocol):
    """What both versions of cuRobo do here, each by its own names; `_planner` is MotionGen or MotionPlanner."""

    _planner: Any
    _joints: tuple[str, ...]
    _device: Any
    _Cuboid: Any
    _World: Any
    _State: Any
    _nothing: str
    _failed: str

    def attach(self, link: str, balls: FloatArray) -> None:
        """Put balls (N, 4) onto a link, as many as it has room for."""

    def to_pose(self, q: FloatArray, pose: list[float], planning_s: float) -> FloatArray | str:
        """Joint positions (N, n) on the way to a pose [x, y, z, qw, qx, qy, qz], or why there are none."""

    def to_joints(self, q: FloatArray, target: FloatArray, planning_s: float) -> FloatArray | str:
        """The same on the way to joint positions (n,)."""

    def show(self, obstacles: list[tuple[str, list[float], list[float]]]) -> None:
        """Put obstacles in the place of those before; see `curobo_model.cuboids`."""
        boxes = [self._Cuboid(name=name, pose=pose, dims=dims) for name, pose, dims in obstacles]
        self._planner.update_world(self._World(cuboid=boxes))

    def reset_seed(self) -> None:
        """Draw from now on as at first."""
        self._planner.reset_seed()

    def _columns(self) -> list[int]:
        """Where in `_joints` the planner's joints are, in whose order it takes states and gives plans."""
        return [self._joints.index(name) for name in self._planner.joint_names]

    def _state(self, q: FloatArray) -> Any:
        position = self._device.to_device(q[None, self._columns()])
        return self._State.from_position(position, joint_names=list(self._planner.joint_names))

    def _read(self, result: Any) -> FloatArray | str:
        if result is None:
            return self._nothing
        if not bool(_numbers(result.success).any()):
            status = getattr(result, "status", None)  # of 0.7 alone
            return str(getattr(status, "value", status) or self._failed)[:100].rstrip(".")
        position = _numbers(result.get_interpolated_plan().position)
        return position.reshape(-1, position.shape[-1])[:, np.argsort(self._columns())]


class CuroboPlanner(ExternalPlanner):
    """Plans with cuRobo; see ports.Planner. The embedded planner follows straight lines.

    Args:
        seed: Seed of the embedded planner, which follows straight lines.
        robot: The robot; the default one where None.
        planning_s: Time that one search for a path may take [s]; PLANNING_S where None.

    Raises:
        ToolError: UNAVAILABLE where cuRobo or a GPU is missing, or cannot be set up.
    """

    def __init__(self, seed: int = 0, robot: RobotModel | None = None, planning_s: float | None = None) -> None:
        self._version = _find_version()
        super().__init__(seed, robot, planning_s)
        self._planning_s = planning_s or PLANNING_S
        self._model = collision_model(self._robot)
        self._folder = tempfile.TemporaryDirectory(prefix="toolhand_curobo_")
        urdf = Path(self._folder.name) / f"{describe(self._robot).name}.urdf"
        urdf.write_text(exported_urdf(self._robot)[0], encoding="utf-8")
        self._document = robot_document(self._robot, self._model, str(urdf), self._version is _MotionPlanner)
        self._calls = LibraryCalls("cuRobo")
        self._room = _FIRST_OBSTACLES
        self._curobo = self._set_up()

    def reseed(self, seed: int) -> None:
        """See ports.Planner. cuRobo draws again as at first; its answers depend on the GPU besides."""
        super().reseed(seed)
        self._calls.run(self._curobo.reset_seed, _GRACE_S)

    # -- goals -----------------------------------------------------------------------------------

    def _line(self, q: FloatArray, T: FloatArray, scene: CollisionScene, speed: float) -> Trajectory:
        return self._own.plan(q, LinearGoal(T), scene, speed)

    def _to_joints(self, q: FloatArray, target: FloatArray, scene: CollisionScene, speed: float) -> Trajectory:
        if float(np.abs(target - q).max()) < _TRIVIAL_RAD:
            return timed(q[None], q, target, self._robot, speed)
        turned = self._turned(q)
        path = self._asked(scene, lambda: self._curobo.to_joints(q - turned, target - turned, self._planning_s))
        if isinstance(path, str):
            raise _no_path(path)
        return timed(path + turned, q, target, self._robot, speed)

    def _to_poses(
        self, q: FloatArray, poses: list[FloatArray], goal: PoseGoal, scene: CollisionScene, speed: float
    ) -> Trajectory:
        turned, why = self._turned(q), ""
        for T in poses[:_MOST_POSES]:
            path = self._asked(scene, self._pose_question(q - turned, pose_list(T)))
            if isinstance(path, str):
                why = path
                continue
            path = path + turned
            # It ends within 5 mm: joint positions exactly at the pose are beside it.
            end = self._kinematics.solve_ik(T, path[-1], _EXACT_ITERATIONS, *check_poses(goal)[1])
            if end is not None:
                return timed(path, q, end, self._robot, speed)
            why = "it ends where no joint positions within the limits are exactly at the pose"
        raise _no_path(why)

    def _pose_question(self, q: FloatArray, pose: list[float]) -> Callable[[], FloatArray | str]:
        return lambda: self._curobo.to_pose(q, pose, self._planning_s)

    def _turned(self, q: FloatArray) -> FloatArray:
        """Whole turns (n,) of the joints without stops [rad]: cuRobo gives these a range of two turns about 0."""
        return np.where(self._robot.continuous, 2.0 * np.pi * np.round(q / (2.0 * np.pi)), 0.0)

    # -- cuRobo ----------------------------------------------------------------------------------

    def _asked(self, scene: CollisionScene, question: Callable[[], FloatArray | str]) -> FloatArray | str:
        """The answer among these obstacles, and with this in the hand; finite joint positions (N, n), N >= 1."""
        obstacles = cuboids(scene, self._robot, self._model)
        jaws = jaw_balls(self._robot, self._model.balls, attached_opening(scene, self._robot.gripper))
        held = held_balls(scene.attached, HELD_COUNT)
        if len(obstacles) > self._room:
            while len(obstacles) > self._room:
                self._room *= 8
            self._curobo = self._set_up()

        def ask() -> FloatArray | str:
            self._curobo.show(obstacles)
            self._curobo.attach(JAWS, padded(jaws, max(1, jaw_count(self._model, self._robot))))
            self._curobo.attach(ATTACHED, padded(held, HELD_COUNT))
            return question()

        answer = self._calls.run(ask, self._planning_s + _GRACE_S)
        if isinstance(answer, str):
            return answer
        path = np.asarray(answer, float)
        if path.ndim != 2 or path.shape[1] != self._robot.dof or not len(path) or not np.isfinite(path).all():
            raise unavailable("cuRobo's answer is no path of this robot.", "Look whether its version fits this one.")
        return path

    def _set_up(self) -> CuroboVersion:
        made: CuroboVersion = self._calls.run(
            lambda: self._version(self._document, self._robot.arm_joints, self._robot.tip_frame, self._room), _SETUP_S
        )
        return made


def _no_path(why: str) -> ToolError:
    return ToolError(ErrorCode.PLAN_FAILED, f"cuRobo found no path: {why}.", "Try another pose, or move objects away.")


def _find_version() -> Callable[[dict[str, Any], tuple[str, ...], str, int], CuroboVersion]:
    """The class for the version of cuRobo that is installed.

    Raises:
        ToolError: UNAVAILABLE where there is none, or no GPU.
    """
    if importlib.util.find_spec("curobo") is None:
        raise unavailable("The planner 'curobo' needs cuRobo, which is not installed.", WHERE)
    version = next((made for module, made in _VERSIONS.items() if _there(module)), None)
    if version is None:
        raise unavailable("The installed package curobo is not NVIDIA's cuRobo 0.7 or 0.8.", WHERE)
    try:
        import torch
    except ImportError as error:
        raise unavailable("cuRobo needs PyTorch, which is not installed.", WHERE) from error
    if not torch.cuda.is_available():
        raise unavailable(
            "cuRobo needs an NVIDIA GPU with CUDA, and PyTorch finds none here.", "Use planner:=embedded."
        )
    return version


def _there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, AttributeError, ValueError):  # a package of that name without these folders
        return False


def _numbers(tensor: Any) -> FloatArray:
    """A tensor of the GPU as floats."""
    return np.asarray(tensor.detach().cpu().numpy(), dtype=float)


class _MotionGen(CuroboVersion):
    """cuRobo 0.7: MotionGen."""

    _nothing, _failed = "it gave no result", "unknown reason"

    def __init__(self, document: dict[str, Any], joints: tuple[str, ...], tip: str, room: int) -> None:
        from curobo.geom.sdf.world import CollisionCheckerType
        from curobo.geom.types import Cuboid, WorldConfig
        from curobo.types.base import TensorDeviceType
        from curobo.types.math import Pose
        from curobo.types.robot import JointState
        from curobo.wrap.reacher.motion_gen import MotionGen, MotionGenConfig, MotionGenPlanConfig

        self._joints, self._device = joints, TensorDeviceType()
        self._Cuboid, self._World, self._Pose, self._State = Cuboid, WorldConfig, Pose, JointState
        self._Plan = MotionGenPlanConfig
        config = MotionGenConfig.load_from_robot_config(
            document,
            WorldConfig(cuboid=[]),
            tensor_args=self._device,
            interpolation_dt=_SAMPLES_S,
            collision_checker_type=CollisionCheckerType.PRIMITIVE,
            collision_cache={"obb": room},
        )
        self._planner = MotionGen(config)
        self._planner.warmup()

    def attach(self, link: str, balls: FloatArray) -> None:
        self._planner.attach_spheres_to_robot(sphere_tensor=self._device.to_device(balls), link_name=link)

    def to_pose(self, q: FloatArray, pose: list[float], planning_s: float) -> FloatArray | str:
        goal = self._Pose(position=self._device.to_device([pose[:3]]), quaternion=self._device.to_device([pose[3:]]))
        return self._read(self._planner.plan_single(self._state(q), goal, self._Plan(timeout=planning_s)))

    def to_joints(self, q: FloatArray, target: FloatArray, planning_s: float) -> FloatArray | str:
        plan = self._Plan(timeout=planning_s)
        return self._read(self._planner.plan_single_js(self._state(q), self._state(target), plan))


class _MotionPlanner(CuroboVersion):
    """cuRobo 0.8: MotionPlanner."""

    _nothing = "neither inverse kinematics nor its graph planner led to one"
    _failed = "its optimisation did not end without collision at the goal"

    def __init__(self, document: dict[str, Any], joints: tuple[str, ...], tip: str, room: int) -> None:
        from curobo.motion_planner import MotionPlanner, MotionPlannerCfg
        from curobo.scene import Cuboid, Scene
        from curobo.types import DeviceCfg, GoalToolPose, JointState

        self._joints, self._tip, self._device = joints, tip, DeviceCfg()
        self._Cuboid, self._World, self._Goal, self._State = Cuboid, Scene, GoalToolPose, JointState
        config = MotionPlannerCfg.create(robot=document, collision_cache={"cuboid": room}, device_cfg=self._device)
        self._planner = MotionPlanner(config)
        # 0.8.0 captures its CUDA graphs once, by `warmup` for poses alone: then it refuses joint goals.
        start = self._planner.default_joint_state.clone().unsqueeze(0)
        goal = start.clone()
        goal.position[..., 0] += 0.2  # [rad], as far as `warmup` goes
        self._planner.plan_cspace(goal, start, max_attempts=1)
        self._planner.warmup()

    def attach(self, link: str, balls: FloatArray) -> None:
        # By the kinematics that all its solvers share: its property attachment_manager raises AttributeError.
        self._planner.kinematics.kinematics_config.update_link_spheres(link, self._device.to_device(balls))

    def to_pose(self, q: FloatArray, pose: list[float], planning_s: float) -> FloatArray | str:
        # Problems, steps, tool frames and alternatives: one each.
        position, quaternion = (self._device.to_device([[[[part]]]]) for part in (pose[:3], pose[3:]))
        goal = self._Goal(tool_frames=[self._tip], position=position, quaternion=quaternion)
        return self._read(self._planner.plan_pose(goal, self._state(q)))

    def to_joints(self, q: FloatArray, target: FloatArray, planning_s: float) -> FloatArray | str:
        return self._read(self._planner.plan_cspace(self._state(target), self._state(q)))


_VERSIONS: dict[str, Callable[[dict[str, Any], tuple[str, ...], str, int], CuroboVersion]] = {
    "curobo.motion_planner": _MotionPlanner,
    "curobo.wrap.reacher.motion_gen": _MotionGen,
}
"""Modules that only one version has, and what speaks to it."""
