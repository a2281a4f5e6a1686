"""Sentences for people about what images show: numbers, sides, names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from toolhand.tool_nodes.language.words import counted
from toolhand.tool_nodes.types import ImagePoint

_LEFT, _RIGHT = 0.4, 0.6
"""Normalized limits of what is called the middle of an image from left to right [-]; round figures."""
_BACK, _FRONT = 0.35, 0.6
"""The same from top to bottom [-]: the table is seen from 0.15 to 0.9."""
_POINT = re.compile(
    r"(?P<comma>,)?(?P<verb> (?:is|stands|stood))? (?:at|to) \((?P<x>[01]?\.\d+|[01]), (?P<y>[01]?\.\d+|[01])\)"
)
"""A normalized point of an image in a sentence."""


def joined(words: Sequence[str]) -> str:
    """ "a, b and c"."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def listed(names: Sequence[str], article: str = "the ") -> str:
    """ "the red box and two cans"."""
    told = [counted(n, name) if n > 1 else f"{article}{name}" for name, n in Counter(names).items()]
    return joined(told)


def side_words(point: ImagePoint) -> str:
    """Where a normalized point is, as the camera sees it: "on the left at the back"."""
    x, y = point
    across = "on the left" if x < _LEFT else "on the right" if x > _RIGHT else "in the middle"
    along = " at the back" if y < _BACK else " at the front" if y > _FRONT else ""
    return across + along


def without_points(text: str) -> str:
    """A sentence for an operator with the side in the place of each point: "the can (on the left)"."""

    def told(at: re.Match[str]) -> str:
        if at["comma"]:
            return ""
        side = side_words((float(at["x"]), float(at["y"])))
        return f"{at['verb']} {side}" if at["verb"] else f" ({side})"

    return _POINT.sub(told, text)


def sides(found: Sequence[tuple[str, ImagePoint]]) -> str:
    """ "On the left: red box and two cans. On the right: honey." of names and their points."""
    told = []
    groups = (("On the left", 0.0, _LEFT), ("In the middle", _LEFT, _RIGHT), ("On the right", _RIGHT, 1.01))
    for words, low, high in groups:
        names = [name for name, (x, _) in sorted(found, key=lambda each: each[1]) if low <= x < high]
        if names:
            told.append(f"{words}: {listed(names, '')}.")
    return " ".join(told)


def bare(phrase: str) -> str:
    """A noun phrase without its article."""
    first, _, rest = phrase.partition(" ")
    return rest if first in ("the", "a", "an", "any", "some", "all", "my", "your") and rest else phrase
