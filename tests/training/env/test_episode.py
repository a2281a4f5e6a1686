"""Episodes: judged by the simulator's truth alone, and without a score when the system itself failed."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.saying import Says, call
from tests.stations import FAST
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.agent_node.policy import Message, Reply
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.station import Station
from toolhand.sim.tasks.pick import PickTask
from toolhand.sim.tasks.place import PlaceTask
from toolhand.sim.tasks.task import Score
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.training.env.episode import Outcome, run_episode, summarize
from toolhand.training.env.goal_from_text import task_from_text

PICK = "pick up the far coconut water"
PLACE = "Pick up the cinnamon and place it in front of the rice box"


SCENE = load_scene(EXAMPLE_SCENE)
PICK_TASK = PickTask(PICK, SCENE, ("coconut_water_1",))
PLACE_TASK = PlaceTask(PLACE, SCENE, ("cinnamon_1",), "in_front_of", ("rice_box_1",))


def fresh() -> Station:
    return Station(SCENE, FAST)


@pytest.fixture(scope="module")
def picked() -> tuple[Station, Outcome]:
    station = fresh()
    return station, run_episode(station, ScriptedPolicy(), PICK_TASK)


@pytest.fixture(scope="module")
def placed() -> tuple[Station, Outcome]:
    station = fresh()
    return station, run_episode(station, ScriptedPolicy(), PLACE_TASK)


# -- truth -----------------------------------------------------------------------------------------


def test_a_pick_is_scored_by_what_is_held_in_the_end(picked: tuple[Station, Outcome]) -> None:
    _, outcome = picked
    assert outcome.episode.success
    assert outcome.truth == Score({"picked": True}, True)
    assert outcome.scored
    assert not outcome.false_success
    assert outcome.sim_time_s > 3.0
    assert outcome.time_to_first_motion_s is not None
    assert 0.0 < outcome.time_to_first_motion_s < outcome.episode.wall_s


def test_a_pick_and_place_is_scored_by_what_was_lifted_and_where_it_lies(placed: tuple[Station, Outcome]) -> None:
    _, outcome = placed
    assert outcome.episode.success
    assert outcome.truth == Score({"picked": True, "placed": True}, True)


def test_tools_that_report_success_with_the_wrong_object_are_a_false_success() -> None:
    outcome = run_episode(fresh(), ScriptedPolicy(), PickTask("pick up the cinnamon", SCENE, ("red_box_1",)))
    assert outcome.episode.success
    assert outcome.truth is not None
    assert not outcome.truth.terms["picked"]
    assert outcome.truth.reasons
    assert outcome.false_success


def test_a_place_elsewhere_than_asked_for_counts_for_the_pick_only() -> None:
    outcome = run_episode(fresh(), ScriptedPolicy(), replace(PLACE_TASK, relation="behind"))
    assert outcome.truth is not None
    assert (outcome.truth.terms, outcome.truth.points) == ({"picked": True, "placed": False}, 1)
    assert outcome.false_success


def test_words_without_deeds_score_nothing() -> None:
    station = fresh()
    outcome = run_episode(station, Says("<answer>Picked it up.</answer>"), PICK_TASK)
    assert not outcome.episode.success
    assert outcome.truth is not None
    assert not outcome.truth.success
    assert outcome.scored
    assert outcome.time_to_first_motion_s is None
    assert outcome.sim_time_s == 0.0


@pytest.mark.parametrize("text", ["sing a song", "pick up the hammerette"])
def test_a_sentence_of_which_the_judge_finds_no_goal_is_not_judged(text: str) -> None:
    station = fresh()
    outcome = run_episode(
        station, Says("<answer>OBJECT_NOT_FOUND: I see none.</answer>"), task_from_text(text, station)
    )
    assert (outcome.truth, outcome.scored, outcome.false_success) == (None, False, False)
    assert outcome.episode.error_code is ErrorCode.OBJECT_NOT_FOUND, "what the policy said stays"


def test_a_stop_ends_the_episode_and_it_is_still_judged() -> None:
    station = fresh()
    station.arm.stop()
    outcome = run_episode(station, ScriptedPolicy(), PICK_TASK, stopped=lambda: True)
    assert outcome.episode.error_code is ErrorCode.STOPPED
    assert outcome.scored
    assert outcome.truth is not None
    assert not outcome.truth.terms["picked"]


def test_where_a_placed_object_stands_is_measured_as_the_simulator_has_it(placed: tuple[Station, Outcome]) -> None:
    station, outcome = placed
    (fact,) = [record.result.facts["placed"] for record in outcome.episode.records if "placed" in record.result.facts]
    true = station.world.snapshot().objects["cinnamon_1"].position_m
    assert np.hypot(*(np.array(fact["found_m"])[:2] - true[:2])) < 0.01
    assert fact["off_mm"] == pytest.approx(
        1000 * np.hypot(*(np.array(fact["found_m"]) - fact["wanted_m"])[:2]), abs=0.2
    )
    assert all(0.0 < value < 1.0 for value in (*fact["wanted"], *fact["found"]))
    assert json.loads(json.dumps(fact)) == fact


# -- infrastructure errors are never scored --------------------------------------------------------


def test_physics_that_breaks_during_a_motion_leaves_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    station = fresh()
    step = station.world.step

    def broken(count: int = 1) -> None:
        if station.world.time > 2.0:
            station.world.data.qpos[0] = np.nan
        step(count)

    monkeypatch.setattr(station.world, "step", broken)
    outcome = run_episode(station, ScriptedPolicy(), PICK_TASK)
    assert outcome.episode.error_code is ErrorCode.INTERNAL
    assert outcome.truth is None
    assert not outcome.scored
    assert not outcome.false_success
    result = summarize(outcome, station)
    assert (result["truth"], result["judged_against"]) == (None, None)


def test_physics_that_breaks_while_it_is_judged_leaves_no_score() -> None:
    station = fresh()

    class Spoils(Says):
        def respond(self, conversation: Sequence[Message]) -> Reply:
            station.world.data.qvel[3] = np.inf
            return super().respond(conversation)

    outcome = run_episode(station, Spoils("<answer>Done.</answer>"), PICK_TASK)
    assert outcome.episode.error_code is ErrorCode.INTERNAL
    assert not outcome.episode.success
    assert "physics" in outcome.episode.answer
    assert outcome.truth is None


def test_a_backend_that_is_unavailable_leaves_no_score() -> None:
    def gone(**values: Any) -> ToolResult:
        raise ToolError(ErrorCode.UNAVAILABLE, "The pointer does not answer.")

    lines = (
        call("robot.capture_image") + call("roborefer.detect_one", obj_name="can", image_index=0),
        "<answer>UNAVAILABLE: No pointing today.</answer>",
    )
    station = fresh()
    station.toolbox = station.toolbox.done_by("roborefer.detect_one", gone)
    outcome = run_episode(station, Says(*lines), PICK_TASK)
    assert outcome.episode.error_code is ErrorCode.UNAVAILABLE
    assert outcome.truth is None


def test_a_policy_that_crashes_leaves_no_score() -> None:
    outcome = run_episode(fresh(), Says(ZeroDivisionError("thinking")), PICK_TASK)
    assert outcome.episode.error_code is ErrorCode.INTERNAL
    assert outcome.truth is None


# -- result ------------------------------------------------------------------------------------------


def test_the_result_of_a_run_has_the_documented_fields(placed: tuple[Station, Outcome]) -> None:
    station, outcome = placed
    result = summarize(outcome, station)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert result["task"] == PLACE
    assert result["success"] is True
    assert result["truth"] == {"picked": True, "placed": True, "score": 2}
    assert result["error_code"] is None
    assert result["tool_calls"] == sum(len(turn.calls) for turn in outcome.episode.turns)
    assert result["turns"] == len(outcome.episode.turns)
    assert result["wall_s"] >= result["time_to_first_motion_s"] > 0
    assert result["sim_time_s"] == round(outcome.sim_time_s, 3)
    assert (result["seed"], result["scene_seed"]) == (0, 1)


def test_the_result_says_why_the_simulator_disagrees() -> None:
    station = fresh()
    result = summarize(run_episode(station, Says("<answer>Done.</answer>"), PICK_TASK), station)
    assert result["truth"]["reasons"]
    assert result["time_to_first_motion_s"] is None


def test_a_sentence_alone_is_no_task() -> None:
    with pytest.raises(ToolError, match="A sentence alone is no task"):
        run_episode(fresh(), ScriptedPolicy(), PICK)  # type: ignore[arg-type]


def test_a_station_that_shows_another_scene_is_refused_before_anything_moves() -> None:
    station = fresh()
    elsewhere = PickTask(PICK, generate_scene(3), ("coconut_water_1",))
    with pytest.raises(
        ToolError, match=r"other things than the task's scene. Make it with Station\(task.scene\)"
    ) as error:
        run_episode(station, ScriptedPolicy(), elsewhere)
    assert error.value.code is ErrorCode.INVALID_ARGUMENT
    assert station.world.log == []
