"""GRPO of a LoRA adapter by TRL's GRPOTrainer, on episodes that the model plays itself in this project's environment.

    .engines/trl/bin/python -m training.adapters.grpo_on_trl FOLDER

FOLDER/settings.json   a document of `GrpoSettings`; everything else as of `training.adapters.sft_on_trl`

A step plays `groups` tasks `group_size` times each, in the protocol of the policy, word for word as
`toolhand rollouts collect` plays them: TRL takes whole rollouts (`rollout_func`), with a mask that leaves to the loss
what the model wrote and nothing that tools answered. A turn whose tokens the next prompt reads otherwise is left out,
too. A rollout that broke from outside has no reward: TRL leaves it out of its group.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agent_node.policies.chat import ChatTurn
from agent_node.policies.options import PolicyOptions
from agent_node.policies.transformers_chat import TransformersChat
from agent_node.policy import Message, Reply
from agent_node.protocol import Protocol
from tool_nodes.results import ToolError
from training.adapters.endings import scored_or_dropped
from training.adapters.environments import require_engine
from training.adapters.episodes import Episodes
from training.adapters.sft_on_trl import ADAPTER, CHECKPOINTS, EVENTS, callbacks, read_settings, save_adapter
from training.rollouts.plan import tasks_of
from training.rollouts.work import WorkerUnusable, play

KINDS = ("pick", "relational_pick", "pick_and_place")
"""Kinds of tasks, in turn."""


@dataclass(frozen=True)
class GrpoSettings:
    """How an adapter goes on.

    Attributes:
        model: Folder of the base model.
        adapter: Folder of the adapter that is begun with.
        rounds: Steps; each has new tasks.
        groups: Tasks of a step.
        group_size: Rollouts of a task, 2 or more.
        learning_rate: Rate of AdamW, constant.
        temperature: Temperature of sampling.
        max_tokens: Tokens of a turn, at most.
        turns: Turns of an episode, at most.
        protocol, reward, backend, difficulty: Those of `training.rollouts.plan.RolloutPlan`.
        seed: Seed of tasks, noise and sampling.
        save_steps: Steps between two checkpoints.
        minutes: Wall time after which the training ends wherever it is; None: never.
        report_to: Where TRL sends its curves beside the log.
    """

    model: str
    adapter: str
    rounds: int = 1
    groups: int = 4
    group_size: int = 4
    learning_rate: float = 1e-4
    temperature: float = 1.0
    max_tokens: int = 60
    turns: int = 12
    protocol: str = "compact"
    reward: str = "safe_stages"
    backend: str = "physics"
    difficulty: float = 0.2
    seed: int = 0
    save_steps: int = 1
    minutes: float | None = None
    report_to: tuple[str, ...] = ("tensorboard",)


class LearningChat(TransformersChat):
    """The policy of a model that is being trained, as it is now.

    Args:
        model: Model that is asked.
        settings: Settings of the training.
        protocol: How it writes.

    Attributes:
        turns: (tokens that it read, tokens that it wrote, their log-probabilities) of each turn since `begin`.
    """

    def __init__(self, model: Any, settings: GrpoSettings, protocol: Protocol) -> None:
        self._given = model
        self.turns: list[tuple[list[int], tuple[int, ...], tuple[float, ...]]] = []
        options = PolicyOptions(temperature=settings.temperature, max_tokens=settings.max_tokens)
        super().__init__(settings.model, protocol, options)

    def _weights(self, name: str, factory: Any) -> Any:
        self._device = str(self._given.device)
        return self._given

    def begin(self, seed: int) -> None:
        """Forget the conversation before; sample from this seed."""
        self._options, self.turns = replace(self._options, seed=seed), []

    def _prompt(self, turns: Sequence[ChatTurn]) -> Any:
        self._read = super()._prompt(turns)
        return self._read

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """See TransformersChat."""
        reply = super().respond(conversation)
        self.turns.append((list(self._read.ids), reply.token_ids, reply.logprobs))
        return reply


def as_rollout(
    turns: Sequence[tuple[list[int], Sequence[int], Sequence[float]]], end: int
) -> tuple[list[int], list[int], list[float], list[int]]:
    """(prompt, completion, log-probabilities, mask) of an episode, from the turns of `LearningChat`.

    Args:
        turns: Turns of the episode; none where the model could not be asked.
        end: Token that stands for an episode without a turn, which is not learned.
    """
    if not turns:
        return [end], [end], [0.0], [0]
    first, (last, written, _) = turns[0][0], turns[-1]
    ids = [*last, *written]
    if ids[: len(first)] != first:
        first = last  # the conversation begins otherwise: its last turn alone can be learned
    logprobs, mask = [0.0] * len(ids), [0] * len(ids)
    for read, wrote, likely in turns:
        begin, after = len(read), len(read) + len(wrote)
        if begin >= len(first) and ids[:after] == [*read, *wrote]:
            logprobs[begin:after], mask[begin:after] = list(likely), [1] * len(wrote)
    at = len(first)
    return first, ids[at:], logprobs[at:], mask[at:]


def rollouts(settings: GrpoSettings, episodes: Episodes) -> Callable[[list[str], Any], dict[str, list[Any]]]:
    """What GRPOTrainer takes as `rollout_func`.

    Args:
        settings: Settings of the training.
        episodes: Where they happen.
    """

    def roll(prompts: list[str], trainer: Any) -> dict[str, list[Any]]:
        learned = trainer.accelerator.unwrap_model(trainer.model)
        was_training = learned.training
        learned.eval()
        policy = LearningChat(learned.get_base_model(), settings, episodes.protocol)
        made: dict[str, list[Any]] = {
            name: [] for name in ("prompt_ids", "completion_ids", "logprobs", "env_mask", "episode_reward")
        }
        for number, prompt in enumerate(prompts):
            row, which = json.loads(prompt), number % settings.group_size
            policy.begin((settings.seed * 1009 + int(row["seed"])) * settings.group_size + which)
            reward = None
            with episodes.open(row, which) as session:
                try:
                    play(session, policy)
                    scored, _ = scored_or_dropped(session)
                    reward = None if scored is None else scored.total
                except WorkerUnusable:
                    pass  # it has no reward, and is dropped as any other that broke
            parts = as_rollout(policy.turns, trainer.processing_class.eos_token_id)
            for name, part in zip(made, (*parts, reward), strict=True):
                made[name].append(part)
        learned.train(was_training)
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
        from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed
        from trl import GRPOConfig, GRPOTrainer

    os.environ["TENSORBOARD_LOGGING_DIR"] = str(folder / EVENTS)
    set_seed(settings.seed)
    tasks = tasks_of(KINDS, settings.rounds * settings.groups, 50_000 + settings.seed, "train")
    rows = [{"prompt": json.dumps({"task": task, "seed": k}, sort_keys=True)} for k, task in enumerate(tasks)]
    base = AutoModelForCausalLM.from_pretrained(settings.model, dtype=torch.float32, use_safetensors=True)
    own = ("protocol", "reward", "backend", "difficulty", "turns")
    episodes = Episodes({name: getattr(settings, name) for name in own})
    trainer = GRPOTrainer(
        model=PeftModel.from_pretrained(base, settings.adapter, is_trainable=True),
        reward_funcs=reward_of_the_episode,
        rollout_func=rollouts(settings, episodes),
        args=GRPOConfig(
            output_dir=str(folder / CHECKPOINTS),
            per_device_train_batch_size=settings.group_size,
            gradient_accumulation_steps=settings.groups,
            num_generations=settings.group_size,
            max_steps=settings.rounds,
            learning_rate=settings.learning_rate,
            lr_scheduler_type="constant",
            temperature=settings.temperature,
            beta=0.0,
            gradient_checkpointing=False,
            bf16=False,
            shuffle_dataset=False,
            logging_steps=1,
            save_steps=settings.save_steps,
            save_total_limit=1,
            report_to=list(settings.report_to),
            seed=settings.seed,
            use_cpu=not torch.cuda.is_available(),
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=AutoTokenizer.from_pretrained(settings.model),
        callbacks=callbacks(folder, settings.minutes),
    )
    try:
        trainer.train(resume_from_checkpoint=any((folder / CHECKPOINTS).glob("checkpoint-*")))
    finally:
        episodes.close()
    return save_adapter(trainer.model, settings.model, folder)


if __name__ == "__main__":
    try:
        print(improve_adapter(Path(sys.argv[1])))
    except ToolError as error:
        sys.exit(f"{error.code}: {error}")
