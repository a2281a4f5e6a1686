"""Stages: how far an episode came, as the physics shows it, and in agreement with the judge."""

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests.stations import FAST
from toolhand.agent_node.agent import Agent
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.sim.contacts import Contacts
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.snapshot import ObjectState, Snapshot
from toolhand.sim.station import Station, StationConfig, StationState
from toolhand.sim.tasks.judge import Judge
from toolhand.sim.tasks.pick import PickTask
from toolhand.sim.tasks.place import PlaceTask
from toolhand.sim.tasks.predicates import THRESHOLDS
from toolhand.sim.tasks.stages import HELD_S, Stages, pick_stages, place_stages
from toolhand.sim.tasks.task import Category, History, Score, Stage, Task, Transcript
from toolhand.sim.tasks.tasks import random_task
from toolhand.sim.world import LOG_PERIOD_S
from toolhand.training.env.episode import run_episode
from toolhand.training.rewards.stages import WEIGHTS, stage_reward

SCENE = load_scene(EXAMPLE_SCENE)
SENTENCE = "Pick up the cinnamon and place it in front of the rice box"
TARGET, REFERENCE = "cinnamon_1", "rice_box_1"
PICK = PickTask("pick up the cinnamon", SCENE, (TARGET,))
PLACE = PlaceTask(SENTENCE, SCENE, (TARGET,), "in_front_of", (REFERENCE,))
GRASP = ["hand_at_target", "jaws_touch_target", "held", "lifted", "carried"]
AWAKE = replace(FAST, sleep=False)


def reached(stages: Stages) -> list[str]:
    return [name for name, stage in stages.items() if stage]


def times(stages: Stages) -> list[float]:
    return [stage.first_at_s for stage in stages.values() if stage.first_at_s is not None]


# -- with physics ----------------------------------------------------------------------------------


@cache
def whole(config: StationConfig) -> tuple[History, Score]:
    """A pick and place from its beginning to its end."""
    station = Station(SCENE, config)
    judge = Judge(station)
    episode = Agent(ScriptedPolicy(), station.toolbox).run(PLACE.text)
    history = judge.history(PLACE.holds_s)
    return history, PLACE.score(history, episode)


@pytest.mark.parametrize("config", [AWAKE, FAST], ids=["awake", "sleep"])
def test_a_whole_pick_and_place_reaches_every_stage_one_after_the_other(config: StationConfig) -> None:
    _, score = whole(config)
    assert score.success
    assert reached(score.stages) == list(score.stages) == list(WEIGHTS)
    at = times(score.stages)
    first, last_two = at[:-2], at[-2:]
    assert np.all(np.diff(first) > 0), score.stages
    assert last_two[0] == last_two[1] > first[-1], "what only the end shows has its time"
    assert stage_reward(score.stages) == 1.0


def test_what_is_logged_while_objects_sleep_is_what_is_logged_with_everything_awake() -> None:
    """Sleeping objects have no contacts in the physics; the log has them, and so the stages have their times."""
    (awake, its), (asleep, others) = whole(AWAKE), whole(FAST)
    assert awake.contacts is not None
    assert len(list(itertools.groupby(awake.contacts))) >= 4, "stands, is touched, is up, stands again"
    assert awake.times.tolist() == asleep.times.tolist()
    # What rounding makes of two solvers: a contact may begin a sample later, and is in both from then on.
    both = enumerate(zip(awake.contacts, asleep.contacts, strict=True))
    late = [(k, pair) for k, (one, other) in both for pair in one ^ other]
    assert len(late) <= 2
    assert all(pair in awake.contacts[k + 1] & asleep.contacts[k + 1] for k, pair in late)
    assert its.stages == others.stages


@pytest.mark.parametrize(("seed", "category"), [(1, "pick"), (3, "pick_and_place")])
def test_a_success_has_all_stages_of_its_task(seed: int, category: Category) -> None:
    task = random_task(seed, category)
    score = run_episode(Station(task.scene, replace(FAST, seed=seed)), ScriptedPolicy(), task).truth
    assert score is not None
    assert score.success
    assert all(score.stages.values()), (task.text, score.stages)
    assert times(score.stages) == sorted(times(score.stages))


@cache
def lifted() -> StationState:
    """The moment after an episode in which the target was picked."""
    station = Station(SCENE, FAST)
    score = run_episode(station, ScriptedPolicy(), PICK).truth
    assert score is not None
    assert score.success
    assert reached(score.stages) == [*GRASP, "nothing_else_moved"]
    return station.save()


def picked() -> tuple[Station, Judge]:
    """The target is up in the hand, and a judge has seen it from the beginning."""
    station = Station(SCENE, FAST)
    judge = Judge(station)
    station.restore(lifted())
    return station, judge


def judged(judge: Judge, task: Task) -> Score:
    return judge.score(task, nothing_said())


