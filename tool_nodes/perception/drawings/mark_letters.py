"""Single letters beside marks: what a TextReader rightly ignores in an image is a label where it stands by a mark."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from scipy import ndimage

from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import TextSpan

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ123456789"
HEIGHT_PX = (7, 72)
"""Lowest and highest letter that is read [px]."""
MIN_LIKENESS = 0.6
"""Correlation with a glyph from which a shape is that letter."""

_INKS = np.array(
    [[255, 255, 255], [0, 0, 0], [255, 0, 0], [255, 255, 0], [0, 255, 0], [0, 255, 255], [0, 0, 255], [255, 0, 255]],
    np.float32,
)
"""Colours in which letters of marks are looked for, RGB."""
_LEAST_CONTRAST = 90.0
"""Distance of an ink from the ground [grey levels]; what is nearer to it cannot be distinguished from noise."""
_GRID = 20
"""A letter is compared as _GRID x _GRID mean coverages; a round figure."""
_FONT_PX = 64
"""Font size at which the letters to compare with are drawn [px]."""
_MAX_ASPECT = 1.6
"""Widest letter: width over height [-]."""
_ASPECT_SLACK = 0.45
"""Difference of the logarithms of two aspects up to which letters may be the same [-]."""
_OUTLINED = 0.65
"""Height of a letter over that of its outline, at least."""

LetterBox = tuple[float, float, float, float]


class LetterReader:
    """Reads separate capital letters and digits in plain inks (white, black, pure colours) on any ground.

    Meant for the surroundings of a mark, not for whole images: a vertical bar is an "I" to it.
    """

    backend = "pixels"

    def read(self, image: SessionImage) -> Answer[list[TextSpan]]:
        """Every letter, left to right; where two readings overlap, the better one."""
        rgb = image.rgb.astype(np.float32)
        ground = np.median(rgb.reshape(-1, 3), axis=0)
        found: list[TextSpan] = []
        for ink in _INKS:
            contrast = float(np.linalg.norm(ink - ground))
            if contrast >= _LEAST_CONTRAST:
                cover = 1.0 - np.linalg.norm(rgb - ink, axis=2) / contrast
                found += _letters(np.clip(cover, 0.0, 1.0))
        return Answer(sorted(_best(found), key=lambda span: span.box[0]), self.backend)


def _letters(cover: NDArray[np.float32]) -> list[TextSpan]:
    """Letters of one ink; cover (H, W) is the share of each pixel that is ink."""
    labels, _ = ndimage.label(cover > 0.5, np.ones((3, 3)))
    found = []
    height, width = cover.shape
    for k, window in enumerate(ndimage.find_objects(labels), start=1):
        rows, columns = window
        h, w = rows.stop - rows.start, columns.stop - columns.start
        cut_off = rows.start == 0 or columns.start == 0 or rows.stop == height or columns.stop == width
        if cut_off or not HEIGHT_PX[0] <= h <= HEIGHT_PX[1] or w > _MAX_ASPECT * h:
            continue
        shape = np.where((labels[window] == k) | (labels[window] == 0), cover[window], 0.0)
        letter, likeness = _read(shape)
        if likeness >= MIN_LIKENESS:
            box = float(columns.start), float(rows.start), float(columns.stop), float(rows.stop)
            found.append(TextSpan(letter, box, likeness))
    return found


def _read(shape: NDArray[np.float32]) -> tuple[str, float]:
    """The letter that a shape (h, w) with values in [0, 1] is most like, and how much, in [-1, 1]."""
    glyphs, aspects = _atlas()
    aspect = shape.shape[1] / shape.shape[0]
    likeness = glyphs @ _normalized(shape)
    likeness = np.where(np.abs(np.log(aspect / aspects)) < _ASPECT_SLACK, likeness, -1.0)
    best = int(np.argmax(likeness))
    return LETTERS[best], float(min(likeness[best], 1.0))


@cache
def _atlas() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Normalized glyphs (N, _GRID * _GRID) and their widths over heights (N,)."""
    font = ImageFont.load_default(size=_FONT_PX)
    glyphs, aspects = [], []
    for letter in LETTERS:
        canvas = Image.new("L", (2 * _FONT_PX, 2 * _FONT_PX))
        ImageDraw.Draw(canvas).text((_FONT_PX // 2, _FONT_PX // 4), letter, fill=255, font=font)
        left, top, right, bottom = canvas.getbbox() or (0, 0, 1, 1)
        glyphs.append(_normalized(np.asarray(canvas.crop((left, top, right, bottom)), np.float32) / 255.0))
        aspects.append((right - left) / (bottom - top))
    return np.stack(glyphs), np.array(aspects, np.float32)


def _normalized(shape: NDArray[np.float32]) -> NDArray[np.float32]:
    """A shape scaled to the grid, without its mean and of length 1: (_GRID * _GRID,)."""
    scaled = Image.fromarray(shape.astype(np.float32)).resize((_GRID, _GRID), Image.Resampling.BOX)
    grid = ndimage.gaussian_filter(np.asarray(scaled), 0.7).ravel()
    grid = grid - grid.mean()
    return grid / max(float(np.linalg.norm(grid)), 1e-6)


def _best(found: list[TextSpan]) -> list[TextSpan]:
    """One reading of each place: the letter rather than the outline around it, else the likelier one."""
    kept: list[TextSpan] = []
    for span in sorted(found, key=lambda one: -one.score):
        outlines = any(other is not span and _is_around(span.box, other.box) for other in found)
        if not outlines and not any(_overlap(span.box, other.box) for other in kept):
            kept.append(span)
    return kept


def _is_around(outer: LetterBox, inner: LetterBox) -> bool:
    """True if a box lies around another one as the outline of a letter does; a letter's own holes are smaller."""
    inside = outer[0] < inner[0] and outer[1] < inner[1] and inner[2] < outer[2] and inner[3] < outer[3]
    return inside and inner[3] - inner[1] >= _OUTLINED * (outer[3] - outer[1])


def _overlap(a: LetterBox, b: LetterBox) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
