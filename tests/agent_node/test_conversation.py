"""A conversation that is driven from outside: the same as the agent's own loop, from any loop and any thread."""

import asyncio
import json
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.refusals import refused
from tests.saying import call
from tests.stations import FAST
from toolhand.agent_node.agent import Agent
from toolhand.agent_node.conversation import MOST_QUESTIONS, Conversation
from toolhand.agent_node.episode import SAMPLED_CHARACTERS, Episode
from toolhand.agent_node.events import CommandEnded, Event, OperatorAnswer, OperatorQuestion, ToolCalled
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.agent_node.policy import Message, Policy, Reply
from toolhand.agent_node.runs.folder import write_trajectory
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.stop_latch import StopLatch, StopWatch
from toolhand.tool_nodes.toolbox.arguments import Text
from toolhand.tool_nodes.toolbox.toolbox import Toolbox, tool

PICK = "pick up the far coconut water"
PLACE = "Pick up the cinnamon and place it in front of the rice box"


class Tools:
    """An arm with a stop, and a camera whose images are numbered."""

    def __init__(self) -> None:
        self.latch = StopLatch()
        self.looks = 0
        self.threads: set[int] = set()

    def job(self) -> AbstractContextManager[StopWatch]:
        return self.latch.job()

    @tool("robot.look", repeatable=True)
    def look(self) -> ToolResult:
        """Take a picture."""
        self.looks += 1
        return ToolResult(text="Seen.", image=np.full((2, 2, 3), self.looks, np.uint8))

    @tool("robot.move", motion=True)
    def move(self, label: Text) -> ToolResult:
        """Move."""
        self.threads.add(threading.get_ident())
        if self.latch.halted:
            raise ToolError(ErrorCode.STOPPED, "Stopped.")
        return ToolResult(text=f"Moved {label}.")


LOOK, DONE = Reply(call("robot.look")), Reply("<answer>Done.</answer>")


def move(label: str) -> Reply:
    return Reply(call("robot.move", label=label))


class Lines:
    """Says a line a turn, chosen by what it is shown: the same policy serves any number of conversations."""

    name = "lines"

    def __init__(self, *lines: Reply) -> None:
        self._lines = lines

    def respond(self, conversation: Sequence[Message]) -> Reply:
        return self._lines[sum(message.role == "assistant" for message in conversation)]


def drive(conversation: Conversation, policy: Policy) -> Episode:
    while not conversation.done:
        conversation.step(policy.respond(conversation.messages))
    return conversation.episode


def written(episode: Episode, folder: Path) -> dict[str, bytes]:
    """Every byte of its trajectory.jsonl and images, and how it ended."""
    write_trajectory(folder, episode, [])
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return files | {"end": repr((episode.answer, episode.success, episode.error_code)).encode()}


def station() -> Station:
    return Station(load_scene(EXAMPLE_SCENE), FAST)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    return {
        text: written(Agent(ScriptedPolicy(), station().toolbox).run(text), tmp_path_factory.mktemp("run"))
        for text in (PICK, PLACE)
    }


def test_a_plain_loop_gives_the_bytes_of_the_agent(runs: dict[str, dict[str, bytes]], tmp_path: Path) -> None:
    episode = drive(Conversation(PLACE, station().toolbox), ScriptedPolicy())
    assert written(episode, tmp_path) == runs[PLACE]


def test_two_conversations_that_take_turns_on_two_stations_do_not_touch_each_other(
    runs: dict[str, dict[str, bytes]], tmp_path: Path
) -> None:
    both = {text: Conversation(text, station().toolbox) for text in (PICK, PLACE)}
    policy = ScriptedPolicy()
    while not all(conversation.done for conversation in both.values()):
        for conversation in both.values():
            if not conversation.done:
                conversation.step(policy.respond(conversation.messages))
    for name, (text, conversation) in enumerate(both.items()):
        assert written(conversation.episode, tmp_path / str(name)) == runs[text]


