"""The sessions of several operators with one robot, who share what is known of it and nothing of what they said."""

from __future__ import annotations

import contextlib
import os
import re
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from toolhand.agent_node.memory import RobotMemory
from toolhand.agent_node.memory_file import FOLDER, MemoryFile
from toolhand.agent_node.session import OperatorSession
from toolhand.tool_nodes.results import invalid

MOST_SESSIONS = 32
"""Sessions that are kept at a time [-]: more than people who speak to one arm; each holds a few kB."""

LONGEST_NAME = 200
"""Longest name of a session [characters]; a host's name and a number are shorter."""

_SHOWN_NAME = 40
"""So much of a session's name is in the name of its file [characters]."""

Begin = Callable[[str, RobotMemory, tuple[MemoryFile, ...], Path | None], OperatorSession]
"""Begins a session with a policy by its name, of the robot's memory, the file in which that is kept, and the file in
which the session keeps its own."""


class OperatorSessions:
    """A session for each operator by its name; where there is no room, the one that was silent longest is forgotten.

    Args:
        begin: Begins one.
        runs_dir: Folder of the runs, in which the memories are kept as files until `close`.

    Attributes:
        robot: Memory of the robot, shared by all.
    """

    def __init__(self, begin: Begin, runs_dir: Path) -> None:
        self.robot = RobotMemory()
        self._begin = begin
        self._folder = runs_dir / FOLDER
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, dict[str, OperatorSession]] = OrderedDict()
        self._robot_kept = MemoryFile(self._file("robot"), robot=self.robot)  # one: it knows whether it was written
        self.close()  # of an earlier process of this number

    def of(self, name: str, policy: str) -> tuple[OperatorSession, str]:
        """An operator's session with a policy, of an empty name one that is not kept; and the name that is forgotten.

        Raises:
            ToolError: INVALID_ARGUMENT for a name that is too long; what beginning one raises.
        """
        if len(name) > LONGEST_NAME:
            raise invalid(f"A session's name may have at most {LONGEST_NAME} characters, got {len(name):,}.")
        kept = (self._robot_kept,)
        if not name:
            return self._begin(policy, self.robot, kept, None), ""
        forgotten = ""
        with self._lock:
            own = self._sessions.pop(name, {})
            if policy not in own:
                own[policy] = self._begin(policy, self.robot, kept, self._file(f"session-{name}"))
            self._sessions[name] = own
            if len(self._sessions) > MOST_SESSIONS:
                forgotten, _ = self._sessions.popitem(last=False)
                self._file(f"session-{forgotten}").unlink(missing_ok=True)
        return own[policy], forgotten

    def close(self) -> None:
        """Forget everything that was kept as files."""
        for file in self._folder.glob(f"graph-{os.getpid()}-*.json"):
            file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._folder.rmdir()  # which only an empty folder allows

    def _file(self, name: str) -> Path:
        """A file of this process, whose name holds what is safe of a session's."""
        safe = re.sub(r"[^A-Za-z0-9]+", "-", name)[:_SHOWN_NAME].strip("-")
        return self._folder / f"graph-{os.getpid()}-{safe}-{zlib.crc32(name.encode(errors='replace')):08x}.json"
