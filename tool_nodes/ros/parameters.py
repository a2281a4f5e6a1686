"""Parameters of the tool nodes: declared, checked and read at the start. Only the seed can be set later."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import Annotated, Any, TypeVar, cast

from annotated_types import Interval
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from toolhand.tool_nodes.motion.robot_model import DEFAULT_ROBOT, RobotModel, load_robot
from toolhand.tool_nodes.records import Rule, record_of
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.ros.calling import Deadlines

T = TypeVar("T")

NonEmpty = Annotated[str, Rule("a string that is not empty", bool)]
Seconds = Annotated[float, Interval(gt=0.0)]
Count = Annotated[int, Interval(ge=0)]


def one_of(allowed: Sequence[str]) -> Rule:
    """The rule of a string that is one of some."""
    return Rule(" or ".join(each or "empty" for each in allowed), lambda value: value in allowed)


def read(
    node: Node,
    kind: type[T],
    changeable: Sequence[str] = (),
    name: Callable[[str], str] = str,
    defaults: Mapping[str, Any] = MappingProxyType({}),
    only: Sequence[str] | None = None,
) -> T:
    """The parameters of a node that the fields of a dataclass are; their descriptions are its docstring's.

    Args:
        node: Declares them.
        kind: Each field has a default.
        changeable: Fields that may be set later, which the node listens for.
        name: Parameter of a field.
        defaults: Values of fields, in place of their own.
        only: Fields that are parameters; all where None.

    Raises:
        ToolError: INVALID_ARGUMENT, see `checked`.
    """
    values = {}
    for field in fields(kind):  # type: ignore[arg-type]
        if only is None or field.name in only:
            default, about = defaults.get(field.name, field.default), description(kind, field.name)
            values[field.name] = declared(node, name(field.name), default, about, field.name not in changeable)
    return checked(kind, values, name)


def one(node: Node, name: str, default: T, about: str, kind: Any = None) -> T:
    """One parameter; its type is `kind`, by default that of its default. Raises ToolError INVALID_ARGUMENT."""
    return cast(T, record_of(kind or type(default), declared(node, name, default, about), at=f"Parameter {name}"))


def checked(kind: type[T], values: Mapping[str, Any], name: Callable[[str], str] = str) -> T:
    """The dataclass of values of parameters. Raises ToolError INVALID_ARGUMENT that names the parameter."""
    try:
        return record_of(kind, dict(values))
    except ToolError as error:
        field, _, rest = error.message.partition(" ")
        of_one = field.partition("[")[0] in values
        message = f"Parameter {name(field)} {rest}" if of_one else error.message
        raise ToolError(error.code, message, error.hint) from None


def description(kind: type, name: str) -> str:
    """What the docstring of a dataclass says about a field."""
    lines = (line.strip() for line in (kind.__doc__ or "").splitlines())
    return next((line.split(": ", 1)[1] for line in lines if line.startswith(f"{name}: ")), "")


def robot(node: Node) -> RobotModel:
    """The robot that the parameter `robot` names. Raises ToolError INVALID_ARGUMENT."""
    name = one(node, "robot", DEFAULT_ROBOT, "Which robot, or the folder of its files", NonEmpty)
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

    def checked_seed(value: Any) -> int:
        return record_of(Count, value, at="Parameter seed")

    value = checked_seed(declared(node, "seed", 0, description, read_only=False))

    def check(changes: list[Parameter]) -> SetParametersResult:
        try:
            seeds = [checked_seed(change.value) for change in changes if change.name == "seed"]
            reason = f"seed cannot be set while {why}." if seeds and (why := unfit()) else ""
        except ToolError as error:
            reason = str(error)
        return SetParametersResult(successful=not reason, reason=reason)

    def apply(changes: list[Parameter]) -> None:
        for change in changes:
            if change.name == "seed":
                use(change.value)

    node.add_on_set_parameters_callback(check)
    node.add_post_set_parameters_callback(apply)
    use(value)


def deadlines(node: Node) -> Deadlines:
    """The parameters `availability_deadline_s`, `response_deadline_s` and `motion_deadline_s`."""
    return read(node, Deadlines, name=lambda field: field.replace("_s", "_deadline_s"))


def declared(node: Node, name: str, default: Any, description: str, read_only: bool = True) -> Any:
    """The value of a parameter. It is read once: setting it later would have no effect, and is refused."""
    # Of any type: a number may be written without a point, a scene is a number, and a wrong type deserves a sentence.
    descriptor = ParameterDescriptor(description=description, read_only=read_only, dynamic_typing=True)
    if node.has_parameter(name):  # what several cameras of one node have in common
        return node.get_parameter(name).value
    return node.declare_parameter(name, default, descriptor).value
