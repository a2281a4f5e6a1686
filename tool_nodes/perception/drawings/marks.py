"""Marks drawn into images, the visual prompts of BLINK and of SpaceTools' figure 7: discs, rings and box outlines.

Marks are found in the image's own pixels: painted in one pure saturated colour, and of an exact shape. Not found are
marks of muted colours, tilted boxes, and marks that touch another of their own colour; a vivid round top in even light
may pass for a disc.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from toolhand.tool_nodes.perception.box_overlap import PixelBox, box_iou
from toolhand.tool_nodes.perception.drawings.mark_letters import LetterReader
from toolhand.tool_nodes.perception.drawings.photographs import is_photograph
from toolhand.tool_nodes.perception.masks import window_of
from toolhand.tool_nodes.ports import TextReader
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import BoolArray

MarkKind = Literal["circle", "box"]

MIN_DISC_PX, MAX_DISC_SHARE = 5, 0.15
"""Smallest diameter of a disc [px], and largest one as a share of the image's longer side."""
MIN_BOX_PX = 14
"""Smallest side of a box [px]."""

_SATURATION, _VALUE = 0.6, 100
"""Least saturation [0, 1] and least value [0, 255] of a vivid colour; a round figure."""
_GREYEST = np.floor((1.0 - _SATURATION) * np.arange(256)).astype(np.uint8)
"""Largest value of the weakest channel of a vivid colour, by the value of its strongest one."""
_TOLERANCE = 26
"""Largest difference of a channel within one mark [grey levels]: JPEG and smooth edges, not shading."""
_MAX_COLOURS = 4
"""Shades of one colour word that are looked at, the commonest first."""
_PHOTO_PX = 8
"""In a photograph smaller discs are not taken for marks, they may be a star or the end of a vessel [px]."""
_LEAST_PX = 12
"""Fewer pixels of a colour are no mark [px]."""
_SMALL_PX = 24
"""A disc up to this diameter may vary in colour, as compression makes it; a larger one would be a ball [px]."""
_GAP_PX = 7
"""Gaps in a box outline, up to this long, where something was drawn over it [px]."""
_SIDE_COVER = 0.75
"""Share of a box's side that is drawn, at least [-]; a round figure."""
_EDGE_PX = 3
"""Rows in which the outer edge of a line lies, where compression has frayed it [px]."""
_EIGHT = np.ones((3, 3), dtype=bool)
"""A pixel and its eight neighbours."""

_FAMILIES = ((15, "red"), (42, "orange"), (70, "yellow"), (165, "green"), (195, "cyan"), (258, "blue"), (345, "purple"))
_COLOUR_WORDS = {
    "red": "red",
    "orange": "orange",
    "yellow": "yellow",
    "green": "green",
    "lime": "green",
    "cyan": "cyan",
    "turquoise": "cyan",
    "aqua": "cyan",
    "blue": "blue",
    "purple": "purple",
    "magenta": "purple",
    "pink": "purple",
    "violet": "purple",
}

_COLOUR = rf"(?P<colour>{'|'.join(_COLOUR_WORDS)})"
_ROUND = r"(?:circle|dot|point|disc|disk|marker|mark|spot)s?"
_FRAME = r"(?:bounding[ -]?box|rectangle|outline|frame)"
_LETTER = r"[\"'‘“]?(?P<label>[A-Za-z1-9])[\"'’”]?"
_LABELLED = r"(?:label(?:l?ed)?|letter|text|marked|named|called|tagged)"
_CIRCLES = (
    rf"(?:{_COLOUR} )?{_ROUND}(?: (?:that is |which is )?(?:under|below|beneath|above|over|near|next to|beside|by|at|"
    rf"with|of))?(?: the)?(?: {_LABELLED})?(?: (?:with|by|as))?(?: the)?(?: (?:label|letter))? {_LETTER}",
    rf"(?:label|letter) {_LETTER}",
    rf"{_COLOUR} (?:circle|dot|point)s?",  # a red marker or disc may be an object
)
_BOXES = (
    r"(?P<name>.*?)[\s,]*\(?\s*(?:(?:that|which) (?:is|are) )?"
    r"(?:highlighted|marked|outlined|enclosed|surrounded|framed|bounded|indicated|shown)"
    rf" (?:by|with|in|inside) (?:a |an |the )?{_COLOUR} (?:{_FRAME}|box|square)\s*\)?",
    rf"(?P<name>.+?) (?:in|inside|within) (?:a |an |the )?{_COLOUR} {_FRAME}",
    rf"{_COLOUR} {_FRAME}",
)


