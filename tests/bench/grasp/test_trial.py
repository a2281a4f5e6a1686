"""Attempts of the grasp benchmark: one object of a scene, or all of it, by the tools alone and judged by the truth."""

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from toolhand.agent_node.agent import Agent
from toolhand.agent_node.console.options import COLOUR_AND_DEPTH
from toolhand.bench.grasp.comparison import BENCH
from toolhand.bench.grasp.records import GraspRecord, RunFolder
from toolhand.bench.grasp.scenes import GraspJob, jobs_of
from toolhand.bench.grasp.sides import sides_of
from toolhand.bench.grasp.trial import run_one
from toolhand.bench.grasp.watch import Watch
from toolhand.sim.world import World
from toolhand.tool_nodes.catalogue import load_catalogue
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.toolbox import CallRecord
from toolhand.tool_nodes.types import Frame
from toolhand.training.pool.parallel import run_jobs

MAIN = sides_of(COLOUR_AND_DEPTH, "gen3", "", control=False, ideal=False)[0]
ALONE = GraspJob(MAIN, "alone", 3, ("catalogue",), item="toy block")
CLUTTER = GraspJob(MAIN, "clutter", 4, ("catalogue",), item="cinnamon")
TIMES = ("segment_s", "compute_s", "plan_s")


@functools.cache
def in_this_process() -> list[list[GraspRecord]]:
    """The records of both jobs."""
    return run_jobs(run_one, [ALONE, CLUTTER], 1, BENCH.crashed)


def without_times(records: list[GraspRecord]) -> list[GraspRecord]:
    return [replace(record, **dict.fromkeys(TIMES)) for record in records]


@pytest.mark.parametrize("number", [0, 1])
def test_a_grasp_becomes_a_record_of_everything_that_is_known_of_it(number: int) -> None:
    (record,) = in_this_process()[number]
    assert record.scored
    assert record.executed
    assert record.reported
    assert record.success
    assert (record.cause, record.code, record.up) == ("", "", "the target")
    assert record.object_set == "catalogue"
    assert record.object == (ALONE, CLUTTER)[number].item
    assert record.mask_iou is not None
    assert record.mask_iou > 0.75
    T = np.reshape(record.pose, (4, 4))
    assert np.allclose(T[:3, :3] @ T[:3, :3].T, np.eye(3), atol=1e-4)
    assert 0.2 < T[0, 3] < 0.8
    assert record.visible is not None
    assert 0.0 < record.visible <= 1.0
    assert record.under is False
    assert record.slip_mm is not None
    assert record.slip_mm < 5.0
    assert record.width_m is not None
    assert record.opening_m is not None
    assert 0.0 < record.opening_m < 0.09
    assert record.sampled is not None
    assert record.offered is not None
    assert record.sampled >= record.offered > 0
    assert record.computed == 1
    assert all(getattr(record, name) > 0.0 for name in (*TIMES, "robot_s"))


def test_one_process_and_two_give_the_same_records() -> None:
    two = run_jobs(run_one, [ALONE, CLUTTER], 2, BENCH.crashed)
    assert [without_times(records) for records in two] == [without_times(records) for records in in_this_process()]


@pytest.mark.parametrize("moment", [0.5, 1.5])
def test_physics_that_breaks_is_not_scored(monkeypatch: pytest.MonkeyPatch, moment: float) -> None:
    step = World.step

    def broken(world: World, count: int = 1) -> None:
        if world.time > moment:
            world.data.qpos[0] = np.nan
        step(world, count)

    monkeypatch.setattr(World, "step", broken)
    ((record,),) = run_jobs(run_one, [ALONE], 1, BENCH.crashed)
    assert not record.scored
    assert record.code == "INTERNAL"


def test_all_sides_of_a_scene_are_asked_for_the_same_object_and_see_the_same_mask() -> None:
    sides = sides_of(COLOUR_AND_DEPTH, "gen3", "", control=True, ideal=True)
    main, control, ideal = [run_one(job)[0] for job in jobs_of(sides, ["clutter"], ("catalogue",), 1, 0)]
    assert [main.side, control.side, ideal.side] == ["main", "control", "ideal"]
    assert main.object == control.object == ideal.object
    assert main.prompt == control.prompt == ideal.prompt
    assert main.mask_iou == control.mask_iou
    assert ideal.mask_iou == 1.0
    assert control.sampled == 1


