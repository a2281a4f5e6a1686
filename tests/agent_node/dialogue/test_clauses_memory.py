"""What is remembered of a sentence that cannot be read is the sentence, and not whoever has said it."""

from __future__ import annotations

import gc
import weakref

from toolhand.agent_node.dialogue.clauses import parse_problem, parses


class Speaker:
    """Stands for a robot with its world."""


def refused(text: str) -> weakref.ref[Speaker]:
    speaker = Speaker()
    assert not parses(text)
    assert parse_problem(text) is not None
    return weakref.ref(speaker)


def test_a_refused_sentence_keeps_nobody_alive() -> None:
    left = refused("frobnicate the kettle of last week")
    gc.collect()
    assert left() is None
