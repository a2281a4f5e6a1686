"""What any client sees, in process: the tools, their answers, and what belongs to whom."""

import base64
import io
import math
from typing import Any

import anyio
import mcp_types
import pytest
from mcp import Client
from PIL import Image

from toolhand.agent_node.context_window import Memory, held_bytes
from toolhand.agent_node.mcp.server import make_server
from toolhand.agent_node.mcp.sessions import PNG_BYTES, WAITING, SharedRobot, ToolSession, let_go
from toolhand.tool_nodes.toolbox.toolbox import Toolbox

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["auto", "legacy"])
def client(robot: SharedRobot, request: pytest.FixtureRequest) -> Client:
    return Client(make_server(robot), mode=request.param)


def code(result: mcp_types.CallToolResult) -> str:
    """The error code, which the text and the structure must agree on."""
    assert result.is_error
    found = result.structured_content["error"]["code"]
    assert result.content[0].text.startswith(f"Error {found}: ")
    assert len(result.content) == 1
    return found


async def test_tools_are_listed_under_names_that_every_model_interface_takes(client: Client) -> None:
    async with client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert sorted(tools) == [
        "fake-ask",
        "fake-keep",
        "fake-move",
        "fake-picture",
        "fake-shape",
        "fake-size",
        "fake-wait",
        "robot-capture_image",
    ]
    assert tools["fake-keep"].description == "Keep a variable."
    assert tools["fake-keep"].input_schema["required"] == ["name"]
    assert tools["fake-keep"].input_schema["additionalProperties"] is False


async def test_what_moves_the_robot_says_so_and_what_looks_says_so(client: Client) -> None:
    async with client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    moves, looks = tools["fake-move"].annotations, tools["robot-capture_image"].annotations
    assert (moves.read_only_hint, moves.destructive_hint, moves.idempotent_hint) == (False, True, False)
    assert (looks.read_only_hint, looks.destructive_hint, looks.idempotent_hint) == (True, False, True)
    assert "Moves the robot." in tools["fake-move"].description


@pytest.mark.parametrize("name", ["robot-capture_image", "robot.capture_image", "robot-look", "robot.look"])
async def test_a_tool_answers_to_its_own_name_and_its_aliases_with_a_dash_or_a_dot(client: Client, name: str) -> None:
    async with client:
        result = await client.call_tool(name, {})
    assert not result.is_error
    text, shown = result.content
    assert text.text == "Looked. This picture has the image_index 0."
    assert shown.mime_type == "image/png"
    image = Image.open(io.BytesIO(base64.b64decode(shown.data)))
    assert image.size == (8, 6)
    assert image.getpixel((3, 3)) == (77, 77, 77)


async def test_variables_and_images_are_kept_from_call_to_call(client: Client) -> None:
    async with client:
        await client.call_tool("fake-keep", {"name": "mine"})
        await client.call_tool("robot-capture_image", {})
        again = await client.call_tool("robot-capture_image", {})
        shape = await client.call_tool("fake-shape", {"data": "$mine"})
        size = await client.call_tool("fake-size", {"image_index": 1})
    assert again.content[0].text == "Looked. This picture has the image_index 1."
    assert shape.content[0].text == "(2, 3)"
    assert size.content[0].text == "(8, 6)"


@pytest.mark.parametrize(
    ("name", "arguments", "wanted"),
    [
        ("fake-shape", {}, "INVALID_ARGUMENT"),
        ("fake-shape", {"data": "$nothing"}, "INVALID_ARGUMENT"),
        ("fake-shape", {"data": "$captured_image", "more": 1}, "INVALID_ARGUMENT"),
        ("fake-size", {"image_index": math.nan}, "INVALID_ARGUMENT"),
        ("fake-size", {"image_index": 10**400}, "INVALID_ARGUMENT"),
        ("fake-size", {"image_index": True}, "INVALID_ARGUMENT"),
        ("fake-keep", {"name": "x" * 200_000}, "INVALID_ARGUMENT"),
        ("fake-keep", {"name": [[[[["x"]]]]] * 5000}, "INVALID_ARGUMENT"),
        ("fake-move", {"x": 1}, "INVALID_ARGUMENT"),
        ("fake_move", {}, "UNKNOWN_TOOL"),
        ("FAKE-MOVE", {}, "UNKNOWN_TOOL"),
        ("fake-move ", {}, "UNKNOWN_TOOL"),
        ("fake‑move", {}, "UNKNOWN_TOOL"),
        ("__class__", {}, "UNKNOWN_TOOL"),
        ("", {}, "UNKNOWN_TOOL"),
        ("x" * 100_000, {}, "UNKNOWN_TOOL"),
    ],
)
async def test_a_wrong_call_is_an_error_that_the_model_can_read(
    client: Client, arm: Any, name: str, arguments: dict[str, Any], wanted: str
) -> None:
    async with client:
        result = await client.call_tool(name, arguments)
        assert code(result) == wanted
        assert len(result.content[0].text) < 500
        assert not (await client.call_tool("robot-capture_image", {})).is_error
    assert arm.motions == 0


