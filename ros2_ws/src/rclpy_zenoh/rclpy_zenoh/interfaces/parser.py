"""Reads .msg, .srv and .action files, and adds the messages that rosidl derives from services and actions."""

from __future__ import annotations

import ast
import re
from typing import Any

from rclpy_zenoh.interfaces.definitions import (
    FLOATS,
    INTEGER_RANGES,
    PRIMITIVES,
    STRINGS,
    Constant,
    Field,
    FieldType,
    MessageDefinition,
    Shape,
)
from rclpy_zenoh.interfaces.errors import InterfaceError

_TYPE = re.compile(
    r"(?:(?P<package>[a-z]\w*)/(?:msg/)?)?(?P<base>\w+)(?:<=(?P<bound>\d+))?"
    r"(?P<array>\[(?P<upto><=)?(?P<size>\d*)\])?$"
)
_LINE = re.compile(r"(?P<type>\S+)\s+(?P<name>[A-Za-z]\w*)(?:(?P<is>\s*=\s*)(?P<value>.+)|\s+(?P<default>.+))?$")
_FIELD_NAME = re.compile(r"(?!.*__)(?!.*_$)[a-z][a-z0-9_]*$")
_CONSTANT_NAME = re.compile(r"[A-Z](?:_?[A-Z0-9]+)*$")
_MESSAGE_NAME = re.compile(r"[A-Z][A-Za-z0-9]*$")

_SECTIONS = {"msg": 1, "srv": 2, "action": 3}


def parse_interface(name: str, text: str) -> dict[str, MessageDefinition]:
    """All messages of one interface file.

    Args:
        name: Full name, "pkg/msg/Name", "pkg/srv/Name" or "pkg/action/Name".
        text: The file's contents.

    Returns:
        Messages by full name. A service or an action has an entry of its own name too: the message that rosidl
        hashes as its type. Its requests, responses, events and so on are entries named as rosidl names them.

    Raises:
        InterfaceError: The text is no interface, with the line that is wrong.
    """
    kind = name.split("/")[1]
    sections: list[list[tuple[int, str]]] = [[]]
    for number, raw in enumerate(text.splitlines(), 1):
        line = _without_comment(raw).strip()
        if line == "---":
            sections.append([])
        elif line:
            sections[-1].append((number, line))
    if len(sections) != _SECTIONS[kind]:
        raise InterfaceError(
            f"{name}: a .{kind} file has {_SECTIONS[kind] - 1} line(s) '---', this one has {len(sections) - 1}."
        )
    if kind == "msg":
        return {name: _message(name, sections[0])}
    if kind == "srv":
        request = _message(f"{name}_Request", sections[0])
        response = _message(f"{name}_Response", sections[1])
        return service_messages(name, request, response)
    parts = [_message(f"{name}_{part}", s) for part, s in zip(("Goal", "Result", "Feedback"), sections, strict=True)]
    return action_messages(name, *parts)


def service_messages(
    name: str, request: MessageDefinition, response: MessageDefinition
) -> dict[str, MessageDefinition]:
    """The four messages of a service: request, response, event and the service itself."""
    event = MessageDefinition(
        f"{name}_Event",
        (
            Field("info", FieldType("service_msgs/msg/ServiceEventInfo")),
            Field("request", FieldType(request.name, Shape.BOUNDED, 1)),
            Field("response", FieldType(response.name, Shape.BOUNDED, 1)),
        ),
    )
    whole = MessageDefinition(
        name,
        (
            Field("request_message", FieldType(request.name)),
            Field("response_message", FieldType(response.name)),
            Field("event_message", FieldType(event.name)),
        ),
    )
    return {message.name: message for message in (request, response, event, whole)}


def action_messages(
    name: str, goal: MessageDefinition, result: MessageDefinition, feedback: MessageDefinition
) -> dict[str, MessageDefinition]:
    """The messages of an action: its three parts, its two services, its feedback topic and the action itself."""
    goal_id = Field("goal_id", FieldType("unique_identifier_msgs/msg/UUID"))
    send_goal = service_messages(
        f"{name}_SendGoal",
        MessageDefinition(f"{name}_SendGoal_Request", (goal_id, Field("goal", FieldType(goal.name)))),
        MessageDefinition(
            f"{name}_SendGoal_Response",
            (Field("accepted", FieldType("bool")), Field("stamp", FieldType("builtin_interfaces/msg/Time"))),
        ),
    )
    get_result = service_messages(
        f"{name}_GetResult",
        MessageDefinition(f"{name}_GetResult_Request", (goal_id,)),
        MessageDefinition(
            f"{name}_GetResult_Response",
            (Field("status", FieldType("int8")), Field("result", FieldType(result.name))),
        ),
    )
    message = MessageDefinition(f"{name}_FeedbackMessage", (goal_id, Field("feedback", FieldType(feedback.name))))
    whole = MessageDefinition(
        name,
        (
            Field("goal", FieldType(goal.name)),
            Field("result", FieldType(result.name)),
            Field("feedback", FieldType(feedback.name)),
            Field("send_goal_service", FieldType(f"{name}_SendGoal")),
            Field("get_result_service", FieldType(f"{name}_GetResult")),
            Field("feedback_message", FieldType(message.name)),
        ),
    )
    parts = {part.name: part for part in (goal, result, feedback, message, whole)}
    return parts | send_goal | get_result


