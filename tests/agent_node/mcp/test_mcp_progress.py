"""What a client hears while a motion runs, and digits that stand for numbers."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from mcp import Client

from tests.agent_node.mcp.test_mcp_station import find_grasp
from toolhand.agent_node.mcp.calls import plain_numbers
from toolhand.agent_node.mcp.server import make_server
from toolhand.agent_node.mcp.sessions import SharedRobot
from toolhand.cli.mcp import _shared_robot
from toolhand.cli.options import StationOptions
from toolhand.tool_nodes.motion.stages import SHARES

pytestmark = pytest.mark.anyio


class Heard:
    """The notifications of one call."""

    def __init__(self) -> None:
        self.shares: list[float] = []
        self.totals: set[float | None] = set()
        self.words: list[str] = []

    async def hear(self, progress: float, total: float | None, message: str | None) -> None:
        self.shares.append(progress)
        self.totals.add(total)
        self.words.append(message or "")

    def check(self) -> None:
        assert self.totals == {1.0}
        assert all(a < b for a, b in zip(self.shares, self.shares[1:], strict=False)), self.shares
        assert 0.0 <= self.shares[0] <= self.shares[-1] <= 1.0


@contextlib.asynccontextmanager
async def connected(robot: SharedRobot, transport: str, http_server: Any) -> AsyncIterator[Client]:
    if transport == "in process":
        async with Client(make_server(robot)) as client:
            yield client
    else:
        async with http_server(robot) as server, server.client() as client:
            yield client


@pytest.mark.parametrize("transport", ["in process", "http"])
async def test_each_stage_of_a_motion_is_told_once_and_further_on_than_the_one_before(
    robot: SharedRobot, arm: Any, transport: str, http_server: Any
) -> None:
    heard = Heard()
    arm.release.set()
    async with connected(robot, transport, http_server) as client:
        assert not (await client.call_tool("fake-move", {}, progress_callback=heard.hear)).is_error
        assert not (await client.call_tool("fake-move", {})).is_error
        quiet = Heard()
        await client.call_tool("robot-look", {}, progress_callback=quiet.hear)
    heard.check()
    assert heard.words == [
        "Planning begins.",
        "Opening begins.",
        "The approach begins.",
        "The retreat begins.",
        "Closing begins.",
        "The approach begins.",
        "The motion is over.",
    ]
    assert not quiet.words


async def test_a_whole_grasp_is_told_stage_by_stage(closing: Any) -> None:
    robot = closing(_shared_robot(StationOptions(), "operator", "auto"))
    heard = Heard()
    async with Client(make_server(robot)) as client:
        await find_grasp(client)
        arguments = {"grasp_pose": "$grasp_pose"}
        assert not (await client.call_tool("robot-execute_grasp", arguments, progress_callback=heard.hear)).is_error
    heard.check()
    assert (heard.words.pop(), heard.shares.pop()) == ("The motion is over.", 1.0)
    stages = [words.removesuffix(" begins.").lower() for words in heard.words]
    assert stages == [
        "planning",
        "opening",
        "the move to the pre-grasp",
        "the approach",
        "closing",
        "the lift",
        "the return to the park position",
        "the look at what was lifted",
    ]
    assert heard.shares == [SHARES[stage] for stage in stages]


async def test_a_client_that_fails_at_hearing_gets_its_answer(robot: SharedRobot, arm: Any) -> None:
    async def fail(*heard: Any) -> None:
        raise RuntimeError("deaf")

    arm.release.set()
    async with Client(make_server(robot)) as client:
        assert not (await client.call_tool("fake-move", {}, progress_callback=fail)).is_error


async def test_a_motion_that_is_cancelled_while_it_is_told_of_is_braked(
    robot: SharedRobot, arm: Any, until: Any, http_server: Any
) -> None:
    heard = Heard()
    async with http_server(robot) as server, server.client() as client:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: client.call_tool("fake-move", {}, progress_callback=heard.hear))
            await until(lambda: len(heard.words) == 6)
            group.cancel_scope.cancel()
        await until(lambda: not arm.moving.is_set())
        assert not (await client.call_tool("robot-look", {})).is_error


REFERENCE = {"type": "string", "pattern": r"^\$[A-Za-z_]\w*$"}
SCHEMA = {
    "properties": {
        "index": {"anyOf": [{"type": "integer", "minimum": 0}, REFERENCE]},
        "length": {"anyOf": [{"type": "number"}, REFERENCE]},
        "words": {"type": "string"},
        "count": {"type": "integer"},
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "points": {"anyOf": [{"type": "array"}, REFERENCE]},
    }
}


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("index", "0", 0),
        ("index", "-12", -12),
        ("index", 3, 3),
        ("index", "$picture", "$picture"),
        ("index", "1.0", "1.0"),
        ("index", "0x1", "0x1"),
        ("index", " 1", " 1"),
        ("index", "1e3", "1e3"),
        ("index", "", ""),
        ("index", "٣", "٣"),
        ("index", "9" * 5000, "9" * 5000),
        ("index", True, True),
        ("index", None, None),
        ("index", ["0"], ["0"]),
        ("length", "607.5", 607.5),
        ("length", "600", 600.0),
        ("length", "nan", "nan"),
        ("length", "1e9", "1e9"),
        ("words", "0", "0"),
        ("count", "0", "0"),
        ("either", "0", "0"),
        ("points", "0", "0"),
        ("other", "0", "0"),
    ],
)
def test_digits_stand_for_a_number_where_a_string_could_only_be_a_variable(
    name: str, value: object, wanted: object
) -> None:
    found = plain_numbers(SCHEMA, {name: value})[name]
    assert found == wanted
    assert type(found) is type(wanted)


async def test_an_image_is_found_by_an_index_in_digits(robot: SharedRobot) -> None:
    async with Client(make_server(robot)) as client:
        await client.call_tool("robot-look", {})
        for index in (0, "0"):
            assert (await client.call_tool("fake-size", {"image_index": index})).content[0].text == "(8, 6)"
        refused = await client.call_tool("fake-size", {"image_index": "first"})
        assert refused.structured_content["error"]["code"] == "INVALID_ARGUMENT"
