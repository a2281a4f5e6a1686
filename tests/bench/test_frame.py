"""The frame of benchmarks: found by their files, light until they run, one document from jobs over processes."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from toolhand.agent_node.conversation_settings import TURN_BUDGET
from toolhand.bench.frame import Benchmark, Document
from toolhand.bench.judged import JudgedRecord, told_entries, told_line
from toolhand.bench.options import TURNS, BenchOptions
from toolhand.bench.stats import machine, rate_row
from toolhand.cli.commands import BENCHMARKS
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid


@dataclass(frozen=True)
class Options(BenchOptions):
    """Roll dice."""

    WORK = f"{__name__}:BENCH"

    n: int = 3
    jobs: int = 1
    as_json: bool = True

    def check(self) -> None:
        if self.n < 1:
            raise invalid(f"--n must be 1 or more, got {self.n}.")


class Dice(Benchmark[Options, int, int]):
    name = "dice"

    def jobs(self, options: Options) -> Sequence[int]:
        return range(options.n)

    def run(self, job: int) -> Sequence[int]:
        if job == 2:
            raise KeyError("x")
        return [job, job]

    def crashed(self, job: int, why: str) -> Sequence[int]:
        return [-1]

    def document(self, options: Options, records: Sequence[int]) -> dict[str, Any]:
        failures = [{"roll": record} for record in records if record < 0]
        rows = [rate_row("all", len(records) - len(failures), len(records))]
        return {"machine": machine(), "rows": rows, "unscored": len(failures), "failures": failures}

    def failure_line(self, failure: Mapping[str, Any]) -> str:
        return f"rolled {failure['roll']}"

    def status(self, document: Document) -> int:
        return int(bool(document["failures"]))


BENCH = Dice()


@pytest.mark.parametrize("jobs", [1, 2])
def test_jobs_become_records_in_their_order_and_one_document(jobs: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert Options(jobs=jobs)() == 1
    document = json.loads(capsys.readouterr().out)
    assert list(document) == ["bench", "machine", "rows", "unscored", "failures", "wall_s"]
    assert (document["bench"], document["rows"][0]["success"], document["rows"][0]["n"]) == ("dice", 4, 5)
    assert Options(n=2, as_json=False)() == 0
    assert "100.0%" in capsys.readouterr().out
    assert Options(as_json=False)() == 1
    assert "  rolled -1" in capsys.readouterr().out


def test_options_are_checked_before_anything_is_measured() -> None:
    with pytest.raises(ToolError) as refused:
        Options(n=0)()
    assert refused.value.code is ErrorCode.INVALID_ARGUMENT


def test_every_file_of_the_folder_is_a_command_whose_work_exists() -> None:
    folder = Path(__file__).parents[2] / "bench" / "commands"
    assert set(BENCHMARKS) == {path.stem for path in folder.glob("[a-z]*.py")}
    for name, command in BENCHMARKS.items():
        module, _, attribute = command.load().WORK.partition(":")  # type: ignore[attr-defined]
        benchmark = getattr(import_module(module), attribute)
        assert isinstance(benchmark, Benchmark)
        assert benchmark.name == name
        assert command.summary.endswith(".")


def test_options_load_nothing_that_takes_long() -> None:
    program = (
        "import sys\nfrom toolhand.cli.commands import BENCHMARKS\n"
        "for command in BENCHMARKS.values(): command.load()\nprint(*sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in ended.stdout.split()}
    assert not loaded & {"numpy", "scipy", "mujoco", "PIL", "torch", "training"}
    assert TURNS == TURN_BUDGET


@dataclass(frozen=True, kw_only=True)
class Told(JudgedRecord):
    seed: int = 3
    text: str = "pick it up"
    scored: bool = True
    success: bool = True
    lifted: tuple[str, ...] = ()


def test_records_of_commands_give_counts_and_failures() -> None:
    lost = Told(scored=False, success=False, error_code="INTERNAL", answer="It died.")
    lied = Told(success=False, false_success=True, reasons=("it lies elsewhere",), lifted=("milk_1",))
    entries = told_entries([Told(), lost, lied, Told(denied=True)], last=["lifted"])
    assert (entries["unscored"], entries["error_codes"]) == (1, {"INTERNAL": 1})
    assert [failure["lifted"] for failure in entries["failures"]] == [[], ["milk_1"], []]
    assert told_line(entries["failures"][0]) == "seed   3  'pick it up': INTERNAL: It died."
    assert (
        told_line(entries["failures"][1], "2 mm  ") == "seed   3  2 mm  'pick it up': false success: it lies elsewhere"
    )
