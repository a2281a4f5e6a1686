"""Points of the image in words: each becomes one word, which `tokenize` keeps whole."""

from __future__ import annotations

import re

POINT = "@"
"""Begins the word of a normalized point: "at (0.48, 0.42)" is "@0.48,0.42"."""

_SHARE = r"(?:0?\.\d{1,6}|[01](?:\.0{1,6})?)"
"""A coordinate within [0, 1]."""
POINTS = ((re.compile(rf"\bat \(? ?({_SHARE}) ?, ?({_SHARE})(?: ?\)|(?![\w.]))"), rf" {POINT}\1,\2 "),)
"""What is replaced in a text so that a point is one word."""
TOKENS = rf"{POINT}{_SHARE},{_SHARE}(?![\d.])"
"""Pattern of such a word."""


def point_of(word: str) -> tuple[float, float] | None:
    """The normalized point that a word stands for; None for any other."""
    if not word.startswith(POINT):
        return None
    x, y = word[len(POINT) :].split(",")
    return float(x), float(y)


def as_said(text: str) -> str:
    """A text of words with each point as people write it."""
    return re.sub(rf"{POINT}([\d.]+),([\d.]+)", r"at (\1, \2)", text)
