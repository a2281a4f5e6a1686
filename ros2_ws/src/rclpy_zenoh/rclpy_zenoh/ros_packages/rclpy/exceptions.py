"""The exceptions of rclpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rclpy._rclpy_pybind11 import InvalidHandle as InvalidHandle

if TYPE_CHECKING:
    from rclpy.parameter import Parameter


class NotInitializedException(Exception):
    """Something was used before `rclpy.init()`, or after the shutdown."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(f"rclpy.init() has not been called.{f' msg:{message}' if message else ''}")


class NoTypeSupportImportedException(Exception):
    """A message class that cannot be sent."""

    def __init__(self) -> None:
        super().__init__("no type_support imported")


class NameValidationException(Exception):
    """A name that is not allowed; the message marks the first bad character."""

    def __init__(self, name_type: str, name: str, error_msg: str, invalid_index: int) -> None:
        super().__init__(f"Invalid {name_type}: {error_msg}:\n  '{name}'\n   {' ' * invalid_index}^")


class InvalidNamespaceException(NameValidationException):
    """A namespace that is not allowed."""

    def __init__(self, name: str, error_msg: str, invalid_index: int) -> None:
        super().__init__("namespace", name, error_msg, invalid_index)


class InvalidNodeNameException(NameValidationException):
    """A node name that is not allowed."""

    def __init__(self, name: str, error_msg: str, invalid_index: int) -> None:
        super().__init__("node name", name, error_msg, invalid_index)


class InvalidTopicNameException(NameValidationException):
    """A topic name that is not allowed."""

    def __init__(self, name: str, error_msg: str, invalid_index: int) -> None:
        super().__init__("topic name", name, error_msg, invalid_index)


class InvalidServiceNameException(NameValidationException):
    """A service name that is not allowed."""

    def __init__(self, name: str, error_msg: str, invalid_index: int) -> None:
        super().__init__("service name", name, error_msg, invalid_index)


class ParameterException(Exception):
    """Base of the errors about parameters."""

    def __init__(self, error_msg: str, parameters: str | list[str]) -> None:
        super().__init__(f"{error_msg}: {parameters}")


class ParameterNotDeclaredException(ParameterException):
    """A parameter that has not been declared, where that is not allowed."""

    def __init__(self, parameters: str | list[str]) -> None:
        super().__init__("Invalid access to undeclared parameter(s)", parameters)


class ParameterAlreadyDeclaredException(ParameterException):
    """A parameter that is declared twice."""

    def __init__(self, parameters: str | list[str]) -> None:
        super().__init__("Parameter(s) already declared", parameters)


class InvalidParameterException(ParameterException):
    """A parameter name that is not allowed."""

    def __init__(self, parameter_name: str) -> None:
        super().__init__("Invalid parameter name", parameter_name)


class InvalidParameterTypeException(ParameterException):
    """A parameter value whose type is not the declared one."""

    def __init__(self, desired_parameter: Parameter, expected_type: str) -> None:
        from rclpy.parameter import Parameter

        value = desired_parameter.value
        super().__init__(
            f"Trying to set parameter '{desired_parameter.name}' to '{value}' of type "
            f"'{Parameter.Type.from_parameter_value(value).name}', expecting type '{expected_type}'",
            desired_parameter.name,
        )


class InvalidParameterValueException(ParameterException):
    """A parameter value that a callback or a descriptor refuses."""

    def __init__(self, parameter: str, value: Any, reason: str) -> None:
        super().__init__(f"Invalid parameter value ({value}) for parameter. Reason: {reason}", parameter)


class ParameterImmutableException(ParameterException):
    """A change of a read-only parameter."""

    def __init__(self, parameter_name: str) -> None:
        super().__init__("Attempted to modify read-only parameter", parameter_name)


class ParameterUninitializedException(ParameterException):
    """A parameter without a value is read."""

    def __init__(self, parameter_name: str) -> None:
        super().__init__(f"The parameter '{parameter_name}' is not initialized", parameter_name)


class ROSInterruptException(Exception):
    """A blocking call that the shutdown ended."""

    def __init__(self) -> None:
        super().__init__("rclpy.shutdown() has been called")
