"""The preset smollm2: stages in order, gone on with where they were broken off, each failure in one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from toolhand.agent_node.policies import smollm2
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.adapters import smollm2_run
from toolhand.training.adapters.environments import engine_named
from toolhand.training.adapters.smollm2_run import ARMS, Smollm2Options, progress_line, run_smollm2
from toolhand.training.rollouts import comparison
from toolhand.training.rollouts.comparison import RolloutComparison

OPTIONS = Smollm2Options(n=5, wordings=2, epochs=1.5, rounds=1, seed=7)

ENGINE = """#!/bin/sh
echo "$2 $4" >> "$0.log"
case "$2" in
  *chat_rows) echo "10 rows, 99 tokens"; echo '{"input_ids": [1], "labels": [1]}' > "$5/rows.jsonl";;
  *rejection) cp "$3/settings.json" "$3/played.json"; echo '{"input_ids": [1], "labels": [1]}' > "$3/rows.jsonl";;
  toolhand) echo "$*" >> "$0.words";;
  *) if [ -f "$0.broken" ]; then . "$0.broken"; fi
     echo '{"step": 3, "of": 50, "loss": 0.5219}'; mkdir "$3/adapter";;
esac
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Python of TRL's environment that trains nothing, and a base."""
    monkeypatch.setattr(smollm2_run, "FOLDER", tmp_path / "engines")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    python = engine_named("trl").python(tmp_path / "engines")
    python.parent.mkdir(parents=True)
    python.write_text(ENGINE)
    python.chmod(0o755)
    (tmp_path / "engines" / "trl" / "made-of.txt").write_bytes(engine_named("trl").parts)
    smollm2.default_folder().mkdir(parents=True)
    (smollm2.default_folder() / "base.json").write_text("{}")
    return python


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Plans of which data was made."""
    plans: list[Any] = []

    def collect(plan: Any, folder: Path, workers: int, on_block: Callable[[int, int], None]) -> list[Any]:
        folder.mkdir(exist_ok=True)
        plans.append(plan)
        on_block(plan.n, 20)
        return []

    monkeypatch.setattr(smollm2_run, "collect_data", collect)
    return plans


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Plans and folders of the episodes that a teacher played, and whether Ctrl-C ends them."""
    found = SimpleNamespace(episodes=[], cancelled=False)

    def collect(plan: Any, folder: Path, pool: Any, progress: Any) -> Any:
        found.episodes.append((plan, folder))
        return found

    monkeypatch.setattr(smollm2_run, "collect", collect)
    return found


def called(engine: Path) -> list[str]:
    """Modules that were run, in order."""
    return [line.split()[0].rpartition(".")[2] for line in Path(f"{engine}.log").read_text().splitlines()]


def refusal(folder: Path, options: Smollm2Options = OPTIONS) -> ToolError:
    with pytest.raises(ToolError) as caught:
        run_smollm2(folder, options, lambda line: None)
    assert "\n" not in caught.value.message
    return caught.value


def test_a_command_goes_through_all_stages_and_says_where_it_is(engine, made, tmp_path):
    said: list[str] = []
    document = run_smollm2(tmp_path / "out", OPTIONS, said.append)
    assert called(engine) == ["chat_rows", "sft_on_trl", "grpo_on_trl"]
    assert (made[0].recipe, made[0].n, made[0].seed) == ("compact", 5, 7)
    assert document["adapter"] == str(tmp_path / "out" / "grpo" / "adapter")
    assert {"5 kept of 20 tasks", "10 rows, 99 tokens", "step 3 of 50, loss 0.522"} <= set(said)
    assert said[-1].endswith(f"--policy smollm2 --model.adapter {document['adapter']}")
    sft, grpo = (json.loads((tmp_path / "out" / name / "settings.json").read_text()) for name in ("sft", "grpo"))
    assert (sft["epochs"], sft["seed"], sft["report_to"]) == (1.5, 7, ["tensorboard"])
    assert (grpo["rounds"], grpo["adapter"]) == (1, str(tmp_path / "out" / "sft" / "adapter"))


def test_where_tools_err_a_teacher_plays_and_rl_goes_on_in_the_same_world(engine, made, played, tmp_path):
    said: list[str] = []
    run_smollm2(tmp_path / "out", replace(OPTIONS, world="erring:0.5", group_size=8), said.append)
    [(plan, folder)] = played.episodes
    assert (len(plan.tasks), plan.group_size, plan.policy, plan.world) == (5, 1, "careful:exploring", "erring:0.5")
    assert (folder, made) == (tmp_path / "out" / "data", [])
    grpo = json.loads((tmp_path / "out" / "grpo" / "settings.json").read_text())
    assert (grpo["world"], grpo["protocol"], grpo["timestep"]) == ("erring:0.5", plan.protocol, plan.timestep)
    assert (grpo["difficulty"], grpo["group_size"]) == (0.0, 8)
    assert "--protocol compact_checked" in said[-1]


