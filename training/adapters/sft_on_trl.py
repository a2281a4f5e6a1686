"""Supervised fine-tuning of a LoRA adapter by TRL's SFTTrainer and peft, on a processor or a GPU.

    .engines/trl/bin/python -m toolhand.training.adapters.sft_on_trl FOLDER

FOLDER/settings.json   a document of `LoraSettings`
FOLDER/rows.jsonl      {"input_ids": [...], "labels": [...]} a conversation; -100 is not learned
FOLDER/data.json       what the rows are made of, where it is noted: {"conversations": ...}
FOLDER/checkpoints/    written every so many steps: the same command goes on from the last one, to the same numbers
FOLDER/events/         curves, for TensorBoard
FOLDER/log.jsonl       what was logged, one step a line
FOLDER/adapter/        adapter_model.safetensors and adapter_config.json, in half precision: written last, and whole

This runs in the environment of the engine (`toolhand engines make trl`), and so imports nothing that it does not have.
"""

from __future__ import annotations

import json
import math
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, overload

from toolhand.agent_node.policies.adapters import base_of, write_base
from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.files import NOTES_BYTES, read_file, read_lines, write_whole
from toolhand.tool_nodes.results import invalid
from toolhand.training.adapters.environments import require_engine, run_stage

SETTINGS, ROWS, LOG, DATA = "settings.json", "rows.jsonl", "log.jsonl", "data.json"
Settings = TypeVar("Settings")
CHECKPOINTS, EVENTS, ADAPTER = "checkpoints", "events", "adapter"
NOT_LEARNED = -100
"""Label of a token that is read alone, as everywhere in transformers."""
_ROUNDED = 64
"""Rows are filled up to a multiple of so many tokens [-]: each new length costs a processor memory that stays."""
_LONGEST_ROW = 1_000_000
"""Longest line of the rows [bytes]: 8,192 tokens are about 100,000."""


@dataclass(frozen=True)
class LoraSettings:
    """How an adapter is trained.

    Attributes:
        model: Folder of the base model.
        adapter: Folder of an adapter that goes on; a new one where it is empty.
        rank: Rank of the adapter; its scale is twice that.
        learning_rate: Highest rate of AdamW; it rises over the first twentieth of the steps and falls as a cosine.
        epochs: Times that each conversation is seen.
        batch: Conversations of a step.
        micro_batch: Conversations that a processor computes at once, where the batch is a multiple; a GPU takes all.
        seed: Seed of the adapter's first weights and of the order.
        save_steps: Steps between two checkpoints.
        first_token: Weight of the first token of each of the policy's turns in the loss, of 1 of all others: it chooses
            the tool, and is one in a turn.
        minutes: Wall time after which the training ends wherever it is, as the schedule has it then; None: never.
        report_to: Where TRL sends its curves beside the log: tensorboard, wandb ...
        bf16: Products are computed in bfloat16, weights kept as they are.
    """

    model: str
    adapter: str = ""
    rank: int = 8
    learning_rate: float = 1e-3
    epochs: float = 1.0
    batch: int = 4
    micro_batch: int = 2
    seed: int = 0
    save_steps: int = 20
    first_token: float = 10.0
    minutes: float | None = None
    report_to: tuple[str, ...] = ("tensorboard",)
    bf16: bool = False


def train_adapter(folder: Path) -> Path:
    """Train what a folder describes; returns the folder of the adapter, which is left alone where it is there.

    Raises:
        ToolError: UNAVAILABLE where this Python lacks TRL; INVALID_ARGUMENT where a file of the folder is bad.
    """
    adapter = folder / ADAPTER
    if adapter.is_dir():
        return adapter
    settings, rows = read_settings(folder), read_rows(folder)
    with require_engine("trl"):
        import torch
        from datasets import Dataset
        from peft import LoraConfig, PeftModel
        from transformers import AutoTokenizer, set_seed
        from trl import SFTConfig, SFTTrainer

    set_seed(settings.seed)
    tokenizer = AutoTokenizer.from_pretrained(settings.model)
    model: Any = base_model(settings.model)
    at_once = settings.batch if torch.cuda.is_available() else math.gcd(settings.batch, settings.micro_batch)
    arguments = SFTConfig(
        **arguments_of(folder, settings),
        per_device_train_batch_size=at_once,
        gradient_accumulation_steps=settings.batch // at_once,
        num_train_epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=0.05,
        max_length=None,
        pad_to_multiple_of=_ROUNDED,
        train_sampling_strategy="random",  # by length, the shortest rows, which are all picks, would be learned last
        dataloader_num_workers=0,
    )
    lora = LoraConfig(
        r=settings.rank,
        lora_alpha=2 * settings.rank,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )

    class Trainer(SFTTrainer):
        """With weights of tokens, and their part of the loss in the log."""

        def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **more: Any) -> Any:
            """See SFTTrainer."""
            learned = inputs["labels"][:, 1:] != NOT_LEARNED
            logits = logits_of(self.accelerator, model, inputs["input_ids"], inputs["attention_mask"], learned)
            losses = torch.nn.functional.cross_entropy(logits, inputs["labels"][:, 1:][learned], reduction="none")
            begins = first_tokens(inputs["labels"])[learned]
            given = more.get("num_items_in_batch")
            count = learned.sum() if given is None else given
            chosen = losses.detach()[begins].sum() / begins.sum().clamp(min=1)
            self._metrics["train" if model.training else "eval"]["first_token_loss"].append(chosen.item())
            loss = (losses * (1 + (settings.first_token - 1) * begins)).sum() / count
            return (loss, {"logits": logits}) if return_outputs else loss

    if settings.adapter:
        model = PeftModel.from_pretrained(model, settings.adapter, is_trainable=True)
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        peft_config=None if settings.adapter else lora,
        callbacks=callbacks(folder, settings.minutes),
    )
    return trained(trainer, settings.model, folder)


