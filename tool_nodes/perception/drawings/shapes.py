"""Names for plain shapes and flat colours: what people call an object in a drawing, "red circle", "dark blue ring".

A shape is named by numbers that neither size nor direction changes: how much of its convex hull and of its smallest
rectangle it fills, and its area over that of the ellipse with the same second moments: 1 for an ellipse, 3/pi for a
rectangle, 0.827 for a triangle.
"""

from __future__ import annotations

import colorsys
from dataclasses import dataclass

import numpy as np
from scipy import ndimage
from scipy.spatial import ConvexHull, QhullError

from toolhand.tool_nodes.perception.colours import name_colour
from toolhand.tool_nodes.types import BoolArray, FloatArray

_SYNONYMS = {
    "circle": ("disc", "disk", "dot", "ball", "spot"),
    "ellipse": ("oval",),
    "ring": ("hoop", "donut", "circle"),
    "square": ("box", "rectangle"),
    "diamond": ("rhombus", "square"),
    "rectangle": ("box", "bar"),
    "triangle": (),
    "star": (),
    "cross": ("plus",),
    "line": ("stroke", "segment", "path"),
    "curve": ("line", "stroke", "path"),
    "pentagon": (),
    "hexagon": (),
    "polygon": (),
    "shape": (),
}
_ATTRIBUTES = {
    "circle": "round",
    "ellipse": "oval",
    "ring": "round",
    "square": "rectangular",
    "rectangle": "rectangular",
    "triangle": "triangular",
}
_POLYGONS = frozenset({"square", "diamond", "rectangle", "triangle", "pentagon", "hexagon"})

_HOLLOW_WORDS = ("hollow", "empty", "outlined", "unfilled"), ("outline", "frame", "contour")
"""Attributes and names of what is only drawn around."""
_FILLED_WORDS = ("filled", "solid")
SHAPE_WORDS = frozenset(
    {*_SYNONYMS, *(word for words in _SYNONYMS.values() for word in words), *_ATTRIBUTES.values(), "polygon"}
    | {*_HOLLOW_WORDS[0], *_HOLLOW_WORDS[1], *_FILLED_WORDS}
)
"""Every word that `name_shape` may say of a shape."""

LINE_ASPECT = 6.0
"""Longer than wide by this, a shape is a line [-]; a round figure."""
_ROUND_ASPECT = 1.15
"""Longer than wide by up to this, a shape is still a circle or a square."""
_SMALL_ROUND_ASPECT = 1.3
"""_ROUND_ASPECT of small shapes, whose outline is coarse [-]."""
_STRAIGHT = 0.88
"""Share of the smallest rectangle that a rectangle fills."""
_CONVEX, _ROUGH = 0.9, 0.82
"""Solidity of convex shapes, and of triangles, whose sharp corners are lost in pixels."""
_TRIANGULAR, _ELLIPTIC = 0.88, 0.97
"""Largest and smallest spread of triangles and of ellipses."""
_SMALL_PX, _CORNERS_PX = 300, 800
"""A shape with a smaller area shows only its coarse form; and the area from which it shows five or six corners [px]."""
_BURR_FREE = 0.93
"""A shape of which less than this share is left is made of strokes, not of an area with burrs."""
_HOLLOW = 0.08
"""Share of holes from which a shape is a ring or an outline."""


@dataclass(frozen=True)
class ShapeNumbers:
    """What neither size, position nor direction of a shape changes, holes filled unless said otherwise.

    Attributes:
        aspect: Longer over shorter side of its smallest rectangle.
        solidity: Area over that of its convex hull.
        straight: Area over that of the rectangle.
        spread: Area over that of the ellipse with the same second moments.
        holes: Share of its area that is holes.
        turned: True if the rectangle stands on a corner.
    """

    aspect: float
    solidity: float
    straight: float
    spread: float
    holes: float
    turned: bool


@dataclass(frozen=True)
class ShapeName:
    """What a shape is called.

    Attributes:
        name: Such as "circle"; "shape" where no other name fits.
        synonyms: Other names.
        attributes: Adjectives, such as ("round", "hollow").
    """

    name: str
    synonyms: tuple[str, ...]
    attributes: tuple[str, ...]


