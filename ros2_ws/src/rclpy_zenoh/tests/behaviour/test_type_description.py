"""What a node tells of the types that it uses."""

from __future__ import annotations

import pytest
from example_interfaces.action import Fibonacci
from example_interfaces.srv import AddTwoInts
from rclpy.action import ActionServer
from rclpy.parameter import Parameter
from std_msgs.msg import String
from type_description_interfaces.msg import FieldType
from type_description_interfaces.srv import GetTypeDescription

STRING = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"
FIBONACCI = "RIHS01_9508051da1ea4658de144b09bd0690ff3de52104683d847aed764d2915906f51"
ADD_TWO_INTS = "RIHS01_e118de6bf5eeb66a2491b5bda11202e7b68f198d6f67922cf30364858239c81a"


@pytest.fixture
def node(ros):
    return ros.node("described", namespace="/ns")


@pytest.fixture
def describe(ros, node):
    """The answer about a hash."""
    client = ros.node("asking").create_client(GetTypeDescription, "/ns/described/get_type_description")
    ros.spin_until(client.service_is_ready, "the service")

    def ask(type_name, type_hash, **more):
        request = GetTypeDescription.Request(type_name=type_name, type_hash=type_hash, **more)
        return ros.result(client.call_async(request))

    return ask


def test_a_message_is_described(node, describe):
    node.create_publisher(String, "topic", 1)
    answer = describe("std_msgs/msg/String", STRING)
    assert (answer.successful, answer.failure_reason) == (True, "")
    own = answer.type_description.type_description
    assert own.type_name == "std_msgs/msg/String"
    assert [(field.name, field.type.type_id, field.default_value) for field in own.fields] == [
        ("data", FieldType.FIELD_TYPE_STRING, "")
    ]
    assert list(answer.type_description.referenced_type_descriptions) == []
    [source] = answer.type_sources
    assert (source.type_name, source.encoding) == ("std_msgs/msg/String", "msg")
    assert "string data" in source.raw_file_contents


def test_the_parts_of_a_service_are_described_with_it(node, describe):
    node.create_service(AddTwoInts, "add", lambda request, response: response)
    answer = describe("example_interfaces/srv/AddTwoInts", ADD_TWO_INTS)
    assert answer.successful
    name = "example_interfaces/srv/AddTwoInts"
    own = answer.type_description.type_description
    assert [field.type.nested_type_name for field in own.fields] == [
        f"{name}_Request",
        f"{name}_Response",
        f"{name}_Event",
    ]
    described = [other.type_name for other in answer.type_description.referenced_type_descriptions]
    assert described == sorted(described)
    assert {f"{name}_Request", "builtin_interfaces/msg/Time", "service_msgs/msg/ServiceEventInfo"} <= set(described)
    sources = {source.type_name: source for source in answer.type_sources}
    assert set(sources) == {name, *described}
    assert sources[name].encoding == "srv"
    assert (sources[f"{name}_Event"].encoding, sources[f"{name}_Event"].raw_file_contents) == ("implicit", "")


def test_sources_are_left_out_on_request(node, describe):
    node.create_subscription(String, "topic", print, 1)
    answer = describe("std_msgs/msg/String", STRING, include_type_sources=False)
    assert answer.successful
    assert list(answer.type_sources) == []


def test_a_type_that_the_node_does_not_use_any_more_is_unknown(node, describe):
    publisher = node.create_publisher(String, "topic", 1)
    assert describe("std_msgs/msg/String", STRING).successful
    node.destroy_publisher(publisher)
    answer = describe("std_msgs/msg/String", STRING)
    assert (answer.successful, answer.failure_reason) == (False, "Type not currently in use by this node")


@pytest.mark.parametrize("text", ["", "RIHS01_", "RIHS01_" + "g" * 64, "df66"])
def test_what_is_no_hash_is_refused(describe, text):
    answer = describe("std_msgs/msg/String", text)
    assert (answer.successful, answer.failure_reason) == (False, "Failed to parse type hash")


def test_the_service_can_be_declined(ros):
    declined = Parameter("start_type_description_service", value=False)
    quiet, other = ros.node("quiet", parameter_overrides=[declined]), ros.node("other")
    assert quiet.get_parameter("start_type_description_service").value is False
    ros.spin_until(
        lambda: "/other/get_type_description" in dict(other.get_service_names_and_types()), "the other node's service"
    )
    assert "/quiet/get_type_description" not in dict(other.get_service_names_and_types())


def test_an_action_is_described(ros, node, describe):
    server = ActionServer(node, Fibonacci, "count", lambda goal: Fibonacci.Result())
    answer = describe("example_interfaces/action/Fibonacci", FIBONACCI)
    assert answer.successful
    own = answer.type_description.type_description
    assert [field.name for field in own.fields] == [
        "goal",
        "result",
        "feedback",
        "send_goal_service",
        "get_result_service",
        "feedback_message",
    ]
    server.destroy()
