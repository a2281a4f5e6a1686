"""Words that point: "this one", "that can", "here" mean what the operator has pointed at, in order.

They become words that stand alone, "the thing at (0.412, 0.530)" and "on the free spot at (0.700, 0.600)", so that
every policy is given the points in its sentence, whatever protocol it writes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from toolhand.agent_node.dialogue.clauses import parses, with_thing
from toolhand.agent_node.memory import at_point
from toolhand.agent_node.pointed import MOST_POINTS, PointedPoint
from toolhand.agent_node.policies.scripted.commands import parse_command
from toolhand.tool_nodes.language.words import DETERMINERS, FUNCTION_WORDS, word_set
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|[^\s\w]")
_THIS = word_set("this that")
_HERE = word_set("here there")
_NOUNS = word_set("one thing object item")
_SPOTS = word_set("spot place point position location")
_LEADS = word_set("over right down up just")
"""Words before "here" and "there" that add nothing."""
_TO_A_SPOT = word_set("on at to onto in into")
"""Words before a spot, which "on the free spot" holds already."""
_INTO = word_set("in into inside")
_SAID_OF = word_set("is was are were stands lies has does looks way much many far")
"""What follows a "that" or "there" that points at nothing: "the box that is red", "is there a can", "that much"."""
_IT = word_set("it")
_NO_NOUN = _LEADS | word_set("and then but please now again back up away here there this that these those it them")


@dataclass(frozen=True)
class _Pointing:
    """Words of a sentence that point: their (begin, end), what they are, and the noun that is said with them."""

    begin: int
    end: int
    kind: str
    noun: str = ""

    def words_at(self, point: tuple[float, float]) -> str:
        """The words that stand alone."""
        where = at_point(point)
        match self.kind:
            case "spot":
                return f"on the free spot at {where}"
            case "inside":
                return f"in the thing at {where}"
        return f"the {self.noun or 'thing'} at {where}"


def bound(text: str, pointed: Sequence[PointedPoint]) -> str:
    """A sentence with its points in the place of the words that mean them; the same where nothing was pointed at.

    Args:
        text: Sentence of the operator.
        pointed: Points given while it was said, in order.

    Raises:
        ToolError: AMBIGUOUS with one question where words and points are not as many; INVALID_ARGUMENT for too many
            points, or one in another picture than the scene camera's.
    """
    if not pointed:
        return text
    points = [each.point for each in pointed if each.point is not None and each.camera in ("", "scene")]
    if len(points) < len(pointed):
        raise invalid("Only points of the scene camera's picture can be referred to.", "Point at that picture.")
    if len(points) > MOST_POINTS:
        raise invalid(f"At most {MOST_POINTS} points go with a sentence, got {len(points)}.")
    found = _pointing(text)
    meant = [each for each in found if each.kind != "it"]
    missing = len(points) - len(meant)
    if missing > 0:
        weak = [each for each in found if each.kind == "it"][:missing]
        meant = sorted([*meant, *weak], key=lambda each: each.begin)
    if not meant and len(points) == 1 and (named := _named(text, points[0])):
        return named
    if len(meant) != len(points):
        raise ToolError(ErrorCode.AMBIGUOUS, _asked(text, meant, len(points)))
    for each, point in reversed(list(zip(meant, points, strict=True))):
        text = f"{text[: each.begin]}{each.words_at(point)}{text[each.end :]}"
    return text


def answer_at(text: str, pointed: Sequence[PointedPoint]) -> str:
    """An answer that one point gives, as "(0.412, 0.530)": a point alone, or with words that only point; else ""."""
    if len(pointed) != 1 or pointed[0].point is None:
        return ""
    left = text
    for each in reversed(_pointing(text)):
        left = "" if each.noun else f"{left[: each.begin]}{left[each.end :]}"
        if each.noun:
            return ""
    return "" if re.sub(r"[\W_]+|\b(?:yes|the|please)\b", "", left) else at_point(pointed[0].point)


def _pointing(text: str) -> list[_Pointing]:
    """The words of a sentence that point, in order."""
    spans = [match.span() for match in _WORD.finditer(text)]
    words = [text[begin:end].lower() for begin, end in spans]
    found: list[_Pointing] = []
    k = 0
    while k < len(words):
        word, after = words[k], words[k + 1] if k + 1 < len(words) else ""
        last, kind, noun = k, "", ""
        if word in _THIS and after not in _SAID_OF and not (k and words[k - 1] == "not"):
            kind, last, noun = _of_this(words, k)
        elif word in _HERE and after not in _SAID_OF and not (k and words[k - 1] in _SAID_OF):
            kind = "spot"
        elif word in _IT:
            kind = "it"
        if not kind:
            k += 1
            continue
        first = k
        if kind == "spot":
            while first and word in _HERE and words[first - 1] in _LEADS:
                first -= 1
            before = words[first - 1] if first else ""
            if before == "of" or (before in _INTO and word in _HERE):
                first, kind = (first, "thing") if before == "of" else (first - 1, "inside")
            elif before in _TO_A_SPOT:
                first -= 1
        found.append(_Pointing(spans[first][0], spans[last][1], kind, noun))
        k = last + 1
    return found


def _of_this(words: Sequence[str], k: int) -> tuple[str, int, str]:
    """(what "this" or "that" at a place points at, the last of its words, the noun that is said with it)."""
    after = words[k + 1] if k + 1 < len(words) else ""
    if after in _SPOTS:
        return "spot", k + 1, ""
    if after in _NOUNS:
        return "thing", k + 1, ""
    last = k
    while last + 1 < len(words) and _in_a_noun(words[last + 1]):
        last += 1
    return "thing", last, " ".join(words[k + 1 : last + 1])


def _in_a_noun(word: str) -> bool:
    plain = word not in FUNCTION_WORDS and word not in DETERMINERS and word not in _NO_NOUN
    return word[0].isalpha() and plain


def _named(text: str, point: tuple[float, float]) -> str:
    """A command to pick something up, with the point at its thing; empty for other sentences."""
    if not parses(text):
        return ""
    command = parse_command(text)
    if command.action != "pick" or command.target is None or command.target.point is not None:
        return ""
    return with_thing(text, f"the {command.target.text} at {at_point(point)}")


def _asked(text: str, meant: Sequence[_Pointing], points: int) -> str:
    """The question about words and points that are not as many."""
    said = [f'"{text[each.begin : each.end]}"' for each in meant]
    pointed = "one point" if points == 1 else f"{points} points"
    if not said:
        return f'You have given {pointed}, and no word such as "this one" or "here": which words mean it?'
    listed = said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
    return f"You have given {pointed} for {listed}: will you point once for each of them, in order?"