def measure_shape(mask: BoolArray) -> ShapeNumbers:
    """The numbers of a shape whose pixels are given in a window (h, w); not empty."""
    return _measure(mask, _filled(mask))


def _measure(mask: BoolArray, filled: BoolArray) -> ShapeNumbers:
    area = float(np.count_nonzero(filled))
    hull = _hull(filled)
    length, width, turned = _smallest_rectangle(hull)
    return ShapeNumbers(
        aspect=length / max(width, 1.0),
        solidity=area / max(_area(hull), 1.0),
        straight=area / max(length * width, 1.0),
        spread=area / (4.0 * np.pi * np.sqrt(max(float(np.linalg.det(_covariance(filled))), 1e-9))),
        holes=max(1.0 - np.count_nonzero(mask) / area, 0.0),
        turned=turned,
    )


def name_shape(mask: BoolArray, empty: BoolArray) -> ShapeName:
    """The name of a shape.

    Args:
        mask: Its pixels in a window (h, w); not empty.
        empty: Pixels of the window that show background, so that a hole is distinguished from an object that lies on
            it.
    """
    filled = _filled(mask)
    hollow = _has_hole(filled, empty)
    return called(_name(_measure(mask, filled), mask, filled, hollow), hollow)


def is_hollow(mask: BoolArray, empty: BoolArray) -> bool:
    """True if a shape is only drawn around; arguments as of `name_shape`."""
    return _has_hole(_filled(mask), empty)


def _has_hole(filled: BoolArray, empty: BoolArray) -> bool:
    return bool(np.count_nonzero(filled & empty) > _HOLLOW * np.count_nonzero(filled))


def called(name: str, hollow: bool) -> ShapeName:
    """A name with its synonyms and attributes, for a shape that is only drawn around or not."""
    attributes: tuple[str, ...] = (_ATTRIBUTES[name],) if name in _ATTRIBUTES else ()
    synonyms = _SYNONYMS[name] + (("polygon",) if name in _POLYGONS else ())
    if hollow:
        attributes += _HOLLOW_WORDS[0]
        synonyms += _HOLLOW_WORDS[1]
    else:
        attributes += _FILLED_WORDS
    return ShapeName(name, synonyms, attributes)


def largest_spiked_solidity(numbers: ShapeNumbers) -> float:
    """A shape that fills less of its hull is not convex."""
    return _ROUGH if numbers.spread < _TRIANGULAR else _CONVEX


def _name(numbers: ShapeNumbers, mask: BoolArray, filled: BoolArray, hollow: bool) -> str:
    aspect, straight, spread = numbers.aspect, numbers.straight, numbers.spread
    if aspect >= LINE_ASPECT and not hollow:
        return "line"
    area = np.count_nonzero(filled)
    small = area < _SMALL_PX
    if numbers.solidity < largest_spiked_solidity(numbers):
        if not hollow and _is_thin(mask):
            return "curve"
        if not small:
            return _spiked(filled)
    if straight >= _STRAIGHT:
        return ("diamond" if numbers.turned else "square") if aspect < _ROUND_ASPECT else "rectangle"
    if spread < _TRIANGULAR:
        return "triangle"
    if spread > _ELLIPTIC and straight < 0.76 and aspect < _ROUND_ASPECT and area > _CORNERS_PX:
        return "pentagon" if straight < 0.72 else "hexagon"
    if small or (spread > _ELLIPTIC and straight < 0.84):
        round_name = "ring" if hollow else "circle"
        return round_name if aspect < (_SMALL_ROUND_ASPECT if small else _ROUND_ASPECT) else "ellipse"
    return "polygon"


def _is_thin(mask: BoolArray) -> bool:
    """True if the shape is a stroke: as a straight one, it would be a line."""
    thickness = 2.0 * float(ndimage.distance_transform_edt(np.pad(mask, 1)).max())
    return bool(np.count_nonzero(mask) > LINE_ASPECT * thickness**2)


