"""Reads places that are no plain relation: parts of the table, lengths, ways from where a thing stands.

places.yaml holds the wordings. Directions are those of the picture; the one who says "me" stands behind the camera, and
"you" is the robot, opposite.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from toolhand.tool_nodes import plain_yaml
from toolhand.tool_nodes.language.measures import metres, point_of
from toolhand.tool_nodes.language.places import BESIDE, BIT_M, LOT_M, STEP_M, FreeSpaceRequest
from toolhand.tool_nodes.language.relations import rewrite, split_references

_NOUN = r"(?!by =)[^=@]+?(?: @\S+)?"
_BIT = r"(?:just )?(?:a (?:little bit|tiny bit|little|bit|tad|touch)|slightly|somewhat)"
_SIDE = r"left|right|front|back|rear|near|far|middle|centre|lefthand|righthand"
_DEPTH, _WIDTH = "front|back|rear|near|far|upper|lower|top|bottom", "left|right"
TABLE = r"(?:table|desk|counter|surface|workspace|worktop|tabletop|picture|image|scene|view)(?: top)?"
_PARTS = {
    "on": "(?:on|in|at|onto|to|into)",
    "free": r"(?:(?:free|empty|clear|open|vacant|same|very|exact) )*(?:spot|space|place|point|position|location)",
    "point": r"(?P<point>@\S+)",
    "lead": r"(?:(?:over|up|down|out|all the way|right|straight|somewhere|anywhere|back|close|near) )*"
    r"(?:on|at|in|into|to|by|near|onto|towards?|along)",
    "article": r"(?:(?:the |my |our )?(?:(?:very|far|extreme|whole|outer) )*)",
    "the": r"(?:the |my |our )",
    "any": r"(?:(?:any|a|an|some|one|either|the)(?: of the)? )",
    "side": rf"(?P<side>{_SIDE})(?:most)?",
    "both": rf"(?P<both>(?:{_DEPTH}) (?:{_WIDTH})|(?:{_WIDTH}) (?:{_DEPTH}))",
    "hand": r"(?: hand)?",
    "part": r"(?: (?:side|part|half|end|third|section|area|region|quarter))*",
    "table": rf"(?: (?:of|on) (?:the |this |my |our )?{TABLE})?",
    "me": r"(?P<me>me|us|myself|the camera|the operator|the viewer)",
    "you": r"(?P<you>you|yourself|the robot|the arm|the base|your base)",
    "possible": r"as (?:possible|you can|it goes)",
    "bit": rf"(?P<amount>{_BIT})",
    "amount": rf"(?P<amount>=\S+|{_BIT}|a lot|much|way)",
    "later": rf"(?:(?: by)? (?P<later>=\S+|{_BIT}|a lot))",
    "length": r"(?P<amount>=\S+)",
    "more": r"(?:further|farther|more)(?: over)?",
    "gap": r"(?: (?:at|with))?(?: a)?(?: (?:distance|gap|space))?(?: of| by)? (?P<later>=\S+)"
    r"(?: (?:away|apart|off|gap|distance|between(?: them)?))?",
    "left_of": r"(?:to )?(?:the )?left(?: hand)?(?: side)? (?:of|from)",
    "right_of": r"(?:to )?(?:the )?right(?: hand)?(?: side)? (?:of|from)",
    "line": r"(?:in (?:a |one )?(?:straight )?(?:line|row) with|lined up with|aligned with|on (?:a|the|one) line"
    r" (?:with|through))",
    "thing": rf"(?P<thing>{_NOUN})",
    "other": rf"(?P<other>{_NOUN})",
}
_SIDES = {
    "rear": "back",
    "far": "back",
    "upper": "back",
    "top": "back",
    "near": "front",
    "lower": "front",
    "bottom": "front",
    "centre": "middle",
    "lefthand": "left",
    "righthand": "right",
}
_WAYS = {"forward": "front", "backward": "back", "leftward": "left", "rightward": "right", "rear": "back"}
_NO_REFERENCE = re.compile(
    rf"(?:the |this |my |your )?(?:{TABLE}|(?:row|line|pile|bunch)\b.*"
    r"|(?:two|three|four|both|all|them|these|those)\b.*|.* and .*)"
)
"""What has no inside of its own, nor a side of its own: "the left of the two cans" is one of them."""


@dataclass(frozen=True)
class ReadPlace:
    """A place that was read.

    Attributes:
        request: With empty words for each of its references.
        things: Words of each reference, rewritten (see `rewrite`).
    """

    request: FreeSpaceRequest
    things: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class PlaceWording:
    """One entry of places.yaml."""

    means: str
    words: re.Pattern[str]
    examples: Mapping[str, str] = field(default_factory=dict)


@lru_cache(maxsize=1)
def wordings() -> tuple[PlaceWording, ...]:
    """The entries of places.yaml, in order."""
    entries = plain_yaml.load(Path(__file__).with_name("places.yaml").read_text(encoding="utf-8"))
    return tuple(
        PlaceWording(entry["means"], re.compile(_spelt(entry["words"])), entry["examples"]) for entry in entries
    )


def _spelt(words: str) -> str:
    for name, part in _PARTS.items():
        words = words.replace(f"{{{name}}}", part)
    return words


def read_place(place: str) -> ReadPlace | None:
    """The place that words say, all of them; None where no wording fits.

    Args:
        place: Lower-case words of one place, as `tokenize` gives them, without punctuation.
    """
    for wording in wordings():
        found = wording.words.fullmatch(place)
        if found is None or (wording.means == "inside" and _NO_REFERENCE.fullmatch(found["thing"])):
            continue
        parts = {name: said or "" for name, said in found.groupdict().items()}
        things = tuple(tuple(rewrite(parts[name].split())) for name in ("thing", "other") if parts.get(name))
        if wording.means in BESIDE:
            things = tuple(tuple(words) for thing in things for words in split_references(wording.means, thing))
        return ReadPlace(replace(_request(wording.means, parts), references=("",) * len(things)), things)
    return None


def _request(means: str, parts: Mapping[str, str]) -> FreeSpaceRequest:
    me = bool(parts.get("me") or parts.get("me2"))
    if means in BESIDE:
        return FreeSpaceRequest(means, distance_m=_length(parts))  # type: ignore[arg-type]
    if means in ("farthest_from", "in_line"):
        return FreeSpaceRequest(means)  # type: ignore[arg-type]
    if means == "spot":
        return FreeSpaceRequest("at", point=point_of(parts["point"]))
    if means == "inside":
        return FreeSpaceRequest("in", region=_side(parts))
    if means in ("step", "closer", "further"):
        loosely = metres(parts.get("amount") or parts.get("later") or "") is None
        return FreeSpaceRequest("moved", distance_m=_length(parts), loosely=loosely, way=_way(means, parts))
    if means in ("near", "nearest", "furthest", "away"):
        front = me == (means in ("near", "nearest"))
        extent: Literal["side", "edge"] = "side" if means in ("near", "away") else "edge"
        return FreeSpaceRequest("region", region="front" if front else "back", extent=extent)
    if means == "aside":
        return FreeSpaceRequest("region", extent="aside")
    side = _side(parts)
    if means == "part":
        return FreeSpaceRequest("region", region=side, extent="" if side == "middle" else "side")
    return FreeSpaceRequest("region", region=side, extent="corner" if means == "corner" else "edge")


def _side(parts: Mapping[str, str]) -> str:
    words = (parts.get("both") or parts.get("side") or "").split()
    plain = [_SIDES.get(word, word) for word in words]
    return " ".join(sorted(plain, key=lambda side: side in ("left", "right")))


def _way(means: str, parts: Mapping[str, str]) -> str:
    if means == "step":
        return _WAYS.get(parts["way"], parts["way"])
    if parts.get("thing"):
        return "towards" if means == "closer" else "away"
    return "back" if bool(parts.get("you")) == (means == "closer") else "front"


def _length(parts: Mapping[str, str]) -> float:
    said = parts.get("amount") or parts.get("later") or ""
    length = metres(said)
    if length is not None:
        return length
    if not said:
        return STEP_M
    return LOT_M if said.split()[-1] in ("lot", "much", "way") else BIT_M
