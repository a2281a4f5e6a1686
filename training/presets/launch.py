"""The script that runs a preset's stages one after the other."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from toolhand.training.presets.models import ModelPreset
from toolhand.training.presets.sft_config import GPUS
from toolhand.training.recipes.recipe import TrainingRecipe
from toolhand.training.recipes.stages import RlStage, SftStage, TrainingStage

HEAD = """#!/usr/bin/env bash
# {paper} on {weights}: {titles}.
# Written by `toolhand train {recipe} --preset {preset}`; README.md says what has to be there.
#
#   bash launch.sh            all stages, one after the other
#   bash launch.sh {last}     only those that are named, of {names}
set -euo pipefail
cd "$(dirname "${{BASH_SOURCE[0]}}")"
export TOOLHAND_FOLDER="$PWD"
export TOOLHAND_GPUS="${{TOOLHAND_GPUS:-{gpus}}}"
export TOOLHAND_NODES="${{TOOLHAND_NODES:-1}}"
export VERL_USE_EXTERNAL_MODULES="${{VERL_USE_EXTERNAL_MODULES:-toolhand.training.adapters.on_verl_trainer}}"
MODEL="${{TOOLHAND_MODEL:-{weights}}}"
TOOLHAND="${{TOOLHAND:-toolhand}}"                     # where Toolhand is installed
VERL_PYTHON="${{VERL_PYTHON:-python}}"                 # where verl and Toolhand are
LLAMAFACTORY="${{LLAMAFACTORY:-llamafactory-cli}}"     # where LLaMA-Factory is
WORKERS="${{WORKERS:-8}}"                              # processes that make trajectories
"""

AFTER_RL = """
# The weights that verl wrote last, in the form of Hugging Face.
after_rl() {
  local step
  step="$(cat "checkpoints/$1/latest_checkpointed_iteration.txt")"
  echo "$TOOLHAND_FOLDER/checkpoints/$1/global_step_$step/actor/huggingface"
}
"""

TEACHING = """
# Trajectories of the scripted teachers, for all stages of SFT; a run that was ended goes on.
trajectories() {{
  "$TOOLHAND" data synth --recipe {recipe}{methods} --n "${{TRAJECTORIES:-{samples}}}" --seed {seed} \\
    --workers "$WORKERS" --out data/rollouts
}}
"""

EXPERT = """
# Trajectories of the expert: what {expert} trained is served on this machine and does the tasks that its tool answers;
# what it got right is kept. A run that was ended goes on.
EXPERT_PORT="${{EXPERT_PORT:-8765}}"
trajectories_of_expert() {{
  [ ! -e data/expert/sample.html ] || return 0
  local weights
  weights="$(after_rl {expert})"
  "$VERL_PYTHON" -m {server} "$weights" --served-model-name expert --host 127.0.0.1 --port "$EXPERT_PORT" &
  EXPERT=$!
  trap 'kill "$EXPERT" 2> /dev/null || true' EXIT
  until curl --silent --fail --output /dev/null "http://127.0.0.1:$EXPERT_PORT/v1/models"; do
    kill -0 "$EXPERT" 2> /dev/null || {{ echo "The server of the expert has ended." >&2; exit 1; }}
    sleep 2
  done
  "$TOOLHAND" data synth --recipe {recipe} --method {methods} \\
    --policy "openai:expert@http://127.0.0.1:$EXPERT_PORT/v1" \\
    --n "${{EXPERT_TRAJECTORIES:-{samples}}}" --seed {seed} --workers "$WORKERS" --out data/expert
  kill "$EXPERT"
  wait "$EXPERT" || true
  trap - EXIT
}}
"""
SERVERS = {"sglang": "sglang.launch_server --model-path", "vllm": "vllm.entrypoints.openai.api_server --model"}
"""Module that serves a model, and its option for the weights, by the name of what sampled in RL."""

SFT = """
{name}() {{  # {title}
  trajectories{more}
  [ -e data/{name}/manifest.json ] || "$TOOLHAND" data export --from {folders} --out data/{name} \\
    --format sharegpt --layout text --method {methods}
  FORCE_TORCHRUN=1 "$LLAMAFACTORY" train {name}.yaml model_name_or_path="{start}" \\
    gradient_accumulation_steps=$(({batch} > TOOLHAND_GPUS ? {batch} / TOOLHAND_GPUS : 1))
}}
"""

RL = """
{name}() {{  # {title}
  if [ {tasks} -lt {batch} ]; then
    echo "{name}: a step takes {batch} tasks and there are {tasks}: write the folder with --n {batch} or more." >&2
    exit 1
  fi
  TOOLHAND_START="{start}" \\
    "$VERL_PYTHON" -m verl.trainer.main_ppo --config-path "$TOOLHAND_FOLDER" --config-name {name}
}}
"""

TAIL = """
[ "$#" -gt 0 ] || set -- {names}
for stage in "$@"; do
  case "$stage" in
    {choices}) "$stage" ;;
    *) echo "There is no stage $stage, only {words}." >&2; exit 2 ;;
  esac
