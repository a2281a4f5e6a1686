"""Message, service and action classes that behave like the ones rosidl generates.

Sequences of numbers are `array.array`, arrays of fixed size numpy arrays. Values are always checked when they are
assigned; rosidl checks only where ROS_PYTHON_CHECK_FIELDS is 1.
"""

from __future__ import annotations

import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np

from rclpy_zenoh.interfaces.checks import Checker, Refused, checker, default, refuse
from rclpy_zenoh.interfaces.definitions import FieldType, MessageDefinition
from rclpy_zenoh.interfaces.errors import FieldError
from rclpy_zenoh.interfaces.registry import Registry

_SHOWN = 64
"""Longer arrays of numbers are shortened in `repr`."""


@dataclass(frozen=True)
class FieldSpec:
    """One field of a message class.

    Attributes:
        name: Name of the field.
        slot: Name of the attribute that holds the value.
        kind: Its type.
        message: Class of the messages it holds, or None.
        check: Turns an assigned value into the stored one.
        convert: The same for a keyword argument.
        default: Makes the value of a new message.
        store: Sets the stored value of a message without a check.
    """

    name: str
    slot: str
    kind: FieldType
    message: type[Message] | None
    check: Checker
    convert: Checker
    default: Callable[[], Any]
    store: Callable[[Any, Any], None]


class Interface:
    """What the classes of messages, services and actions share.

    Attributes of ours end in an underscore, which no field of a message may.
    """

    __slots__ = ()
    _type_name_: ClassVar[str]
    _registry_: ClassVar[Registry]


class Message(Interface):
    """Base of all message classes; keyword arguments set fields, the others have their defaults."""

    __slots__ = ()
    _specs_: ClassVar[tuple[FieldSpec, ...]]
    __hash__ = None  # type: ignore[assignment]  # mutable, as in rosidl

    def __init__(self, **values: Any) -> None:
        specs = self._specs_
        if values and (unknown := [name for name in values if name not in {spec.name for spec in specs}]):
            allowed = ", ".join(spec.name for spec in specs) or "none"
            raise FieldError(f"{self._type_name_} has no field '{unknown[0]}'; its fields are: {allowed}.")
        for spec in specs:
            if spec.name in values:
                _store(self, spec, spec.convert, values[spec.name])
            else:
                spec.store(self, spec.default())

    @classmethod
    def get_fields_and_field_types(cls) -> dict[str, str]:
        """Field names and their types in IDL notation, e.g. {"data": "sequence<uint8>"}."""
        return {spec.name: spec.kind.idl for spec in cls._specs_}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, self.__class__):
            return False
        for spec in self._specs_:
            mine, theirs = getattr(self, spec.slot), getattr(other, spec.slot)
            if not (np.array_equal(mine, theirs) if isinstance(mine, np.ndarray) else mine == theirs):
                return False
        return True

    def __repr__(self) -> str:
        package, kind, short = self._type_name_.split("/")
        fields = ", ".join(f"{spec.name}={_show(getattr(self, spec.slot))}" for spec in self._specs_)
        return f"{package}.{kind}.{short}({fields})"


def _show(value: Any) -> str:
    if not isinstance(value, np.ndarray | array.array):
        return repr(value)
    if len(value) <= _SHOWN:
        return repr(value.tolist())
    return f"[{', '.join(map(repr, value[:8].tolist()))}, ... {len(value)} values]"


