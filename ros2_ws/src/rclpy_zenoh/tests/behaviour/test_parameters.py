"""Parameters of a node, seen from inside it."""

from __future__ import annotations

import warnings

import pytest
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, ParameterType, SetParametersResult
from rclpy.exceptions import (
    InvalidParameterException,
    InvalidParameterTypeException,
    InvalidParameterValueException,
    ParameterAlreadyDeclaredException,
    ParameterImmutableException,
    ParameterNotDeclaredException,
    ParameterUninitializedException,
)
from rclpy.parameter import Parameter, parameter_value_to_python

VALUES = [True, 5, -1.5, "text", [True, False], [1, 2], [0.5], ["a", "b"], [b"\x01"]]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_declare_get_and_set_a_value_of_every_type(ros, value):
    node = ros.node()
    parameter = node.declare_parameter("p", value)
    assert isinstance(parameter, Parameter)
    assert parameter.name == "p"
    assert parameter.value == value
    assert node.has_parameter("p")
    assert node.get_parameter("p").value == value
    assert node.get_parameter("p").type_ == Parameter.Type.from_parameter_value(value)
    assert node.set_parameters([Parameter("p", value=value)])[0].successful


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_parameters_become_messages_and_back(value):
    parameter = Parameter("p", value=value)
    assert parameter_value_to_python(parameter.get_parameter_value()) == value
    again = Parameter.from_parameter_msg(parameter.to_parameter_msg())
    assert (again.name, again.type_, list_or(again.value)) == ("p", parameter.type_, list_or(value))


def list_or(value):
    return list(value) if isinstance(value, list) or hasattr(value, "tolist") else value


def test_a_parameter_checks_its_type():
    with pytest.raises(ValueError, match="agree"):
        Parameter("p", Parameter.Type.INTEGER, "text")
    with pytest.raises(TypeError):
        Parameter("p", value={"a": 1})
    with pytest.raises(TypeError):
        Parameter("p", value=[1, "mixed"])
    with pytest.raises(TypeError):
        Parameter("p", "INTEGER", 1)
    assert Parameter("p").type_ == Parameter.Type.NOT_SET


def test_what_is_not_declared_is_an_error(ros):
    node = ros.node()
    assert not node.has_parameter("p")
    for attempt in (
        lambda: node.get_parameter("p"),
        lambda: node.get_parameters(["p"]),
        lambda: node.set_parameters([Parameter("p", value=1)]),
        lambda: node.set_parameters_atomically([Parameter("p", value=1)]),
        lambda: node.describe_parameter("p"),
        lambda: node.undeclare_parameter("p"),
    ):
        with pytest.raises(ParameterNotDeclaredException):
            attempt()


def test_declaring_twice_is_an_error(ros):
    node = ros.node()
    node.declare_parameter("p", 1)
    with pytest.raises(ParameterAlreadyDeclaredException):
        node.declare_parameter("p", 1)


@pytest.mark.parametrize("name", [""])
def test_bad_parameter_names(ros, name):
    with pytest.raises(InvalidParameterException):
        ros.node().declare_parameter(name, 1)


def test_undeclare(ros):
    node = ros.node()
    node.declare_parameter("p", 1)
    node.undeclare_parameter("p")
    assert not node.has_parameter("p")
    node.declare_parameter("p", "now a text")


def test_a_static_parameter_keeps_its_type(ros):
    node = ros.node()
    node.declare_parameter("p", 1)
    result = node.set_parameters([Parameter("p", value="text")])[0]
    assert not result.successful
    assert "type" in result.reason
    assert node.get_parameter("p").value == 1
    assert not node.set_parameters([Parameter("p", value=1.0)])[0].successful


def test_a_static_parameter_cannot_be_unset(ros):
    node = ros.node()
    node.declare_parameter("p", 1)
    assert not node.set_parameters([Parameter("p")])[0].successful
    assert node.has_parameter("p")


def test_a_dynamic_parameter_changes_its_type_and_can_be_unset(ros):
    node = ros.node()
    node.declare_parameter("p", 1, ParameterDescriptor(dynamic_typing=True))
    assert node.set_parameters([Parameter("p", value="text")])[0].successful
    assert node.get_parameter("p").value == "text"
    assert node.set_parameters([Parameter("p")])[0].successful
    assert not node.has_parameter("p")


def test_declaring_a_type_without_a_value(ros):
    node = ros.node()
    node.declare_parameter("p", Parameter.Type.INTEGER)
    assert node.has_parameter("p")
    with pytest.raises(ParameterUninitializedException):
        node.get_parameter("p")
    assert node.set_parameters([Parameter("p", value=3)])[0].successful
    assert node.get_parameter("p").value == 3


def test_declaring_neither_type_nor_value_is_an_error(ros):
    node = ros.node()
    with pytest.raises(ValueError, match="NOT_SET"):
        node.declare_parameter("p", Parameter.Type.NOT_SET)
    with pytest.raises(ValueError, match="NOT_SET"):
        node.declare_parameter("p", None, ParameterDescriptor())


def test_get_parameter_or(ros):
    node = ros.node()
    fallback = Parameter("p", value=7)
    assert node.get_parameter_or("p", fallback).value == 7
    node.declare_parameter("p", 1)
    assert node.get_parameter_or("p", fallback).value == 1


def test_several_at_once_in_a_namespace(ros):
    node = ros.node()
    declared = node.declare_parameters("arm", [("a", 1), ("b", "x", ParameterDescriptor()), ("deep.c", 0.5)])
    assert [parameter.name for parameter in declared] == ["arm.a", "arm.b", "arm.deep.c"]
    assert [parameter.value for parameter in node.get_parameters(["arm.b", "arm.a"])] == ["x", 1]
    by_prefix = node.get_parameters_by_prefix("arm")
    assert {name: parameter.value for name, parameter in by_prefix.items()} == {"a": 1, "b": "x", "deep.c": 0.5}