def test_two_conversations_on_one_toolbox_have_images_and_variables_of_their_own() -> None:
    toolbox = Toolbox([Tools()])
    first, second = Conversation("One.", toolbox), Conversation("Two.", toolbox)
    first.step(LOOK)
    second.step(LOOK)
    first.step(LOOK)
    assert [[int(image.rgb[0, 0, 0]) for image in c.episode.session.images] for c in (first, second)] == [[1, 3], [2]]
    assert [c.messages[-1].image_index for c in (first, second)] == [1, 0]
    first.step(DONE)
    assert (first.done, second.done) == (True, False)


def test_two_conversations_on_the_toolbox_of_one_station_read_as_if_each_were_alone(tmp_path: Path) -> None:
    # Neither moves the arm: what one does to the table the other would see.
    texts = ("pick up the coconut water", "pick up the violin")
    alone = [written(drive(Conversation(t, station().toolbox), ScriptedPolicy()), tmp_path / t) for t in texts]
    toolbox, policy = station().toolbox, ScriptedPolicy()
    both = [Conversation(text, toolbox) for text in texts]
    while not all(conversation.done for conversation in both):
        for conversation in both:
            if not conversation.done:
                conversation.step(policy.respond(conversation.messages))
    assert [c.episode.error_code for c in both] == [ErrorCode.AMBIGUOUS, ErrorCode.NOT_RECOGNISED]
    assert [written(c.episode, tmp_path / f"{k}") for k, c in enumerate(both)] == alone


def test_steps_may_run_in_threads_of_an_event_loop() -> None:
    lines = Lines(LOOK, move("a"), LOOK, move("b"), DONE)

    async def one(tools: Tools) -> Episode:
        conversation = Conversation("Do it.", Toolbox([tools]))
        while not conversation.done:
            await asyncio.to_thread(conversation.step, lines.respond(conversation.messages))
        return conversation.episode

    async def several() -> list[Episode]:
        return await asyncio.gather(*(one(tools) for tools in boxes))

    boxes = [Tools() for _ in range(4)]
    alone = drive(Conversation("Do it.", Toolbox([Tools()])), lines)
    for episode in asyncio.run(several()):
        assert [(m.role, m.text) for m in episode.messages] == [(m.role, m.text) for m in alone.messages]
        assert (episode.success, episode.answer) == (True, "Done.")
    assert all(threading.get_ident() not in tools.threads for tools in boxes)


def test_messages_are_what_the_policy_is_shown_and_grow_by_a_turn_a_step() -> None:
    conversation = Conversation("Do it.", Toolbox([Tools()]))
    before = conversation.messages
    assert [m.role for m in before] == ["system", "user"]
    turn = conversation.step(move("a"))
    assert [m.role for m in before] == ["system", "user"], "what was handed out does not change"
    assert [m.role for m in conversation.messages] == ["system", "user", "assistant", "tool"]
    assert conversation.messages[-1].text == turn.responses[0] == "<tool_response>Moved a.</tool_response>"
    assert conversation.episode.turns == [turn]


def test_a_stop_between_two_steps_ends_the_conversation_although_it_was_reset_and_another_thread_steps() -> None:
    tools = Tools()
    conversation = Conversation("Do it.", Toolbox([tools]))
    conversation.step(move("a"))
    tools.latch.set()
    tools.latch.clear()
    thread = threading.Thread(target=conversation.step, args=(move("b"),))
    thread.start()
    thread.join()
    assert conversation.done
    assert conversation.episode.error_code is ErrorCode.STOPPED
    assert len(tools.threads) == 1, "the second motion was never begun"
    other = Conversation("Again.", Toolbox([tools]))
    other.step(move("c"))
    assert not other.done, "one that began after the reset goes on"


def test_a_conversation_with_a_stopped_arm_is_over_before_the_first_turn() -> None:
    tools = Tools()
    tools.latch.set()
    conversation = Conversation("Do it.", Toolbox([tools]))
    assert (conversation.done, conversation.episode.error_code) == (True, ErrorCode.STOPPED)


