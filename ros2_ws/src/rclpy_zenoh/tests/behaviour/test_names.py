"""Names, namespaces and remaps."""

from __future__ import annotations

import pytest
from example_interfaces.srv import AddTwoInts
from harness import Ros
from rclpy.exceptions import (
    InvalidNamespaceException,
    InvalidNodeNameException,
    InvalidServiceNameException,
    InvalidTopicNameException,
)
from std_msgs.msg import Int32


@pytest.fixture
def remapped(domain):
    """A harness whose process arguments are given by the test."""
    started: list[Ros] = []

    def start(*args: str) -> Ros:
        started.append(Ros(["program", "--ros-args", *args]))
        return started[-1]

    yield start
    for one in started:
        one.__exit__()


@pytest.mark.parametrize(
    ("namespace", "expected"), [(None, "/"), ("", "/"), ("/", "/"), ("a", "/a"), ("/a", "/a"), ("/a/b", "/a/b")]
)
def test_namespaces(ros, namespace, expected):
    node = ros.node("named", namespace=namespace)
    assert node.get_name() == "named"
    assert node.get_namespace() == expected
    assert node.get_fully_qualified_name() == expected.rstrip("/") + "/named"


@pytest.mark.parametrize("name", ["", "with space", "1st", "a/b", "a-b", "ü"])
def test_bad_node_names(ros, name):
    with pytest.raises(InvalidNodeNameException):
        ros.node(name)


@pytest.mark.parametrize("namespace", ["/a b", "/a//b", "/a/", "/1a", "/a?"])
def test_bad_namespaces(ros, namespace):
    with pytest.raises(InvalidNamespaceException):
        ros.node("named", namespace=namespace)


@pytest.mark.parametrize("name", ["chatter?", "/chatter/42_is_the_answer", "a//b", "a b", "trailing/"])
def test_bad_topic_names(ros, name):
    node = ros.node()
    with pytest.raises(InvalidTopicNameException):
        node.create_publisher(Int32, name, 1)
    with pytest.raises(InvalidTopicNameException):
        node.create_subscription(Int32, name, print, 1)


@pytest.mark.parametrize("name", ["add?", "/add/42", "a b"])
def test_bad_service_names(ros, name):
    node = ros.node()
    with pytest.raises(InvalidServiceNameException):
        node.create_client(AddTwoInts, name)
    with pytest.raises(InvalidServiceNameException):
        node.create_service(AddTwoInts, name, lambda request, response: response)


def test_an_unknown_substitution_is_a_value_error(ros):
    node = ros.node()
    with pytest.raises(ValueError, match="unknown substitution"):
        node.create_publisher(Int32, "chatter/{bad_sub}", 1)
    with pytest.raises(ValueError, match="unknown substitution"):
        node.create_client(AddTwoInts, "add/{bad_sub}")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("relative", "/ns/relative"),
        ("deep/er", "/ns/deep/er"),
        ("/absolute", "/absolute"),
        ("~", "/ns/named"),
        ("~/private", "/ns/named/private"),
        ("{node}/x", "/ns/named/x"),
        ("{ns}/x", "/ns/x"),
    ],
)
def test_expansion(ros, name, expected):
    node = ros.node("named", namespace="/ns")
    assert node.resolve_topic_name(name) == expected
    assert node.resolve_service_name(name) == expected
    assert node.create_publisher(Int32, name, 1).topic_name == expected
    assert node.create_subscription(Int32, name, print, 1).topic_name == expected
    assert node.create_service(AddTwoInts, name, lambda request, response: response).service_name == expected


def test_name_and_namespace_from_the_command_line(remapped):
    node = remapped("-r", "__node:=other", "-r", "__ns:=/elsewhere").node("named", namespace="/ns")
    assert node.get_fully_qualified_name() == "/elsewhere/other"


def test_a_node_may_ignore_the_command_line(remapped):
    ros = remapped("-r", "__node:=other", "-r", "a:=b")
    node = ros.node("named", use_global_arguments=False)
    assert node.get_name() == "named"
    assert node.resolve_topic_name("a") == "/a"


