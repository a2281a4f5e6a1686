"""Commands that need an answer of the operator, in physics: what is done is what was meant, and judged so."""

from collections.abc import Callable, Iterator

import pytest

from tests.stations import FAST
from toolhand.agent_node.agent import Agent
from toolhand.agent_node.events import Ask, Event, OperatorAnswer, OperatorQuestion, Thought
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationState
from toolhand.sim.tasks.task import held_ids
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.env.episode import Outcome
from toolhand.training.env.goal_from_text import judged_sentence

PICK = "pick up the coconut water"
LEFT, RIGHT = "coconut_water_2", "coconut_water_1"


@pytest.fixture(scope="module")
def shared() -> tuple[Station, StationState]:
    station = Station(load_scene(EXAMPLE_SCENE), FAST)
    return station, station.save()


@pytest.fixture
def station(shared: tuple[Station, StationState]) -> Iterator[Station]:
    station, before = shared
    station.restore(before)
    yield station
    station.restore(before)


def says(*answers: str | tuple[float, float]) -> Ask:
    """An operator who gives these answers one after the other, and none after them."""
    left = [OperatorAnswer(said) if isinstance(said, str) else OperatorAnswer(point=said) for said in answers]
    return lambda question: left.pop(0) if left else None


def carried_out(station: Station, text: str, ask: Ask, listener: Callable[[Event], None] | None = None) -> Outcome:
    agent = Agent(ScriptedPolicy(), station.toolbox, listener=listener or (lambda event: None), ask=ask)
    return judged_sentence(station, lambda: agent.run(text))


@pytest.mark.parametrize(
    ("text", "answers", "held"),
    [
        (PICK, ("the left one",), LEFT),
        (PICK, ((0.71, 0.27),), RIGHT),
        (PICK, ("the blue elephant", "number 2"), RIGHT),
        (PICK, ("pick up the far coconut water",), RIGHT),
        ("pick up the box", ("the red one",), "red_box_1"),
    ],
)
def test_an_ambiguous_pick_goes_on_with_an_answer(
    station: Station, text: str, answers: tuple[str | tuple[float, float], ...], held: str
) -> None:
    heard: list[Event] = []
    outcome = carried_out(station, text, says(*answers), heard.append)
    assert outcome.episode.success, outcome.episode.answer
    assert held_ids(station.world.snapshot()) == {held}
    assert outcome.task.goal == f"pick {held}"
    assert outcome.truth is not None
    assert outcome.truth.success, outcome.truth.reasons
    assert sum(isinstance(event, OperatorQuestion) for event in heard) == len(answers)
    understood = [event.text for event in heard if isinstance(event, Thought)]
    quoted = (
        f'"{outcome.episode.answers[-1].words}" means',
        "You have given another command: pick: far coconut water.",
    )
    assert any(text.startswith(quoted) for text in understood)


def test_the_reference_of_a_place_is_asked_for_and_its_place_is_looked_for_anew(station: Station) -> None:
    outcome = carried_out(station, "put the cinnamon in front of the coconut water", says("the right one"))
    assert outcome.episode.answer == "Placed the cinnamon in front of the right coconut water."
    assert outcome.task.goal == f"pick cinnamon_1, place in front of {RIGHT}"
    assert outcome.truth is not None
    assert outcome.truth.success, outcome.truth.reasons


def test_an_answer_that_is_never_understood_ends_the_command_with_its_code(station: Station) -> None:
    asked: list[str] = []

    def ask(question: OperatorQuestion) -> OperatorAnswer:
        asked.append(question.text)
        return OperatorAnswer("hm")

    outcome = carried_out(station, PICK, ask)
    assert outcome.episode.error_code is ErrorCode.AMBIGUOUS
    assert outcome.episode.answer.startswith('I do not understand "hm" here. Which coconut water do you mean')
    assert all('I do not understand "hm" here. Which' in text for text in asked[1:])
    assert station.arm.first_motion_at is None


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        (says(), ErrorCode.AMBIGUOUS),
        (says("never mind"), ErrorCode.CANCELLED),
    ],
)
def test_without_an_answer_nothing_moves(station: Station, ask: Ask, code: ErrorCode) -> None:
    outcome = carried_out(station, PICK, ask)
    assert outcome.episode.error_code is code
    assert station.arm.first_motion_at is None


def test_a_stop_while_the_question_waits_ends_the_command(station: Station) -> None:
    def stopped_then_answered(question: OperatorQuestion) -> OperatorAnswer:
        station.arm.stop()
        return OperatorAnswer("the left one")

    def interrupted(question: OperatorQuestion) -> None:
        raise ToolError(ErrorCode.STOPPED, "Interrupted.")

    for ask in (stopped_then_answered, interrupted):
        outcome = carried_out(station, PICK, ask)
        assert outcome.episode.error_code is ErrorCode.STOPPED
        assert station.arm.first_motion_at is None