def test_a_step_after_the_end_is_refused_in_one_sentence() -> None:
    conversation = Conversation("Do it.", Toolbox([Tools()]))
    conversation.step(DONE)
    count = len(conversation.messages)
    for misuse in (lambda: conversation.step(LOOK), lambda: conversation.abort(ToolError(ErrorCode.TIMEOUT, "Late."))):
        with refused(ErrorCode.INVALID_ARGUMENT, "The conversation is over: it ended with an answer"):
            misuse()
    assert len(conversation.messages) == count
    assert conversation.episode.error_code is None


@pytest.mark.parametrize(
    ("reply", "words"),
    [("look", "not str: wrap its text"), (None, "not NoneType"), (Reply(None), "is a string, not NoneType")],  # type: ignore[arg-type]
)
def test_what_is_no_reply_is_refused_and_changes_nothing(reply: Any, words: str) -> None:
    conversation = Conversation("Do it.", Toolbox([Tools()]))
    with refused(ErrorCode.INVALID_ARGUMENT, words):
        conversation.step(reply)
    assert (len(conversation.messages), conversation.episode.turns, conversation.done) == (2, [], False)


def test_a_step_within_a_step_is_refused() -> None:
    conversation: Conversation | None = None
    raised: list[ToolError] = []

    def listen(event: Event) -> None:
        assert conversation is not None
        if isinstance(event, ToolCalled):
            with pytest.raises(ToolError, match="Another step") as error:
                conversation.step(LOOK)
            raised.append(error.value)

    conversation = Conversation("Do it.", Toolbox([Tools()]), listener=listen)
    conversation.step(LOOK)
    assert len(raised) == 1
    assert len(conversation.episode.turns) == 1


def test_a_conversation_whose_policy_is_gone_ends_with_its_error() -> None:
    conversation = Conversation("Do it.", Toolbox([Tools()]))
    conversation.step(move("a"))
    conversation.abort(ToolError(ErrorCode.UNAVAILABLE, "The server is gone."))
    assert conversation.done
    assert conversation.episode.error_code is ErrorCode.UNAVAILABLE
    assert conversation.episode.answer.startswith("The server is gone. No further motion is begun; 1 of 1 ")


def test_tokens_and_log_probabilities_stay_with_their_turn_and_in_the_record(tmp_path: Path) -> None:
    conversation = Conversation("Do it.", Toolbox([Tools()]))
    conversation.step(Reply(LOOK.text, token_ids=(5, 6, 2), logprobs=(-0.5, -1.25, 0.0)))
    conversation.step(DONE)
    assert conversation.episode.turns[0].reply.token_ids == (5, 6, 2)
    write_trajectory(tmp_path, conversation.episode, [])
    sampled, plain = (m for m in messages(tmp_path) if m["role"] == "assistant")
    assert (sampled["token_ids"], sampled["logprobs"]) == ([5, 6, 2], [-0.5, -1.25, 0.0])
    assert set(plain) == {"role", "content"}


def test_the_tokens_of_a_turn_that_is_too_long_to_be_read_are_kept_as_they_were_sampled() -> None:
    conversation = Conversation("Do it.", Toolbox([Tools()]))
    turn = conversation.step(Reply("x" * 300_000, token_ids=(1, 2), logprobs=(-1.0, -2.0)))
    assert len(turn.text) < 3000
    assert turn.reply.token_ids == (1, 2)
    assert turn.as_sampled == Reply("x" * 300_000, token_ids=(1, 2), logprobs=(-1.0, -2.0))
    longer = conversation.step(Reply("y" * (SAMPLED_CHARACTERS + 1), token_ids=(3,)))
    assert (longer.as_sampled.text, longer.as_sampled.token_ids) == ("y" * SAMPLED_CHARACTERS, (3,))
    short = conversation.step(LOOK)
    assert short.sampled is None
    assert short.as_sampled is short.reply


def test_tokens_and_log_probabilities_must_be_of_the_same_tokens() -> None:
    with pytest.raises(ToolError, match="A reply of 2 tokens cannot have 1 log-probabilities"):
        Reply("a", token_ids=(1, 2), logprobs=(-0.1,))


def messages(folder: Path) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((folder / "trajectory.jsonl").read_text())["messages"]
    return loaded


WHICH = Reply("<answer>AMBIGUOUS: Which box?</answer>")
LEFT = OperatorAnswer("the left one")


