"""Collections of trajectories: whole blocks, the same whoever was faster, gone on from where they were ended."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.refusals import refused
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.data.synthesis import checks, collecting
from toolhand.training.data.synthesis.collecting import AttemptEntry, SynthesisPlan, collect_data
from toolhand.training.data.synthesis.making import REJECTED, JobResult, Made, Maker
from toolhand.training.data.synthesis.methods import METHODS, RECIPES, SynthesisJob, job_of, shares_of
from toolhand.training.data.synthesis.report import summary, table
from toolhand.training.pool.workers import JobEnd
from toolhand.training.rollouts.collection import read_rollouts, write_shard
from toolhand.training.rollouts.images import ImageStore
from toolhand.training.tasks.kinds import TASK_KINDS, task_document

PLAN = SynthesisPlan("dirl", 7, seed=3)


def made_up(job: SynthesisJob) -> JobResult:
    """Every third is wrong, and every seventh does what the first did."""
    if job.number % 3 == 2:
        return JobResult(job, (Made(checks.WRONG, f'{{"wrong": {job.number}}}', f"w{job.number}", 2, 9),), 0.5)
    print_ = "0" if job.number % 7 == 0 else str(job.number)
    kept = Made("", f'{{"right": {job.number}}}', print_, 3, 10, {"a": 2, "b": 1})
    return JobResult(job, (kept, Made(checks.BEATEN, f'{{"beaten": {job.number}}}', "b", 4, 11)), 0.5)


class InThisProcess:
    """Stands for the processes: gives the ends of each few jobs in another order."""

    backwards = False
    stop_after: int | None = None
    asked: list[int]

    def __init__(self, make: Any, count: int, deadline_s: float) -> None:
        type(self).asked = []

    def __enter__(self) -> InThisProcess:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def run(self, jobs: Sequence[SynthesisJob]) -> Iterator[JobEnd[SynthesisJob, JobResult]]:
        for first in range(0, len(jobs), 6):
            some = list(jobs[first : first + 6])
            for job in reversed(some) if self.backwards else some:
                self.asked.append(job.number)
                if self.stop_after is not None and len(self.asked) > self.stop_after:
                    raise KeyboardInterrupt
                yield JobEnd(job, made_up(job), None)


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "Workers", InThisProcess)
    monkeypatch.setattr(collecting, "BLOCK", 4)
    monkeypatch.setattr(InThisProcess, "backwards", False)
    monkeypatch.setattr(InThisProcess, "stop_after", None)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def lines(folder: Path) -> list[str]:
    return [line for path in sorted((folder / "shards").glob("*")) for line in path.read_text().splitlines()]


def test_as_many_are_kept_as_asked_for_and_the_rest_lies_apart(tmp_path: Path) -> None:
    entries = collect_data(PLAN, tmp_path, workers=1)
    assert Counter(entry.why for entry in entries) == {"": 7, checks.BEATEN: 8, checks.WRONG: 3, checks.DUPLICATE: 1}
    assert lines(tmp_path) == [f'{{"right": {k}}}' for k in (0, 1, 3, 4, 6, 9, 10)]
    apart = lines(tmp_path / REJECTED)
    assert '{"wrong": 2}' in apart
    assert '{"beaten": 0}' in apart
    assert not [line for line in apart if "right" in line], "a duplicate is only counted"


def test_who_is_faster_changes_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collect_data(PLAN, tmp_path / "a", workers=1)
    monkeypatch.setattr(InThisProcess, "backwards", True)
    collect_data(PLAN, tmp_path / "b", workers=2)
    assert content(tmp_path / "a") == content(tmp_path / "b")


def test_a_killed_run_leaves_whole_blocks_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = collect_data(PLAN, tmp_path / "a", workers=1)
    monkeypatch.setattr(InThisProcess, "stop_after", 6)
    with pytest.raises(KeyboardInterrupt):
        collect_data(PLAN, tmp_path / "b", workers=1)
    assert [path.name for path in sorted((tmp_path / "b" / "jobs").iterdir())] == ["00000.json"]
    (tmp_path / "b" / "shards" / "00001.jsonl").write_text("of a block that was not finished\n")
    monkeypatch.setattr(InThisProcess, "stop_after", None)
    assert collect_data(PLAN, tmp_path / "b", workers=1) == whole
    assert InThisProcess.asked[0] == 4
    assert content(tmp_path / "a") == content(tmp_path / "b")
    InThisProcess.asked = []
    assert collect_data(PLAN, tmp_path / "b", workers=1) == whole
    assert not InThisProcess.asked, "nothing is left to do"


def test_who_asks_for_more_gets_what_one_call_would_have_given(tmp_path: Path) -> None:
    whole = collect_data(PLAN, tmp_path / "a", workers=1)
    collect_data(SynthesisPlan("dirl", 4, seed=3), tmp_path / "b", workers=1)
    assert len(lines(tmp_path / "b")) == 4
    assert collect_data(PLAN, tmp_path / "b", workers=1) == whole
    assert content(tmp_path / "a") == content(tmp_path / "b")


def test_another_plan_or_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    collect_data(PLAN, tmp_path / "a", workers=1)
    before = content(tmp_path / "a")
    with pytest.raises(ToolError, match=r" was begun with another seed \(3\)\. Name another folder"):
        collect_data(SynthesisPlan("dirl", 7, seed=4), tmp_path / "a", workers=1)
    assert content(tmp_path / "a") == before
    noted = tmp_path / "a" / collecting.PLAN
    noted.write_text(re.sub('"tasks_version": .*', '"tasks_version": 1', noted.read_text()))
    with pytest.raises(
        ToolError, match=r"another tasks_version \(1\)\. The task is of version 1 of the task generator"
    ):
        collect_data(PLAN, tmp_path / "a", workers=1)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "thesis.tex").write_text("dear")
    with pytest.raises(ToolError, match=r" holds something already, such as thesis\.tex, and nothing is replaced\."):
        collect_data(PLAN, tmp_path / "b", workers=1)
    assert content(tmp_path / "b") == {"thesis.tex": b"dear"}


def test_a_block_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    collect_data(PLAN, tmp_path, workers=1)
    (tmp_path / "jobs" / "00001.json").write_text('[{"job": 1}]')
    with pytest.raises(ToolError, match=r"00001\.json cannot be read"):
        collect_data(PLAN, tmp_path, workers=1)


def test_too_few_that_are_worth_keeping_end_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "PATIENCE", 0)
    with refused(ErrorCode.EXECUTION_FAILED, "Only 3 of 7"):
        collect_data(PLAN, tmp_path, workers=1)


def test_a_job_that_cost_its_process_is_infrastructure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: object, jobs: Sequence[SynthesisJob]) -> Iterator[JobEnd[SynthesisJob, JobResult]]:
        for job in jobs:
            died = ToolError(ErrorCode.INTERNAL, "Its process died.") if job.number == 1 else None
            yield JobEnd(job, None if died else made_up(job), died)

    monkeypatch.setattr(InThisProcess, "run", broken)
    entries = collect_data(PLAN, tmp_path, workers=1)
    assert [entry.trouble for entry in entries if entry.why == checks.INFRASTRUCTURE] == ["Its process died."]
    assert "Its process died." in table(summary(entries))


@pytest.mark.parametrize("wrong", [("alchemy", 1, 0, "train"), ("dirl", 0, 0, "train"), ("dirl", 1, -1, "train")])
def test_a_plan_that_makes_no_sense_is_refused(wrong: tuple[Any, ...]) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT):
        SynthesisPlan(*wrong)


@pytest.mark.parametrize("recipe", RECIPES)
def test_shares_add_up_and_name_methods_with_kinds(recipe: str) -> None:
    shares = shares_of(recipe)
    assert sum(shares.values()) == pytest.approx(1.0)
    for name in shares:
        assert METHODS[name].kinds()
        assert set(METHODS[name].kinds()) <= {*TASK_KINDS, "view", "absent"}


def test_a_job_is_what_its_number_says() -> None:
    jobs = [job_of("mixed", 0, number) for number in range(200)]
    assert jobs == [job_of("mixed", 0, number) for number in range(200)]
    assert {job.method for job in jobs} == set(METHODS) - {"lines"}, "short lines have a recipe of their own"
    assert sum(job.method == "robot" for job in jobs) >= 15
    assert len({job.seed for job in jobs}) == 200


def test_a_real_job_gives_records_that_are_read_again(tmp_path: Path) -> None:
    job = SynthesisJob(4, "failing", "count", 7)
    result = Maker(tmp_path)(job)
    assert result == JobResult(job, Maker(tmp_path)(job).made, result.cpu_s)
    for folder, apart in ((tmp_path, False), (tmp_path / REJECTED, True)):
        write_shard(folder, 0, [one.line for one in result.made if bool(one.why) is apart])
    [kept] = read_rollouts(tmp_path)
    assert kept.true_success
    assert kept.task == task_document("count", 7)
    assert (kept.labels["accepted"], kept.labels["rejected"], kept.labels["method"]) == (True, "", "failing")
    failed = [call.failed_on_purpose for turn in kept.turns for call in turn.calls]
    assert any(failed)
    assert not failed[-1]
    assert ImageStore(tmp_path).get(str(kept.messages[1].image)).shape == (240, 320, 3)
    assert not any(record.labels["accepted"] for record in read_rollouts(tmp_path / REJECTED))


def test_the_table_counts_what_is_kept_and_why_the_rest_is_not() -> None:
    entries = [
        AttemptEntry(0, "tools", "point", "", 3, 10, {"a": 2}, "", 1.0),
        AttemptEntry(1, "tools", "point", "", 5, 20, {"a": 1, "b": 1}, "", 1.0),
        AttemptEntry(2, "tools", "count", checks.WRONG, 9, 90, {"c": 9}, "", 2.0),
    ]
    document = summary(entries)
    rows = {(row["method"], row["kind"]): row for row in document["rows"]}
    assert rows["tools", "point"] == {
        "method": "tools",
        "kind": "point",
        "accepted": 2,
        "rejected": 0,
        "why": {},
        "turns": 4.0,
        "calls": 2.0,
        "tools": 2,
        "tokens": 15.0,
        "cpu_s": 2.0,
    }
    assert rows["all", "all"]["why"] == {"wrong": 1}
    assert document["calls_per_tool"] == {"a": 3, "b": 1}
    assert "wrong 1" in table(document)
