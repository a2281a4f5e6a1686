"""Which rclpy is used, and what is said where something of it is missing."""

import sys
from types import ModuleType

import pytest

from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.client import use_client


def test_a_ros_2_without_the_interfaces_of_this_project_says_how_to_build_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rclpy_zenoh.overlay.install", lambda: False)
    monkeypatch.setitem(sys.modules, "toolhand_interfaces.msg", ModuleType("toolhand_interfaces.msg"))
    with pytest.raises(ToolError, match="colcon build --packages-select toolhand_interfaces") as error:
        use_client()
    assert error.value.code is ErrorCode.UNAVAILABLE
    assert use_client(graph=False) is False, "recordings are read without them"