def message_class(
    definition: MessageDefinition, registry: Registry, lookup: Callable[[str], type[Message]]
) -> type[Message]:
    """The class of a message; `lookup` gives the classes of the messages in it."""
    package, kind, short = definition.name.split("/")
    namespace: dict[str, Any] = {
        "__slots__": tuple(f"_{field.name}" for field in definition.fields),
        "__module__": f"{package}.{kind}",
        "__doc__": f"Message {definition.name}.",
        "_type_name_": definition.name,
        "_registry_": registry,
        **{constant.name: constant.value for constant in definition.constants},
    }
    cls: type[Message] = type(short, (Message,), namespace)
    specs = []
    for field in definition.fields:
        nested = lookup(field.type.base) if field.type.nested else None
        slot = f"_{field.name}"
        member = cls.__dict__[slot]
        make = default(field, nested)
        check, convert = (checker(field.type, nested, converts) for converts in (False, True))
        specs.append(FieldSpec(field.name, slot, field.type, nested, check, convert, make, member.__set__))
        setattr(cls, field.name, _property(specs[-1], member.__get__))
        if field.default is not None:
            setattr(cls, f"{field.name.upper()}__DEFAULT", make())
    cls._specs_ = tuple(specs)
    return cls


def _property(spec: FieldSpec, get: Callable[[Any], Any]) -> property:
    def assign(message: Message, value: Any) -> None:
        _store(message, spec, spec.check, value)

    return property(get, assign, doc=f"{spec.kind.idl}.")


def _store(message: Message, spec: FieldSpec, check: Checker, value: Any) -> None:
    try:
        spec.store(message, check(value))
    except Refused as reason:
        raise refuse(f"{message._type_name_}: field '{spec.name}'", value, reason) from None


def explain(message: Message) -> str:
    """The first value in a message that its field no longer allows, because a list was changed in place; or ""."""
    for spec in message._specs_:
        value: Any = getattr(message, spec.slot, None)
        try:
            spec.check(value)
        except Refused as reason:
            return str(refuse(f"field '{spec.name}'", value, reason))
        if spec.message is not None:
            for item in value if isinstance(value, list) else [value]:
                if inner := explain(item):
                    return f"{spec.name}: {inner}"
    return ""


class Service(Interface):
    """Base of all service classes, which hold the classes of their messages and are never instantiated."""

    Request: ClassVar[type[Message]]
    Response: ClassVar[type[Message]]
    Event: ClassVar[type[Message]]

    def __init__(self) -> NoReturn:
        raise NotImplementedError(f"Service classes can not be instantiated; use {type(self).__name__}.Request().")


class Action(Interface):
    """Base of all action classes, which hold the classes of their messages and are never instantiated."""

    Goal: ClassVar[type[Message]]
    Result: ClassVar[type[Message]]
    Feedback: ClassVar[type[Message]]
    Impl: ClassVar[type]

    def __init__(self) -> NoReturn:
        raise NotImplementedError(f"Action classes can not be instantiated; use {type(self).__name__}.Goal().")


def service_class(name: str, registry: Registry, lookup: Callable[[str], type[Message]]) -> type[Service]:
    """The class of the service `name`."""
    parts = {part: lookup(f"{name}_{part}") for part in ("Request", "Response", "Event")}
    return type(name.split("/")[2], (Service,), _namespace(name, "Service", registry) | parts)


def action_class(name: str, registry: Registry, lookup: Callable[[str], Any]) -> type[Action]:
    """The class of the action `name`; `lookup` gives messages and services by full name."""
    parts: dict[str, Any] = {part: lookup(f"{name}_{part}") for part in ("Goal", "Result", "Feedback")}
    impl = {
        "SendGoalService": lookup(f"{name}_SendGoal"),
        "GetResultService": lookup(f"{name}_GetResult"),
        "FeedbackMessage": lookup(f"{name}_FeedbackMessage"),
        "CancelGoalService": lookup("action_msgs/srv/CancelGoal"),
        "GoalStatusMessage": lookup("action_msgs/msg/GoalStatusArray"),
    }
    parts["Impl"] = type("Impl", (), impl | {"__doc__": "The services and topics that carry the action."})
    return type(name.split("/")[2], (Action,), _namespace(name, "Action", registry) | parts)


def _namespace(name: str, what: str, registry: Registry) -> dict[str, Any]:
    package, kind, _ = name.split("/")
    return {
        "__module__": f"{package}.{kind}",
        "__doc__": f"{what} {name}.",
        "_type_name_": name,
        "_registry_": registry,
    }
