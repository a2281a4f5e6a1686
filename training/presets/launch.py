"""The script that runs a preset's stages one after the other."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from training.presets.models import ModelPreset
from training.presets.sft_config import GPUS
from training.recipes.recipe import TrainingRecipe
from training.recipes.stages import SftStage, TrainingStage

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
export VERL_USE_EXTERNAL_MODULES="${{VERL_USE_EXTERNAL_MODULES:-training.adapters.on_verl_trainer}}"
MODEL="${{TOOLHAND_MODEL:-{weights}}}"
TOOLHAND="${{TOOLHAND:-toolhand}}"                     # where Toolhand is installed
VERL_PYTHON="${{VERL_PYTHON:-python}}"                 # where verl and Toolhand are
LLAMAFACTORY="${{LLAMAFACTORY:-llamafactory-cli}}"     # where LLaMA-Factory is
WORKERS="${{WORKERS:-8}}"                              # processes that make trajectories

# The weights that verl wrote last, in the form of Hugging Face.
after_rl() {{
  local step
  step="$(cat "checkpoints/$1/latest_checkpointed_iteration.txt")"
  echo "$TOOLHAND_FOLDER/checkpoints/$1/global_step_$step/actor/huggingface"
}}
"""

TEACHING = """
# Trajectories of the scripted teachers, for all stages of SFT; a run that was ended goes on.
trajectories() {{
  "$TOOLHAND" data synth --recipe {recipe} --n "${{TRAJECTORIES:-{samples}}}" --seed {seed} \\
    --workers "$WORKERS" --out data/rollouts
}}
"""

SFT = """
{name}() {{  # {title}
  trajectories
  [ -e data/{name}/manifest.json ] || "$TOOLHAND" data export --from data/rollouts --out data/{name} \\
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


def launch_script(recipe: TrainingRecipe, model: ModelPreset, tasks: int, seed: int) -> str:
    """The script, for bash.

    Args:
        recipe: Whose stages.
        model: That is trained.
        tasks: Of each stage of RL, as they were written.
        seed: Of the trajectories.
    """
    stages = recipe.training.stages
    names = [stage.name for stage in stages]
    text = HEAD.format(
        paper=recipe.paper, weights=model.weights, titles=", ".join(stage.title for stage in stages),
        recipe=recipe.name, preset=model.name, last=names[-1], names=", ".join(names), gpus=GPUS,
    )  # fmt: skip
    samples = sum(stage.samples.value for stage in stages if isinstance(stage, SftStage))
    if samples:
        text += TEACHING.format(recipe=recipe.name, samples=samples, seed=seed)
    for number, stage in enumerate(stages):
        text += _step(stage, start_of(stages, number), tasks)
    return text + TAIL.format(names=" ".join(names), choices="|".join(names), words=", ".join(names))


def _step(stage: TrainingStage, start: str, tasks: int) -> str:
    if isinstance(stage, SftStage):
        return SFT.format(
            name=stage.name, title=stage.title, start=start, batch=stage.batch.value,
            methods=" ".join(shlex.quote(name) for name in stage.methods),
        )  # fmt: skip
    return RL.format(name=stage.name, title=stage.title, start=start, batch=stage.batch.value, tasks=tasks)


def start_of(stages: Sequence[TrainingStage], number: int) -> str:
    """The weights that a stage begins with, in the script's words.

    The first stage begins with the model, and so does SFT after RL: what went before was its teacher (DIRL).
    """
    if number == 0 or (isinstance(stages[number], SftStage) and not isinstance(stages[number - 1], SftStage)):
        return "$MODEL"
    before = stages[number - 1]
    if isinstance(before, SftStage):
        return f"$TOOLHAND_FOLDER/checkpoints/{before.name}"
    return f"$(after_rl {before.name})"