def test_arms_go_on_from_the_same_adapter_on_as_many_episodes_and_are_tested_on_the_same_tasks(
    engine, played, tmp_path, monkeypatch
):
    found = RolloutComparison({}, [{"id": "a", "true_success": 1}], "a table")
    monkeypatch.setattr(comparison, "compare", lambda folders: found if len(folders) == 6 else None)
    out, said = tmp_path / "out", []
    asked = replace(OPTIONS, world="erring", rounds=2, group_size=3, arms=("grpo", "answer"), tests=0)
    run_smollm2(out, asked, said.append)
    run_smollm2(out, replace(asked, arms=tuple(ARMS), tests=6), said.append)
    settings = {arm: json.loads((out / arm / "settings.json").read_text()) for arm in ARMS}
    assert {each["adapter"] for each in settings.values()} == {str(out / "sft" / "adapter")}
    assert (settings["answer"]["reward"], settings["ideal"]["world"]) == ("mean", "")
    assert (
        settings["grpo"] == {**settings["answer"], "reward": "safe_stages"} == {**settings["ideal"], "world": "erring"}
    )
    own = json.loads((out / "rejection" / "played.json").read_text())
    assert {name: settings["grpo"][name] for name in own} == own, "the same tasks"
    assert [(len(plan.tasks), plan.seed) for plan, _ in played.episodes] == [(5, 7), (5, 7), (24, 100_007)]
    tests = Path(f"{engine}.words").read_text().splitlines()
    assert [words.rpartition(" ")[2] for words in tests] == [str(out / "tests" / arm) for arm in ("sft", *ARMS)]
    assert all("--split test --n 6 --seed 400" in words and "--world erring --protocol" in words for words in tests)
    assert ((out / "comparison.md").read_text(), (out / "outcomes.csv").read_text()) == (
        "a table\n",
        "id,true_success\na,1\n",
    )
    assert called(engine).count("grpo_on_trl") == 3, "what is finished is left alone"


def test_nothing_is_learned_of_what_ctrl_c_has_cut_short(engine, played, tmp_path):
    played.cancelled = True
    with pytest.raises(KeyboardInterrupt):
        run_smollm2(tmp_path / "out", replace(OPTIONS, world="erring"), lambda line: None)
    assert not (tmp_path / "out" / "sft").exists()


def test_a_stage_that_fails_is_told_in_a_sentence_and_the_same_command_goes_on(engine, made, tmp_path):
    broken, out = Path(f"{engine}.broken"), tmp_path / "out"
    broken.write_text("kill -9 $$")
    assert "sft_on_trl ended with status -9: it was killed, as the system does where memory" in refusal(out).message
    broken.write_text('echo noise >&2; echo "UNAVAILABLE: no room" >&2; exit 3')
    error = refusal(out)
    assert error.code is ErrorCode.UNAVAILABLE
    assert "sft_on_trl ended with status 3: UNAVAILABLE: no room" in error.message
    assert "errors.txt has all that it said" in str(error)
    broken.unlink()
    assert refusal(out, replace(OPTIONS, n=6)).message == f"{out} was begun with another n (5)."
    alone = replace(OPTIONS, report_to="none", workers=1)
    run_smollm2(out, alone, lambda line: None)
    assert called(engine) == ["chat_rows", "sft_on_trl", "sft_on_trl", "sft_on_trl", "grpo_on_trl"]
    assert json.loads((out / "sft" / "settings.json").read_text())["report_to"] == []
    run_smollm2(out, alone, lambda line: None)
    assert len(called(engine)) == 5, "what is finished is left alone"


def test_what_is_missing_is_told_with_the_command_that_makes_it(engine, made, tmp_path):
    (smollm2.default_folder() / "base.json").unlink()
    assert "toolhand models fetch smollm2" in str(refusal(tmp_path / "out"))
    (tmp_path / "engines" / "trl" / "made-of.txt").write_text("older")
    error = refusal(tmp_path / "out")
    assert (error.code, "toolhand engines make trl" in str(error)) == (ErrorCode.UNAVAILABLE, True)
    assert not (tmp_path / "out").exists()
    assert not made


def test_a_folder_of_something_else_is_left_alone(engine, made, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    assert refusal(tmp_path).code is ErrorCode.INVALID_ARGUMENT
    (tmp_path / "run.json").write_text("[]")
    assert "cannot be read" in refusal(tmp_path).message
    assert not made


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"n": 0}, "--n must be 1 or more"),
        ({"epochs": 0.0}, "--epochs must"),
        ({"minutes": -1.0}, "--minutes must"),
        ({"updates": 3}, "updates must divide the 16 rollouts of a round, got 3"),
        ({"arms": ("ppo",)}, "There is no arm 'ppo', only grpo, answer, ideal, rejection, more"),
    ],
)
def test_numbers_that_mean_nothing_are_refused(options, why):
    with pytest.raises(ToolError, match=why) as caught:
        Smollm2Options(**options)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT


def test_a_line_that_is_no_log_is_shown_as_it_is():
    assert progress_line("hello\n") == "hello"
    assert progress_line('{"step": 1, "of": 2, "reward": 0.25}') == "step 1 of 2, reward 0.25"
    assert progress_line("3") == "3"
    assert progress_line('{"step": 2, "of": 2, "train_runtime": 9.5}') == progress_line("{'loss': '3.07'}\n") == ""
