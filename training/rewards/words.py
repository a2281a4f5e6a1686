"""Answers and calls as text: what counts as the same one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

EDGES = " \t\r\n.,;:!?()[]{}\"'`*"
"""Characters around an answer that say nothing: "(B)." is B."""


def plain(answer: str | None) -> str:
    """An answer without case, surrounding punctuation and repeated white space; None is none, the empty one."""
    return " ".join((answer or "").strip(EDGES).casefold().split())


def canonical_call(name: str, arguments: Mapping[str, Any]) -> str:
    """A call as JSON with sorted keys, so that equal calls are equal strings; 1, 1.0 and true stay three values."""
    return json.dumps([name, arguments], sort_keys=True, ensure_ascii=False, default=str)
