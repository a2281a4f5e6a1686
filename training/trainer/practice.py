"""Sequences that practise copying: what the operator said, and the same words in the policy's moves.

A policy that was taught by a thousand conversations has read few names, and writes one that it knows where another one
was said: "PLAN pudding box RIGHT_OF red box" for "right of the pasta box". Two kinds of sequences show it many more;
neither needs a simulator: sentences with the plan that belongs to them, and conversations with other names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from agent_node.policies.scripted.commands import parse_command
from agent_node.policies.tiny.context import read_context
from agent_node.policies.tiny.dialect import Move, Registers, render_move
from agent_node.policies.tiny.visual_encoder import VisualEncoder
from agent_node.policies.tiny.vocabulary import Vocabulary, said_words
from agent_node.policies.tiny.weights import TinyWeights
from agent_node.policy import Message
from sim.tasks import sentences
from tool_nodes.catalogue import load_catalogue
from tool_nodes.results import ToolError
from training.tasks.splits import products_of, wordings_of
from training.teacher.careful import plan_of
from training.trainer.sequences import TokenSequence

_SIDED = 0.3
"""Share of the sentences whose target has a word for its side [-]: as many as of the task kinds have."""
_PLACED = 0.7
"""Share of them that say where to put it [-]: these have two names that can be taken for one another."""
_MADE_UP = 0.5
"""Share of the names that are any words, not a product's [-]: nothing but the sentence tells them."""
_STRANGE, _UNKNOWN = "quux", 0.1
"""Begins a word that no vocabulary has, which stands as a slot; the share of made-up names that have one [-]."""


def sentence_sequences(weights: TinyWeights, count: int, rng: np.random.Generator) -> list[TokenSequence]:
    """Sequences of a sentence and the first turn that answers it, in the training's wordings.

    Args:
        weights: Weights with the vocabulary.
        count: Sequences.
        rng: Draws the sentences.
    """
    visual_encoder = VisualEncoder(weights.encoder, blind=True)  # before the first look there is nothing to see
    sequences: list[TokenSequence] = []
    while len(sequences) < count:
        said = _sentence(weights.vocabulary, rng)
        try:
            plan = plan_of(parse_command(said))
        except ToolError:
            continue  # names that are any words may mean a side, or the same thing twice
        slots = weights.vocabulary.read_sentence(said)[1]
        turn = render_move(Move("look", plan=plan), Registers(slots=slots))
        talk = [Message("user", said, said), Message("assistant", turn)]
        sequences.append(TokenSequence.of(read_context(talk, visual_encoder, weights.vocabulary)))
    return sequences


def _sentence(vocabulary: Vocabulary, rng: np.random.Generator) -> str:
    target = _name(vocabulary, rng)
    if rng.random() < _SIDED:
        side = sentences.choose(rng, tuple(sentences.COMPARATIVES))
        target = sentences.COMPARATIVES[side][0].format(target)
    else:
        target = f"the {target}"
    if rng.random() >= _PLACED:
        return sentences.choose(rng, wordings_of(sentences.PICK, "train")).format(target=target)
    relations = tuple(sentences.WHERE.values())
    where = sentences.choose(rng, relations[int(rng.integers(len(relations)))])
    beside = [f"the {_name(vocabulary, rng)}" for _ in range(2)]
    said = sentences.choose(rng, wordings_of(sentences.PICK_AND_PLACE, "train"))
    return said.format(target=target, where=where.format(*beside))


def _name(vocabulary: Vocabulary, rng: np.random.Generator) -> str:
    if rng.random() >= _MADE_UP:
        return sentences.choose(rng, products_of("train"))
    words = [sentences.choose(rng, naming_words(vocabulary)) for _ in range(1 + int(rng.integers(3)))]
    if rng.random() < _UNKNOWN:
        words[0] = f"{_STRANGE}{int(rng.integers(9))}"
    return " ".join(dict.fromkeys(words))


@cache
def naming_words(vocabulary: Vocabulary) -> tuple[str, ...]:
    """Words of a vocabulary that describe products and mean no side, place or number."""
    described = {word for item in load_catalogue().values() for text in item.words for word in said_words(text)}
    structure = {word for text in (*sentences.PICK, *sentences.PICK_AND_PLACE) for word in said_words(text)}
    placing = {word for texts in sentences.WHERE.values() for text in texts for word in said_words(text)}
    sides = {word for texts in sentences.COMPARATIVES.values() for text in texts for word in said_words(text)}
    return tuple(word for word in vocabulary.words if word in described - structure - placing - sides)


class Renaming:
    """Makes sequences with other names.

    Args:
        vocabulary: Vocabulary of the policy.
        rng: Draws sequences and names.
    """

    def __init__(self, vocabulary: Vocabulary, rng: np.random.Generator) -> None:
        self._names = np.array([vocabulary.id(word) for word in naming_words(vocabulary)], np.int32)
        self._is_name = np.isin(np.arange(len(vocabulary)), self._names)
        self._rng = rng

    def sentences(self, sequences: Sequence[TokenSequence], count: int) -> list[TokenSequence]:
        """Sequences drawn from those of `sentence_sequences`, every name another one throughout."""
        return [self._renamed(sequence) for sequence in self._drawn(sequences, count)]

    def conversations(self, sequences: Sequence[TokenSequence], count: int) -> list[TokenSequence]:
        """Sequences drawn from whole conversations, every name another one throughout.

        What the policy saw is of the old names; so only words, and the token after each, are learned from: their
        `advantages` are 1, those of other tokens 0.
        """
        made = []
        for sequence in self._drawn(sequences, count):
            copied = self._is_name[sequence.tokens] & sequence.sampled
            learned = copied | (np.roll(copied, 1) & sequence.sampled)
            made.append(replace(self._renamed(sequence), advantages=learned.astype(np.float32)))
        return made

    def _drawn(self, sequences: Sequence[TokenSequence], count: int) -> list[TokenSequence]:
        return [sequences[k] for k in self._rng.integers(len(sequences), size=count)] if count else []

    def _renamed(self, sequence: TokenSequence) -> TokenSequence:
        other = np.arange(len(self._is_name), dtype=np.int32)
        other[self._names] = self._rng.permutation(self._names)
        return replace(sequence, tokens=other[sequence.tokens])
