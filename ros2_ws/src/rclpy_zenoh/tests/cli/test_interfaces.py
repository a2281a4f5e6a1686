"""`interface list` and `interface show`, and types by name; no graph is needed."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from rclpy_zenoh import overlay
from rclpy_zenoh.cli import main, types
from rclpy_zenoh.cli.errors import UsageError
from rclpy_zenoh.cli.names import instead_of
from rclpy_zenoh.interfaces import get_class, registry


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["interface", *words]) == 0
    return capsys.readouterr().out


def test_a_definition_is_shown_with_its_nested_types_indented(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, "show", "geometry_msgs/msg/PoseStamped", "--no-comments") == (
        "std_msgs/Header header\n"
        "\tbuiltin_interfaces/Time stamp\n"
        "\t\tint32 sec\n"
        "\t\tuint32 nanosec\n"
        "\tstring frame_id\n"
        "Pose pose\n"
        "\tPoint position\n"
        "\t\tfloat64 x\n\t\tfloat64 y\n\t\tfloat64 z\n"
        "\tQuaternion orientation\n"
        "\t\tfloat64 x 0\n\t\tfloat64 y 0\n\t\tfloat64 z 0\n\t\tfloat64 w 1\n"
    )


def test_comments_of_the_type_itself_are_shown_and_those_of_nested_types_where_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    plain = shown(capsys, "show", "workshop_interfaces/srv/TakePicture")
    assert plain.startswith("# A fresh picture of the workshop.\n\nstring BENCH=")
    assert "\t#" not in plain
    everything = shown(capsys, "show", "workshop_interfaces/srv/TakePicture", "--all-comments")
    assert "JobStatus status\n\t# " in everything
    assert "#" not in shown(capsys, "show", "workshop_interfaces/srv/TakePicture", "--no-comments")


def test_services_actions_constants_and_bounds_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, "show", "std_srvs/srv/SetBool", "--no-comments") == (
        "bool data\n---\nbool success\nstring message\n"
    )
    assert shown(capsys, "show", "example_interfaces/action/Fibonacci", "--no-comments").count("---\n") == 2
    assert 'string ASK="ask"\n' in shown(capsys, "show", "workshop_interfaces/action/Drill")
    assert "float64[<=3] dimensions\n" in shown(capsys, "show", "shape_msgs/msg/SolidPrimitive", "--no-comments")


def test_interfaces_of_all_packages_can_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for package, kinds in registry().packages.items():
        for kind, names in kinds.items():
            shown(capsys, "show", f"{package}/{kind}/{names[-1]}")


def test_all_interfaces_are_listed_by_kind(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, "list").splitlines()
    assert [line for line in lines if not line.startswith("    ")] == ["Messages:", "Services:", "Actions:"]
    assert "    std_msgs/msg/String" in lines
    assert "    workshop_interfaces/action/Drill" in lines
    services = shown(capsys, "list", "-s").splitlines()
    assert services[0] == "Services:"
    assert all("/srv/" in line for line in services[1:])


def test_the_distribution_is_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Pose2D" in shown(capsys, "list", "--distro", "jazzy")
    assert "geometry_msgs/msg/Pose2D" not in shown(capsys, "list", "--distro", "lyrical")
    assert main(["interface", "list", "--distro", "foxy"]) == 2
    assert "allowed are jazzy, kilted, lyrical" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "part"),
    [
        (
            "std_msgs/msg/Strin",
            "There is no message type 'std_msgs/msg/Strin'; similar message types are std_msgs/msg/Str",
        ),
        ("std_srvs/srv/Triger", "similar service types are std_srvs/srv/Trigger"),
        ("String", "write it as package/msg/Name"),
        ("std_msgs/String", "write it as package/msg/Name"),
        ("a/b/c/d", "write it as package/msg/Name"),
        ("../../etc/msg/passwd", "write it as package/msg/Name"),
    ],
)
def test_an_unknown_type_is_answered_with_similar_ones(
    name: str, part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["interface", "show", name]) == 2
    assert part in capsys.readouterr().err


def test_a_class_is_found_by_its_long_and_its_short_name() -> None:
    assert types.find_class("std_msgs/msg/String", "msg") is types.find_class("std_msgs/String", "msg")
    assert types.find_class("std_srvs/Trigger", "srv") is get_class("std_srvs/srv/Trigger")
    assert types.type_name(types.find_class("std_srvs/Trigger", "srv")) == "std_srvs/srv/Trigger"


@pytest.mark.parametrize(
    ("name", "kind", "part"),
    [
        ("std_srvs/srv/Trigger", "msg", "is a type of service and not of message"),
        ("std_msgs/msg/Nothing", "msg", "There is no message type"),
        ("os/msg/path", "msg", "There is no message type 'os/msg/path'"),
        ("no_pkg/X", "action", "There is no action type 'no_pkg/action/X'"),
        ("String", "msg", "'String' is no message type: write it as package/msg/Name."),
        ("std_msgs/msg/__all__", "msg", "There is no message type"),
    ],
)
def test_a_wrong_type_is_refused(name: str, kind: str, part: str) -> None:
    with pytest.raises(UsageError, match=part.replace("?", r"\?")):
        types.find_class(name, kind)


def test_with_a_real_ros_2_names_and_texts_are_those_of_its_index(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runtime = ModuleType("rosidl_runtime_py")
    runtime.get_message_interfaces = lambda: {"my_msgs": ["msg/B", "msg/A"]}  # type: ignore[attr-defined]
    (tmp_path / "A.msg").write_text("int32 x\n")
    runtime.get_interface_path = lambda name: str(tmp_path / f"{name.split('/')[-1]}.msg")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "rosidl_runtime_py", runtime)
    monkeypatch.setattr(overlay, "install", lambda: False)
    assert types.interface_names("msg") == ["my_msgs/msg/A", "my_msgs/msg/B"]
    assert types.definition_text("my_msgs/msg/A") == "int32 x\n"


@pytest.mark.parametrize(
    ("name", "known", "words"),
    [
        ("/chater", [], "there are no topics"),
        ("/chater", ["/b", "/a"], "the topics are /a, /b"),
        ("/chater", ["/chatter", *"abcdef"], "similar topics are /chatter"),
        ("/cam", ["/robot/camera/image", *"abdefg"], "similar topics are /robot/camera/image"),
        ("/zzz", [*"abcdef"], "none of the 6 topics is similar"),
    ],
)
def test_what_may_have_been_meant(name: str, known: list[str], words: str) -> None:
    assert instead_of(name, known, "topics") == words
