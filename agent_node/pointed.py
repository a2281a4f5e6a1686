"""What an operator points at in a picture, as data that goes with their words."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tool_nodes.results import invalid

MOST_POINTS = 8
"""Points that go with one sentence at most [-]: a sentence with more things than that has several clauses, which are
better said one after the other."""
LONGEST_LABEL = 80
"""Longest label of a point [characters]; a number, or the words of a candidate."""


@dataclass(frozen=True)
class PointedPoint:
    """A point of a camera's picture that the operator has pointed at.

    Attributes:
        point: Normalized (x, y) of the whole picture from the top left, each in [0, 1].
        camera: Name of the camera, "scene" or "wrist".
        stamp_ns: Stamp of the picture that was pointed at, as the camera's node gives it [ns]; 0 where it is unknown.
        label: Words or the number that the point is shown with; may be empty.

    Raises:
        ToolError: INVALID_ARGUMENT for a point outside the picture, and for names that are too long.
    """

    point: tuple[float, float]
    camera: str = "scene"
    stamp_ns: int = 0
    label: str = ""

    def __post_init__(self) -> None:
        if len(self.point) != 2 or not all(math.isfinite(value) and 0.0 <= value <= 1.0 for value in self.point):
            raise invalid(f"A point is (x, y) with both in 0..1, got {self.point}.")
        if max(len(self.label), len(self.camera)) > LONGEST_LABEL:
            raise invalid(f"A point's camera and label may have at most {LONGEST_LABEL} characters.")
