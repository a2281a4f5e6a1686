"""Rewards of LAST, section 3.2 (stage 3): format, correctness, tool use. The paper does not number them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from toolhand.training.rewards.shapes import answered_number, positive, true_number
from toolhand.training.rewards.words import plain

TAGS = ("analy", "action", "ans")
"""The set T of tag types; Figure 6."""
CORRECT_WEIGHT, FORMAT_WEIGHT, TOOL_WEIGHT = 1.0, 0.3, 0.3
"""Lambdas of correctness, format and tool use [-]; section 4.1."""
MARGIN = 0.25
"""A number is right within this relative error [-]; section 4.1, the metric of the evaluation."""


def format_reward(text: str, as_printed: bool = True) -> float:
    """r_format: 0 where every type of tag is closed as often as it is opened, else -1.

    Oversight: counts alone are right for "</ans><ans>" and for an empty text. Corrected, each tag is closed before
    another is opened, and there is an answer.

    Args:
        text: Text of the policy in all turns.
        as_printed: Counts alone, or the stricter rule.
    """
    if any(text.count(f"<{tag}>") != text.count(f"</{tag}>") for tag in TAGS):
        return -1.0
    if as_printed:
        return 0.0
    tags = re.findall(rf"<(/?)({'|'.join(TAGS)})>", text)
    pairs = zip(tags[::2], tags[1::2], strict=True)
    nested = any(opened[0] or not closed[0] or opened[1] != closed[1] for opened, closed in pairs)
    return 0.0 if not nested and ("/", "ans") in tags else -1.0


def correct_choice(answer: str | None, truth: str) -> float:
    """r_correct of a discrete task: I(y^ = y); case, white space and surrounding punctuation do not count."""
    return float(plain(answer) == plain(truth) != "")


def correct_number(answer: Any, truth: float, alpha: float) -> float:
    """r_correct of a number: `exp(-alpha |y^ - y|)`; what is no finite number scores 0.

    The error is absolute: alpha is by the unit of the answer, and 1 m and 100 cm score differently with the same alpha.

    Args:
        alpha: Sensitivity, by the unit of the answer; the paper gives no value.
    """
    truth, alpha = true_number(truth, "The true value"), positive(alpha, "alpha")
    said = answered_number(answer)
    return 0.0 if said is None else float(np.exp(-alpha * abs(said - truth)))


def right_number(answer: Any, truth: float, as_printed: bool = True) -> bool:
    """I(y^ = y) of the tool reward, for a number.

    Oversight: as printed, equality, which a measured size or distance never reaches, so that the tool reward of
    numerical tasks would always be 0. Corrected, y^ / y within 1 +- 0.25, the paper's own metric; a true 0 asks for
    0.
    """
    truth = true_number(truth, "The true value")
    said = answered_number(answer)
    if said is None or as_printed or truth == 0:
        return said == truth
    return abs(said / truth - 1) <= MARGIN


def tool_reward(succeeded: Sequence[bool], right: bool) -> float:
    """r_tool = I(c in C_success) I(y^ = y): 1 for a right answer after a successful call, else 0; no call scores 0.

    The paper writes of one call c. With several, one that succeeded is enough: a failed first try is no misuse.

    Args:
        succeeded: For each call, whether it did.
        right: Whether the answer is right; of a number `right_number`.
    """
    return float(any(succeeded) and right)


def total(form: float, correct: float, tool: float) -> float:
    """r_all = 0.3 r_format + 1.0 r_correct + 0.3 r_tool, in [-0.3, 1.3]."""
    return FORMAT_WEIGHT * form + CORRECT_WEIGHT * correct + TOOL_WEIGHT * tool
