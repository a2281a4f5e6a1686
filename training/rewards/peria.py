"""Rewards of PERIA, appendix C.4: repetition, format, correctness, and the distance of paths that MapTrace asks for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from toolhand.training.rewards.shapes import answered_rows, true_rows, wrong

SPAN_WORDS = 4
"""Shortest repeated span [words]; table of C.4."""
SENTENCE_CHARACTERS = 10
"""Shorter pieces between full stops are no sentences [characters]: "0.5" is none."""
NDTW_LOW, NDTW_HIGH = 0.3, 0.8
"""Distances up to which a path scores 1, and from which on 0 [image widths]; section 4.3 and C.4."""
NUMBERS_AGREE = 1e-6
"""Largest difference of two numbers that count as the same [-]; a round figure."""

YES = frozenset({"yes", "yeah", "yep", "true", "correct"})
NO = frozenset({"no", "nope", "false", "incorrect"})
NUMBER = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?\s*%?")
RANGE = re.compile(rf"({NUMBER.pattern})\s*(?:-|–|to)\s*({NUMBER.pattern})")
TAGS = {"</think>": "t", "<action>": "c", "</action>": "C", "<answer>": "a", "</answer>": "A"}
BOXED = re.compile(r"\\boxed\{([^{}]*)\}")


def repetition(text: str, turns: int, as_printed: bool = True) -> float:
    """R_rep: the penalty of the first row of C.4's table that applies, -3..0, with T = max(turns, 2).

    - -3 for a character 50 times in a row;
    - -3 for a word 20 times in a row;
    - -2 for a span of at least 4 words 10 times in a row;
    - -1.5 * 2 / T for a sentence 10 times;
    - -1 * 2 / T for a sentence 7 times;
    - -1.5 for a word 10 times in a row.

    The paper does not say whether "repeated" means in a row. Characters, words and spans must, or any long text would
    be punished for its "e" and "the"; sentences are counted anywhere, because loops over turns have observations
    between them.

    Misprint: the last row is out of order. A text whose word stands there 10 times gets -1.5, but only -0.2 if
    besides a sentence is repeated 7 times over 10 turns: worse text, smaller penalty. Corrected, the lowest row that
    applies.

    Args:
        text: Text of the policy in all turns; words are separated by white space.
        as_printed: The first row, or the lowest.
    """
    words = text.split()
    share = 2 / max(turns, 2)
    in_a_row = _longest_run(words)
    sentences = Counter(s for s in map(str.strip, re.split(r"[.!?\n]+", text)) if len(s) >= SENTENCE_CHARACTERS)
    said = max(sentences.values(), default=0)
    rows = [
        (_longest_run(text) >= 50, -3.0),
        (in_a_row >= 20, -3.0),
        (_repeats_span(words, 10), -2.0),
        (said >= 10, -1.5 * share),
        (said >= 7, -1.0 * share),
        (in_a_row >= 10, -1.5),
    ]
    penalties = [penalty for applies, penalty in rows if applies] or [0.0]
    return penalties[0] if as_printed else min(penalties)


def format_reward(text: str) -> float:
    """R_format: 1 for thoughts and a final answer, 0 where tools were called but the answer was cut off, else -1.

    Each <action> must have a thought between it and the action before it; the answer is <answer>...</answer> after a
    thought.

    Args:
        text: Text of the policy in all turns, one after the other.
    """
    order = "".join(TAGS[tag] for tag in re.findall("|".join(TAGS), text))
    if re.fullmatch(r"(?:t+cC)*t+aA", order):
        return 1.0
    return 0.0 if re.fullmatch(r"(?:t+cC)+(?:t+a?)?|(?:t+cC)*t+c", order) else -1.0


def answers_match(answer: str | None, truth: str | Sequence[str]) -> float:
    """R_correct of a question, the rules without the judge (B.2): 1 where both mean the same, else 0.

    The same text but for case, spaces, a final full stop and \\boxed{}; two ways of yes or of no; the same number
    (60% is 60, 1,000 is 1000); the same range; the same items of a list with commas in any order, each as often.

    Args:
        answer: Text between the answer tags.
        truth: The true answer, or several that are all right.

    Raises:
        ToolError: INVALID_ARGUMENT for no true answer at all.
    """
    truths = [truth] if isinstance(truth, str) else list(truth)
    if not truths or not all(_normal(t) for t in truths):
        raise wrong("There must be one true answer or more, none of them empty.")
    return float(any(_same(_normal(answer or ""), _normal(t)) for t in truths))


def ndtw(path: Any, truth: Any, as_printed: bool = True) -> float:
    """Distance of two paths by dynamic time warping [image widths] (B.2), 0 or more; inf for what is no path.

    Euclidean distances of matched points, summed along the cheapest matching that keeps both orders.

    Misprint: it is called normalized, but only its coordinates are: as printed, the same error costs twice as much on
    a path with twice the points. Corrected, the sum is divided by the number of true points.

    Args:
        path: (N, 2) in [0, 1], 2 to 1000 points.
        truth: (M, 2) in [0, 1], 2 points or more.
        as_printed: The sum, or the sum a true point.

    Raises:
        ToolError: INVALID_ARGUMENT for a true path that is none.
    """
    true = true_rows(truth, "path")
    if len(true) < 2:
        raise wrong("The true path must have 2 points or more.")
    said = answered_rows(path)
    if said is None or len(said) < 2:
        return float("inf")
    costs = np.linalg.norm(said[:, None] - true[None], axis=2)
    sums = np.cumsum(costs[0])
    for row in costs[1:]:
        before = np.minimum(sums, np.concatenate([[np.inf], sums[:-1]]))
        so_far = float("inf")
        for k in range(len(row)):
            so_far = row[k] + min(float(before[k]), so_far)
            before[k] = so_far
        sums = before
    return float(sums[-1]) if as_printed else float(sums[-1]) / len(true)


def path_reward(distance: float, low: float = NDTW_LOW, high: float = NDTW_HIGH) -> float:
    """R_correct of MapTrace: min(1, max(0, (high - d) / (high - low))) (section 4.3; C.4 has the same by cases).

    Args:
        distance: From `ndtw`; inf or NaN scores 0.
        low: Up to here 1.
        high: From here on 0.

    Raises:
        ToolError: INVALID_ARGUMENT unless 0 <= low < high.
    """
    if not 0 <= low < high:
        raise wrong(f"low must be 0 or more and below high, got {low} and {high}.")
    return float(min(1.0, max(0.0, (high - distance) / (high - low)))) if np.isfinite(distance) else 0.0


def total(repeated: float, form: float, correct: float) -> float:
    """R = R_rep + R_format + R_correct (section 4.3), in [-4, 2]."""
    return repeated + form + correct


def _longest_run(items: Sequence[str]) -> int:
    return max((sum(1 for _ in run) for _, run in groupby(items)), default=0)


def _repeats_span(words: Sequence[str], times: int) -> bool:
    """Whether some span of 4 words or more stands `times` times in a row, so that it equals itself shifted."""
    ids = np.unique(np.array(words), return_inverse=True)[1] if words else np.zeros(0, int)
    for length in range(SPAN_WORDS, len(ids) // times + 1):
        differs = np.flatnonzero(ids[length:] != ids[:-length])
        longest = np.diff(np.concatenate([[-1], differs, [len(ids) - length]])).max() - 1
        if longest >= (times - 1) * length:
            return True
    return False


def _normal(answer: str) -> str:
    return " ".join(BOXED.sub(r"\1", answer).strip().casefold().removesuffix(".").split())


def _same(answer: str, truth: str) -> bool:
    if answer == truth or {answer, truth} <= YES or {answer, truth} <= NO:
        return True
    numbers = _numbers(answer, NUMBER), _numbers(truth, NUMBER)
    ranges = _numbers(answer, RANGE), _numbers(truth, RANGE)
    for ours, theirs in (numbers, ranges):
        if ours and theirs:
            return all(abs(a - b) <= NUMBERS_AGREE for a, b in zip(ours, theirs, strict=True))
    if "," in answer and "," in truth:
        return Counter(map(str.strip, answer.split(","))) == Counter(map(str.strip, truth.split(",")))
    return False


def _numbers(text: str, pattern: re.Pattern[str]) -> list[float]:
    """The number that a text is, or both of its range; empty where it is none."""
    found = pattern.fullmatch(text)
    parts = (found.groups() or (found[0],)) if found else ()
    return [float(part.replace(",", "").rstrip("% ")) for part in parts]