def test_an_attempt_that_fails_is_made_once_more_from_a_second_view(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(watch: Watch, point: Callable[[Frame], tuple[float, float]]) -> CallRecord:
        point(watch.look())
        raise ToolError(ErrorCode.NO_GRASP, "Nothing fits.")

    monkeypatch.setattr("toolhand.bench.grasp.watch.Watch.grasp", fails)
    sides = sides_of(COLOUR_AND_DEPTH, "gen3", "", control=False, ideal=False, ways=["second_view"])
    main, again = [run_one(replace(ALONE, side=side))[0] for side in sides]
    assert (main.code, main.success) == ("NO_GRASP", False)
    assert (again.code, again.success) == ("", True)
    assert again.object == main.object
    assert again.mask_iou is not None
    assert again.mask_iou > 0.8


def test_an_object_is_picked_up_by_a_sentence_with_its_name_and_point(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    run = Agent.run
    monkeypatch.setattr(Agent, "run", lambda agent, text: [said.append(text), run(agent, text)][1])
    (record,) = run_one(replace(ALONE, side=replace(MAIN, role="said")))
    assert record.success
    assert said[0].startswith("Pick up the toy block at (0.")


def test_clearing_ends_when_the_table_is_empty_and_objects_that_were_lifted_are_gone() -> None:
    records = run_one(replace(ALONE, protocol="clear"))
    assert [(r.attempt, r.objects, r.removed, r.success) for r in records] == [(0, 1, 1, True)]
    assert records[0].prompt == ()
    assert records[0].object == "toy block"


def test_one_attempt_at_whatever_the_tools_see_best_is_one_record() -> None:
    (record,) = run_one(replace(CLUTTER, protocol="any"))
    assert record.prompt == ()
    assert record.object
    assert record.objects > 1
    assert record.visible is not None
    assert record.under is False


def test_clearing_is_given_up_after_two_failures_running(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolhand.bench.grasp.watch.Watch.judge", _nothing_up)
    records = run_one(replace(ALONE, protocol="clear"))
    assert [(r.attempt, r.removed, r.success) for r in records] == [(0, 0, False), (1, 0, False)]


def test_clearing_ends_where_nothing_has_a_grasp(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(watch: object) -> None:
        raise ToolError(ErrorCode.NO_GRASP, "Nothing fits.")

    monkeypatch.setattr("toolhand.bench.grasp.watch.Watch.compute_grasp", none)
    (record,) = run_one(replace(ALONE, protocol="clear"))
    assert (record.code, record.removed) == ("NO_GRASP", 0)


def _nothing_up(watch: object, target: str, any_object: bool) -> frozenset[str]:
    watch.facts |= {"success": False, "up": "nothing"}  # type: ignore[attr-defined]
    return frozenset()


def test_a_failure_leaves_its_images_and_a_success_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.open({})
    job = replace(ALONE, out=str(tmp_path))
    (held,) = run_one(job)
    assert held.success
    assert list(folder.failures.iterdir()) == []
    assert folder.find(job.key) == [held]
    monkeypatch.setattr("toolhand.bench.grasp.watch.judge_pick", lambda *what: False)
    (failed,) = run_one(job)
    assert failed.false_success
    assert [name.rpartition("-")[2] for name in failed.images] == ["mask.jpg", "grasp.jpg", "film.webp"]
    assert sorted(path.name for path in folder.failures.iterdir()) == sorted(failed.images)
    assert folder.find(job.key) == [failed]
    assert folder.find("main-pile-0") is None


@pytest.mark.parametrize("n", [1, 5, 29, 58, 100])
def test_any_number_of_grasps_is_spread_over_kinds_alone_and_in_clutter(n: int) -> None:
    jobs = jobs_of([MAIN], ["alone", "clutter"], ("catalogue",), n, 7)
    catalogue = load_catalogue()
    kinds = {item.kind for item in catalogue.values() if not item.container}
    assert sorted(job.seed for job in jobs) == list(range(7, 7 + 2 * n))
    assert sum(job.kind == "alone" for job in jobs) == n
    assert len({catalogue[job.item].kind for job in jobs}) == min(2 * n, len(kinds))


def test_two_rounds_grasp_every_product_alone_and_in_clutter() -> None:
    products = [item.name for item in load_catalogue().values() if not item.container]
    jobs = jobs_of([MAIN], ["alone", "clutter"], ("catalogue",), len(products), 0)
    assert {(job.item, job.kind) for job in jobs} == {(n, kind) for n in products for kind in ("alone", "clutter")}
