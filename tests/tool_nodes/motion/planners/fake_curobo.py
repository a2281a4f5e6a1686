"""cuRobo's two versions as doubles of their signatures: the embedded planner answers, with cuRobo's manners.

Single precision, joints in an order of their own, ends beside the pose, samples 0.02 s apart, no plan from a start
in collision or beyond two turns, no more obstacles than there is memory for. It reads the cuboids and balls that it was
given, and nothing else of the question.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.gen3 import GEN3
from tests.tool_nodes.motion.planners.tables import PackageDouble
from toolhand.tool_nodes.motion.checked_planner import checked
from toolhand.tool_nodes.motion.collision import Checker
from toolhand.tool_nodes.motion.planner import EmbeddedPlanner
from toolhand.tool_nodes.motion.scene_model import SceneModel
from toolhand.tool_nodes.ports import Planner
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import Box, CollisionScene, FloatArray, Goal, JointGoal, PoseGoal

BESIDE_M = 0.001
"""How far beside the pose a plan ends [m]: cuRobo's tolerance is 5 mm."""
LONG_S = 300.0
"""A bound against hanging [s], for computers that are busy with something else."""
SAMPLES_S = 0.02
TWO_TURNS = 6.28
"""Range that cuRobo gives joints without stops [rad]."""


class Tensor(np.ndarray):
    """What torch's tensors are asked for here."""

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> np.ndarray:
        return np.asarray(self)


def tensor(values: Any) -> Tensor:
    return np.asarray(values, dtype=np.float32).view(Tensor)


def turned(w: float, x: float, y: float, z: float) -> FloatArray:
    """The rotation of a quaternion whose real part is the first number."""
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def matrix(position: Any, quaternion: Any) -> FloatArray:
    T = np.eye(4)
    p, q = np.asarray(position, float).ravel(), np.asarray(quaternion, float).ravel()
    assert p.shape == (3,)
    assert abs(float(q @ q) - 1.0) < 1e-5
    T[:3, 3], T[:3, :3] = p, turned(*q)
    u, _, v = np.linalg.svd(T[:3, :3])  # single precision is no rotation to those who look closely
    T[:3, :3] = u @ v
    return T


class Workcell:
    """What either version keeps: the robot of its document, obstacles, and balls put onto links."""

    def __init__(self, document: dict[str, Any], most: int) -> None:
        kinematics = document["robot_cfg"]["kinematics"]
        assert Path(kinematics["urdf_path"]).is_file()
        links = kinematics["collision_link_names"]
        slots = kinematics["extra_collision_spheres"]
        assert set(links) == {*kinematics["collision_spheres"], *slots}
        assert all(
            link in links for pair in kinematics["self_collision_ignore"].items() for link in (pair[0], *pair[1])
        )
        assert {link["parent_link_name"] for link in kinematics["extra_links"].values()} == {GEN3.tip_frame}
        assert kinematics["cspace"]["joint_names"] == list(GEN3.arm_joints)
        self.names = list(reversed(GEN3.arm_joints))
        self.default = list(reversed(kinematics["cspace"].get("default_joint_position", [])))
        self.slots: dict[str, int] = slots
        self.most = most
        self.balls = {link: np.empty((0, 4)) for link in slots}
        self.cuboids: list[Any] = []
        self.goals: list[str] = []
        self.hangs: Callable[[], None] = lambda: None

    def show(self, cuboids: list[Any]) -> None:
        if len(cuboids) > self.most:
            raise ValueError(f"{len(cuboids)} obstacles, and memory for {self.most}")
        assert len({cuboid.name for cuboid in cuboids}) == len(cuboids)
        self.cuboids = cuboids

    def attach(self, link: str, balls: Any) -> None:
        rows = np.asarray(balls, float)
        if rows.shape != (self.slots[link], 4):
            raise ValueError("sphere_tensor shape does not match current spheres")
        self.balls[link] = rows[rows[:, 3] > 0.0]

    def scene(self) -> CollisionScene:
        boxes = tuple(
            Box(matrix(cuboid.pose[:3], cuboid.pose[3:]), np.array(cuboid.dims) / 2.0) for cuboid in self.cuboids
        )
        held = tuple(
            Box(matrix(ball[:3], (1.0, 0.0, 0.0, 0.0)), np.full(3, ball[3] * 0.7))
            for ball in self.balls["attached_object"]
        )
        # The jaws open in proportion to how far apart their balls are; the ends are those of the URDF.
        low, high = (float(jaws(opening)) for opening in (0.0, GEN3.gripper.max_opening))
        widest = float(self.balls["attached_jaws"][:, 0].max(initial=low))
        opening = float(np.clip((widest - low) / (high - low), 0.0, 1.0)) * GEN3.gripper.max_opening
        return CollisionScene(boxes, held, table_z=-1.0, margin=0.0, opening_m=opening)

    def plan(self, q: FloatArray, goal: Goal) -> tuple[str, FloatArray]:
        """(name of a status, positions (N, n) with columns as `names`)."""
        self.hangs()
        scene = self.scene()
        if np.abs(q).max() > TWO_TURNS:
            return "INVALID_START_STATE_JOINT_LIMITS", np.empty((0, GEN3.dof))
        if not Checker(SceneModel(scene, GEN3)).free(q):
            return "INVALID_START_STATE_WORLD_COLLISION", np.empty((0, GEN3.dof))
        try:
            path = EmbeddedPlanner(0, GEN3).plan(q, goal, scene)
        except ToolError as error:
            return ("IK_FAIL" if error.code is ErrorCode.IK_FAILED else "TRAJOPT_FAIL"), np.empty((0, GEN3.dof))
        times = np.append(np.arange(0.0, path.duration, SAMPLES_S), path.duration)
        rows = np.array([np.interp(times, path.t, column) for column in path.q.T]).T
        return "SUCCESS", rows[:, ::-1]

    def positions(self, state: Any) -> FloatArray:
        """Joint positions (n,) of a state, which has to have the own order of joints."""
        if state.joint_names != self.names:
            raise ValueError("Joint names do not match, reorder joints before forward kinematics")
        q = np.asarray(state.position, float)
        assert q.shape == (1, GEN3.dof)
        return q[0, ::-1]


