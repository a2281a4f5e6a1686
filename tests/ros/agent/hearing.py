"""A narrator whose steps are heard by a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agent_node.console.narration import Narrator


class Hearing(Narrator):
    """Hands each step on."""

    def __init__(self, listener: Callable[[str, Any], None]) -> None:
        super().__init__()
        self._listener = listener

    def step(self, kind: str, payload: Any) -> None:
        self._listener(kind, payload)