done
"""


def launch_script(recipe: TrainingRecipe, model: ModelPreset, tasks: Mapping[str, int], seed: int) -> str:
    """The script, for bash.

    Args:
        tasks: Tasks of each RL stage by its name, as they were written.
    """
    stages = recipe.training.stages
    names = [stage.name for stage in stages]
    text = HEAD.format(
        paper=recipe.paper,
        weights=model.weights,
        titles=", ".join(stage.title for stage in stages),
        recipe=recipe.name,
        preset=model.name,
        last=names[-1],
        names=", ".join(names),
        gpus=GPUS,
    )
    steps = "".join(_step(stage, start_of(stages, number), tasks) for number, stage in enumerate(stages))
    teaching = _teaching(recipe, seed)
    if "after_rl" in teaching + steps:
        text += AFTER_RL
    return text + teaching + steps + TAIL.format(names=" ".join(names), choices="|".join(names), words=", ".join(names))


def _teaching(recipe: TrainingRecipe, seed: int) -> str:
    """Who makes the trajectories for SFT: scripted teachers, and an expert where a stage has one."""
    taught = [stage for stage in recipe.training.stages if isinstance(stage, SftStage)]
    if not taught:
        return ""
    experts = [stage for stage in taught if stage.expert]
    own = sum(stage.samples.value - _of_expert(stage) for stage in taught)
    scripted = [name for stage in taught for name in stage.methods if name not in stage.expert_methods]
    methods = f" --method {' '.join(map(shlex.quote, scripted))}" if experts else ""
    text = TEACHING.format(recipe=recipe.name, methods=methods, samples=own, seed=seed)
    for stage in experts:
        (trained,) = (rl for rl in recipe.training.stages if isinstance(rl, RlStage) and rl.name == stage.expert)
        text += EXPERT.format(
            expert=stage.expert,
            server=SERVERS[trained.server.value],
            recipe=recipe.name,
            samples=_of_expert(stage),
            methods=" ".join(map(shlex.quote, stage.expert_methods)),
            seed=seed,
        )
    return text


def _of_expert(stage: SftStage) -> int:
    return 0 if stage.expert_samples is None else stage.expert_samples.value


def _step(stage: TrainingStage, start: str, tasks: Mapping[str, int]) -> str:
    if isinstance(stage, SftStage):
        return SFT.format(
            name=stage.name,
            title=stage.title,
            start=start,
            batch=stage.batch.value,
            more="\n  trajectories_of_expert" if stage.expert else "",
            folders="data/rollouts data/expert" if stage.expert else "data/rollouts",
            methods=" ".join(shlex.quote(name) for name in stage.methods),
        )
    return RL.format(name=stage.name, title=stage.title, start=start, batch=stage.batch.value, tasks=tasks[stage.name])


def start_of(stages: Sequence[TrainingStage], number: int) -> str:
    """The weights that a stage begins with, in the script's words.

    The first stage begins with the model, and so does SFT after RL: what went before is its teacher (DIRL).
    """
    if number == 0 or (isinstance(stages[number], SftStage) and not isinstance(stages[number - 1], SftStage)):
        return "$MODEL"
    before = stages[number - 1]
    if isinstance(before, SftStage):
        return f"$TOOLHAND_FOLDER/checkpoints/{before.name}"
    return f"$(after_rl {before.name})"