def test_a_rule_for_one_node_leaves_the_others(remapped):
    ros = remapped("-r", "first:__node:=renamed", "-r", "second:a:=b")
    assert ros.node("first").get_name() == "renamed"
    second, third = ros.node("second"), ros.node("third")
    assert second.get_name() == "second"
    assert second.resolve_topic_name("a") == "/b"
    assert third.resolve_topic_name("a") == "/a"


def test_arguments_of_one_node(ros):
    node = ros.node("named", namespace="/ns", cli_args=["--ros-args", "-r", "__ns:=/foo/bar", "-r", "a:=b"])
    assert node.get_namespace() == "/foo/bar"
    assert node.resolve_topic_name("a") == "/foo/bar/b"
    assert ros.node("other").resolve_topic_name("a") == "/a"


@pytest.mark.parametrize("args", [["-r", "not-a-remap"], ["--my-custom-flag"]])
def test_bad_arguments_of_one_node(ros, args):
    with pytest.raises(RuntimeError):
        ros.node("named", cli_args=["--ros-args", *args])


def test_remapping_of_topics_and_services(remapped):
    ros = remapped("-r", "a:=b", "--remap", "/abs:=/other/abs", "-r", "~/p:=q")
    node = ros.node("named", namespace="/ns")
    assert node.resolve_topic_name("a") == "/ns/b"
    assert node.resolve_topic_name("a", only_expand=True) == "/ns/a"
    assert node.resolve_topic_name("/abs") == "/other/abs"
    assert node.resolve_topic_name("~/p") == "/ns/q"
    assert node.resolve_service_name("a") == "/ns/b"
    assert node.resolve_service_name("a", only_expand=True) == "/ns/a"
    assert node.create_publisher(Int32, "a", 1).topic_name == "/ns/b"
    assert node.create_service(AddTwoInts, "a", lambda request, response: response).service_name == "/ns/b"


def test_the_first_rule_that_fits_wins(remapped):
    node = remapped("-r", "a:=first", "-r", "a:=second").node()
    assert node.resolve_topic_name("a") == "/first"


def test_rules_are_not_applied_twice(remapped):
    node = remapped("-r", "a:=b", "-r", "b:=c").node()
    assert node.resolve_topic_name("a") == "/b"
    assert node.resolve_topic_name("b") == "/c"


def test_topic_and_service_rules_may_be_kept_apart(remapped):
    node = remapped("-r", "rostopic://a:=topic", "-r", "rosservice://a:=service").node()
    assert node.resolve_topic_name("a") == "/topic"
    assert node.resolve_service_name("a") == "/service"


def test_messages_go_over_the_remapped_topic(remapped):
    ros = remapped("-r", "in:=shared", "-r", "out:=shared")
    node = ros.node()
    heard: list[int] = []
    node.create_subscription(Int32, "in", lambda message: heard.append(message.data), 10)
    publisher = node.create_publisher(Int32, "out", 10)
    ros.match(publisher)
    publisher.publish(Int32(data=7))
    ros.spin_until(lambda: heard == [7], "the message")


def test_requests_go_to_the_remapped_service(remapped):
    ros = remapped("-r", "plus:=sum", "-r", "add:=sum")
    node = ros.node()

    def add(request, response):
        response.sum = request.a + request.b
        return response

    node.create_service(AddTwoInts, "plus", add)
    client = node.create_client(AddTwoInts, "add")
    ros.spin_until(client.service_is_ready, "the service")
    assert ros.result(client.call_async(AddTwoInts.Request(a=2, b=3))).sum == 5


def test_two_nodes_of_one_name_are_allowed(ros):
    first, second = ros.node("twin"), ros.node("twin")
    ros.spin_until(lambda: first.get_node_names().count("twin") == 2, "both in the graph")
    assert second.get_fully_qualified_name() == first.get_fully_qualified_name()
