"""Who operates and who observes: one page has the operator's seat, and another gets it by asking.

A page is heard of at least once a second. A page that reloads says that it leaves, and keeps its seat for a grace time,
in which the same tab comes back as another page. Whoever holds the seat and goes silent loses it; then a command
that runs has nobody who would stop it, and `abandoned` says once that it has to be cancelled.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid

SILENCE_S = 3.0
"""A page that is not heard of for so long is gone: three heartbeats [s]."""

GRACE_S = 5.0
"""How long the seat waits for a page that reloads [s]."""

ANSWER_S = 10.0
"""How long an operator may take to answer somebody who asks for the seat; no answer gives it away [s]."""

AGAIN_S = 30.0
"""How long somebody who was refused has to wait before asking again [s]."""

OBSERVERS = 64
"""Pages that may observe at a time [-]; the operator's is none of them."""

COMING_BACK = 4
"""Pages of a tab that has had the seat [-]: however many observe, it comes back, also before its old page has gone."""

_REMEMBERED = 8
"""Tabs that had the seat and are remembered, the newest [-]: more than take turns at an arm."""


class SeatRole(StrEnum):
    """What a page may do: observers have no command, approval or reset; everybody may stop."""

    OPERATOR = "operator"
    OBSERVER = "observer"


@dataclass
class _Page:
    tab: str
    observe: bool
    heard_s: float
    left_s: float | None = None
    refused_s: float | None = None


@dataclass(frozen=True)
class SeatStatus:
    """What a page shows of the seat.

    Attributes:
        role: SeatRole of this page.
        operators: Pages that operate, 0 or 1.
        observers: Pages that observe.
        asking: Somebody else asks for the seat of this page.
        asked: This page has asked for the seat.
        answer_in_s: Seconds until the seat changes hands without an answer; None where nobody asks.
    """

    role: SeatRole
    operators: int
    observers: int
    asking: bool
    asked: bool
    answer_in_s: float | None


