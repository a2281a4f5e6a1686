"""Whether scores are probabilities: reliability by bins, expected calibration error, AUC, what thresholds drop, a
plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from toolhand.bench.perception.chance import binned_error, equal_widths, errors_of, format_errors
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import BoolArray, FloatArray
from toolhand.training.intervals import Z95, wilson

Rating = tuple[float, bool]
"""The score of one found object, and whether it is what was asked for."""

BINS = 10
"""Equal bins of scores in 0..1; the usual number [-]."""
THRESHOLDS = {0.1: "LAST", 0.25: "PERIA"}
"""Detection thresholds of the papers' tools [-], and whose they are."""

_PANEL_PX, _MARGIN_PX, _COUNTS_PX, _LINE_PX = 300, 56, 60, 18
"""Side of a square panel of the plot, room around it, height of the counts under it and of a line of text [px]; values
that keep text of 13 px apart."""


def reliability(ratings: Sequence[Rating]) -> list[dict[str, Any]]:
    """One row for each bin that holds scores: its limits, n, mean score, share right and 95 % Wilson interval."""
    scores, right = _columns(ratings)
    places, rows = equal_widths(scores, BINS), []
    for k in range(BINS):
        chosen = places == k
        n, good = int(chosen.sum()), int(right[chosen].sum())
        if n:
            low, high = wilson(good, n)
            rows.append(
                {
                    "from": k / BINS,
                    "to": (k + 1) / BINS,
                    "n": n,
                    "score": round(float(scores[chosen].mean()), 4),
                    "right": round(good / n, 4),
                    "low": round(low, 4),
                    "high": round(high, 4),
                }
            )
    return rows


def calibration_error(ratings: Sequence[Rating]) -> float | None:
    """Expected calibration error: mean over bins, weighed by n, of |mean score - share right|; None without scores.

    M. P. Naeini, G. F. Cooper, M. Hauskrecht, "Obtaining Well Calibrated Probabilities Using Bayesian Binning", AAAI
    2015.
    """
    scores, right = _columns(ratings)
    return binned_error(scores, right, equal_widths(scores, BINS)) if len(scores) else None


def auc(ratings: Sequence[Rating]) -> float | None:
    """Probability that a right object scores higher than a wrong one, ties half; None unless there are both."""
    scores, right = _columns(ratings)
    good, bad = scores[right], np.sort(scores[~right])
    if not len(good) or not len(bad):
        return None
    below, up_to = (np.searchsorted(bad, good, side) for side in ("left", "right"))
    return float((below + up_to).mean() / 2 / len(bad))


def dropped(ratings: Sequence[Rating], threshold: float) -> dict[str, Any]:
    """How many wrong and right objects have a score below a threshold, out of how many."""
    scores, right = _columns(ratings)
    low = scores < threshold
    return {
        "threshold": threshold,
        "wrong": int((~right).sum()),
        "wrong_dropped": int((low & ~right).sum()),
        "right": int(right.sum()),
        "right_lost": int((low & right).sum()),
    }


def calibration(ratings: Sequence[Rating]) -> dict[str, Any]:
    """All of the above as JSON data."""
    figures = {"ece": calibration_error(ratings), "auc": auc(ratings)}
    return {
        "n": len(ratings),
        **{name: None if value is None else round(value, 4) for name, value in figures.items()},
        "errors": errors_of(*_columns(ratings), BINS),
        "bins": reliability(ratings),
        "thresholds": [dropped(ratings, threshold) for threshold in THRESHOLDS],
    }