def _without_comment(line: str) -> str:
    quote = ""
    for index, char in enumerate(line):
        if quote:
            quote = "" if char == quote and line[index - 1] != "\\" else quote
        elif char == "#":
            return line[:index]
        elif char in "\"'":
            quote = char
    # An apostrophe in a comment is no quote; one before it is a mistake that the value's parser reports.
    return line


def _message(name: str, lines: list[tuple[int, str]]) -> MessageDefinition:
    fields: list[Field] = []
    constants: list[Constant] = []
    package = name.split("/")[0]
    for number, line in lines:
        try:
            found = _LINE.match(line)
            if found is None:
                raise InterfaceError("expected 'type name', 'type name default' or 'type NAME=value'")
            kind = parse_type(found["type"], package)
            if found["is"]:
                constants.append(_constant(found["name"], kind, found["value"]))
            else:
                fields.append(_field(found["name"], kind, found["default"]))
        except InterfaceError as error:
            raise InterfaceError(f"{name}, line {number} '{line}': {error}.") from None
    names = [field.name for field in fields] + [constant.name for constant in constants]
    if twice := sorted({n for n in names if names.count(n) > 1}):
        raise InterfaceError(f"{name}: '{twice[0]}' is defined twice.")
    return MessageDefinition(name, tuple(fields), tuple(constants))


def parse_type(text: str, package: str) -> FieldType:
    """The type written as in a .msg file, e.g. "geometry_msgs/Pose[<=3]"; names without a package are of `package`.

    Raises:
        InterfaceError: There is no such type.
    """
    found = _TYPE.match(text)
    if found is None:
        raise InterfaceError(f"'{text}' is no type")
    base = found["base"]
    if found["package"] or base not in PRIMITIVES:
        if not _MESSAGE_NAME.match(base):
            allowed = ", ".join(PRIMITIVES)
            raise InterfaceError(f"'{base}' is neither a primitive type ({allowed}) nor a message name")
        base = f"{found['package'] or package}/msg/{base}"
    if found["bound"] is not None and base not in STRINGS:
        raise InterfaceError(f"only string and wstring can be bounded, not '{base}'")
    bound, size = int(found["bound"] or 0), int(found["size"] or 0)
    if (found["bound"] is not None and not bound) or (found["size"] and not size) or (found["upto"] and not size):
        raise InterfaceError("a bound must be at least 1")
    shape = Shape.ONE
    if found["array"]:
        shape = Shape.BOUNDED if found["upto"] else Shape.ARRAY if size else Shape.SEQUENCE
    return FieldType(base, shape, size, bound)


def _constant(name: str, kind: FieldType, text: str) -> Constant:
    if not _CONSTANT_NAME.match(name):
        raise InterfaceError(f"constant '{name}' must be upper case, digits and single underscores")
    if kind.nested or kind.shape is not Shape.ONE:
        raise InterfaceError("a constant must have a primitive type and be no array")
    return Constant(name, kind, _literal(kind, text.strip()))


def _field(name: str, kind: FieldType, text: str | None) -> Field:
    if not _FIELD_NAME.match(name):
        raise InterfaceError(f"field '{name}' must be lower case, digits and single underscores")
    if text is None:
        return Field(name, kind)
    if kind.nested:
        raise InterfaceError("a field that holds messages cannot have a default")
    if kind.shape is Shape.ONE:
        return Field(name, kind, _literal(kind, text.strip()))
    one = FieldType(kind.base, string_capacity=kind.string_capacity)
    body = text.strip()
    if not (body.startswith("[") and body.endswith("]")):
        raise InterfaceError("the default of an array must be written as [a, b, ...]")
    values = tuple(_literal(one, part) for part in _split(body[1:-1]))
    allowed = {Shape.ARRAY: len(values) == kind.capacity, Shape.BOUNDED: len(values) <= kind.capacity}
    if not allowed.get(kind.shape, True):
        raise InterfaceError(f"the default has {len(values)} values, the field holds {kind.capacity}")
    return Field(name, kind, values)


def _split(text: str) -> list[str]:
    """The items of a list literal; commas in quotes do not separate."""
    return [item.strip() for item in re.findall(r"""(?:"(?:\\.|[^"])*"|'(?:\\.|[^'])*'|[^,])+""", text) if item.strip()]


def _literal(kind: FieldType, text: str) -> Any:
    base = kind.base
    if base in STRINGS:
        value = text
        if text[0] in "\"'":
            if len(text) < 2 or text[-1] != text[0]:
                raise InterfaceError("the quote is not closed")
            value = text[1:-1].replace(f"\\{text[0]}", text[0])
        if kind.string_capacity and len(value.encode()) > kind.string_capacity:
            raise InterfaceError(f"the string is longer than {kind.string_capacity}")
        return value
    if base == "bool":
        if text.lower() not in ("true", "false", "0", "1"):
            raise InterfaceError("a bool is true, false, 1 or 0")
        return text.lower() in ("true", "1")
    try:
        number = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise InterfaceError(f"'{text}' is no {base}") from None
    if base in FLOATS:
        if type(number) not in (int, float):
            raise InterfaceError(f"'{text}' is no {base}")
        return float(number)
    low, high = INTEGER_RANGES.get(base, (0, 255))
    if type(number) is not int or not low <= number <= high:
        raise InterfaceError(f"a {base} is an integer from {low} to {high}")
    return bytes([number]) if base == "byte" else number
