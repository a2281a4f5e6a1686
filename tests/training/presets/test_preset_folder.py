"""The folder of a preset: what is in it, that it is whole or not there, and that its script calls what it should."""

from __future__ import annotations

import errno
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from toolhand.agent_node.protocol import load_protocol
from toolhand.tool_nodes.plain_yaml import load
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.adapters.episodes import Episodes
from toolhand.training.data.arrow import parquet
from toolhand.training.presets import folder as folders
from toolhand.training.presets.folder import StageWorld, WrittenPreset, plan_of, write_preset
from toolhand.training.presets.models import MODELS
from toolhand.training.presets.prompts import prompts_of
from toolhand.training.presets.texts import agent_document, inline, launch_script, readme, sft_text, verl_text
from toolhand.training.recipes import RECIPES
from toolhand.training.recipes.stages import RlStage

EXPERT_WEIGHTS = "checkpoints/phase_1_irl/global_step_40/actor/huggingface"
FILES = {"train": ["data/a.parquet"], "validation": ["data/b.parquet"]}

# Keys of verl 0.9.1, trainer/config/ppo_trainer.yaml with its defaults; those of or_gigpo_sync are ours.
VERL = {
    "data": "train_files val_files train_batch_size max_prompt_length max_response_length filter_overlong_prompts "
    "image_patch_size seed",
    "actor_rollout_ref.model": "path",
    "actor_rollout_ref.actor": "ppo_mini_batch_size ppo_micro_batch_size_per_gpu clip_ratio clip_ratio_low "
    "clip_ratio_high entropy_coeff use_kl_loss kl_loss_coef freeze_vision_tower",
    "actor_rollout_ref.actor.optim": "lr lr_scheduler_type lr_warmup_steps_ratio min_lr_ratio",
    "actor_rollout_ref.actor.checkpoint": "save_contents",
    "actor_rollout_ref.ref": "log_prob_micro_batch_size_per_gpu",
    "actor_rollout_ref.rollout": "name n temperature top_p top_k log_prob_micro_batch_size_per_gpu "
    "tensor_model_parallel_size",
    "actor_rollout_ref.rollout.multi_turn": "enable max_assistant_turns",
    "actor_rollout_ref.rollout.agent": "default_agent_loop agent_loop_config_path",
    "algorithm": "adv_estimator use_kl_in_reward",
    "trainer": "project_name experiment_name default_local_dir logger total_epochs total_training_steps "
    "n_gpus_per_node nnodes save_freq test_freq val_before_train",
    "trainer.v1": "trainer_mode",
    "trainer.v1.or_gigpo_sync": "omega gamma delta epsilon anchor",
}
# Fields of LLaMA-Factory 0.9.5 and of the transformers' arguments that it takes.
LLAMA_FACTORY = """model_name_or_path stage do_train finetuning_type freeze_vision_tower deepspeed dataset dataset_dir
freeze_multi_modal_projector media_dir template cutoff_len output_dir per_device_train_batch_size learning_rate bf16
gradient_accumulation_steps num_train_epochs lr_scheduler_type warmup_ratio weight_decay seed logging_steps
save_strategy report_to"""
PAIRS = [(recipe, model) for recipe in RECIPES.values() for model in MODELS.values()]
IDS = [f"{recipe.name}-{model.name}" for recipe, model in PAIRS]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> WrittenPreset:
    """PERIA for its own model: its tasks are drawn, and quickly made."""
    return write_preset("peria", "qwen3-vl-8b", tmp_path_factory.mktemp("presets") / "folder", n=(2,))


SFT_NUMBERS = {
    "cutoff_len": "max_tokens",
    "learning_rate": "learning_rate",
    "num_train_epochs": "epochs",
    "lr_scheduler_type": "schedule",
    "warmup_ratio": "warmup_ratio",
    "weight_decay": "weight_decay",
}
VERL_NUMBERS = {
    "data.train_batch_size": "batch",
    "data.max_prompt_length": "max_prompt",
    "data.max_response_length": "max_response",
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": "micro_batch",
    "actor_rollout_ref.actor.clip_ratio_low": "clip",
    "actor_rollout_ref.actor.entropy_coeff": "entropy_coef",
    "actor_rollout_ref.actor.kl_loss_coef": "kl_coef",
    "actor_rollout_ref.actor.optim.lr": "learning_rate",
    "actor_rollout_ref.rollout.n": "group_size",
    "actor_rollout_ref.rollout.temperature": "temperature",
    "actor_rollout_ref.rollout.multi_turn.max_assistant_turns": "turns",
    "trainer.total_epochs": "epochs",
}
"""Keys of a file and the numbers of a stage that they hold."""


