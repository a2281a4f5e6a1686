"""The state that the pages share: sentences in order, questions, cancelling, and what is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from tests.console.fake_robot import FakeRobot
from toolhand.agent_node.events import OperatorAnswer
from toolhand.agent_node.pointed import PointedPoint
from toolhand.console.hub import LONGEST_SENTENCE, LONGEST_TEXT, MOST_ENTRIES, MOST_WAITING, Hub
from toolhand.console.robot import SpokenWords
from toolhand.tool_nodes.results import ErrorCode, ToolError


@pytest.fixture
def hub() -> Iterator[Hub]:
    made = Hub(FakeRobot())
    yield made
    made.close()


def said(text: str, *points: tuple[float, float]) -> SpokenWords:
    return SpokenWords(text, "here", tuple(PointedPoint(point) for point in points))


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + 20.0
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


def ended(hub: Hub, count: int) -> bool:
    return len([entry for entry in hub.entries() if entry.kind == "ended"]) == count


def test_sentences_are_carried_out_one_after_the_other(hub: Hub) -> None:
    for text in ("hello", "pick up the can", "thanks"):
        hub.say(said(text))
    until(lambda: ended(hub, 3))
    assert [each.text for each in hub.robot.said] == ["hello", "pick up the can", "thanks"]  # type: ignore[attr-defined]
    kinds = [entry.kind for entry in hub.entries()]
    assert kinds.count("said") == 3
    assert {"thought", "call", "result", "picture", "refusal", "note"} <= set(kinds)
    numbers = [entry.number for entry in hub.entries()]
    assert len(set(numbers)) == len(numbers)
    shown = next(entry for entry in hub.entries() if entry.kind == "picture")
    assert (hub.picture(shown.number) or b"").startswith(b"\xff\xd8")


def test_a_failure_holds_back_what_waits(hub: Hub) -> None:
    hub.say(said("fail"))
    hub.say(said("hello"))
    until(lambda: hub.held_back)
    assert len(hub.waiting) == 1
    hub.go_on()
    until(lambda: ended(hub, 2))
    assert not hub.held_back


def test_cancelling_ends_what_runs_and_holds_back_the_rest(hub: Hub) -> None:
    hub.say(said("wait"))
    until(lambda: hub.running)
    hub.say(said("hello"))
    for _ in range(2):
        hub.cancel("The page was closed.")
    assert [entry.text for entry in hub.entries() if entry.kind == "page"] == ["The page was closed."], "said once"
    until(lambda: ended(hub, 1))
    assert hub.held_back
    assert [entry.code for entry in hub.entries() if entry.kind == "ended"] == [ErrorCode.CANCELLED]
    hub.drop_waiting()
    assert (hub.waiting, hub.held_back) == ((), "")


@pytest.mark.parametrize("words", ["robot please stop", "stop that's wrong", "wait", "no stop"])
def test_words_of_stopping_cancel_what_runs_and_do_not_wait_for_their_turn(hub: Hub, words: str) -> None:
    hub.say(said("wait"))
    until(lambda: hub.running)
    hub.say(said("hello"))
    hub.say(said(words))
    until(lambda: ended(hub, 1))
    assert [entry.code for entry in hub.entries() if entry.kind == "ended"] == [ErrorCode.CANCELLED]
    assert [each.said.text for each in hub.waiting] == ["hello"], "and is held back"
    assert hub.held_back
    assert words in [entry.text for entry in hub.entries() if entry.kind == "said"]


def test_a_question_is_answered_once_by_words_or_by_a_click(hub: Hub) -> None:
    hub.say(said("ask"))
    until(lambda: hub.question)
    question = hub.question
    assert question is not None
    assert [each.label for each in question.candidates] == ["the left one", "the right one"]
    with pytest.raises(ToolError, match="does not wait"):
        hub.answer(question.number + 1, OperatorAnswer("number 1"))
    hub.say(said("", (0.75, 0.5)))
    with pytest.raises(ToolError, match="does not wait"):
        hub.answer(question.number, OperatorAnswer("number 1"))
    until(lambda: ended(hub, 1))
    assert hub.entries()[-1].text == "Answered: (0.750, 0.500)"
    assert hub.question is None


def test_what_cannot_be_said_is_refused(hub: Hub) -> None:
    for words, match in (
        (said("  "), "Say something"),
        (said("x" * (LONGEST_SENTENCE + 1)), "at most"),
        (said("", (0.5, 0.5)), "A point alone is no command"),
    ):
        with pytest.raises(ToolError, match=match):
            hub.say(words)
    hub.say(said("wait"))
    until(lambda: hub.running)
    for _ in range(MOST_WAITING):
        hub.say(said("hello"))
    with pytest.raises(ToolError, match=f"At most {MOST_WAITING} sentences may wait"):
        hub.say(said("hello"))


def test_what_is_kept_is_bounded(hub: Hub) -> None:
    for _ in range(MOST_ENTRIES + 5):
        hub.note("x" * (2 * LONGEST_TEXT))
    assert len(hub.entries()) == MOST_ENTRIES
    assert max(len(entry.text) for entry in hub.entries()) < LONGEST_TEXT + 60
