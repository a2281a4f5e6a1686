"""Sequences that practise copying: what the operator said, and the same words in the policy's moves.

A policy that was taught by a thousand conversations has read few names, and writes one that it knows where another one
was said: "PLAN pudding box RIGHT_OF red box" for "right of the pasta box". Two kinds of sequences show it many more;
neither needs a simulator: sentences with the plan that belongs to them, and conversations with other names.
"""

from __future__ import annotations

import re
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
from sim.scene.scenes import SIDES
from sim.tasks import sentences
from sim.tasks.predicates import RELATIONS
from tool_nodes.catalogue import load_catalogue
from tool_nodes.results import ToolError
from training.tasks.sayings import CommandWords, say_command, sayings, wordings_of
from training.tasks.splits import products_of
from training.teacher.careful import plan_of
from training.trainer.sequences import TokenSequence

_SIDED = 0.3
"""Share of the sentences whose target has a word for its side [-]: as many as of the task kinds have."""
_PLACED = 0.7
"""Share of them that say where to put it [-]: these have two names that can be taken for one another."""
_MADE_UP = 0.5
"""Share of the names that are any words, not a product's [-]: nothing but the sentence tells them."""
_BLANK = re.compile(r"\{\w+\}|[\[\]|]")
"""Blanks and signs of choice in a wording."""
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
        words = _command(weights.vocabulary, rng)
        said = say_command(rng, "train", words)
        try:
            plan = plan_of(parse_command(words.plain))
            slots = weights.vocabulary.read_sentence(said)[1]
        except ToolError:
            continue  # names that are any words may mean a side, or the same thing twice; too many words are unknown
        turn = render_move(Move("look", plan=plan), Registers(slots=slots))
        talk = [Message("user", said, said), Message("assistant", turn)]
        sequences.append(TokenSequence.of(read_context(talk, visual_encoder, weights.vocabulary)))
    return sequences


def _command(vocabulary: Vocabulary, rng: np.random.Generator) -> CommandWords:
    target = _name(vocabulary, rng)
    side = sentences.choose(rng, tuple(SIDES)) if rng.random() < _SIDED else ""
    if rng.random() >= _PLACED:
        return CommandWords(target, side)
    relation = RELATIONS[int(rng.integers(len(RELATIONS)))]
    beside = tuple(_name(vocabulary, rng) for _ in range(2 if relation == "between" else 1))
    return CommandWords(target, side, relation, beside)


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
    own = sayings("train")
    phrases = [phrase for part in (own.which, own.where) for some in part.values() for phrase in some]
    wordings = [wording for kind in ("relational_pick", "pick_and_place") for wording in wordings_of(kind, "train")]
    said = {word for text in (*own.polite, *phrases, *wordings) for word in said_words(_BLANK.sub(" ", text))}
    said |= {word for text in own.compared.values() for one in text for word in said_words(one)}
    return tuple(word for word in vocabulary.words if word in described - said)


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
