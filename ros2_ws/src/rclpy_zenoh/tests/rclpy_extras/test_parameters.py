"""Parameters: what other nodes and the command line do to them. The rest is in tests/behaviour."""

import array

import pytest
from rcl_interfaces.msg import IntegerRange, Parameter, ParameterDescriptor, ParameterValue
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.parameter import Parameter as P
from rclpy.parameter import get_parameter_value, parameter_dict_from_yaml_file
from rclpy.parameter_client import AsyncParameterClient
from rclpy.parameter_event_handler import ParameterEventHandler


def set_remotely(ros, node, messages, service=SetParameters, name="set_parameters"):
    client = node.create_client(service, f"/target/{name}")
    assert client.wait_for_service(10)
    return ros.result(client.call_async(service.Request(parameters=messages)))


def test_a_type_that_is_none_is_refused_and_the_node_lives_on(ros):
    target, other = ros.node("target"), ros.node("other")
    target.declare_parameter("x", 1)
    bad = Parameter(name="x", value=ParameterValue(type=77))
    results = set_remotely(
        ros, other, [bad, Parameter(name="x", value=ParameterValue(type=2, integer_value=5))]
    ).results
    assert [result.successful for result in results] == [False, True]
    assert "77" in results[0].reason
    result = set_remotely(ros, other, [bad], SetParametersAtomically, "set_parameters_atomically").result
    assert not result.successful
    assert target.get_parameter("x").value == 5


def test_a_node_takes_its_parameters_from_files_and_values(new_ros, tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("/**: {ros__parameters: {a: 1, b: {c: [1.0, 2.0]}}}\n/ns/arm: {ros__parameters: {a: 2}}")
    ros = new_ros("--ros-args", "--params-file", str(path), "-p", "text:='5'", "-p", "other:late:=1")
    arm = ros.node("arm", namespace="/ns", automatically_declare_parameters_from_overrides=True)
    assert arm.get_parameter("a").value == 2
    assert list(arm.get_parameter("b.c").value) == [1.0, 2.0]
    assert arm.get_parameter("text").value == "5"
    assert not arm.has_parameter("late")


def test_the_range_is_checked_for_overrides_too(new_ros):
    from rclpy.exceptions import InvalidParameterValueException

    ros = new_ros("--ros-args", "-p", "speed:=11")
    descriptor = ParameterDescriptor(integer_range=[IntegerRange(from_value=0, to_value=10, step=5)])
    with pytest.raises(InvalidParameterValueException, match="out of range"):
        ros.node("a").declare_parameter("speed", 5, descriptor)


def test_declaring_does_not_change_the_callers_descriptor(ros):
    node, descriptor = ros.node(), ParameterDescriptor(description="both")
    node.declare_parameter("a", 1, descriptor)
    node.declare_parameter("b", 1.0, descriptor)
    assert [node.describe_parameter(name).name for name in "ab"] == ["a", "b"]
    assert [node.describe_parameter(name).type for name in "ab"] == [2, 3]
    assert descriptor == ParameterDescriptor(description="both")


def test_all_of_several_undeclared_parameters_are_named(ros):
    from rclpy.exceptions import ParameterNotDeclaredException

    with pytest.raises(ParameterNotDeclaredException, match=r"\['a', 'b'\]"):
        ros.node().set_parameters_atomically([P("a", value=1), P("b", value=2)])


def test_an_integer_that_does_not_fit_changes_nothing(ros):
    node = ros.node()
    node.declare_parameters("", [("a", 1), ("b", 1)])
    with pytest.raises(ValueError, match="integer_value"):
        node.set_parameters_atomically([P("a", value=2), P("b", value=2**63)])
    assert node.get_parameter("a").value == 1


@pytest.mark.parametrize(
    "value",
    [
        True,
        -5,
        2.5,
        "text",
        [b"\x01", b"\xff"],
        [True, False],
        [1, -2],
        [0.5],
        ["a", "b"],
        None,
        (1, 2),
        array.array("q", [3]),
    ],
)
def test_values_come_back_from_messages(value):
    sent = P("p", value=value)
    back = P.from_parameter_msg(sent.to_parameter_msg())
    assert back.type_ is sent.type_
    assert back.value == value or list(back.value) == list(value)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("1", 2),
        ("1.5", 3),
        ("true", 1),
        ("[1, 2]", 7),
        ("[a]", 9),
        ("[1, a]", 4),
        ("{a: 1}", 4),
        ("a: b: c", 4),
        ("", 4),
    ],
)
def test_a_text_is_given_the_type_that_it_looks_like(text, type_):
    assert get_parameter_value(text).type == type_


def test_a_file_is_loaded_into_another_node(ros, tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("/**: {ros__parameters: {a: 1, b: 1}}\ntarget: {ros__parameters: {b: 2}}")
    target, other = ros.node("target"), ros.node("other")
    target.declare_parameters("", [("a", 0), ("b", 0)])
    client = AsyncParameterClient(other, "/target")
    assert client.wait_for_services(10)
    response = ros.result(client.load_parameter_file(str(path), use_wildcard=True))
    assert all(result.successful for result in response.results)
    assert [target.get_parameter(name).value for name in "ab"] == [1, 2]
    with pytest.raises(RuntimeError, match="only for nodes"):
        parameter_dict_from_yaml_file(str(path), target_nodes=["nobody"])


def test_the_event_handler_sees_one_parameter_of_one_node(ros):
    target, other = ros.node("target", namespace="/ns"), ros.node("other", namespace="/ns")
    seen, events = [], []
    handler = ParameterEventHandler(other)
    handle = handler.add_parameter_callback("x", "target", lambda p: seen.append(p.value.integer_value))
    handler.add_parameter_event_callback(lambda event: events.append(event.node))
    ros.wait(lambda: target.count_subscribers("/parameter_events"))
    target.declare_parameter("y", 1)
    target.declare_parameter("x", 1)
    other.declare_parameter("x", 9)
    target.set_parameters([P("x", value=2)])
    ros.wait(lambda: len(seen) == 2 and "/ns/other" in events)
    handler.remove_parameter_callback(handle)
    with pytest.raises(RuntimeError, match="doesn't exist"):
        handler.remove_parameter_callback(handle)
    target.set_parameters([P("x", value=3)])
    ros.wait(lambda: events.count("/ns/target") == 4)
    assert seen == [1, 2]
    handler.destroy()
