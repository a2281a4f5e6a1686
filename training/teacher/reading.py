"""What a question asks, by its words alone, without knowledge of the scene or the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from training.tasks.wordings import FORMS, SIDE_WORDS, WORDINGS

_OPTION = re.compile(r"([A-D])\) (.+?) it\b")


@dataclass(frozen=True)
class ReadQuestion:
    """A question that was understood.

    Attributes:
        kind: Kind of question, see `training.tasks.wordings`.
        blanks: Words in its blanks, e.g. {"a": "rice box"}.
        options: Letter -> words between the two things, of a choice.
    """

    kind: str
    blanks: Mapping[str, str]
    options: Mapping[str, str]


def read_question(text: str) -> ReadQuestion | None:
    """What a sentence asks; None where it is no such question."""
    for kind, pattern in _patterns():
        found = pattern.fullmatch(text.strip())
        if found:
            blanks = {name: value for name, value in found.groupdict().items() if name != "options"}
            options = dict(_OPTION.findall(found.groupdict().get("options") or ""))
            return ReadQuestion(kind, blanks, options)
    return None


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (kind, re.compile(f"{_pattern(wording)} {_pattern(FORMS[kind])}"))
        for kind, wordings in WORDINGS.items()
        for wording in wordings
    )


def _pattern(wording: str) -> str:
    """A wording as a regular expression, with a group for each blank."""
    pattern = re.escape(wording)
    pattern = pattern.replace(r"\{where\}", f"(?P<where>{'|'.join(SIDE_WORDS.values())})")
    return re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+?)", pattern)
