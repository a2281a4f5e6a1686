"""`bench rollouts`: an episode of each form, rows from records, and numbers that are refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

import bench.training.rollouts
from bench.training.rollouts import (
    PLAIN,
    MeasuredEpisode,
    RolloutJob,
    StageClock,
    bench_rollouts,
    measured,
    run_one,
)
from sim.station import StationConfig
from tests.stations import FAST
from tool_nodes.results import ErrorCode, ToolError
from training.pool.workers import JobEnd, Workers

RECORD = MeasuredEpisode(0, 2.0, {"physics": 1.0, "station": 1.0}, 10, 200.0, True, True, False, "Placed it.")


def test_an_episode_of_each_form_is_judged_and_its_stages_add_up_to_its_time() -> None:
    records = [run_one(RolloutJob(seed, FAST, kept=True)) for seed in (0, 0, 1)]
    records.append(run_one(RolloutJob(0, StationConfig(), kept=False)))
    assert all(record.scored and record.success and not record.false_success for record in records)
    for record in records:
        assert {"physics", "pictures", "perception", "planning", "judging", "station"} <= set(record.stages)
        assert sum(record.stages.values()) == pytest.approx(record.cpu_s, rel=0.02)
    assert records[0].calls == records[1].calls


def test_a_stage_within_another_counts_for_itself_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0.0, 1.0, 3.0, 7.0])
    monkeypatch.setattr(bench.training.rollouts.time, "process_time", lambda: next(ticks))
    clock = StageClock()
    with clock.stage("outer"), clock.stage("inner"):
        pass
    assert clock.seconds == {"outer": 5.0, "inner": 2.0}


def test_rows_have_the_rate_of_the_mean_time_and_the_ratio_is_of_the_same_tasks() -> None:
    slow = [replace(RECORD, cpu_s=cpu) for cpu in (3.0, 5.0)]
    fast = [replace(RECORD, cpu_s=cpu, stages={"physics": cpu}) for cpu in (1.0, 3.0)]
    row = bench.training.rollouts.speed_row("x", fast, 1, wall_s=8.0)
    assert (row["episodes_per_min_core"], row["episodes_per_min_wall"], row["tool_calls_per_s"]) == (30.0, 15.0, 5.0)
    assert row["per_min_core_low"] == 20.0
    assert row["per_min_core_high"] == 60.0
    assert row["share"] == {"physics": 1.0}
    assert bench.training.rollouts.paired_ratio(slow, fast) == {"ratio": 2.0, "low": 1.67, "high": 3.0}


class InThisProcess(Workers[RolloutJob, MeasuredEpisode]):
    """Workers whose work is done where they are asked for it."""

    def run(self, jobs: Sequence[RolloutJob], *args: Any, **kwargs: Any) -> Iterator[Any]:
        for job in jobs:
            yield JobEnd(job, self._make()(job), None)


def test_the_document_has_both_forms_and_every_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def done(job: RolloutJob) -> MeasuredEpisode:
        ok = job.seed != 4 or not job.kept
        return replace(RECORD, seed=job.seed, cpu_s=1.0 if job.kept else 3.0, success=ok, why="It fell.")

    monkeypatch.setattr(bench.training.rollouts, "run_one", done)
    monkeypatch.setattr(bench.training.rollouts, "Workers", InThisProcess)
    assert bench_rollouts(n=3, first_seed=3, as_json=True) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["bench"], document["seeds"], document["n"]) == ("rollouts", [3, 4, 5], 3)
    names = [PLAIN, "rollouts 320x240, 2 ms"]
    assert [(row["name"], row["episodes"]) for row in document["speeds"]] == [(name, 3) for name in names]
    assert document["times_as_fast"]["ratio"] == 3.0
    assert [(row["success"], row["n"]) for row in document["rows"]] == [(3, 3), (2, 3)]
    assert document["unscored"] == 0
    assert [(failure["seed"], failure["why"]) for failure in document["failures"]] == [(4, "It fell.")]
    assert bench_rollouts(n=1) == 0
    assert "3.0 times as fast" in capsys.readouterr().out


def test_an_episode_that_raises_ends_the_benchmark() -> None:
    class Broken(InThisProcess):
        def run(self, jobs: Sequence[RolloutJob], *args: Any, **kwargs: Any) -> Iterator[Any]:
            yield JobEnd(jobs[0], None, ToolError(ErrorCode.INTERNAL, "Its process died (signal SIGKILL)."))

    with pytest.raises(ToolError, match="signal SIGKILL"):
        measured(Broken(bench.training.rollouts._runner, count=1), RolloutJob(0, FAST, kept=False))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"n": 0}, "--n must be 1 or more"),
        ({"first_seed": -1}, "--first-seed must be 0 or more"),
        ({"timestep": 0.003}, "must be one of 0.001, 0.002, 0.004 s, got 0.003"),
        ({"perception": "magic"}, "magic"),
    ],
)
def test_wrong_numbers_are_refused(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ToolError, match=sentence) as caught:
        bench_rollouts(**wrong)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
