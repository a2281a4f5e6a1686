"""What cuRobo is given, by its versions, and one sentence for whatever goes wrong."""

import importlib.machinery
import re
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.gen3 import GEN3
from tests.refusals import refused
from tests.tool_nodes.motion.planners.fake_curobo import LONG_S, installed, matrix, newer, older, tensor
from tests.tool_nodes.motion.planners.tables import ASIDE, PARK, PackageDouble, read_table, refusal
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.drivers import curobo
from toolhand.tool_nodes.drivers.curobo import CuroboPlanner
from toolhand.tool_nodes.drivers.curobo_model import cuboids, pose_list, timed
from toolhand.tool_nodes.geometry import pose, rotation_z
from toolhand.tool_nodes.motion.checked_planner import checked
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.limits import MotionLimits, check_trajectory
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.robot_export.folder import collision_model
from toolhand.tool_nodes.robot_export.hand import held_balls, jaw_balls, jaw_links
from toolhand.tool_nodes.types import Box, CollisionScene, JointGoal, PoseGoal

DOWN = np.diag([1.0, -1.0, -1.0])
AHEAD = PoseGoal(pose(rotation_z(0.6) @ DOWN, [0.45, 0.1, 0.35])[None])
VERSIONS = {"0.7": older, "0.8": newer}


@pytest.fixture(params=VERSIONS)
def double(request: pytest.FixtureRequest) -> Iterator[PackageDouble]:
    made = VERSIONS[request.param]()
    with installed(made):
        yield made


def cell_of(planner: CuroboPlanner) -> Any:
    version: Any = planner._curobo
    return version._planner.config._cell


def test_it_is_chosen_by_its_name(double: PackageDouble) -> None:
    planner = registry.make("planner", "curobo", registry.Setting(robot=GEN3))
    assert isinstance(planner, CuroboPlanner)


def test_without_curobo_a_sentence_says_where_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curobo.importlib.util, "find_spec", lambda name: None)
    where = r"github\.com/NVlabs/curobo: packages named curobo or nvidia-curobo on PyPI are not it\."
    with refused(ErrorCode.UNAVAILABLE, "The planner 'curobo' needs cuRobo, which is not installed.", hint=where):
        CuroboPlanner(0, GEN3, LONG_S)


def test_a_package_of_that_name_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    placeholder = ModuleType("curobo")
    placeholder.__spec__ = importlib.machinery.ModuleSpec("curobo", None)
    monkeypatch.setitem(sys.modules, "curobo", placeholder)
    with pytest.raises(ToolError, match=r"The installed package curobo is not NVIDIA's cuRobo 0\.7"):
        CuroboPlanner(0, GEN3, LONG_S)


def test_without_a_gpu_a_sentence_says_so() -> None:
    with installed(newer(), gpu=False), refused(ErrorCode.UNAVAILABLE, "needs an NVIDIA GPU with CUDA"):
        CuroboPlanner(0, GEN3, LONG_S)


def test_every_call_is_in_the_table_of_its_version(double: PackageDouble) -> None:
    planner = CuroboPlanner(0, GEN3, LONG_S)
    held = (Box(pose(np.eye(3), [0.0, 0.0, 0.14]), np.array([0.02, 0.02, 0.05])),)
    checked(planner, GEN3).plan(PARK, AHEAD, CollisionScene(attached=held))
    checked(planner, GEN3).plan(PARK, JointGoal(ASIDE), CollisionScene())
    planner.reseed(3)
    assert len(double.used) > 10
    assert double.unknown() == set()


@pytest.mark.parametrize("name", ["curobo_0_7_8", "curobo_0_8_0", "moveit_py"])
def test_a_table_says_where_it_is_from(name: str) -> None:
    table = read_table(name)
    assert table["version"]
    assert table["source"].startswith(("NVlabs/curobo, tag v", "moveit/moveit2, commit "))


@pytest.mark.parametrize(
    ("where", "kind", "name", "arguments", "says"),
    [
        ("MotionPlanner", "methods", "plan_cspace", None, "has no MotionPlanner.plan_cspace"),
        ("KinematicsParams", "methods", "update_link_spheres", "link_name", "too many positional arguments"),
        ("MotionPlannerCfg", "static", "create", "robot, scene_model=None", "unexpected keyword argument"),
    ],
)
def test_a_call_that_the_table_lacks_fails(where: str, kind: str, name: str, arguments: str | None, says: str) -> None:
    with installed(newer().without(where, kind, name, arguments)), refused(ErrorCode.UNAVAILABLE, says):
        CuroboPlanner(0, GEN3, LONG_S).plan(PARK, JointGoal(ASIDE), CollisionScene())


def test_a_joint_goal_comes_before_the_warm_up_which_has_poses_alone() -> None:
    with installed(newer()):
        assert cell_of(CuroboPlanner(0, GEN3, LONG_S)).goals == ["joints", "pose"]


# -- what it is given ---------------------------------------------------------------------------------


