"""How a paper trains: its stages, and each number of them with the place that it was read from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Generic, Literal, TypeVar

from toolhand.training.advantages.gigpo import AnchorChoice

NOT_GIVEN = "not given by the paper; chosen by hand"
"""What stands beside a number that is ours."""

T = TypeVar("T")


@dataclass(frozen=True)
class Sourced(Generic[T]):
    """A number, or a word, and where it is from.

    Attributes:
        value: The number or word.
        source: Table or section of the paper, or NOT_GIVEN and why it is so.
        given: The paper, or its released code, gives it.
    """

    value: T
    source: str
    given: bool = True


def printed(value: T, where: str) -> Sourced[T]:
    """What the paper prints, with its table or section."""
    return Sourced(value, where)


def chosen(value: T, why: str = "") -> Sourced[T]:
    """What the paper leaves open."""
    return Sourced(value, f"{NOT_GIVEN}{why and f', {why}'}", given=False)


Schedule = Literal["constant", "cosine"]
"""Of the learning rate after its warm-up."""
TrainedPart = Literal["everything", "language model"]
"""Which weights move; without everything, vision encoder and projector are frozen."""


@dataclass(frozen=True)
class _Numbers:
    """What has numbers."""

    def numbers(self) -> Iterator[tuple[str, Sourced[Any]]]:
        """(name of the field, number) of each one, those of a part among them."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, Sourced):
                yield entry.name, value
            elif isinstance(value, _Numbers):
                yield from value.numbers()


@dataclass(frozen=True, kw_only=True)
class SftStage(_Numbers):
    """Supervised fine-tuning on trajectories; a number that is left out has the engine's default.

    Attributes:
        name: Name of the stage, as in file names.
        title: Name in the paper.
        methods: Methods that make the trajectories, names of `toolhand.training.data.synthesis.methods.METHODS`.
        samples: Number of trajectories.
        batch: Trajectories of a step, of all GPUs together.
        learning_rate: Its highest.
        epochs: Times that each trajectory is seen.
        schedule, warmup_ratio: Schedule of the learning rate, and the share of the steps in which it rises.
        max_tokens: Longest trajectory [tokens]; longer ones are cut.
        trained: Which weights move.
        expert: The stage of RL whose weights make the trajectories of `expert_methods`; scripted teachers make the
            others. Empty where they make all.
        expert_methods: Those of `methods` that the expert does.
        expert_samples: Those of `samples` that the expert makes.
    """

    name: str
    title: str
    methods: tuple[str, ...]
    samples: Sourced[int]
    batch: Sourced[int]
    learning_rate: Sourced[float]
    epochs: Sourced[float]
    schedule: Sourced[Schedule]
    warmup_ratio: Sourced[float]
    weight_decay: Sourced[float] = chosen(0.0, "LLaMA-Factory's default")
    max_tokens: Sourced[int]
    trained: Sourced[TrainedPart] = chosen("everything")
    expert: str = ""
    expert_methods: tuple[str, ...] = ()
    expert_samples: Sourced[int] | None = None


@dataclass(frozen=True, kw_only=True)
class StepCredit(_Numbers):
    """What OR-GIGPO has beside GRPO, see `toolhand.training.advantages.gigpo.or_gigpo`.

    Attributes:
        omega: Weight of a turn's advantage.
        gamma: Discount of its return.
        epsilon: Added to each standard deviation.
        delta: Likeness from which on two observations are one.
        anchor: Which observation turns are compared by.
    """

    omega: Sourced[float]
    gamma: Sourced[float]
    epsilon: Sourced[float]
    delta: Sourced[float]
    anchor: Sourced[AnchorChoice]


@dataclass(frozen=True, kw_only=True)
class RlStage(_Numbers):
    """Reinforcement learning in groups, with calls that are carried out; what is left out has the engine's default.

    Attributes:
        name, title: Name of the stage in file names, and in the paper.
        kinds: Kinds among the recipe's tasks, or all of them where empty.
        suites, protocol: Which tools are offered and how turns are written; the recipe's where empty.
        samples: Number of tasks.
        batch: Tasks of a step.
        mini_batch: Rollouts of one update of the weights.
        micro_batch, logprob_micro_batch: Rollouts that a GPU holds at once, for an update and for probabilities.
        group_size: Rollouts of a task.
        learning_rate, epochs, schedule, warmup_ratio, trained: The settings of `SftStage`.
        min_lr_ratio: Share of the learning rate that is left at the end of a cosine.
        kl_coef: Weight of the divergence from the policy before the stage; 0 for none.
        clip: Clipping of the ratio of new and old probability, on both sides of 1.
        temperature, top_p, top_k: Settings of sampling; a top_k of -1 is every token.
        max_prompt: Tokens of the task, its image included.
        max_response: Tokens of all that follows, results of tools included.
        max_action, max_observation: Tokens of one turn, and of what its call brings; None where there is no such bound.
        turns: Most assistant turns of an episode.
        steps: Updates after which the stage ends, whatever the epochs; None for all epochs.
        credit: Credit of single turns, for OR-GIGPO; None for GRPO.
    """

    name: str
    title: str
    kinds: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    protocol: str = ""
    samples: Sourced[int]
    batch: Sourced[int]
    mini_batch: Sourced[int]
    micro_batch: Sourced[int] = chosen(2)
    logprob_micro_batch: Sourced[int] = chosen(8)
    group_size: Sourced[int]
    learning_rate: Sourced[float]
    epochs: Sourced[int]
    schedule: Sourced[Schedule]
    warmup_ratio: Sourced[float]
    min_lr_ratio: Sourced[float] = chosen(0.0, "a constant rate has no end")
    kl_coef: Sourced[float]
    entropy_coef: Sourced[float] = chosen(0.0, "verl's default")
    clip: Sourced[float] = chosen(0.2, "verl's default")
    temperature: Sourced[float]
    top_p: Sourced[float] = chosen(1.0, "verl's default")
    top_k: Sourced[int] = chosen(-1, "verl's default")
    max_prompt: Sourced[int]
    max_response: Sourced[int]
    turns: Sourced[int]
    server: Sourced[Literal["vllm", "sglang"]] = chosen("vllm")
    trained: Sourced[TrainedPart] = chosen("everything")
    max_action: Sourced[int] | None = None
    max_observation: Sourced[int] | None = None
    steps: Sourced[int] | None = None
    credit: StepCredit | None = None

    @property
    def algorithm(self) -> str:
        """What makes advantages of rewards, by the name that people know."""
        return "GRPO" if self.credit is None else "OR-GIGPO"


TrainingStage = SftStage | RlStage
"""Of a training."""


@dataclass(frozen=True, kw_only=True)
class PaperTraining:
    """What a paper trained, and how.

    Attributes:
        models: That it trained with these numbers, by their names on the Hugging Face hub.
        gpus: That it used, in words.
    """

    models: tuple[str, ...]
    engines: Sourced[str]
    gpus: Sourced[str]
    stages: tuple[TrainingStage, ...]
