"""What a policy sees and says: a conversation in, text out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

MessageRole = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, eq=False)
class Message:
    """One entry of a conversation.

    Attributes:
        role: Who speaks.
        text: The words as the protocol writes them. A picture appears as `<image K>`, K being the index of later calls.
        words: What is said without protocol markup: the operator's sentence, a tool's text.
        image_index: K of the picture that came with it, or None.
        picture: uint8 RGB (H, W, 3), or None: none came, or it is too old to be kept.
    """

    role: MessageRole
    text: str
    words: str = ""
    image_index: int | None = None
    picture: NDArray[np.uint8] | None = None

    @property
    def said(self) -> str:
        """The words, wherever they stand."""
        return self.words or self.text


@dataclass(frozen=True)
class Reply:
    """One assistant turn, and what it took.

    Attributes:
        text: The turn, in the protocol's form.
        prompt_tokens, completion_tokens: As the server counted them; 0 where nothing counts.
        cost: In the currency that the policy was given prices in; 0 without prices.
        latency_s: From the request to the last word [s].
        first_token_s: From the request to the first word [s]; None where it is not known.
        details: What else is known of the turn, e.g. the server's own form of its calls.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    latency_s: float = 0.0
    first_token_s: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


class Policy(Protocol):
    """Decides the next turn from the conversation alone."""

    name: str

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """The next assistant turn.

        Raises:
            ToolError: UNAVAILABLE or TIMEOUT where the model cannot be reached; TURN_BUDGET where its tokens or its
                money are spent.
        """