def nothing_said() -> Transcript:
    class Nothing:
        task, answer, success, error_code = "", "", False, None
        records: list[object] = []  # noqa: RUF012

    return Nothing()  # type: ignore[return-value]


def test_an_object_that_is_dropped_midway_was_carried_but_nowhere() -> None:
    station, judge = picked()
    station.arm.move_gripper(station.world.robot.gripper.max_opening)
    score = judged(judge, PLACE)
    assert score.terms == {"picked": True, "placed": False}
    assert reached(score.stages)[:5] == GRASP
    assert not score.stages["above_place"]
    assert not score.stages["let_go"]
    assert not score.stages["relation_true"]
    assert stage_reward(score.stages) < 1.0
    dropped = judged(judge, PICK)
    assert not dropped.success
    assert reached(dropped.stages)[:4] == GRASP[:4]
    assert not dropped.stages["carried"]


def test_what_is_still_in_the_hand_was_neither_let_go_nor_placed() -> None:
    score = judged(picked()[1], PLACE)
    assert score.terms == {"picked": True, "placed": False}
    assert reached(score.stages) == [*GRASP, "at_rest", "nothing_else_moved"]


def test_the_wrong_object_lifted_is_no_stage_of_the_target() -> None:
    _, judge = picked()
    other = "red_box_1"
    for task in (replace(PICK, target_ids=(other,)), replace(PLACE, target_ids=(other,))):
        score = judged(judge, task)
        assert not any(score.terms.values())
        assert set(reached(score.stages)) <= {"at_rest", "relation_true"}
        assert stage_reward(score.stages) == 0.0


def test_jaws_that_close_beside_the_object_were_at_it_and_no_more() -> None:
    """The motion of a grasp once more, in a world where the object stands aside."""
    station, judge = picked()
    history = judge.history((2.0,))
    assert history.hand is not None
    score = PICK.score(history, nothing_said())
    held_at = score.stages["held"].first_at_s
    assert held_at is not None
    world = station.world
    log = [state for state in world.log if state[0] <= history.before.time + held_at + 0.2]
    arm = [int(world.model.joint(name).qposadr[0]) for name in world.robot.arm_joints]
    knuckle = int(world.model.joint(world.robot.gripper.joint).qposadr[0])

    missed = Station(SCENE, FAST)
    item = missed.world.snapshot().objects[TARGET]
    # Aside is across the direction in which the jaws close: away from the palm's middle, by its width.
    half = SCENE.find(TARGET).asset.size_m[0] / 2
    axis = _across(station, log[-1][1][arm])
    missed.world.place_object(TARGET, item.position_m + (half + 0.017) * axis, item.quat_wxyz)
    judge = Judge(missed)
    for (_, before), (_, after) in itertools.pairwise(log):
        for part in np.linspace(0, 1, 10, endpoint=False):
            missed.world.command_arm((1 - part) * before[arm] + part * after[arm])
            missed.world.command_knuckle(float(after[knuckle]))
            missed.world.step()
    score = judged(judge, PICK)
    assert not score.success
    assert reached(score.stages) == ["hand_at_target", "nothing_else_moved"], score.stages


def _across(station: Station, q: np.ndarray) -> np.ndarray:
    from toolhand.tool_nodes.motion.kinematics import Kinematics

    axis = Kinematics(station.world.robot).fk(q)[:3, 1] * [1.0, 1.0, 0.0]
    return axis / np.linalg.norm(axis)  # type: ignore[no-any-return]


def test_nothing_done_is_worth_nothing() -> None:
    for task in (PICK, PLACE):
        score = Judge(Station(SCENE)).score(task, nothing_said())
        assert set(reached(score.stages)) <= {"at_rest", "nothing_else_moved"}
        assert stage_reward(score.stages) == 0.0


# -- made up ---------------------------------------------------------------------------------------


@cache
def untouched() -> History:
    """Nothing is done in the whole scene."""
    return Judge(Station(SCENE, FAST)).history((THRESHOLDS.hold_s, THRESHOLDS.still_s))


def made_up(heights: list[float], contacts: list[Contacts] | None, hand_z: float = 1.0) -> History:
    """A history of the target going up and down where it stands, with contacts of its own."""
    history = untouched()
    count = len(heights)
    poses = {name: np.tile(states[:1], (count, 1)) for name, states in history.poses.items()}
    poses[TARGET][:, 2] += heights
    hand = poses[TARGET][:, :3] + [0.0, 0.0, hand_z]
    return replace(
        history,
        times=history.before.time + LOG_PERIOD_S * np.arange(1, count + 1),
        poses=poses,
        hand=hand,
        contacts=None if contacts is None else tuple(contacts),
    )


