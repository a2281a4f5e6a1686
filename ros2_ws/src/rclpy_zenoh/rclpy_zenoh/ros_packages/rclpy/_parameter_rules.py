"""What a descriptor allows: whether a parameter may have a value, and why not."""

from __future__ import annotations

import math

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor

from rclpy.parameter import Parameter

WRONG_TYPE = "Wrong parameter type"
_RELATIVE_TOLERANCE = 1e-6


def refusal(parameter: Parameter, descriptor: ParameterDescriptor, *, declared: bool) -> str:
    """Why the descriptor refuses the parameter, or "" where it allows it; whether it is read-only is not looked at.

    Args:
        parameter: The new value.
        descriptor: The parameter's declaration.
        declared: True where the parameter exists already.
    """
    if not descriptor.dynamic_typing:
        if parameter.type_ is Parameter.Type.NOT_SET:
            return "Static parameter cannot be undeclared" if declared else ""
        if parameter.type_.value != descriptor.type:
            return f"{WRONG_TYPE}, expected '{Parameter.Type(descriptor.type)}' got '{parameter.type_}'"
    if parameter.type_ is Parameter.Type.INTEGER and descriptor.integer_range:
        return _integer_refusal(parameter, descriptor.integer_range[0])
    if parameter.type_ is Parameter.Type.DOUBLE and descriptor.floating_point_range:
        return _floating_point_refusal(parameter, descriptor.floating_point_range[0])
    return ""


def _integer_refusal(parameter: Parameter, allowed: IntegerRange) -> str:
    low, high = sorted((allowed.from_value, allowed.to_value))
    value = parameter.value
    if value in (low, high):
        return ""
    if not low < value < high:
        return f"Parameter {parameter.name} out of range. Min: {low}, Max: {high}, value: {value}"
    if allowed.step and (value - low) % allowed.step:
        return (
            f"The parameter value for {parameter.name} is not a valid step. "
            f"Min: {low}, max: {high}, value: {value}, step: {allowed.step}"
        )
    return ""


def _floating_point_refusal(parameter: Parameter, allowed: FloatingPointRange) -> str:
    low, high = sorted((allowed.from_value, allowed.to_value))
    value = parameter.value
    if _close(value, low) or _close(value, high):
        return ""
    if not low < value < high:
        return f"Parameter {parameter.name} out of range Min: {low}, Max: {high}, value: {value}"
    if allowed.step and not _close(low + round((value - low) / allowed.step) * allowed.step, value):
        return (
            f"The parameter value for {parameter.name} is not close enough to a valid step. "
            f"Min: {low}, max: {high}, value: {value}, step: {allowed.step}"
        )
    return ""


def _close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=_RELATIVE_TOLERANCE)
