"""The dial: nothing at 0, harder step by step, and objects that really slip."""

from dataclasses import replace
from itertools import pairwise

import pytest

from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.sim.perception import PerceptionNoise
from toolhand.sim.scene.files import parse_scene, scene_document, scene_yaml
from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tasks.task import Score
from toolhand.sim.tasks.tasks import random_task
from toolhand.sim.world import World
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.env.difficulty import HARDEST_NOISE, HARDEST_RATES, LEAST_GRIP, MOST_WEIGHT, Difficulty, slippery
from toolhand.training.env.episode import run_episode
from toolhand.training.env.failures import Failures

TASK = random_task(3, "pick")


def test_level_0_is_the_world_as_it_is() -> None:
    easy = Difficulty(0.0)
    config = StationConfig(seed=3)
    assert easy.noise() == PerceptionNoise()
    assert easy.failures() == Failures()
    assert easy.config(config) == config
    assert easy.task(TASK, 3) == TASK
    assert slippery(TASK.scene, 3, 1.0, 1.0) == TASK.scene


def test_level_1_is_the_hardest_and_between_them_it_gets_harder() -> None:
    hard = Difficulty(1.0)
    assert hard.noise() == HARDEST_NOISE
    assert hard.failures().rates == {"*": HARDEST_RATES}
    levels = [Difficulty(level) for level in (0.25, 0.5, 0.75, 1.0)]
    for easier, harder in pairwise(levels):
        assert harder.noise().miss_rate > easier.noise().miss_rate
        assert harder.failures().rates["*"]["TIMEOUT"] > easier.failures().rates["*"]["TIMEOUT"]
        for a, b in zip(easier.task(TASK, 3).scene.objects, harder.task(TASK, 3).scene.objects, strict=True):
            assert b.grip < a.grip < 1.0 < a.weight < b.weight


def test_objects_slip_by_their_seed_within_the_bounds() -> None:
    one = slippery(TASK.scene, 3, LEAST_GRIP, MOST_WEIGHT)
    assert one == slippery(TASK.scene, 3, LEAST_GRIP, MOST_WEIGHT)
    assert one != slippery(TASK.scene, 4, LEAST_GRIP, MOST_WEIGHT)
    assert len({placed.grip for placed in one.objects}) == len(one.objects)
    for placed, before in zip(one.objects, TASK.scene.objects, strict=True):
        assert LEAST_GRIP <= placed.grip <= 1.0 <= placed.weight <= MOST_WEIGHT
        assert replace(placed, grip=1.0, weight=1.0) == before


def test_a_scene_with_slippery_objects_is_written_and_read_to_the_last_bit() -> None:
    scene = slippery(TASK.scene, 3, 0.1, 2.0)
    assert parse_scene(scene_yaml(scene)) == scene
    assert "grip" not in scene_yaml(TASK.scene)
    first, item = scene_document(scene)["objects"][0], scene.objects[0]
    assert first["mass_kg"] == item.weight * item.asset.mass_kg


def test_weight_and_grip_are_those_of_the_physics() -> None:
    plain, hard = World(TASK.scene), World(slippery(TASK.scene, 3, 0.1, 2.0))
    for index, placed in enumerate(hard.scene.objects):
        mass, before = (float(world.model.body(placed.id).mass[0]) for world in (hard, plain))
        assert mass == pytest.approx(placed.weight * before)
        rubs, rubbed = (float(w.model.geom(f"object{index}_0").friction[0]) for w in (hard, plain))
        assert rubs == pytest.approx(placed.grip * rubbed)


def held(grip: float) -> Score:
    scene = replace(TASK.scene, objects=tuple(replace(placed, grip=grip) for placed in TASK.scene.objects))
    task = replace(TASK, scene=scene)
    station = Station(scene, StationConfig(seed=3, image_size=(320, 240), sleep=True))
    truth = run_episode(station, ScriptedPolicy(max_retries=0), task).truth
    assert truth is not None
    return truth


def test_what_slips_is_not_held_and_the_same_object_is_held_as_it_is() -> None:
    assert held(1.0).success
    slipped = held(0.02)
    assert not slipped.success
    assert "the target is not held up, or something else is" in slipped.reasons


@pytest.mark.parametrize("level", [-0.1, 1.1, float("nan")])
def test_another_level_is_refused(level: float) -> None:
    with pytest.raises(ToolError, match="The difficulty must be from 0 to 1") as error:
        Difficulty(level)
    assert error.value.code is ErrorCode.INVALID_ARGUMENT


@pytest.mark.parametrize(("grip", "weight"), [(0.0, 1.0), (1.5, 1.0), (0.5, 0.5), (0.5, float("inf"))])
def test_other_bounds_are_refused(grip: float, weight: float) -> None:
    with pytest.raises(ToolError, match="least_grip must be above 0"):
        slippery(TASK.scene, 0, grip, weight)
