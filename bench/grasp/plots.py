"""Images of a grasp benchmark: success by kind of scene, and whether scores mean what they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from toolhand.bench.grasp.records import GraspRecord
from toolhand.bench.perception.calibration import Rating, calibration, overlap_calibration

COLOURS = ("#2f5f9e", "#c2571a", "#8a8a8a", "#3c8d4f")
"""One for each side, in the order of the sides; chosen to look at, told apart by the colour-blind too."""
_ROW_PX, _WIDE_PX, _HEAD_PX, _GAP_PX = 22, 420, 46, 12
"""Height of a row of the plot of success, width from 0 to 100 %, room for the legend and beside text [px]; values that
keep text of 13 px apart."""


def scores_of(records: Sequence[GraspRecord]) -> dict[str, dict[str, Any]]:
    """Reliability of the scores of masks and of grasps of one side; see `toolhand.bench.perception.calibration`.

    The score of a mask is an expected overlap: the mean overlap stands over it. The score of a grasp is a probability
    of success, of those that were executed.
    """
    scored = [r for r in records if r.scored]
    masks = [(r.mask_score, r.mask_iou) for r in scored if r.mask_score is not None and r.mask_iou is not None]
    grasps: list[Rating] = [(r.grasp_score, r.success) for r in scored if r.executed and r.grasp_score is not None]
    found = {}
    if masks:
        found["mask scores"] = overlap_calibration(masks)
    if grasps:
        found["grasp scores"] = {"what": "success", **calibration(grasps)}
        del found["grasp scores"]["thresholds"]
    return found


def success_plot(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> Image.Image:
    """A dot and a 95 % interval for each row and side; `rows` has those of each side, all sides the same ones."""
    names = list(dict.fromkeys(row["name"] for side in rows.values() for row in side))
    tall = _HEAD_PX + len(names) * _ROW_PX * len(rows) + len(names) * _ROW_PX // 2 + 40
    font = ImageFont.load_default(size=13)
    names_px = 2 * _GAP_PX + max((round(font.getlength(name)) for name in names), default=0)
    plot = Image.new("RGB", (names_px + _WIDE_PX + 110, tall), "white")
    draw = ImageDraw.Draw(plot)

    def x(share: float) -> float:
        return names_px + share * _WIDE_PX

    left = 12.0
    for colour, side in zip(COLOURS, rows, strict=False):
        draw.ellipse([left, 10, left + 10, 20], fill=colour)
        draw.text((left + 16, 15), side, "black", font, anchor="lm")
        left += 34 + draw.textlength(side, font)
    for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        draw.line([x(share), _HEAD_PX - 8, x(share), tall - 30], fill="#e4e4e4")
        draw.text((x(share), tall - 26), f"{share:.0%}", "black", font, anchor="ma")
    y = float(_HEAD_PX)
    for name in names:
        draw.text((names_px - _GAP_PX, y + _ROW_PX * len(rows) / 2), name, "black", font, anchor="rm")
        for colour, shown in zip(COLOURS, rows.values(), strict=False):
            row = next((row for row in shown if row["name"] == name), None)
            middle = y + _ROW_PX / 2
            if row is not None and row["n"]:
                draw.line([x(row["low"]), middle, x(row["high"]), middle], fill=colour, width=3)
                draw.ellipse([x(row["rate"]) - 5, middle - 5, x(row["rate"]) + 5, middle + 5], fill=colour)
                draw.text((x(1.0) + 12, middle), f"{row['success']}/{row['n']}", colour, font, anchor="lm")
            y += _ROW_PX
        y += _ROW_PX / 2
    return plot
