"""A rollout's turns as they travel through an engine, and OR-GIGPO on the tokens that come back; no engine is needed.

An engine carries plain data beside a rollout's tokens: for each turn a document of `turn_document`, with the span of
the policy's own tokens and the observation that they answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolhand.agent_node.policy import Message
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import FloatArray
from toolhand.training.advantages.gigpo import TurnAdvantages, or_gigpo
from toolhand.training.advantages.steps import Anchor, ScoredRollout
from toolhand.training.advantages.tokens import of_turns
from toolhand.training.rollouts.images import hash_of

_KEYS = frozenset({"start", "end", "digest", "text"})


@dataclass(frozen=True)
class TokenRollout:
    """One rollout as an engine gives it back.

    Attributes:
        prompt: Names its group.
        turns: Documents of its turns, in order; the last ones may be missing where a length was cut.
        total: Its reward.
        length: Tokens of its response.
    """

    prompt: str
    turns: Sequence[Mapping[str, Any]]
    total: float
    length: int

    @property
    def spans(self) -> list[tuple[int, int]]:
        """First token of each turn and the one after its last, within the response."""
        return [(min(int(t["start"]), self.length), min(int(t["end"]), self.length)) for t in self.turns]

    def scored(self) -> ScoredRollout:
        """As `toolhand.training.advantages` takes it: the reward comes with the last turn (PERIA, C.4).

        Raises:
            ToolError: INVALID_ARGUMENT without turns, and for documents that are none.
        """
        for turn in self.turns:
            if not isinstance(turn, Mapping) or set(turn) != _KEYS:
                raise invalid(f"A turn has the keys {', '.join(sorted(_KEYS))}.")
        anchors = [Anchor(str(turn["digest"]), turn["text"]) for turn in self.turns]
        return ScoredRollout.of_outcome(self.prompt, anchors, self.total)


def turn_document(answered: Sequence[Message], start: int, end: int) -> dict[str, Any]:
    """A turn as plain data.

    Args:
        answered: Messages since the turn before, see `toolhand.training.rollouts.record.anchor_of`.
        start, end: The policy's tokens: the first, and the one after the last, counted in the response.
    """
    text = "\n".join(message.text for message in answered if message.role != "system")
    anchor = Anchor.of(text, [hash_of(message.image) for message in answered if message.image is not None])
    return {"start": start, "end": end, "digest": anchor.digest, "text": anchor.text}


def or_gigpo_tokens(
    rollouts: Sequence[TokenRollout], settings: Mapping[str, Any] | None = None
) -> tuple[list[FloatArray], TurnAdvantages]:
    """The advantage of each token: that of its turn on the policy's own tokens, 0 on all others.

    Args:
        rollouts: N, of any groups in any order.
        settings: Arguments of `toolhand.training.advantages.gigpo.or_gigpo` by name.

    Returns:
        N arrays (length_i,), and what they were made of.

    Raises:
        ToolError: INVALID_ARGUMENT for another setting, and for spans that are none.
    """
    try:
        found = or_gigpo([rollout.scored() for rollout in rollouts], **dict(settings or {}))
    except TypeError as error:
        raise invalid(f"A setting of OR-GIGPO is wrong: {error}.") from error
    tokens = [of_turns(found.total[k], rollout.spans, rollout.length) for k, rollout in enumerate(rollouts)]
    return tokens, found