def _filled(mask: BoolArray) -> BoolArray:
    """The mask (h, w) without holes, and without the burrs of a pixel that compression leaves on outlines."""
    filled = ndimage.binary_fill_holes(mask)
    assert filled is not None
    smooth = ndimage.binary_opening(np.pad(filled, 1))[1:-1, 1:-1]
    return smooth if np.count_nonzero(smooth) > _BURR_FREE * np.count_nonzero(filled) else filled


def _spiked(filled: BoolArray) -> str:
    """The name of a shape that is not convex: a star and a cross have spikes of equal length all around."""
    rows, columns = np.nonzero(filled & ~ndimage.binary_erosion(filled))
    y, x = rows - np.nonzero(filled)[0].mean(), columns - np.nonzero(filled)[1].mean()
    radius, angle = np.hypot(x, y), np.arctan2(y, x)
    profile = np.zeros(72)
    np.maximum.at(profile, ((angle + np.pi) / (2 * np.pi) * 72).astype(int) % 72, radius)
    smooth = ndimage.uniform_filter1d(profile, 5, mode="wrap")
    middle = (smooth.max() + smooth.min()) / 2
    high = smooth > middle
    spikes = int(np.count_nonzero(high & ~np.roll(high, 1)))
    if smooth.min() > 0.85 * smooth.max():
        return "shape"
    return "cross" if spikes == 4 else "star" if 5 <= spikes <= 12 else "shape"


def name_flat_colour(rgb: FloatArray) -> str:
    """A colour word for a colour (3,) in 0..255 that no light has changed."""
    hue, saturation, value = colorsys.rgb_to_hsv(*(float(v) / 255.0 for v in rgb))
    # Paint of this hue is called purple; the pink of the table is that of lit surfaces.
    if 260.0 / 360.0 < hue < 315.0 / 360.0 and saturation > 0.3 and 0.22 <= value < 0.8:
        return "purple"
    return name_colour(rgb)


def _hull(mask: BoolArray) -> FloatArray:
    """(N, 2) corners (x, y) of the convex hull of the pixels' squares [px]."""
    rows = np.flatnonzero(mask.any(axis=1))
    first = mask[rows].argmax(axis=1)
    last = mask.shape[1] - mask[rows][:, ::-1].argmax(axis=1)
    corners = np.concatenate([np.column_stack([x, rows + below]) for x in (first, last) for below in (0, 1)]).astype(
        float
    )
    try:
        return corners[ConvexHull(corners).vertices]
    except QhullError:
        return corners


def _area(hull: FloatArray) -> float:
    x, y = hull.T
    return 0.5 * abs(float(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))))


def _smallest_rectangle(hull: FloatArray) -> tuple[float, float, bool]:
    """Longer side, shorter side [px] of the smallest rectangle around a hull, and whether it stands on a corner."""
    edges = np.roll(hull, -1, axis=0) - hull
    u = edges / np.linalg.norm(edges, axis=1)[:, None]
    # Staircases of pixels have edges in all directions: a rectangle whose area ties goes with the axes.
    u = np.concatenate([[[1.0, 0.0]], u])
    along, across = np.ptp(hull @ u.T, axis=0), np.ptp(hull @ np.column_stack([-u[:, 1], u[:, 0]]).T, axis=0)
    areas = along * across
    best = 0 if areas[0] <= 1.03 * areas.min() else int(areas.argmin())
    direction = np.degrees(np.arctan2(u[best, 1], u[best, 0])) % 90.0
    sides = sorted((float(along[best]), float(across[best])))
    return sides[1], sides[0], 30.0 < direction < 60.0


def _covariance(mask: BoolArray) -> FloatArray:
    """(2, 2) covariance of the positions in a shape, pixels taken as squares [px^2]."""
    rows, columns = np.nonzero(mask)
    y, x = rows - rows.mean(), columns - columns.mean()
    xx, yy, xy = float((x * x).mean()), float((y * y).mean()), float((x * y).mean())
    return np.array([[xx + 1 / 12, xy], [xy, yy + 1 / 12]])
