"""`bench planning`: seeded problems that can be told to have been solved, rechecked between the samples of the path."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bench.planning
from bench.planning import Planned, PlanningJob, PlanningRecord, bench_planning, crashed, rows_of, run_one
from bench.planning_worlds import WORLDS, draw_problem
from tool_nodes.motion import planner
from tool_nodes.motion.collision import Checker
from tool_nodes.motion.planner import EmbeddedPlanner
from tool_nodes.motion.robot_model import load_robot
from tool_nodes.motion.scene_model import SceneModel
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import JointGoal

GEN3 = load_robot()
FOUND, NONE = Planned(0.1, 2.0, True), Planned(0.3, error="PLAN_FAILED: No path.")
NARROW_SHELF = 0
"""Seed of a shelf that 1,500 samples find no path in."""


def job(world: str, seed: int = 0, ompl_s: float | None = None) -> PlanningJob:
    return PlanningJob(world, seed, "gen3", ompl_s)


@pytest.mark.parametrize("world", sorted(WORLDS))
def test_a_problem_is_two_free_postures_and_the_same_for_the_same_seed(world: str) -> None:
    first, again, other = (draw_problem(world, seed, GEN3) for seed in (3, 3, 4))
    assert first.start.tobytes() + first.goal.tobytes() == again.start.tobytes() + again.goal.tobytes()
    assert first.start.tobytes() != other.start.tobytes()
    checker = Checker(SceneModel(first.scene, GEN3))
    assert checker.free(first.start)
    assert checker.free(first.goal)


def test_a_narrow_shelf_is_solved_within_the_budget_and_not_within_the_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    solved = run_one(job("shelf", NARROW_SHELF))
    assert solved.ours.safe
    monkeypatch.setattr(planner, "ITERATIONS", 1500)
    refused = run_one(job("shelf", NARROW_SHELF))
    assert refused.ours.error.startswith("PLAN_FAILED: No path to the goal was found within 1,500 samples.")


@pytest.mark.parametrize(
    ("world", "seed"),
    [
        pytest.param("bin", 1, id="a fingertip left the workspace between two samples"),
        pytest.param("bin", 52, id="a finger clipped an edge between two samples"),
        pytest.param("gap", 98, id="what the search let pass beside the goal was refused in the end"),
    ],
)
def test_a_path_is_safe_between_its_samples_too(world: str, seed: int) -> None:
    assert run_one(job(world, seed)).ours.safe


def test_what_a_recheck_refuses_is_not_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = draw_problem("gap", 0, GEN3)
    path = EmbeddedPlanner(0, GEN3).plan(problem.start, JointGoal(problem.goal), problem.scene)
    assert bench.planning._timed(lambda: path.q, problem, SceneModel(problem.scene, GEN3)).safe
    cut = np.array([problem.start, problem.goal])
    through = bench.planning._timed(lambda: cut, problem, SceneModel(problem.scene, GEN3))
    assert through.length == pytest.approx(float(np.linalg.norm(problem.goal - problem.start)))
    assert not through.safe


def test_rates_and_lengths_of_both_planners_are_given_for_each_world() -> None:
    both = PlanningRecord(job("shelf"), FOUND, replace(FOUND, length=3.0))
    ours = PlanningRecord(job("shelf"), replace(FOUND, length=9.0), NONE)
    rows = rows_of([both, ours, crashed(job("shelf"), "died")])
    rates = {row["name"]: (row["success"], row["n"]) for row in rows if "rate" in row}
    assert rates == {"shelf": (2, 2), "shelf: safe": (2, 2), "shelf, ompl": (1, 2), "shelf, ompl: safe": (1, 2)}
    lengths = {row["name"]: (row["compared"], row["length_rad"]) for row in rows if "length_rad" in row}
    assert lengths == {"shelf": (1, 2.0), "shelf, ompl": (1, 3.0)}
    alone = rows_of([PlanningRecord(job("bin"), NONE)])
    assert [(row["name"], row["n"]) for row in alone] == [("bin", 1), ("bin: safe", 1), ("bin", 1)]
    assert alone[2]["length_rad"] is None


def test_without_ompl_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(bench.planning, "installed", lambda: False)
    assert bench_planning(n=2, worlds=("table",), as_json=True) == 0
    out, err = capsys.readouterr()
    document: dict[str, Any] = json.loads(out)
    assert err.count("OMPL") == 1
    assert "pip install ompl" in err
    assert document["ompl_s"] is None
    assert {row["name"] for row in document["rows"]} == {"table", "table: safe"}
    assert document["seeds"] == [0, 1]
    assert bench_planning(n=1, worlds=("table",), ompl_s=0.0) == 0
    out, err = capsys.readouterr()
    assert "OMPL" not in err
    assert "rad" in out


def test_ompl_solves_the_same_problem_where_it_is_installed() -> None:
    pytest.importorskip("ompl")
    record = run_one(job("table", 0, ompl_s=10.0))
    assert record.ompl is not None
    assert record.ompl.length is not None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ompl_s": -1.0}, "finite and 0 or more"),
        ({"ompl_s": float("nan")}, "finite and 0 or more"),
        ({"worlds": ("table", "cave")}, "Unknown world 'cave'. Known: table, clutter, shelf, bin, gap"),
    ],
)
def test_what_cannot_be_measured_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ToolError, match=words) as caught:
        bench_planning(**options)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
