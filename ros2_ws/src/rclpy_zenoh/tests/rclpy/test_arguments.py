"""Arguments after --ros-args, and what they do to names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rclpy._arguments import Arguments, Remap
from rclpy._node_names import NodeNames
from rclpy._rclpy_pybind11 import RCLInvalidROSArgsError, UnknownROSArgsError
from rclpy.exceptions import InvalidNamespaceException, InvalidNodeNameException
from rclpy.logging import LoggingSeverity, get_logger, get_logger_effective_level
from rclpy.utilities import remove_ros_args
from std_msgs.msg import String
from std_srvs.srv import Trigger


def names(name: str, namespace: str, *args: str) -> NodeNames:
    return NodeNames(name, namespace, [Arguments.parse(["--ros-args", *args])])


def test_ros_sections_are_taken_out():
    line = ["prog", "--flag", "--ros-args", "-r", "a:=b", "--", "file", "--ros-args", "-p", "x:=1"]
    assert remove_ros_args(line) == ["prog", "--flag", "file"]


def test_everything_is_read():
    line = (
        "--ros-args -r a:=b --remap n:c:=d -p x:=1 --param n:y:=[1,2] --params-file f.yaml --log-level debug "
        "--log-level a.b:=WARN --disable-rosout-logs -e /enclave --log-config-file x --enable-stdout-logs"
    )
    arguments = Arguments.parse(line.split())
    assert arguments.remaps == [Remap(None, "any", "a", "b"), Remap("n", "any", "c", "d")]
    assert arguments.param_overrides == [("value", "", "x", "1"), ("value", "n", "y", "[1,2]"), ("file", "f.yaml")]
    assert arguments.log_levels == [("", "debug"), ("a.b", "WARN")]
    assert (arguments.rosout, arguments.enclave, arguments.remaining) == (False, "/enclave", [])


@pytest.mark.parametrize(
    "line",
    ["-r", "-r a", "-r :=b", "-r a:=", "-r a:=b-c", "-r __node:=a/b", "-r __ns:=x", "-p", "-p x", "-p :=1", "-r --"],
)
def test_malformed_arguments(line):
    with pytest.raises(RCLInvalidROSArgsError):
        Arguments.parse(["--ros-args", *line.split()])


def test_unknown_arguments_are_all_named():
    with pytest.raises(UnknownROSArgsError, match="'--what', 'x'"):
        Arguments.parse(["--ros-args", "--what", "x"])


def test_unknown_log_level():
    with pytest.raises(RCLInvalidROSArgsError, match="DEBUG"):
        Arguments.parse(["--ros-args", "--log-level", "loud"]).apply_log_levels()


def test_log_levels_are_applied():
    Arguments.parse(["--ros-args", "--log-level", "test_args.child:=debug"]).apply_log_levels()
    assert get_logger_effective_level("test_args.child.deeper") == LoggingSeverity.DEBUG
    get_logger("test_args.child").set_level(LoggingSeverity.UNSET)
    assert get_logger_effective_level("test_args.child.deeper") == LoggingSeverity.INFO


@given(st.lists(st.text(max_size=12), max_size=8))
def test_any_command_line_is_read_or_refused(line):
    try:
        arguments = Arguments.parse(line)
    except (RCLInvalidROSArgsError, UnknownROSArgsError):
        return
    assert set(arguments.remaining) <= set(line)


@pytest.mark.parametrize(
    ("rules", "name", "namespace"),
    [
        ("", "cam", "/robot"),
        ("-r __node:=eye", "eye", "/robot"),
        ("-r __name:=eye", "eye", "/robot"),
        ("-r __ns:=/lab", "cam", "/lab"),
        ("-r cam:__node:=eye -r __node:=other", "eye", "/robot"),
        ("-r arm:__node:=eye", "cam", "/robot"),
        ("-r __node:=eye -r cam:__ns:=/lab", "eye", "/lab"),
    ],
)
def test_node_names(rules, name, namespace):
    resolved = names("cam", "robot", *rules.split())
    assert (resolved.name, resolved.namespace) == (name, namespace)


@pytest.mark.parametrize(
    ("rule", "topic", "expected"),
    [
        ("image:=picture", "image", "/robot/picture"),
        ("image:=/picture", "image", "/picture"),
        ("/robot/image:=x", "image", "/robot/x"),
        ("image:=x", "/image", "/image"),
        ("~/image:=x", "~/image", "/robot/x"),
        ("image:=~/x", "image", "/robot/cam/x"),
        ("cam:image:=x", "image", "/robot/x"),
        ("arm:image:=x", "image", "/robot/image"),
        ("rostopic://image:=x", "image", "/robot/x"),
        ("rosservice://image:=x", "image", "/robot/image"),
        ("/robot/cam/image:=/y", "~/image", "/y"),
        ("imag:=x", "image", "/robot/image"),
    ],
)
def test_remapped_topics(rule, topic, expected):
    assert names("cam", "/robot", "-r", rule).resolve(topic) == expected
    assert names("cam", "/robot", "-r", rule).resolve(topic, only_expand=True) == names("cam", "/robot").resolve(topic)


def test_first_rule_counts_and_results_are_not_remapped_again():
    both = names("cam", "/", "-r", "a:=b", "-r", "a:=c", "-r", "b:=d")
    assert both.resolve("a") == "/b"


def test_service_rules():
    resolved = names("cam", "/", "-r", "rosservice://work:=do", "-r", "rostopic://work:=topic")
    assert resolved.resolve("work", is_service=True) == "/do"
    assert resolved.resolve("work") == "/topic"


def test_rules_name_the_node_as_it_is_called():
    resolved = names("cam", "/", "-r", "__node:=eye", "-r", "eye:image:=x", "-r", "cam:depth:=y")
    assert resolved.resolve("image") == "/x"
    assert resolved.resolve("depth") == "/depth"


@pytest.mark.parametrize(
    ("name", "namespace", "error"),
    [("a b", "", InvalidNodeNameException), ("", "", InvalidNodeNameException), ("a", "1", InvalidNamespaceException)],
)
def test_wrong_names(name, namespace, error):
    with pytest.raises(error):
        names(name, namespace)


def test_own_arguments_come_first_and_global_ones_can_be_ignored(make_node, context):
    context._arguments = Arguments.parse(["--ros-args", "-r", "a:=of_all", "-r", "b:=of_all_b"])
    node = make_node("own", cli_args=["--ros-args", "-r", "a:=mine"])
    assert node.create_publisher(String, "a", 1).topic_name == "/mine"
    assert node.create_client(Trigger, "b").service_name == "/of_all_b"
    alone = make_node("alone", cli_args=["-r", "a:=mine"], use_global_arguments=False)
    assert alone.resolve_topic_name("a") == "/mine"
    assert alone.resolve_topic_name("b") == "/b"


def test_parameters_of_the_command_line_reach_the_node(make_node):
    node = make_node("n", cli_args=["-p", "speed:=1.5", "-p", "other:speed:=2.5"])
    assert node.declare_parameter("speed", 0.0).value == 1.5
