"""The seat of a page: whether it operates or observes, how it asks for the seat, and that it is still there."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nicegui import Client, ui
from nicegui.events import GenericEventArguments

from toolhand.console.seats import SeatRole, Seats
from toolhand.tool_nodes.results import ToolError

COMPONENT = Path(__file__).parents[1] / "assets" / "seat.js"
_LONGEST_TAB = 80
"""Longest name of a tab [characters]."""


class Seat:
    """The seat of one page, from its loading on. It observes until its browser has said that it shows the page.

    Args:
        seats: All seats of the console.

    Attributes:
        name: Name of the page, which only it knows.
        tab: Name of its tab, which is the same after a reload.
    """

    def __init__(self, seats: Seats) -> None:
        self.name, self.tab = secrets.token_urlsafe(16), ""
        self._seats = seats
        self._role: SeatRole = SeatRole.OBSERVER
        self._changed: list[Callable[[], None]] = []

    @property
    def role(self) -> SeatRole:
        """What the page may do now."""
        return self._seats.role(self.name)

    @property
    def operates(self) -> bool:
        """The page may command, approve and reset now."""
        return self.role is SeatRole.OPERATOR

    def require_operator(self) -> None:
        """Let only the operator go on. Raises ToolError NOT_APPROVED for an observer."""
        self._seats.require_operator(self.name)

    def on_change(self, changed: Callable[[], None]) -> None:
        """Have a function called in the page's loop whenever its role has changed."""
        self._changed.append(changed)

    def look(self) -> bool:
        """Call what waits for a change of the role, if there was one; whether there was."""
        role = self.role
        changed, self._role = role is not self._role, role
        if changed:
            for each in tuple(self._changed):
                each()
        return changed


class SeatBar(ui.element, component=COMPONENT):  # type: ignore[call-arg]
    """Says whether the page operates, and lets it ask for the seat. It beats once a second while the page is shown.

    Args:
        seat: Seat of the page.
        seats: All seats of the console.
        client: The page.
        word: Further sentences of every page, asked for once a second; see assets/seat.js.
    """

    def __init__(self, seat: Seat, seats: Seats, client: Client, word: Callable[[], dict[str, str]]) -> None:
        super().__init__()
        self._word = word
        self._seat, self._seats = seat, seats
        self._observes = False
        self._shown: dict[str, Any] = {}
        self._error = ""
        self.on("enter", self._enter)
        self.on("beat", self._beat)
        for name, act in (("ask", seats.ask), ("keep", self._keep), ("give", self._give), ("observe", seats.step_down)):
            self.on(name, lambda _, act=act: self._act(act))
        client.on_disconnect(lambda: seats.left(seat.name))
        client.on_delete(lambda: seats.left(seat.name))

    def _enter(self, event: GenericEventArguments) -> None:
        sent = event.args if isinstance(event.args, dict) else {}
        self._seat.tab = str(sent.get("tab", ""))[:_LONGEST_TAB]
        self._observes = bool(sent.get("observe", False))
        self._enter_again()

    def _enter_again(self) -> None:
        try:
            self._seats.enter(self._seat.name, self._seat.tab, self._observes)
            self._error = ""
        except ToolError as error:
            self._error = str(error)
        self._show()

    def _beat(self) -> None:
        if self._seats.heard(self._seat.name):
            self._show()
        else:
            self._enter_again()

    def _act(self, act: Callable[[str], None]) -> None:
        try:
            act(self._seat.name)
            self._error = ""
        except ToolError as error:
            self._error = str(error)
        self._show()

    def _give(self, page: str) -> None:
        self._seats.answer(page, True)

    def _keep(self, page: str) -> None:
        self._seats.answer(page, False)

    def _show(self) -> None:
        status = asdict(self._seats.status(self._seat.name)) | {"error": self._error, "word": self._word()}
        if status["answer_in_s"] is not None:
            status["answer_in_s"] = round(status["answer_in_s"])
        if self._seat.look():
            operates = "true" if self._seat.operates else "false"
            ui.run_javascript(f"window.toolhandSafety?.setOperator({self._seat.name!r}, {operates})")
        if status != self._shown:
            self._shown = status
            self._props["status"] = status
            self.update()
