"""The words of a small policy that is trained here."""

from __future__ import annotations

from functools import cache

from agent_node.policies.tiny.vocabulary import Vocabulary, default_vocabulary, said_words
from training.tasks.sayings import words_of_commands


@cache
def taught_vocabulary() -> Vocabulary:
    """The default vocabulary, and every word of the training's commands, also of those that are only read."""
    said = words_of_commands()
    more = {word for text in (*said.frames, *said.meanings) for word in said_words(text)}
    return Vocabulary(sorted({*default_vocabulary().words, *more}))
