"""What MoveItPy is told, and one sentence for whatever goes wrong."""

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from moveit_msgs.msg import MoveItErrorCodes

from tests.gen3 import GEN3
from tests.refusals import refused
from tests.tool_nodes.motion.planners.fake_moveit_py import LONG_S, installed, moveit_py
from tests.tool_nodes.motion.planners.tables import ASIDE, PARK, PackageDouble, refusal
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.drivers import moveit_py as driver
from toolhand.tool_nodes.drivers.moveit_py import MoveItPyPlanner, moveit_parameters
from toolhand.tool_nodes.geometry import pose
from toolhand.tool_nodes.motion.checked_planner import checked
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.types import Box, CollisionScene, JointGoal, LinearGoal, PoseGoal

RAISED = Kinematics(GEN3).fk(PARK)
RAISED[2, 3] += 0.08
HELD = (Box(pose(np.eye(3), [0.0, 0.0, 0.14]), np.array([0.02, 0.02, 0.05])),)


@pytest.fixture
def double() -> Iterator[PackageDouble]:
    made = moveit_py()
    with installed(made):
        yield made


def test_without_moveit_py_a_sentence_says_where_it_comes_from() -> None:
    sentence = r"The planner 'moveit_py' needs MoveIt's moveit_py: No module named 'moveit'\."
    where = "Install ros-ROS_DISTRO-moveit-py and source ROS 2, or .*; the package moveit on PyPI is not it"
    with refused(ErrorCode.UNAVAILABLE, sentence, hint=where):
        registry.make("planner", "moveit_py", registry.Setting(robot=GEN3))


def test_a_package_of_that_name_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "moveit", ModuleType("moveit"))
    with refused(ErrorCode.UNAVAILABLE, r"needs MoveIt's moveit_py: No module named 'moveit\.planning'"):
        MoveItPyPlanner(0, GEN3, LONG_S)


def test_every_call_is_in_the_table(double: PackageDouble) -> None:
    planner = checked(registry.make("planner", "moveit_py", registry.Setting(robot=GEN3)), GEN3)
    for goal in (JointGoal(ASIDE), PoseGoal(RAISED[None]), LinearGoal(RAISED)):
        planner.plan(PARK, goal, CollisionScene(attached=HELD))
    assert len(double.used) > 15
    assert double.unknown() == set()
    assert "MoveItPy.shutdown" not in double.used  # it would shut down ROS 2 for the whole process


@pytest.mark.parametrize(
    ("where", "method", "arguments", "says"),
    [
        ("MoveItPy", "get_planning_component", None, "has no MoveItPy.get_planning_component"),
        ("PlanningScene", "apply_collision_object", "msg=None", "unexpected keyword argument"),
        ("PlanningComponent", "set_goal_state", "pose_stamped_msg=None", "unexpected keyword argument"),
    ],
)
def test_a_call_that_the_table_lacks_fails(where: str, method: str, arguments: str | None, says: str) -> None:
    with installed(moveit_py().without(where, "methods", method, arguments)), refused(ErrorCode.UNAVAILABLE, says):
        MoveItPyPlanner(0, GEN3, LONG_S).plan(PARK, JointGoal(ASIDE), CollisionScene())


def test_two_planners_of_one_robot_share_the_one_moveit(double: PackageDouble) -> None:
    assert MoveItPyPlanner(0, GEN3, LONG_S)._moveit is MoveItPyPlanner(1, GEN3)._moveit


def test_its_parameters_are_plain_and_say_what_moveit_needs(tmp_path: Path) -> None:
    parameters = moveit_parameters(GEN3, tmp_path)

    def plain(value: Any) -> bool:
        if isinstance(value, dict):
            return all(isinstance(key, str) and plain(each) for key, each in value.items())
        return all(map(plain, value)) if isinstance(value, list) else type(value) in (str, int, float, bool)

    assert plain(parameters)
    assert parameters["robot_description"].startswith("<?xml")
    assert set(parameters["planning_pipelines"]["pipeline_names"]) <= set(parameters)
    lines = parameters["pilz_industrial_motion_planner"]
    assert not [name for name in lines["request_adapters"] if "Collision" in name]
    assert parameters["ompl"]["request_adapters"][-1].endswith("CheckStartStateCollision")


