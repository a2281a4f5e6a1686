"""How far a training is, in the terminal: a bar with a live curve, or a line now and then where there is none."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence

from agent_node.console.terminal import say

_LEVELS = "▁▂▃▄▅▆▇█"
_BAR = 20
_CURVE = 24


def curve(values: Sequence[float], most: float = 1.0, width: int = _CURVE) -> str:
    """Values 0..most as a line of blocks, the newest `width` of them."""
    top = len(_LEVELS) - 1
    shown = values[-width:]
    return "".join(_LEVELS[min(top, max(0, round(top * value / most)))] for value in shown) if most > 0 else ""


class Progress:
    """Tells how far it is: on a terminal one line that is written anew, elsewhere a line an iteration.

    Args:
        what: E.g. "SFT epoch".
        total: Iterations of the whole training.
        live: Whether stderr is a terminal; looked up where None.
    """

    def __init__(self, what: str, total: int, live: bool | None = None) -> None:
        self._what, self._total = what, total
        self._live = sys.stderr.isatty() if live is None else live
        self._shown = 0
        self.values: list[float] = []
        """Of the curve, 0..1: one an iteration."""

    def during(self, iteration: int, share: float, line: str) -> None:
        """Within an iteration.

        Args:
            iteration: From 1.
            share: Share of the iteration that is done, 0..1.
            line: Text about the iteration so far.
        """
        if not self._live:
            return
        done = round(_BAR * min(max(share, 0.0), 1.0))
        shown = f"{self._head(iteration)} [{'#' * done:.<{_BAR}}] {line} {curve(self.values)}"
        padding = " " * max(0, self._shown - len(shown))
        self._shown = len(shown)
        with contextlib.suppress(OSError):
            print(f"\r{shown}{padding}", end="", file=sys.stderr, flush=True)

    def over(self, iteration: int, value: float, line: str) -> None:
        """An iteration is over.

        Args:
            iteration: From 1.
            value: Value for the curve, 0..1.
            line: Text about the finished iteration.
        """
        self.values.append(value)
        shown = f"{self._head(iteration)}: {line} {curve(self.values)}"
        say(f"\r{shown:<{self._shown}}" if self._live else shown)
        self._shown = 0

    def _head(self, iteration: int) -> str:
        return f"{self._what} {iteration}/{self._total}"
