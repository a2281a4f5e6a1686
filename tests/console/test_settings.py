"""Settings of a console: what is refused before anything is started, and how both processes get the same."""

from pathlib import Path
from typing import Any

import pytest

from toolhand.console.settings import ConsoleSettings
from toolhand.tool_nodes.results import ErrorCode, ToolError

LOGIN = "a login of length"
TLS = {"certificate": Path("cert.pem"), "key": Path("key.pem")}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"port": 0}, "--port must be from 1 to 65535, got 0."),
        ({"stop_port": 70000}, "--stop-port must be from 1 to 65535, got 70000."),
        ({"port": 8081}, "--port and --stop-port must differ"),
        ({"key": Path("key.pem")}, "--certificate and --key belong together."),
        ({"host": "0.0.0.0"}, "On 0.0.0.0 the console needs --login-file, --certificate and --key."),
        ({"host": "robot.lan", "login": LOGIN}, "On robot.lan the console needs"),
        ({"login": "short"}, "The login token must have at least 16 characters."),
        ({"host": "0.0.0.0", "login": LOGIN, **TLS}, "On 0.0.0.0 --names must say"),
        ({"names": ("robot lab",)}, "'robot lab' is neither an address nor the name of a machine."),
        ({"names": ("robot.lab; script-src *",)}, "is neither an address nor the name of a machine."),
        ({"host": ""}, "the console needs"),
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
    assert "secret" not in repr(ConsoleSettings(approval_token="secret-a", login="secret-b of length"))


def test_only_names_of_the_console_are_its_hosts() -> None:
    here = ConsoleSettings()
    assert here.hosts(8080) == {"127.0.0.1:8080", "localhost:8080", "[::1]:8080"}
    assert here.origins(8081) >= {"http://127.0.0.1:8081"}
    far = ConsoleSettings(host="0.0.0.0", names=("Robot.lab", "192.0.2.7"), login=LOGIN, port=443, **TLS)
    assert far.hosts(443) == {"robot.lab:443", "192.0.2.7:443", "robot.lab", "192.0.2.7"}
    assert far.hosts(8081) == {"robot.lab:8081", "192.0.2.7:8081"}
    assert far.address(8081) == "https://Robot.lab:8081"


def test_both_processes_get_the_same_settings() -> None:
    settings = ConsoleSettings(
        host="0.0.0.0", names=("robot.lab",), login=LOGIN, approval_token="of approvals", runs_dir=Path("r s"), **TLS
    )
    line = settings.to_line()
    assert "\n" not in line
    assert ConsoleSettings.from_line(line) == settings
    assert ConsoleSettings.from_line("{}").secret != ConsoleSettings().secret, "made by chance"


@pytest.mark.parametrize("line", ["", "x", "[]", '{"hots": "127.0.0.1"}', '{"port": 0}'])
def test_settings_that_are_none_are_refused(line: str) -> None:
    with pytest.raises(ToolError):
        ConsoleSettings.from_line(line)
