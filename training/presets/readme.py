"""What a preset's folder says about itself."""

from __future__ import annotations

from toolhand.training.presets.models import ModelPreset, short
from toolhand.training.recipes.recipe import TrainingRecipe
from toolhand.training.recipes.stages import RlStage, SftStage, TrainingStage

PAGE = """# {paper} on {model}

Written by `{command}`.

{whose}

**Nothing here was tried on a GPU.** The files of verl are checked against the keys of verl 0.9.1, those of SFT against
the fields of LLaMA-Factory 0.9.5, and the script's syntax by bash; no step of training has been run.

## What has to be there

- GPUs: the paper used {gpus}. The files are for 8 on one machine; `TOOLHAND_GPUS` and `TOOLHAND_NODES` change that.
  Memory was not measured. The tools are Toolhand's simulator and run on the processors of the same machine.
- The weights {weights}, from the Hugging Face hub, or a folder in `TOOLHAND_MODEL`.
- `toolhand` with its extra `data` (`TOOLHAND`){engines}. Engines exclude each other's packages: an environment each.

    bash launch.sh            # all stages
    bash launch.sh {last}     # one of them

{engine}

## Files

| file | what it is |
|---|---|
{files}
| `tools.yaml` | schemas of the {suites} tools, for verl's own tool loop; else they stand in the system prompt |
| `numbers.json` | every number below, for programs |

## Numbers

{tables}
{notes}"""

NOT_PAPERS = {
    "dirl": (
        "- The two tool-use examples in the expert's prompt (D.1) are this project's own: the paper prints none.",
        "- Trajectories of teachers with all tools come from scripts in place of Claude Sonnet 4.5.",
        "- Phase-1 SFT in `launch.sh` serves the weights of Phase-1 IRL on 127.0.0.1 (`EXPERT_PORT`) and needs `curl`; "
        "`EXPERT_TRAJECTORIES` and `TRAJECTORIES` set how many are kept.",
        "- The paper froze vision encoder and projector. verl 0.9.1 takes `freeze_vision_tower` and reads it nowhere.",
    ),
    "peria": (
        "- Trajectories for SFT come from a scripted teacher in place of GPT-5, and no second model rewrites them.",
        "- The paper trained with VerL-Tool; here it is verl's trainer V1 with `toolhand.training.adapters`.",
        "- The tasks are drawn maps and shelves and the simulator's table; the paper's are seven public sets.",
        "- max_observation is not enforced: what tools bring here is shorter.",
    ),
    "evic": (
        "- Eq. 4 sums over the tokens of a rollout; verl's default, the mean over all tokens of a batch, is kept.",
    ),
    "last": (
        "- The paper trained with ms-swift; these are files for LLaMA-Factory and verl with the same numbers.",
        "- Trajectories come from scripted teachers in place of Qwen-VL-Plus and GPT-4o.",
    ),
}
"""What differs from the paper, by recipe."""


def readme(recipe: TrainingRecipe, model: ModelPreset, command: str) -> str:
    """The page, Markdown; `command` writes the folder again."""
    training = recipe.training
    kinds = {type(stage) for stage in training.stages}
    engines = [
        text
        for kind, text in ((SftStage, "LLaMA-Factory 0.9.5 (`LLAMAFACTORY`)"), (RlStage, "verl 0.9.1 (`VERL_PYTHON`)"))
        if kind in kinds
    ]
    return PAGE.format(
        paper=recipe.paper,
        model=short(model.weights),
        weights=model.weights,
        command=command,
        whose=_whose(recipe, model),
        gpus=_sourced(training.gpus.value, training.gpus.source),
        engines="".join(f", {text}" for text in engines),
        last=training.stages[-1].name,
        engine=f"The paper used {training.engines.value} ({training.engines.source}).",
        files="\n".join(line for stage in training.stages for line in _files(stage)),
        suites=" and ".join(recipe.suites),
        tables="\n".join(_table(recipe, model, stage) for stage in training.stages),
        notes="\n".join(("## What differs from the paper", "", *NOT_PAPERS[recipe.name], "")),
    )


def _whose(recipe: TrainingRecipe, model: ModelPreset) -> str:
    trained = ", ".join(short(name) for name in recipe.training.models)
    if model.trained_by(recipe):
        return "The paper trained this very model, and the numbers below are its own."
    return (
        f"The paper trained {trained} and gives no numbers for {short(model.weights)}. Those of its own model are "
        "taken over unchanged: chosen by hand, and tuned for nothing."
    )


def _files(stage: TrainingStage) -> list[str]:
    if isinstance(stage, SftStage):
        return [
            f"| `{stage.name}.yaml`, `deepspeed.json` | {stage.title}, for LLaMA-Factory |",
            f"| `data/{stage.name}` | its trajectories; made by `launch.sh`, not there yet |",
        ]
    return [
        f"| `{stage.name}.yaml` | {stage.title}, for verl |",
        f"| `{stage.name}.agent.yaml` | its episodes, for verl's agent loops |",
        f"| `data/{stage.name}/train`, `data/{stage.name}/validation` | its tasks as prompts: Parquet with pictures |",
    ]


def _table(recipe: TrainingRecipe, model: ModelPreset, stage: TrainingStage) -> str:
    method = "SFT" if isinstance(stage, SftStage) else stage.algorithm
    rows = [f"| {name} | {number.value} | {model.source(recipe, number)} |" for name, number in stage.numbers()]
    return "\n".join((f"### {stage.title} ({method})", "", "| number | value | source |", "|---|---|---|", *rows, ""))


def _sourced(value: str, source: str) -> str:
    return f"{value} ({source})"
