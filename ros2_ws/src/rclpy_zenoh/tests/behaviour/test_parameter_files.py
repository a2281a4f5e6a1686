"""Parameters from the command line and from files."""

from __future__ import annotations

import pytest
import rclpy
from harness import Ros
from rclpy.exceptions import ParameterNotDeclaredException

WILDCARDS = """
/**:
  ros__parameters:
    everywhere: 1
/**:
  second:
    ros__parameters:
      second_in_any_namespace: 2
/**/second:
  ros__parameters:
    second_in_any_namespace_too: 3
/*:
  second:
    ros__parameters:
      one_level_deep: 4
/ns/*:
  ros__parameters:
    anyone_in_ns: 5
ns:
  second:
    ros__parameters:
      exactly: 6
"*":
  ros__parameters:
    anyone_at_root: 7
second:
  ros__parameters:
    second_at_root: 8
/**/other:
  ros__parameters:
    other_node: 9
/nsX/*:
  ros__parameters:
    other_namespace: 10
"""


@pytest.fixture
def started(domain):
    """Starts the harness with ROS arguments."""
    running: list[Ros] = []

    def start(*args: str) -> Ros:
        running.append(Ros(["program", "--ros-args", *args]))
        return running[-1]

    yield start
    for one in running:
        one.__exit__()


@pytest.fixture
def file(tmp_path):
    """Writes a parameter file."""

    def write(text: str, name: str = "params.yaml") -> str:
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


def declared(ros, name="tested", **options):
    """All parameters that the overrides of a node declare."""
    node = ros.node(name, automatically_declare_parameters_from_overrides=True, **options)
    return {
        name: node.get_parameter(name).value
        for name in node.list_parameters([], 0).names
        if name not in ("use_sim_time", "start_type_description_service") and not name.startswith("qos_overrides")
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-3", -3),
        ("0x10", 16),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("off", False),
        ("text", "text"),
        ("'5'", "5"),
        ('"true"', "true"),
        ("[1, 2, 3]", [1, 2, 3]),
        ("[0.5, 1.5]", [0.5, 1.5]),
        ("[true, false]", [True, False]),
        ("[a, 'b c']", ["a", "b c"]),
        ("some/path", "some/path"),
    ],
)
def test_values_on_the_command_line(started, text, value):
    found = declared(started("-p", f"p:={text}"))["p"]
    assert (list(found) if isinstance(value, list) else found) == value
    assert isinstance(value, list) or type(found) is type(value)


def test_an_override_waits_for_its_declaration(started):
    node = started("-p", "p:=5", "-p", "deep.er.q:=x").node()
    assert not node.has_parameter("p")
    assert node.declare_parameter("p", 1).value == 5
    assert node.declare_parameter("deep.er.q", "default").value == "x"


def test_a_value_for_one_node(started):
    ros = started("-p", "first:p:=1", "-p", "q:=2")
    assert declared(ros, "first") == {"p": 1, "q": 2}
    assert declared(ros, "second") == {"q": 2}


def test_the_last_value_wins(started):
    assert declared(started("-p", "p:=1", "-p", "p:=2")) == {"p": 2}


def test_arguments_of_one_node_win_over_those_of_the_program(started):
    ros = started("-p", "p:=1", "-p", "q:=1")
    assert declared(ros, cli_args=["--ros-args", "-p", "p:=2"]) == {"p": 2, "q": 1}


def test_a_node_may_ignore_the_program_s_arguments(started):
    assert declared(started("-p", "p:=1"), use_global_arguments=False) == {}


def test_a_file(started, file):
    path = file(
        """
        tested:
          ros__parameters:
            number: 5
            ratio: 0.5
            whole: 2.0
            flag: true
            text: hello
            quoted: "5"
            list: [1, 2]
            texts: [a, b]
            nested:
              inner:
                value: 7
              dotted.name: 8
        other:
          ros__parameters:
            number: 6
        """
    )
    found = declared(started("--params-file", path))
    assert {name: list(value) if name.startswith(("list", "texts")) else value for name, value in found.items()} == {
        "number": 5,
        "ratio": 0.5,
        "whole": 2.0,
        "flag": True,
        "text": "hello",
        "quoted": "5",
        "list": [1, 2],
        "texts": ["a", "b"],
        "nested.inner.value": 7,
        "nested.dotted.name": 8,
    }
    assert type(found["whole"]) is float


