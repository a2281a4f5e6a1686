"""`toolhand talk --transport ros`: the prompt of a dialogue with the robot of a graph."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from toolhand.agent_node.console.terminal import Interrupt, plain, tell
from toolhand.agent_node.events import Event, OperatorTold
from toolhand.agent_node.open_question import ANSWER_WITHIN_S
from toolhand.cli.prompt import listen
from toolhand.cli.run_command import RunCommand
from toolhand.cli.run_over_ros import operator_of_a_graph
from toolhand.tool_nodes.results import ErrorCode

if TYPE_CHECKING:
    from toolhand.agent_node.ros.operator import Operator


def talk_over_ros(command: RunCommand) -> int:
    """Speak with the robot of the graph that runs, or of one that is started; the exit status.

    Args:
        command: The options, without a sentence.

    Raises:
        ToolError: As `toolhand.cli.run_over_ros.found_graph`.
    """
    with operator_of_a_graph(command, _hear) as operator:
        prompt = _Prompt(operator)
        tell('Speaking with the robot of the graph. "help" says what it can do, "exit" leaves.')
        return listen(prompt.answer, prompt.is_hit, prompt.brake)


def _hear(event: Event) -> None:
    """Show what is told before the end; the steps that lead there are in the report."""
    if isinstance(event, OperatorTold):
        tell(plain(event.text))


class _Prompt:
    """Says each line to a graph; Ctrl-C cancels it. A question is answered by the next line."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._interrupt = Interrupt()
        self._closing: threading.Timer | None = None

    def is_hit(self) -> bool:
        """Ctrl-C was typed while the last words were carried out."""
        return self._interrupt.is_hit()

    def brake(self) -> None:
        """Cancel what is carried out, as Ctrl-C does."""
        self._interrupt.brake()
        tell("Stopping: the arm holds its position.")

    def answer(self, line: str) -> None:
        """Carry out a line and say what comes of it."""
        if self._closing is not None:
            self._closing.cancel()
        self._interrupt = interrupt = Interrupt()
        with interrupt:
            interrupt.bind(self._operator.cancel)
            episode = self._operator.carry_out(line)
        tell(plain(episode.answer))
        if episode.error_code is ErrorCode.AMBIGUOUS:
            told = f"\nNobody answered within {ANSWER_WITHIN_S:.0f} s; the question is closed."
            self._closing = threading.Timer(ANSWER_WITHIN_S, tell, (told,))
            self._closing.daemon = True
            self._closing.start()
