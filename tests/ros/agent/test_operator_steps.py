"""The operator's side of a command's steps: each told once and in order, whatever is lost on the way."""

import itertools
import json
from typing import Any

import pytest

from rclpy_zenoh.overlay import install

install()

from toolhand_interfaces.msg import CommandStep

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.events import Event, ToolAnswered, ToolCalled
from toolhand.agent_node.ros.operator import StepNarrator

NUMBERS = (1, 2, 3, 4)


def step(number: int) -> Any:
    """A step with a thought that says its number."""
    return CommandStep(number=number, thought=str(number))


def told(*numbers: int, result: tuple[int, ...] = ()) -> list[str]:
    """What a listener hears of feedback with these numbers, and of a result with those."""
    heard: list[str] = []
    steps = StepNarrator(lambda event: heard.append(event.text))
    for number in (*numbers, *result):
        steps.hear(step(number))
    steps.end()
    return heard


@pytest.mark.parametrize("lost", [set(some) for n in range(5) for some in itertools.combinations(NUMBERS, n)], ids=str)
def test_whatever_feedback_is_lost_the_result_makes_it_good(lost: set[int]) -> None:
    assert told(*(number for number in NUMBERS if number not in lost), result=NUMBERS) == ["1", "2", "3", "4"]


def test_a_step_is_told_as_soon_as_those_before_it_are() -> None:
    heard: list[str] = []
    steps = StepNarrator(lambda event: heard.append(event.text))
    steps.hear(step(1))
    assert heard == ["1"]
    steps.hear(step(3))
    assert heard == ["1"]
    steps.hear(step(2))
    assert heard == ["1", "2", "3"]
    steps.hear(step(2))
    assert heard == ["1", "2", "3"]


def test_without_a_result_what_was_heard_is_told() -> None:
    assert told(1, 2, 4) == ["1", "2", "4"]


def test_a_call_and_its_result_are_one_record() -> None:
    heard: list[Event] = []
    steps = StepNarrator(heard.append)
    call = json.dumps({"name": "robot.capture_image", "arguments": {"a": 1}})
    steps.hear(CommandStep(number=1, tool_call=call))
    steps.hear(CommandStep(number=2, result_text="seen"))
    called, result = heard
    assert called == ToolCalled(ToolCall("robot.capture_image", {"a": 1}))
    assert isinstance(result, ToolAnswered)
    record = result.record
    assert (record.name, record.arguments, record.result.text) == ("robot.capture_image", {"a": 1}, "seen")


def test_what_a_look_does_not_find_comes_with_its_code_and_is_shown_as_no_error() -> None:
    heard: list[Event] = []
    steps = StepNarrator(heard.append)
    steps.hear(CommandStep(number=1, tool_call=json.dumps({"name": "roborefer.detect_all", "arguments": {}})))
    answered = "Error OBJECT_NOT_FOUND: no 'can' here"
    steps.hear(CommandStep(number=2, result_text=answered, error_code="OBJECT_NOT_FOUND"))
    (result,) = (event.record.result for event in heard if isinstance(event, ToolAnswered))
    assert (result.text, result.failed) == (answered, False)
    assert result.shown == "Not there: no 'can' here"
