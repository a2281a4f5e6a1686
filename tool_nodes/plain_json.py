"""JSON that may have come from anywhere: finite numbers of a bounded length, and one kind of error.

Python alone reads 1e999 as infinity, NaN as a number, and whole numbers that no float can hold.
"""

from __future__ import annotations

import functools
import json
import math
from typing import Any

MOST_DIGITS = 40
"""Longest whole number [characters]: 128 bits and a sign; every one of these is near a float."""

AS_WRITTEN = 4300
"""Longest whole number where the writer's own words are kept, e.g. the arguments that a policy wrote [characters]: the
longest that Python reads. What is calculated with it must be checked."""

MOST_DEPTH = 500
"""Lists and objects inside each other: half of what Python reads, since what is read near that limit
cannot be written again from a function that is called deeper."""


class PlainJsonError(ValueError):
    """Why a text is not read, as the end of a sentence."""


def load(text: str | bytes, digits: int = MOST_DIGITS) -> Any:
    """The document of a text.

    Args:
        text: Where it is bytes, UTF-8.
        digits: Longest whole number [characters].

    Raises:
        PlainJsonError: It is no JSON, nested too deeply, or has a number that is not finite or too long.
    """
    try:
        document = json.loads(
            text, parse_float=_finite, parse_int=functools.partial(_whole, digits), parse_constant=_finite
        )
    except PlainJsonError:
        raise
    except RecursionError as error:
        raise PlainJsonError("it is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise PlainJsonError("it is not UTF-8") from error
    except ValueError as error:
        raise PlainJsonError(f"it is no JSON: {error}") from error
    if _may_be_deep(text) and _depth(document) > MOST_DEPTH:
        raise PlainJsonError("it is nested too deeply")
    return document


def _may_be_deep(text: str | bytes) -> bool:
    """Spares most documents the walk through them."""
    opened = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    return opened > MOST_DEPTH


def _depth(document: Any) -> int:
    """Lists and objects inside each other."""
    level, depth = [document], 0
    while level := [value for value in level if isinstance(value, list | dict)]:
        level = [item for value in level for item in (value.values() if isinstance(value, dict) else value)]
        depth += 1
    return depth


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise PlainJsonError(f"{text[:MOST_DIGITS]} is no finite number")
    return number


def _whole(digits: int, text: str) -> int:
    if len(text) > digits:
        raise PlainJsonError(f"a whole number has more than {digits} digits")
    return int(text)