def test_the_real_part_of_a_quaternion_comes_first(double: PackageDouble) -> None:
    T = pose(rotation_z(0.6) @ DOWN, [0.45, 0.1, 0.35])
    numbers = pose_list(T)
    np.testing.assert_allclose(matrix(numbers[:3], numbers[3:]), T, atol=1e-9)
    turned = CollisionScene((Box(pose(rotation_z(0.3), [0.6, -0.3, 0.05]), np.array([0.05, 0.02, 0.05])),))
    planner = CuroboPlanner(0, GEN3, LONG_S)
    planner.plan(PARK, JointGoal(ASIDE), turned)
    (box,) = [box for box in cell_of(planner).cuboids if box.name.startswith("box")]
    np.testing.assert_allclose(matrix(box.pose[:3], box.pose[3:]), turned.boxes[0].T_parent_box, atol=1e-9)
    np.testing.assert_allclose(box.dims, 2.0 * (np.array([0.05, 0.02, 0.05]) + turned.margin))


def test_points_of_the_cloud_are_cubes_of_their_balls_volume() -> None:
    points = np.array([[0.4, 0.1, 0.02], [0.5, -0.1, 0.3]])
    scene = CollisionScene(points=points, point_radius=0.012)
    found = [entry for entry in cuboids(scene, GEN3, collision_model(GEN3)) if entry[0].startswith("point")]
    np.testing.assert_array_equal([entry[1][:3] for entry in found], points)
    volume = 4.0 / 3.0 * np.pi * (0.012 + scene.margin) ** 3
    np.testing.assert_allclose([np.prod(entry[2]) for entry in found], volume)
    assert all(len(set(entry[2])) == 1 for entry in found)


def test_the_table_leaves_the_base_out_and_nothing_else() -> None:
    model = collision_model(GEN3)
    slabs = [entry for entry in cuboids(CollisionScene(table_z=0.01), GEN3, model) if entry[0].startswith("table")]

    def covered(x: float, y: float) -> bool:
        return any(abs(x - p[0]) <= s[0] / 2 and abs(y - p[1]) <= s[1] / 2 for _, p, s in slabs)

    assert all(abs(p[2] + s[2] / 2 - 0.01) < 1e-12 for _, p, s in slabs)
    base = np.array([(*ball.center, ball.radius) for ball in model.balls["base_link"]])
    low = base[base[:, 2] - base[:, 3] < 0.02]
    assert not any(covered(x + r * a, y + r * b) for x, y, _, r in low for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1)))
    rng = np.random.default_rng(0)
    for x, y in rng.uniform(-0.9, 0.9, (500, 2)):
        assert covered(x, y) or max(abs(x), abs(y)) < 0.1


@pytest.mark.parametrize("opening", [0.0, 0.04, 0.085])
def test_the_jaws_are_where_the_opening_has_them(opening: float) -> None:
    balls = jaw_balls(GEN3, collision_model(GEN3).balls, opening)
    assert len(jaw_links(GEN3)) == 8
    tips = GEN3.gripper.points(opening)[3:]  # the two fingertips
    for tip in tips:
        assert (np.linalg.norm(balls[:, :3] - tip, axis=1) - balls[:, 3]).min() < 1e-4
    np.testing.assert_allclose(sorted(balls[:, 0]), sorted(-balls[:, 0]), atol=1e-5)


def test_what_is_held_is_covered_by_as_many_balls_as_there_are(double: PackageDouble) -> None:
    held = (Box(pose(rotation_z(0.2), [0.0, 0.0, 0.16]), np.array([0.03, 0.04, 0.07])),)
    planner = CuroboPlanner(0, GEN3, LONG_S)
    planner.plan(PARK, JointGoal(ASIDE), CollisionScene(attached=held, opening_m=0.06))
    balls = cell_of(planner).balls["attached_object"]
    assert 0 < len(balls) <= 64
    rng = np.random.default_rng(1)
    inside = rng.uniform(-1, 1, (500, 3)) * held[0].half_extents
    inside[:, 0] = np.sign(inside[:, 0]) * held[0].half_extents[0]
    at = inside @ held[0].T_parent_box[:3, :3].T + held[0].T_parent_box[:3, 3]
    assert ((np.linalg.norm(at[:, None] - balls[:, :3], axis=2) - balls[:, 3]).min(axis=1) < 1e-5).all()
    planner.plan(PARK, JointGoal(ASIDE), CollisionScene())
    assert not len(cell_of(planner).balls["attached_object"])


def test_more_than_balls_can_cover_is_refused() -> None:
    with pytest.raises(ToolError, match="takes more than 64 collision spheres"):
        held_balls((Box(np.eye(4), np.full(3, 0.01)),) * 70, 64)


def test_more_obstacles_than_there_is_memory_for_get_a_new_planner(double: PackageDouble) -> None:
    planner = CuroboPlanner(0, GEN3, LONG_S)
    first = cell_of(planner)
    points = np.random.default_rng(0).uniform([0.5, 0.3, 0.0], [0.8, 0.6, 0.1], (700, 3))
    planner.plan(PARK, JointGoal(PARK + 0.05), CollisionScene(points=points))
    assert cell_of(planner) is not first
    assert cell_of(planner).most >= 704
    planner.plan(PARK, JointGoal(PARK + 0.05), CollisionScene())
    assert cell_of(planner).most >= 704


