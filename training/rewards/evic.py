"""Rewards of E-ViC: seven terms (Appendix D, and the format of Eq. 1), their gate (Eq. 2), the cost of failed calls.

Points and boxes are normalized to [0, 1], as the appendix has them. An answer that is none scores 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from toolhand.tool_nodes.types import FloatArray
from toolhand.training.rewards.shapes import answered_number, answered_rows, box_ious, true_number, true_rows, wrong
from toolhand.training.rewards.words import canonical_call

TASK_WEIGHT, FORMAT_WEIGHT = 1.0, 1.0
"""Alpha and beta of Eq. 1 [-]; Appendix D."""
FAILED_CALL = -0.05
"""What each failed call adds to the reward [-]; Appendix E.7."""
VISUAL_TOOLS = frozenset({"image_zoom_in", "draw_point", "draw_box", "draw_trajectory", "draw_3d_bbox"})
"""The set T_visual of constraint C2; Figure 8."""
THRESHOLDS = (0.50, 0.55, 0.60, 0.65, 0.70, 0.75, 0.80, 0.85, 0.90, 0.95)
"""Theta of MRA [-]; Appendix D.2."""
ZERO = 1e-6
"""Epsilon_0: what counts as 0 where the true value is 0 [-]; Appendix D.2."""
REGION_WIDTH = 0.5
"""Alpha of Eq. 13, sigma by the extent of the region [-]; Appendix D.3.1. No relation to the alpha of Eq. 1."""
POINT_SIGMA = 0.1
"""Sigma_pt of Eq. 17 [image widths]; Appendix D.3.2."""
PATH_DECAY = 0.1
"""Beta of Eq. 21, by the largest distance [-]; Appendix D.4."""
START_WEIGHT, END_WEIGHT = 0.4, 0.6
"""Lambda_s and lambda_e of Eq. 22 [-]; Appendix D.4."""
ENDS_WEIGHT, PATH_WEIGHT = 0.3, 0.7
"""Omega_goal and omega_traj of Eq. 23 [-]; Appendix D.4."""
LARGEST = float(np.sqrt(2.0))
"""d_max by the image's width W [-]; Appendix D.4. W = 256 itself cancels out of every term."""


def choice(answer: str | None, truth: str, as_printed: bool = True) -> float:
    """R_choice, Eq. 8: 1 where both are the same in capitals and without trailing punctuation.

    Misprint: trailing punctuation alone leaves "(A)" unequal to "A", though the paper names parentheses. Corrected,
    punctuation goes from both ends.
    """
    said, true = (
        (a.upper().strip().rstrip if as_printed else a.upper().strip)(" ().,:;\n\t") for a in (answer or "", truth)
    )
    return float(said == true != "")


def mra(answer: Any, truth: float) -> float:
    """Mean relative accuracy, Eq. 9 to 11: the share of 10 thresholds theta with `|v^ - v| / |v| < 1 - theta`.

    For a true 0 it is 1 where `|v^| < 1e-6`, else 0. What is no finite number scores 0.
    """
    truth = true_number(truth, "The true value")
    said = answered_number(answer)
    if said is None:
        return 0.0
    if truth == 0:
        return float(abs(said) < ZERO)
    error = abs(said - truth) / abs(truth)
    return sum(error < 1 - theta for theta in THRESHOLDS) / len(THRESHOLDS)


def region(points: Any, truth: Any) -> float:
    """R_region, Eq. 12 to 15: a Gaussian about the middle of the region's extent, averaged over all predicted points.

    Args:
        points: (N, 2) or (2,).
        truth: (M, 2), 4 points or more that differ in x and in y.
    """
    true = true_rows(truth, "region")
    low, high = true.min(axis=0), true.max(axis=0)
    if len(true) < 4 or not (high > low).all():
        raise wrong("The true region must have 4 points or more that differ in x and in y.")
    said = answered_rows(points)
    if said is None:
        return 0.0
    deviations = (said - (low + high) / 2) / (REGION_WIDTH * (high - low))
    return float(np.exp(-0.5 * np.sum(deviations**2, axis=1)).mean())


def single_point(points: Any, truth: Any, as_printed: bool = True) -> float:
    """R_single, Eq. 16 and 17: `exp(-|p* - g|^2 / (2 sigma^2))`, sigma = 0.1.

    Oversight: as printed, p* is the predicted point nearest to the truth, so a grid of points always scores high.
    Corrected, the mean over all predicted points, as Eq. 15 has it.

    Args:
        points: (N, 2) or (2,).
        truth: (2,).
        as_printed: The nearest point, or all.
    """
    true, said = true_rows(truth, "point", rows=1), answered_rows(points)
    if said is None:
        return 0.0
    scores = np.exp(-np.sum((said - true) ** 2, axis=1) / (2 * POINT_SIGMA**2))
    return float(scores.max() if as_printed else scores.mean())


