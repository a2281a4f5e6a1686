"""What a pointing tool says that it sees: the names that things have here."""

from __future__ import annotations

import re

from toolhand.tool_nodes.language.words import singular

NOTHING_REAL = "unicorn"
"""A name that nothing here has: a pointing tool answers with what it sees."""
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_SEEN = re.compile(r"I see: ([^;]*)")
_SEVERAL = re.compile(rf"({'|'.join(NUMBERS[2:])}|\d+) (.+)")
_MORE = re.compile(r"and \d+ more|nothing on the table")


def one_of(name: str) -> str:
    """A name in the singular: "red box" of "red boxes"."""
    *words, last = name.split()
    return " ".join([*words, singular(last)])


def names_seen(text: str) -> list[tuple[str, str, int]]:
    """The things that a pointing tool says it sees: each one's name, the words to ask for it, and how many there are.

    Args:
        text: Answer of the call, e.g. "no 'unicorn' here; I see: honey, two cans".
    """
    found = _SEEN.search(text)
    listed = [] if found is None else [part.strip().rstrip(".") for part in found[1].split(",")]
    names: list[tuple[str, str, int]] = []
    for part in listed:
        if not part or _MORE.fullmatch(part):
            continue
        several = _SEVERAL.fullmatch(part)
        if several is None:
            names.append((part, part, 1))
            continue
        number = NUMBERS.index(several[1]) if several[1] in NUMBERS else int(several[1])
        names.append((one_of(several[2]), several[2], number))
    return names
