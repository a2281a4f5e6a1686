"""The grammar of the robot's own plain words: what it reads exactly, and what may come next while they are written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from lark import Lark, Token, Tree
from lark.parsers.lalr_interactive_parser import InteractiveParser

from toolhand.tool_nodes.language.speeds import spoken_speed
from toolhand.tool_nodes.language.words import DETERMINERS, FUNCTION_WORDS, SIDES

GRAMMAR_FILE = Path(__file__).with_name("plan.lark")
"""The grammar, one page."""
OPEN = ("WORD", "NUMBER", "SAID", "POINT")
"""Terminals that stand for any word, for digits, for the operator's own words and for a point of the image."""
END = "$END"
_SHARE = r"(?:0?\.\d+|[01](?:\.0+)?)"
_POINT = rf"\({_SHARE}, *{_SHARE}\)"


class NotCanonical(ValueError):
    """Words that the grammar does not read; `at` is the first word [index] that does not fit."""

    def __init__(self, words: Sequence[str], at: int) -> None:
        super().__init__(" ".join([*words[:at], "<here>", *words[at:]]))
        self.at = at


@cache
def _parser() -> Lark:
    return Lark(GRAMMAR_FILE.read_text("utf-8"), parser="lalr", start="plan", maybe_placeholders=False)


@cache
def symbols() -> dict[str, tuple[str, ...]]:
    """Fixed words of the grammar, and the terminals that they may be: {"in front of": ("RELATION",)}."""
    found: dict[str, list[str]] = {}
    for terminal in _parser().terminals:
        if terminal.name in OPEN:
            continue
        value = terminal.pattern.value
        alternatives = value[3:-1].split("|") if value.startswith("(?:") else [value]
        for words in alternatives:
            found.setdefault(re.sub(r"\\(.)", r"\1", words), []).append(terminal.name)
    return {words: tuple(names) for words, names in found.items()}


@cache
def _longest() -> int:
    return max(len(symbol.split()) for symbol in symbols())


class PlanWriter:
    """A plan while it is written: what may come next, and what has come so far."""

    _allowed: ClassVar[dict[tuple[int, ...], frozenset[str]]] = {}

    def __init__(self) -> None:
        self._parser: InteractiveParser = _parser().parse_interactive("")

    def allowed(self) -> frozenset[str]:
        """Terminals that may come next, `END` where the plan may end here."""
        key = tuple(self._parser.parser_state.state_stack)
        if key not in self._allowed:
            self._allowed[key] = frozenset(self._parser.accepts())
        return self._allowed[key]

    def write(self, terminal: str, words: str) -> None:
        """Add a terminal that is allowed."""
        self._parser.feed_token(Token(terminal, words))

    def copy(self) -> PlanWriter:
        """Another one with the same words."""
        other = PlanWriter.__new__(PlanWriter)
        other._parser = self._parser.copy()
        return other

    def end(self) -> Tree[Any]:
        """The tree of what was written, which may end here."""
        return self._parser.feed_eof()


def split(text: str) -> list[str]:
    """Words and marks of a text in small letters."""
    return re.findall(rf"{_POINT}|[;,%]|[^\s;,%]+", text.lower())


_SMALL = FUNCTION_WORDS | DETERMINERS | {"and", "is", "are", "closer", "nearer", "farther"}
"""Words that stand for no object."""
_PARTS = SIDES.keys() | {"side", "edge", "corner", "part", "half", "end", "top", "bottom", "rim", "inside"}
"""What "of" makes a part of an object."""
_OF_OBJECT = frozenset({"EXTREME", "MOST"})
"""Terminals that say something of the object before them, after "that is"."""
_OF_ANY = _OF_OBJECT | {"RELATION", "BETWEEN", "PART"}
"""The same, and what may be a place."""
_PLACELESS = frozenset({"pick up", "choose", "hand over", "point at", "look at"})
"""Deeds that have no place."""
_THAT_IS, _THAT_IS_NOT = "that is", "that is not"