def flat(document: dict[str, Any], before: str = "") -> dict[str, Any]:
    found = {}
    for key, value in document.items():
        found |= flat(value, f"{before}{key}.") if isinstance(value, dict) else {f"{before}{key}": value}
    return found


@pytest.mark.parametrize(("recipe", "model"), PAIRS, ids=IDS)
def test_engines_know_every_key_and_yaml_keeps_every_value(recipe: Any, model: Any) -> None:
    known = {f"{section}.{name}" for section, names in VERL.items() for name in names.split()}
    for stage in recipe.training.stages:
        if isinstance(stage, RlStage):
            text = verl_text(recipe, stage, model, FILES, seed=3)
            document = yaml.safe_load(text)
            numbers = VERL_NUMBERS
            assert set(flat({key: document[key] for key in document.keys() - {"hydra", "defaults"}})) <= known
        else:
            text = sft_text(recipe, stage, model, seed=3)
            document = yaml.safe_load(text)
            numbers = SFT_NUMBERS
            assert set(document) <= set(re.findall(r"\w+", LLAMA_FACTORY))
        assert load(text) == document
        assert {key: flat(document)[key] for key in numbers} == {
            key: getattr(stage, name).value for key, name in numbers.items()
        }


@pytest.mark.parametrize("value", [1e-6, 1.5e-7, 0.1, 1e-4, 0.0, 3, True, "cosine", ["a", "b"]])
def test_numbers_are_numbers_for_yaml_as_old_as_1_1(value: Any) -> None:
    assert yaml.safe_load(inline(value)) == value


def test_the_folder_has_what_its_page_says(written: WrittenPreset) -> None:
    page = (written.folder / "README.md").read_text()
    assert set(written.files) >= {"README.md", "launch.sh", "numbers.json", "tools.yaml", "sft.yaml", "rl.yaml"}
    for name in re.findall(r"`([\w.]+\.(?:yaml|json|sh))`", page):
        assert (written.folder / name).exists(), name
    assert "The paper trained this very model" in page
    assert "was tried on a GPU" in page
    numbers = json.loads((written.folder / "numbers.json").read_text())
    assert [stage["method"] for stage in numbers["stages"]] == ["SFT", "OR-GIGPO"]
    assert numbers["stages"][1]["numbers"]["delta"] == {"value": 0.9, "source": "Table 5", "given": True}
    for name in numbers["stages"][1]["numbers"]:
        assert f"\n| {name} | " in page
    assert not list(written.folder.parent.glob(".*.part"))


def test_rows_hold_the_task_its_image_and_the_papers_prompt(written: WrittenPreset) -> None:
    (file,) = (written.folder / "data/rl/train/data").iterdir()
    columns = ("data_source", "agent_name", "prompt", "images", "reward_model", "extra_info")
    rows = parquet().read_table(file, columns=list(columns)).to_pylist()
    assert len(rows) == written.tasks["rl"][0] == 2
    assert not [name for name in written.files if name.endswith(".png")], "each picture is there once"
    assert written.tasks["rl"][1] == 1
    for row in rows:
        assert (row["agent_name"], row["data_source"]) == ("toolhand", "toolhand/peria")
        assert [message["role"] for message in row["prompt"]] == ["system", "user"]
        words = "".join(message["content"] for message in row["prompt"])
        assert "You must strictly adhere to the following protocol" in words  # PERIA, figure 5
        assert words.count("<image>") == len(row["images"]) == 1
        assert row["images"][0]["bytes"].startswith(b"\x89PNG")
        task = json.loads(row["extra_info"]["task"])
        assert set(task) == {"kind", "seed", "split", "version"}
        assert task["kind"] in RECIPES["peria"].kinds
    trainer = yaml.safe_load((written.folder / "rl.yaml").read_text())["data"]["train_files"]
    assert [name.replace("${oc.env:TOOLHAND_FOLDER}", str(written.folder)) for name in trainer] == [str(file)]


def test_tools_are_those_of_the_suite_with_whole_schemas(written: WrittenPreset) -> None:
    tools = yaml.safe_load((written.folder / "tools.yaml").read_text())["tools"]
    assert len(tools) == 18  # PERIA, Table 7
    schemas = {tool["config"]["schema"]["function"]["name"]: tool["config"]["schema"] for tool in tools}
    assert {"draw_path", "text_spotting", "image_crop", "map_text_ocr"} <= set(schemas)
    assert "image_index" in schemas["image_crop"]["function"]["parameters"]["properties"]


def test_nothing_in_the_folder_is_of_this_machine(written: WrittenPreset) -> None:
    for name in written.files:
        if not name.endswith((".png", ".parquet")):
            text = (written.folder / name).read_text()
            assert str(written.folder.parent) not in text
            assert not re.search(r"(?<![\w$}.:/<\"])/(?:home|work|tmp|root|opt|Users)/", text), name