async def test_two_clients_share_no_variable_and_no_image(robot: SharedRobot) -> None:
    server = make_server(robot)
    async with Client(server) as one, Client(server, mode="legacy") as other:
        await one.call_tool("fake-keep", {"name": "mine"})
        await one.call_tool("robot-capture_image", {})
        assert code(await other.call_tool("fake-shape", {"data": "$mine"})) == "INVALID_ARGUMENT"
        assert code(await other.call_tool("fake-size", {"image_index": 0})) == "INVALID_ARGUMENT"
        assert "image_index 0" in (await other.call_tool("robot-capture_image", {})).content[0].text
        assert not (await one.call_tool("fake-shape", {"data": "$mine"})).is_error


async def test_a_motion_on_an_image_from_before_anothers_motion_is_refused(robot: SharedRobot, arm: Any) -> None:
    arm.release.set()
    server = make_server(robot)
    async with Client(server) as one, Client(server) as other, Client(server) as third:
        for client in (one, other):
            await client.call_tool("robot-capture_image", {})
        assert not (await one.call_tool("fake-move", {})).is_error
        assert not (await one.call_tool("fake-move", {})).is_error
        refused = await other.call_tool("fake-move", {})
        assert code(refused) == "SCENE_CHANGED"
        assert "Look again" in refused.content[0].text
        await other.call_tool("robot-capture_image", {})
        assert not (await other.call_tool("fake-move", {})).is_error
        assert not (await third.call_tool("fake-move", {})).is_error  # has seen nothing: the tool looks itself
    assert arm.motions == 4


async def test_a_motion_that_was_not_approved_leaves_what_others_have_seen_as_it_is(
    robot: SharedRobot, arm: Any
) -> None:
    arm.release.set()
    server = make_server(robot)
    async with Client(server) as one, Client(server) as other:
        await one.call_tool("robot-capture_image", {})
        assert code(await other.call_tool("fake-ask", {})) == "NOT_APPROVED"
        assert not (await one.call_tool("fake-move", {})).is_error
        # The tool has looked before it asked, and that image is old now.
        assert code(await other.call_tool("fake-move", {})) == "SCENE_CHANGED"


async def test_motions_of_two_clients_never_overlap(robot: SharedRobot, arm: Any, until: Any) -> None:
    server = make_server(robot)
    async with Client(server) as one, Client(server) as other, anyio.create_task_group() as group:
        group.start_soon(one.call_tool, "fake-move", {})
        await until(arm.moving.is_set)
        group.start_soon(other.call_tool, "fake-move", {})
        await anyio.sleep(0.05)
        assert arm.motions == 1
        arm.release.set()
    assert arm.motions == 2


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_cancelled_motion_is_braked_and_the_next_one_runs(
    robot: SharedRobot, arm: Any, until: Any, mode: str
) -> None:
    async with Client(make_server(robot), mode=mode) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "fake-move", {})
            await until(arm.moving.is_set)
            group.cancel_scope.cancel()
        await until(lambda: not arm.moving.is_set())
        arm.release.set()
        assert not (await client.call_tool("fake-move", {})).is_error
    assert arm.motions == 2


async def test_a_cancelled_call_that_waits_is_never_run(robot: SharedRobot, arm: Any, until: Any) -> None:
    server = make_server(robot)
    async with Client(server) as one, Client(server) as other, anyio.create_task_group() as group:
        group.start_soon(one.call_tool, "fake-wait", {})
        await until(arm.moving.is_set)
        with anyio.move_on_after(0.05):
            await other.call_tool("fake-move", {})
        arm.release.set()
    assert arm.motions == 0


