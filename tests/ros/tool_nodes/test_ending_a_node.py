"""How a node ends where rclpy's own handler of the signal shuts the context down at the same moment."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest
import rclpy

from tool_nodes.ros.spinning import run_node


class RCLError(RuntimeError):
    """As rclpy raises it."""


def interrupted() -> NoReturn:
    """A node that is told to end while it is being made."""
    raise KeyboardInterrupt


@pytest.fixture
def shutdown_fails(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`shutdown_fails(ok)`: rclpy.try_shutdown raises, and rclpy.ok() is `ok` afterwards."""

    def fail() -> NoReturn:
        raise RCLError("failed to shutdown: rcl_shutdown already called on the given context")

    def arrange(ok: bool) -> None:
        monkeypatch.setattr(rclpy, "init", lambda args: None)
        monkeypatch.setattr(rclpy, "try_shutdown", fail)
        monkeypatch.setattr(rclpy, "ok", lambda: ok)

    return arrange


def test_a_context_that_somebody_else_has_just_shut_down_is_no_error(shutdown_fails: Any) -> None:
    shutdown_fails(ok=False)
    run_node(interrupted)


def test_a_shutdown_that_fails_is_told(shutdown_fails: Any) -> None:
    shutdown_fails(ok=True)
    with pytest.raises(RCLError):
        run_node(interrupted)
