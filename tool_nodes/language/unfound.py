"""The sentences by which a pointing tool says that a description fits nothing here, and what they tell a program.

Errors travel as a code and a sentence, also over ROS: what writes the sentences and what reads them stand together.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from toolhand.tool_nodes.language.words import COUNTS, counted, one_of

_LONGEST_QUOTE = 80
"""Longest description that is quoted [characters]."""
_SHOWN_NAMES = 10
"""Most objects that are named where none is what was meant."""

NOTHING_REAL = "skyscraper"
"""A name that nothing here has: a pointing tool answers with what it sees."""
ALIKE = "no '{asked}' here; do you mean {alike}? I see: {seen}"
UNKNOWN = "I do not know '{unknown}', so I cannot say whether '{asked}' is here: I know {known}; I see: {seen}"
STRANGE = "no '{asked}' here: nothing here is called '{strange}'; I see: {seen}"
PLAIN = "no '{asked}' here; I see: {seen}"
"""What is alike, what has words that are not known, what has words that fit nothing here, and anything else."""


@dataclass(frozen=True)
class Unfound:
    """A description that fits nothing in an image.

    Attributes:
        asked: The description, without its article.
        unknown: Words of it that the tool does not know.
        strange: Words of it that it knows, and that fit nothing here.
        alike: Names of objects here that are alike and not the same.
        seen: Names of the objects that are here.
    """

    asked: str
    unknown: tuple[str, ...] = ()
    strange: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()


def unfound_in(message: str) -> Unfound | None:
    """What a sentence of a pointing tool says is not here; None for another sentence."""
    found = next((match for form in _FORMS if (match := form.search(message)) is not None), None)
    if found is None:
        return None
    told = found.groupdict()
    alike = re.split(r" or |, ", told.get("alike") or "")
    return Unfound(
        told["asked"],
        tuple((told.get("unknown") or "").split()),
        tuple((told.get("strange") or "").split()),
        tuple(name.removeprefix("the ") for name in alike if name),
        tuple(name for name, _, _ in names_seen(message)),
    )


def quoted(text: str) -> str:
    """A description as it is quoted."""
    return text[:_LONGEST_QUOTE]


def listed(names: Iterable[str]) -> str:
    """ "red box, two cans", at most ten of them."""
    shown = [name if n == 1 else counted(n, name) for name, n in Counter(names).items()]
    more = [f"and {len(shown) - _SHOWN_NAMES} more"] if len(shown) > _SHOWN_NAMES else []
    return ", ".join(shown[:_SHOWN_NAMES] + more) or _NOTHING


def names_seen(text: str) -> list[tuple[str, str, int]]:
    """The objects that a pointing tool says it sees: each one's name, the words to ask for it, and how many there are.

    Args:
        text: Answer of the call, e.g. "no 'unicorn' here; I see: honey, two cans".
    """
    found = _SEEN.search(text)
    parts: Sequence[str] = [] if found is None else [part.strip().rstrip(".") for part in found[1].split(",")]
    names: list[tuple[str, str, int]] = []
    for part in parts:
        if not part or part == _NOTHING or _MORE.fullmatch(part):
            continue
        several = _SEVERAL.fullmatch(part)
        if several is None:
            names.append((part, part, 1))
            continue
        number = COUNTS.index(several[1]) if several[1] in COUNTS else int(several[1])
        names.append((one_of(several[2]), several[2], number))
    return names


def _form(template: str) -> re.Pattern[str]:
    """A pattern that reads what a template has written."""
    parts = re.split(r"\{(\w+)\}", template)
    fields = [f"(?P<{part}>.+?)" if k % 2 else re.escape(part) for k, part in enumerate(parts)]
    return re.compile("".join(fields))


_NOTHING = "nothing on the table"
_SEEN = re.compile(r"I see: ([^;]*)")
_SEVERAL = re.compile(rf"({'|'.join(COUNTS[2:])}|\d+) (.+)")
_MORE = re.compile(r"and \d+ more")
_FORMS = tuple(map(_form, (UNKNOWN, ALIKE, STRANGE, PLAIN)))