def path_coverage(path: Any, truth: Any) -> float:
    """R_traj, Eq. 18 to 21: exp(-d_bi / (0.1 d_max)), d_bi the mean of the mean nearest distances of both directions.

    Args:
        path: (N, 2).
        truth: (M, 2).
    """
    true, said = true_rows(truth, "path"), answered_rows(path)
    if said is None:
        return 0.0
    distances = np.linalg.norm(true[:, None] - said[None], axis=2)
    both = (distances.min(axis=1).mean() + distances.min(axis=0).mean()) / 2
    return float(np.exp(-both / (PATH_DECAY * LARGEST)))


def path_ends(path: Any, truth: Any, as_printed: bool = True) -> float:
    """R_goal, Eq. 22: `0.4 exp(-|p_1 - g_1| / d_max) + 0.6 exp(-|p_N - g_M| / d_max)`.

    Oversight: without the beta of Eq. 21 the worst ends in the image still score exp(-1) = 0.37 and an error of a
    tenth of the image costs 7 %. Corrected, with beta = 0.1 as in Eq. 21.

    Args:
        path: (N, 2).
        truth: (M, 2).
        as_printed: Without beta, or with it.
    """
    true, said = true_rows(truth, "path"), answered_rows(path)
    if said is None:
        return 0.0
    scale = LARGEST if as_printed else PATH_DECAY * LARGEST
    start, end = (float(np.exp(-np.linalg.norm(said[k] - true[k]) / scale)) for k in (0, -1))
    return START_WEIGHT * start + END_WEIGHT * end


def trajectory(path: Any, truth: Any, as_printed: bool = True) -> float:
    """R_trajectory, Eq. 23: 0.3 R_goal + 0.7 R_traj, in [0, 1].

    Args:
        path: (N, 2).
        truth: (M, 2).
        as_printed: See `path_ends`.
    """
    return ENDS_WEIGHT * path_ends(path, truth, as_printed) + PATH_WEIGHT * path_coverage(path, truth)


def iou(box: Any, truth: Any) -> float:
    """R_IoU, Eq. 24 to 26, of (x1, y1, x2, y2).

    Args:
        box: (4,).
        truth: (4,), x1 < x2 and y1 < y2.
    """
    true = true_rows(truth, "box", 4, rows=1)
    if not (true[0, 2:] > true[0, :2]).all():
        raise wrong("The true box must have x1 < x2 and y1 < y2.")
    said: FloatArray | None = answered_rows(box, 4, rows=1)
    return 0.0 if said is None else float(box_ious(said, true)[0, 0])


def format_reward(turns: Sequence[str]) -> float:
    """R_format: 1 for a well-formed conversation, else 0. Eq. 1 names it; what it asks is from Appendix B.

    At most one call a turn, opened and closed; the final answer in one \\boxed{} of the last turn, which calls nothing.
    """
    if not turns:
        return 0.0
    counts = [(t.count("<tool_call>"), t.count("</tool_call>"), len(re.findall(r"\\boxed\{", t))) for t in turns]
    acting, last = counts[:-1], counts[-1]
    return float(all(c == (1, 1, 0) or c == (0, 0, 0) for c in acting) and last == (0, 0, 1))


def gate(calls: Sequence[tuple[str, Mapping[str, Any]]], as_printed: bool = True) -> float:
    """G, Eq. 2: 0 where two calls in a row are the same (C1), else 0.5, or 1 where a visual tool was called (C2).

    Calls are the same where name and arguments are exactly (as JSON).

    Oversight: C1 compares neighbours only, so a loop of two calls passes, though the paper says that it "eliminates
    action loops". Corrected, no call may be the same as any before it.

    Args:
        calls: Name and arguments of all calls of the rollout in order, failed ones too.
        as_printed: Neighbours, or any two.
    """
    said = [canonical_call(name, arguments) for name, arguments in calls]
    again = any(a == b for a, b in pairwise(said)) if as_printed else len(set(said)) < len(said)
    if again:
        return 0.0
    return 1.0 if any(name in VISUAL_TOOLS for name, _ in calls) else 0.5


def total(task: float, form: float, gated: float, failed_calls: int = 0) -> float:
    """R_final, Eq. 1, and Appendix E.7: (R_k + R_format) G - 0.05 for each failed call.

    Eq. 1 leaves the cost of failed calls out. It stands outside the gate: within, a rollout that is closed anyway would
    fail for nothing.

    Args:
        task: R_k in [0, 1].
        form: R_format, 0 or 1.
        gated: G, 0, 0.5 or 1.
        failed_calls: How many calls were answered with an error, 0 or more.
    """
    if failed_calls < 0:
        raise wrong(f"failed_calls must be 0 or more, got {failed_calls}.")
    return (TASK_WEIGHT * task + FORMAT_WEIGHT * form) * gated + FAILED_CALL * failed_calls
