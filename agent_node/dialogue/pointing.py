"""Words that point: "this one", "that can", "here" mean what the operator has pointed at, in order.

A reader is given a noun in the place of each, "put the lantern on the compass", and the points come back into its plan.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from toolhand.agent_node.dialogue.naming import mapped
from toolhand.agent_node.memory import at_point
from toolhand.agent_node.plan.types import ObjectRef, PlacePart, Plan
from toolhand.agent_node.pointed import MOST_POINTS, PointedPoint
from toolhand.agent_node.policies.scripted.answers import point_in
from toolhand.tool_nodes.language.words import DETERMINERS, FUNCTION_WORDS, word_set
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.types import ImagePoint

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


_STAND_INS = (
    "lantern", "compass", "whistle", "thimble", "violin", "anchor", "saddle", "trumpet", "easel", "candle", "pulley",
    "kettle", "helmet", "banjo", "sickle", "goblet", "wallet",
)  # fmt: skip
"""Nouns that a reader is given for what was pointed at: twice as many as there may be points, and one."""
_TYPED = re.compile(
    r"(?:(?:on|to|at) )?(?:the )?(?:free )?(?P<spot>spot|place|point) at \((?P<x>[\d.]+),? *(?P<y>[\d.]+)\)"
    r"|(?P<noun>[a-z]+) at \((?P<u>[\d.]+),? *(?P<v>[\d.]+)\)",
    re.IGNORECASE,
)
"""A point that is said with what stands there."""


@dataclass(frozen=True)
class _Pointing:
    """Words of a sentence that point: their (begin, end), what they are, and the noun that is said with them."""

    begin: int
    end: int
    kind: str
    noun: str = ""


@dataclass(frozen=True)
class _Mark:
    """What a noun stands for: an object at a point, or the spot there."""

    noun: str
    point: ImagePoint
    spot: bool


class PointedNouns:
    """A sentence with nouns in the place of the words that point.

    Args:
        text: Sentence of the operator.
        pointed: Points given while it was said, in order.

    Attributes:
        text: The sentence for a reader.

    Raises:
        ToolError: AMBIGUOUS with one question where words and points are not as many; INVALID_ARGUMENT for too many
            points, or one in another image than the scene camera's.
    """

    def __init__(self, text: str, pointed: Sequence[PointedPoint]) -> None:
        self._said, self._nouns, self._unbound = text, dict[str, _Mark](), tuple[ImagePoint, ...]()
        points = [each.point for each in pointed if each.point is not None and each.camera in ("", "scene")]
        if len(points) < len(pointed):
            raise invalid("Only points of the scene camera's picture can be referred to.", "Point at that picture.")
        if len(points) > MOST_POINTS:
            raise invalid(f"At most {MOST_POINTS} points go with a sentence, got {len(points)}.")
        self.text = _TYPED.sub(self._typed, text)
        found = _pointing(self.text) if points else []
        meant = [each for each in found if each.kind != "it"]
        weak = [each for each in found if each.kind == "it"][: max(0, len(points) - len(meant))]
        meant = sorted([*meant, *weak], key=lambda each: each.begin)
        if not meant and len(points) == 1:
            self._unbound = (points[0],)
        elif len(meant) != len(points):
            raise ToolError(ErrorCode.AMBIGUOUS, _asked(self.text, meant, len(points)))
        else:
            for each, point in reversed(list(zip(meant, points, strict=True))):
                noun = self._stand_in(_Mark(each.noun or "thing", point, each.kind == "spot"))
                lead = {"spot": "on ", "inside": "in "}.get(each.kind, "")
                self.text = f"{self.text[: each.begin]}{lead}the {noun}{self.text[each.end :]}"

    def _typed(self, found: re.Match[str]) -> str:
        if found["spot"]:
            return f"on the {self._stand_in(_Mark('', (float(found['x']), float(found['y'])), True))}"
        return self._stand_in(_Mark(found["noun"].lower(), (float(found["u"]), float(found["v"])), False))

    def _stand_in(self, mark: _Mark) -> str:
        words = {*self._nouns, *re.findall(r"\w+", self._said.lower())}
        noun = next(each for each in _STAND_INS if each not in words)
        self._nouns[noun] = mark
        return noun

    def put_back(self, plan: Plan) -> Plan:
        """A plan of the sentence with the points in the place of the nouns.

        Raises:
            ToolError: AMBIGUOUS where it says nothing that a point could mean.
        """
        if self._unbound:
            [point] = self._unbound
            if len(plan) != 1 or len(plan[0].objects) != 1 or plan[0].place or plan[0].objects[0].is_many:
                raise ToolError(ErrorCode.AMBIGUOUS, _asked(self._said, (), 1))
            return (replace(plan[0], objects=(replace(plan[0].objects[0], point=point),)),)
        marked = (replace(act, place=tuple(map(self._placed, act.place))) for act in plan)
        return tuple(mapped(act, self._object) for act in marked)

    def _mark(self, ref: ObjectRef) -> _Mark | None:
        return next((self._nouns[word] for word in ref.words.split() if word in self._nouns), None)

    def _placed(self, part: PlacePart) -> PlacePart:
        mark = self._mark(part.objects[0]) if part.kind in ("relation", "inside") and part.objects else None
        return PlacePart("point", point=mark.point) if mark is not None and mark.spot else part

    def _object(self, ref: ObjectRef) -> ObjectRef:
        mark = self._mark(ref)
        return ref if mark is None else replace(ref, quantity="the", words=mark.noun or "thing", point=mark.point)


def answer_at(text: str, pointed: Sequence[PointedPoint]) -> str:
    """An answer that one point gives, as "(0.412, 0.530)": a point alone, or with words that only point; else ""."""
    if not pointed and (typed := point_in(text)) is not None:
        return at_point(typed)
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


def _asked(text: str, meant: Sequence[_Pointing], points: int) -> str:
    """The question about words and points that are not as many."""
    said = [f'"{text[each.begin : each.end]}"' for each in meant]
    pointed = "one point" if points == 1 else f"{points} points"
    if not said:
        return f'You have given {pointed}, and no word such as "this one" or "here": which words mean it?'
    listed = said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
    return f"You have given {pointed} for {listed}: will you point once for each of them, in order?"
