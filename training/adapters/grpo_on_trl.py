"""GRPO of a LoRA adapter by TRL's GRPOTrainer, on episodes that the model plays itself in this project's environment.

    .engines/trl/bin/python -m toolhand.training.adapters.grpo_on_trl FOLDER

FOLDER/settings.json   a document of `GrpoSettings`; everything else as of `toolhand.training.adapters.sft_on_trl`

A step plays `groups` tasks `group_size` times each (`toolhand.training.adapters.own_episodes`): TRL takes whole
rollouts (`rollout_func`), with a mask that leaves to the loss what the model wrote and nothing that tools answered. A
rollout that broke from outside has no reward: TRL leaves it out of its group.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from toolhand.tool_nodes.results import invalid
from toolhand.training.adapters.environments import require_engine, run_stage
from toolhand.training.adapters.own_episodes import EpisodeSettings, OwnEpisodeJob, OwnEpisodes, as_rollout
from toolhand.training.adapters.sft_on_trl import (
    ADAPTER,
    arguments_of,
    base_model,
    callbacks,
    logits_of,
    read_settings,
    trained,
)

_AT_ONCE = 2
"""Episodes that a processor learns at once [-]: of more, the short ones would be filled up to the longest."""


@dataclass(frozen=True)
class GrpoSettings(EpisodeSettings):
    """How an adapter goes on; what is played is of `EpisodeSettings`, with `group_size` 2 or more.

    Attributes:
        learning_rate: Rate of AdamW, constant.
        updates: Steps of AdamW on the rollouts of a round, each on an equal part of them, by PPO's clipped ratio to the
            log-probabilities that they were sampled with.
        save_steps: Rounds between two checkpoints.
        minutes: Wall time after which the training ends wherever it is; None: never.
        report_to: Where TRL sends its curves beside the log.
        bf16: Training, too, computes in bfloat16.

    Raises:
        ToolError: INVALID_ARGUMENT for updates that do not divide the rollouts of a round.
    """

    learning_rate: float = 1e-4
    updates: int = 1
    save_steps: int = 1
    minutes: float | None = None
    report_to: tuple[str, ...] = ("tensorboard",)

    def __post_init__(self) -> None:
        if (played := self.groups * self.group_size) % self.updates:
            raise invalid(f"updates must divide the {played} rollouts of a round, got {self.updates}.")


def rollouts(settings: GrpoSettings, episodes: OwnEpisodes) -> Callable[[list[str], Any], dict[str, list[Any]]]:
    """What GRPOTrainer takes as `rollout_func`."""

    def roll(prompts: list[str], trainer: Any) -> dict[str, list[Any]]:
        learned = trainer.accelerator.unwrap_model(trainer.model)
        was_training = learned.training
        learned.eval()
        with tempfile.TemporaryDirectory() as folder:
            jobs = [OwnEpisodeJob(row, number % settings.group_size) for number, row in enumerate(prompts)]
            if settings.workers > 1:
                learned.save_pretrained(folder)
                played = episodes.in_processes(jobs, folder)
            else:
                played = episodes.with_model(learned.get_base_model(), jobs)
        learned.train(was_training)
        made: dict[str, list[Any]] = {
            name: [] for name in ("prompt_ids", "completion_ids", "logprobs", "env_mask", "episode_reward")
        }
        for episode in played:
            parts = as_rollout(episode.turns, trainer.processing_class.eos_token_id)
            for name, part in zip(made, (*parts, episode.reward), strict=True):
                made[name].append(part)
        return made

    return roll


def reward_of_the_episode(episode_reward: list[float | None], **_: Any) -> list[float | None]:
    """What `rollouts` has found."""
    return episode_reward


def improve_adapter(folder: Path) -> Path:
    """Train what a folder describes; returns the folder of the adapter, which is left alone where it is there.

    Raises:
        ToolError: UNAVAILABLE where this Python lacks TRL, or the policy cannot be asked; INVALID_ARGUMENT where a file
            of the folder is bad.
    """
    adapter = folder / ADAPTER
    if adapter.is_dir():
        return adapter
    settings = read_settings(folder, GrpoSettings)
    with require_engine("trl"):
        import torch
        from datasets import Dataset
        from peft import PeftModel
        from transformers import AutoTokenizer, set_seed
        from trl import GRPOConfig, GRPOTrainer

    class Trainer(GRPOTrainer):
        """Computes the vocabulary for what the model wrote alone, see `logits_of`."""

        def _compute_loss(self, model: Any, inputs: Any) -> Any:
            self._own = (inputs["completion_mask"] * inputs["tool_mask"]).bool()
            if settings.updates > 1:
                inputs["old_per_token_logps"] = inputs["sampling_per_token_logps"]
            return super()._compute_loss(model, inputs)

        def _get_per_token_logps_and_entropies(
            self, model: Any, input_ids: Any, attention_mask: Any, logits_to_keep: int, **_: Any
        ) -> Any:
            if not torch.is_grad_enabled():  # asked before the updates: the policy that played has said it
                return torch.zeros_like(input_ids[:, -logits_to_keep:], dtype=torch.float32), None, None
            used = attention_mask.any(dim=0)  # TRL fills all episodes of a step up to the longest
            ids, seen, own = input_ids[:, used], attention_mask[:, used], torch.zeros_like(input_ids, dtype=torch.bool)
            own[:, -logits_to_keep:] = self._own
            own = own[:, used][:, 1:]
            logits = logits_of(self.accelerator, model, ids, seen, own)
            likely = (logits / self.temperature).log_softmax(-1)
            chosen = likely.gather(-1, ids[:, 1:][own][:, None])[:, 0]
            entropy = -(likely.detach().exp() * likely.detach()).sum(-1)
            nothing = torch.zeros(self._own.shape, device=likely.device)
            return nothing.masked_scatter(self._own, chosen), nothing.masked_scatter(self._own, entropy), None

    set_seed(settings.seed)
    played = settings.groups * settings.group_size
    of_update = played // settings.updates
    at_once = math.gcd(of_update, settings.group_size if torch.cuda.is_available() else _AT_ONCE)
    rows = [{"prompt": row} for row in settings.tasks()]
    episodes = OwnEpisodes(settings)
    trainer = Trainer(
        model=PeftModel.from_pretrained(base_model(settings.model), settings.adapter, is_trainable=True),
        reward_funcs=reward_of_the_episode,
        rollout_func=rollouts(settings, episodes),
        args=GRPOConfig(
            **arguments_of(folder, replace(settings, save_steps=settings.save_steps * settings.updates)),
            per_device_train_batch_size=at_once,
            gradient_accumulation_steps=of_update // at_once,
            steps_per_generation=played // at_once,
            num_generations=settings.group_size,
            max_steps=settings.rounds * settings.updates,
            learning_rate=settings.learning_rate,
            lr_scheduler_type="constant",
            temperature=settings.temperature,
            beta=0.0,
            shuffle_dataset=False,
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=AutoTokenizer.from_pretrained(settings.model),
        callbacks=callbacks(folder, settings.minutes),
    )
    try:
        return trained(trainer, settings.model, folder)
    finally:
        episodes.close()


if __name__ == "__main__":
    run_stage(lambda: improve_adapter(Path(sys.argv[1])))
