"""What a policy sees and says: a conversation in, text out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from toolhand.agent_node.pointed import PointedPoint
from toolhand.tool_nodes.results import invalid

MessageRole = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, eq=False)
class Message:
    """One entry of a conversation.

    Attributes:
        role: Who speaks.
        text: The words as the protocol writes them. An image appears as `<image K>`, K being the index of later calls.
        words: Text without protocol markup: the operator's sentence, a tool's text.
        image_index: K of the image that came with it, or None.
        image: uint8 RGB (H, W, 3), or None: none came, or it is too old to be kept.
        answers: The question that these words of the operator answer; empty for a command, and for all others.
    """

    role: MessageRole
    text: str
    words: str = ""
    image_index: int | None = None
    image: NDArray[np.uint8] | None = None
    answers: str = ""

    @property
    def said(self) -> str:
        """The words, wherever they stand."""
        return self.words or self.text


@dataclass(frozen=True)
class Reply:
    """One assistant turn, and what it took.

    Attributes:
        text: The turn, in the protocol's form.
        prompt_tokens, completion_tokens: Tokens counted by the server; 0 where nothing counts.
        cost: In the currency that the policy was given prices in; 0 without prices.
        latency_s: From the request to the last word [s].
        first_token_s: From the request to the first word [s]; None where it is not known.
        details: Further data of the turn, e.g. the server's own form of its calls.
        token_ids: Every token that the model wrote in this turn, in its own vocabulary, the one that ended the turn
            included; empty where the policy does not know them.
        logprobs: Natural logarithm of each token's probability under the model itself, at temperature 1 whatever it was
            sampled at; as many as `token_ids`, or empty. A server may give them without the ids. Where a grammar guided
            the turn, they are those among the tokens that it left.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    latency_s: float = 0.0
    first_token_s: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Raises ToolError INVALID_ARGUMENT where ids and log-probabilities are not of the same tokens."""
        if self.token_ids and self.logprobs and len(self.token_ids) != len(self.logprobs):
            raise invalid(
                f"A reply of {len(self.token_ids)} tokens cannot have {len(self.logprobs)} log-probabilities."
            )


def reply_problem(reply: Any) -> str:
    """Why something is no assistant turn, in one sentence; empty where it is one."""
    if not isinstance(reply, Reply):
        return (
            f"A turn is an toolhand.agent_node.policy.Reply, not {type(reply).__name__}: wrap its text as Reply(text)."
        )
    if not isinstance(reply.text, str):
        return f"The text of a Reply is a string, not {type(reply.text).__name__}."
    return ""


def takes_answers(policy: Policy) -> bool:
    """Whether a policy goes on with an answer to its question; one that cannot has `takes_answers = False`."""
    return bool(getattr(policy, "takes_answers", True))


def only_answers(policy: Policy) -> bool:
    """Whether a policy moves nothing, and is done when it has answered; such a one has `only_answers = True`."""
    return bool(getattr(policy, "only_answers", False))


def sees_images(policy: Policy) -> bool:
    """Whether a policy looks at the images of a conversation; one that does has `sees_images = True`."""
    return bool(getattr(policy, "sees_images", False))


def speed_of(policy: Policy, words: str) -> float:
    """Share of the allowed speed that a policy reads into the operator's words, in (0, 1]; 1 where it reads none."""
    read = getattr(policy, "speed_of", None)
    return 1.0 if read is None else float(read(words))


def candidates_of(policy: Policy, question: str) -> tuple[PointedPoint, ...]:
    """What a question in a policy's own words lets choose from, where it tells with a method of this name."""
    read = getattr(policy, "candidates_of", None)
    return () if read is None else tuple(read(question))


class Policy(Protocol):
    """Decides the next turn from the conversation alone."""

    name: str

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """The next assistant turn.

        Raises:
            ToolError: UNAVAILABLE or TIMEOUT where the model cannot be reached; TURN_BUDGET where its tokens or its
                money are spent.
        """