def jaws(opening: float) -> float:
    from toolhand.tool_nodes.robot_export.folder import collision_model
    from toolhand.tool_nodes.robot_export.hand import jaw_balls

    return float(jaw_balls(GEN3, collision_model(GEN3).balls, opening)[:, 0].max())


def near(T: FloatArray) -> PoseGoal:
    """A goal a little beside a pose."""
    T = T.copy()
    T[:3, 3] += BESIDE_M / np.sqrt(3.0) * np.array([1.0, -1.0, 1.0])
    return PoseGoal(T[None])


def older() -> PackageDouble:
    """cuRobo 0.7.8."""

    def load(robot_cfg: Any, world_model: Any, collision_cache: Any, collision_checker_type: Any, **_: Any) -> Any:
        assert collision_checker_type is double.classes["CollisionCheckerType"].PRIMITIVE
        assert world_model.cuboid == []
        return double.make("MotionGenConfig", _cell=Workcell(robot_cfg, collision_cache["obb"]))

    def result(cell: Workcell, q: FloatArray, goal: Goal, plan_config: Any) -> Any:
        assert 0.0 < plan_config.timeout <= LONG_S
        status, rows = cell.plan(q, goal)
        plan = double.classes["JointState"](position=tensor(rows), joint_names=cell.names)
        statuses = double.classes["MotionGenStatus"]
        return double.classes["MotionGenResult"](
            success=tensor([status == "SUCCESS"]), status=statuses[status], interpolated_plan=plan
        )

    def single(this: Any, start_state: Any, goal_pose: Any, plan_config: Any, link_poses: Any) -> Any:
        cell = this.config._cell
        assert goal_pose.position.shape == (1, 3)
        assert goal_pose.quaternion.shape == (1, 4)
        goal = near(matrix(goal_pose.position, goal_pose.quaternion))
        return result(cell, cell.positions(start_state), goal, plan_config)

    def joints(this: Any, start_state: Any, goal_state: Any, plan_config: Any) -> Any:
        cell = this.config._cell
        return result(cell, cell.positions(start_state), JointGoal(cell.positions(goal_state)), plan_config)

    double = PackageDouble(
        "curobo_0_7_8",
        {
            "TensorDeviceType.to_device": lambda this, data_tensor: tensor(data_tensor),
            "JointState.from_position": lambda position, joint_names: double.classes["JointState"](
                position=position, joint_names=joint_names
            ),
            "MotionGenConfig.load_from_robot_config": load,
            "MotionGen.warmup": lambda this, **_: None,
            "MotionGen.joint_names": lambda this: this.config._cell.names,
            "MotionGen.update_world": lambda this, world: this.config._cell.show(world.cuboid),
            "MotionGen.attach_spheres_to_robot": lambda this, sphere_radius, sphere_tensor, link_name: (
                this.config._cell.attach(link_name, sphere_tensor)
            ),
            "MotionGen.plan_single": single,
            "MotionGen.plan_single_js": joints,
            "MotionGen.reset_seed": lambda this: None,
            "MotionGenResult.get_interpolated_plan": lambda this: this.interpolated_plan,
        },
    )
    return double


