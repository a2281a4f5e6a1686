"""What a sentence says, by the grammar that made it, without knowledge of the scene or the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from toolhand.training.tasks.sayings import command_of, heard, side_of
from toolhand.training.tasks.wordings import FORMS, SIDE_WORDS

_OPTION = re.compile(r"([A-D])\) (.+?) it\b")


@dataclass(frozen=True)
class ReadQuestion:
    """A question that was understood.

    Attributes:
        kind: Kind of question, a key of `toolhand.training.tasks.wordings.FORMS`.
        blanks: Words in its blanks, e.g. {"a": "rice box"}; a side in the words of `SIDE_WORDS`.
        options: Letter -> words between the two objects, of a choice.
    """

    kind: str
    blanks: Mapping[str, str]
    options: Mapping[str, str]


def read_question(text: str) -> ReadQuestion | None:
    """What a sentence asks; None where it is no such question."""
    found: list[tuple[int, ReadQuestion]] = []
    for kind, form in _forms():
        ends = form.search(text.strip())
        said = None if ends is None else heard(text.strip()[: ends.start()], kind)
        if ends is None or said is None:
            continue
        blanks = dict(said.blanks)
        if "where" in blanks:
            side = side_of(blanks["where"])
            if side is None:
                continue
            blanks["where"] = SIDE_WORDS[side]
        options = dict(_OPTION.findall(ends.groupdict().get("options") or ""))
        found.append((said.free, ReadQuestion(kind, blanks, options)))
    return min(found, key=lambda one: one[0], default=(0, None))[1]


def plainly(text: str) -> str:
    """A command of the grammar in the plainest words; any other sentence as it is.

    A teacher shows what a sentence asks for: that it is understood must not depend on who can read it.
    """
    words = command_of(text)
    return text if words is None else words.plain


@cache
def _forms() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((kind, re.compile(f" {_form(form)}$")) for kind, form in FORMS.items())


def _form(form: str) -> str:
    return re.escape(form).replace(r"\{options\}", r"(?P<options>A\) .+?)")