def _patterns(kind: MarkKind, bodies: Sequence[str]) -> list[tuple[MarkKind, re.Pattern[str]]]:
    return [(kind, re.compile(rf"(?:(?:the|a|an|all|both) )*{body}\s*", re.IGNORECASE)) for body in bodies]


_PATTERNS = (*_patterns("circle", _CIRCLES), *_patterns("box", _BOXES))
_ANYTHING = frozenset({"", "object", "thing", "item", "one", "part", "area", "region"})


@dataclass(frozen=True)
class Mark:
    """One mark.

    Attributes:
        kind: "circle" (a disc or a ring) or "box" (an outline).
        colour: Family of its colour, e.g. "red".
        box: (left, top, right, bottom) [px], right and bottom exclusive.
        label: The letter drawn beside it, or "".
    """

    kind: MarkKind
    colour: str
    box: PixelBox
    label: str = ""

    @property
    def centre(self) -> tuple[float, float]:
        """(x, y) [px]."""
        left, top, right, bottom = self.box
        return (left + right) / 2.0, (top + bottom) / 2.0

    @property
    def side(self) -> int:
        """Its longer side [px]."""
        left, top, right, bottom = self.box
        return max(right - left, bottom - top)


@dataclass(frozen=True)
class MarkPhrase:
    """What a phrase says of marks.

    Attributes:
        kind: Which kind of mark it names.
        colour: Family of the colour that it names, or "".
        label: The letter that it names, in upper case, or "".
        name: Object to find in the marked box; "" for whatever is there.
    """

    kind: MarkKind
    colour: str = ""
    label: str = ""
    name: str = ""


def parse_mark_phrase(text: str) -> MarkPhrase | None:
    """What a text says of marks, e.g. "red circle under label A", "point B", "books (highlighted by a red box)".

    Returns:
        None for a text that names no mark. "The red box" names none: it may be an object.
    """
    words = " ".join(text.split())
    for kind, pattern in _PATTERNS:
        found = pattern.fullmatch(words)
        if found:
            parts = {key: value or "" for key, value in found.groupdict().items()}
            name = re.sub(r"^(?:the|a|an) ", "", parts.get("name", "").strip(), flags=re.IGNORECASE)
            return MarkPhrase(
                kind,
                _COLOUR_WORDS.get(parts.get("colour", "").lower(), ""),
                parts.get("label", "").upper(),
                "" if name.lower() in _ANYTHING else name,
            )
    return None