def asking(**options: Any) -> Conversation:
    """A conversation that waits for the answer to its first question."""
    conversation = Conversation("Do it.", Toolbox([Tools()]), asks=True, **options)
    conversation.step(LOOK)
    conversation.step(WHICH)
    return conversation


def test_a_question_waits_and_the_command_goes_on_with_the_answer() -> None:
    heard: list[Event] = []
    conversation = asking(listener=heard.append)
    assert conversation.question == OperatorQuestion("Which box?", 0)
    assert not conversation.done
    with pytest.raises(ToolError, match="A question waits for the operator's answer"):
        conversation.step(LOOK)
    conversation.answer(LEFT)
    assert conversation.question is None
    last = conversation.messages[-1]
    assert (last.role, last.words, last.answers) == ("user", "the left one", "Which box?")
    conversation.step(move("a"))
    conversation.step(Reply("<answer>Done.</answer>"))
    assert (conversation.episode.success, conversation.episode.answers) == (True, (LEFT,))
    said = [event for event in heard if isinstance(event, OperatorQuestion | OperatorAnswer | CommandEnded)]
    assert said == [OperatorQuestion("Which box?", 0), LEFT, CommandEnded("Done.")]


@pytest.mark.parametrize("waits", [True, False])
def test_a_question_that_nobody_answers_ends_the_command_with_its_code(waits: bool) -> None:
    heard: list[Event] = []
    conversation = Conversation("Do it.", Toolbox([Tools()]), asks=waits, listener=heard.append)
    conversation.step(WHICH)
    if waits:
        conversation.leave_unanswered()
    episode = conversation.episode
    assert (conversation.done, episode.error_code, episode.answer) == (True, ErrorCode.AMBIGUOUS, "Which box?")
    assert heard[-1] == CommandEnded("AMBIGUOUS: Which box?", ErrorCode.AMBIGUOUS)
    with pytest.raises(ToolError, match="The conversation is over"):
        conversation.answer(LEFT)


def test_a_fork_of_a_question_is_answered_by_itself() -> None:
    one = asking()
    other = one.fork()
    one.answer(LEFT)
    assert other.question is not None
    other.answer(OperatorAnswer(point=(0.25, 0.5)))
    assert [c.messages[-1].words for c in (one, other)] == ["the left one", "(0.250, 0.500)"]
    assert [c.episode.answers for c in (one, other)] == [(LEFT,), (OperatorAnswer(point=(0.25, 0.5)),)]


def test_a_stop_while_a_question_waits_ends_the_command() -> None:
    halted: list[bool] = []
    conversation = asking(stopped=lambda: bool(halted))
    halted.append(True)
    conversation.answer(LEFT)
    assert (conversation.done, conversation.episode.error_code) == (True, ErrorCode.STOPPED)
    assert conversation.episode.answers == (LEFT,), "what the operator said is kept"


@pytest.mark.parametrize("words", ["stop", "cancel", "Stop, that's wrong!", "no stop"])
def test_an_answer_that_says_stop_ends_the_command_and_no_policy_reads_it(words: str) -> None:
    conversation = asking()
    conversation.answer(OperatorAnswer(words))
    assert (conversation.done, conversation.episode.error_code) == (True, ErrorCode.CANCELLED)


def test_questions_without_end_end_the_command() -> None:
    conversation = Conversation("Do it.", Toolbox([Tools()]), asks=True)
    for _ in range(MOST_QUESTIONS):
        conversation.step(WHICH)
        conversation.answer(LEFT)
    conversation.step(WHICH)
    assert (conversation.done, conversation.episode.error_code) == (True, ErrorCode.AMBIGUOUS)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"text": " "}, "An answer needs words or a point."),
        ({"text": "x" * 2001}, "at most 2,000 characters"),
        ({"point": (0.5, 1.5)}, "both in 0..1"),
        ({"point": (float("nan"), 0.5)}, "both in 0..1"),
    ],
)
def test_what_is_no_answer_is_refused(given: dict[str, Any], sentence: str) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, sentence):
        OperatorAnswer(**given)
