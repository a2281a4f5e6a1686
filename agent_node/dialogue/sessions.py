"""The dialogues of several operators with one robot, who share what is known of it and nothing of what they said."""

from __future__ import annotations

import contextlib
import os
import re
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from toolhand.agent_node.dialogue.dialogue import Dialogue
from toolhand.agent_node.dialogue.memory import OperatorMemory, RobotMemory
from toolhand.agent_node.dialogue.memory_file import FOLDER, MemoryFile
from toolhand.tool_nodes.results import invalid

MOST_SESSIONS = 32
"""Dialogues that are kept at a time [-]: more than people who speak to one arm; each holds a few kB."""

LONGEST_NAME = 200
"""Longest name of a session [characters]; a host's name and a number are shorter."""

_SHOWN_NAME = 40
"""So much of a session's name is in the name of its file [characters]."""

Begin = Callable[[RobotMemory, OperatorMemory, tuple[MemoryFile, ...]], Dialogue]
"""Makes a dialogue of two memories, and of the files in which they are kept."""


class DialogueSessions:
    """A dialogue for each session by its name; where there is no room, the one that was silent longest is forgotten.

    Args:
        begin: Makes a dialogue.
        runs_dir: Folder of the runs, in which the memories are kept as files until `close`.

    Attributes:
        robot: Memory of the robot, shared by all.
    """

    def __init__(self, begin: Begin, runs_dir: Path) -> None:
        self.robot = RobotMemory()
        self._begin = begin
        self._folder = runs_dir / FOLDER
        self._lock = threading.Lock()
        self._dialogues: OrderedDict[str, Dialogue] = OrderedDict()
        self._robot_kept = MemoryFile(self._file("robot"), robot=self.robot)  # one: it knows whether it was written
        self.close()  # of an earlier process of this number

    def of(self, session: str) -> tuple[Dialogue, str]:
        """The dialogue of a session, of an empty name one that is not kept; and the session that is forgotten for it.

        Raises:
            ToolError: INVALID_ARGUMENT for a name that is too long.
        """
        if len(session) > LONGEST_NAME:
            raise invalid(f"A session's name may have at most {LONGEST_NAME} characters, got {len(session):,}.")
        robot = self._robot_kept
        if not session:
            return self._begin(self.robot, OperatorMemory(), (robot,)), ""
        forgotten = ""
        with self._lock:
            dialogue = self._dialogues.pop(session, None)
            if dialogue is None:
                operator = OperatorMemory()
                file = MemoryFile(self._file(f"session-{session}"), operator=operator)
                dialogue = self._begin(self.robot, operator, (robot, file))
            self._dialogues[session] = dialogue
            if len(self._dialogues) > MOST_SESSIONS:
                forgotten, _ = self._dialogues.popitem(last=False)
                self._file(f"session-{forgotten}").unlink(missing_ok=True)
        return dialogue, forgotten

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
