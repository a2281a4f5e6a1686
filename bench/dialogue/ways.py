"""The same words in process, over MCP and over ROS: what each of the three says and does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from toolhand.agent_node.conversation_settings import TURN_BUDGET
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.mcp.saying import hearing
from toolhand.agent_node.mcp.sessions import SharedRobot
from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.protocol import OWN
from toolhand.agent_node.runs.index import MAX_RESULT_BYTES
from toolhand.agent_node.runs.sentence import FIRST_TASK
from toolhand.agent_node.session import SessionCommand
from toolhand.bench.dialogue.conversation import TalkedTo
from toolhand.sim.station import Station
from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.files import read_file
from toolhand.tool_nodes.results import ToolError

if TYPE_CHECKING:
    from toolhand.agent_node.ros.operator import Operator


@dataclass(frozen=True)
class Told:
    """What came of an utterance, whichever way it went.

    Attributes:
        code: Code of what went wrong; empty where nothing did.
        commands: Commands that the utterance became, in order.
    """

    answer: str
    code: str
    commands: tuple[str, ...]


class Speaker(Protocol):
    """Speaks to one robot in one dialogue."""

    def say(self, words: str) -> Told:
        """Say one utterance, to its end."""


class InProcess:
    """Speaks to a robot of this process."""

    def __init__(self, robot: TalkedTo) -> None:
        self._robot = robot

    def say(self, words: str) -> Told:
        """See `Speaker`."""
        try:
            turn = self._robot.dialogue.say(words)
        except ToolError as error:  # a command that cannot begin; a client is told so
            return Told(error.message, error.code, ())
        return Told(turn.answer, turn.error_code or "", tuple(episode.task for episode in turn.episodes))


class SpokenTo(SharedRobot):
    """A robot behind an MCP server, which notes its commands.

    Attributes:
        commands: Commands so far.
    """

    def __init__(self, station: Station) -> None:
        options = PolicyOptions(turns=TURN_BUDGET)
        heard = hearing("scripted", OWN, station.toolbox, station.new_toolbox, options, station.robot)
        super().__init__(station.toolbox, station.arm, heard)
        self.commands: list[str] = []

    def carry_out(self, command: SessionCommand) -> Episode:
        """See `SharedRobot`."""
        self.commands.append(command.sentence)
        return super().carry_out(command)


class OverMcp:
    """Speaks over a client's connection.

    Args:
        call: Calls the tool `say` with words; its result.
    """

    def __init__(self, call: Any, robot: SpokenTo) -> None:
        self._call, self._robot = call, robot

    def say(self, words: str) -> Told:
        """See `Speaker`."""
        before = len(self._robot.commands)
        result = self._call(words)
        error = (result.structured_content or {}).get("error", {})
        answer = error.get("message", result.content[0].text)
        return Told(answer, error.get("code", ""), tuple(self._robot.commands[before:]))


@contextmanager
def over_mcp(robot: SpokenTo) -> Iterator[OverMcp]:
    """A client of a server of this process, which cannot answer questions while they wait; the robot ends with it."""
    from anyio.from_thread import start_blocking_portal
    from mcp import Client

    from toolhand.agent_node.mcp.server import make_server

    with ExitStack() as ending:
        ending.callback(robot.join, 5.0)
        ending.callback(robot.shut_down)
        portal = ending.enter_context(start_blocking_portal())
        client = ending.enter_context(portal.wrap_async_context_manager(Client(make_server(robot), mode="legacy")))
        yield OverMcp(lambda words: portal.call(client.call_tool, "say", {"words": words}), robot)


class OverRos:
    """Speaks to the agent of a graph on this machine.

    Args:
        operator: Sends the words.

    Attributes:
        runs_dir: Folder of the runs; None before the first command.
    """

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self.runs_dir: Path | None = None

    def say(self, words: str) -> Told:
        """See `Speaker`."""
        episode = self._operator.carry_out(words)
        folders = self._operator.run_dirs
        self.runs_dir = folders[0].parent if folders else self.runs_dir
        results = [plain_json.load(read_file(folder / "result.json", MAX_RESULT_BYTES, folder)) for folder in folders]
        commands = tuple(str(result.get(FIRST_TASK, result["task"])) for result in results if isinstance(result, dict))
        return Told(episode.answer, episode.error_code or "", commands)
