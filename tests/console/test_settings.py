"""Settings of a console: what is refused before anything is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from console.settings import ConsoleSettings
from tool_nodes.results import ErrorCode, ToolError


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"port": 0}, "--port must be from 1 to 65535, got 0."),
        ({"stop_port": 70000}, "--stop-port must be from 1 to 65535, got 70000."),
        ({"port": 8081}, "--port and --stop-port must differ"),
        ({"key": Path("key.pem")}, "--certificate and --key belong together."),
        ({"host": "0.0.0.0"}, "On 0.0.0.0 the console needs --login-file, --certificate and --key."),
        ({"host": "robot.lan", "login": "secret"}, "On robot.lan the console needs"),
    ],
)
def test_what_cannot_be_served_safely_is_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(ToolError, match=said.replace("(", r"\(")) as refused:
        ConsoleSettings(**changed)
    assert refused.value.code is ErrorCode.INVALID_ARGUMENT


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_loopback_needs_nothing(host: str) -> None:
    assert ConsoleSettings(host=host).on_loopback


def test_secrets_are_not_in_what_is_printed() -> None:
    assert "secret" not in repr(ConsoleSettings(approval_token="secret-a", login="secret-b"))