class MarkFinder:
    """Finds the marks that a phrase names.

    Args:
        reader: Reads the letters beside marks; single letters in plain inks where None.
    """

    backend = "pixels"

    def __init__(self, reader: TextReader | None = None) -> None:
        self._reader = reader or LetterReader()

    def find(self, rgb: NDArray[np.uint8], phrase: MarkPhrase) -> list[Mark]:
        """The marks of an image (H, W, 3) that a phrase names, from left to right; none where no such mark is drawn.

        Raises:
            ToolError: Where marks are drawn, but none whose letter was read as the label that the phrase names:
                NOT_RECOGNISED if the letter of one was not read, OBJECT_NOT_FOUND if all were.
        """
        marks = find_marks(rgb, phrase.kind, phrase.colour)
        if any(mark.side < _PHOTO_PX for mark in marks) and is_photograph(rgb):
            marks = [mark for mark in marks if mark.side >= _PHOTO_PX]
        if phrase.label and marks:
            read = self._labelled(rgb, marks)
            marks = [mark for mark in read if mark.label == phrase.label]
            if not marks:
                raise self._no_such_label(phrase, [mark.label for mark in read])
        return sorted(marks, key=lambda mark: mark.centre)

    def _no_such_label(self, phrase: MarkPhrase, read: Sequence[str]) -> ToolError:
        """What is said where no mark has a label, given the labels that were read, "" where one was not."""
        unread = read.count("")
        known = ", ".join(sorted(filter(None, read)))
        mark = f"{phrase.colour} {phrase.kind}".strip()
        sentence = f"No {mark} here is labelled {phrase.label!r}; the labels that I read at them are: {known or 'none'}"
        if unread:
            sentence += f", and {unread} of {len(read)} have a label that I cannot read, or none"
        code = ErrorCode.NOT_RECOGNISED if unread else ErrorCode.OBJECT_NOT_FOUND
        return ToolError(code, f"{sentence}.", "Zoom in on the mark, or name another label.", backend=self.backend)

    def _labelled(self, rgb: NDArray[np.uint8], marks: Sequence[Mark]) -> list[Mark]:
        """The marks with the letters beside them: each letter belongs to the mark that is nearest to it."""
        pairs = []
        for k, mark in enumerate(marks):
            for letter, centre, height in self._letters(rgb, mark):
                distance = float(np.hypot(*(np.array(centre) - mark.centre)))
                if distance < 1.5 * height + 1.5 * mark.side:
                    pairs.append((distance, k, letter, centre))
        labels: dict[int, str] = {}
        taken: list[tuple[float, float]] = []
        for _, k, letter, centre in sorted(pairs):
            if k not in labels and not any(np.hypot(*np.subtract(centre, other)) < 2.0 for other in taken):
                labels[k] = letter
                taken.append(centre)
        return [replace(mark, label=labels.get(k, "")) for k, mark in enumerate(marks)]

    def _letters(self, rgb: NDArray[np.uint8], mark: Mark) -> Iterator[tuple[str, tuple[float, float], float]]:
        """(letter, centre, height) [px] of the single letters around a mark."""
        height, width = rgb.shape[:2]
        left, top, right, bottom = mark.box
        reach = max(40, 3 * min(mark.side, 30))
        x, y = max(left - reach, 0), max(top - reach, 0)
        around = np.ascontiguousarray(rgb[y : min(bottom + reach, height), x : min(right + reach, width)])
        for span in self._reader.read(SessionImage(around)).value:
            text = re.sub(r"[^A-Za-z0-9]", "", span.text).upper()
            if len(text) == 1:
                a, b, c, d = span.box
                yield text, (x + (a + c) / 2.0, y + (b + d) / 2.0), d - b


def find_marks(rgb: NDArray[np.uint8], kind: MarkKind | None = None, colour: str = "") -> list[Mark]:
    """All discs, rings and box outlines of pure saturated colours in an image; labels are not read.

    Args:
        rgb: uint8 (H, W, 3).
        kind: Only this kind.
        colour: Only this family of colours.
    """
    largest = max(MAX_DISC_SHARE * max(rgb.shape[:2]), 3 * MIN_DISC_PX)
    marks: list[Mark] = []
    for family, even, mask in _painted(rgb, colour):
        rows, columns = window_of(mask)
        part, corner = mask[rows, columns], (columns.start, rows.start)
        found: list[tuple[MarkKind, Iterator[PixelBox]]] = [
            ("circle", _discs(part, largest if even else min(largest, _SMALL_PX))),
            ("box", _outlines(part)),
        ]
        for own_kind, boxes in found:
            if kind in (None, own_kind):
                marks += [Mark(own_kind, family, _moved(box, corner)) for box in boxes]
    return _distinct(marks)


def _moved(box: PixelBox, corner: tuple[int, int]) -> PixelBox:
    (left, top, right, bottom), (x, y) = box, corner
    return left + x, top + y, right + x, bottom + y


def _distinct(marks: Sequence[Mark]) -> list[Mark]:
    """Each mark once: the inside and the outside of a smooth edge may both look like one."""
    kept: list[Mark] = []
    for mark in marks:
        if not any(mark.kind == other.kind and box_iou(mark.box, other.box) > 0.5 for other in kept):
            kept.append(mark)
    return kept


def _painted(rgb: NDArray[np.uint8], wanted: str) -> Iterator[tuple[str, bool, BoolArray]]:
    """(colour family, True, mask) of the most frequent vivid colours; (.., False, ..) of all that is vivid in a family.

    The first sees a mark on an object of its own colour, the second a thin mark that compression has blurred.
    """
    red, green, blue = np.moveaxis(rgb, 2, 0)
    high = np.maximum(np.maximum(red, green), blue)
    low = np.minimum(np.minimum(red, green), blue)
    at = np.flatnonzero((high >= _VALUE) & (low <= _GREYEST[high]))
    families = _families(rgb.reshape(-1, 3)[at])
    for _, family in _FAMILIES:
        own = at[families == family]
        if wanted not in ("", family) or len(own) < _LEAST_PX:
            continue
        pixels = rgb.reshape(-1, 3)[own].astype(np.int16)
        codes = (pixels >> 3).astype(np.int32) @ np.array([1024, 32, 1])
        free = np.ones(len(own), dtype=bool)
        for code in np.argsort(-np.bincount(codes), kind="stable")[:_MAX_COLOURS]:
            same = free & (codes == code)
            if np.count_nonzero(same) < _LEAST_PX:
                continue
            near = free & (np.abs(pixels - np.median(pixels[same], axis=0)).max(axis=1) <= _TOLERANCE)
            free &= ~near
            yield family, True, _mask_of(own[near], high.shape)
        yield family, False, _mask_of(own, high.shape)


