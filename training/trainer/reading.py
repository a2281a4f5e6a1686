"""Sequences of recorded rollouts: what the policy read and wrote, as the policy itself reads it."""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent_node.policies.tiny.context import read_context
from agent_node.policies.tiny.visual_encoder import Seen, VisualEncoder
from agent_node.policies.tiny.weights import TinyWeights
from agent_node.policy import Message
from tool_nodes.results import ToolError, invalid
from training.rollouts.collection import read_rollouts
from training.rollouts.pictures import PictureStore
from training.rollouts.record import RolloutRecord, message_role
from training.tasks.sayings import say_otherwise
from training.trainer.sequences import TokenSequence, problem_of

_WORDINGS = 31
"""Keeps these random numbers apart from others of the same seed."""
_PICTURES_KEPT = 64
"""Pictures whose features are remembered, 0.3 MB each; those of a few groups."""


class CachingVisualEncoder(VisualEncoder):
    """Encodes equal pictures once: rollouts of a group begin with the same one.

    Args:
        weights: Weights of the policy, with its visual encoder.
    """

    def __init__(self, weights: TinyWeights) -> None:
        super().__init__(weights.encoder, weights.config.blind, weights.meanings)
        self._seen: OrderedDict[bytes, Seen] = OrderedDict()

    def look(self, rgb: NDArray[np.uint8]) -> Seen:
        """See a picture, uint8 (H, W, 3)."""
        key = hashlib.sha256(repr(rgb.shape).encode() + rgb.tobytes()).digest()
        if key not in self._seen:
            self._seen[key] = super().look(rgb)
        self._seen.move_to_end(key)
        while len(self._seen) > _PICTURES_KEPT:
            self._seen.popitem(last=False)
        return self._seen[key]


def sequence_of(
    record: RolloutRecord, store: PictureStore, weights: TinyWeights, visual_encoder: VisualEncoder | None = None
) -> TokenSequence:
    """The sequence of a rollout, with ones for advantages.

    Args:
        record: Record of the tiny policy, or of a teacher that writes its dialect: then there are no log-probabilities.
        store: Has the pictures.
        weights: Weights of the policy that is to learn from it: its vocabulary, visual encoder and longest conversation
            count.
        visual_encoder: Encodes the pictures; that of the weights where None.

    Raises:
        ToolError: INVALID_ARGUMENT where it is not in the dialect, reads otherwise than it was sampled, has a picture
            that is gone, or is too long; in one sentence that names it.
    """
    try:
        context = read_context(_messages(record, store), visual_encoder or weights.visual_encoder, weights.vocabulary)
        ids = [token for turn in record.turns for token in turn.token_ids]
        sampled = context.tokens[context.sampled]
        if ids and (len(ids) != len(sampled) or not np.array_equal(ids, sampled)):
            raise invalid("It reads otherwise than it was sampled.")
        logprobs = [value for turn in record.turns for value in turn.logprobs]
        sequence = TokenSequence.of(context, logprobs if ids else None)
        width = sequence.visual_features.shape[1]
        problem = problem_of(sequence, len(weights.vocabulary), width, weights.config.positions)
        if problem or len(sequence.spans) != len(record.turns):
            raise invalid(f"It {problem or 'has turns of no token'}.")
        return sequence
    except ToolError as error:
        raise invalid(f"The rollout {record.id} is no row for the small policy: {error.message}") from error


def in_other_words(record: RolloutRecord, rng: np.random.Generator) -> RolloutRecord:
    """A teacher's rollout with its command in other words, see `say_otherwise`."""
    said = next((message.words for message in record.messages if message.role == "user"), "")
    other = say_otherwise(rng, said, record.task.get("split", "train"))
    messages = [
        replace(message, text=message.text.replace(said, other), words=other) if message.words == said else message
        for message in record.messages
    ]
    return replace(record, messages=tuple(messages))


def sequences_of_folder(
    folder: Path,
    weights: TinyWeights,
    chosen: Callable[[RolloutRecord], bool] = lambda record: True,
    wordings: int = 1,
) -> tuple[list[TokenSequence], Counter[str]]:
    """The sequences of a collection of rollouts.

    Args:
        folder: Folder of the collection.
        weights: Weights of the policy, see `sequence_of`.
        chosen: Which rollouts; all by default.
        wordings: Sequences of each, the first as it was, the others `in_other_words`, drawn by its seed.

    Returns:
        They, and how many lines or rollouts were left out as they were none, by why.

    Raises:
        ToolError: INVALID_ARGUMENT for a folder that is no collection.
    """
    pairs, bad = records_of_folder(folder, weights, chosen, wordings)
    return [sequence for _, sequence in pairs], bad


def records_of_folder(
    folder: Path,
    weights: TinyWeights,
    chosen: Callable[[RolloutRecord], bool] = lambda record: True,
    wordings: int = 1,
) -> tuple[list[tuple[RolloutRecord, TokenSequence]], Counter[str]]:
    """The same with the record of each sequence; see `sequences_of_folder`."""
    pairs: list[tuple[RolloutRecord, TokenSequence]] = []
    bad: Counter[str] = Counter()
    store, visual_encoder = PictureStore(folder), CachingVisualEncoder(weights)
    for record in read_rollouts(folder, lambda error: bad.update(["a line that is no record"])):
        if not chosen(record):
            continue
        rng = np.random.default_rng([record.seed, _WORDINGS])
        for said in (record, *(in_other_words(record, rng) for _ in range(wordings - 1))):
            try:
                pairs.append((said, sequence_of(said, store, weights, visual_encoder)))
            except ToolError as error:
                bad[error.message.partition(": ")[2] or error.message] += 1
    return pairs, bad


def _messages(record: RolloutRecord, store: PictureStore) -> list[Message]:
    """The whole conversation, each message with its picture, even one dropped since: the policy saw it."""
    return [
        Message(
            message_role(message.role),
            message.text,
            message.words,
            message.image_index,
            None if message.picture is None or message.image_index is None else store.get(message.picture),
        )
        for message in record.messages
    ]