IN_JAWS: Contacts = frozenset({("cinnamon_1", "gripper")})
ON_TABLE: Contacts = frozenset({("cinnamon_1", "table")})
PINCHED = IN_JAWS | ON_TABLE
STACKED: Contacts = IN_JAWS | {("cinnamon_1", "red_box_1"), ("red_box_1", "table")}
LONG = round(HELD_S / LOG_PERIOD_S)


@pytest.mark.parametrize(
    ("contacts", "expected"),
    [
        ([ON_TABLE] * 9, []),
        ([ON_TABLE, *[PINCHED] * 9], ["hand_at_target", "jaws_touch_target"]),
        ([ON_TABLE, *[STACKED] * 9], ["hand_at_target", "jaws_touch_target"]),
        ([PINCHED, *[IN_JAWS] * (LONG - 1), ON_TABLE], ["hand_at_target", "jaws_touch_target"]),
        ([PINCHED, *[IN_JAWS] * LONG, ON_TABLE], ["hand_at_target", "jaws_touch_target", "held"]),
    ],
)
def test_held_is_what_the_jaws_alone_carry_for_long_enough(contacts: list[Contacts], expected: list[str]) -> None:
    stages = pick_stages(made_up([0.0] * len(contacts), contacts), [TARGET])
    assert [name for name in reached(stages) if name in GRASP] == expected


def test_a_content_that_hangs_on_a_held_object_does_not_bear_it() -> None:
    loaded: Contacts = IN_JAWS | {("cinnamon_1", "red_box_1")}
    assert pick_stages(made_up([0.0] * LONG, [loaded] * LONG), [TARGET])["held"]


def test_held_begins_where_the_time_began_that_was_long_enough() -> None:
    contacts = [PINCHED, IN_JAWS, PINCHED, *[IN_JAWS] * 8]
    held = pick_stages(made_up([0.0] * len(contacts), contacts), [TARGET])["held"]
    assert held.first_at_s == pytest.approx(4 * LOG_PERIOD_S)


def test_what_flies_up_without_the_jaws_is_not_lifted() -> None:
    assert not pick_stages(made_up([0.1] * 9, [frozenset()] * 9), [TARGET])["lifted"]
    stages = pick_stages(made_up([0.049, 0.051], [IN_JAWS] * 2), [TARGET])
    assert stages["lifted"].first_at_s == pytest.approx(2 * LOG_PERIOD_S)


@pytest.mark.parametrize(("gap_m", "near"), [(0.019, True), (0.021, False)])
def test_the_hand_is_at_an_object_within_two_centimetres_of_its_box(gap_m: float, near: bool) -> None:
    above = SCENE.find(TARGET).asset.size_m[2] / 2 + gap_m
    stages = pick_stages(made_up([0.0], [ON_TABLE], hand_z=above), [TARGET])
    assert bool(stages["hand_at_target"]) is near


def test_without_contacts_the_stages_that_need_them_are_left_out() -> None:
    up = [0.0, *[0.1] * 60, 0.0]
    stages = place_stages(made_up(up, None), [TARGET], "in_front_of", [REFERENCE])
    told = ["lifted", "carried", "above_place", "at_rest", "relation_true", "nothing_else_moved"]
    assert list(stages) == told
    assert reached(stages) == ["lifted", "carried", "at_rest", "nothing_else_moved"]
    assert list(pick_stages(made_up(up, None), [TARGET])) == ["lifted", "carried", "nothing_else_moved"]


def test_any_target_counts_and_one_that_is_not_there_has_no_stages() -> None:
    history = made_up([0.1] * 9, [IN_JAWS] * 9)
    assert pick_stages(history, ["red_box_1", TARGET]) == pick_stages(history, [TARGET])
    assert pick_stages(history, ["elephant_1"]) == {}
    assert place_stages(history, [], "anywhere", []) == {}


@pytest.mark.parametrize(
    ("name", "lift", "fault"), [(TARGET, 0.0, "relation_true"), (REFERENCE, 0.0, "nothing_else_moved")]
)
def test_what_toppled_counts_against_the_stage_that_it_belongs_to(name: str, lift: float, fault: str) -> None:
    history = made_up([0.0], [ON_TABLE])
    last = history.holds[-1]
    fallen = [Snapshot(s.time, {**s.objects, name: _toppled(s.objects[name])}) for s in last]
    toppled = place_stages(replace(history, holds=(history.holds[0], tuple(fallen))), [TARGET], "anywhere", [])
    upright = place_stages(history, [TARGET], "anywhere", [])
    assert set(reached(upright)) - set(reached(toppled)) == {fault}


def _toppled(state: ObjectState) -> ObjectState:
    return replace(state, quat_wxyz=np.array([np.cos(0.5), np.sin(0.5), 0.0, 0.0]))


def test_a_stage_is_as_good_as_a_truth_value() -> None:
    assert Stage(True, 1.0)
    assert not Stage(False)
    assert stage_reward({"lifted": Stage(True, 1.0), "held": Stage(False)}) == 0.5
