"""The environment: the same episodes as run_episode, driven from outside, and never a reward for a broken system."""

import asyncio
import gc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.refusals import refused
from tests.saying import call
from tests.stations import FAST
from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.agent_node.policy import Reply
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tasks.pick import PickTask
from toolhand.sim.tasks.place import PlaceTask
from toolhand.sim.tasks.task import Task
from toolhand.sim.tasks.tasks import random_task
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.training.env.environment import Environment, Step
from toolhand.training.env.episode import run_episode
from toolhand.training.rollouts.engine import collect
from toolhand.training.rollouts.plan import RolloutPlan, tasks_of

SCENE = load_scene(EXAMPLE_SCENE)
PICK = PickTask("pick up the far coconut water", SCENE, ("coconut_water_1",))
PLACE = PlaceTask(
    "Pick up the cinnamon and place it in front of the rice box", SCENE, ("cinnamon_1",), "in_front_of", ("rice_box_1",)
)
DONE = Reply("<answer>Done.</answer>")


LOOK = Reply(call("robot.capture_image"))


def roll(environment: Environment, task: Task) -> list[Step]:
    policy, steps = ScriptedPolicy(), [Step(environment.reset(task), {}, False)]
    while not steps[-1].done:
        steps.append(environment.step(policy.respond(steps[-1].observation)))
    return steps


def test_the_scripted_policy_gets_the_truth_of_run_episode_and_the_same_conversation() -> None:
    expected = run_episode(Station(SCENE, FAST), ScriptedPolicy(), PLACE)
    environment = Environment(FAST)
    steps = roll(environment, PLACE)
    assert expected.truth is not None
    assert environment.score == expected.truth
    assert steps[-1].rewards == expected.truth.terms == {"picked": True, "placed": True}
    assert [dict(step.rewards) for step in steps[:-1]] == [{}] * (len(steps) - 1)
    texts = [(message.role, message.text) for message in expected.episode.messages]
    assert [(message.role, message.text) for message in steps[-1].observation] == texts
    assert environment.episode.answer == expected.episode.answer


def test_a_reset_forgets_the_episode_before_it() -> None:
    environment = Environment()
    environment.reset(PLACE)
    environment.step(LOOK)
    first = environment.reset(PICK)
    assert [message.role for message in first] == ["system", "user"]
    assert first[1].words == PICK.text
    assert environment.step(DONE).rewards == {"picked": False}
    assert environment.score is not None
    environment.reset(PICK)
    assert environment.score is None


def test_the_turn_budget_ends_an_episode_which_is_scored() -> None:
    environment = Environment(settings=ConversationSettings(turn_budget=2))
    environment.reset(PICK)
    assert not environment.step(LOOK).done
    last = environment.step(LOOK)
    assert last.done
    assert environment.episode.error_code is ErrorCode.TURN_BUDGET
    assert last.rewards == {"picked": False}


def test_steps_run_in_threads_of_an_event_loop() -> None:
    async def count(environment: Environment) -> tuple[int, bool]:
        environment.reset(PICK)
        await asyncio.to_thread(environment.step, LOOK)
        last = await asyncio.to_thread(environment.step, DONE)
        return len(last.observation), last.done

    async def both() -> list[tuple[int, bool]]:
        return list(await asyncio.gather(count(Environment()), count(Environment())))

    assert asyncio.run(both()) == [(5, True)] * 2


def test_physics_that_breaks_is_raised_and_is_no_reward() -> None:
    stations: list[Station] = []

    def make(task: Task, config: Any) -> Station:
        stations.append(Station(task.scene, config))
        return stations[-1]

    environment = Environment(make_station=make)
    environment.reset(PICK)
    stations[-1].world.data.qvel[3] = np.inf
    with refused(ErrorCode.INTERNAL, "physics"):
        environment.step(DONE)
    assert environment.score is None
    environment.reset(PICK)
    assert environment.step(DONE).done, "it can be used again"


def test_a_backend_that_is_gone_is_raised_and_is_no_reward() -> None:
    def gone(**values: Any) -> ToolResult:
        raise ToolError(ErrorCode.UNAVAILABLE, "The pointer does not answer.")

    def make(task: Task, config: StationConfig) -> Station:
        station = Station(task.scene, config)
        station.toolbox = station.toolbox.done_by("roborefer.detect_one", gone)
        return station

    environment = Environment(make_station=make)
    environment.reset(PICK)
    environment.step(Reply(LOOK.text + call("roborefer.detect_one", obj_name="can", image_index=0)))
    with refused(ErrorCode.UNAVAILABLE, "The episode has no score: No pointing today"):
        environment.step(Reply("<answer>UNAVAILABLE: No pointing today.</answer>"))
    assert environment.score is None


