"""Points of the picture and lengths in words: each becomes one word, which `tokenize` keeps whole."""

from __future__ import annotations

import re

POINT = "@"
"""Begins the word of a normalized point: "at (0.48, 0.42)" is "@0.48,0.42"."""
LENGTH = "="
"""Begins the word of a length: "5 cm" is "=5_cm"."""

_SHARE = r"(?:0?\.\d{1,6}|[01](?:\.0{1,6})?)"
"""A coordinate within [0, 1]."""
POINTS = ((re.compile(rf"\bat \(? ?({_SHARE}) ?, ?({_SHARE})(?: ?\)|(?![\w.]))"), rf" {POINT}\1,\2 "),)
"""What is replaced in a text so that a point is one word."""

_WORDS = {
    word: n
    for n, word in enumerate(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], 1
    )
} | {"a": 1, "an": 1, "half": 0.5, "quarter": 0.25, "couple": 2, "fifteen": 15, "twenty": 20, "thirty": 30}
"""Numbers in words, as people measure."""
_METRES = {
    "mm": 0.001, "millimetre": 0.001, "millimeter": 0.001, "cm": 0.01, "centimetre": 0.01, "centimeter": 0.01,
    "dm": 0.1, "m": 1.0, "metre": 1.0, "meter": 1.0, "inch": 0.0254, "inche": 0.0254, "foot": 0.3048, "feet": 0.3048,
    "ft": 0.3048, "finger": 0.02, "hand": 0.1,
}  # fmt: skip
"""Length of each unit [m]; a finger is two centimetres wide and a hand with its thumb ten, in round figures."""

_FIGURE, _WORD = r"\d{1,4}(?:[.,]\d{1,3})?", "|".join(sorted(_WORDS, key=len, reverse=True))
_ABOUT = r"(?:\b(?:about|around|exactly|roughly|approximately|only|some|another) )?"
_WHOLE = r"(mm|cm|dm|m|ft|millimet(?:re|er)|centimet(?:re|er)|met(?:re|er)|inche|inch|foot|feet)s?\b"
_BODY = (
    r"(finger|hand)(?:(?:'?s)?(?: |-)?(?:width|breadth)s?|s?(?= (?:apart|away|from|to|left|right|in front|behind"
    r"|next|beside|closer|nearer|further|farther|towards?|forwards?|backwards?)\b))\b"
)
"""Widths of a part of the hand; "with two hands" is none."""
LENGTHS = tuple(
    (re.compile(rf"{_ABOUT}\b{number}{unit}"), rf" {LENGTH}\1_\2 ")
    for unit, apart in ((_WHOLE, ""), (_BODY, "(?<!with )"))
    for number in (
        rf"{apart}(?:an? )?(half|quarter|couple) (?:of )?(?:an? )?",
        rf"{apart}({_FIGURE})(?: |-)?",
        rf"{apart}({_WORD})(?: |-)",
    )
)
"""What is replaced in a text so that a length is one word."""
TOKENS = rf"{POINT}{_SHARE},{_SHARE}(?![\d.])|{LENGTH}(?:{_FIGURE}|{_WORD})_(?:{'|'.join(_METRES)})\b"
"""Pattern of such a word."""


def point_of(word: str) -> tuple[float, float] | None:
    """The normalized point that a word stands for; None for any other."""
    if not word.startswith(POINT):
        return None
    x, y = word[len(POINT) :].split(",")
    return float(x), float(y)


def metres(word: str) -> float | None:
    """The length that a word stands for [m]; None for any other."""
    if not word.startswith(LENGTH):
        return None
    number, unit = word[len(LENGTH) :].split("_")
    return float(_WORDS.get(number, 0.0) or number.replace(",", ".")) * _METRES[unit]


def is_written(word: str) -> bool:
    """True for the word of a point or a length."""
    return word[:1] in (POINT, LENGTH)


def as_said(text: str) -> str:
    """A text of words with each point and length as people write it."""
    text = re.sub(rf"{POINT}([\d.]+),([\d.]+)", r"at (\1, \2)", text)
    return re.sub(rf"{LENGTH}([a-z\d.,]+)_(\w+)", r"\1 \2", text)
