"""What all pages share of the history: the lists of its folders, and the recordings that were opened last."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from pathlib import Path

from toolhand.agent_node.runs.mcap import RUN_FILE
from toolhand.console.history.again import Rerun
from toolhand.console.history.benches import BenchIndex
from toolhand.console.history.folders import folder_in
from toolhand.console.history.replay import RunReplay
from toolhand.console.history.runs import RunIndex
from toolhand.console.settings import ConsoleSettings
from toolhand.tool_nodes.results import invalid

OPEN_RECORDINGS = 3
"""Recordings that stay in memory: two that are compared, and one beside them."""


class SharedHistory:
    """The history of a console. May be used from several threads.

    Attributes:
        settings: Settings of the console.
        runs, benches: Contents of its folders.
        rerun: The run that is carried out again.
    """

    def __init__(self, settings: ConsoleSettings) -> None:
        self.settings = settings
        self.runs = RunIndex(settings.runs_dir)
        self.benches = BenchIndex(settings.bench_dir)
        self.rerun = Rerun()
        self._lock = threading.Lock()
        self._replays: OrderedDict[tuple[str, int, int], RunReplay] = OrderedDict()

    @property
    def roots(self) -> tuple[Path, ...]:
        """Folders of which images may be shown."""
        return self.settings.runs_dir, self.settings.bench_dir

    def run_folder(self, name: str) -> Path:
        """The folder of a run. Raises ToolError INVALID_ARGUMENT where there is none."""
        return folder_in(self.settings.runs_dir, name)

    def replay(self, name: str) -> RunReplay:
        """The recording of a run.

        Raises:
            ToolError: INVALID_ARGUMENT where there is none, or nothing of it can be read.
        """
        path = folder_in(self.settings.runs_dir, name) / RUN_FILE
        try:
            there = path.stat()
        except OSError as error:
            raise invalid(f"The run {name[:60]} has no recording ({RUN_FILE}).") from error
        key = str(path), there.st_mtime_ns, there.st_size
        with self._lock:
            found = self._replays.pop(key, None)
            if found is None:
                found = RunReplay(path)
            self._replays[key] = found
            while len(self._replays) > OPEN_RECORDINGS:
                self._replays.popitem(last=False)
            return found


@functools.lru_cache(maxsize=4)
def history_of(settings: ConsoleSettings) -> SharedHistory:
    """The history of a console, the same for all its pages."""
    return SharedHistory(settings)
