"""What a line says: the cheapest sequence of glyphs that explains its ink, under one font size and baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from tool_nodes.perception.text.atlas import SCRIPT_SCALE, Atlas, atlas, sample
from tool_nodes.perception.text.lines import STRIP_BODY_PX, Strip
from tool_nodes.types import FloatArray

LIKENESS_COST = 25.0
"""Cost of a correlation of 0 instead of 1: a log likelihood, as all costs here."""
SCRIPT_COST = 3.0
"""Cost of a raised or lowered character; chosen by hand, as all costs here."""
CHARACTER_COST = 0.3
"""Cost of each character, so that few explain what many could."""
MAX_COST = 12.0
"""Cost of what looks like nothing known."""
SPECK_COST, SPECK_COST_PER_EM2 = 2.0, 120.0
"""Cost of ink that is no character: small specks only."""
EMS_PX = (0.9 * STRIP_BODY_PX / 0.76, 1.1 * STRIP_BODY_PX / 0.55)
"""Font sizes of a strip whose letters are mostly capitals, or mostly small [px of the strip]."""
MAX_PIECES, MAX_WIDTH_EM = 5, 1.25
"""A character has at most so many pieces of ink, and is at most so wide [em]."""
BLANK_EM, COLUMN_EM = 0.13, 1.1
"""Space between the ink of two letters, beyond what they keep anyway, that is a blank, and that ends a text."""


@dataclass(frozen=True)
class Character:
    """One character read.

    Attributes:
        text: The character.
        box: Left, top, right, bottom [px of the strip].
        cost: Minus log likelihood, about 1 for clear print.
        level: 1 raised, 0 on the line, -1 lowered.
        space: Blank before it, beyond what letters keep anyway [em].
    """

    text: str
    box: tuple[float, float, float, float]
    cost: float
    level: int
    space: float


@dataclass(frozen=True)
class _Pieces:
    """Ink of a strip from left to right: boxes (N, 4) of pieces, segment (N,) which connected ink they are cut from,
    sheet: the ink with segments moved apart, shift (N,): by how much to the right."""

    boxes: FloatArray
    segment: NDArray[np.intp]
    sheet: NDArray[np.float32]
    shift: FloatArray


def decode(strip: Strip) -> tuple[list[Character], float]:
    """Characters of a strip from left to right, and the font size [px of the strip]; none where no ink is left."""
    pieces = _pieces(strip.ink)
    if pieces is None:
        return [], 0.0
    known = atlas()
    spans = _spans(pieces)
    boxes = np.array([_box(pieces, first, last) for first, last in spans])
    moved = boxes + np.stack([pieces.shift[[first for first, _ in spans]]] * 2, axis=1).repeat(2, axis=1) * (1, 0, 1, 0)
    likeness = known.likeness(sample(pieces.sheet, moved))
    whole = np.array([_is_whole_segment(pieces, *span) for span in spans])
    pixel_em = 1.0 / strip.scale
    hypothesis = _best_hypothesis(known, boxes[whole], likeness[whole], pixel_em)
    if hypothesis is None:
        return [], 0.0
    costs = _costs(known, boxes, likeness, *hypothesis, pixel_em)
    path = _cheapest_path(pieces, spans, boxes, costs.min(axis=1), hypothesis[0])
    return _characters(known, boxes[path], costs[path], hypothesis[0]), hypothesis[0]


def _pieces(ink: NDArray[np.float32]) -> _Pieces | None:
    labels, _ = ndimage.label(ink >= 0.5, structure=np.ones((3, 3)))
    height, width = ink.shape
    parts = []
    for index, where in enumerate(ndimage.find_objects(labels), start=1):
        rows, columns = where
        box = (columns.start, rows.start, columns.stop, rows.stop)
        beyond = rows.start == 0 or rows.stop == height or columns.start == 0 or columns.stop == width
        ruling = columns.stop - columns.start > 3 * STRIP_BODY_PX and rows.stop - rows.start < 0.35 * STRIP_BODY_PX
        tiny = max(columns.stop - columns.start, rows.stop - rows.start) < 0.07 * STRIP_BODY_PX
        if not (beyond or ruling or tiny):
            parts.append((box, [index]))
    groups = _stacked(parts)
    if not groups:
        return None
    room = round(0.2 * STRIP_BODY_PX)
    sheet = np.zeros((height, sum(round(b[2] - b[0]) + room for b, _ in groups)), np.float32)
    boxes, segment, shift = [], [], []
    x = 0
    for number, ((left, _, right, _), members) in enumerate(groups):
        near = labels[:, left:right]
        own = ink[:, left:right] * np.logical_or.reduce([near == 0, *(near == member for member in members)])
        sheet[:, x : x + right - left] = own
        cuts = [left, *(left + cut for cut in _cuts(own)), right]
        for start, end in pairwise(cuts):
            inked = np.flatnonzero((own[:, start - left : end - left] >= 0.5).any(axis=1))
            if len(inked):
                boxes.append((start, inked[0], end, inked[-1] + 1))
                segment.append(number)
                shift.append(x - left)
        x += right - left + room
    return _Pieces(np.array(boxes, float), np.array(segment), sheet, np.array(shift, float))


InkBox = tuple[int, int, int, int]


def _stacked(parts: Sequence[tuple[InkBox, list[int]]]) -> list[tuple[InkBox, list[int]]]:
    """Connected inks, with those that stand over each other (i, é, =, %) joined, from left to right."""
    groups: list[tuple[InkBox, list[int]]] = []
    for box, members in sorted(parts):
        if groups:
            (left, top, right, bottom), others = groups[-1]
            shared = min(right, box[2]) - max(left, box[0])
            if shared >= 0.6 * min(right - left, box[2] - box[0]):
                joined = (min(left, box[0]), min(top, box[1]), max(right, box[2]), max(bottom, box[3]))
                groups[-1] = (joined, others + members)
                continue
        groups.append((box, list(members)))
    return groups


def _cuts(own: NDArray[np.float32]) -> list[int]:
    """Columns where ink that is wide enough for two letters may be cut: its thinnest places."""
    width = own.shape[1]
    if width < 0.55 * STRIP_BODY_PX:
        return []
    profile = ndimage.gaussian_filter1d(own.sum(axis=0), 0.8)
    reach = round(0.12 * STRIP_BODY_PX)
    lowest = ndimage.minimum_filter1d(profile, 2 * reach + 1)
    thin = np.flatnonzero((profile <= lowest) & (profile < 0.62 * profile.max()))
    cuts: list[int] = []
    for column in thin:
        if reach <= column <= width - reach and (not cuts or column - cuts[-1] > reach):
            cuts.append(int(column))
    return cuts


def _spans(pieces: _Pieces) -> list[tuple[int, int]]:
    """First and last piece of everything that could be one character."""
    widest = MAX_WIDTH_EM * EMS_PX[1]
    spans = []
    for first in range(len(pieces.boxes)):
        for last in range(first, min(first + MAX_PIECES, len(pieces.boxes))):
            crossing = pieces.segment[last] - pieces.segment[first]
            wide = pieces.boxes[last, 2] - pieces.boxes[first, 0] > widest
            # Several inks are one character only if all of each is in it: a quotation mark, a broken stroke.
            broken = crossing > 0 and not _is_whole_segment(pieces, first, last)
            if last > first and (wide or crossing > 2 or broken):
                continue
            spans.append((first, last))
    return spans


def _is_whole_segment(pieces: _Pieces, first: int, last: int) -> bool:
    starts = first == 0 or pieces.segment[first - 1] != pieces.segment[first]
    ends = last == len(pieces.segment) - 1 or pieces.segment[last + 1] != pieces.segment[last]
    return bool(starts and ends)


def _box(pieces: _Pieces, first: int, last: int) -> FloatArray:
    boxes = pieces.boxes[first : last + 1]
    return np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)])


def _best_hypothesis(
    known: Atlas, boxes: FloatArray, likeness: NDArray[np.float32], pixel_em: float
) -> tuple[float, float] | None:
    """(Font size, baseline) [px of the strip] under which most inks look like characters."""
    chosen = np.argsort(-(boxes[:, 3] - boxes[:, 1]) * likeness.max(axis=1), kind="stable")[:16]
    proposals = []
    for k in chosen:
        for glyph in np.argsort(-likeness[k], kind="stable")[:4]:
            tall = known.top[glyph] - known.bottom[glyph]
            em = (boxes[k, 3] - boxes[k, 1]) / tall
            if likeness[k, glyph] > 0.8 and tall > 0.45 and EMS_PX[0] <= em <= EMS_PX[1]:
                proposals.append((em, boxes[k, 3] + known.bottom[glyph] * em))
    best, least = None, np.inf
    for proposal in {(round(em), round(baseline)): (em, baseline) for em, baseline in proposals}.values():
        costs = _costs(known, boxes[chosen], likeness[chosen], *proposal, pixel_em)
        total = float(np.minimum(costs.min(axis=1), 6.0).sum())
        if total < least:
            best, least = proposal, total
    return best


def _costs(
    known: Atlas, boxes: FloatArray, likeness: NDArray[np.float32], em: float, baseline: float, pixel: float
) -> FloatArray:
    """Cost of every entry of the atlas for every box: (N, E)."""
    # Small print is drawn and seen to half a pixel only.
    sigma = np.hypot(0.03, 0.45 / (em * pixel))
    top, bottom = (baseline - boxes[:, 1]) / em, (baseline - boxes[:, 3]) / em
    width = (boxes[:, 2] - boxes[:, 0]) / em
    off = (top[:, None] - known.top) ** 2 + (bottom[:, None] - known.bottom) ** 2 + (width[:, None] - known.width) ** 2
    cost = LIKENESS_COST * (1.0 - likeness[:, known.glyph]) + off / (2.0 * sigma**2)
    cost += known.prior + SCRIPT_COST * (known.level != 0) + CHARACTER_COST
    # What looks like nothing known costs as much as the letters that would fit into it.
    return np.minimum(cost, MAX_COST * np.maximum(1.0, 2.0 * width)[:, None])


def _cheapest_path(
    pieces: _Pieces, spans: Sequence[tuple[int, int]], boxes: FloatArray, costs: FloatArray, em: float
) -> list[int]:
    """Indices of the spans that explain all ink at the least cost; specks are left out."""
    count = len(pieces.boxes)
    least = np.full(count + 1, np.inf)
    least[0] = 0.0
    step: list[tuple[int, int]] = [(0, -1)] * (count + 1)
    for index, (first, last) in enumerate(spans):  # ordered by first
        if first == last and _is_whole_segment(pieces, first, last):
            left, top, right, bottom = boxes[index] / em
            skipped = least[first] + SPECK_COST + SPECK_COST_PER_EM2 * (right - left) * (bottom - top)
            if skipped < least[last + 1]:
                least[last + 1], step[last + 1] = skipped, (first, -1)
        if least[first] + costs[index] < least[last + 1]:
            least[last + 1], step[last + 1] = least[first] + costs[index], (first, index)
    path = []
    end = count
    while end > 0:
        end, index = step[end]
        if index >= 0:
            path.append(index)
    return path[::-1]


def _characters(known: Atlas, boxes: FloatArray, costs: FloatArray, em: float) -> list[Character]:
    """The characters in boxes (N, 4) from left to right, given the cost of each entry of the atlas (N, E)."""
    entries = costs.argmin(axis=1)
    spaces = _spaces(known, boxes, entries, em)
    _settle_upright_strokes(known, entries, costs, spaces)
    return [
        Character(
            text=known.characters[known.glyph[entry]],
            box=(float(box[0]), float(box[1]), float(box[2]), float(box[3])),
            cost=float(cost[entry]),
            level=int(known.level[entry]),
            space=space,
        )
        for box, entry, cost, space in zip(boxes, entries, costs, spaces, strict=True)
    ]


def _spaces(known: Atlas, boxes: FloatArray, entries: NDArray[np.intp], em: float) -> list[float]:
    """Blank before each character, beyond the bearings of both neighbours [em]."""
    spaces, end = [], None
    for (left, _, right, _), entry in zip(boxes, entries, strict=True):
        glyph, scale = known.glyph[entry], SCRIPT_SCALE if known.level[entry] else 1.0
        before = known.bearing[glyph] * scale * em
        after = (known.advance[glyph] - known.bearing[glyph]) * scale * em - known.width[entry] * em
        spaces.append(0.0 if end is None else float(left - before - end) / em)
        end = right + max(after, 0.0)
    return spaces


def _settle_upright_strokes(
    known: Atlas, entries: NDArray[np.intp], costs: FloatArray, spaces: Sequence[float]
) -> None:
    """Replace a capital I inside a word by i or l where a small letter follows: in small print they look the same."""
    capital, *small = (known.characters.index(c) for c in "Iil")
    for k in range(1, len(entries) - 1):
        inside = spaces[k] <= BLANK_EM and spaces[k + 1] <= BLANK_EM
        if entries[k] == capital and inside and known.characters[known.glyph[entries[k + 1]]].islower():
            entries[k] = min(small, key=lambda entry: costs[k, entry])
