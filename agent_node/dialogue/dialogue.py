"""The dialogue: turns what an operator says into single commands, and has each carried out."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from agent_node.dialogue.memory import OperatorMemory, RobotMemory
from agent_node.episode import Episode
from agent_node.policy import Policy
from tool_nodes.results import ErrorCode, invalid

CarryOut = Callable[[str, Policy | None, str], Episode]
"""Carries out one command: its sentence, the policy that does it (None: the session's own), and what is remembered, as
text for a model. It raises ToolError where the command cannot begin."""


@dataclass(frozen=True)
class DialogueTurn:
    """What came of an utterance.

    Attributes:
        answer: The answer to the operator.
        success: Everything that was asked for is done, or answered.
        error_code: Code of the first thing that went wrong; None where nothing did.
        episodes: What was carried out for it, in order.
    """

    answer: str
    success: bool
    error_code: ErrorCode | None = None
    episodes: tuple[Episode, ...] = ()


class Dialogue:
    """One operator's side of a robot that remembers.

    Args:
        run: Carries out one command.
        robot: What happened to the robot, shared with other operators.
        operator: What this operator has said.
    """

    def __init__(self, run: CarryOut, robot: RobotMemory | None = None, operator: OperatorMemory | None = None) -> None:
        self.robot = RobotMemory() if robot is None else robot
        self.operator = OperatorMemory() if operator is None else operator
        self._run = run
        self._speaking = threading.Lock()

    def say(self, words: str) -> DialogueTurn:
        """Carry out what the operator says, to its end. Never raises for what was said or what a tool did.

        Raises:
            ToolError: INVALID_ARGUMENT while an earlier utterance is carried out; whatever `run` raises where a command
                cannot begin.
        """
        if not self._speaking.acquire(blocking=False):
            raise invalid("An earlier sentence is being carried out.", "Wait for its end, or stop it.")
        try:
            episode = self._run(words, None, "")
            return DialogueTurn(episode.answer, episode.error_code is None, episode.error_code, (episode,))
        finally:
            self._speaking.release()