@pytest.mark.parametrize("wrong", [[()], [("a", 1, ParameterDescriptor(), 4)], [(1, 2)], [("a", 1, "descriptor")]])
def test_declare_parameters_checks_its_tuples(ros, wrong):
    with pytest.raises(TypeError):
        ros.node().declare_parameters("", wrong)


def test_read_only(ros):
    node = ros.node()
    node.declare_parameter("p", 1, ParameterDescriptor(read_only=True))
    result = node.set_parameters([Parameter("p", value=2)])[0]
    assert not result.successful
    assert "read-only" in result.reason
    assert node.get_parameter("p").value == 1
    with pytest.raises(ParameterImmutableException):
        node.undeclare_parameter("p")


def test_integer_range(ros):
    node = ros.node()
    limits = IntegerRange(from_value=0, to_value=10, step=2)
    node.declare_parameter("p", 4, ParameterDescriptor(integer_range=[limits]))
    good = [number for number in range(-1, 13) if node.set_parameters([Parameter("p", value=number)])[0].successful]
    assert good == [0, 2, 4, 6, 8, 10]
    with pytest.raises(InvalidParameterValueException):
        node.declare_parameter("q", 11, ParameterDescriptor(integer_range=[limits]))


def test_floating_point_range(ros):
    node = ros.node()
    limits = FloatingPointRange(from_value=-1.0, to_value=1.0, step=0.5)
    node.declare_parameter("p", 0.0, ParameterDescriptor(floating_point_range=[limits]))
    values = [-1.5, -1.0, -0.75, -0.5, 0.5, 0.6, 1.0, 1.0001]
    good = [value for value in values if node.set_parameters([Parameter("p", value=value)])[0].successful]
    assert good == [-1.0, -0.5, 0.5, 1.0]


def test_describe(ros):
    node = ros.node()
    node.declare_parameter("p", 4, ParameterDescriptor(description="how many", additional_constraints="even"))
    descriptor = node.describe_parameter("p")
    assert descriptor.name == "p"
    assert descriptor.type == ParameterType.PARAMETER_INTEGER
    assert descriptor.description == "how many"
    assert [one.name for one in node.describe_parameters(["p", "use_sim_time"])] == ["p", "use_sim_time"]


def test_atomic_setting_is_all_or_nothing(ros):
    node = ros.node()
    node.declare_parameters("", [("a", 1), ("b", 2)])
    result = node.set_parameters_atomically([Parameter("a", value=10), Parameter("b", value="wrong type")])
    assert not result.successful
    assert [one.value for one in node.get_parameters(["a", "b"])] == [1, 2]
    with pytest.raises(ParameterNotDeclaredException):
        node.set_parameters_atomically([Parameter("a", value=10), Parameter("nobody", value=1)])
    assert node.get_parameter("a").value == 1
    assert node.set_parameters_atomically([Parameter("a", value=10), Parameter("b", value=20)]).successful
    assert [one.value for one in node.get_parameters(["a", "b"])] == [10, 20]


def test_setting_one_after_the_other_keeps_what_worked(ros):
    node = ros.node()
    node.declare_parameters("", [("a", 1), ("b", 2)])
    results = node.set_parameters([Parameter("b", value="wrong type"), Parameter("a", value=10)])
    assert [result.successful for result in results] == [False, True]
    assert [one.value for one in node.get_parameters(["a", "b"])] == [10, 2]


def test_undeclared_parameters_may_be_allowed(ros):
    node = ros.node(allow_undeclared_parameters=True)
    assert node.get_parameter("p").type_ == Parameter.Type.NOT_SET
    assert node.set_parameters([Parameter("p", value=1)])[0].successful
    assert node.get_parameter("p").value == 1
    assert node.set_parameters([Parameter("p", value="other type")])[0].successful


def test_use_sim_time_is_always_declared(ros):
    assert ros.node().get_parameter("use_sim_time").value is False
    overridden = ros.node("other", parameter_overrides=[Parameter("use_sim_time", value=True)])
    assert overridden.get_parameter("use_sim_time").value is True
    assert not overridden.set_parameters([Parameter("use_sim_time", value=5)])[0].successful


def test_overrides_of_the_constructor(ros):
    node = ros.node(parameter_overrides=[Parameter("p", value=5), Parameter("unused", value=1)])
    assert not node.has_parameter("p")
    assert node.declare_parameter("p", 1).value == 5
    assert node.get_parameter("p").value == 5
    assert not node.has_parameter("unused")


def test_an_override_may_be_ignored(ros):
    node = ros.node(parameter_overrides=[Parameter("p", value=5)])
    assert node.declare_parameter("p", 1, ignore_override=True).value == 1


def test_an_override_of_the_wrong_type_is_an_error(ros):
    node = ros.node(parameter_overrides=[Parameter("p", value="text")])
    with pytest.raises(InvalidParameterTypeException):
        node.declare_parameter("p", 1)


def test_overrides_may_declare_their_parameters(ros):
    node = ros.node(parameter_overrides=[Parameter("p", value=5)], automatically_declare_parameters_from_overrides=True)
    assert node.get_parameter("p").value == 5


def test_only_a_name_is_deprecated(ros):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ros.node().declare_parameter("p")
    assert any("deprecated" in str(one.message) for one in caught)


def test_a_declaration_that_a_callback_rejects(ros):
    node = ros.node()
    node.add_on_set_parameters_callback(lambda parameters: SetParametersResult(successful=False, reason="no"))
    with pytest.raises(InvalidParameterValueException, match="no"):
        node.declare_parameter("p", 1)
    assert not node.has_parameter("p")
