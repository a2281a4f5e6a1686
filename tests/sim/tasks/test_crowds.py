"""Crowded scenes: neighbours stand as far apart as they promise, and what is asked of them is clear."""

from functools import cache

import pytest

from toolhand.sim.scene.scenes import MIN_GAP, Scene, footprint, gap
from toolhand.sim.tasks.crowds import GAPS_M, PAIRINGS, crowd_gap, crowd_pairing, crowded_scene, crowded_tasks
from toolhand.sim.tasks.sentences import could_mean
from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.results import ErrorCode, ToolError

SEEDS = range(len(GAPS_M) * len(PAIRINGS))
"""Every gap with every pairing, and every third one with three in the row."""


@cache
def scene(seed: int) -> Scene:
    return crowded_scene(seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_first_two_stand_as_far_apart_as_promised_and_the_others_free(seed: int) -> None:
    objects = scene(seed).objects
    row = len(objects) - 3
    outlines = [footprint(placed) for placed in objects]
    for k in range(1, row):
        assert gap(outlines[k - 1], outlines[k]) == pytest.approx(max(crowd_gap(seed), 2e-4), abs=1e-5)
    for k in range(row, len(objects)):
        assert min(gap(outlines[k], outlines[j]) for j in range(k)) >= MIN_GAP
    assert all(workspace.within_reach(placed.position_m[:2]) for placed in objects)
    items = [placed.asset for placed in objects]
    assert all(sum(could_mean(item.name, other) for other in items) == 1 for item in items)


def test_neighbours_have_in_common_what_the_pairing_says() -> None:
    for seed in SEEDS:
        first, second = (placed.asset for placed in scene(seed).objects[:2])
        alike = first.colour.split()[-1] == second.colour.split()[-1]
        level = abs(first.size_m[2] - second.size_m[2]) < 0.008
        assert alike == crowd_pairing(seed).startswith("same colour")
        assert level or "height" not in crowd_pairing(seed)


def test_the_same_seed_gives_the_same_scene_and_tasks() -> None:
    assert crowded_tasks(7) == crowded_tasks(7)
    assert {crowd_gap(seed) for seed in range(5)} == set(GAPS_M)


def test_tasks_are_about_the_crowd() -> None:
    tasks = crowded_tasks(0)
    ids = [placed.id for placed in tasks[0].scene.objects]
    assert {task.target_ids[0] for task in tasks if task.category == "pick"} == set(ids[:2])
    [place] = [task for task in tasks if task.category == "pick_and_place"]
    assert place.target_ids == (ids[-1],)
    assert place.reference_ids[0] in ids[:2]


def test_a_seed_below_zero_is_refused() -> None:
    with pytest.raises(ToolError, match="seed must be 0 or more") as caught:
        crowded_scene(-1)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
