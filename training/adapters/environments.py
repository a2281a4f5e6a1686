"""Placeholder until the neighbour's lands."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tool_nodes.results import ErrorCode, ToolError


@contextlib.contextmanager
def require_engine(name: str) -> Iterator[None]:
    """Within it an engine is imported.

    Raises:
        ToolError: UNAVAILABLE, with the command that makes its environment, where this Python lacks it.
    """
    try:
        yield
    except ImportError as error:
        raise ToolError(ErrorCode.UNAVAILABLE, f"This Python cannot import {name}: {error}.") from error
