"""One object in an image: its mask with what follows from it."""

from __future__ import annotations

from dataclasses import dataclass

from toolhand.tool_nodes.perception.box_overlap import PixelBox
from toolhand.tool_nodes.perception.masks import inner_point, window_of
from toolhand.tool_nodes.types import BoolArray, Detection


@dataclass(frozen=True, eq=False)
class Instance:
    """One object in an image.

    Attributes:
        mask: bool (H, W) of the image.
        point: Normalized (x, y) on it.
        box: (left, top, right, bottom) [px], right and bottom exclusive.
        score: Score in [0, 1] of the Segmentation or Detection that it comes from; see there.
        label: Words that were searched for; empty where there were none.
    """

    mask: BoolArray
    point: tuple[float, float]
    box: PixelBox
    score: float
    label: str = ""

    @classmethod
    def of_mask(cls, mask: BoolArray, score: float, label: str = "") -> Instance:
        """The instance of a mask (H, W) that is not empty."""
        return cls(mask, inner_point(mask), box_of(mask), score, label)

    @property
    def detection(self) -> Detection:
        """The object as a Detector reports it."""
        return Detection(self.box, self.label, self.score, self.point)


def box_of(mask: BoolArray) -> PixelBox:
    """The box around a mask (H, W) that is not empty."""
    rows, columns = window_of(mask)
    return columns.start, rows.start, columns.stop, rows.stop
