"""Whose left: words from the robot's side, said as the camera's picture shows it.

The robot stands opposite the camera and looks at it, so that its left is the picture's right, and what is in front of
a thing for the robot is behind it for the camera.
"""

from __future__ import annotations

import re
from typing import Literal

Viewer = Literal["camera", "robot"]

_SWAPPED = {
    "left": "right", "leftmost": "rightmost", "left of": "right of", "in front of": "behind", "front": "back",
}  # fmt: skip
_SWAPPED |= {there: here for here, there in _SWAPPED.items()}
_OWN = re.compile(r"\b(?:your|(?:the )?(?:robot|arm)['’]?s) (?:own )?(left|right|front|back)\b", re.IGNORECASE)
"""A side that is said to be the robot's."""
_SIDE = re.compile(
    r"\b(?<!my )(?:in front of|behind|leftmost|rightmost|(?:left|right) of|(?:(?<=the )|(?<=further )|(?<=bit ))"
    r"(?:left|right|front|back))\b",
    re.IGNORECASE,
)
"""Any other side; "back" and "right" by themselves may be none, as in "put it back right now"."""


def as_camera_sees(words: str, whose: Viewer = "camera") -> str:
    """An operator's words with every side as the camera's picture shows it.

    "On your left" becomes "on the right"; "my left" and the sides of the picture stay.

    Args:
        words: A sentence or a phrase.
        whose: Who looks where nothing is said: with "robot" the sides that are nobody's are the robot's too.
    """
    sides = _SIDE.sub(_swap, words) if whose == "robot" else words
    return _OWN.sub(lambda found: f"the {_SWAPPED[found[1].lower()]}", sides)


def names_robots_side(words: str) -> bool:
    """Whether a side is said to be the robot's, as in "on your left"."""
    return _OWN.search(words) is not None


def _swap(found: re.Match[str]) -> str:
    return _SWAPPED[found.group().lower()]