def test_a_seed_decides_every_byte_however_many_workers_there_are(written: WrittenPreset, tmp_path: Path) -> None:
    again = write_preset("peria", "qwen3-vl-8b", tmp_path / "again", n=(2,), workers=2)
    assert again.files == written.files
    assert all((again.folder / name).read_bytes() == (written.folder / name).read_bytes() for name in written.files)


# -- bad input -------------------------------------------------------------------------------------


def refused(code: ErrorCode, *arguments: Any, **more: Any) -> str:
    with pytest.raises(ToolError) as caught:
        write_preset(*arguments, **more)
    assert caught.value.code is code
    return str(caught.value)


def test_bad_input_is_one_sentence_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    bad = ErrorCode.INVALID_ARGUMENT
    assert "There is no recipe 'gpt', only dirl" in refused(bad, "gpt", "qwen2.5-vl-3b", out)
    known = "smollm2, qwen2.5-vl-3b, qwen3-vl-8b"
    assert f"There is no preset 'gpt', only {known}." in refused(bad, "dirl", "gpt", out)
    assert "1 task or more" in refused(bad, "dirl", "qwen2.5-vl-3b", out, n=(0,))
    assert "for each of phase_1_irl, phase_2_irl, got 1 2 3" in refused(bad, "dirl", "qwen2.5-vl-3b", out, n=(1, 2, 3))
    assert "The seed must be from 0" in refused(bad, "dirl", "qwen2.5-vl-3b", out, seed=-1)
    assert "workers 1 or more" in refused(bad, "dirl", "qwen2.5-vl-3b", out, workers=0)
    nowhere = StageWorld(world="flat")
    assert "There is no world 'flat'" in refused(bad, "dirl", "qwen2.5-vl-3b", out, where=nowhere)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("mine")
    for there, such in ((tmp_path / "full", ", such as letter.txt"), (tmp_path / "full" / "letter.txt", "")):
        why = f"{there} holds something already{such}, and nothing is replaced."
        assert why in refused(bad, "dirl", "qwen2.5-vl-3b", there)

    def full_disk(folder: Path, name: str, text: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(folders, "_write", full_disk)
    assert "No space left" in refused(ErrorCode.UNAVAILABLE, "last", "qwen2.5-vl-3b", out, n=(1,))
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert "pyarrow" in refused(ErrorCode.UNAVAILABLE, "dirl", "qwen2.5-vl-3b", out)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["full", "letter.txt"]


# -- the script ------------------------------------------------------------------------------------

STAND_IN = """#!/usr/bin/env bash
echo "$(basename "$0") start=${TOOLHAND_START:-} $*" >> "$LOG"
case "$*" in *launch_server*) exec sleep 60 ;; esac
case "$*" in
  *--config-name*)
    name="${@: -1}"
    mkdir -p "checkpoints/$name"
    echo 40 > "checkpoints/$name/latest_checkpointed_iteration.txt" ;;
esac
"""


def launched(recipe: str, tasks: int, folder: Path, *stages: str) -> tuple[int, str, list[str]]:
    """Exit status, stderr, and what the script called, with stand-ins for the engines."""
    (folder / "launch.sh").write_text(
        launch_script(
            RECIPES[recipe],
            MODELS["qwen2.5-vl-3b"],
            {stage.name: tasks for stage in RECIPES[recipe].training.stages},
            seed=5,
        )
    )
    environment = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "LOG": str(folder / "log")}
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / "curl").write_text('#!/bin/sh\nexec grep -q launch_server "$LOG"\n')
    (folder / "bin" / "curl").chmod(0o755)
    for variable in ("TOOLHAND", "VERL_PYTHON", "LLAMAFACTORY"):
        stand_in = folder / variable.lower()
        stand_in.write_text(STAND_IN)
        stand_in.chmod(0o755)
        environment[variable] = str(stand_in)
    done = subprocess.run(
        ["bash", "launch.sh", *stages], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )
    log = (folder / "log").read_text() if (folder / "log").exists() else ""
    return done.returncode, done.stderr, log.replace(str(folder), "FOLDER").splitlines()