class Seats:
    """The pages that are open, and which of them operates. May be used from any thread.

    Args:
        clock: Seconds that nobody sets back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._pages: dict[str, _Page] = {}
        self._operator: str | None = None
        self._seated_tabs: deque[str] = deque(maxlen=_REMEMBERED)
        self._asking: str | None = None
        self._asked_s = 0.0
        self._abandoned = False

    def enter(self, page: str, tab: str = "", observe: bool = False) -> SeatRole:
        """A page was opened. It operates where the seat is free or was left by the same tab, unless it only observes.

        A page that would observe needs a place among the observers; who operates needs none of them.

        Args:
            page: Name that only this page knows.
            tab: Name that a tab of a browser keeps when it reloads; empty where it has none.
            observe: It does not want the seat.

        Raises:
            ToolError: UNAVAILABLE where too many pages observe.
        """
        with self._lock:
            self._look()
            known = page in self._pages
            self._pages[page] = _Page(tab, observe, self._clock())
            self._seat_somebody()
            if not known and page != self._operator and not self._has_place(tab):
                del self._pages[page]
                raise ToolError(ErrorCode.UNAVAILABLE, f"{OBSERVERS} pages observe already.", "Close one of them.")
            return self.role(page)

    def heard(self, page: str) -> bool:
        """A page is there. False for one that was silent for too long, and has to enter anew."""
        with self._lock:
            self._look()
            if page in self._pages:
                self._pages[page].heard_s, self._pages[page].left_s = self._clock(), None
            self._look()
            return page in self._pages

    def left(self, page: str) -> None:
        """A page was closed or reloads."""
        with self._lock:
            self._look()
            if page in self._pages and self._pages[page].left_s is None:
                self._pages[page].left_s = self._clock()
            self._look()

    def role(self, page: str) -> SeatRole:
        """What a page may do now."""
        with self._lock:
            self._look()
            return SeatRole.OPERATOR if page == self._operator and self._there(page) else SeatRole.OBSERVER

    def require_operator(self, page: str) -> None:
        """Let only the operator's page go on. Raises ToolError NOT_APPROVED for every other."""
        if self.role(page) is not SeatRole.OPERATOR:
            raise ToolError(
                ErrorCode.NOT_APPROVED,
                "This page observes: only the operator's page may do this.",
                "Ask for the seat.",
            )

    def status(self, page: str) -> SeatStatus:
        """What a page shows of the seat."""
        with self._lock:
            role = self.role(page)
            there = [name for name in self._pages if self._there(name)]
            operators = sum(name == self._operator for name in there)
            left_s = None if self._asking is None else max(0.0, self._asked_s + ANSWER_S - self._clock())
            asking = self._asking is not None and role is SeatRole.OPERATOR
            return SeatStatus(role, operators, len(there) - operators, asking, self._asking == page, left_s)

    def ask(self, page: str) -> None:
        """A page asks for the seat; it gets it at once where it is free.

        Raises:
            ToolError: INVALID_ARGUMENT for a page that is not open, that somebody else was faster than, or that was
                refused a moment ago.
        """
        with self._lock:
            self._look()
            asking = self._pages.get(page)
            if asking is None:
                raise invalid("This page is not open any more.", "Load it again.")
            asking.observe = False
            self._seat_somebody()
            if page in (self._operator, self._asking):
                return
            if self._asking is not None:
                raise invalid("Somebody else asks for the seat already.", "Wait for the answer.")
            if asking.refused_s is not None and self._clock() - asking.refused_s < AGAIN_S:
                raise invalid("The operator keeps the seat.", f"Ask again after {AGAIN_S:g} s.")
            self._asking, self._asked_s = page, self._clock()

    def answer(self, page: str, give: bool) -> None:
        """The operator gives the seat to whoever asks, or keeps it. Raises ToolError NOT_APPROVED for an observer."""
        with self._lock:
            self.require_operator(page)
            if self._asking is None:
                return
            if give:
                self._pages[page].observe = True
                self._operator = self._asking
            else:
                self._pages[self._asking].refused_s = self._clock()
            self._asking = None

    def step_down(self, page: str) -> None:
        """The operator only observes from now on. Raises ToolError NOT_APPROVED for an observer."""
        with self._lock:
            self.require_operator(page)
            self._pages[page].observe = True
            self._operator = None
            self._seat_somebody()
            self._abandoned = self._operator is None

    def abandoned(self) -> bool:
        """True once after each time that an operator has gone: silent, not back in time, or without a successor."""
        with self._lock:
            self._look()
            abandoned, self._abandoned = self._abandoned, False
            return abandoned

    @property
    def operated(self) -> bool:
        """Whether an operator's page is open; also while it reloads."""
        with self._lock:
            self._look()
            return self._operator is not None

    # -- what time does --------------------------------------------------------------------------

    def _look(self) -> None:
        """Do what has become due since the last look."""
        now = self._clock()
        for name, page in list(self._pages.items()):
            over = now - page.heard_s > SILENCE_S if page.left_s is None else now - page.left_s > self._grace_s(name)
            if over:
                del self._pages[name]
                if name == self._asking:
                    self._asking = None
                if name == self._operator:
                    self._operator, self._abandoned = None, True
        self._seat_somebody()
        if self._asking is not None and self._operator is not None and now - self._asked_s > ANSWER_S:
            self._pages[self._operator].observe = True
            self._operator, self._asking = self._asking, None

    def _has_place(self, tab: str) -> bool:
        """Whether the page of a tab that has just entered and does not operate may stay."""
        of_tab = sum(page.tab == tab for page in self._pages.values())
        comes_back = tab in self._seated_tabs and of_tab <= COMING_BACK
        return comes_back or len(self._pages) - (self._operator is not None) <= OBSERVERS

    def _grace_s(self, name: str) -> float:
        return GRACE_S if name == self._operator else 0.0

    def _there(self, name: str) -> bool:
        return name in self._pages and self._pages[name].left_s is None

    def _seat_somebody(self) -> None:
        """The tab that had the seat has it again; a seat that is free goes to who asks, then to who came first."""
        self._find_operator()
        tab = "" if self._operator is None else self._pages[self._operator].tab
        if tab and tab not in self._seated_tabs:
            self._seated_tabs.append(tab)

    def _find_operator(self) -> None:
        if self._operator is not None:
            held = self._pages[self._operator]
            if held.left_s is not None and held.tab:
                back = [name for name in self._pages if self._there(name) and self._pages[name].tab == held.tab]
                if back:
                    del self._pages[self._operator]
                    self._operator = back[0]
            return
        waiting = [name for name in self._pages if self._there(name) and not self._pages[name].observe]
        if waiting:
            self._operator = self._asking if self._asking in waiting else waiting[0]
            self._asking = None
