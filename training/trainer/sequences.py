"""What the trainer learns from: sequences, one a rollout, whatever they come from. Numpy alone.

A sequence is the whole conversation as the tiny policy reads it, with a mark on what the policy wrote itself.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent_node.policies.tiny.context import TinyContext
from agent_node.policies.tiny.vocabulary import Tokens
from tool_nodes.array_files import read_arrays
from tool_nodes.files import write_whole
from tool_nodes.results import ToolError, invalid
from tool_nodes.types import BoolArray
from training.advantages.tokens import of_turns, spans_of

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class TokenSequence:
    """One conversation of L tokens, with what is to be learned from it.

    Attributes:
        tokens: (L,) int32.
        visual_features: (L, E) float32: what is seen at each token, zeros at most.
        sampled: (L,) bool: the policy wrote this token; the first token never is.
        advantages: (L,) float32, 0 where not sampled; for SFT how much a token counts, ones if nothing else is said.
        logprobs: (L,) float32, natural, of the policy that sampled; 0 elsewhere, and everywhere for SFT.
    """

    tokens: Tokens
    visual_features: Floats
    sampled: BoolArray
    advantages: Floats
    logprobs: Floats

    def __len__(self) -> int:
        return len(self.tokens)

    @classmethod
    def of(cls, context: TinyContext, logprobs: Sequence[float] | None = None) -> TokenSequence:
        """A sequence of a context, whose advantages are ones, up to the last token that was sampled.

        What was answered to the last turn teaches nothing, and may be more than the policy can read: without this cut,
        a conversation that went on until it was full could not be learned from, and it is the one to be learned from.

        Args:
            context: The whole conversation.
            logprobs: Log-probabilities of the sampled tokens in their order; unknown where None.

        Raises:
            ToolError: INVALID_ARGUMENT where there is another number of them.
        """
        written = np.flatnonzero(context.sampled)
        length = int(written[-1]) + 1 if len(written) else len(context)
        sampled = np.asarray(context.sampled, bool)[:length]
        known = np.zeros(len(sampled), np.float32)
        if logprobs is not None:
            if len(logprobs) != int(sampled.sum()):
                raise _wrong(f"{int(sampled.sum())} tokens were sampled, and {len(logprobs)} have log-probabilities")
            known[sampled] = logprobs
        return cls(
            np.asarray(context.tokens[:length], np.int32),
            np.asarray(context.visual_features[:length], np.float32),
            sampled,
            sampled.astype(np.float32),
            known,
        )

    @property
    def spans(self) -> list[tuple[int, int]]:
        """First token, and the one after the last, of each turn of the policy."""
        return spans_of(self.sampled)

    def with_advantages(self, advantages: float | Sequence[float] | NDArray[np.float64]) -> TokenSequence:
        """The same sequence with one advantage for all that was sampled, or one for each of its T turns.

        Raises:
            ToolError: INVALID_ARGUMENT for another number of turns.
        """
        if isinstance(advantages, float | int):
            tokens = np.where(self.sampled, float(advantages), 0.0)
        else:
            tokens = of_turns(np.asarray(advantages, np.float64), self.spans, len(self))
        return replace(self, advantages=tokens.astype(np.float32))


def problem_of(sequence: TokenSequence, vocabulary: int, visual_width: int, positions: int) -> str:
    """Why a sequence cannot be trained on, as the words after "a row"; empty where it can.

    Args:
        sequence: Any.
        vocabulary: Tokens are below this.
        visual_width: E.
        positions: Longest sequence.
    """
    length = len(sequence.tokens)
    shapes = [sequence.sampled.shape, sequence.advantages.shape, sequence.logprobs.shape]
    if (
        sequence.tokens.ndim != 1
        or any(shape != (length,) for shape in shapes)
        or sequence.visual_features.shape != (length, visual_width)
    ):
        return f"has parts of other lengths, or visual features of another width than {visual_width}"
    if not 2 <= length <= positions:
        return f"is not of 2 to {positions} tokens"
    if sequence.tokens.min() < 0 or sequence.tokens.max() >= vocabulary:
        return f"has tokens that are not in the vocabulary of {vocabulary}"
    if not all(np.isfinite(part).all() for part in (sequence.visual_features, sequence.advantages, sequence.logprobs)):
        return "has values that are not numbers"
    if sequence.sampled[0] or not sequence.sampled.any():
        return "has no token that the policy wrote after another"
    if sequence.logprobs.max() > 1e-4:
        return "has probabilities above 1"
    return ""


def trainable(
    sequences: Iterable[TokenSequence], vocabulary: int, visual_width: int, positions: int
) -> tuple[list[TokenSequence], Counter[str]]:
    """The sequences that can be trained on, and how many cannot, by their problem.

    Raises:
        ToolError: INVALID_ARGUMENT where none can, or none is there.
    """
    usable: list[TokenSequence] = []
    bad: Counter[str] = Counter()
    for sequence in sequences:
        problem = problem_of(sequence, vocabulary, visual_width, positions)
        if problem:
            bad[f"a row {problem}"] += 1
        else:
            usable.append(sequence)
    if not usable:
        why = bad.most_common(1)[0][0] if bad else "there is none"
        raise invalid(f"No row can be trained on: {why}.")
    return usable, bad


@dataclass(frozen=True, eq=False)
class TokenBatch:
    """B sequences as arrays of L columns, filled up at the end with what is not sampled.

    Attributes:
        tokens, visual_features, sampled, advantages, logprobs: Fields of TokenSequence, (B, L) and (B, L, E).
    """

    tokens: Tokens
    visual_features: Floats
    sampled: BoolArray
    advantages: Floats
    logprobs: Floats

    @classmethod
    def of(cls, sequences: Sequence[TokenSequence]) -> TokenBatch:
        """Sequences of one width of visual features, one or more."""
        longest = max(len(sequence) for sequence in sequences)

        def filled(name: str) -> NDArray[Any]:
            first = getattr(sequences[0], name)
            out = np.zeros((len(sequences), longest, *first.shape[1:]), first.dtype)
            for k, sequence in enumerate(sequences):
                out[k, : len(sequence)] = getattr(sequence, name)
            return out

        return cls(
            **{name: filled(name) for name in ("tokens", "visual_features", "sampled", "advantages", "logprobs")}
        )


def even_batches(
    sequences: Sequence[TokenSequence], most: int, rng: np.random.Generator
) -> Iterator[list[TokenSequence]]:
    """All sequences once in random order, in the fewest batches of at most `most`, which differ by one sequence.

    For RL, where a step is as long whatever it is made of: the last few are no batch of their own, and sequences of
    like lengths, which ended alike, are not together.
    """
    for part in np.array_split(rng.permutation(len(sequences)), -(-len(sequences) // most)):
        yield [sequences[k] for k in part]


def alike(sequences: Sequence[TokenSequence], most: int) -> list[list[TokenSequence]]:
    """All sequences in parts of at most `most`, each of like lengths, so that little is filled."""
    by_length = sorted(sequences, key=len)
    return [by_length[first : first + most] for first in range(0, len(sequences), most)]


def batches(sequences: Sequence[TokenSequence], size: int, rng: np.random.Generator) -> Iterator[list[TokenSequence]]:
    """All sequences once in random order, `size` at a time, those of a batch of like lengths, so that little is filled.

    The last batch of a stretch may be smaller: no sequence is left out.
    """
    order = rng.permutation(len(sequences))
    stretch = _STRETCH * size
    chunks = []
    for first in range(0, len(order), stretch):
        alike = sorted(order[first : first + stretch].tolist(), key=lambda k: len(sequences[k]))
        chunks += [alike[k : k + size] for k in range(0, len(alike), size)]
    for k in rng.permutation(len(chunks)):
        yield [sequences[place] for place in chunks[k]]


_STRETCH = 8
"""Batches that are sorted by length together; enough for like lengths, and still random."""


def write_sequences(path: Path, sequences: Sequence[TokenSequence]) -> None:
    """Write sequences to a file, whole or not at all. Raises OSError."""
    buffer = io.BytesIO()
    parts: dict[str, Any] = {
        _STORED.get(name, name): np.concatenate([getattr(sequence, name) for sequence in sequences]) for name in _PARTS
    }
    np.savez_compressed(buffer, lengths=np.array([len(sequence) for sequence in sequences], np.int64), **parts)
    write_whole(path, buffer.getvalue())


def read_sequences(path: Path) -> list[TokenSequence]:
    """The sequences of a file of `write_sequences`. Raises ToolError INVALID_ARGUMENT where it is damaged or none."""
    try:
        stored = read_arrays(path, ("lengths", *(_STORED.get(name, name) for name in _PARTS)))
        edges = np.cumsum(stored["lengths"])[:-1]
        parts = {name: np.split(stored[_STORED.get(name, name)], edges) for name in _PARTS}
        return [TokenSequence(*values) for values in zip(*(parts[name] for name in _PARTS), strict=True)]
    except OSError as error:
        raise invalid(f"Cannot read {path}: {error.strerror or error}.") from error
    except (ValueError, TypeError, IndexError) as error:
        raise invalid(f"{path} is no file of rows, or damaged.", "Delete it to make it again.") from error


_PARTS = ("tokens", "visual_features", "sampled", "advantages", "logprobs")
_STORED = {"visual_features": "eyes"}
"""Names of arrays in files, where they are not those of the fields."""


def _wrong(what: str) -> ToolError:
    return invalid(f"A row cannot be made: {what}.")
