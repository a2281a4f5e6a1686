"""The small experiment: all stages in small, goes on where it was, arms over seeds, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from tests.training.data.rollouts_at_hand import rollout
from tool_nodes.results import ErrorCode, ToolError
from training.experiment import run, stages
from training.experiment.arms import ARMS, OF_RECIPE
from training.experiment.measures import Measures, summarise
from training.experiment.run import run_arms, run_tiny
from training.experiment.sizes import SMOKE, Sizes, scaled, tasks_for
from training.experiment.stages import ExperimentRun, _suffix
from training.rollouts.collection import shard_path, write_shard
from training.rollouts.engine import CollectReport
from training.rollouts.pictures import PictureStore
from training.rollouts.plan import EvaluationPlan, RolloutPlan
from training.rollouts.replies import Halt, RolloutOrder
from training.rollouts.work import make_work
from training.trainer import rl


def collect_here(plan: RolloutPlan, folder: Path, workers: int = 1, **more: Any) -> CollectReport:
    """As `training.rollouts.engine.collect`, in this process; the scripted policies' evaluations are made up."""
    store, work = PictureStore(folder), make_work(plan, folder)
    report = CollectReport(plan.rollouts)
    for group in range(len(plan.tasks)):
        if shard_path(folder, group).exists():
            continue
        lines = []
        for number in range(plan.group_size):
            if isinstance(plan, EvaluationPlan) and plan.policy.startswith("careful"):
                lines.append(rollout(store, number, group=group).to_json(store))
                continue
            reply = work(RolloutOrder(group, number))
            assert not isinstance(reply, Halt), reply
            lines.append(reply.line)
        write_shard(folder, group, lines)
        report.done += len(lines)
    return report


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Rollouts are collected in this process; the folders that were asked for."""
    asked: list[str] = []

    def collect(plan: RolloutPlan, folder: Path, workers: int = 1, **more: Any) -> CollectReport:
        asked.append(folder.name)
        return collect_here(plan, folder)

    for module in (stages, rl):
        monkeypatch.setattr(module, "collect", collect)
    return asked


def test_a_smoke_goes_through_all_stages_and_is_gone_on_with_without_doing_anything_twice(
    here: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    result = run_tiny("dirl", folder, 0, sizes=SMOKE, workers=1)
    assert list(result["tables"]) == ["Scripted policies, by the pointers", "Stage 2: SFT", "Stage 3: GRPO"]
    assert set(result["tables"]["Stage 3: GRPO"]) == {"sampled", "greedy"}
    assert all(Path(result[name]).is_file() for name in ("policy", "pointer"))
    written = (folder / "tables.md").read_text()
    assert written.count("| policy | n |") == 3
    assert "| stage 2, SFT |" in written
    assert json.loads((folder / "result.json").read_bytes()) == json.loads(json.dumps(result))
    asked = list(here)
    again = run_tiny("dirl", folder, 0, sizes=SMOKE, workers=2)
    assert again == result
    assert here == asked
    longer = ExperimentRun(folder, 0, SMOKE).rows(ARMS["longer"])
    assert here == asked, "a training of more epochs has the same rows"
    assert longer
    with pytest.raises(ToolError, match="a run of other seed") as caught:
        run_tiny("dirl", folder, 1, sizes=SMOKE)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT


# -- arms ----------------------------------------------------------------------------------------------

Known = Callable[[str], Measures]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """No stage does anything, and every measurement is the same; what was measured."""
    done: list[str] = []
    found = summarise([rollout(PictureStore(tmp_path / "pictures"))])

    def measured(self: ExperimentRun, name: str, policy: str, pointer: Path, temperature: float) -> Measures:
        done.append(f"{self.seed} {name} {temperature:g}")
        return found

    def stage3(self: ExperimentRun, arm: Any) -> Path:
        if not arm.sft:
            raise ToolError(ErrorCode.EXECUTION_FAILED, "No rollout of the last 4 groups has called a tool.")
        return Path("tiny.safetensors")

    monkeypatch.setattr(ExperimentRun, "measured", measured)
    monkeypatch.setattr(ExperimentRun, "pointer", lambda self, improved: Path("pointer.safetensors"))
    monkeypatch.setattr(ExperimentRun, "sft", lambda self, arm: Path("tiny.safetensors"))
    monkeypatch.setattr(ExperimentRun, "rl", stage3)
    return done


def test_every_arm_of_every_seed_is_a_part_of_its_row(quick: list[str], tmp_path: Path) -> None:
    result = run_arms(tmp_path / "arms", (0, 2), evaluated=5)
    assert list(result["arms"]) == list(ARMS)
    assert len(quick) == 2 * (2 + 2 * 8)  # scripted ones are not sampled
    assert quick[:4] == ["0 unchecked 0", "0 always 0", "0 sft-sampled 1", "0 sft-greedy 0"]
    sft = result["arms"]["sft"]
    assert (sft["sampled"]["n"], len(sft["sampled"]["seeds"])) == (2, 2)
    table = (tmp_path / "arms" / "tables.md").read_text()
    assert table.count("SFT + OR-GIGPO") == 2 * 2  # by the observation answered, and as printed
    assert table.count("all seeds have the same tasks") == 2


def test_a_training_that_stops_itself_is_told_and_the_others_go_on(quick: list[str], tmp_path: Path) -> None:
    result = run_arms(tmp_path / "arms", (0,), names=("without_sft", "grpo"))
    assert result["arms"]["without_sft"]["stopped"] == {"0": "No rollout of the last 4 groups has called a tool."}
    assert result["arms"]["without_sft"]["greedy"]["n"] == 1
    assert result["arms"]["grpo"]["stopped"] == {}


def test_a_folder_of_other_arms_and_bad_numbers_are_refused(quick: list[str], tmp_path: Path) -> None:
    run_arms(tmp_path / "arms", (0,), names=("sft",))
    run_arms(tmp_path / "arms", (0,), names=("sft", "grpo"))  # more arms of the same are welcome
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("Dear")
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / run.ABOUT).write_text('{"seeds": [0], "rates": [0.1]}')
    for problem, wrong in (
        ("a run of other seeds", lambda: run_arms(tmp_path / "arms", (1,))),
        ("holds other things", lambda: run_arms(tmp_path / "other", (1,))),
        ("cannot be read: choose a new folder", lambda: run_arms(tmp_path / "torn", (0,))),
        ("There is no arm 'best'", lambda: run_arms(tmp_path / "new", (0,), names=("best",))),
        ("a seed or more, each once", lambda: run_arms(tmp_path / "new", (0, 0))),
        ("--workers must be 1 or more", lambda: run_arms(tmp_path / "new", (0,), workers=0)),
        ("only by dirl, peria, last: the small policy works", lambda: run_tiny("evic", tmp_path / "new")),
        ("scale must be above 0", lambda: run_tiny("dirl", tmp_path / "new", scale=-1.0)),
    ):
        with pytest.raises(ToolError, match=problem) as caught:
            wrong()
        assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert not (tmp_path / "new").exists()


def test_a_folder_that_was_begun_with_other_constants_is_not_gone_on_with(
    quick: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run_arms(tmp_path / "arms", (0,), names=("sft",))
    done = list(quick)
    monkeypatch.setattr(run, "CONSTANTS", {**stages.CONSTANTS, "sft_dropout": 0.5})
    with pytest.raises(ToolError, match="a run of other constants") as caught:
        run_arms(tmp_path / "arms", (0,), names=("sft", "grpo"))
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert quick == done


def test_an_arm_keeps_its_learning_rate_and_another_is_added_with_its_own(
    quick: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "arms"
    run_arms(folder, (0,), names=("grpo",))
    faster = {name: replace(arm, rate=0.7) for name, arm in ARMS.items()}
    monkeypatch.setattr(run, "ARMS", faster)
    with pytest.raises(ToolError, match=r"a run of other learning rates \(grpo\)") as caught:
        run_arms(folder, (0,), names=("grpo", "or_gigpo"))
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert json.loads((folder / run.ABOUT).read_bytes())["rates"] == {"grpo": ARMS["grpo"].rate}
    run_arms(folder, (0,), names=("or_gigpo",))
    assert json.loads((folder / run.ABOUT).read_bytes())["rates"] == {"grpo": ARMS["grpo"].rate, "or_gigpo": 0.7}


# -- sizes ---------------------------------------------------------------------------------------------


def test_no_task_is_used_twice_and_evaluations_are_the_same_for_all() -> None:
    def seeds(use: str, seed: int, count: int) -> set[int]:
        return {int(task["seed"]) for task in tasks_for(use, seed, count)}

    sizes = Sizes()
    counts = {
        "careful": sizes.careful,
        "expert": sizes.expert,
        "rl": sizes.rl_iterations * sizes.rl_groups * sizes.rl_group,
    }
    of_all = [seeds(use, seed, count) for seed in range(3) for use, count in counts.items()]
    of_all.append(seeds("evaluation", 0, 400))
    assert all(not (one & other) for one, other in combinations(of_all, 2))
    assert tasks_for("evaluation", 0, 4) == tasks_for("evaluation", 5, 4)


def test_sizes_are_scaled_but_never_below_a_smoke() -> None:
    half = scaled(Sizes(), 0.5)
    assert (half.careful, half.rl_iterations) == (Sizes().careful // 2, Sizes().rl_iterations // 2)
    kept = {name: getattr(Sizes(), name) for name in ("rl_group", "rl_groups", "sft_wordings", "sft_epochs")}
    assert scaled(Sizes(), 1e-9) == replace(SMOKE, **kept)
    assert scaled(Sizes(), 1.0, evaluated=7) == replace(Sizes(), evaluated=7)
    with pytest.raises(ToolError, match="evaluated must be a whole number, 1 or more"):
        scaled(Sizes(), 1.0, evaluated=0)


def test_recipes_differ_in_their_stages() -> None:
    assert {name: (arm.stage1, arm.rl) for name, arm in OF_RECIPE.items()} == {
        "dirl": (True, "grpo"),
        "peria": (False, "or_gigpo"),
        "last": (False, "grpo"),
    }
    assert run.ARMS is ARMS


def test_or_gigpo_as_printed_is_an_arm_of_its_own_and_what_the_paper_s_recipe_has() -> None:
    printed, variant = ARMS["or_gigpo_printed"], ARMS["or_gigpo"]
    assert (printed.anchor, variant.anchor, OF_RECIPE["peria"].anchor) == ("returned", "answered", "returned")
    assert _suffix(printed) != _suffix(variant), "one would take the other's weights"
