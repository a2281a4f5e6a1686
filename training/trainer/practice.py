"""Sequences that practise reading: what the operator said, and the same words in the policy's moves.

A policy that was taught by a thousand conversations has read few names, and writes one that it knows where another one
was said: "PLAN pudding box RIGHT_OF red box" for "right of the pasta box"; and it has read few wordings. Two kinds of
sequences show it many more; neither needs a simulator: sentences with the plan that belongs to them, and conversations
with other names.
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
from training.tasks.sayings import CommandWords, say_widely, sayings, wider_things, words_of_commands
from training.tasks.splits import products_of
from training.teacher.careful import plan_of
from training.trainer.sequences import TokenSequence

_SIDED = 0.3
"""Share of the sentences whose target has a word for its side [-]: as many as of the task kinds have."""
_PLACED = 0.7
"""Share of them that say where to put it [-]: these have two names that can be taken for one another."""
_MADE_UP, _WIDER = 0.5, 0.25
"""Shares of the names that are any words, which nothing but the sentence tells, and that are of things without a
product; the others are products [-]. Round figures."""
_STRANGE, _UNKNOWN = "quux", 0.1
"""Begins a word that no vocabulary has, which stands as a slot; the share of made-up names that have one [-]."""
_UNHEARD = 0.1
"""Share of a sentence's words that are such a word instead, of those that it means the same without [-]: other people
have other words for them."""
_WORD = re.compile(r"[A-Za-z]+")


def sentence_sequences(weights: TinyWeights, count: int, rng: np.random.Generator) -> list[TokenSequence]:
    """Sequences of a sentence and the first turn that answers it, in the training's wordings and more.

    Args:
        weights: Weights with the vocabulary.
        count: Sequences.
        rng: Draws the sentences.
    """
    visual_encoder = VisualEncoder(weights.encoder, blind=True)  # before the first look there is nothing to see
    sequences: list[TokenSequence] = []
    while len(sequences) < count:
        words = _command(weights.vocabulary, rng)
        said = _with_unheard_words(say_widely(rng, words), words, rng)
        try:
            plan = plan_of(parse_command(words.plain))
            slots = weights.vocabulary.read_sentence(said)[1]
            turn = render_move(Move("look", plan=plan), Registers(slots=slots))
            talk = [Message("user", said, said), Message("assistant", turn)]
            context = read_context(talk, visual_encoder, weights.vocabulary)
        except ToolError:
            # Names that are any words may mean a side, or the same thing twice; too many words are unknown; a name with
            # 's is another word.
            continue
        sequences.append(TokenSequence.of(context))
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
    drawn = rng.random()
    if drawn >= _MADE_UP:
        return sentences.choose(rng, wider_things() if drawn < _MADE_UP + _WIDER else products_of("train"))
    words = [sentences.choose(rng, naming_words(vocabulary)) for _ in range(1 + int(rng.integers(3)))]
    if rng.random() < _UNKNOWN:
        words[0] = f"{_STRANGE}{int(rng.integers(9))}"
    return " ".join(dict.fromkeys(words))


def _with_unheard_words(said: str, words: CommandWords, rng: np.random.Generator) -> str:
    """A sentence in which some words that carry no meaning are none that anybody knows."""
    named = {word for name in (words.target, *words.references) for word in said_words(name)}

    def heard(match: re.Match[str]) -> str:
        word = match[0].lower()
        unheard = word in _carriers() and word not in named and rng.random() < _UNHEARD
        return f"{_STRANGE}{int(rng.integers(10, 99))}" if unheard else match[0]

    return _WORD.sub(heard, said)


@cache
def _carriers() -> frozenset[str]:
    """Words of the training's wordings that are in no phrase for a side or a place."""
    texts = words_of_commands()
    meaning = {word for text in texts.meanings for word in said_words(text)}
    return frozenset(word for text in texts.frames for word in said_words(text)) - meaning


@cache
def naming_words(vocabulary: Vocabulary) -> tuple[str, ...]:
    """Words of a vocabulary that describe products and mean no side, place or number."""
    described = {word for item in load_catalogue().values() for text in item.words for word in said_words(text)}
    texts = words_of_commands()
    said = {word for text in (*texts.frames, *texts.meanings) for word in said_words(text)}
    said |= {word for text in sayings("train").compared.values() for one in text for word in said_words(one)}
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