def newer() -> PackageDouble:
    """cuRobo 0.8.0."""

    def state(position: Any, joint_names: Any) -> Any:
        return double.classes["JointState"](position=position, joint_names=joint_names)

    def create(robot: Any, collision_cache: Any, **_: Any) -> Any:
        assert robot["robot_cfg"]["kinematics"]["format_version"] == 2.0
        assert robot["robot_cfg"]["kinematics"]["tool_frames"] == [GEN3.tip_frame]
        return double.make("MotionPlannerCfg", _cell=Workcell(robot, collision_cache["cuboid"]))

    def result(cell: Workcell, q: FloatArray, goal: Goal) -> Any:
        status, rows = cell.plan(q, goal)
        if status == "IK_FAIL":
            return None
        # One problem and one seed, in dimensions of their own.
        plan = double.classes["JointState"](position=tensor(rows[None, None]), joint_names=cell.names)
        return double.make("TrajOptSolverResult", success=tensor([[status == "SUCCESS"]]), interpolated_trajectory=plan)

    def pose(this: Any, goal_tool_poses: Any, current_state: Any, **_: Any) -> Any:
        cell = this.config._cell
        assert goal_tool_poses.tool_frames == [GEN3.tip_frame]
        assert goal_tool_poses.position.shape == (1, 1, 1, 1, 3)
        assert goal_tool_poses.quaternion.shape == (1, 1, 1, 1, 4)
        goal = near(matrix(goal_tool_poses.position, goal_tool_poses.quaternion))
        cell.goals.append("pose")
        return result(cell, cell.positions(current_state), goal)

    def joints(this: Any, goal_state: Any, current_state: Any, **_: Any) -> Any:
        cell = this.config._cell
        if cell.goals and "joints" not in cell.goals:  # the graphs that were captured are for poses
            raise ValueError("CUDA graph reset is not available.")
        cell.goals.append("joints")
        return result(cell, cell.positions(current_state), JointGoal(cell.positions(goal_state)))

    def update(this: Any, link_name: str, sphere_position_radius: Any, start_sph_idx: int, config_idx: Any) -> None:
        assert (start_sph_idx, config_idx) == (0, None)
        this._cell.attach(link_name, sphere_position_radius)

    double = PackageDouble(
        "curobo_0_8_0",
        {
            "DeviceCfg.to_device": lambda this, data_tensor: tensor(data_tensor),
            "JointState.from_position": state,
            "JointState.clone": lambda this: state(this.position.copy(), this.joint_names),
            "JointState.unsqueeze": lambda this, idx: state(np.expand_dims(this.position, idx), this.joint_names),
            "MotionPlannerCfg.create": create,
            "MotionPlanner.warmup": lambda this, **_: this.config._cell.goals.append("pose") or True,
            "MotionPlanner.default_joint_state": lambda this: state(
                tensor(this.config._cell.default), this.config._cell.names
            ),
            "MotionPlanner.joint_names": lambda this: this.config._cell.names,
            "MotionPlanner.update_world": lambda this, scene_cfg: this.config._cell.show(scene_cfg.cuboid),
            "MotionPlanner.kinematics": lambda this: double.make("Kinematics", _cell=this.config._cell),
            "Kinematics.kinematics_config": lambda this: double.make("KinematicsParams", _cell=this._cell),
            "MotionPlanner.plan_pose": pose,
            "MotionPlanner.plan_cspace": joints,
            "MotionPlanner.reset_seed": lambda this: None,
            "KinematicsParams.update_link_spheres": update,
            "TrajOptSolverResult.get_interpolated_plan": lambda this: this.interpolated_trajectory,
        },
    )
    return double


@contextlib.contextmanager
def installed(double: PackageDouble, gpu: bool = True) -> Iterator[None]:
    """With the modules of a double, and a PyTorch that has a GPU or none."""
    torch = ModuleType("torch")
    torch.cuda = SimpleNamespace(is_available=lambda: gpu)  # type: ignore[attr-defined]
    torch.Tensor = Tensor  # type: ignore[attr-defined]  # which scipy asks for
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in sys.modules if name.partition(".")[0] == "curobo"]:
            patch.delitem(sys.modules, name)
        for name, module in {**double.modules, "torch": torch}.items():
            patch.setitem(sys.modules, name, module)
        yield


@contextlib.contextmanager
def over_curobo(make: Callable[[], PackageDouble]) -> Iterator[Planner]:
    """The planner `curobo` over a double, checked as in the node motion."""
    from toolhand.tool_nodes.drivers.curobo import CuroboPlanner

    with installed(make()):
        yield checked(CuroboPlanner(0, GEN3, LONG_S), GEN3)
