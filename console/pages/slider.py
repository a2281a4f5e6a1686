"""The slider of a recording and of a motion that waits."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from nicegui import ui
from nicegui.events import GenericEventArguments

COMPONENT = Path(__file__).parents[1] / "assets" / "slider.js"
_THROTTLE_S = 0.03
"""Least time between two moments that a slider which is dragged sends [s]: thirty a second look smooth."""


class TimeSlider(ui.element, component=COMPONENT):  # type: ignore[call-arg]
    """A slider from the beginning to the end of something; it stands at the beginning.

    Args:
        label: Its name for those who do not see it.
        test_id: Name for tests.
        begin_s: First moment [s].
        end_s: Last moment [s], not before the first.
        steps: Into how many steps the time between is divided, >= 1.
        moved: Called with the moment [s] that it was moved to, which is between both ends.
    """

    def __init__(
        self, label: str, test_id: str, begin_s: float, end_s: float, steps: int, moved: Callable[[float], None]
    ) -> None:
        super().__init__()
        self._begin_s, self._end_s, self._moved = begin_s, max(end_s, begin_s + 0.001), moved
        step_s = (self._end_s - begin_s) / steps
        self._props.update({"begin": begin_s, "end": self._end_s, "step": step_s, "label": label})
        self._props["data-testid"] = test_id
        self.on("moved", self._on_moved, throttle=_THROTTLE_S)

    def go(self, to_s: float) -> None:
        """Stand at a moment [s], and say so to who listens."""
        self.run_method("go", to_s)
        self._moved(to_s)

    def _on_moved(self, event: GenericEventArguments) -> None:
        at_s = event.args
        if isinstance(at_s, int | float) and math.isfinite(at_s):
            self._moved(min(max(float(at_s), self._begin_s), self._end_s))
