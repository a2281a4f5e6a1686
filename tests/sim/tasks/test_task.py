"""Tasks that score themselves, from what the simulator knows of an episode."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from tests.refusals import refused
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station
from toolhand.sim.tasks.judge import Judge
from toolhand.sim.tasks.pick import PickTask
from toolhand.sim.tasks.place import PlaceTask
from toolhand.sim.tasks.predicates import THRESHOLDS
from toolhand.sim.tasks.relational_pick import RelationalPickTask
from toolhand.sim.tasks.task import History, Score, Task, Transcript
from toolhand.sim.tasks.tasks import paper_task
from toolhand.sim.world import LOG_PERIOD_S
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.toolbox.toolbox import CallRecord

SCENE = load_scene(EXAMPLE_SCENE)


class Said:
    """What was said in an episode without a robot."""

    task = "How many cans are there?"
    success = False
    error_code: ErrorCode | None = None

    def __init__(self, answer: str = "") -> None:
        self.answer = answer
        self.records: list[CallRecord] = []


def lifted_for(seconds: float, name: str = "apple") -> History:
    """A history in which an object was up for some time and then put down again."""
    station = Station(SCENE)
    history = Judge(station).history((THRESHOLDS.hold_s, THRESHOLDS.still_s))
    (found,) = [key for key in history.poses if key.startswith(name)]
    count = round(seconds / LOG_PERIOD_S)
    poses = np.tile(history.poses[found][:1], (count + 20, 1))
    poses[10 : 10 + count, 2] += THRESHOLDS.lift_m + 1e-6
    return replace(history, times=LOG_PERIOD_S * np.arange(len(poses)), poses={found: poses})


@pytest.mark.parametrize(("seconds", "lifted"), [(THRESHOLDS.hold_s, True), (THRESHOLDS.hold_s - LOG_PERIOD_S, False)])
def test_lifted_is_what_was_up_for_the_whole_hold_time(seconds: float, lifted: bool) -> None:
    assert bool(lifted_for(seconds, SCENE.objects[0].id).lifted) is lifted


def test_a_history_holds_the_log_the_holds_and_the_end() -> None:
    station = Station(SCENE)
    station.world.step(100)
    judge = Judge(station)
    station.world.step(200)
    history = judge.history((0.3, 0.2))
    assert judge.sim_time_s == pytest.approx(200 * station.world.timestep + 0.5)
    assert history.times[0] >= history.before.time
    assert history.times[-1] <= history.after.time
    assert set(history.poses) == {placed.id for placed in SCENE.objects}
    assert all(poses.shape == (len(history.times), 7) for poses in history.poses.values())
    first, second = history.holds
    assert [round(hold[-1].time - hold[0].time, 6) for hold in (first, second)] == [0.3, 0.2]
    assert history.after is second[-1]
    assert history.scene is station.scene
    np.testing.assert_array_equal(history.T_base_camera, station.scene_camera().T_base_camera)
    for name, poses in history.poses.items():
        np.testing.assert_allclose(poses[-1, :3], history.after.objects[name].position_m, atol=1e-3)
    robot = station.world.robot
    held_at = Kinematics(robot).fk_path(robot.park[None])[0] @ (0.0, 0.0, robot.gripper.hold_depth, 1.0)
    np.testing.assert_allclose(history.parked_hand, held_at[:3])
    np.testing.assert_allclose(history.hand[-1], held_at[:3], atol=5e-3)


def test_a_history_without_holds_lets_no_time_pass() -> None:
    station = Station(SCENE)
    history = Judge(station).history(())
    assert (history.holds, history.after.time) == ((), history.before.time)
    assert history.lifted == frozenset()


@dataclass(frozen=True)
class Counting:
    """A task that has nothing to do with the arm: the whole of it."""

    text: str = "How many cans are there?"
    scene: object = SCENE
    goal: str = "the answer is 3"
    source: str = "the catalogue"
    holds_s: tuple[float, ...] = ()

    def score(self, history: History, transcript: Transcript) -> Score:
        off = abs(int(transcript.answer) - 3)
        return Score({"right": off == 0, "close": max(0.0, 1.0 - off / 3)}, off == 0)


def test_a_task_of_another_kind_is_one_class() -> None:
    task: Task = Counting()  # type: ignore[assignment]
    score = Judge(Station(SCENE)).score(task, Said("4"))
    assert (score.success, score.points) == (False, 0)
    assert score.terms == {"right": False, "close": pytest.approx(2 / 3)}


@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan")])
def test_a_term_outside_of_nought_to_one_is_no_score(value: float) -> None:
    with refused(ErrorCode.INTERNAL, r"lie in 0\.\.1"):
        Score({"picked": True, "speed": value}, True)


def test_nothing_done_scores_nothing_and_says_why() -> None:
    item = SCENE.objects[0].id
    pick = Judge(Station(SCENE)).score(PickTask("Pick it up.", SCENE, (item,)), Said())
    assert (pick.terms, pick.success, pick.points) == ({"picked": False}, False, 0)
    place = Judge(Station(SCENE)).score(PlaceTask("Move it.", SCENE, (item,), "anywhere"), Said())
    assert (place.terms, place.reasons) == ({"picked": False, "placed": False}, ("lifted: nothing",))


def test_physics_that_broke_has_no_score() -> None:
    station = Station(SCENE)
    judge = Judge(station)
    station.world.data.qvel[3] = np.inf
    with refused(ErrorCode.INTERNAL):
        judge.score(PickTask("Pick it up.", SCENE, (SCENE.objects[0].id,)), Said())


def test_points_count_what_is_wholly_true() -> None:
    assert Score({"picked": True, "placed": True}, True).points == 2
    assert Score({"picked": True, "placed": 0.5}, False).points == 1


@pytest.mark.parametrize(
    ("task", "goal"),
    [
        (PickTask("", SCENE, ("apple_1",)), "pick apple_1"),
        (PlaceTask("", SCENE, ("a", "b"), "in_front_of", ("c",)), "pick a or b, place in front of c"),
        (PlaceTask("", SCENE, ("a",), "between", ("b", "c")), "pick a, place between b and c"),
        (PlaceTask("", SCENE, ("a",), "anywhere"), "pick a, place anywhere"),
    ],
)
def test_a_goal_is_told_in_words(task: Task, goal: str) -> None:
    assert task.goal == goal


def test_the_paper_s_sentences_are_tasks_of_three_forms() -> None:
    assert [type(paper_task(index, 0)) for index in (0, 7, 13)] == [PickTask, RelationalPickTask, PlaceTask]
