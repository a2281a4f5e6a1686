"""A toy of two turns, without stations or pictures, on which a trainer shows in seconds that it learns.

    [task] red            the operator: a colour
    ask LEFT END          the policy asks one of two tools; each knows one colour
    says yes              the tool's answer: yes or no, or "nothing" where it does not know the colour
    answer yes END        the policy passes it on

The first turn is worth FIRST where the right tool was asked, the second one the rest where the answer is what it said;
who was told nothing can gain nothing any more. A turn of another form ends the episode. Text alone: other trainers can
use it, see `ToyEpisode`; ours trains on it with `train_toy`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from agent_node.policies.tiny.context import TinyContext
from agent_node.policies.tiny.visual_encoder import VISUAL_WIDTH
from agent_node.policies.tiny.vocabulary import END, TASK, Vocabulary
from agent_node.policies.tiny.weights import TinyConfig, TinyWeights, fresh_weights
from tool_nodes.results import ErrorCode, ToolError
from training.advantages.steps import Anchor, ScoredRollout, ScoredTurn
from training.trainer.objective import turn_advantages, update
from training.trainer.sequences import TokenSequence
from training.trainer.settings import PolicySettings

if TYPE_CHECKING:
    from training.trainer.network import TinyTransformer

COLOURS = ("red", "blue")
TOOLS = ("left", "right")
"""Who knows the colour of the same place."""
ANSWERS = ("yes", "no")
WORDS = ("ask", "answer", "says", "nothing", *TOOLS, *COLOURS, *ANSWERS)
"""All words of the toy; [task] and END are the dialect's."""
FIRST = 0.25
"""What asking the right tool is worth of a whole episode's 1; chosen by hand."""
TURN_TOKENS = 3
"""Longest turn [tokens]: a verb, a word, END."""

TOY_CONFIG = TinyConfig(width=32, layers=2, heads=2, hidden=64, positions=24, guided=False)
"""Of the toy's policy."""
TOY_GROUP = 8
"""Episodes of a task."""
TOY_SETTINGS = PolicySettings(
    optimiser="adamw",
    learning_rate=3e-3,
    warmup_steps=10,
    epochs=2,
    batch=32,
    target_kl=math.inf,
    entropy_coef=0.08,
    anchor="answered",
)
"""Of RL on the toy; chosen by hand among a dozen on seeds 0 to 23. A policy that comes to ask one tool alone learns no
more: groups of the other colour are all alike. With this it is learned from 64 of 64 seeds by GRPO (24 to 63 apart from
the choice) and 23 of 24 by OR-GIGPO with the
anchor "answered"; with an entropy term of 0.1, by GRPO, from 21 of 24."""
TOY_ITERATIONS = 80
"""Of RL on the toy at most; chosen by hand, twice what it takes."""
TOY_ENOUGH = 0.95
"""Share of an iteration's sampled episodes that were wholly right at which RL on the toy ends; chosen by hand."""
TOY_FORM_STEPS = 25
"""Of SFT before it; chosen by hand: then nearly every turn has the right form."""
TOY_FORM_BATCH = 32
"""Rows of such a step."""
TOY_FORM_RATE = 5e-3
"""Learning rate of these steps; chosen by hand."""