def _mask_of(at: NDArray[np.intp], shape: tuple[int, ...]) -> BoolArray:
    mask = np.zeros(shape, dtype=bool)
    mask.reshape(-1)[at] = True
    return mask


def _families(pixels: NDArray[np.uint8]) -> NDArray[np.str_]:
    """Colour families (N,) of vivid pixels (N, 3), by their hue."""
    red, green, blue = pixels.T.astype(np.float32)
    high = pixels.max(axis=1)
    span = (high - pixels.min(axis=1)).astype(np.float32)
    sixth = np.select(
        [high == red, high == green],
        [((green - blue) / span) % 6.0, (blue - red) / span + 2.0],
        (red - green) / span + 4.0,
    )
    limits, names = [limit for limit, _ in _FAMILIES], [name for _, name in _FAMILIES]
    return np.array([*names, "red"])[np.searchsorted(limits, 60.0 * sixth)]


def _discs(mask: BoolArray, largest: float) -> Iterator[PixelBox]:
    """Boxes of the parts of a mask (H, W) that are discs or rings up to a diameter [px]."""
    labels, _ = ndimage.label(mask, _EIGHT)
    for k, (rows, columns) in enumerate(ndimage.find_objects(labels), start=1):
        h, w = rows.stop - rows.start, columns.stop - columns.start
        if not MIN_DISC_PX <= min(h, w) <= max(h, w) <= largest or abs(h - w) > max(1, 0.1 * max(h, w)):
            continue
        shape = ndimage.binary_fill_holes(labels[rows, columns] == k)
        y, x = np.ogrid[:h, :w]
        ideal = ((2 * x - w + 1) / w) ** 2 + ((2 * y - h + 1) / h) ** 2 <= 1.0
        corners = shape[[0, 0, -1, -1], [0, -1, 0, -1]]
        iou = np.count_nonzero(shape & ideal) / np.count_nonzero(shape | ideal)
        if iou >= (0.88 if h >= 12 else 0.78) and not corners.any():
            yield columns.start, rows.start, columns.stop, rows.stop


def _outlines(mask: BoolArray) -> Iterator[PixelBox]:
    """Boxes of the parts of a mask (H, W) that outline an upright rectangle."""
    if np.count_nonzero(mask) < 2 * MIN_BOX_PX:
        return
    closed = ndimage.maximum_filter(mask, _GAP_PX)
    labels, _ = ndimage.label(closed, _EIGHT)
    for k, (rows, columns) in enumerate(ndimage.find_objects(labels), start=1):
        if min(rows.stop - rows.start, columns.stop - columns.start) < MIN_BOX_PX:
            continue
        part = mask[rows, columns] & (labels[rows, columns] == k)
        inner_rows, inner_columns = np.flatnonzero(part.any(axis=1)), np.flatnonzero(part.any(axis=0))
        top, bottom = int(inner_rows[0]), int(inner_rows[-1]) + 1
        left, right = int(inner_columns[0]), int(inner_columns[-1]) + 1
        shape = part[top:bottom, left:right]
        if min(shape.shape) >= MIN_BOX_PX and all(_is_side(np.rot90(shape, turn)) for turn in range(4)):
            x, y = columns.start + left, rows.start + top
            yield x, y, x + right - left, y + bottom - top


def _is_side(shape: BoolArray) -> bool:
    """True if the top of a shape (H, W) is a line: drawn along most of its width, and thin."""
    height, width = shape.shape
    drawn = shape[:_EDGE_PX].any(axis=0)
    if np.count_nonzero(drawn) < _SIDE_COVER * width:
        return False
    holes = np.maximum.accumulate(shape, axis=0) & ~shape  # below the first pixel of the line
    ends = np.where(holes.any(axis=0), np.argmax(holes, axis=0), height)
    thickness = float(np.median((ends - np.argmax(shape, axis=0))[drawn]))
    return thickness <= max(2.0, 0.2 * height)