# -- what it answers ----------------------------------------------------------------------------------


def test_a_noisy_path_becomes_one_that_the_guard_lets_pass() -> None:
    rng = np.random.default_rng(2)
    path = np.linspace(PARK, ASIDE, 200) + rng.normal(scale=2e-6, size=(200, 7))
    path = np.repeat(path, 2, axis=0)  # standing still now and then
    for speed in (1.0, 0.3):
        trajectory = timed(path.astype(np.float32).astype(float), PARK, ASIDE, GEN3, speed)
        np.testing.assert_array_equal(trajectory.q[[0, -1]], [PARK, ASIDE])
        check_trajectory(trajectory, 0.085, MotionLimits(speed=speed, robot=GEN3), Kinematics(GEN3))


def answering(monkeypatch: pytest.MonkeyPatch, double: PackageDouble, answer: Callable[[Any], Any]) -> CuroboPlanner:
    """A planner over a double whose plans something happens to."""
    planner = CuroboPlanner(0, GEN3, LONG_S)
    double.answering(monkeypatch, answer, "MotionGen.plan_single_js", "MotionPlanner.plan_cspace")
    return planner


def plan_of(result: Any) -> Any:
    return result.get_interpolated_plan()


def with_rows(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Any], Any]:
    def answer(result: Any) -> Any:
        plan = plan_of(result)
        plan.__dict__["position"] = tensor(change(np.asarray(plan.position, float)))
        return result

    return answer


def crash(result: Any) -> Any:
    raise RuntimeError("CUDA error:\nan illegal memory access was encountered")


LIES: dict[str, tuple[Callable[[Any], Any], ErrorCode, str]] = {
    "nothing": (lambda result: None, ErrorCode.PLAN_FAILED, "cuRobo found no path"),
    "NaN": (with_rows(lambda q: q * np.nan), ErrorCode.UNAVAILABLE, "is no path of this robot"),
    "six joints": (with_rows(lambda q: q[..., :6]), ErrorCode.UNAVAILABLE, "IndexError|no path of this robot"),
    "an empty path": (with_rows(lambda q: q[..., :0, :]), ErrorCode.UNAVAILABLE, "is no path of this robot"),
    "a crash": (crash, ErrorCode.UNAVAILABLE, "cuRobo failed: RuntimeError: CUDA error: an illegal memory access"),
    "through the table": (
        with_rows(lambda q: q + 1.9 * np.sin(np.linspace(0, np.pi, q.shape[-2]))[:, None] * np.eye(7)[::-1][1]),
        ErrorCode.PLAN_FAILED,
        "The path that the planner found is blocked: .*table would collide|out of the workspace",
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_whatever_it_answers_one_sentence_says_why_it_is_refused(
    double: PackageDouble, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    lie, code, says = LIES[name]
    error = refusal(answering(monkeypatch, double, lie))
    assert re.search(says, error.message), error.message
    assert error.code in (code, ErrorCode.OUT_OF_WORKSPACE)


def test_a_path_that_begins_and_ends_elsewhere_is_bent_only_by_its_rounding(
    double: PackageDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    planner = answering(monkeypatch, double, with_rows(lambda q: q + 0.05))
    error = refusal(planner)
    assert error.code is ErrorCode.PLAN_FAILED
    assert "begins or ends elsewhere" in error.message


def test_a_call_that_hangs_ends_and_nothing_more_is_asked(
    double: PackageDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curobo, "_GRACE_S", 0.2)
    planner = CuroboPlanner(0, GEN3, planning_s=0.1)
    release = threading.Event()
    cell_of(planner).hangs = lambda: release.wait(30.0)
    assert refusal(planner).code is ErrorCode.TIMEOUT
    later = refusal(planner)
    assert later.code is ErrorCode.UNAVAILABLE
    assert "still hangs" in later.message
    release.set()


def test_its_own_words_say_why_there_is_no_path() -> None:
    with installed(older()):
        planner = CuroboPlanner(0, GEN3, LONG_S)
        wall = CollisionScene((Box(pose(np.eye(3), Kinematics(GEN3).fk(PARK)[:3, 3]), np.full(3, 0.05)),))
        with pytest.raises(ToolError, match="cuRobo found no path: Start state is colliding with world"):
            planner.plan(PARK, JointGoal(ASIDE), wall)


def test_poses_are_tried_in_their_order(double: PackageDouble) -> None:
    near, far = AHEAD.T_base_gripper[0], pose(DOWN, [0.5, -0.2, 0.3])
    planner = checked(CuroboPlanner(0, GEN3, LONG_S), GEN3)
    goal = replace(AHEAD, T_base_gripper=np.array([far, near]))
    end = Kinematics(GEN3).fk(planner.plan(PARK, goal, CollisionScene()).q[-1])
    np.testing.assert_allclose(end, far, atol=1e-4)
    wall = CollisionScene((Box(pose(np.eye(3), far[:3, 3]), np.full(3, 0.06)),))
    end = Kinematics(GEN3).fk(planner.plan(PARK, goal, wall).q[-1])
    np.testing.assert_allclose(end, near, atol=1e-4)
