"""A question of the policy, put to the operator at the terminal."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from toolhand.agent_node.console.keyboard import forget_typed, is_terminal, printable, read_line
from toolhand.agent_node.console.terminal import save_png
from toolhand.agent_node.events import ANSWER_DEADLINE_S, TYPED_POINT, Ask, OperatorAnswer, OperatorQuestion, nobody
from toolhand.agent_node.policy import Policy, takes_answers


def operator_at_terminal(policy: Policy | None = None, interrupted: Callable[[], bool] = lambda: False) -> Ask:
    """Who answers questions here: the person at the terminal; `nobody` without one, or for a policy that cannot go on.

    Args:
        policy: Who asks; None where it is elsewhere and known there.
        interrupted: Polled while waiting; True, e.g. after Ctrl-C, ends the question.
    """
    cannot_go_on = policy is not None and not takes_answers(policy)
    if cannot_go_on or not is_terminal(sys.stdin, sys.stderr):
        return nobody
    return TerminalOperator(sys.stdin, sys.stderr, interrupted)


class TerminalOperator:
    """Asks the person at the terminal. An empty line, and none within the deadline, is no answer.

    Args:
        stdin: The keyboard, a terminal.
        interrupted: Polled while waiting; True ends the question.
        deadline_s: How long it waits [s].
    """

    def __init__(
        self,
        stdin: TextIO,
        stderr: TextIO,
        interrupted: Callable[[], bool] = lambda: False,
        deadline_s: float = ANSWER_DEADLINE_S,
    ) -> None:
        self._stdin, self._stderr = stdin, stderr
        self._interrupted, self._deadline_s = interrupted, deadline_s

    def __call__(self, question: OperatorQuestion) -> OperatorAnswer | None:
        """See `toolhand.agent_node.events.Ask`. Raises ToolError STOPPED when interrupted."""
        pointed = ""
        if question.image is not None:
            path = Path(tempfile.mkdtemp(prefix="toolhand-")) / f"image-{question.image_index}.png"
            save_png(path, question.image)
            pointed = f', or a point of {path} from its top left, such as "0.41 0.22"'
        forget_typed(self._stdin)
        self._say(
            f"\n{printable(question.text)}\n"
            f'Answer in words, such as "the left one"{pointed}; an empty line ends the command. '
            f"[{self._deadline_s:g} s]\n> "
        )
        line = read_line(self._stdin, self._deadline_s, self._interrupted)
        if not line:
            self._say("" if line == "" else f"\nNobody answered within {self._deadline_s:g} s.\n")
            return None
        point = TYPED_POINT.fullmatch(line)
        return OperatorAnswer(point=(float(point[1]), float(point[2]))) if point else OperatorAnswer(line)

    def _say(self, text: str) -> None:
        self._stderr.write(text)
        self._stderr.flush()
