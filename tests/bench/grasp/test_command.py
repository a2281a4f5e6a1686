"""`toolhand bench grasp`: its document, its folder, and options that are refused in one sentence."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import toolhand.bench.grasp.comparison
import toolhand.cli.main
from toolhand.agent_node.console.options import COLOUR_AND_DEPTH, BackendOptions
from toolhand.bench.commands.grasp import Options
from toolhand.bench.grasp.records import GraspRecord, RunFolder
from toolhand.bench.grasp.scenes import GraspJob
from toolhand.bench.grasp.sides import port_of, sides_of
from toolhand.tool_nodes.port_names import PortNames
from toolhand.tool_nodes.results import ErrorCode, ToolError

pa = pytest.importorskip("pyarrow.parquet")
ROW = GraspRecord("main", "alone", 0, object="toy block", objects=1, mask_iou=0.9, mask_score=0.8, grasp_score=0.7)


def fake(job: GraspJob) -> list[GraspRecord]:
    """What a job gives without physics: seeds that 3 divides hold, those with the remainder 2 crash."""
    if job.seed % 3 == 2:
        raise OSError("no memory")
    good = job.seed % 3 == 0 and job.side.role == "main"
    record = replace(ROW, side=job.side.role, kind=job.kind, seed=job.seed, executed=True, success=good, reported=good)
    record = replace(record, code="" if good else "NO_GRASP", prompt=(0.25, 0.5))
    if job.out:
        RunFolder(Path(job.out)).keep(job.key, [record])
    return [record]


def measure(capsys: pytest.CaptureFixture[str], **options: Any) -> dict[str, Any]:
    """The document of a run over the catalogue."""
    capsys.readouterr()
    assert Options("catalogue", as_json=True, **options)() == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_one_scene_end_to_end(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    backends = BackendOptions("pixels", PortNames(sensor="stereo"))
    document = measure(capsys, scene="alone", n=1, backends=backends, out=tmp_path / "run")
    assert document["sides"][0]["ports"]["segmenter"] == "pixels+drawings"
    assert [side["label"] for side in document["sides"]] == ["analytic", "top_down"]
    assert document["paired"]["top_down"][0]["n"] == 1
    assert document["unscored"] == 0
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"settings.json", "scenes", "grasps.csv", "rows.csv", "success.png", "index.html"} <= names


def test_the_document_has_every_part_and_counts_what_crashed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(toolhand.bench.grasp.comparison, "run_one", fake)
    document = measure(capsys, n=3, first_seed=3)
    assert (document["bench"], document["seeds"]) == ("grasp", [3, 4, 5, 6, 7, 8])
    assert document["unscored"] == 4
    first = document["rows"][0]
    assert (first["side"], first["name"], first["success"], first["n"]) == ("analytic", "first attempt", 2, 4)
    assert document["causes"]["analytic"] == {"NO_GRASP": 2, "INTERNAL": 2}
    assert "OSError: no memory" in [failure["text"] for failure in document["failures"]]


def test_an_interrupted_run_goes_on_where_it_was(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    done: list[str] = []

    def broken(job: GraspJob) -> list[GraspRecord]:
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(job.key)
        return fake(replace(job, seed=3 * job.seed))[:1] if job.seed else fake(job)

    options: dict[str, Any] = {"n": 1, "control": True, "out": tmp_path}
    monkeypatch.setattr(toolhand.bench.grasp.comparison, "run_one", broken)
    with pytest.raises(KeyboardInterrupt):
        measure(capsys, **options)
    kept = {path.stem for path in (tmp_path / "scenes").iterdir()}
    assert len(kept) == 3
    again: list[str] = []
    monkeypatch.setattr(toolhand.bench.grasp.comparison, "run_one", lambda job: again.append(job.key) or fake(job))
    document = measure(capsys, **options)
    assert {"main-alone-0", "control-alone-0"} <= kept
    assert not kept & set(again)
    assert sum(row["n"] for row in document["rows"] if row["name"] == "first attempt") == 4
    measure(capsys, **{**options, "n": 2})
    begun = r" was begun with another first_seed \(0\), sides\. Name another folder, or give the same options "
    with pytest.raises(ToolError, match=begun):
        measure(capsys, **options, first_seed=1, ideal=True)


def test_what_crashed_is_done_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(toolhand.bench.grasp.comparison, "run_one", fake)
    assert measure(capsys, scene="alone", n=1, first_seed=2, out=tmp_path)["unscored"] == 2
    assert list((tmp_path / "scenes").iterdir()) == []


def test_the_table_of_grasps_has_a_row_for_each(tmp_path: Path) -> None:
    records = [replace(ROW, prompt=(0.25, 0.5), pose=tuple(map(float, range(16)))), ROW]
    rows = list(csv.DictReader(RunFolder(tmp_path).write_table(records).open()))
    assert [json.loads(row["pose"]) for row in rows] == [list(range(16)), []]
    assert json.loads(rows[0]["prompt"]) == [0.25, 0.5]
    assert (rows[0]["object"], rows[0]["mask_iou"], rows[1]["opening_m"]) == ("toy block", "0.9", "")


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("mine")
    with pytest.raises(ToolError, match=r" holds something already, such as diary\.txt, and nothing is replaced\."):
        Options("catalogue", out=tmp_path)()
    assert [path.name for path in tmp_path.iterdir()] == ["diary.txt"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"objects": "nope"}, "There is no object set 'nope'"),
        ({"scene": "heap"}, "--scene must be"),
        ({"scene": "alone,alone"}, "--scene names a kind twice"),
        ({"backends": BackendOptions("pixels", PortNames(sensor="nope"))}, "There is no sensor 'nope'"),
        ({"backends": BackendOptions("pixels", PortNames(grasps="nope"))}, "There is no grasps 'nope'"),
        ({"vs": "nope"}, "--vs must name a generator of grasps or a segmenter, and 'nope' is none"),
        ({"vs": "served"}, "and 'served' is both: say grasps:NAME or segmenter:NAME"),
        ({"vs": "segmenter:pixels+drawings"}, "--vs must name another segmenter than the one that is measured"),
        ({"vs": "grasps:nope"}, "There is no grasps 'nope'"),
        ({"n": 0}, "--n must be 1 or more"),
    ],
)
def test_options_that_mean_nothing_are_refused_in_one_sentence(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ToolError) as caught:
        Options(**{"objects": "catalogue", **options})()
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert words in caught.value.message


def test_a_protocol_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        toolhand.cli.main.main(["bench", "grasp", "--protocol", "empty"])
    assert caught.value.code == 2
    assert "Expected one of ('attempt'" in " ".join(capsys.readouterr().err.split())


def test_vs_names_a_generator_a_segmenter_or_any_port() -> None:
    assert port_of("top_down") == ("grasps", "top_down")
    assert port_of("sim") == ("segmenter", "sim")
    assert port_of("sam2:large") == ("segmenter", "sam2:large")
    assert port_of("sensor:ideal") == ("sensor", "ideal")
    sides = sides_of(COLOUR_AND_DEPTH, "gen3", "top_down", control=True, ideal=True)
    assert [(side.role, side.label) for side in sides] == [
        ("main", "analytic"),
        ("vs", "top_down"),
        ("control", "top_down"),
        ("ideal", "analytic, ideal"),
    ]
    (*_, again) = sides_of(COLOUR_AND_DEPTH, "gen3", "", control=True, ideal=False, ways=["second_view"])
    assert (again.role, again.label) == ("second_view", "analytic, second view")
    assert again.config(0).suites == ("spacetools", "wrist")
