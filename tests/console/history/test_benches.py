"""Results of benchmarks as the console shows them."""

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.console.recordings import gigantic_png
from toolhand.agent_node.runs.bench_results import BenchResult
from toolhand.agent_node.runs.folder import write_json
from toolhand.bench.stats import rate_row, timing_row
from toolhand.console.history.benches import BenchIndex, compared, gallery, gallery_image
from toolhand.tool_nodes.results import ToolError


def keep(root: Path, success: int, day: int = 20, version: str = "0.1", **changes: Any) -> Path:
    document = {
        "rows": [rate_row("all", success, 20, side="ours"), timing_row("plan", [0.01, 0.02])],
        "objects": [rate_row("box", success, 20), rate_row("never asked", 0, 0)],
        "failures": [{"object": "box", "seed": k, "grasp": [1, 2]} for k in range(20 - success)],
    }
    values: dict[str, Any] = {
        "bench": "grasp",
        "arguments": ["--n", "20", "--jobs", "2", "--json"],
        "began": f"2026-11-{day}T10:00:00+00:00",
        "wall_s": 12.5,
        "exit_status": 0,
        "version": version,
        "machine": {"cpu": "Some processor", "cores": 2},
        "out": "",
        "document": document,
        **changes,
    }
    path = root / f"202611{day}-100000-0-{values['bench']}.json"
    write_json(path, BenchResult(**values).written())
    return path


def test_a_result_has_its_rates_with_n_and_interval(tmp_path: Path) -> None:
    keep(tmp_path, 18)
    (result,) = BenchIndex(tmp_path).results()
    assert [(rate.table, rate.name, rate.said) for rate in result.rates] == [
        ("rows", "ours: all", "90.0 % (18 of 20; 69.9..97.2)"),
        ("rows", "plan", "15 / 19.5 / 19.9 ms (n 2)"),
        ("objects", "box", "90.0 % (18 of 20; 69.9..97.2)"),
        ("objects", "never asked", "- (0 of 0)"),
    ]
    assert (result.command, result.machine, result.failures) == ("toolhand bench grasp --n 20", "Some processor, 2", 2)


def test_results_of_the_same_measurement_are_one_group_whatever_its_processes(tmp_path: Path) -> None:
    keep(tmp_path, 18)
    keep(tmp_path, 19, 21, arguments=["--n", "20", "--out=runs/grasp"])
    keep(tmp_path, 19, 22, arguments=["--n", "40"])
    groups = BenchIndex(tmp_path).groups()
    assert {command: len(results) for command, results in groups.items()} == {
        "toolhand bench grasp --n 40": 1,
        "toolhand bench grasp --n 20": 2,
    }


def test_versions_are_compared_row_by_row(tmp_path: Path) -> None:
    for day, success in ((20, 19), (21, 18), (22, 3)):
        keep(tmp_path, success, day, f"0.{day}")
    results = BenchIndex(tmp_path).results()
    assert [result.version for result in results] == ["0.22", "0.21", "0.20"]
    rows = {(row.table, row.name): row for row in compared(results[::-1])}
    row = rows["objects", "box"]
    assert [cell and cell.success for cell in row.cells] == [19, 18, 3]
    assert row.changed
    assert not {(row.table, row.name): row for row in compared(results[:0:-1])}["objects", "box"].changed


def test_a_damaged_file_is_listed_with_its_problem_and_the_others_stay(tmp_path: Path) -> None:
    keep(tmp_path, 18)
    (tmp_path / "zzz.json").write_text("{")
    good, bad = BenchIndex(tmp_path).results()
    assert (good.problem, bad.file) == ("", "zzz.json")
    assert bad.problem.startswith("zzz.json is no result of a benchmark: ")


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    index = BenchIndex(tmp_path)
    assert index.results() == []
    path = keep(tmp_path, 18)
    assert index.results()[0].failures == 2
    keep(tmp_path, 1)
    assert index.results()[0].failures == 19
    path.unlink()
    assert index.results() == []


def test_failures_are_text(tmp_path: Path) -> None:
    path = keep(tmp_path, 18)
    index = BenchIndex(tmp_path)
    assert index.failures(path.name)[1] == {"object": "box", "seed": "1", "grasp": "[1, 2]"}
    with pytest.raises(ToolError, match="no name of a file"):
        index.failures("../x.json")


def test_rows_of_a_foreign_file_are_passed_over_where_they_are_none(tmp_path: Path) -> None:
    bad = [None, 5, {"n": "many", "name": "x"}, {"n": 1, "name": "x", "rate": "good", "success": 1}, {"n": 3}]
    keep(tmp_path, 18, document={"rows": bad, "more": "text", "failures": "none"})
    (result,) = BenchIndex(tmp_path).results()
    assert [rate.said for rate in result.rates] == ["- (0 of 1)"]


def test_images_of_failures_are_shown_from_folders_of_the_console_alone(tmp_path: Path) -> None:
    shown, other = tmp_path / "runs", tmp_path / "other"
    for root in (shown, other):
        (root / "grasp" / "failures").mkdir(parents=True)
        Image.new("RGB", (4, 4)).save(root / "grasp" / "failures" / "box-1-mask.jpg")
    (shown / "grasp" / "failures" / "notes.txt").touch()
    (shown / "grasp" / "failures" / "out.jpg").symlink_to(other / "grasp" / "failures" / "box-1-mask.jpg")
    (shown / "grasp" / "failures" / "bomb.png").write_bytes(gigantic_png())
    assert [path.name for path in gallery(str(shown / "grasp"), [shown])] == ["bomb.png", "box-1-mask.jpg"]
    assert gallery_image(str(shown / "grasp"), "box-1-mask.jpg", [shown])[0] == "image/jpeg"
    for name, said in (("bomb.png", "cannot be shown"), ("../x.jpg", "no picture"), ("out.jpg", "no picture")):
        with pytest.raises(ToolError, match=said):
            gallery_image(str(shown / "grasp"), name, [shown])
    for out in (str(other / "grasp"), str(shown / ".." / "other" / "grasp"), "/"):
        with pytest.raises(ToolError, match="lies outside of what the console shows"):
            gallery(out, [shown])
    with pytest.raises(ToolError, match="has no pictures of failures"):
        gallery(str(shown / "none"), [shown])