def overlap_calibration(pairs: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Bins of predicted overlaps with the mean overlap, and its 95 % interval by the normal distribution, as JSON data.

    Args:
        pairs: (score, overlap), both in [0, 1].
    """
    if not pairs:
        return {"what": "mean IoU", "n": 0, "ece": None, "errors": [], "bins": []}
    scores, overlaps = np.array(pairs, float).T
    place, rows = equal_widths(scores, BINS), []
    for k in range(BINS):
        chosen = overlaps[place == k]
        if not chosen.size:
            continue
        score, mean = float(scores[place == k].mean()), float(chosen.mean())
        half = Z95 * float(chosen.std(ddof=1)) / np.sqrt(chosen.size) if chosen.size > 1 else 1.0
        rows.append(
            {
                "from": k / BINS,
                "to": (k + 1) / BINS,
                "n": int(chosen.size),
                "score": round(score, 4),
                "right": round(mean, 4),
                "low": round(max(0.0, mean - half), 4),
                "high": round(min(1.0, mean + half), 4),
            }
        )
    errors = errors_of(scores, overlaps, BINS)
    return {"what": "mean IoU", "n": len(pairs), "ece": errors[0]["ece"], "errors": errors, "bins": rows}


def format_bins(name: str, found: Mapping[str, Any]) -> str:
    """A calibration as text: its errors, and a line for each bin."""
    lines = [f"{name}: n {found['n']}, expected calibration error {_shown(found['ece'])}; by score, {found['what']}"]
    return "\n".join(lines + _errors_and_bins(found))


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _errors_and_bins(found: Mapping[str, Any], word: str = "") -> list[str]:
    """A line for each error and for each bin; a word stands before what is right of it."""
    return format_errors(found["errors"]) + [
        f"  {row['from']:.1f} .. {row['to']:.1f}{row['n']:>7}   score {row['score']:.3f}   {word}{row['right']:.3f}"
        f"   ({row['low']:.3f} .. {row['high']:.3f})"
        for row in found["bins"]
    ]


def format_calibration(name: str, found: Mapping[str, Any]) -> str:
    """`calibration` as text."""
    ece, area = _shown(found["ece"]), _shown(found["auc"])
    lines = [f"scores of {name}: n {found['n']}, expected calibration error {ece}, AUC right over wrong {area}"]
    lines += _errors_and_bins(found, "right ")
    for row in found["thresholds"]:
        lines.append(
            f"  {row['threshold']:g} ({THRESHOLDS[row['threshold']]}) drops {row['wrong_dropped']} of {row['wrong']} "
            f"wrong and {row['right_lost']} of {row['right']} right"
        )
    return "\n".join(lines)


def reliability_plot(
    panels: Mapping[str, Mapping[str, Any]], thresholds: Mapping[float, str] = THRESHOLDS
) -> Image.Image:
    """A reliability diagram for each `calibration`, side by side: share right over score, and how many scores a bin
    has.

    Args:
        panels: Each by its name; an entry `what` says what stands over the score, where that is not the share right.
        thresholds: Scores that are marked, and whose they are.
    """
    width = _PANEL_PX + 2 * _MARGIN_PX
    plot = Image.new("RGB", (max(len(panels), 1) * width, _PANEL_PX + _COUNTS_PX + _LINE_PX + 3 * _MARGIN_PX), "white")
    for k, (name, found) in enumerate(panels.items()):
        _draw_panel(ImageDraw.Draw(plot), k * width + _MARGIN_PX, name, found, thresholds)
    return plot


def save_plot(
    panels: Mapping[str, Mapping[str, Any]], path: Path, thresholds: Mapping[float, str] = THRESHOLDS
) -> None:
    """Write the plot as a PNG. Raises ToolError as `save_png`."""
    save_png(reliability_plot(panels, thresholds), path)


def save_png(plot: Image.Image, path: Path) -> None:
    """Write a plot of few colours. Raises ToolError INVALID_ARGUMENT where that cannot be written."""
    try:
        plot.quantize(32).save(path, format="PNG", optimize=True)
    except OSError as error:
        raise invalid(f"The plot cannot be written to {path}: {error}.") from error


def _draw_panel(
    draw: ImageDraw.ImageDraw, left: int, name: str, found: Mapping[str, Any], thresholds: Mapping[float, str]
) -> None:
    top, bottom = _MARGIN_PX + _LINE_PX, _MARGIN_PX + _LINE_PX + _PANEL_PX
    font = ImageFont.load_default(size=13)

    def at(score: float, share: float) -> tuple[float, float]:
        return left + score * _PANEL_PX, bottom - share * _PANEL_PX

    for tick in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        draw.line([at(tick, 0.0), at(tick, 1.0)], fill="#e4e4e4")
        draw.line([at(0.0, tick), at(1.0, tick)], fill="#e4e4e4")
        draw.text((at(tick, 0.0)[0], bottom + 4), f"{tick:g}", "black", font, anchor="ma")
        draw.text((left - 6, at(0.0, tick)[1]), f"{tick:g}", "black", font, anchor="rm")
    for threshold, whose in thresholds.items():
        draw.line([at(threshold, 0.0), at(threshold, 1.0)], fill="#c08a2e")
        draw.text((at(threshold, 1.0)[0] + 3, top + 3), whose, "#c08a2e", font)
    draw.rectangle([left, top, left + _PANEL_PX, bottom], outline="black")
    draw.line([at(0.0, 0.0), at(1.0, 1.0)], fill="#909090", width=2)
    highest = max((row["n"] for row in found["bins"]), default=1)
    foot = bottom + _MARGIN_PX + _COUNTS_PX
    for row in found["bins"]:
        x, y = at(row["score"], row["right"])
        draw.line([at(row["score"], row["low"]), at(row["score"], row["high"])], fill="#2f5f9e", width=2)
        draw.ellipse([x - 5, y - 5, x + 5, y + 5], fill="#2f5f9e")
        # On a logarithmic scale: most scores are near 0 or 1.
        tall = _COUNTS_PX * np.log1p(row["n"]) / np.log1p(highest)
        draw.rectangle([at(row["from"], 0.0)[0] + 1, foot - tall, at(row["to"], 0.0)[0] - 1, foot], fill="#9db8d9")
        draw.text(((at(row["from"], 0.0)[0] + at(row["to"], 0.0)[0]) / 2, foot + 3), str(row["n"]), "black", font, "ma")
    what = str(found.get("what", "share right"))
    ranked = "" if found.get("auc") is None else f", AUC {found['auc']:.3f}"
    draw.text((left, top - 56), f"{name}: {what} over score; n {found['n']}{ranked}", "black", font)
    for row, y in zip(found["errors"], (top - 38, top - 20), strict=False):
        error = f"ECE {row['ece']:.3f} in bins of {row['bins']}; by chance {row['by_chance']:.3f}"
        draw.text((left, y), error, "black", font)
    draw.text(
        (left + _PANEL_PX, bottom + 20), "score, with the mean of each bin and its 95 % interval", "black", font, "ra"
    )
    draw.text((left, foot + 20), "scores in each bin (bars: logarithm)", "black", font)


def _columns(ratings: Sequence[Rating]) -> tuple[FloatArray, BoolArray]:
    return np.array([score for score, _ in ratings], float), np.array([right for _, right in ratings], bool)