def test_misuse_is_told_in_one_sentence() -> None:
    environment = Environment()
    with pytest.raises(ToolError, match=r"has no episode. Call reset\(task\) first"):
        environment.step(DONE)
    environment.reset(PICK)
    with pytest.raises(ToolError, match="not int: wrap its text"):
        environment.step(7)  # type: ignore[arg-type]
    environment.step(DONE)
    with pytest.raises(ToolError, match="The conversation is over"):
        environment.step(DONE)


# -- snapshots ---------------------------------------------------------------------------------------


def roll_on(environment: Environment, observation: Any) -> tuple[Any, ...]:
    """Everything that the rest of an episode leaves behind."""
    policy, done = ScriptedPolicy(), False
    while not done:
        observation, _, done = environment.step(policy.respond(observation))
    episode = environment.episode
    images = tuple(image.rgb.tobytes() for image in episode.session.images)
    return tuple(message.text for message in observation), images, environment.score, episode.session.grasps_given


def test_groups_from_one_saved_moment_give_the_same_replies_wherever_they_go_on() -> None:
    environment, policy = Environment(FAST), ScriptedPolicy()
    observation = environment.reset(PLACE, seed=5)
    snapshots = [(environment.save(), observation)]
    while not any(record.name == "robot.execute_grasp" for record in environment.episode.records):
        observation = environment.step(policy.respond(observation)).observation
    snapshots.append((environment.save(), observation))
    expected = roll_on(environment, observation)
    assert environment.score is not None
    assert environment.score.success
    others = [environment, Environment(FAST)]
    for (snapshot, seen), times in zip(snapshots, (1, 2), strict=True):
        for group in others:
            for _ in range(times):
                assert group.restore(snapshot) == seen
                assert roll_on(group, seen) == expected


def test_an_environment_gives_after_other_episodes_what_a_new_one_gives() -> None:
    used = Environment(FAST)
    roll_on(used, used.reset(PICK, seed=1))
    new = Environment(FAST)
    assert roll_on(used, used.reset(PLACE, seed=2)) == roll_on(new, new.reset(PLACE, seed=2))


def test_a_moment_of_another_configuration_is_refused_and_so_is_one_that_cannot_be_saved() -> None:
    environment, plain = Environment(FAST), Environment()
    with pytest.raises(ToolError, match=r"has no episode. Call reset\(task\) first"):
        environment.save()
    environment.reset(PICK)
    with refused(ErrorCode.INVALID_ARGUMENT, "another image_size"):
        plain.restore(environment.save())
    made = Environment(make_station=lambda task, config: Station(task.scene, config))
    made.reset(PICK)
    with pytest.raises(ToolError, match="physics in this process can be saved"):
        made.save()
    with pytest.raises(ToolError, match="stations of its own"):
        made.restore(environment.save())


@pytest.mark.parametrize("perception", ["sim", "pixels"])
def test_episodes_leave_nothing_to_the_garbage_collector(perception: str) -> None:
    """Worlds and images are tens of MB that Python's garbage collector does not count.

    Task 39 is the first pick and place with refused plans.
    """
    environment = Environment(replace(FAST, perception=perception))
    roll_on(environment, environment.reset(PICK))  # what is made once, and may have cycles
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        for task in (PICK, replace(PICK, scene=generate_scene(5)), random_task(39, "pick_and_place")):
            roll_on(environment, environment.reset(task, seed=39))
        gc.collect()
        ours = ("toolhand", "mujoco", "numpy")
        assert [type(item) for item in gc.garbage if type(item).__module__.split(".")[0] in ours] == []
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def test_what_a_tool_would_miss_is_found_before_the_first_episode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_lacks", lambda entry: entry.name == "rapidocr")
    reading = StationConfig(perception="pixels", suites=("peria",))
    plan = RolloutPlan(tasks_of(["count"], 1), perception="pixels", suites=("peria",))
    for begin in (lambda: Environment(reading), lambda: collect(plan, tmp_path / "rollouts")):
        with refused(ErrorCode.UNAVAILABLE, "needs the extra ocr, which is not installed", hint="pip install"):
            begin()
    assert not (tmp_path / "rollouts").exists()
    Environment(StationConfig(perception="pixels"))  # whose tools read nothing
    Environment(StationConfig(suites=("peria",)))  # whose reader needs nothing
