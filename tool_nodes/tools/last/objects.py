"""What atomic operations hand to each other, and the rows that texts are made of. Pixels are those of the image."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.types import BoolArray


@dataclass(frozen=True)
class Detected:
    """One detected object.

    Attributes:
        label: The query that it answers.
        number: 1, 2, ... among the objects of its label, best first.
        box: (left, top, right, bottom) [px], right and bottom exclusive.
        point: Normalized (x, y) on it; where the detector knows none, the middle of the box.
        score: In [0, 1].
        sure: False where the point is only the middle of the box, and may be beside the object.
    """

    label: str
    number: int
    box: tuple[int, int, int, int]
    point: tuple[float, float]
    score: float
    sure: bool = field(default=True, kw_only=True)

    @property
    def centre(self) -> tuple[float, float]:
        """Middle of the box (x, y) [px]; pixel (0, 0) is the centre of the first one."""
        left, top, right, bottom = self.box
        return (left + right - 1) / 2, (top + bottom - 1) / 2


@dataclass(frozen=True, eq=False)
class Outlined(Detected):
    """A detected object with its mask, bool (H, W) of the image."""

    mask: BoolArray


@dataclass(frozen=True, eq=False)
class DepthMap:
    """depth: float32 (H, W) [m], NaN where unknown."""

    depth: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class PointMap:
    """points: float32 (H, W, 3) in the camera frame [m] (x right, y down, z forward), NaN where unknown."""

    points: NDArray[np.float32]


@dataclass(frozen=True)
class Region:
    """A part of an image [px], right and bottom exclusive."""

    left: int
    top: int
    right: int
    bottom: int


@dataclass(frozen=True)
class CropRow:
    """What an image made by cropping shows: the region [px], its size, and the size of the new image [px]."""

    left: int
    top: int
    right: int
    bottom: int
    width: int
    height: int
    image_width: int
    image_height: int


@dataclass(frozen=True)
class CentroidRow:
    """Where an object is: (x, y) [px]."""

    label: str
    number: int
    x: float
    y: float
    score: float


@dataclass(frozen=True)
class SizeRow:
    """How large an object looks: width and height [px] and area [px] of its mask, and its share of the image [%]."""

    label: str
    number: int
    x: float
    y: float
    width: int
    height: int
    area: int
    share: float


@dataclass(frozen=True)
class CountRow:
    """How many objects a label has, and where: "(x, y), (x, y)" [px]."""

    label: str
    count: int
    centroids: str


@dataclass(frozen=True)
class DepthRow:
    """Average depth of an object [m], over the known pixels of its box."""

    label: str
    number: int
    depth: float
    left: int
    top: int
    right: int
    bottom: int


@dataclass(frozen=True)
class DepthRange:
    """Nearest, farthest and average depth of an image [m]."""

    nearest: float
    farthest: float
    average: float


@dataclass(frozen=True)
class PointRow:
    """Where an object is in the camera frame [m]."""

    label: str
    number: int
    X: float
    Y: float
    Z: float


@dataclass(frozen=True)
class MissingRow:
    """A label that nothing answers: why ("not found", "not recognised"), and how many there are ("0", "unknown")."""

    label: str
    why: str
    count: str