def test_a_line_that_begins_in_contact_is_followed(double: PackageDouble) -> None:
    tip = Kinematics(GEN3).fk(PARK)
    touched = CollisionScene((Box(pose(np.eye(3), tip[:3, 3] + [0.0, 0.0, -0.165]), np.full(3, 0.02)),), margin=0.0)
    planner = checked(MoveItPyPlanner(0, GEN3, LONG_S), GEN3)
    planner.plan(PARK, LinearGoal(RAISED), touched)


def answering(double: PackageDouble, monkeypatch: pytest.MonkeyPatch, answer: Callable[[Any], Any]) -> MoveItPyPlanner:
    double.answering(monkeypatch, answer, "PlanningComponent.plan")
    return MoveItPyPlanner(0, GEN3, LONG_S)


def crash(answer: Any) -> Any:
    raise RuntimeError("Planning scene not\nconfigured")


def with_points(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def answer(response: Any) -> Any:
        change(response.trajectory._message.joint_trajectory)
        return response

    return answer


def nan(trajectory: Any) -> None:
    trajectory.points[1].positions = [float("nan")] * 7


def without_a_path(response: Any) -> Any:
    response.__dict__["trajectory"] = type("Nothing", (), {"get_robot_trajectory_msg": lambda self: None})()
    return response


def said(code: int) -> Callable[[Any], Any]:
    def answer(response: Any) -> Any:
        response.__dict__["error_code"] = MoveItErrorCodes(val=code)
        return response

    return answer


FAULTS: dict[str, tuple[Callable[[Any], Any], ErrorCode, str]] = {
    "nothing": (lambda answer: None, ErrorCode.UNAVAILABLE, "MoveItPy answered nothing"),
    "a crash": (crash, ErrorCode.UNAVAILABLE, "MoveItPy failed: RuntimeError: Planning scene not configured"),
    "NaN": (with_points(nan), ErrorCode.UNAVAILABLE, "MoveIt's answer cannot be used: it holds NaN"),
    "no points": (with_points(lambda t: t.points.clear()), ErrorCode.UNAVAILABLE, "it has no points"),
    "another robot": (
        with_points(lambda t: setattr(t, "joint_names", list("abcdefg"))),
        ErrorCode.UNAVAILABLE,
        "it is for the joints a, b, c",
    ),
    "no path in a success": (without_a_path, ErrorCode.UNAVAILABLE, "there is a path, and gives none"),
    "no inverse kinematics": (said(MoveItErrorCodes.NO_IK_SOLUTION), ErrorCode.IK_FAILED, "NO_IK_SOLUTION"),
    "no plan": (said(MoveItErrorCodes.PLANNING_FAILED), ErrorCode.PLAN_FAILED, "PLANNING_FAILED"),
    "a wrong group": (said(MoveItErrorCodes.INVALID_GROUP_NAME), ErrorCode.UNAVAILABLE, "INVALID_GROUP_NAME"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_whatever_it_answers_one_sentence_says_why_it_is_refused(
    double: PackageDouble, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    answer, code, says = FAULTS[name]
    error = refusal(answering(double, monkeypatch, answer))
    assert says in error.message
    assert error.code is code


def test_a_call_that_hangs_ends_and_nothing_more_is_asked(
    double: PackageDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    planner = answering(double, monkeypatch, lambda answer: release.wait(30.0))
    monkeypatch.setattr(driver, "_GRACE_S", 0.2)
    planner._planning_s = 0.1
    assert refusal(planner).code is ErrorCode.TIMEOUT
    assert "MoveItPy still hangs" in refusal(planner).message
    release.set()
