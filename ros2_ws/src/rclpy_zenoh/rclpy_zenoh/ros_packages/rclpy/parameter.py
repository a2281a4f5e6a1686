"""Parameters: name, type and value, and how they look in messages, strings and files."""

from __future__ import annotations

import array
import enum
from typing import Any

from rcl_interfaces.msg import Parameter as ParameterMsg
from rcl_interfaces.msg import ParameterType, ParameterValue

from rclpy._yaml_params import read_params
from rclpy_zenoh import plain_yaml

PARAMETER_SEPARATOR_STRING = "."

AllowableParameterValue = Any
"""None, bool, int, float, str, or a list, tuple or array of one of bytes, bool, int, float, str."""

_VALUE_FIELDS = {
    ParameterType.PARAMETER_BOOL: "bool_value",
    ParameterType.PARAMETER_INTEGER: "integer_value",
    ParameterType.PARAMETER_DOUBLE: "double_value",
    ParameterType.PARAMETER_STRING: "string_value",
    ParameterType.PARAMETER_BYTE_ARRAY: "byte_array_value",
    ParameterType.PARAMETER_BOOL_ARRAY: "bool_array_value",
    ParameterType.PARAMETER_INTEGER_ARRAY: "integer_array_value",
    ParameterType.PARAMETER_DOUBLE_ARRAY: "double_array_value",
    ParameterType.PARAMETER_STRING_ARRAY: "string_array_value",
}
"""Field of a ParameterValue that holds the value of each type; PARAMETER_NOT_SET has none."""


class Parameter:
    """A parameter; it does not change after it was made."""

    class Type(enum.Enum):
        """Types of a parameter, with the numbers of rcl_interfaces/msg/ParameterType."""

        NOT_SET = ParameterType.PARAMETER_NOT_SET
        BOOL = ParameterType.PARAMETER_BOOL
        INTEGER = ParameterType.PARAMETER_INTEGER
        DOUBLE = ParameterType.PARAMETER_DOUBLE
        STRING = ParameterType.PARAMETER_STRING
        BYTE_ARRAY = ParameterType.PARAMETER_BYTE_ARRAY
        BOOL_ARRAY = ParameterType.PARAMETER_BOOL_ARRAY
        INTEGER_ARRAY = ParameterType.PARAMETER_INTEGER_ARRAY
        DOUBLE_ARRAY = ParameterType.PARAMETER_DOUBLE_ARRAY
        STRING_ARRAY = ParameterType.PARAMETER_STRING_ARRAY

        @classmethod
        def from_parameter_value(cls, parameter_value: AllowableParameterValue) -> Parameter.Type:
            """The type of a Python value; an empty list is a BYTE_ARRAY, as in rclpy.

            Raises:
                TypeError: If no type of parameter holds the value.
            """
            if parameter_value is None:
                return cls.NOT_SET
            for python_type, scalar in _SCALARS:
                if isinstance(parameter_value, python_type):
                    return cls[scalar]
            if not isinstance(parameter_value, (list, tuple, array.array)):
                raise TypeError(f"The given value is not one of the allowed types '{parameter_value}'.")
            for python_type, items in _ARRAYS:
                if all(isinstance(item, python_type) for item in parameter_value):
                    return cls[items]
            raise TypeError(f"The given value is not a list of one of the allowed types '{parameter_value}'.")

        def check(self, parameter_value: AllowableParameterValue) -> bool:
            """True where a parameter of this type can have the value."""
            if self is Parameter.Type.NOT_SET:
                return parameter_value is None
            for python_type, scalar in _SCALARS:
                if self.name == scalar:
                    return isinstance(parameter_value, python_type)
            numbers = self in (Parameter.Type.INTEGER_ARRAY, Parameter.Type.DOUBLE_ARRAY)
            if not isinstance(parameter_value, (list, tuple, array.array) if numbers else (list, tuple)):
                return False
            item_type = next(python_type for python_type, items in _ARRAYS if items == self.name)
            return all(
                isinstance(item, item_type) and not (isinstance(item, bytes) and len(item) != 1)
                for item in parameter_value
            )

    @classmethod
    def from_parameter_msg(cls, param_msg: ParameterMsg) -> Parameter:
        """The parameter of a message; arrays of numbers become `array.array`, as in rclpy.

        Raises:
            ValueError: If the type in the message is none.
        """
        type_ = cls.Type(param_msg.value.type)
        field = _VALUE_FIELDS.get(param_msg.value.type)
        value = None if field is None else getattr(param_msg.value, field)
        return cls(param_msg.name, type_, value)

    def __init__(self, name: str, type_: Type | None = None, value: AllowableParameterValue = None) -> None:
        if type_ is None:
            type_ = Parameter.Type.from_parameter_value(value)
        if not isinstance(type_, Parameter.Type):
            raise TypeError(f"type must be an instance of '{Parameter.Type!r}'")
        if not type_.check(value):
            raise ValueError(f"Type '{type_}' and value '{value}' do not agree")
        self._type_ = type_
        self._name = name
        self._value = value

    @property
    def name(self) -> str:
        """Name, with the parts of nested names joined by dots."""
        return self._name

    @property
    def type_(self) -> Parameter.Type:
        """Type of the value."""
        return self._type_

    @property
    def value(self) -> AllowableParameterValue:
        """Value; None where the type is NOT_SET."""
        return self._value

    def get_parameter_value(self) -> ParameterValue:
        """The value as a message.

        Raises:
            ValueError: If the value does not fit the message, such as an integer of more than 64 bits.
        """
        message = ParameterValue(type=self.type_.value)
        if field := _VALUE_FIELDS.get(self.type_.value):
            setattr(message, field, list(self.value) if isinstance(self.value, tuple) else self.value)
        return message

    def to_parameter_msg(self) -> ParameterMsg:
        """The parameter as a message."""
        return ParameterMsg(name=self.name, value=self.get_parameter_value())

    def __repr__(self) -> str:
        return f"Parameter(name={self.name!r}, type_={self.type_}, value={self.value!r})"


