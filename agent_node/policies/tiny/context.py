"""A conversation as the small policy reads it: tokens, what is seen at each, and which of them a policy wrote.

    [task] pick up the red box [go]
    PLAN red box LOOK END [see] x 12 OK [go]
    POINT ROBOREFER red box END p1 [go] ...

The context of a longer conversation begins with that of the shorter one: nothing that was read is read otherwise later,
so that keys and values of earlier tokens may be kept.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agent_node.policies.tiny import vocabulary as v
from agent_node.policies.tiny.dialect import Registers, read_turn
from agent_node.policies.tiny.observations import ToolAnswer, observe
from agent_node.policies.tiny.visual_encoder import (
    FIT,
    SEEN,
    VISUAL_WIDTH,
    Meanings,
    Seen,
    VisualEncoder,
    VisualFeatures,
)
from agent_node.policies.tiny.vocabulary import Tokens, Vocabulary
from agent_node.policy import Message
from agent_node.protocol import Protocol, load_protocol
from tool_nodes.results import ToolError, invalid

ALIKE = 0.06
"""Normalized distance up to which two points are the same place [-]: half a thing's width in the picture, more than two
pointers differ about its middle."""
TELLING_FIT = 0.3
"""How well or badly what is at a point fits the words, from which on a token says so, see `visual_encoder.FIT`
[-]; in the erring world 25 % of the 123 points below -0.4 were right, and 95 % of the 529 above 0."""


@dataclass(frozen=True, eq=False)
class TinyContext:
    """A conversation as a row.

    Attributes:
        tokens: (L,) int32 ids of a vocabulary.
        visual_features: (L, VISUAL_WIDTH) float32, what is seen at each token; zero at most.
        sampled: (L,) True where an assistant's turn wrote the token, its END included.
    """

    tokens: Tokens
    visual_features: VisualFeatures
    sampled: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.tokens)


def read_context(messages: Sequence[Message], visual_encoder: VisualEncoder, vocabulary: Vocabulary) -> TinyContext:
    """The context of a conversation, its last `[go]` included where a turn is due.

    Args:
        messages: In order from the system's, each with the camera picture that it came with.
        visual_encoder: Encodes the pictures.
        vocabulary: Vocabulary of the policy.

    Raises:
        ToolError: NOT_UNDERSTOOD as `Vocabulary.read_sentence`; INVALID_ARGUMENT for a turn in another protocol or by
            another policy, for tokens outside the vocabulary, and where a camera's picture is not kept any more.
    """
    return ContextReader(visual_encoder, vocabulary).read(messages)


def read_registers(messages: Sequence[Message], vocabulary: Vocabulary) -> Registers:
    """What the tokens of the next move stand for. Raises ToolError as `read_context`."""
    reader = ContextReader(None, vocabulary)
    reader.read(messages)
    return reader.registers


class ContextReader:
    """Reads a growing conversation, each message once.

    Args:
        visual_encoder: Encodes the pictures; None reads the tokens alone, with zeros for what is seen.
        vocabulary: Vocabulary of the policy.
        protocol: How turns are written; SpaceTools' where None.

    Attributes:
        registers: Values that the tokens of the next move stand for.
    """

    def __init__(
        self, visual_encoder: VisualEncoder | None, vocabulary: Vocabulary, protocol: Protocol | None = None
    ) -> None:
        self._visual_encoder = visual_encoder
        self._vocabulary = vocabulary
        self._protocol = protocol or load_protocol("spacetools")
        self._restart()

    def _restart(self) -> None:
        self.registers = Registers()
        self._read: list[Message] = []
        self._tokens: list[int] = []
        self._features: list[VisualFeatures | None] = []
        self._sampled: list[bool] = []
        self._seen: Seen | None = None
        self._planned: Meanings | None = None
        self._asked: Meanings | None = None
        self._waiting: list[str] = []

    def read(self, messages: Sequence[Message]) -> TinyContext:
        """The context of a conversation; only what is new in it is read. Raises ToolError as `read_context`."""
        known = len(self._read)
        if len(messages) < known or not all(map(_same, self._read, messages)):
            self._restart()
            known = 0
        for k in range(known, len(messages)):
            try:
                self._take(messages[k])
            except ToolError:
                self._restart()
                raise
            self._read.append(messages[k])
        visual_features = np.zeros((len(self._tokens), VISUAL_WIDTH), np.float32)
        for k, features in enumerate(self._features):
            if features is not None:
                visual_features[k] = features
        return TinyContext(np.array(self._tokens, np.int32), visual_features, np.array(self._sampled, bool))

    def _take(self, message: Message) -> None:
        if message.role == "user":
            self._take_user(message)
        elif message.role == "assistant":
            self._take_turn(message)
        elif message.role == "tool":
            self._take_answer(message)

    def _take_user(self, message: Message) -> None:
        said = message.words or ("" if message.image_index is not None else message.text)
        if message.image_index is not None:
            self._look(message, message.image_index)
        if said:
            tokens, slots = self._vocabulary.read_sentence(said)
            self.registers = Registers(self.registers.points, self.registers.image_index, slots)
            self._add(v.TASK, *tokens, v.GO)

    def _take_turn(self, message: Message) -> None:
        tokens = read_turn(message.text, self.registers, self._protocol)
        if tokens is None or not all(token in self._vocabulary for token in tokens):
            raise invalid(
                "A turn of this conversation is not in the small policy's dialect: "
                f"{' '.join(message.text.split())[:80]!r}.",
                "It goes on only with conversations of its own, in the protocol spacetools.",
            )
        parsed = self._protocol.parse(message.text)
        self._waiting = [] if parsed.answer is not None else [call.name for call in parsed.calls] or [""]
        self._take_words(tokens)
        self._add(*tokens, sampled=True)

    def _take_words(self, tokens: Sequence[str]) -> None:
        """What is looked for from here on: in pictures the thing of the plan, at points what is asked for."""
        self._asked = None
        if self._visual_encoder is None:
            return
        if tokens[:1] == (v.PLAN,):
            self._planned = self._visual_encoder.meanings(_phrase(tokens[1:]))
        if v.POINT in tokens:
            self._asked = self._visual_encoder.meanings(_phrase(tokens[tokens.index(v.POINT) + 2 :]))

    def _take_answer(self, message: Message) -> None:
        if not self._waiting:
            raise invalid("A tool's answer in this conversation follows no call.")
        tool = self._waiting.pop(0)
        found = observe(message, tool)
        self._add(*found.tokens)
        if tool == "robot.capture_image" and found.image_index is not None:
            self.registers = Registers((), found.image_index, self.registers.slots)
        if found.image_index is not None:
            self._look(message, found.image_index)
        self._keep(found)
        self._add(*found.notes)
        if not self._waiting:
            self._add(v.GO)

    def _look(self, message: Message, image_index: int) -> None:
        """See a new picture of the camera."""
        self.registers = Registers(self.registers.points, image_index, self.registers.slots)
        parts: list[VisualFeatures | None] = [None] * SEEN
        if self._visual_encoder is not None:
            if message.picture is None:
                raise invalid(
                    f"Picture {image_index} of the conversation is not kept any more, and the small policy has not "
                    "seen it before.",
                    "Read the conversation from its beginning, or keep more pictures: Memory(shown=...).",
                )
            self._seen = self._visual_encoder.look(message.picture)
            parts = list(self._seen.things(self._planned))
        self._add(*[v.SEE] * SEEN, features=parts)

    def _keep(self, found: ToolAnswer) -> None:
        """Give registers to points, and say of each which one before the call is at the same place."""
        before = self.registers.points
        kept = found.points[: v.REGISTERS - len(before)]
        self.registers = Registers((*before, *kept), self.registers.image_index, self.registers.slots)
        for number, point in enumerate(kept, start=len(before) + 1):
            seen = self._seen.at(point, self._asked) if self._seen else None
            self._add(f"p{number}", features=[seen])
            self._add(*_looks(seen))
            nearest = min(before, key=lambda other: math.dist(point, other), default=None)
            if nearest is not None and math.dist(point, nearest) <= ALIKE:
                self._add(v.SAME, f"p{before.index(nearest) + 1}")
        if len(kept) < len(found.points):
            self._add(v.MORE)

    def _add(self, *tokens: str, features: Sequence[VisualFeatures | None] = (), sampled: bool = False) -> None:
        self._tokens += [self._vocabulary.id(token) for token in tokens]
        self._features += features or [None] * len(tokens)
        self._sampled += [sampled] * len(tokens)


def _looks(seen: VisualFeatures | None) -> tuple[str, ...]:
    """What the visual encoder says of a point, as a token; nothing where it cannot tell."""
    fit = 0.0 if seen is None else float(seen[FIT])
    return (v.LIKE,) if fit >= TELLING_FIT else (v.UNLIKE,) if fit <= -TELLING_FIT else ()


def _phrase(tokens: Sequence[str]) -> str:
    """The words that tokens begin with, up to the first that is no word of the vocabulary's: a slot says nothing."""
    return " ".join(itertools.takewhile(lambda token: token not in v.FIXED, tokens))


def _same(a: Message, b: Message) -> bool:
    """Whether a message is the one that was read; its picture may have been dropped since."""
    if a is b:
        return True
    same_fields = (a.role, a.text, a.words, a.image_index) == (b.role, b.text, b.words, b.image_index)
    return same_fields and (
        a.picture is b.picture or b.picture is None or (a.picture is not None and np.array_equal(a.picture, b.picture))
    )
