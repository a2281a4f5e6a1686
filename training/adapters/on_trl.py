"""The environment as TRL's GRPOTrainer takes it, and a GRPOTrainer that gives each turn its own advantage.

    episodes = Episodes({"protocol": "native", "reward": "stages", "suites": ["spacetools"]})
    rows = [{"task": json.dumps(task_document("pick", k)), "seed": k} for k in range(512)]
    trainer = step_trainer()(
        model=..., args=GRPOConfig(...), train_dataset=Dataset.from_list(rows),
        environment_factory=environment_factory(episodes, rows[0]),
    )

TRL's verbs and ours: `reset(**row)` opens an episode, a method for each tool calls it, `get_reward()` scores. What TRL
does not hand to an environment is the last words of a rollout, the answer; `hear_answers` does, as a reward function of
a plain GRPOTrainer, and the trainer of `step_trainer` by itself.

An infrastructure error is no reward: `get_reward` gives None, whereupon TRL leaves the rollout out of its group's mean
and gives it no advantage. So it is with `step_trainer`, which logs the share of such rollouts as `episodes/dropped` and
stops where a step has no other.

TRL answers a call of an unknown tool by itself, and no record has it: a reward for the form of calls does not see it.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from PIL import Image

from toolhand.agent_node.policies.chat import NativeResult, image_words, without_control
from toolhand.agent_node.policy import Message
from toolhand.agent_node.protocol import as_data
from toolhand.tool_nodes.results import ToolError, invalid, unavailable
from toolhand.training.adapters.endings import say_last, scored_or_dropped
from toolhand.training.adapters.environments import require_engine
from toolhand.training.adapters.episodes import NOT_SCORED, Episodes
from toolhand.training.adapters.tool_class import class_of_tools
from toolhand.training.advantages.gigpo import TurnAdvantages, or_gigpo
from toolhand.training.advantages.steps import Anchor, ScoredRollout
from toolhand.training.advantages.tokens import of_turns, spans_of
from toolhand.training.env.session import EpisodeSession

Part = dict[str, Any]
"""{"type": "text", "text": ...} or {"type": "image", "image": a PIL image}."""

StepAdvantages = Callable[[Sequence[ScoredRollout]], TurnAdvantages]
"""Such as `toolhand.training.advantages.gigpo.or_gigpo`, with other parameters by functools.partial."""


class TrlEpisode:
    """One rollout; TRL is given a subclass that has, beside these, a method for each tool. Reused: `reset` clears.

    Args:
        episodes: Opens the episodes of rows.
        rollout: Which of its group it is; any number that differs within the group.
    """

    def __init__(self, episodes: Episodes, rollout: int) -> None:
        self._episodes, self._rollout = episodes, rollout
        self._session: EpisodeSession | None = None
        self._reward: float | None = None
        self._fault: ToolError | None = None

    def reset(self, **row: Any) -> list[Part]:
        """Begin the episode of a row.

        Args:
            row: Row for `Episodes.open`; further keys are TRL's.

        Returns:
            What the policy reads first, images included; TRL appends it to the row's last message.

        Raises:
            ToolError: INVALID_ARGUMENT for a row that names no task that can be done there.
        """
        self._close()
        self._reward = self._fault = None
        try:
            self._session = self._episodes.open(row, self._rollout)
        except ToolError as error:
            if error.code not in NOT_SCORED:
                raise
            self._fault = error.with_traceback(None)
            return [{"type": "text", "text": _told(error)}]
        return [part for message in self._session.messages() for part in content_of(message)]

    def get_reward(self) -> float | None:
        """What the episode is worth; None where it is to be dropped. The station is given back.

        Raises:
            ToolError: INVALID_ARGUMENT before a reset; that of a grader that cannot grade such a task.
        """
        if self._session is not None:
            try:
                score, self._fault = scored_or_dropped(self._session)
            finally:
                self._close()
            self._reward = None if score is None else float(score.total)
        elif self._reward is None and self._fault is None:
            raise invalid("The environment has no episode.", "Call reset(**row) first.")
        return self._reward

    def _call(self, name: str, arguments: Mapping[str, Any]) -> str | list[Part]:
        """A tool's answer: words, or words and an image. TRL calls the tool's method."""
        if self._session is None or self._session.done:
            return "The episode is over." if self._fault is None else _told(self._fault)
        parts = [part for message in self._session.call(name, arguments).messages for part in content_of(message)]
        return parts if any(part["type"] == "image" for part in parts) else "\n".join(part["text"] for part in parts)

    def _hear(self, message: Mapping[str, Any]) -> None:
        """The last message of the rollout."""
        if self._session is not None:
            say_last(self._session, message)

    def _close(self) -> None:
        if self._session is not None:
            self._session.close()
        self._session = None


def environment_factory(episodes: Episodes, row: Mapping[str, Any]) -> Callable[[], TrlEpisode]:
    """What GRPOTrainer's argument of this name takes.

    Args:
        episodes: Episodes of the protocol `native`, in which a server, here TRL, offers the tools and reads the calls.
        row: Any row of the data set: the tools of its episode are the methods of the class.

    Raises:
        ToolError: INVALID_ARGUMENT for another protocol, and as of `Episodes.open`.
    """
    episodes.require_native("TRL offers the tools in its model's own form")
    with episodes.open(row) as session:
        made = class_of_tools("Episode", TrlEpisode, session.tools())
    numbers = itertools.count()
    return lambda: made(episodes, next(numbers))


def hear_answers(
    completions: Sequence[Sequence[Mapping[str, Any]]], environments: Sequence[TrlEpisode], **_: Any
) -> list[None]:
    """A reward function that rewards nothing: it hands each rollout's last words to its episode.

    Args:
        completions: Messages of each rollout.
        environments: Those that `environment_factory` made.
    """
    for completion, environment in zip(completions, environments, strict=True):
        environment._hear(completion[-1] if completion else {})
    return [None] * len(completions)


def content_of(message: Message) -> list[Part]:
    """A message as parts of a chat template: its words, `<image K>` by which calls name its image, the image."""
    words = without_control(as_data(message.said)) if message.role != "system" else message.text
    shown = message.image_index if message.image is not None else None
    parts: list[Part] = [{"type": "text", "text": image_words(NativeResult("", words, shown))}]
    if message.image is not None:
        parts.append({"type": "image", "image": Image.fromarray(message.image)})
    return parts


def scored_completion(
    group: str, prompt: Sequence[Mapping[str, Any]], completion: Sequence[Mapping[str, Any]], reward: float
) -> ScoredRollout:
    """A rollout as `toolhand.training.advantages` takes it: its turns are its assistant messages, each after what it
    answered.

    Args:
        group: Names the rollouts that are compared.
        prompt: Messages before the first turn.
        reward: Reward of the whole; it comes with the last turn.
    """
    anchors, heard = [], list(prompt)
    for message in completion:
        if message["role"] == "assistant":
            anchors.append(_anchor(heard))
            heard = []
        else:
            heard.append(message)
    return ScoredRollout.of_outcome(group, anchors, reward)


@cache
def step_trainer(advantages: StepAdvantages = or_gigpo) -> Any:
    """A GRPOTrainer whose advantages differ from turn to turn: (B, T), 0 on whatever the policy did not sample.

    Rewards, their weights and all else are GRPOTrainer's own; the kernels of Liger take one advantage a rollout and
    cannot be used.

    Args:
        advantages: Advantages of the turns of all groups of a step; by default OR-GIGPO.

    Raises:
        ToolError: UNAVAILABLE where this Python has no TRL.
    """
    with require_engine("trl"):
        from trl import GRPOTrainer
    import torch
    from accelerate.utils import gather_object

    class StepTrainer(GRPOTrainer):
        """See `toolhand.training.adapters.on_trl.step_trainer`."""

        def _calculate_rewards(self, inputs: Any, prompts: Any, completions: Any, completion_ids_list: Any) -> Any:
            if self.environments:
                hear_answers(completions, self.environments)
            rewards = super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
            first = self.accelerator.process_index * len(prompts)
            here = rewards[first : first + len(prompts)]
            totals = (here * self.reward_weights.to(here.device)).nansum(dim=1)
            dropped = torch.isnan(here).all(dim=1)
            size = self.num_generations if self.model.training else self.num_generations_eval
            self._scored = [
                None
                if dropped[k]
                else scored_completion(str((first + k) // size), prompts[k], completions[k], totals[k].item())
                for k in range(len(prompts))
            ]
            return rewards

        def _generate_and_score_completions(self, inputs: Any) -> Any:
            output = super()._generate_and_score_completions(inputs)
            every = gather_object(self._scored)
            kept = [rollout for rollout in every if rollout is not None]
            if not kept:
                raise unavailable(f"All {len(every)} rollouts of a step broke: none has a reward.")
            found = advantages(kept)
            metrics = self._metrics["train" if self.model.training else "eval"]
            metrics["episodes/dropped"].append(1.0 - len(kept) / len(every))
            metrics["steps/credited"].append(found.share_of_credited_turns)
            turns = iter(found.total)
            by_rollout = [None if rollout is None else next(turns) for rollout in every]
            first = self.accelerator.process_index * len(inputs)
            sampled = output["completion_mask"] * output.get("tool_mask", 1)
            tokens = torch.zeros(sampled.shape, device=sampled.device)
            for k, own in enumerate(by_rollout[first : first + len(inputs)]):
                mask = sampled[k].bool().cpu().numpy()
                spans = spans_of(mask)
                if own is not None and spans:  # none where a rollout that was cut is masked
                    tokens[k] = torch.from_numpy(of_turns(own, spans, len(mask)))
            output["advantages"] = tokens
            return output

    return StepTrainer


def _anchor(messages: Sequence[Mapping[str, Any]]) -> Anchor:
    texts, images = [], []
    for message in messages:
        content: str | list[Part] = message.get("content") or ""
        parts: list[Part] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for part in parts:
            if part.get("type") == "image":
                image: Image.Image = part["image"]
                images.append(hashlib.sha256(f"{image.size}".encode() + image.tobytes()).hexdigest())
            else:
                texts.append(str(part.get("text", "")))
    return Anchor.of("\n".join(texts), images)


def _told(error: ToolError) -> str:
    return f"Error {error.code}: {error.message}"
