"""Parameters of a node, seen from another node."""

from __future__ import annotations

import pytest
from rcl_interfaces.msg import IntegerRange, ParameterDescriptor, ParameterType, ParameterValue
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient


@pytest.fixture
def node(ros):
    """A node with parameters."""
    one = ros.node("target", namespace="/ns")
    one.declare_parameters(
        "",
        [
            ("number", 5, ParameterDescriptor(description="a number", integer_range=[IntegerRange(to_value=100)])),
            ("text", "x"),
            ("arm.speed", 0.5),
            ("arm.joint.names", ["a", "b"]),
            ("fixed", True, ParameterDescriptor(read_only=True)),
            ("loose", 1, ParameterDescriptor(dynamic_typing=True)),
        ],
    )
    return one


@pytest.fixture
def remote(ros, node):
    """A client of its parameters."""
    client = AsyncParameterClient(ros.node("asking"), "/ns/target")
    ros.spin_until(client.services_are_ready, "the parameter services")
    return client


def test_get(ros, remote):
    response = ros.result(remote.get_parameters(["text", "number", "arm.joint.names"]))
    text, number, joints = response.values
    assert (text.type, text.string_value) == (ParameterType.PARAMETER_STRING, "x")
    assert (number.type, number.integer_value) == (ParameterType.PARAMETER_INTEGER, 5)
    assert list(joints.string_array_value) == ["a", "b"]


def test_getting_one_that_is_unknown_gets_nothing(ros, remote):
    assert list(ros.result(remote.get_parameters(["number", "nobody"])).values) == []


def test_get_types(ros, remote):
    types = ros.result(remote.get_parameter_types(["text", "arm.speed", "fixed"])).types
    assert list(types) == [
        ParameterType.PARAMETER_STRING,
        ParameterType.PARAMETER_DOUBLE,
        ParameterType.PARAMETER_BOOL,
    ]


def test_describe(ros, remote):
    number, fixed = ros.result(remote.describe_parameters(["number", "fixed"])).descriptors
    assert (number.name, number.type, number.description) == ("number", ParameterType.PARAMETER_INTEGER, "a number")
    assert number.integer_range[0].to_value == 100
    assert fixed.read_only
    assert not number.read_only


def test_list_everything(ros, remote):
    result = ros.result(remote.list_parameters()).result
    assert {"number", "text", "arm.speed", "arm.joint.names", "use_sim_time"} <= set(result.names)
    assert {"arm", "arm.joint"} <= set(result.prefixes)


def test_list_by_prefix_and_depth(ros, remote):
    assert sorted(ros.result(remote.list_parameters(["arm"])).result.names) == ["arm.joint.names", "arm.speed"]
    assert list(ros.result(remote.list_parameters(["arm"], 1)).result.names) == ["arm.speed"]
    assert list(ros.result(remote.list_parameters(["nobody"])).result.names) == []


def test_set(ros, node, remote):
    results = ros.result(
        remote.set_parameters([Parameter("number", value=7), Parameter("text", value="new").to_parameter_msg()])
    ).results
    assert [result.successful for result in results] == [True, True]
    assert node.get_parameter("number").value == 7
    assert node.get_parameter("text").value == "new"


def test_setting_what_is_refused_says_why(ros, node, remote):
    wrong = [
        Parameter("number", value=101),
        Parameter("number", value="text"),
        Parameter("fixed", value=False),
        Parameter("nobody", value=1),
        Parameter("text", value="fine"),
    ]
    results = ros.result(remote.set_parameters(wrong)).results
    assert [result.successful for result in results] == [False, False, False, False, True]
    assert all(result.reason for result in results[:4])
    assert [node.get_parameter(name).value for name in ("number", "fixed", "text")] == [5, True, "fine"]


def test_set_atomically(ros, node, remote):
    both = [Parameter("number", value=8), Parameter("fixed", value=False)]
    result = ros.result(remote.set_parameters_atomically(both)).result
    assert not result.successful
    assert node.get_parameter("number").value == 5
    assert ros.result(remote.set_parameters_atomically(both[:1])).result.successful
    assert node.get_parameter("number").value == 8


def test_delete(ros, node, remote):
    results = ros.result(remote.delete_parameters(["loose", "number"])).results
    assert [result.successful for result in results] == [True, False]
    assert not node.has_parameter("loose")
    assert node.has_parameter("number")


def test_load_a_file(ros, node, remote, tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("/ns/target:\n  ros__parameters:\n    number: 9\n    arm:\n      speed: 1.5\n")
    results = ros.result(remote.load_parameter_file(str(path))).results
    assert [result.successful for result in results] == [True, True]
    assert node.get_parameter("number").value == 9
    assert node.get_parameter("arm.speed").value == 1.5


def test_plain_service_clients(ros, node):
    asking = ros.node("asking")
    get = asking.create_client(GetParameters, "/ns/target/get_parameters")
    change = asking.create_client(SetParameters, "/ns/target/set_parameters")
    ros.spin_until(lambda: get.service_is_ready() and change.service_is_ready(), "the services")
    value = ParameterValue(type=ParameterType.PARAMETER_INTEGER, integer_value=11)
    request = SetParameters.Request(parameters=[ParameterMessage(name="number", value=value)])
    assert ros.result(change.call_async(request)).results[0].successful
    assert ros.result(get.call_async(GetParameters.Request(names=["number"]))).values[0].integer_value == 11


def test_a_node_may_have_no_parameter_services(ros):
    node = ros.node("silent", start_parameter_services=False)
    node.declare_parameter("p", 1)
    client = ros.node("asking").create_client(GetParameters, "/silent/get_parameters")
    ros.spin_for(0.2)
    assert not client.service_is_ready()


def test_waiting_for_a_node_that_is_not_there(ros):
    client = AsyncParameterClient(ros.node("asking"), "/nobody")
    assert client.wait_for_services(timeout_sec=0.1) is False


def test_parameters_of_another_process(ros, peer):
    peer("parameters.py", "--ros-args", "-r", "__node:=renamed", "-p", "number:=77")
    remote = AsyncParameterClient(ros.node("asking"), "/renamed")
    ros.spin_until(remote.services_are_ready, "the parameter services")
    assert ros.result(remote.get_parameters(["number"])).values[0].integer_value == 77
    assert ros.result(remote.set_parameters([Parameter("number", value=78)])).results[0].successful
    assert ros.result(remote.get_parameters(["number"])).values[0].integer_value == 78