def logits_of(accelerator: Any, model: Any, ids: Any, seen: Any, learned: Any) -> Any:
    """Logits (n, vocabulary) of those n next tokens that are learned, in their order.

    Most tokens are only read: a row of the vocabulary for each of them would cost more than all layers. And causal
    attention needs no mask where all tokens of a row stand in front of what fills it up: without one its memory grows
    with the tokens and not with their square. Of 2,400 tokens a step takes 4.7 GB instead of 14.4.

    Args:
        accelerator: The trainer's.
        model: With an adapter of peft.
        ids, seen: (rows, tokens), tokens and which of them are there.
        learned: Bools (rows, tokens - 1).
    """
    base = accelerator.unwrap_model(model).get_base_model()
    in_front = seen.argsort(dim=1, descending=True, stable=True)
    with accelerator.autocast():
        hidden = base.model(input_ids=ids.gather(1, in_front), use_cache=False).last_hidden_state
        rows, places = learned.nonzero(as_tuple=True)
        return base.lm_head(hidden[rows, in_front.argsort(dim=1)[rows, places]]).float()


def base_model(name: str) -> Any:
    """The base of a training, in single precision."""
    import torch
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32, use_safetensors=True)


def arguments_of(folder: Path, settings: Any) -> dict[str, Any]:
    """Arguments of any trainer of TRL that trains in a folder; its curves go there, too.

    Args:
        settings: Has save_steps, report_to, bf16 and seed.
    """
    import torch

    os.environ["TENSORBOARD_LOGGING_DIR"] = str(folder / EVENTS)
    return {
        "output_dir": str(folder / CHECKPOINTS),
        "logging_steps": 1,
        "save_steps": settings.save_steps,
        "save_total_limit": 1,
        "gradient_checkpointing": False,
        "bf16": settings.bf16,
        "report_to": list(settings.report_to),
        "seed": settings.seed,
        "use_cpu": not torch.cuda.is_available(),
    }


def trained(trainer: Any, base: str, folder: Path) -> Path:
    """Train, from the last checkpoint where there is one; the adapter, see `save_adapter`."""
    trainer.train(resume_from_checkpoint=any((folder / CHECKPOINTS).glob("checkpoint-*")))
    return save_adapter(trainer.model, base, folder)


def first_tokens(labels: Any) -> Any:
    """Which of the next tokens begin a turn that is learned, as bools of shape (rows, tokens - 1).

    Args:
        labels: Tensor of shape (rows, tokens), -100 where nothing is learned.
    """
    learned = labels != NOT_LEARNED
    return learned[:, 1:] & ~learned[:, :-1]


def save_adapter(model: Any, base: str, folder: Path) -> Path:
    """Write FOLDER/adapter whole, in half precision, with a note of the base where that has one.

    Args:
        model: Model with the adapter, of peft; it is changed.
        base: Folder or name of the base.
    """
    adapter, part = folder / ADAPTER, folder / f"{ADAPTER}.part"
    model.half().save_pretrained(str(part))
    if noted := base_of(Path(base)):
        write_base(part, noted["base"], noted["sha256"])
    part.replace(adapter)
    return adapter


def callbacks(folder: Path, minutes: float | None) -> list[Any]:
    """What writes the log and the progress, and ends a training in time, for any trainer of transformers.

    Args:
        minutes: Wall time of the training; None: any.
    """
    import time

    from transformers import TrainerCallback

    class Watch(TrainerCallback):
        """Writes the log, and ends the training when its time is over."""

        def __init__(self) -> None:
            self.began = time.monotonic()

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            """See TrainerCallback."""
            lines = "".join(f"{json.dumps(row)}\n" for row in state.log_history)
            write_whole(folder / LOG, lines.encode())
            print(json.dumps({"step": state.global_step, "of": state.max_steps, **(logs or {})}), flush=True)

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
            """See TrainerCallback."""
            if minutes is not None and time.monotonic() - self.began > 60.0 * minutes:
                control.should_training_stop = control.should_save = True
            return control

    return [Watch()]


@overload
def read_settings(folder: Path) -> LoraSettings: ...
@overload
def read_settings(folder: Path, kind: type[Settings]) -> Settings: ...
def read_settings(folder: Path, kind: type[Any] = LoraSettings) -> Any:
    """The settings of a training. Raises ToolError INVALID_ARGUMENT where they cannot be read."""
    path = folder / SETTINGS
    try:
        document = dict(plain_json.load(read_file(path, NOTES_BYTES, folder)))
        if "report_to" in document:
            document["report_to"] = tuple(document["report_to"])
        return kind(**document)
    except (OSError, ValueError, TypeError) as error:
        raise invalid(f"{path} is no description of a training: {error}.") from error


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """What it learns from. Raises ToolError INVALID_ARGUMENT where that cannot be read or is nothing."""
    path = folder / ROWS
    try:
        rows = [dict(plain_json.load(line)) for line in read_lines(path, _LONGEST_ROW, folder)]
    except (OSError, ValueError, TypeError) as error:
        raise invalid(f"{path} cannot be read: {error}.") from error
    if not rows or any(len(row.get("input_ids", ())) != len(row.get("labels", ())) for row in rows):
        raise invalid(f"{path} holds no rows, or one with more tokens than labels.")
    return rows


if __name__ == "__main__":
    run_stage(lambda: train_adapter(Path(sys.argv[1])))
