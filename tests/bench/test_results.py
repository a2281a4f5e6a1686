"""The file that every benchmark leaves."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from toolhand.agent_node.console.terminal import AsJson
from toolhand.agent_node.runs.bench_results import FOLDER, read_bench_result
from toolhand.bench.options import BenchOptions
from toolhand.bench.results import kept
from toolhand.bench.stats import machine, publish, rate_row
from toolhand.cli.commands import BENCHMARKS, CliCommand
from toolhand.cli.main import main
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.version import version


def published(document: dict[str, Any], status: int = 0) -> Callable[[], int]:
    def run() -> int:
        publish(document, lambda document: "a table", as_json=False)
        return status

    return run


DOCUMENT = {"bench": "hold", "machine": machine(), "rows": [rate_row("all", 3, 4)], "slide_mm": float("nan")}


@dataclass(frozen=True)
class Options(BenchOptions):
    """A benchmark of one row."""

    WORK = f"{__name__}:one_row"

    n: int = 1
    as_json: AsJson = False


def one_row(options: Options) -> int:
    publish(
        {"machine": machine(), "rows": [rate_row("all", 1, options.n)]}, lambda document: "a table", options.as_json
    )
    return 0


def test_a_result_has_command_machine_and_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert kept("hold", ["--n", "4", "--out", "runs/hold"], published(DOCUMENT, 1), tmp_path) == 1
    (path,) = tmp_path.iterdir()
    assert f"The result is kept in {path}." in capsys.readouterr().err
    result = read_bench_result(path)
    assert (result.bench, result.arguments, result.out) == ("hold", ("--n", "4", "--out", "runs/hold"), "runs/hold")
    assert (result.version, result.exit_status, result.machine) == (version(), 1, machine())
    assert result.document == DOCUMENT | {"slide_mm": None}


def test_runs_of_one_second_have_files_of_their_own(tmp_path: Path) -> None:
    for _ in range(3):
        kept("hold", [], published(DOCUMENT), tmp_path)
    assert len([read_bench_result(path) for path in tmp_path.iterdir()]) == 3


def test_a_benchmark_that_fails_leaves_no_file(tmp_path: Path) -> None:
    def run() -> int:
        raise invalid("n must be 1 or more.")

    with pytest.raises(ToolError):
        kept("hold", [], run, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_changes_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert kept("hold", [], published(DOCUMENT), tmp_path / "file" / "bench") == 0
    shown = capsys.readouterr()
    assert shown.out == "a table\n"
    assert shown.err.startswith("The result is not kept: ")


def test_every_benchmark_of_the_command_line_leaves_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    fake = CliCommand(f"{__name__}:Options", "A benchmark of one row.")
    monkeypatch.setitem(BENCHMARKS._found, "hold", fake)  # type: ignore[attr-defined]
    with pytest.raises(SystemExit) as ended:
        main(["bench", "hold", "--n", "2", "--json"])
    assert ended.value.code == 0
    (path,) = FOLDER.iterdir()
    assert read_bench_result(path).document == json.loads(capsys.readouterr().out)
    assert read_bench_result(path).arguments == ("--n", "2", "--json")


def test_all_benchmarks_publish_their_document() -> None:
    """Nothing else prints one: a benchmark that did would leave no file."""
    root = Path(__file__).parents[2] / "bench"
    printing = [path for path in root.rglob("*.py") if " emit(" in path.read_text().replace("def emit(", "")]
    assert [os.fspath(path.relative_to(root)) for path in printing] == ["stats.py"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "it is no JSON"),
        ("[]", "must be a mapping"),
        ('{"format": 2}', "only format 1 is read"),
        ('{"format": 1}', "bench is missing"),
        ('{"format": 1, "wall_s": 1e999}', "no finite number"),
    ],
)
def test_another_file_is_refused_in_one_sentence(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(ToolError, match=said):
        read_bench_result(tmp_path / "x.json")


@pytest.mark.parametrize("change", [{"arguments": [1]}, {"began": "yesterday"}, {"document": []}, {"wall_s": "1"}])
def test_a_result_with_a_wrong_entry_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    kept("hold", [], published(DOCUMENT), tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ToolError, match=rf"{next(iter(change))}(\[0\])? must be"):
        read_bench_result(path)
