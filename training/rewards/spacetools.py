"""Rewards of SpaceTools (DIRL). Numbers of equations are those of its supplement.

Points are normalized image coordinates in [0, 1]. An answer that is none (not finite, another shape, empty) scores 0;
a truth that is none is a ToolError, INVALID_ARGUMENT. Every reward lies in [0, 1] except where its docstring says
that the printed formula does not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from toolhand.tool_nodes.types import FloatArray
from toolhand.training.rewards.shapes import (
    answered_rows,
    area,
    box_ious,
    centroid,
    convex_hull,
    intersection_area,
    positive,
    signed_distance,
    true_hull,
    true_rows,
    wrong,
)
from toolhand.training.rewards.words import plain

DECAY = 5.0
"""How fast NNDC falls with distance, in image widths [-]; main paper, section on rewards."""
FARTHEST = float(np.sqrt(2.0))
"""Largest distance of two normalized image points [-]; the same formula."""
FORMAT_WEIGHT = 0.3
"""Lambda of the format score [-]; supplement C.2. The final training left the format score out."""
GRASP_POINTS = 5
"""Grasp center, left and right finger base, left and right finger tip; supplement D.2."""
FINGERS = ((0, 1), (0, 2), (1, 3), (2, 4))
"""The four direction vectors between those points, from and to; supplement D.2."""


def choice(answer: str | None, truth: str) -> float:
    """R_B of a multiple-choice question: 1 for the right choice, else 0 (main paper, task-specific rewards).

    Case, white space and surrounding punctuation do not count.
    """
    return float(plain(answer) == plain(truth) != "")


def in_hull(point: Any, region: Any) -> float:
    """R_B of pointing: 1 where the point lies within the convex hull of the region's points (C.2), its edge included.

    Several points count as their mean, here and in the other rewards of pointing.

    Args:
        point: (2,) or (N, 2).
        region: (M, 2), three of them not on a line.
    """
    place, hull = _place(point), true_hull(region, "region")
    return float(place is not None and signed_distance(place, hull) <= 0)


def nndc(point: Any, region: Any, clip: bool = True) -> float:
    """Normalized negative centroid distance: (exp(-5 d) - exp(-5 sqrt 2)) / (1 - exp(-5 sqrt 2)) (main paper).

    d is the distance from the point to the centroid of the region: of the area of its convex hull, or the region's
    one point. Farther than sqrt 2, where the formula is negative, scores 0.

    Args:
        point: (2,) or (N, 2).
        region: (M, 2).
        clip: With the binary term, max(R_NNDC, R_B), "by default" (C.2): every point of the region scores 1.
    """
    place, points = _place(point), true_rows(region, "region")
    if place is None:
        return 0.0
    floor = np.exp(-DECAY * FARTHEST)
    score = (np.exp(-DECAY * np.linalg.norm(place - centroid(points))) - floor) / (1 - floor)
    hull = convex_hull(points)
    inside = clip and area(hull) > 0 and signed_distance(place, hull) <= 0
    return 1.0 if inside else float(max(0.0, score))


def nsdh(point: Any, region: Any, clip: bool = True, as_printed: bool = True) -> float:
    """Normalized signed distance to the hull (C.2), with s negative inside.

    Misprint: as printed, 0.5 + 0.5 exp(s) inside is 1 at the boundary and falls towards 0.5 within, so that the worst
    point of the region is its middle, and it jumps to 0.5 exp(-s) = 0.5 outside. Corrected, 1 - 0.5 exp(s) inside:
    0.5 at the boundary from both sides, rising within. `clip` hides the misprint, because every point inside then
    scores 1.

    Args:
        point: (2,) or (N, 2).
        region: (M, 2), three of them not on a line.
        clip: max(R_NSDH, R_B).
        as_printed: The formula of the paper, or the corrected one.
    """
    place, hull = _place(point), true_hull(region, "region")
    if place is None:
        return 0.0
    s = signed_distance(place, hull)
    if s > 0:
        return float(0.5 * np.exp(-s))
    if clip:
        return 1.0
    return float(0.5 + 0.5 * np.exp(s) if as_printed else 1 - 0.5 * np.exp(s))


def nac(point: Any, region: Any) -> float:
    """Normalized area change, exp(-dA / A0) (C.2): dA is what the point adds to the area A0 of the convex hull.

    A point inside adds nothing and scores 1, with the binary term or without it.

    Args:
        point: (2,) or (N, 2).
        region: (M, 2), three of them not on a line.
    """
    place, hull = _place(point), true_hull(region, "region")
    if place is None:
        return 0.0
    before = area(hull)
    added = max(0.0, area(convex_hull(np.vstack([hull, place]))) - before)
    return float(np.exp(-added / before))


def mean_iou(boxes: Any, truth: Any, as_printed: bool = True) -> float:
    """Mean IoU of 2D boxes, (1/N) sum_i max_j IoU(B^_i, B_j) over the N predicted boxes (main paper).

    Oversight: as printed, boxes that were missed cost nothing and one right box may be said N times. Corrected, the
    mean of this sum and of the same one over the true boxes.

    Args:
        boxes: Predicted (x1, y1, x2, y2), (N, 4) or (4,).
        truth: True boxes, (M, 4) or (4,).
        as_printed: The formula of the paper, or both directions.
    """
    predicted, true = answered_rows(boxes, 4), true_rows(truth, "boxes", 4)
    if predicted is None:
        return 0.0
    ious = box_ious(predicted, true)
    printed = float(ious.max(axis=1).mean())
    return printed if as_printed else (printed + float(ious.max(axis=0).mean())) / 2


def pose_iou(corners: Any, truth: Any) -> float:
    """Pose of a box: IoU of the convex hulls of its 8 projected corners, predicted and true (main paper).

    Args:
        corners: (8, 2); the order of the corners does not count.
        truth: (8, 2), three of them not on a line.
    """
    predicted, true = answered_rows(corners, rows=8), true_hull(true_rows(truth, "corners", rows=8), "corners")
    if predicted is None:
        return 0.0
    hull = convex_hull(predicted)
    if area(hull) <= 0:
        return 0.0
    shared = intersection_area(hull, true)
    return float(np.clip(shared / (area(hull) + area(true) - shared), 0.0, 1.0))


def nnce(points: Any, truth: Any, scale: float, largest: float = 1.0) -> float:
    """Normalized negative coordinate error of five points: `1 - min(delta_max, mean_i |p^_i - p_i| / d) / delta_max`.

    Main paper. It does not see the gripper's orientation: turned by 64 degrees about the right centre scores better
    than turned by 18 degrees and moved along the fingers; `grasp.oriented_grasp` does.

    Args:
        points, truth: (5, 2): grasp center, left and right finger base, left and right finger tip.
        scale: d, in the unit of the points; the paper gives no value.
        largest: delta_max, the mean error in units of d from which on the score is 0; the paper gives no value.
    """
    true = true_rows(truth, "grasp points", rows=GRASP_POINTS)
    predicted = answered_rows(points, rows=GRASP_POINTS)
    scale, largest = positive(scale, "scale"), positive(largest, "largest")
    if predicted is None:
        return 0.0
    error = float(np.linalg.norm(predicted - true, axis=1).mean()) / scale
    return 1.0 - min(largest, error) / largest


def mace(points: Any, truth: Any, width: float, as_printed: bool = True) -> float:
    """MACE, Eq. 3: `1 - (|c^ - c| / w + (1/4) sum_k (1 - cos(r^_k, r_k)) / 2) / 2` of five points; higher is better.

    A predicted finger without length has no direction and counts as the opposite one.

    Misprint: it is called an error but is an agreement, and as printed it falls below 0 without bound as the centres
    move apart. Corrected, the distance of the centres counts up to one gripper width, which keeps it in [0, 1].

    Args:
        points: (5, 2), in the order of `nnce`.
        truth: The same; no two neighbouring points of it may be equal.
        width: w, the gripper's width in the unit of the points.
        as_printed: The formula of the paper, or the bounded one. What is no answer scores 0 in both.
    """
    true = true_rows(truth, "grasp points", rows=GRASP_POINTS)
    predicted = answered_rows(points, rows=GRASP_POINTS)
    directions = _directions(true)
    if np.isnan(directions).any():
        raise wrong("The true grasp points must differ from their neighbours.")
    width = positive(width, "width")
    if predicted is None:
        return 0.0
    cosines = np.nan_to_num(np.sum(_directions(predicted) * directions, axis=1), nan=-1.0)
    moved = float(np.linalg.norm(predicted[0] - true[0])) / width
    if not as_printed:
        moved = min(1.0, moved)
    return float(1 - (moved + np.mean((1 - cosines) / 2)) / 2)


def format_score(turns: Sequence[str], needs_call: bool = False, as_printed: bool = True) -> float:
    """Format score (C.2): 1 for a well-formed conversation, else 0.

    Each <tool_call> and the single <answer> come right after a thought, and the answer ends the last turn.

    Oversight: "every <tool_call> tag is immediately preceded by a <think> tag" forbids several calls after one
    thought, which the paper's own Figure 7 has. Corrected, a call may follow another call.

    Args:
        turns: Text of the policy, one entry a turn; answers of tools are not among them.
        needs_call: Also ask for at least one call, "optional" in the paper.
        as_printed: The rule of the paper, or the corrected one.
    """
    if not turns:
        return 0.0
    thought = r"\s*<think>(?:(?!<think>|</think>).)*</think>"
    call = r"\s*<tool_call>(?:(?!<tool_call>|</tool_call>).)*</tool_call>"
    calls = f"{thought}{call}" if as_printed else f"{thought}(?:{call})+"
    answer = rf"{thought}\s*<answer>(?:(?!<answer>|</answer>).)*</answer>\s*"
    *acting, last = turns
    formed = all(re.fullmatch(rf"(?:{calls})+\s*", turn, re.DOTALL) for turn in acting)
    formed = formed and re.fullmatch(rf"(?:{calls})*{answer}", last, re.DOTALL) is not None
    return float(formed and (not needs_call or any("<tool_call>" in turn for turn in turns)))


def with_format(accuracy: float, form: float, weight: float = FORMAT_WEIGHT) -> float:
    """R_final = R_acc + lambda R_format (C.2), in [0, 1 + lambda].

    Args:
        accuracy: R_acc in [0, 1].
        form: R_format, 0 or 1.
        weight: lambda in [0, 1].
    """
    return accuracy + weight * form


def _place(point: Any) -> FloatArray | None:
    points = answered_rows(point)
    return None if points is None else np.asarray(points.mean(axis=0), np.float64)


def _directions(points: FloatArray) -> FloatArray:
    """Unit vectors (4, 2) of the fingers; NaN for one without length."""
    vectors = np.array([points[end] - points[start] for start, end in FINGERS])
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=np.full_like(vectors, np.nan), where=lengths > 0)
