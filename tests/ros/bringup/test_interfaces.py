"""The project's own interfaces: complete for colcon, and in step with the Python tools."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rclpy_zenoh.interfaces import get_class, registry
from toolhand.tool_nodes.results import ErrorCode

PACKAGE = Path(__file__).parents[3] / "ros2_ws" / "src" / "toolhand_interfaces"
FILES = sorted(path for kind in ("msg", "srv", "action") for path in (PACKAGE / kind).iterdir())
IDS = [f"{path.parent.name}/{path.stem}" for path in FILES]


def answers(path: Path) -> str:
    """Name of the message that answers a call of the interface."""
    tail = {"msg": "", "srv": "_Response", "action": "_Result"}[path.parent.name]
    return f"toolhand_interfaces/{path.parent.name}/{path.stem}{tail}"


def test_cmake_generates_every_file() -> None:
    listed = re.findall(r'"((?:msg|srv|action)/\w+\.\w+)"', (PACKAGE / "CMakeLists.txt").read_text())
    assert sorted(listed) == sorted(str(path.relative_to(PACKAGE)) for path in FILES)


def test_every_package_that_is_used_is_a_dependency() -> None:
    manifest = ElementTree.parse(PACKAGE / "package.xml").getroot()
    declared = {element.text for element in manifest.findall("depend")}
    cmake = (PACKAGE / "CMakeLists.txt").read_text()
    used = set(re.findall(r"^(\w+)/\w+", "".join(path.read_text() for path in FILES), re.MULTILINE))
    assert used | {"action_msgs"} == declared
    assert all(f"find_package({package} REQUIRED)" in cmake for package in used)
    assert manifest.findtext("member_of_group") == "rosidl_interface_packages"


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_every_file_begins_with_what_it_is_for_and_is_plain_ascii(path: Path) -> None:
    text = path.read_text(encoding="ascii")
    assert text.startswith("# ")
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("path", [p for p in FILES if p.parent.name != "msg"], ids=[i for i in IDS if "msg/" not in i])
def test_every_answer_begins_with_a_tool_status(path: Path) -> None:
    first = registry().definition(answers(path)).fields[0]
    assert (first.name, first.type.base) == ("status", "toolhand_interfaces/msg/ToolStatus")


def test_the_error_codes_are_those_of_the_tools() -> None:
    definition = registry().definition("toolhand_interfaces/msg/ToolStatus")
    assert {constant.name: constant.value for constant in definition.constants} == {str(c): str(c) for c in ErrorCode}


@pytest.mark.parametrize("name", ["ExecuteGrasp", "Place"])
def test_the_service_of_a_motion_is_its_action_without_feedback(name: str) -> None:
    service = get_class(f"toolhand_interfaces/srv/{name}")
    action = get_class(f"toolhand_interfaces/action/{name}")
    goal = action.Goal.get_fields_and_field_types()
    assert service.Request.get_fields_and_field_types() == goal
    assert service.Response.get_fields_and_field_types() == action.Result.get_fields_and_field_types()
    assert {"approval_mode", "plan_id"} <= set(goal)
    assert {"ask", "auto", "plan_only"} == {action.Goal.ASK, action.Goal.AUTO, action.Goal.PLAN_ONLY}
    assert "progress" in action.Feedback.get_fields_and_field_types()


def test_a_command_reports_each_step_and_answers_with_text_and_status() -> None:
    command = get_class("toolhand_interfaces/action/RunCommand")
    assert set(command.Goal.get_fields_and_field_types()) == {"text", "mode", "answers", "session", "pointed"}
    step = get_class("toolhand_interfaces/msg/CommandStep").get_fields_and_field_types()
    assert {"number", "command", "sentence", "thought", "tool_call", "result_text", "image"} <= set(step)
    assert command.Feedback.get_fields_and_field_types() == {"step": "toolhand_interfaces/CommandStep"}
    assert command.Result.get_fields_and_field_types()["steps"] == "sequence<toolhand_interfaces/CommandStep>"
    assert command.Result.get_fields_and_field_types()["answer"] == "string"
