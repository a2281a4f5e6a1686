"""The TextReader backend `pixels`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from PIL import Image

from tool_nodes.perception.text.decoding import BLANK_EM, COLUMN_EM, Character, decode
from tool_nodes.perception.text.glyphs import X_HEIGHT_EM
from tool_nodes.perception.text.layout import reading_order, with_scripts
from tool_nodes.perception.text.lines import Strip, TextBox, find_strips
from tool_nodes.ports import Answer
from tool_nodes.toolbox.images import SessionImage
from tool_nodes.types import TextSpan

LONG_SIDE_PX = 1024
"""As a network does, the reader looks at a picture of at most this size: a larger one is reduced first, so that small
print is lost in the whole picture and read in a crop of it."""
MIN_TEXT_PX = 9.0
"""Font size below which text is not read, in the picture as the reader sees it [px]."""
MAX_STRIPS = 80
"""Possible lines that are looked at in the picture at each scale, so that gravel takes no longer than a page."""
MIN_SCORE, MIN_EVIDENCE = 0.45, 1.2
"""Least mean confidence of a text's characters, and least number of clear letters it is worth; chosen by hand."""
SURE_SCORE, END_CONFIDENCE = 0.75, 0.35
"""What is read with this score is not looked at again. A text begins and ends with a letter of this confidence."""
COMMON_SHAPES = frozenset("IlJoOcCDUVvLT0171()/\\|-_=+.,:;'\"°·~!<>[]{}*^")
"""Characters that many things that are no text look like; they count as COMMON_EVIDENCE of a character."""
COMMON_EVIDENCE = 0.3
"""What a character that many things look like counts, of a clear letter [-]; chosen by hand."""


WEAK_SCORE, COMPANY_EM = 0.7, 4.0
"""A text with less evidence, such as a single digit, is read where there is text of like size in its company."""


@dataclass(frozen=True)
class _Found:
    """A text that may be there. em: its font size [px of the picture]."""

    span: TextSpan
    evidence: float
    em: float


class PixelTextReader:
    """Reads upright printed lines in Pillow's bundled typeface and its like, in any colour on any even ground.

    Local contrast finds ink, rows of similar ink are lines, and the cheapest sequence of known glyphs is what a line
    says. Nothing is random.
    """

    backend = "pixels"

    def read(self, image: SessionImage) -> Answer[list[TextSpan]]:
        """Texts of the picture in reading order, boxes in its pixels; a line with raised or lowered signs is a formula.

        Text smaller than `MIN_TEXT_PX` after reduction to `LONG_SIDE_PX` is not read; nothing read is an empty list.
        """
        width, height = image.size
        factor = min(1.0, LONG_SIDE_PX / max(width, height))
        seen = Image.fromarray(image.rgb)
        found: list[_Found] = []
        least_px = round(X_HEIGHT_EM * MIN_TEXT_PX)
        while True:
            size = max(1, round(width * factor)), max(1, round(height * factor))
            colours = np.asarray(seen.resize(size, Image.Resampling.BOX), np.float32)
            for strip in islice(find_strips(colours, least_px, _is_worth(found, factor)), MAX_STRIPS):
                found += _read_strip(strip, factor)
            factor /= 2.0
            least_px = 10
            if min(size) < 48:
                break
        return Answer(reading_order(_strongest(found)), self.backend)


def _read_strip(strip: Strip, factor: float) -> list[_Found]:
    """Texts of a strip of a picture that was reduced by a factor."""
    characters, em = decode(strip)
    if em / strip.scale < MIN_TEXT_PX:
        return []
    texts: list[list[Character]] = []
    for character in characters:
        if not texts or character.space > COLUMN_EM:
            texts.append([])
        texts[-1].append(character)
    found = []
    for text in map(_trimmed, texts):
        if not text:
            continue
        evidence = _evidence(text)
        score = float(np.mean([_confidence(c) for c in text]))
        weak = score >= WEAK_SCORE and any(c.text.isalnum() for c in text)
        if score < MIN_SCORE or (evidence < MIN_EVIDENCE and not weak):
            continue
        boxes = np.array([c.box for c in text])
        (left, top), (right, bottom) = boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)
        x0, x1 = (float(strip.left + x / strip.scale) / factor for x in (left, right))
        y0, y1 = (float(strip.top + y / strip.scale) / factor for y in (top, bottom))
        words = with_scripts([(c.text, c.level, c.space > BLANK_EM) for c in text])
        kind = "formula" if any(c.level for c in text) else "text"
        span = TextSpan(words, (x0, y0, x1, y1), round(score, 3), kind)
        found.append(_Found(span, evidence, em / strip.scale / factor))
    return found


def _is_worth(found: Sequence[_Found], factor: float) -> Callable[[TextBox], bool]:
    """Tells whether a box of a picture that was reduced by a factor could add something to what was found."""

    def is_worth(box: TextBox) -> bool:
        left, top, right, bottom = (float(value) / factor for value in box)
        for one in found:
            x0, y0, x1, y1 = one.span.box
            inside = max(0.0, min(x1, right) - max(x0, left)) * max(0.0, min(y1, bottom) - max(y0, top))
            if one.span.score >= SURE_SCORE and inside >= 0.8 * (right - left) * (bottom - top):
                return False
        # One letter counts only in company, and most specks of a picture are one.
        alone = right - left <= 1.3 * (bottom - top)
        return not alone or any(
            one.evidence >= MIN_EVIDENCE and _gap(one.span.box, (left, top, right, bottom)) <= COMPANY_EM * one.em
            for one in found
        )

    return is_worth


def _trimmed(text: Sequence[Character]) -> list[Character]:
    """The text without what stands at its ends and is hardly a letter: parts of things beside the line."""
    clear = [index for index, character in enumerate(text) if _confidence(character) >= END_CONFIDENCE]
    return list(text[clear[0] : clear[-1] + 1]) if clear else []


def _evidence(text: Sequence[Character]) -> float:
    """How many clear letters it is worth; shapes that are common count once each, however often they come."""
    common = {c.text: _confidence(c) for c in text if c.text in COMMON_SHAPES}
    clear = sum(_confidence(c) for c in text if c.text not in COMMON_SHAPES)
    return clear + COMMON_EVIDENCE * sum(common.values())


def _confidence(character: Character) -> float:
    return max(0.0, 1.0 - character.cost / 8.0)


def _strongest(found: Sequence[_Found]) -> list[TextSpan]:
    """One text for each place: the one with the most evidence. Weak ones only beside others of like size."""
    kept: list[_Found] = []
    for one in sorted(found, key=lambda f: -f.evidence * f.span.score):
        if all(_shared(one.span.box, other.span.box) < 0.3 for other in kept) and (
            one.evidence >= MIN_EVIDENCE or any(_in_company(one, other) for other in kept)
        ):
            kept.append(one)
    return [one.span for one in kept]


def _in_company(one: _Found, other: _Found) -> bool:
    return 0.6 <= one.em / other.em <= 1.7 and _gap(one.span.box, other.span.box) <= COMPANY_EM * other.em


def _gap(a: TextBox, b: TextBox) -> float:
    """Distance of two boxes along the axis on which they are further apart [px]."""
    return max(b[0] - a[2], a[0] - b[2], b[1] - a[3], a[1] - b[3])


def _shared(a: Sequence[float], b: Sequence[float]) -> float:
    """Common area as part of the smaller box."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    smaller = min((box[2] - box[0]) * (box[3] - box[1]) for box in (a, b))
    return float(width * height / max(smaller, 1e-9))
