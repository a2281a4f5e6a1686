"""Collecting: whatever happens to a process, a disk or a policy, the records are the same or are not there."""

from __future__ import annotations

import errno
import functools
import json
import multiprocessing
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import toolhand.training.rollouts.collection
import toolhand.training.rollouts.engine
from tests.refusals import refused
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.rollouts.collection import read_rollouts, shard_path
from toolhand.training.rollouts.engine import CollectReport, collect
from toolhand.training.rollouts.options import StopRules, WorkerOptions
from toolhand.training.rollouts.plan import PLAN_FILE, RolloutPlan, claimed, planned_in, tasks_of
from toolhand.training.rollouts.record import (
    CallEntry,
    MessageRecord,
    PromptRecord,
    RolloutRecord,
    TurnRecord,
    rollout_id,
)
from toolhand.training.rollouts.replies import Halt, RolloutReply
from toolhand.training.rollouts.work import brief_of
from toolhand.training.tasks.kinds import task_document

TWO = WorkerOptions(2)
PLAN = RolloutPlan(tasks_of(["pick"], 4), group_size=2)
NEVER = StopRules(0, 0, 0)
DIES, HANGS = "__import__('os')._exit(3)", "__import__('time').sleep(600)"


def record_of(group: int, rollout: int, total: float, calls: int) -> RolloutRecord:
    call = CallEntry("robot.capture_image", {}, "Captured.")
    return RolloutRecord(
        id=rollout_id(group, rollout),
        task=PLAN.tasks[group],
        text="Pick it up.",
        seed=group,
        group=group,
        rollout=rollout,
        protocol="spacetools",
        policy="scripted",
        tools="[]",
        messages=(MessageRecord("user", "Pick it up."), MessageRecord("assistant", "Done.", sampled=True)),
        turns=(TurnRecord(PromptRecord(1), "Done.", span=(0, 5), calls=(call,) * calls),),
        terms={"picked": total},
        total=total,
        truth={"terms": {"picked": total}, "success": total == 1.0, "reasons": []},
        times={"tools": 0.5},
    )


Orders = dict[tuple[int, int], Any]


def work(
    monkeypatch: pytest.MonkeyPatch,
    acts: dict[tuple[int, int], str] | None = None,
    replies: Orders | None = None,
    totals: Callable[[int, int], float] = lambda group, rollout: float(rollout),
    calls: int = 1,
) -> None:
    """Let the processes give prepared records, after doing something; no simulator is loaded in them."""
    told: Orders = {}
    for group in range(len(PLAN.tasks)):
        for rollout in range(PLAN.group_size):
            record = record_of(group, rollout, totals(group, rollout), calls)
            told[group, rollout] = RolloutReply(record.to_json(), brief_of(record), 0.1, 100.0)
    names = {"acts": acts or {}, "told": told | (replies or {})}
    source = "lambda order: (eval(acts.get((order.group, order.rollout), '0')), told[order.group, order.rollout])[1]"
    monkeypatch.setattr(
        toolhand.training.rollouts.engine, "_maker", lambda plan, folder: functools.partial(eval, source, names)
    )


def ids(folder: Path) -> list[str]:
    return [record.id for record in read_rollouts(folder)]


ALL = [rollout_id(group, rollout) for group in range(4) for rollout in range(2)]


def raising(code: str) -> str:
    results = "__import__('toolhand.tool_nodes.results').tool_nodes.results"
    return f"(_ for _ in ()).throw({results}.ToolError({results}.ErrorCode('{code}'), 'The backend is gone.'))"


def test_what_hangs_or_dies_is_drawn_again_and_infrastructure_errors_are_dropped_by_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "mark"
    mark.mkdir()
    once = f"__import__('os').path.exists({str(mark / 'x')!r}) or (open({str(mark / 'x')!r}, 'w'), {DIES})"
    work(monkeypatch, {(0, 1): once, (1, 0): HANGS, (2, 0): raising("UNAVAILABLE"), (3, 1): DIES})
    told: list[int] = []
    report = collect(
        PLAN,
        tmp_path / "out",
        WorkerOptions(2, deadline_s=1.0, tries=2),
        stops=NEVER,
        progress=lambda so_far: told.append(so_far.done),
    )
    assert (report.planned, report.found, report.done, report.cancelled) == (8, 0, 5, False)
    assert report.dropped == {"TIMEOUT": 1, "UNAVAILABLE": 1, "INTERNAL": 1}
    assert report.again == {"TIMEOUT": 1, "INTERNAL": 2}
    assert (report.groups, report.zero_variance, report.true_success, report.calls) == (1, 0, 3, 5)
    assert told[-1] == 5
    assert ids(tmp_path / "out") == [name for name in ALL if name not in ("00001-000", "00002-000", "00003-001")]
    assert not multiprocessing.active_children()
    work(monkeypatch)
    report = collect(PLAN, tmp_path / "out")
    assert (report.found, report.done, report.groups) == (5, 3, 4), "what was dropped is drawn again by a second call"
    assert ids(tmp_path / "out") == ALL


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_broken_off_collection_goes_on_to_the_same_files_in_whatever_order_rollouts_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(monkeypatch)
    collect(PLAN, tmp_path / "whole")
    slow = {(0, 0): "__import__('time').sleep(0.4)", (1, 1): "__import__('time').sleep(0.2)"}
    work(monkeypatch, slow)
    seen: list[CollectReport] = []
    report = collect(PLAN, tmp_path / "broken", TWO, stopped=lambda: len(seen) >= 3, progress=seen.append)
    assert report.cancelled
    assert 3 <= report.done < 8
    assert len(ids(tmp_path / "broken")) == report.done, "also rollouts of groups that are not whole"
    report = collect(PLAN, tmp_path / "broken", TWO)
    assert report.whole == 8
    assert files(tmp_path / "broken") == files(tmp_path / "whole")
    report = collect(PLAN, tmp_path / "broken", TWO)
    assert (report.found, report.done, report.true_success) == (8, 0, 4)