# bool comes before int, because a bool is an int.
_SCALARS: tuple[tuple[type, str], ...] = ((bool, "BOOL"), (int, "INTEGER"), (float, "DOUBLE"), (str, "STRING"))
_ARRAYS: tuple[tuple[type, str], ...] = (
    (bytes, "BYTE_ARRAY"),
    (bool, "BOOL_ARRAY"),
    (int, "INTEGER_ARRAY"),
    (float, "DOUBLE_ARRAY"),
    (str, "STRING_ARRAY"),
)


def get_parameter_value(string_value: str) -> ParameterValue:
    """The value that a text stands for; a text that is no YAML, and a list of mixed types, is a string."""
    try:
        value = plain_yaml.load(string_value)
    except plain_yaml.PlainYamlError:
        value = string_value
    if not isinstance(value, (bool, int, float, str, list)):
        value = string_value
    try:
        parameter = Parameter("", value=value)
    except TypeError:
        parameter = Parameter("", value=string_value)
    if isinstance(value, list) and not value:
        parameter = Parameter("", Parameter.Type.BOOL_ARRAY, value)  # rclpy's first guess for an empty list
    return parameter.get_parameter_value()


def parameter_value_to_python(parameter_value: ParameterValue) -> AllowableParameterValue:
    """The value in a message as bool, int, float, str, a list of them or of bytes; None where it is not set.

    Raises:
        RuntimeError: If the type in the message is none.
    """
    if parameter_value.type == ParameterType.PARAMETER_NOT_SET:
        return None
    if parameter_value.type not in _VALUE_FIELDS:
        raise RuntimeError(f"unexpected parameter type {parameter_value.type}")
    value = getattr(parameter_value, _VALUE_FIELDS[parameter_value.type])
    if isinstance(value, (bool, int, float, str)):
        return value
    return list(value)


def parameter_dict_from_yaml_file(
    parameter_file: str, use_wildcard: bool = False, target_nodes: list[str] | None = None, namespace: str = ""
) -> dict[str, ParameterMsg]:
    """Parameters in a file, for services that set them.

    Args:
        parameter_file: Path of the file.
        use_wildcard: Take the section `/**` too; other sections override it.
        target_nodes: Sections to take; all but `/**` where it is None or empty.
        namespace: Text in front of each name.

    Raises:
        OSError: If the file cannot be read.
        RuntimeError: If it is malformed or lacks a section that was asked for.
    """
    sections = read_params(parameter_file)
    wanted = ["/**"] if use_wildcard and "/**" in sections else []
    if missing := [node for node in target_nodes or () if node not in sections]:
        raise RuntimeError(
            f"{parameter_file} does not contain parameters for {missing[0]}, only for nodes: {list(sections)}."
        )
    wanted += list(target_nodes or (section for section in sections if section != "/**"))
    if not wanted:
        raise RuntimeError(f"{parameter_file} does not contain selected parameters.")
    values = {namespace + name: value for section in wanted for name, value in sections[section].items()}
    return {name: Parameter(name, value=value).to_parameter_msg() for name, value in values.items()}