@dataclass(frozen=True)
class ToyTask:
    """What is asked, and what the right tool will say; the same for a whole group.

    Attributes:
        colour: Of the question.
        secret: The right answer.
    """

    colour: str
    secret: str

    @classmethod
    def of(cls, number: int) -> ToyTask:
        """The task of a number, 0 or more: all four in turn."""
        return cls(COLOURS[number % 2], ANSWERS[number // 2 % 2])

    @property
    def right_tool(self) -> str:
        """The one that knows the colour."""
        return TOOLS[COLOURS.index(self.colour)]


@dataclass
class ToyEpisode:
    """One episode, a turn at a time.

    Attributes:
        task: What is asked.
        said: Texts so far: the prompt, a turn of the policy, the tool's answer, the last turn.
        rewards: Of each turn that was taken.
        done: It is over.
    """

    task: ToyTask
    said: list[str] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    done: bool = False

    def __post_init__(self) -> None:
        self.said = [f"{TASK} {self.task.colour}"]

    @property
    def total(self) -> float:
        """Reward so far, 0..1."""
        return sum(self.rewards)

    def say(self, turn: str) -> str:
        """Take a turn of words; END at its end may be left out.

        Returns:
            What the tool answers; empty when the episode is over.

        Raises:
            ToolError: INVALID_ARGUMENT after the end.
        """
        if self.done:
            raise ToolError(ErrorCode.INVALID_ARGUMENT, "The episode is over.")
        words = turn.removesuffix(END).split()
        self.said.append(turn)
        if len(self.rewards) == 0 and len(words) == 2 and words[0] == "ask" and words[1] in TOOLS:
            right = words[1] == self.task.right_tool
            self.rewards.append(FIRST * right)
            self.said.append(f"says {self.task.secret if right else 'nothing'}")
            return self.said[-1]
        right = self.rewards == [FIRST] and words == ["answer", self.task.secret]
        self.rewards.append((1.0 - FIRST) * right)
        self.done = True
        return ""

    def scored(self, prompt: str) -> ScoredRollout:
        """The episode as advantages take it; `prompt` names its group. Raises ToolError for one without a turn."""
        anchors = [Anchor.of(text) for text in self.said[::2]]
        turns = tuple(ScoredTurn(anchor, reward) for anchor, reward in zip(anchors, self.rewards, strict=True))
        return ScoredRollout(prompt, turns)


def form_examples(seed: int, n: int) -> list[list[str]]:
    """Episodes of a teacher that knows the form and nothing else: it asks anyone and answers anything.

    Returns:
        For each its texts, as `ToyEpisode.said`; what trains on them learns to speak, with a success of about 1 in 4.
    """
    rng = np.random.default_rng((seed, _STREAM, n))
    episodes = []
    for number in range(n):
        episode = ToyEpisode(ToyTask.of(number))
        episode.say(f"ask {TOOLS[rng.integers(len(TOOLS))]} {END}")
        episode.say(f"answer {ANSWERS[rng.integers(len(ANSWERS))]} {END}")
        episodes.append(episode.said)
    return episodes


@dataclass(frozen=True, eq=False)
class ToyRun:
    """What came of `train_toy`.

    Attributes:
        success: Share of episodes that were wholly right in each iteration, sampled; the first one before any RL.
        weights: Of the trained policy.
        tokens_s: Tokens that were sampled a second, reading included [1/s].
        step_s: Wall time of an iteration: rollouts and update [s].
    """

    success: tuple[float, ...]
    weights: TinyWeights
    tokens_s: float
    step_s: float


def toy_weights(seed: int, config: TinyConfig = TOY_CONFIG) -> TinyWeights:
    """An untrained policy that knows the toy's words."""
    return fresh_weights(seed, config, Vocabulary(WORDS))


def context_of(said: Sequence[str], vocabulary: Vocabulary) -> TinyContext:
    """An episode's texts as the policy reads them: every second one is its own."""
    parts = [vocabulary.encode(text.split()) for text in said]
    sampled = np.concatenate([np.full(len(part), k % 2 == 1) for k, part in enumerate(parts)])
    tokens = np.concatenate(parts)
    return TinyContext(tokens, np.zeros((len(tokens), VISUAL_WIDTH), np.float32), sampled)


def play(
    network: TinyTransformer, vocabulary: Vocabulary, tasks: Sequence[ToyTask], seed: int, temperature: float = 1.0
) -> tuple[list[ToyEpisode], list[TokenSequence], int]:
    """Play episodes, all at once.

    Args:
        network: The policy.
        vocabulary: Its tokens.
        tasks: One an episode; a group has its task several times.
        seed: Of the sampling.
        temperature: 0 takes the likeliest token.

    Returns:
        The episodes, their rows with ones for advantages, and how many tokens were sampled.
    """
    episodes = [ToyEpisode(task) for task in tasks]
    rngs = [np.random.default_rng((seed, _STREAM, k)) for k in range(len(tasks))]
    logprobs: list[list[float]] = [[] for _ in tasks]
    while speaking := [k for k, episode in enumerate(episodes) if not episode.done]:
        contexts = [context_of(episodes[k].said, vocabulary).tokens for k in speaking]
        turns = _sampled(network, vocabulary.id(END), contexts, [rngs[k] for k in speaking], temperature)
        for k, (tokens, own) in zip(speaking, turns, strict=True):
            episodes[k].say(" ".join(vocabulary.decode(tokens)))
            logprobs[k] += own
    rows = [
        TokenSequence.of(context_of(episode.said, vocabulary), own)
        for episode, own in zip(episodes, logprobs, strict=True)
    ]
    return episodes, rows, sum(map(len, logprobs))


def _sampled(
    network: TinyTransformer,
    end: int,
    contexts: Sequence[NDArray[np.int32]],
    rngs: Sequence[np.random.Generator],
    temperature: float,
) -> list[tuple[list[int], list[float]]]:
    """Tokens and log-probabilities of a turn after each context, which is read anew for each token."""
    import torch

    turns: list[tuple[list[int], list[float]]] = [([], []) for _ in contexts]
    for _ in range(TURN_TOKENS):
        open_ones = [k for k, (tokens, _) in enumerate(turns) if not tokens or tokens[-1] != end]
        if not open_ones:
            break
        read = [[*contexts[k], *turns[k][0]] for k in open_ones]
        padded = np.zeros((len(read), max(map(len, read))), np.int64)
        for line, tokens in zip(padded, read, strict=True):
            line[: len(tokens)] = tokens
        with torch.no_grad():
            ids = torch.from_numpy(padded).to(network.device)
            hidden = network(ids, torch.zeros((*ids.shape, VISUAL_WIDTH), device=network.device))
            last = hidden[torch.arange(len(read)), torch.tensor([len(tokens) - 1 for tokens in read])]
            logprobs = torch.log_softmax(network.logits(last).double(), -1).cpu().numpy()
        for k, own in zip(open_ones, logprobs, strict=True):
            token = int(np.argmax(own)) if temperature == 0 else _drawn(own / temperature, rngs[k])
            turns[k][0].append(token)
            turns[k][1].append(float(own[token]))
    return turns


def _drawn(logits: NDArray[np.float64], rng: np.random.Generator) -> int:
    shares = np.cumsum(np.exp(logits - logits.max()))
    return min(int(np.searchsorted(shares, rng.random() * shares[-1], side="right")), len(shares) - 1)


def train_toy(
    seed: int = 0, settings: PolicySettings = TOY_SETTINGS, iterations: int = TOY_ITERATIONS, groups: int = 8
) -> ToyRun:
    """Teach the form by SFT and the rest by RL.

    Args:
        seed: Decides everything.
        settings: Of RL, GRPO or OR-GIGPO.
        iterations: Of RL.
        groups: Of TOY_GROUP episodes each, in an iteration.

    Raises:
        ToolError: UNAVAILABLE without torch.
    """
    from training.trainer.learner import Learner

    weights = toy_weights(seed)
    vocabulary = weights.vocabulary
    learner = Learner(weights, settings)
    examples = [
        TokenSequence.of(context_of(said, vocabulary)) for said in form_examples(seed, TOY_FORM_BATCH * TOY_FORM_STEPS)
    ]
    for k in range(TOY_FORM_STEPS):
        batch = examples[TOY_FORM_BATCH * k : TOY_FORM_BATCH * (k + 1)]
        learner.supervise(batch, TOY_FORM_RATE / settings.learning_rate)
    success, tokens, sampling_s, began = [], 0, 0.0, time.monotonic()
    for iteration in range(iterations):
        tasks = [ToyTask.of(k) for k in range(groups) for _ in range(TOY_GROUP)]
        started = time.monotonic()
        episodes, rows, sampled = play(learner.network, vocabulary, tasks, seed * 1000 + iteration)
        sampling_s += time.monotonic() - started
        tokens += sampled
        success.append(float(np.mean([episode.total == 1.0 for episode in episodes])))
        if success[-1] >= TOY_ENOUGH:
            break
        scored = [episode.scored(str(k // TOY_GROUP)) for k, episode in enumerate(episodes)]
        advantages, _ = turn_advantages(scored, settings)
        rows = [row.with_advantages(own) for row, own in zip(rows, advantages, strict=True)]
        update(learner, rows, settings, np.random.default_rng((seed, _STREAM, 1, iteration)))
    step_s = (time.monotonic() - began) / max(len(success), 1)
    return ToyRun(tuple(success), learner.weights, tokens / sampling_s if sampling_s else 0.0, step_s)


_STREAM = 29
"""Keeps these random numbers apart from others of the same seed."""