def test_ctrl_c_keeps_what_is_whole_and_no_process_hears_it_but_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hit_themselves = "__import__('os').kill(__import__('os').getpid(), 2)"
    hit_us = f"(__import__('time').sleep(0.3), __import__('os').kill({os.getpid()}, 2), {HANGS})"
    work(monkeypatch, {(0, 0): hit_themselves, (1, 0): hit_us})
    report = collect(PLAN, tmp_path / "out", TWO)
    assert report.cancelled
    assert not report.again
    assert not multiprocessing.active_children()
    assert set(ALL[:2]) <= set(ids(tmp_path / "out"))
    assert "00001-000" not in ids(tmp_path / "out")


def test_bad_rows_cut_shards_and_lost_images_are_told_and_drawn_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    work(monkeypatch)
    collect(PLAN, folder)
    whole = files(folder)
    cut, bad, foreign, lost = (shard_path(folder, number) for number in range(4))
    cut.write_bytes(cut.read_bytes()[:-30])
    bad.write_bytes(b"{}\n" + bad.read_bytes().splitlines(keepends=True)[1])
    foreign.write_bytes(cut.read_bytes().splitlines(keepends=True)[0])
    record = replace(record_of(3, 0, 0.0, 1), messages=(MessageRecord("user", "x", image="a" * 64),) * 2, turns=())
    lost.write_text(record.to_json() + "\n" + lost.read_text().splitlines()[1] + "\n")
    (folder / "shards" / ".00000.jsonl.abc.part").write_text("half")
    with pytest.raises(ToolError, match=r"00000\.jsonl, line 2: it is cut off\."):
        list(read_rollouts(folder))
    report = collect(PLAN, folder)
    assert [row.removeprefix(f"{folder / 'shards'}{os.sep}") for row in report.bad_rows] == [
        "00000.jsonl, line 2: it is cut off.",
        "00001.jsonl, line 1: it has no version, and only version 2 is read.",
        "00002.jsonl, 00000-000: it is not of this group.",
        f"00003.jsonl, 00003-000: its picture {'a' * 12} is gone.",
    ]
    assert (report.found, report.done) == (3, 5)
    assert files(folder) == whole


