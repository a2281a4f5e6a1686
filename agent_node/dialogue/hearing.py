"""What is said besides a wish is taken out before anything is read: whom it is said to, courtesy, other words for it.

The words stand in tables/hearing.yaml. A sentence of nothing else stays as it is, as it may be small talk.
"""

from __future__ import annotations

import functools
import re
from typing import Any

from toolhand.agent_node.dialogue.wordings import FOLDER
from toolhand.agent_node.memory import POINTED
from toolhand.agent_node.policies.scripted.verbs import VERBS
from toolhand.tool_nodes.plain_yaml import load

_GERUND = re.compile(r"\bplease (\w+ing)\b", re.IGNORECASE)
_WORDS = re.compile(r"\w")


@functools.lru_cache(maxsize=256)
def heard(text: str) -> str:
    """A sentence without what changes nothing, and with plain words for the same; the same where it has a point."""
    if POINTED.search(text):
        return text
    said = text.strip()
    opens, closes, between, alone = _frames()
    before = ""
    while before != said:
        before = said
        for pattern in (opens, closes):
            rest = pattern.sub("", said, count=1).strip()
            said = said if alone.fullmatch(rest) else rest
        said = between.sub(r"\1", said)
    for pattern, words in _plain_words():
        said = pattern.sub(words, said)
    said = _GERUND.sub(_in_an_order, said)
    said = re.sub(r"\s+([,.?!])", r"\1", re.sub(r"\s{2,}", " ", said)).strip(" ,")
    return said if _WORDS.search(said) else text


def _in_an_order(found: re.Match[str]) -> str:
    """ "Please lift" for "please lifting"."""
    verb = VERBS.get(found[1].lower())
    return found.group() if verb is None else f"please {verb[0]}"


@functools.cache
def _table() -> dict[str, Any]:
    return dict(load((FOLDER / "hearing.yaml").read_bytes()))


@functools.cache
def _frames() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """What stands before a sentence, after it, and between its commas; and a text of nothing but that."""

    def one_of(*names: str) -> str:
        words = sorted((word for name in names for word in _table()[name]), key=len, reverse=True)
        return "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in words)

    address, opener, closer, bare = (one_of(name) for name in ("addresses", "openers", "closers", "bare closers"))
    set_off = one_of("bare openers")
    flags = re.IGNORECASE
    named = rf"(?:{address})\b(?:\s*[,.!:;–—-]+|\s+(?=(?:just|please|can|could|will|would|{_ORDERS})\b))\s*"
    opens = rf"^(?:(?:{opener})(?:\s*[,.!:;–—-]+\s*|\s+)(?:{named})?|(?:{set_off})\s*[,.!:;–—-]+\s*|{named})(?=\w)"
    closes = rf"(?:\s*[,.!–—-]\s*(?:{closer}|{bare}|{address})|\s+(?:{closer}))\s*[,.?!]*$"
    between = rf",\s*(?:{address}|quick|hurry|hurry up|come on|please)\s*(,)"
    alone = rf"\W*(?:(?:{address}|{opener}|{closer}|{bare}|{set_off})\W*)*"
    return tuple(re.compile(each, flags) for each in (opens, closes, between, alone))  # type: ignore[return-value]


@functools.cache
def _plain_words() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple(
        (re.compile(rf"(?<!\w)(?:{pattern}){'' if pattern.endswith(' ') else _END}", re.IGNORECASE), words)
        for pattern, words in [*_table()["uses"], *_table()["plain_words"]]
    )


_END = r"(?!(?<=\w)\w)"
"""A word does not go on here."""
_ORDERS = "put|pick|take|grab|get|move|bring|place|set|give|hand|drop|stick|chuck|throw|show|open|close|go"
"""Verbs before which somebody may be named without a comma."""
