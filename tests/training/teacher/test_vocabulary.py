"""The words of a small policy that is trained here: those of its training, and of no held-out sentence."""

from __future__ import annotations

import numpy as np

from agent_node.policies.tiny.vocabulary import default_vocabulary
from training.tasks.sayings import CommandWords, say_widely
from training.teacher.vocabulary import taught_vocabulary


def test_it_knows_every_word_of_the_trainings_commands() -> None:
    vocabulary, rng = taught_vocabulary(), np.random.default_rng(0)
    assert set(default_vocabulary().words) < set(vocabulary.words)
    for number in range(200):
        side = ("", "left", "right", "front", "behind")[number % 5]
        between = CommandWords("red box", side, "between", ("mug", "can"))
        said = say_widely(rng, between if number % 2 else CommandWords("red box", side))
        assert not vocabulary.read_sentence(said)[1], said


def test_words_that_only_held_out_sentences_have_are_unknown() -> None:
    assert not taught_vocabulary().knows("establish")
    assert not taught_vocabulary().knows("stapler"), "names that are only read stand as slots"
