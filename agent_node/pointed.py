"""What an operator points at in an image, as data that goes with their words."""

from __future__ import annotations

from dataclasses import dataclass

from toolhand.tool_nodes.results import invalid

MOST_POINTS = 8
"""Points that go with one sentence at most [-]: a sentence with more objects than that has several clauses, which are
better said one after the other."""
LONGEST_NAME = 80
"""Longest name of a camera [characters]."""
LONGEST_LABEL = 2000
"""Longest label of a point [characters]: a number, the words of a candidate, or a command, which may be so long."""


@dataclass(frozen=True)
class PointedPoint:
    """A point of a camera's image that the operator has pointed at, or that a question lets choose.

    Attributes:
        point: Normalized (x, y) of the whole image from the top left, each in [0, 1]; None for one of several
            commands that a question lets choose from, which stand nowhere in an image.
        camera: Name of the camera, "scene" or "wrist".
        stamp_ns: Stamp of the image that was pointed at, as the camera's node gives it [ns]; 0 where it is unknown.
        label: Words or the number that the point is shown with; may be empty.

    Raises:
        ToolError: INVALID_ARGUMENT for a point outside the image, and for names that are too long.
    """

    point: tuple[float, float] | None
    camera: str = "scene"
    stamp_ns: int = 0
    label: str = ""

    def __post_init__(self) -> None:
        point = self.point
        if point is not None and not (len(point) == 2 and all(0.0 <= value <= 1.0 for value in point)):
            raise invalid(f"A point is (x, y) with both in 0..1, got {point}.")
        if len(self.camera) > LONGEST_NAME or len(self.label) > LONGEST_LABEL:
            raise invalid(
                f"A point's camera may have at most {LONGEST_NAME} characters, and its label {LONGEST_LABEL:,}."
            )