async def test_a_client_that_leaves_in_a_motion_leaves_a_still_arm(robot: SharedRobot, arm: Any, until: Any) -> None:
    async with anyio.create_task_group() as group, Client(make_server(robot), mode="legacy") as client:
        group.start_soon(client.call_tool, "fake-move", {})
        await until(arm.moving.is_set)
        group.cancel_scope.cancel()
    await until(lambda: not arm.moving.is_set())


async def test_a_client_with_too_many_calls_at_once_is_told_to_wait(robot: SharedRobot, arm: Any, until: Any) -> None:
    results: list[mcp_types.CallToolResult] = []
    async with Client(make_server(robot)) as client:

        async def call(name: str) -> None:
            results.append(await client.call_tool(name, {}))

        async with anyio.create_task_group() as group:
            group.start_soon(call, "fake-wait")
            await until(arm.moving.is_set)
            for _ in range(WAITING + 2):
                group.start_soon(call, "robot-capture_image")
            await until(lambda: len(results) == 3)
            arm.release.set()
    assert [code(result) for result in results[:3]] == ["UNAVAILABLE"] * 3
    assert not any(result.is_error for result in results[3:])


async def test_after_many_images_the_first_and_the_newest_are_usable(robot: SharedRobot) -> None:
    async with Client(make_server(robot)) as client:
        for _ in range(Memory().images + 3):
            await client.call_tool("robot-capture_image", {})
        answers = [await client.call_tool("fake-size", {"image_index": i}) for i in range(Memory().images + 3)]
    assert [i for i, answer in enumerate(answers) if answer.is_error] == [1, 2]
    assert "was dropped" in answers[1].content[0].text
    assert code(answers[1]) == "INVALID_ARGUMENT"


async def test_a_long_conversation_holds_no_more_than_a_short_one(fake_toolbox: Toolbox) -> None:
    conversation = ToolSession()
    sizes = []
    for k in range(150):
        for name, arguments in (("robot.capture_image", {}), ("fake.keep", {"name": f"v{k}"})):
            fake_toolbox.call(name, arguments, conversation.session)
            let_go(conversation.session)
        sizes.append(held_bytes(conversation.session, []))
    assert max(sizes[100:]) == sizes[100]
    assert len(conversation.session.images) == 150


async def test_an_image_too_large_for_png_is_sent_so_that_clients_can_read_it(robot: SharedRobot) -> None:
    async with Client(make_server(robot)) as client:
        image = (await client.call_tool("fake-picture", {"name": "noise"})).content[1]
    data = base64.b64decode(image.data)
    assert image.mime_type == "image/jpeg"
    assert len(data) <= PNG_BYTES
    assert Image.open(io.BytesIO(data)).size == (1568, 1045)


async def test_after_the_operator_stopped_a_motion_the_conversation_must_look_before_the_next(
    robot: SharedRobot, arm: Any, until: Any
) -> None:
    async with Client(make_server(robot), mode="legacy") as client, anyio.create_task_group() as group:
        results: list[mcp_types.CallToolResult] = []

        async def move() -> None:
            results.append(await client.call_tool("fake-move", {}))

        group.start_soon(move)
        await until(arm.moving.is_set)
        group.start_soon(move)  # waits for the robot
        group.start_soon(client.call_tool, "robot-capture_image", {})
        await anyio.sleep(0.05)
        arm.stop()
        await until(lambda: len(results) == 2)
        arm.reset_stop()
        arm.release.set()
        assert [code(result) for result in results] == ["STOPPED", "STOPPED"]
        assert arm.motions == 1
        assert "before the operator stopped the arm" in results[1].content[0].text
        await client.call_tool("robot-capture_image", {})
        assert not (await client.call_tool("fake-move", {})).is_error
        assert arm.motions == 2


async def test_a_motion_that_comes_after_a_stop_without_a_look_is_refused(
    robot: SharedRobot, arm: Any, until: Any
) -> None:
    async with Client(make_server(robot), mode="legacy") as client, anyio.create_task_group() as group:
        group.start_soon(client.call_tool, "fake-move", {})
        await until(arm.moving.is_set)
        arm.stop()
        await until(lambda: not arm.moving.is_set())
        arm.reset_stop()
        arm.release.set()
        refused = await client.call_tool("fake-move", {})
        assert code(refused) == "STOPPED"
        assert "Ask the operator" in refused.content[0].text
        assert arm.motions == 1