def is_small(word: str) -> bool:
    """Whether a word is one of those that stand for no object and no look of one: "in", "the", "and"."""
    return word in _SMALL


def terminals(text: str, spoken: bool = False) -> list[tuple[str, str]]:
    """The text as (terminal, words) pairs.

    Args:
        text: Words of the grammar.
        spoken: People say it so: no name holds a small word of English, and "that is" may be left out, as in "pick up
            the can left of the bowl"; but not where a place may follow, as nothing tells of which of them such words
            are.

    Raises:
        NotCanonical: Where it does not fit the grammar.
    """
    words, at, written = split(text), 0, []
    writer, said_of = PlanWriter(), _OF_OBJECT
    while at < len(words):
        lead = _left_out(writer.allowed(), words, at, said_of) if spoken else ""
        if lead:
            written.append((symbols()[lead][0], lead))
            writer.write(*written[-1])
            at += words[at] == "not"
        terminal, count = _fitting(writer, words, at)
        if not terminal or (spoken and terminal == "WORD" and _names_nothing(words, at)):
            raise NotCanonical(words, at)
        said = " ".join(words[at : at + count])
        writer.write(terminal, said)
        written.append((terminal, said))
        at += count
        said_of = _OF_ANY if said in _PLACELESS else _OF_OBJECT if said == ";" else said_of
    if END not in writer.allowed():
        raise NotCanonical(words, at)
    return written


def _names_nothing(words: Sequence[str], at: int) -> bool:
    """Whether a word is none of a name, as "side" in "side of the box"; "the" is one of "with the red lid"."""
    part = words[at] in _PARTS and words[at + 1 : at + 2] == ["of"]
    return part or (words[at] in _SMALL and words[at - 1] != "with") or spoken_speed(words[at]) is not None


def _left_out(allowed: frozenset[str], words: Sequence[str], at: int, said_of: frozenset[str]) -> str:
    """ "That is" or "that is not" where it is left out before one of some terminals, else nothing."""
    lead = _THAT_IS_NOT if words[at] == "not" else _THAT_IS
    if symbols()[lead][0] not in allowed:
        return ""
    terminal, _ = _next(said_of, words, at + (lead == _THAT_IS_NOT))
    return lead if terminal else ""


def _fitting(writer: PlanWriter, words: Sequence[str], at: int) -> tuple[str, int]:
    """The longest terminal that the next words fit after: of "on the right block" that is "on"."""
    most = _longest()
    while most:
        terminal, count = _next(writer.allowed(), words, at, most)
        if count < 2 or at + count == len(words):
            return terminal, count
        then = writer.copy()
        then.write(terminal, " ".join(words[at : at + count]))
        if _next(then.allowed(), words, at + count)[0]:
            return terminal, count
        most = count - 1
    return "", 0


def _next(allowed: frozenset[str], words: Sequence[str], at: int, most: int = 99) -> tuple[str, int]:
    if "SAID" in allowed:
        stop = next((k for k in range(at, len(words)) if words[k] == ";"), len(words))
        return ("SAID", stop - at) if stop > at else ("", 0)
    for count in range(min(_longest(), len(words) - at, most), 0, -1):
        for terminal in symbols().get(" ".join(words[at : at + count]), ()):
            if terminal in allowed:
                return terminal, count
    if at == len(words):
        return "", 0
    if re.fullmatch(_POINT, words[at]):
        return ("POINT", 1) if "POINT" in allowed else ("", 0)
    if "NUMBER" in allowed and words[at].isdigit():
        return "NUMBER", 1
    if "WORD" in allowed and words[at] not in ";,%":
        return "WORD", 1
    return "", 0


def parse(text: str, spoken: bool = False) -> Tree[Any]:
    """The tree of a text, see `terminals`. Raises NotCanonical where it does not fit."""
    writer = PlanWriter()
    for terminal, words in terminals(text, spoken):
        writer.write(terminal, words)
    return writer.end()
