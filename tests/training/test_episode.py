"""Episodes: judged by the simulator's truth alone, and without a score when the system itself failed."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest

from agent_node.policies.scripted.policy import ScriptedPolicy
from agent_node.policy import Message, Reply
from sim.film import ANIMATION_FRAMES, ANIMATION_SIZE, animate
from sim.scene.files import EXAMPLE_SCENE, load_scene
from sim.station import Station
from sim.tasks.judge import Goal, Truth
from tool_nodes.results import ErrorCode
from training.episode import Outcome, run_episode, summarize
from training.goal_from_text import goal_from_text, true_views

PICK = "pick up the far coconut water"
PLACE = "Pick up the cinnamon and place it in front of the rice box"


def fresh() -> Station:
    return Station(load_scene(EXAMPLE_SCENE))


class Says:
    """A policy that says its lines, the last one for ever."""

    name = "says"

    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)

    def respond(self, conversation: Sequence[Message]) -> Reply:
        return Reply(self._lines.pop(0) if len(self._lines) > 1 else self._lines[0])


def call(name: str, **arguments: object) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


@pytest.fixture(scope="module")
def picked() -> tuple[Station, Outcome]:
    station = fresh()
    return station, run_episode(station, ScriptedPolicy(), PICK)


@pytest.fixture(scope="module")
def placed() -> tuple[Station, Outcome]:
    station = fresh()
    return station, run_episode(station, ScriptedPolicy(), PLACE)


# -- the meaning of a sentence ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def example() -> Station:
    return fresh()


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        (PICK, Goal(("coconut_water_1",))),
        ("pick up the coconut water that is closer to the camera", Goal(("coconut_water_2",))),
        ("grab the red box", Goal(("red_box_1",))),
        (PLACE, Goal(("cinnamon_1",), "in_front_of", ("rice_box_1",))),
        ("put the cinnamon into the black bin", Goal(("cinnamon_1",), "in", ("black_bin_1",))),
        ("sing a song", None),
        ("pick up the violin", None),
        ("", None),
    ],
)
def test_a_sentence_means_true_objects_or_nothing(example: Station, text: str, goal: Goal | None) -> None:
    basis = goal_from_text(text, example)
    assert basis.goal == goal
    assert bool(basis.problem) == (goal is None)


def test_put_it_down_means_what_the_gripper_holds_and_nothing_where_it_holds_nothing(
    example: Station, picked: tuple[Station, Outcome]
) -> None:
    text = "put it in the black bin"
    assert goal_from_text(text, picked[0]).goal == Goal(("coconut_water_1",), "in", ("black_bin_1",))
    empty = goal_from_text(text, example)
    assert empty.goal is None
    assert "the gripper held none" in empty.problem


def test_a_thing_held_from_an_earlier_command_is_judged_where_it_is_put() -> None:
    station = fresh()
    run_episode(station, ScriptedPolicy(), "pick up the red box")
    outcome = run_episode(station, ScriptedPolicy(), "put it in the black bin")
    assert outcome.episode.success, outcome.episode.answer
    assert outcome.truth == Truth(True, True)
    assert outcome.basis.goal == Goal(("red_box_1",), "in", ("black_bin_1",))


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        (Goal(("apple_1",)), "pick apple_1"),
        (Goal(("a", "b"), "in_front_of", ("c",)), "pick a or b, place in front of c"),
        (Goal(("a",), "between", ("b", "c")), "pick a, place between b and c"),
        (Goal(("a",), "anywhere"), "pick a, place anywhere"),
    ],
)
def test_a_goal_is_told_in_words(goal: Goal, words: str) -> None:
    assert str(goal) == words


def test_a_result_says_what_it_was_judged_against_and_whose_goal_that_is(placed: tuple[Station, Outcome]) -> None:
    station, outcome = placed
    assert summarize(outcome, station)["judged_against"] == {
        "goal": "pick cinnamon_1, place in front of rice_box_1",
        "source": "the robot's own reading of the sentence, not independent",
    }
    told = run_episode(fresh(), Says("<answer>Done.</answer>"), PLACE, goal=Goal(("red_box_1",)))
    assert summarize(told, station)["judged_against"] == {"goal": "pick red_box_1", "source": "the task's own goal"}
    unread = run_episode(fresh(), Says("<answer>Done.</answer>"), "sing a song")
    assert summarize(unread, station)["judged_against"]["goal"].startswith("nothing: ")


def test_a_perfect_observer_sees_every_object_where_it_is(example: Station) -> None:
    views = true_views(example)
    frame = example.camera.capture()
    assert frame.ids is not None
    for index, (view, placed) in enumerate(zip(views, example.scene.objects, strict=True)):
        assert view.name == placed.item
        assert np.abs(view.position_m - placed.position_m).max() < 5e-3
        x, y = view.point
        assert frame.ids[int(y * 480), int(x * 640)] == index


# -- truth -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("truth", "score", "success"),
    [
        (Truth(True, None), 1, True),
        (Truth(False, None), 0, False),
        (Truth(True, True), 2, True),
        (Truth(True, False), 1, False),
        (Truth(False, False), 0, False),
    ],
)
def test_a_pick_has_one_point_and_a_pick_and_place_two(truth: Truth, score: int, success: bool) -> None:
    assert (truth.score, truth.success) == (score, success)


def test_a_pick_is_scored_by_what_is_held_in_the_end(picked: tuple[Station, Outcome]) -> None:
    _, outcome = picked
    assert outcome.episode.success
    assert outcome.truth == Truth(True, None)
    assert outcome.scored
    assert not outcome.false_success
    assert outcome.sim_time_s > 3.0
    assert outcome.time_to_first_motion_s is not None
    assert 0.0 < outcome.time_to_first_motion_s < outcome.episode.wall_s


def test_a_pick_and_place_is_scored_by_what_was_lifted_and_where_it_lies(placed: tuple[Station, Outcome]) -> None:
    _, outcome = placed
    assert outcome.episode.success
    assert outcome.truth == Truth(True, True)


def test_tools_that_report_success_with_the_wrong_thing_are_a_false_success() -> None:
    outcome = run_episode(fresh(), ScriptedPolicy(), "pick up the cinnamon", goal=Goal(("red_box_1",)))
    assert outcome.episode.success
    assert outcome.truth is not None
    assert not outcome.truth.picked
    assert outcome.truth.reasons
    assert outcome.false_success


def test_a_place_elsewhere_than_asked_for_counts_for_the_pick_only() -> None:
    goal = Goal(("cinnamon_1",), "behind", ("rice_box_1",))
    outcome = run_episode(fresh(), ScriptedPolicy(), PLACE, goal=goal)
    assert outcome.truth is not None
    assert (outcome.truth.picked, outcome.truth.placed, outcome.truth.score) == (True, False, 1)
    assert outcome.false_success


def test_words_without_deeds_score_nothing() -> None:
    station = fresh()
    outcome = run_episode(station, Says("<answer>Picked it up.</answer>"), PICK)
    assert not outcome.episode.success
    assert outcome.truth is not None
    assert not outcome.truth.success
    assert outcome.scored
    assert outcome.time_to_first_motion_s is None
    assert outcome.sim_time_s == 0.0


def test_a_sentence_that_means_nothing_here_is_scored_as_not_done() -> None:
    outcome = run_episode(fresh(), ScriptedPolicy(), "sing a song")
    assert outcome.episode.error_code is ErrorCode.NOT_UNDERSTOOD
    assert outcome.truth == Truth(False, None, ("the command means nothing in this scene",))


def test_a_stop_ends_the_episode_and_it_is_still_judged() -> None:
    station = fresh()
    station.arm.stop()
    outcome = run_episode(station, ScriptedPolicy(), PICK, stopped=lambda: True)
    assert outcome.episode.error_code is ErrorCode.STOPPED
    assert outcome.scored
    assert outcome.truth is not None
    assert not outcome.truth.picked


def test_where_a_placed_thing_stands_is_measured_as_the_simulator_has_it(placed: tuple[Station, Outcome]) -> None:
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
    outcome = run_episode(station, ScriptedPolicy(), PICK)
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

    outcome = run_episode(station, Spoils("<answer>Done.</answer>"), PICK)
    assert outcome.episode.error_code is ErrorCode.INTERNAL
    assert not outcome.episode.success
    assert "physics" in outcome.episode.answer
    assert outcome.truth is None


def test_a_backend_that_is_unavailable_leaves_no_score() -> None:
    lines = (
        call("robot.capture_image") + call("robot.get_depth"),
        call("roborefer.detect_one", obj_name="can", image_index=1),
        "<answer>UNAVAILABLE: No pointing today.</answer>",
    )
    outcome = run_episode(fresh(), Says(*lines), PICK)
    assert outcome.episode.error_code is ErrorCode.UNAVAILABLE
    assert outcome.truth is None


def test_a_policy_that_crashes_leaves_no_score() -> None:
    class Crashes:
        name = "crashes"

        def respond(self, conversation: Sequence[Message]) -> Reply:
            raise ZeroDivisionError("thinking")

    outcome = run_episode(fresh(), Crashes(), PICK)
    assert outcome.episode.error_code is ErrorCode.INTERNAL
    assert outcome.truth is None


# -- result and animation --------------------------------------------------------------------------


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
    result = summarize(run_episode(station, Says("<answer>Done.</answer>"), PICK), station)
    assert result["truth"]["reasons"]
    assert result["time_to_first_motion_s"] is None


def test_an_animation_shows_the_motion_and_leaves_the_world_as_it_was(picked: tuple[Station, Outcome]) -> None:
    station, _ = picked
    time, qpos = station.world.time, station.world.data.qpos.copy()
    shown = 0

    def cancelled() -> bool:
        nonlocal shown
        shown += 1
        return shown > 4

    frames, times = animate(station, cancelled)
    assert len(frames) == len(times) == 4
    assert frames[0].shape == (ANIMATION_SIZE[1], ANIMATION_SIZE[0], 3)
    assert not np.array_equal(frames[0], frames[-1])
    assert times[0] == 0.0
    assert np.all(np.diff(times) > 0)
    assert station.world.time == time
    assert np.array_equal(station.world.data.qpos, qpos)


def test_an_animation_has_a_bounded_number_of_pictures_of_the_whole_motion(picked: tuple[Station, Outcome]) -> None:
    station, _ = picked
    frames, times = animate(station)
    assert len(frames) == ANIMATION_FRAMES
    assert times[-1] == pytest.approx(station.world.log[-1][0] - station.world.log[0][0])


def test_an_arm_that_never_moved_has_no_animation(example: Station) -> None:
    assert animate(example) == ([], [])
