"""The dialogues of several operators with one robot, who share what is known of it and nothing of what they said."""

from __future__ import annotations

import threading
from collections import OrderedDict

from agent_node.dialogue.dialogue import CarryOut, Dialogue
from agent_node.dialogue.memory import RobotMemory
from tool_nodes.results import invalid

MOST_SESSIONS = 32
"""Dialogues that are kept at a time [-]: more than people who speak to one arm; each holds a few kB."""

LONGEST_NAME = 200
"""Longest name of a session [characters]; a host's name and a number are shorter."""


class DialogueSessions:
    """A dialogue for each session by its name; where there is no room, the one that was silent longest is forgotten.

    Args:
        run: Carries out one command, whoever asks for it.

    Attributes:
        robot: What happened to the robot, shared by all.
        forgotten: Names of the sessions that were forgotten last, oldest first.
    """

    def __init__(self, run: CarryOut) -> None:
        self.robot = RobotMemory()
        self.forgotten: list[str] = []
        self._run = run
        self._lock = threading.Lock()
        self._dialogues: OrderedDict[str, Dialogue] = OrderedDict()

    def of(self, session: str) -> Dialogue:
        """The dialogue of a session; of an empty name one that is not kept.

        Raises:
            ToolError: INVALID_ARGUMENT for a name that is too long.
        """
        if len(session) > LONGEST_NAME:
            raise invalid(f"A session's name may have at most {LONGEST_NAME} characters, got {len(session):,}.")
        if not session:
            return Dialogue(self._run, self.robot)
        with self._lock:
            dialogue = self._dialogues.pop(session, None) or Dialogue(self._run, self.robot)
            self._dialogues[session] = dialogue
            while len(self._dialogues) > MOST_SESSIONS:
                self.forgotten = [*self.forgotten, self._dialogues.popitem(last=False)[0]][-MOST_SESSIONS:]
        return dialogue