def test_a_full_disk_stops_with_one_sentence_and_what_was_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = ToolError(ErrorCode.UNAVAILABLE, "Cannot write x.png: No space left on device.", "Check its free space.")
    work(monkeypatch, replies={(1, 0): Halt(full)})
    with refused(ErrorCode.UNAVAILABLE, "No space left") as error:
        collect(PLAN, tmp_path / "out")
    assert error.value.hint == f"Check its free space. 2 of 8 rollouts are kept in {tmp_path / 'out'}."
    assert ids(tmp_path / "out") == ALL[:2]
    assert not multiprocessing.active_children()

    def no_room(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    work(monkeypatch)
    written = Path.write_bytes
    monkeypatch.setattr(
        Path, "write_bytes", lambda path, c: no_room(path, c) if "00002" in path.name else written(path, c)
    )
    with pytest.raises(ToolError, match=r"Cannot write .*00002\.jsonl: No space left on device"):
        collect(PLAN, tmp_path / "out")
    assert ids(tmp_path / "out") == ALL[:4]
    monkeypatch.setattr(Path, "write_bytes", written)
    assert collect(PLAN, tmp_path / "out").whole == 8


@pytest.mark.parametrize(
    ("told", "stops", "sentence", "kept"),
    [
        (
            {"totals": lambda group, rollout: 1.0},
            StopRules(zero_variance=2),
            "The rewards of each of the last 2 groups",
            4,
        ),
        ({"calls": 0}, StopRules(no_tool_calls=3), "No rollout of the last 3 groups has called a tool", 6),
        (
            {"acts": dict.fromkeys([(1, 0), (1, 1), (2, 0)], raising("UNAVAILABLE"))},
            StopRules(dropped=3),
            "3 rollouts in a row were dropped, the last one because: The backend is gone",
            2,
        ),
    ],
)
def test_what_makes_no_sense_stops_loudly_and_can_go_on_if_asked_to(
    told: dict[str, Any], stops: StopRules, sentence: str, kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(monkeypatch, **told)
    with refused(ErrorCode.EXECUTION_FAILED, sentence) as error:
        collect(PLAN, tmp_path / "out", stops=stops)
    assert f"{kept} of 8 rollouts are kept" in str(error.value)
    assert len(ids(tmp_path / "out")) == kept
    work(monkeypatch, **{name: value for name, value in told.items() if name != "acts"})
    assert collect(PLAN, tmp_path / "out", stops=NEVER).whole == 8


def test_one_group_that_differs_begins_the_count_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work(monkeypatch, totals=lambda group, rollout: float(rollout if group == 1 else 1))
    report = collect(PLAN, tmp_path / "out", stops=StopRules(zero_variance=3))
    assert (report.whole, report.zero_variance) == (8, 3)


def test_a_folder_of_another_plan_or_of_other_objects_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(monkeypatch)
    folder = tmp_path / "out"
    collect(PLAN, folder)
    before = files(folder)
    with pytest.raises(ToolError, match=r" was begun with another group_size \(2\), seed \(0\)\. Name another folder"):
        collect(replace(PLAN, group_size=3, seed=1), folder)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter.txt").write_text("dear")
    with pytest.raises(ToolError, match=r" holds something already, such as letter\.txt, and nothing is replaced\."):
        collect(PLAN, tmp_path / "home")
    (tmp_path / "file").write_text("x")
    with pytest.raises(ToolError, match="file holds something already, and nothing is replaced"):
        collect(PLAN, tmp_path / "file")
    assert files(folder) == before
    (folder / "plan.json").write_text("{")
    with pytest.raises(ToolError, match=r"plan\.json cannot be read"):
        collect(PLAN, folder)


def test_two_collections_never_work_in_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work(monkeypatch)
    caught: list[str] = []

    def meanwhile(report: CollectReport) -> None:
        if not caught:
            with pytest.raises(ToolError, match="Another process collects rollouts") as error:
                collect(PLAN, tmp_path / "out")
            caught.append(str(error.value))

    assert collect(PLAN, tmp_path / "out", progress=meanwhile).whole == 8
    assert caught


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"group_size": 1}, "A group must have 2 rollouts or more, not 1"),
        ({"tasks": ()}, "needs a task or more"),
        ({"tasks": (task_document("dance", 0),)}, "There is no task 'dance': it must be "),
        ({"tasks": (task_document("pick", -1),)}, "must be a whole number from 0"),
        ({"tasks": (task_document("pick", 0, "exam"),)}, "There is no split 'exam'"),
        ({"tasks": ({"kind": "pick", "seed": 0},)}, "exactly the keys kind, seed, split and version"),
        ({"policy": "nobody"}, "There is no policy 'nobody'"),
        ({"reward": "fun"}, "There is no reward 'fun': it must be mean"),
        ({"protocol": "morse"}, "There is no protocol 'morse'"),
        ({"perception": "eyes"}, "There is no perception 'eyes'"),
        ({"backend": "moon"}, "the backend 'moon': it must be physics or mock"),
        ({"backend": "ros"}, "the backend 'ros': it must be physics or mock"),
        ({"suites": ("hammer",)}, "hammer"),
        ({"settings": {"api_key": "x"}}, "there is no key settings.api_key"),
        ({"settings": {"temperature": -1.0}}, "must be finite and not negative: temperature"),
        ({"timestep": 0.1}, "The time step must be one of"),
        ({"image_size": (3, 3)}, "width and height must be"),
        ({"difficulty": 1.5}, "The difficulty must be from 0 to 1"),
        ({"seed": -1}, "The seed must be 0 or more"),
        ({"turns": 0}, "turns must be 1 or more"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_before_anything_is_made(wrong: dict[str, Any], sentence: str) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, sentence):
        replace(PLAN, **wrong)


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"tries": 0}, {"deadline_s": 0.0}])
def test_numbers_that_make_no_sense_are_refused(wrong: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"must be 1 or more|must be above 0 s"):
        collect(PLAN, tmp_path / "out", WorkerOptions(**wrong))
    assert not (tmp_path / "out").exists()
    with pytest.raises(ToolError, match="0 or more"):
        StopRules(zero_variance=-1)


def test_a_plan_is_read_and_its_folder_gone_on_with(tmp_path: Path) -> None:
    document = PLAN.document()
    assert RolloutPlan.of_document(document) == PLAN
    (tmp_path / PLAN_FILE).write_text(json.dumps(document), encoding="utf-8")
    assert planned_in(tmp_path) == (8, "")
    with claimed(tmp_path, PLAN):
        pass
