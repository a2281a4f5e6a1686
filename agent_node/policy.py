"""What a policy sees and says: text in, text out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True)
class Message:
    """One entry of a conversation, serialised.

    Attributes:
        role: Who speaks.
        text: The words. Pictures appear as `<image K>`, K being the `image_index` of later calls.
    """

    role: Role
    text: str


class Policy(Protocol):
    """Decides the next turn from the text of the conversation alone."""

    name: str

    def respond(self, conversation: Sequence[Message]) -> str:
        """The next assistant turn: thoughts, tool calls or an answer, in the protocol's tags."""