def test_each_stage_begins_with_what_the_one_before_left(tmp_path: Path) -> None:
    status, complaint, calls = launched("dirl", 64, tmp_path)
    assert (status, complaint) == (0, "")
    first, synth, *served, export, sft, second = calls
    assert first.startswith("verl_python start=Qwen/Qwen2.5-VL-3B-Instruct -m verl.trainer.main_ppo")
    assert "data synth --recipe dirl --method tools robot --n 6000 --seed 5" in synth
    server, expert = sorted(served, key=lambda call: "launch_server" not in call)  # they run beside each other
    assert f"launch_server --model-path FOLDER/{EXPERT_WEIGHTS} --served-model-name expert --host 127.0.0.1" in server
    assert "data synth --recipe dirl --method points --policy openai:expert@http://127.0.0.1:8765/v1 --n 2000" in expert
    assert "data export --from data/rollouts data/expert --out data/phase_1_sft" in export
    assert "--format sharegpt --layout text --method points tools robot" in export
    assert "phase_1_sft.yaml model_name_or_path=Qwen/Qwen2.5-VL-3B-Instruct gradient_accumulation_steps=1" in sft
    assert second.startswith("verl_python start=FOLDER/checkpoints/phase_1_sft ")
    assert second.endswith("--config-path FOLDER --config-name phase_2_irl")


def test_the_server_of_the_expert_ends_with_its_work_and_what_it_made_is_not_made_again(tmp_path: Path) -> None:
    launched("dirl", 64, tmp_path)
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(tmp_path) not in running
    (tmp_path / "data" / "expert").mkdir(parents=True)
    (tmp_path / "data" / "expert" / "sample.html").write_text("done")
    calls = launched("dirl", 64, tmp_path, "phase_1_sft")[2]
    assert sum("launch_server" in call for call in calls) == 1


@pytest.mark.parametrize("recipe", ["peria", "evic", "last"])
def test_only_a_script_that_goes_on_from_rl_knows_where_its_weights_lie(recipe: str) -> None:
    tasks = {stage.name: 64 for stage in RECIPES[recipe].training.stages}
    assert "after_rl" not in launch_script(RECIPES[recipe], MODELS["qwen3-vl-8b"], tasks, seed=0)


def test_the_expert_is_offered_the_pointing_tool_alone_under_a_prompt_with_two_examples() -> None:
    expert, _, whole = RECIPES["dirl"].training.stages
    assert isinstance(expert, RlStage)
    assert isinstance(whole, RlStage)
    plan = plan_of(RECIPES["dirl"], expert, 2, 0, "train", StageWorld(difficulty=0.0))
    (first, _) = prompts_of(plan)
    system = first.messages[0][1]
    tools = re.findall(r'"function": {"name": "([^"]+)"', system)
    assert sorted(tools) == ["roborefer.detect_all", "roborefer.detect_one"]
    assert system.startswith(load_protocol("spacetools").system.partition("<tools>")[0]), "figure 3, word by word"
    assert (system.count("Example 1"), system.count("Example 2")) == (1, 1)
    (loop,) = agent_document(plan, RECIPES["dirl"], expert)
    assert (loop["settings"]["suites"], loop["settings"]["protocol"]) == (["pointing"], "spacetools_pointing")
    settings = agent_document(plan_of(RECIPES["dirl"], whole, 2, 0, "train"), RECIPES["dirl"], whole)[0]["settings"]
    assert (settings["suites"], settings["protocol"], settings["difficulty"]) == (["spacetools"], "spacetools", 0.4)
    assert Episodes(settings).protocol.name == "spacetools", "the adapter takes what the preset writes"


def test_stages_of_fine_tuning_follow_each_other_and_one_can_be_named(tmp_path: Path) -> None:
    _, _, calls = launched("last", 64, tmp_path)
    assert "--n 22000" in calls[0]  # 6,000 and 16,000: LAST, section 3.2
    assert [call.split("--method ")[1] for call in calls if "--method" in call] == ["views", "checked failing"]
    assert "sft.yaml model_name_or_path=FOLDER/checkpoints/warm_up gradient_accumulation_steps=8" in calls[5]
    assert calls[-1].startswith("verl_python start=FOLDER/checkpoints/sft ")
    assert len(launched("last", 64, tmp_path, "irl")[2]) == len(calls) + 1


def test_a_folder_with_fewer_tasks_than_a_step_takes_is_not_trained_on(tmp_path: Path) -> None:
    status, complaint, calls = launched("evic", 127, tmp_path)
    assert (status, calls) == (1, [])
    assert "a step takes 128 tasks and there are 127" in complaint
    status, complaint, _ = launched("evic", 127, tmp_path, "warm_up")
    assert (status, complaint) == (2, "There is no stage warm_up, only rl.\n")


@pytest.mark.parametrize(("recipe", "model"), PAIRS, ids=IDS)
def test_every_page_says_whose_numbers_it_has(recipe: Any, model: Any) -> None:
    page = readme(recipe, model, "toolhand train")
    assert ("gives no numbers for" in page) != model.trained_by(recipe)
    assert not re.search(r"\{\w+\}", page)
