"""The state that the pages share: sentences in order, questions, cancelling, and what is kept."""

from collections.abc import Iterator

import pytest

from tests.console.fake_robot import FakeRobot
from tests.waiting import until
from toolhand.agent_node.events import OperatorAnswer
from toolhand.agent_node.pointed import PointedPoint
from toolhand.console.console_state import LONGEST_SENTENCE, LONGEST_TEXT, MOST_ENTRIES, MOST_WAITING, ConsoleState
from toolhand.console.robot import SpokenWords
from toolhand.tool_nodes.results import ErrorCode, ToolError


@pytest.fixture
def console_state() -> Iterator[ConsoleState]:
    made = ConsoleState(FakeRobot())
    yield made
    made.close()


def said(text: str, *points: tuple[float, float]) -> SpokenWords:
    return SpokenWords(text, "here", tuple(PointedPoint(point) for point in points))


def ended(console_state: ConsoleState, count: int) -> bool:
    return len([entry for entry in console_state.entries() if entry.kind == "ended"]) == count


def test_sentences_are_carried_out_one_after_the_other(console_state: ConsoleState) -> None:
    for text in ("hello", "pick up the can", "thanks"):
        console_state.say(said(text))
    until(lambda: ended(console_state, 3))
    assert [each.text for each in console_state.robot.said] == ["hello", "pick up the can", "thanks"]  # type: ignore[attr-defined]
    kinds = [entry.kind for entry in console_state.entries()]
    assert kinds.count("said") == 3
    assert {"thought", "call", "result", "picture", "refusal", "note"} <= set(kinds)
    numbers = [entry.number for entry in console_state.entries()]
    assert len(set(numbers)) == len(numbers)
    shown = next(entry for entry in console_state.entries() if entry.kind == "picture")
    assert (console_state.image(shown.number) or b"").startswith(b"\xff\xd8")


def test_a_failure_holds_back_what_waits(console_state: ConsoleState) -> None:
    console_state.say(said("fail"))
    console_state.say(said("hello"))
    until(lambda: console_state.held_back)
    assert len(console_state.waiting) == 1
    console_state.go_on()
    until(lambda: ended(console_state, 2))
    assert not console_state.held_back


def test_cancelling_ends_what_runs_and_holds_back_the_rest(console_state: ConsoleState) -> None:
    console_state.say(said("wait"))
    until(lambda: console_state.running)
    console_state.say(said("hello"))
    for _ in range(2):
        console_state.cancel("The page was closed.")
    assert [entry.text for entry in console_state.entries() if entry.kind == "page"] == ["The page was closed."], (
        "said once"
    )
    until(lambda: ended(console_state, 1))
    assert console_state.held_back
    assert [entry.code for entry in console_state.entries() if entry.kind == "ended"] == [ErrorCode.CANCELLED]
    console_state.drop_waiting()
    assert (console_state.waiting, console_state.held_back) == ((), "")


@pytest.mark.parametrize("words", ["robot please stop", "stop that's wrong", "wait", "no stop"])
def test_words_of_stopping_cancel_what_runs_and_do_not_wait_for_their_turn(
    console_state: ConsoleState, words: str
) -> None:
    console_state.say(said("wait"))
    until(lambda: console_state.running)
    console_state.say(said("hello"))
    console_state.say(said(words))
    until(lambda: ended(console_state, 1))
    assert [entry.code for entry in console_state.entries() if entry.kind == "ended"] == [ErrorCode.CANCELLED]
    assert [each.said.text for each in console_state.waiting] == ["hello"], "and is held back"
    assert console_state.held_back
    assert words in [entry.text for entry in console_state.entries() if entry.kind == "said"]


def test_a_question_is_answered_once_by_words_or_by_a_click(console_state: ConsoleState) -> None:
    console_state.say(said("ask"))
    until(lambda: console_state.question)
    question = console_state.question
    assert question is not None
    assert [each.label for each in question.candidates] == ["the left one", "the right one"]
    with pytest.raises(ToolError, match="does not wait"):
        console_state.answer(question.number + 1, OperatorAnswer("number 1"))
    console_state.say(said("", (0.75, 0.5)))
    with pytest.raises(ToolError, match="does not wait"):
        console_state.answer(question.number, OperatorAnswer("number 1"))
    until(lambda: ended(console_state, 1))
    assert console_state.entries()[-1].text == "Answered: (0.750, 0.500)"
    assert console_state.question is None


def test_what_cannot_be_said_is_refused(console_state: ConsoleState) -> None:
    for words, match in (
        (said("  "), "Say something"),
        (said("x" * (LONGEST_SENTENCE + 1)), "at most"),
        (said("", (0.5, 0.5)), "A point alone is no command"),
    ):
        with pytest.raises(ToolError, match=match):
            console_state.say(words)
    console_state.say(said("wait"))
    until(lambda: console_state.running)
    for _ in range(MOST_WAITING):
        console_state.say(said("hello"))
    with pytest.raises(ToolError, match=f"At most {MOST_WAITING} sentences may wait"):
        console_state.say(said("hello"))


def test_what_is_kept_is_bounded(console_state: ConsoleState) -> None:
    for _ in range(MOST_ENTRIES + 5):
        console_state.note("x" * (2 * LONGEST_TEXT))
    assert len(console_state.entries()) == MOST_ENTRIES
    assert max(len(entry.text) for entry in console_state.entries()) < LONGEST_TEXT + 60
