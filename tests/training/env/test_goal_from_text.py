"""A free sentence as a task: what the robot's own parser reads in the true scene, and that it says so."""

import numpy as np
import pytest

from tests.saying import Says
from tests.stations import FAST
from toolhand.agent_node.episode import not_judged
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.station import Station
from toolhand.sim.tasks.pick import PickTask
from toolhand.sim.tasks.task import Score
from toolhand.tool_nodes.results import ErrorCode
from toolhand.training.env.episode import run_episode, summarize
from toolhand.training.env.goal_from_text import OWN_READING, task_from_text, true_views

DONE = Says("<answer>Done.</answer>")
PLACE = "Pick up the cinnamon and place it in front of the rice box"


def fresh() -> Station:
    return Station(load_scene(EXAMPLE_SCENE), FAST)


@pytest.fixture(scope="module")
def example() -> Station:
    return Station(load_scene(EXAMPLE_SCENE))


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("pick up the far coconut water", "pick coconut_water_1"),
        ("pick up the coconut water that is closer to the camera", "pick coconut_water_2"),
        ("grab the red box", "pick red_box_1"),
        (PLACE, "pick cinnamon_1, place in front of rice_box_1"),
        ("put the cinnamon into the black bin", "pick cinnamon_1, place in black_bin_1"),
        ("put the cinnamon somewhere", "pick cinnamon_1, place anywhere"),
    ],
)
def test_a_sentence_means_true_objects(example: Station, text: str, goal: str) -> None:
    task = task_from_text(text, example)
    assert (task.goal, task.source, task.text) == (goal, OWN_READING, text)
    assert task.scene == example.scene


@pytest.mark.parametrize("text", ["sing a song", "pick up the violin", ""])
def test_a_sentence_without_a_meaning_here_is_a_task_that_cannot_be_done(example: Station, text: str) -> None:
    task = task_from_text(text, example)
    assert task.goal.startswith("nothing: ")
    assert len(task.goal) > len("nothing: ")
    assert task.source == OWN_READING


def test_put_it_down_means_what_the_gripper_holds_and_nothing_where_it_holds_nothing(example: Station) -> None:
    assert "the gripper held none" in task_from_text("put it in the black bin", example).goal
    station = fresh()
    run_episode(station, ScriptedPolicy(), task_from_text("pick up the red box", station))
    task = task_from_text("put it in the black bin", station)
    assert task.goal == "pick red_box_1, place in black_bin_1"
    outcome = run_episode(station, ScriptedPolicy(), task)
    assert outcome.episode.success, outcome.episode.answer
    assert outcome.truth == Score({"picked": True, "placed": True}, True)


def test_a_result_says_what_it_was_judged_against_and_whose_goal_that_is() -> None:
    station = fresh()
    read = run_episode(station, DONE, task_from_text(PLACE, station))
    assert summarize(read, station)["judged_against"] == {
        "goal": "pick cinnamon_1, place in front of rice_box_1",
        "source": "the robot's own reading of the sentence, not independent",
    }
    told = run_episode(station, DONE, PickTask(PLACE, station.scene, ("red_box_1",)))
    assert summarize(told, station)["judged_against"] == {"goal": "pick red_box_1", "source": "the task's own goal"}
    unread = summarize(run_episode(station, DONE, task_from_text("pick up the glorp", station)), station)
    assert (unread["truth"], not_judged(unread["judged_against"])) == (None, "it does not know 'glorp'")


def test_a_perfect_observer_sees_every_object_where_it_is(example: Station) -> None:
    views = true_views(example)
    frame = example.camera.capture()
    assert frame.ids is not None
    for index, (view, placed) in enumerate(zip(views, example.scene.objects, strict=True)):
        assert view.name == placed.item
        assert np.abs(view.position_m - placed.position_m).max() < 5e-3
        x, y = view.point
        assert frame.ids[int(y * 480), int(x * 640)] == index


def test_a_place_that_no_judge_knows_is_no_task_instead_of_an_error_of_the_run() -> None:
    station = Station(generate_scene(29))
    for text in ("put the pear in the paper cup", "put the pear between the sugar boxes and the shampoo"):
        assert task_from_text(text, station).goal.startswith("nothing: ")
    outcome = run_episode(station, ScriptedPolicy(), task_from_text("put the pear in the paper cup", station))
    assert outcome.episode.error_code is ErrorCode.PLACE_BLOCKED
    assert "is not open at the top" in outcome.episode.answer
    assert "paper_cup_1" not in outcome.episode.answer
