"""What a rollout must carry so that its turns can be given credit: plain data, made by the caller that ran it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import FloatArray


@dataclass(frozen=True)
class Anchor:
    """An observation, as far as turns of several rollouts are compared by it.

    Attributes:
        digest: Equal for equal observations and for no others.
        text: The observation itself where it is text alone, so that others much like it can be found; None where
            images belong to it, which are the same or are not.
    """

    digest: str
    text: str | None = None

    @classmethod
    def of(cls, text: str, images: Sequence[str] = ()) -> Anchor:
        """The anchor of a text and of images, which are given as hashes of their bytes."""
        digest = hashlib.sha256()
        for part in (text, *images):
            encoded = part.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8, "big") + encoded)
        return cls(digest.hexdigest(), None if images else text)


@dataclass(frozen=True)
class ScoredTurn:
    """One turn of a rollout.

    Attributes:
        anchor: Observation that the policy was answering: the prompt at first, then the newest one.
        reward: r_t, what this turn brought.
        returned: The observation that the turn's call brought back; None after the last one.
    """

    anchor: Anchor
    reward: float = 0.0
    returned: Anchor | None = None


@dataclass(frozen=True)
class ScoredRollout:
    """One rollout.

    Attributes:
        prompt: Names the task's input q; rollouts with the same name are a group.
        turns: T of them, at least one.
        episode_reward: R(tau), the reward of the whole; None where it is the sum of the turns'.
    """

    prompt: str
    turns: tuple[ScoredTurn, ...]
    episode_reward: float | None = None

    def __post_init__(self) -> None:
        rewards = [turn.reward for turn in self.turns]
        if not self.turns or not np.isfinite([*rewards, self.total]).all():
            raise invalid(f'A rollout of "{self.prompt}" needs a turn or more and finite rewards.')

    @classmethod
    def of_outcome(cls, prompt: str, anchors: Sequence[Anchor], reward: float) -> ScoredRollout:
        """A rollout whose whole reward comes with its last turn, as PERIA has it (C.4).

        Args:
            anchors: Observation that each of the T turns was answering, the prompt first; each is also the result of
                the turn before.
            reward: R(tau).
        """
        last = len(anchors) - 1
        turns = (
            ScoredTurn(anchor, reward if k == last else 0.0, None if k == last else anchors[k + 1])
            for k, anchor in enumerate(anchors)
        )
        return cls(prompt, tuple(turns), reward)

    @property
    def total(self) -> float:
        """R(tau)."""
        return sum(turn.reward for turn in self.turns) if self.episode_reward is None else self.episode_reward

    def returns(self, discount: float) -> FloatArray:
        """Discounted returns (T,): R_t = sum over k from t to T of gamma^(k-t) r_k (PERIA, section 4.3)."""
        returns, ahead = np.zeros(len(self.turns)), 0.0
        for k in range(len(self.turns) - 1, -1, -1):
            ahead = self.turns[k].reward + discount * ahead
            returns[k] = ahead
        return returns