def test_wildcards_for_a_node_in_a_namespace(started, file):
    found = declared(started("--params-file", file(WILDCARDS)), "second", namespace="/ns")
    assert found == {
        "everywhere": 1,
        "second_in_any_namespace": 2,
        "second_in_any_namespace_too": 3,
        "one_level_deep": 4,
        "anyone_in_ns": 5,
        "exactly": 6,
    }


def test_wildcards_for_a_node_without_a_namespace(started, file):
    assert declared(started("--params-file", file(WILDCARDS)), "second") == {
        "everywhere": 1,
        "second_in_any_namespace": 2,
        "second_in_any_namespace_too": 3,
        "anyone_at_root": 7,
        "second_at_root": 8,
    }


def test_a_complicated_wildcard(started, file):
    path = file("/**/foo/*/bar:\n  tested:\n    ros__parameters:\n      p: 1\n")
    ros = started("--params-file", path)
    assert declared(ros, namespace="/a/b/foo/d/bar") == {"p": 1}
    assert declared(ros, namespace="/a/b/foo/bar") == {}


def test_later_sections_and_later_files_win(started, file):
    first = file("/**:\n  ros__parameters: {p: 1, q: 1, r: 1}\ntested:\n  ros__parameters: {q: 2, r: 2}\n", "1.yaml")
    second = file("tested:\n  ros__parameters: {r: 3}\n", "2.yaml")
    assert declared(started("--params-file", first, "--params-file", second)) == {"p": 1, "q": 2, "r": 3}


def test_a_value_after_a_file_wins(started, file):
    path = file("/**:\n  ros__parameters: {p: 1, q: 1}\n")
    assert declared(started("--params-file", path, "-p", "p:=2")) == {"p": 2, "q": 1}


def test_a_file_for_one_node_in_its_own_arguments(ros, file):
    path = file("/**:\n  ros__parameters: {p: 1}\n")
    assert declared(ros, cli_args=["--ros-args", "--params-file", path]) == {"p": 1}
    assert declared(ros, "other") == {}


def test_a_file_without_a_section_for_the_node(started, file):
    node = started("--params-file", file("other:\n  ros__parameters: {p: 1}\n")).node()
    assert node.declare_parameter("p", 5).value == 5
    with pytest.raises(ParameterNotDeclaredException):
        node.get_parameter("q")


@pytest.mark.parametrize(
    "text",
    [
        "tested: [unclosed",
        "tested:\n  ros__parameters:\n    p: [1, text]\n",
        "tested:\n  p: 1\n",
        "- a\n- list\n",
    ],
    ids=["no YAML", "mixed list", "no ros__parameters", "a list"],
)
@pytest.mark.usefixtures("domain")
def test_a_malformed_file_is_an_error(file, text):
    path = file(text)
    with pytest.raises(RuntimeError):  # noqa: PT012 - either of the two may find it
        rclpy.init(args=["program", "--ros-args", "--params-file", path])
        rclpy.create_node("tested")


@pytest.mark.usefixtures("domain")
def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(RuntimeError):  # noqa: PT012
        rclpy.init(args=["program", "--ros-args", "--params-file", str(tmp_path / "missing.yaml")])
        rclpy.create_node("tested")


@pytest.mark.parametrize("argument", ["p", "p=5", ":=5"])
@pytest.mark.usefixtures("domain")
def test_a_malformed_value_is_an_error(argument):
    with pytest.raises(RuntimeError):
        rclpy.init(args=["program", "--ros-args", "-p", argument])


def test_use_sim_time_from_the_command_line(started):
    assert started("-p", "use_sim_time:=true").node().get_parameter("use_sim_time").value is True
