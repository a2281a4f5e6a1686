"""`bench grasp`: one first attempt per record, judged by the simulator's truth."""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bench.grasp
from bench.grasp import GraspJob, GraspRecord, bench_grasp, crashed, jobs_of, rows_of, run_one
from sim.world import World
from tool_nodes.catalogue import load_catalogue
from tool_nodes.results import ErrorCode, ToolError
from training.pool.parallel import run_jobs

ALONE, CLUTTER = GraspJob("toy block", 3, False), GraspJob("cinnamon", 4, True)
HELD = GraspRecord(ALONE, "block", True, True, True, "", 0.05)
SLIPPED = GraspRecord(CLUTTER, "jar", True, False, True, "not held up at the end", 0.07)
NOTHING = GraspRecord(CLUTTER, "jar", False, False, True, "NO_GRASP", None)
BROKEN = GraspRecord(ALONE, "block", False, False, False, "INTERNAL", 9.0)


def rows(*records: GraspRecord) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in rows_of(records)}


@functools.cache
def in_this_process() -> list[GraspRecord]:
    """The records of both jobs."""
    return run_jobs(run_one, [ALONE, CLUTTER], 1, crashed)


@pytest.mark.parametrize("number", [0, 1])
def test_a_grasp_becomes_a_record(number: int) -> None:
    record = in_this_process()[number]
    assert record.reported
    assert record.success
    assert record.scored
    assert record.cause == ""
    assert record.generator_s is not None


def test_one_process_and_two_give_the_same_records() -> None:
    two = run_jobs(run_one, [ALONE, CLUTTER], 2, crashed)
    assert [replace(r, generator_s=None) for r in two] == [replace(r, generator_s=None) for r in in_this_process()]


def test_rates_are_given_for_all_alone_clutter_and_every_kind() -> None:
    found = rows(HELD, SLIPPED, NOTHING, replace(HELD, job=CLUTTER))
    assert list(found) == ["all", "single", "clutter", "block", "jar", "false_success", "compute_grasp"]
    assert {name: (row["success"], row["n"]) for name, row in found.items() if "rate" in row} == {
        "all": (2, 4),
        "single": (1, 1),
        "clutter": (1, 3),
        "block": (2, 2),
        "jar": (0, 2),
        "false_success": (1, 4),
    }
    assert (found["compute_grasp"]["n"], found["compute_grasp"]["p50_ms"]) == (3, 50.0)


def test_infrastructure_errors_are_in_no_row_but_the_one_that_counts_them_as_wrong() -> None:
    found = rows(HELD, BROKEN)
    counted = found.pop("all, unscored as wrong")
    assert found == rows(HELD)
    assert (counted["success"], counted["n"]) == (1, 2)


@pytest.mark.parametrize("moment", [0.5, 1.5])
def test_physics_that_breaks_is_not_scored(monkeypatch: pytest.MonkeyPatch, moment: float) -> None:
    step = World.step

    def broken(world: World, count: int = 1) -> None:
        if world.time > moment:
            world.data.qpos[0] = np.nan
        step(world, count)

    monkeypatch.setattr(World, "step", broken)
    (record,) = run_jobs(run_one, [ALONE], 1, crashed)
    assert not record.scored
    assert record.cause.startswith("INTERNAL")


def test_a_thing_that_cannot_be_seen_is_a_failed_grasp(monkeypatch: pytest.MonkeyPatch) -> None:
    def hidden(frame: object, index: int) -> list[float]:
        raise ToolError(ErrorCode.OBJECT_NOT_FOUND, "The object is hidden from the camera.")

    monkeypatch.setattr(bench.grasp, "_visible_point", hidden)
    record = run_one(ALONE)
    assert record.scored
    assert not record.success
    assert record.cause == ErrorCode.OBJECT_NOT_FOUND


def fake(job: GraspJob) -> GraspRecord:
    if job.seed % 3 == 2:
        raise OSError("no memory")
    return replace(HELD if job.seed % 3 == 0 else NOTHING, job=job)


def test_the_document_has_every_part_and_is_all_of_stdout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench.grasp, "run_one", fake)
    assert bench_grasp(n=6, first_seed=3, as_json=True) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["bench"] == "grasp"
    assert document["seeds"] == [3, 4, 5, 6, 7, 8]
    assert document["machine"]["cores"] >= 1
    assert (document["rows"][0]["success"], document["rows"][0]["n"]) == (2, 4)
    assert document["unscored"] == 2
    assert document["causes"] == {"NO_GRASP": 2, "INTERNAL: OSError: no memory": 2}
    assert [f["seed"] for f in document["failures"]] == [4, 5, 7, 8]


def test_the_text_for_people_names_the_failures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench.grasp, "run_one", fake)
    assert bench_grasp(n=2) == 0
    captured = capsys.readouterr()
    assert "NO_GRASP" in captured.out
    assert "seed   1  " in captured.out
    assert captured.err.startswith("2 grasps of ")


@pytest.mark.parametrize("n", [2, 10, 58, 59, 200])
def test_any_number_of_grasps_is_spread_over_clutter_and_kinds(n: int) -> None:
    jobs = jobs_of(n, 7)
    catalogue = load_catalogue()
    kinds = {item.kind for item in catalogue.values() if not item.container}
    assert [job.seed for job in jobs] == list(range(7, 7 + n))
    assert abs(sum(1 if job.clutter else -1 for job in jobs)) <= 2
    assert len({catalogue[job.item].kind for job in jobs}) == min(n, len(kinds))


def test_two_rounds_grasp_every_product_alone_and_in_clutter() -> None:
    products = [item.name for item in load_catalogue().values() if not item.container]
    found = {(job.item, job.clutter) for job in jobs_of(2 * len(products), 0)}
    assert found == {(name, clutter) for name in products for clutter in (False, True)}


def test_what_was_not_tried_has_no_rate() -> None:
    clutter = rows(HELD)["clutter"]
    assert (clutter["n"], clutter["rate"]) == (0, None)
