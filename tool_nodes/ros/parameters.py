"""Parameters of the tool nodes: declared, checked and read at the start. Only the seed can be set later."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from tool_nodes.motion.robot_model import DEFAULT_ROBOT, RobotModel, load_robot
from tool_nodes.results import ToolError, invalid
from tool_nodes.ros.calling import Deadlines, require_positive

_A_COUNT = "an integer of 0 or more"


def text(node: Node, name: str, default: str, description: str) -> str:
    """A string that is not empty. Raises ToolError INVALID_ARGUMENT."""
    value = declared(node, name, default, description)
    if not isinstance(value, str) or not value:
        raise _wrong(name, "a string that is not empty", value)
    return value


def optional_text(node: Node, name: str, description: str) -> str:
    """A string, by default empty. Raises ToolError INVALID_ARGUMENT."""
    value = declared(node, name, "", description)
    if not isinstance(value, str):
        raise _wrong(name, "a string", value)
    return value


def choice(node: Node, name: str, default: str, allowed: Sequence[str], description: str) -> str:
    """One of some strings. Raises ToolError INVALID_ARGUMENT."""
    value = declared(node, name, default, f"{description}: {' or '.join(allowed)}")
    if value not in allowed:
        raise _wrong(name, " or ".join(allowed), value)
    return str(value)


def count(node: Node, name: str, default: int, description: str) -> int:
    """An integer of 0 or more. Raises ToolError INVALID_ARGUMENT."""
    value = declared(node, name, default, description)
    if not _is_count(value):
        raise _wrong(name, _A_COUNT, value)
    return int(value)


def robot(node: Node) -> RobotModel:
    """The robot that the parameter `robot` names. Raises ToolError INVALID_ARGUMENT."""
    name = text(node, "robot", DEFAULT_ROBOT, "Which robot, or the folder of its files")
    try:
        model = load_robot(name)
    except ToolError as error:
        raise ToolError(error.code, f"Parameter robot: {error.message}", error.hint) from error
    told(node, "robot_known_by", model.known_by(), "What the robot's files are known by")
    return model


def told(node: Node, name: str, value: str, description: str) -> None:
    """A parameter that tells what a node found, whatever was set."""
    if not node.has_parameter(name):
        descriptor = ParameterDescriptor(description=description, read_only=True)
        node.declare_parameter(name, value, descriptor, ignore_override=True)


def seed(node: Node, description: str, use: Callable[[int], None], unfit: Callable[[], str] = lambda: "") -> None:
    """The parameter `seed`, an integer of 0 or more: handed to `use` now, and again each time it is set.

    Setting it, also to the same value, lets a node begin as if it were freshly started; it is refused while `unfit`
    says why.

    Raises:
        ToolError: INVALID_ARGUMENT.
    """
    value = declared(node, "seed", 0, description, read_only=False)
    if not _is_count(value):
        raise _wrong("seed", _A_COUNT, value)

    def check(changes: list[Parameter]) -> SetParametersResult:
        wrong = [change.value for change in changes if change.name == "seed" and not _is_count(change.value)]
        reason = str(_wrong("seed", _A_COUNT, wrong[0])) if wrong else ""
        if not reason and any(change.name == "seed" for change in changes) and (why := unfit()):
            reason = f"seed cannot be set while {why}."
        return SetParametersResult(successful=not reason, reason=reason)

    def apply(changes: list[Parameter]) -> None:
        for change in changes:
            if change.name == "seed":
                use(change.value)

    node.add_on_set_parameters_callback(check)
    node.add_post_set_parameters_callback(apply)
    use(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def number(node: Node, name: str, default: float, allowed: tuple[float, float], description: str) -> float:
    """A number of a range, written with or without a point. Raises ToolError INVALID_ARGUMENT."""
    value = declared(node, name, default, description)
    low, high = allowed
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise _wrong(name, f"a number from {low:g} to {high:g}", value)
    return float(value)


def flag(node: Node, name: str, default: bool, description: str) -> bool:
    """True or false. Raises ToolError INVALID_ARGUMENT."""
    value = declared(node, name, default, description)
    if not isinstance(value, bool):
        raise _wrong(name, "true or false", value)
    return value


def seconds(node: Node, name: str, default: float, description: str) -> float:
    """A number greater than 0, written with or without a point. Raises ToolError INVALID_ARGUMENT."""
    value = declared(node, name, default, f"{description} [s]")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _wrong(name, "a number of seconds", value)
    require_positive(name, value)
    return float(value)


def deadlines(node: Node) -> Deadlines:
    """The parameters `availability_deadline_s`, `response_deadline_s` and `motion_deadline_s`."""
    default = Deadlines()
    return Deadlines(
        availability_s=seconds(
            node, "availability_deadline_s", default.availability_s, "How long to wait for another node"
        ),
        response_s=seconds(node, "response_deadline_s", default.response_s, "How long a service may take to answer"),
        motion_s=seconds(node, "motion_deadline_s", default.motion_s, "How long a motion may take, by the wall clock"),
    )


def declared(node: Node, name: str, default: Any, description: str, read_only: bool = True) -> Any:
    """The value of a parameter. It is read once: setting it later would have no effect, and is refused."""
    # Of any type, because a number of seconds may be written without a point and a wrong type deserves a sentence.
    descriptor = ParameterDescriptor(description=description, read_only=read_only, dynamic_typing=True)
    if node.has_parameter(name):  # what several cameras of one node have in common
        return node.get_parameter(name).value
    return node.declare_parameter(name, default, descriptor).value


def _wrong(name: str, allowed: str, value: Any) -> ToolError:
    return invalid(f"Parameter {name} must be {allowed}, got {value!r}.")
