"""The tool `say`: a client speaks to the robot, hears what it does, and is asked where something is not clear."""

from collections.abc import Callable, Sequence
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types import ElicitResult

from toolhand.agent_node.dialogue import dialogue
from toolhand.agent_node.dialogue.rules import RULES
from toolhand.agent_node.mcp import saying
from toolhand.agent_node.mcp.server import make_server
from toolhand.agent_node.mcp.sessions import SharedRobot
from toolhand.agent_node.memory import RobotMemory
from toolhand.agent_node.policy import Message, Reply
from toolhand.tool_nodes.stop_latch import StopLatch
from toolhand.tool_nodes.toolbox.toolbox import Toolbox

pytestmark = pytest.mark.anyio

QUESTION = "Which can: the left one or the right one?"
PICK = "pick up the can"


class Mover:
    """A policy that moves once."""

    name = "mover"

    def respond(self, conversation: Sequence[Message]) -> Reply:
        if conversation[-1].role == "tool":
            return Reply("<answer>Picked up the can.</answer>")
        return Reply('<think>I move.</think><tool_call>{"name": "fake.move", "arguments": {}}</tool_call>')


class Asker:
    """A policy that asks once, and says what it was answered."""

    name = "asker"

    def respond(self, conversation: Sequence[Message]) -> Reply:
        said = [message.words for message in conversation if message.answers]
        return Reply(f"<answer>{f'NO_GRASP: You said {said[-1]}.' if said else f'AMBIGUOUS: {QUESTION}'}</answer>")


class Chooser:
    """A policy that asks which can, unless its command says where the can is."""

    name = "chooser"

    def respond(self, conversation: Sequence[Message]) -> Reply:
        where = "Which can do you mean: the left one at (0.20, 0.50) or the right one at (0.80, 0.50)?"
        task = conversation[1].words
        return Reply(f"<answer>{f'I am told: {task}' if '0.800' in task else f'AMBIGUOUS: {where}'}</answer>")


@pytest.fixture
def spoken_to(
    fake_toolbox: Toolbox, arm: Any, closing: Callable[[SharedRobot], SharedRobot]
) -> Callable[[Any], SharedRobot]:
    """Makes a robot whose clients may speak to it, and whose words a policy carries out."""

    def make(policy: Any) -> SharedRobot:
        to = saying.Hearer(RULES, policy(), fake_toolbox, RobotMemory(), lambda suites: fake_toolbox)
        shared = closing(SharedRobot(fake_toolbox, arm, spoken_to=to))
        arm.on_stage = shared.enter
        return shared

    return make


async def text(client: Client, name: str, **arguments: Any) -> str:
    return str((await client.call_tool(name, arguments)).content[0].text)


async def test_words_are_carried_out_and_heard_of_and_older_images_count_no_more(spoken_to: Any, arm: Any) -> None:
    heard: list[tuple[float, float | None, str]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message or ""))

    arm.release.set()
    async with Client(make_server(spoken_to(Mover))) as client:
        await text(client, "robot-capture_image")
        result = await client.call_tool("say", {"words": PICK}, progress_callback=hear)
        assert (result.is_error, result.content[0].text) == (False, "Picked up the can.")
        assert (await text(client, "fake-move")).startswith("Error SCENE_CHANGED")
    assert [(progress, total) for progress, total, _ in heard] == [(float(k + 1), None) for k in range(len(heard))]
    assert [words for *_, words in heard][:3] == ["I move.", "Planning begins.", "Planning begins."]
    assert arm.motions == 1


async def test_a_question_is_put_to_the_user_of_a_client_that_can_ask(spoken_to: Any) -> None:
    asked: list[str] = []

    async def answer(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"answer": "the left one"})

    async def decline(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="decline")

    robot = spoken_to(Asker)
    async with Client(make_server(robot), mode="legacy", elicitation_callback=answer) as client:
        assert await text(client, "say", words=PICK) == "Error NO_GRASP: You said the left one."
    async with Client(make_server(robot), mode="legacy", elicitation_callback=decline) as client:
        told = await text(client, "say", words=PICK)
    assert asked == [QUESTION]
    assert told.startswith(f"Error AMBIGUOUS: {QUESTION}")
    assert told.endswith("The operator gave no answer; the question is closed.")


async def test_elsewhere_the_question_is_the_answer(spoken_to: Any) -> None:
    async with Client(make_server(spoken_to(Asker)), mode="legacy") as client:
        told = await text(client, "say", words=PICK)
    assert told.startswith(f"Error AMBIGUOUS: {QUESTION}")
    assert told.endswith("Ask the operator, and say their answer.")


