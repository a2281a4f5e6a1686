"""The runs of a folder, searched and filtered a page at a time; ten thousand are listed in a fraction of a second.

A result.json is read once, and again only when it or its folder has changed; of many new ones a part in each call, the
newest by their names first.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from toolhand.agent_node.runs.index import RESULT_FILE, RunEntry, in_order, parse_since, read_entry
from toolhand.console.history.folders import is_inside
from toolhand.tool_nodes.results import invalid

RunEnd = Literal["", "done", "failed", "unfinished"]
"""How a run ended; "unfinished" has no readable result."""
PAGE_RUNS = 50
"""Runs of a page: a screen or two."""
READ_AT_ONCE = 1000
"""Runs that a call reads at most: under a second, so that a page with ten thousand appears at once."""


@dataclass(frozen=True)
class RunSearch:
    """Which runs are wanted; all conditions must hold.

    Attributes:
        words: Words that the name, the sentence or the answer must hold, in any case.
        end: How it ended; empty for any end.
        code: Error code; empty for any.
        policy: Name of the policy; empty for any.
        since, until: Earliest and latest time of its beginning; None without a limit.
    """

    words: Sequence[str] = ()
    end: RunEnd = ""
    code: str = ""
    policy: str = ""
    since: datetime | None = None
    until: datetime | None = None

    @classmethod
    def of_texts(
        cls, text: str = "", end: str = "", code: str = "", policy: str = "", since: str = "", until: str = ""
    ) -> RunSearch:
        """The search of a page's fields; dates as in `toolhand.agent_node.runs.index.parse_since`.

        Raises:
            ToolError: INVALID_ARGUMENT for what is no date, and for an unknown end.
        """
        ends: tuple[RunEnd, ...] = ("", "done", "failed", "unfinished")
        known = next((each for each in ends if each == end), None)
        if known is None:
            raise invalid(f"A run is done, failed or unfinished, not {end[:20]!r}.")
        first, last = (parse_since(text, local=True) if text.strip() else None for text in (since, until))
        return cls(tuple(text.casefold().split()), known, code, policy, first, last)


@dataclass(frozen=True)
class RunPage:
    """One page of the runs that were found.

    Attributes:
        entries: The newest run first.
        found: Number of runs that were found, on all pages.
        total: Number of runs in the folder that have been read.
        unread: Number of older folders that later calls read.
        codes, policies: How many of all runs have each error code, each policy.
    """

    entries: Sequence[RunEntry]
    found: int
    total: int
    unread: int
    codes: Mapping[str, int]
    policies: Mapping[str, int]


_Stamp = tuple[int, int, int]
"""When a folder and its result.json were changed [ns], and the length of the latter [bytes]."""


@dataclass(frozen=True)
class _Known:
    stamp: _Stamp
    entry: RunEntry | None
    began: datetime
    said: str


class RunIndex:
    """The runs of a folder. May be used from several threads.

    Args:
        root: Folder of runs, which may not be there yet.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: dict[str, _Known] = {}
        self._lock = threading.Lock()

    def page(self, search: RunSearch = RunSearch(), first: int = 0, count: int = PAGE_RUNS) -> RunPage:
        """Some of the runs that are wanted.

        Args:
            search: Which.
            first: How many of those found are passed over, from the newest.
            count: Most that are given.

        Raises:
            ToolError: INVALID_ARGUMENT where the folder is there and cannot be read.
        """
        with self._lock:
            unread = self._refresh()
            known = [each for each in self._known.values() if each.entry is not None]
        entries = [each.entry for each in known if each.entry is not None]
        wanted = [each.entry for each in known if each.entry is not None and _wants(search, each)]
        wanted.sort(key=in_order, reverse=True)
        return RunPage(
            entries=wanted[max(0, first) : max(0, first) + count],
            found=len(wanted),
            total=len(entries),
            unread=unread,
            codes=Counter(entry.error_code for entry in entries if entry.error_code),
            policies=Counter(entry.policy for entry in entries if entry.policy),
        )

    def _refresh(self) -> int:
        """Read what is new or changed; the number of folders that are left for later."""
        try:
            with os.scandir(self.root) as found:
                folders = [item for item in found if item.is_dir()]
        except FileNotFoundError:
            folders = []
        except OSError as error:
            raise invalid(f"Cannot list the runs in {self.root}: {error.strerror}.") from error
        before, self._known = self._known, {}
        new: list[tuple[str, str, _Stamp]] = []
        for item in folders:
            stamp = _stamp(item.path)
            if stamp is None or (item.is_symlink() and not is_inside(Path(item.path), self.root)):
                continue
            known = before.get(item.name)
            if known is not None and known.stamp == stamp:
                self._known[item.name] = known
            else:
                new.append((item.name, item.path, stamp))
        new.sort(reverse=True)
        for name, path, stamp in new[:READ_AT_ONCE]:
            self._known[name] = _read(path, stamp)
        return len(new[READ_AT_ONCE:])


def _stamp(folder: str) -> _Stamp | None:
    """None where the folder has gone meanwhile."""
    try:
        changed = os.stat(folder).st_mtime_ns
    except OSError:
        return None
    try:
        result = os.stat(os.path.join(folder, RESULT_FILE))
    except OSError:
        return changed, 0, -1
    return changed, result.st_mtime_ns, result.st_size


def _read(folder: str, stamp: _Stamp) -> _Known:
    try:
        entry = read_entry(Path(folder))
    except OSError:  # gone, or closed to us, in the meantime
        entry = None
    if entry is None:
        return _Known(stamp, None, datetime.min, "")
    said = f"{entry.id} {entry.said or ''} {entry.task or ''} {entry.answer or ''} {entry.error_code or ''}".casefold()
    return _Known(stamp, entry, datetime.fromisoformat(entry.began), said)


def _wants(search: RunSearch, known: _Known) -> bool:
    entry = known.entry
    assert entry is not None
    return (
        (not search.end or search.end == end_of(entry))
        and (not search.code or entry.error_code == search.code)
        and (not search.policy or entry.policy == search.policy)
        and (search.since is None or known.began >= search.since)
        and (search.until is None or known.began <= search.until)
        and all(word in known.said for word in search.words)
    )


def end_of(entry: RunEntry) -> RunEnd:
    """How a run ended."""
    return "unfinished" if entry.success is None else "done" if entry.success else "failed"
