"""Reads the final answer of a policy in the form that its question asked for, and nothing else.

Each reader raises `WrongForm`, one sentence for people, for whatever is no such answer: an error that ended the
command, pixels where normalized points were asked for, a number with words around it.
"""

from __future__ import annotations

import re

import numpy as np

from toolhand.tool_nodes.types import FloatArray
from toolhand.training.rewards.words import plain

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_ROWS = re.compile(rf"[\s\[\](),;]*(?:{_NUMBER}[\s\[\](),;]*)+")
_LABEL = re.compile(r"[A-Za-z][A-Za-z ]*:")
_METRES = re.compile(rf"({_NUMBER})\s*(?:m|metres?|meters?)?\.?", re.IGNORECASE)
_COUNT = re.compile(r"(\d{1,6})\.?")
_LONGEST = 20_000
"""A longer answer is none [characters]: a path of 1000 points is shorter."""


class WrongForm(Exception):
    """An answer that is not in the form that was asked for; the message is a sentence."""


def rows(answer: str, columns: int, count: int | None = None) -> FloatArray:
    """Normalized points, boxes or paths (N, columns), all in [0, 1]; labels such as "Grasp center:" may precede them.

    Args:
        answer: Brackets, commas and numbers.
        columns: Numbers of a row.
        count: How many rows there must be; any where None.

    Raises:
        WrongForm: It is something else.
    """
    text = _LABEL.sub(" ", answer.strip()).rstrip(".")
    if len(text) > _LONGEST or not _ROWS.fullmatch(text):
        raise WrongForm(f"{_shown(answer)} is no list of numbers.")
    numbers = np.array([float(number) for number in re.findall(_NUMBER, text)])
    if len(numbers) % columns or (count is not None and len(numbers) != columns * count):
        asked = f"{columns * count}" if count is not None else f"rows of {columns}"
        raise WrongForm(f"{len(numbers)} numbers were answered, {asked} asked for.")
    if not ((numbers >= 0) & (numbers <= 1)).all():
        raise WrongForm("A coordinate lies outside of 0..1.")
    return numbers.reshape(-1, columns)


def metres(answer: str) -> float:
    """A number of metres, with the unit or without. Raises WrongForm for anything else."""
    found = _METRES.fullmatch(answer.strip()) if len(answer) <= _LONGEST else None
    if found is None or not np.isfinite(float(found[1])):
        raise WrongForm(f"{_shown(answer)} is no number of metres.")
    return float(found[1])


def count(answer: str) -> int:
    """A whole number in digits. Raises WrongForm for anything else."""
    found = _COUNT.fullmatch(answer.strip())
    if found is None:
        raise WrongForm(f"{_shown(answer)} is no whole number in digits.")
    return int(found[1])


def option(answer: str, options: tuple[str, ...]) -> str:
    """One of a few words or letters, in whatever case and punctuation. Raises WrongForm for anything else."""
    said = plain(answer)
    if said not in options:
        raise WrongForm(f"{_shown(answer)} is none of {', '.join(options)}.")
    return said


def words(answer: str) -> str:
    """Any text that is not empty nor endless. Raises WrongForm for another."""
    if not plain(answer) or len(answer) > _LONGEST:
        raise WrongForm("Nothing was answered." if not plain(answer) else "The answer has no end.")
    return answer.strip()


def _shown(answer: str) -> str:
    text = " ".join(answer.split())
    return repr(text if len(text) <= 60 else text[:57] + "...")
