"""`toolhand mcp` before it serves, and where it then listens."""

import shlex
import signal
import subprocess
import sys

import pytest

from tests.refusals import refused
from tests.sockets import listening, only_loopback
from toolhand.cli import main as cli
from toolhand.cli.mcp import mcp
from toolhand.tool_nodes.results import ErrorCode


def test_without_the_sdk_the_command_says_which_extra_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("toolhand.agent_node.mcp.server", "toolhand.agent_node.mcp.http"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    sentence = r"needs the extra mcp\. Install it with: \S+ -m pip install -e \S+\[mcp\]"
    with refused(ErrorCode.UNAVAILABLE, sentence):
        mcp()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ("--port 8000", "for --transport http only"),
        ("--token 0123456789abcdef", "for --transport http only"),
        ("--transport http --port 70000", "between 0 and 65535"),
        ("--transport http --port -1", "between 0 and 65535"),
        ("--transport http --idle nan", "idle must be between"),
        ("--transport http --idle 0.0", "idle must be between"),
        ("--transport http --token short", "A token must have 16 or more"),
        ("--transport http --token 'a token with spaces'", "A token must have 16 or more"),
        ("--transport http --token éééééééééééééééééééé", "A token must have 16 or more"),
        ("--suite nothing", "There is no tool suite 'nothing'"),
        ("--approval dry-run", "The mock robot moves nothing"),
        ("--scene 3", "The mock robot has no scenes"),
    ],
)
def test_wrong_options_are_told_before_anything_is_served(settings: str, sentence: str) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, sentence):
        cli._parse(["mcp", "--station", "mock", *shlex.split(settings)])()


def test_over_http_it_is_reached_from_this_machine_alone() -> None:
    command = [sys.executable, "-m", "toolhand", "mcp", "--transport", "http", "--station", "mock"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            said = next(line for line in server.stderr if "Serving MCP at" in line)
            assert "http://127.0.0.1:" in said
            assert len(listening([server.pid])) == 1
            assert only_loopback([server.pid])
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=60.0)