async def test_a_question_that_is_left_open_is_closed_and_says_so(
    spoken_to: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def think(context: Any, params: Any) -> ElicitResult:
        await anyio.sleep_forever()
        raise AssertionError

    robot = spoken_to(Chooser)
    monkeypatch.setattr(saying, "ANSWER_DEADLINE_S", 0.3)
    async with Client(make_server(robot), mode="legacy", elicitation_callback=think) as client:
        told = await text(client, "say", words=PICK)
        assert told.endswith("Nobody answered within 0.3 s; the question is closed.")
        assert "I have asked nothing" in await text(client, "say", words="choose number 2")


async def test_an_answer_that_comes_too_late_is_told_so(spoken_to: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialogue, "ANSWER_WITHIN_S", -1.0)
    async with Client(make_server(spoken_to(Chooser)), mode="legacy") as client:
        assert (await text(client, "say", words=PICK)).startswith("Error AMBIGUOUS: Which can do you mean")
        assert "closed my question" in await text(client, "say", words="choose number 2")


async def test_a_stop_closes_the_question(spoken_to: Any, fake_toolbox: Toolbox) -> None:
    latch = StopLatch()
    fake_toolbox._new_job = latch.job
    async with Client(make_server(spoken_to(Chooser)), mode="legacy") as client:
        assert (await text(client, "say", words=PICK)).startswith("Error AMBIGUOUS: Which can do you mean")
        latch.set()
        latch.clear()
        assert "stopped after I had asked" in await text(client, "say", words="choose number 2")


async def test_two_clients_do_not_answer_each_others_questions(spoken_to: Any, http_server: Any) -> None:
    async with http_server(spoken_to(Chooser)) as server, server.client() as one, server.client() as other:
        assert (await text(one, "say", words=PICK)).startswith("Error AMBIGUOUS: Which can do you mean")
        assert "I have asked nothing" in await text(other, "say", words="choose number 2")
        assert "on the right" in await text(one, "say", words="choose number 2")


@pytest.mark.parametrize(
    ("moves", "words"), [("say", "Stop!"), ("say", "stop that's wrong"), ("fake-move", "robot please stop")]
)
async def test_a_client_that_says_stop_meanwhile_brakes_the_arm(
    spoken_to: Any, arm: Any, until: Any, http_server: Any, moves: str, words: str
) -> None:
    answers: list[str] = []
    robot = spoken_to(Mover)

    async def pick(client: Client) -> None:
        answers.append(await text(client, moves, **({"words": PICK} if moves == "say" else {})))

    async with (
        http_server(robot) as server,
        server.client() as one,
        server.client() as other,
        anyio.create_task_group() as group,
    ):
        group.start_soon(pick, one)
        await until(arm.moving.is_set)
        group.start_soon(pick, one)  # waits for the robot, and begins no more
        await until(lambda: robot._jobs.qsize() == 1)
        assert (await text(other, "say", words=words)).startswith("The arm was stopped")
        await until(lambda: len(answers) == 2)
    assert all(answer.startswith(("Error STOPPED", "Error CANCELLED")) for answer in answers)
    assert arm.motions == 1


async def test_words_that_are_given_up_brake_the_arm(spoken_to: Any, arm: Any, until: Any, http_server: Any) -> None:
    async with http_server(spoken_to(Mover)) as server, server.client() as client:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: client.call_tool("say", {"words": PICK}))
            await until(arm.moving.is_set)
            group.cancel_scope.cancel()
        await until(lambda: not arm.moving.is_set())
        arm.release.set()
        assert (await text(client, "robot-capture_image")).startswith("Looked.")
    assert arm.motions == 1


@pytest.mark.parametrize(
    "arguments", [{}, {"words": " "}, {"words": 3}, {"words": PICK, "approved": True}, {"words": "a" * 2001}]
)
async def test_what_is_no_words_is_refused(spoken_to: Any, arguments: dict[str, Any]) -> None:
    async with Client(make_server(spoken_to(Mover))) as client:
        assert (await text(client, "say", **arguments)).startswith("Error INVALID_ARGUMENT")


async def test_an_observer_is_not_offered_it(robot: SharedRobot) -> None:
    async with Client(make_server(robot)) as client:
        assert "say" not in [tool.name for tool in (await client.list_tools()).tools]
        assert (await text(client, "say", words=PICK)).startswith("Error UNKNOWN_TOOL")
