"""A dialogue whose operator is asked at once, where answers can be waited for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from toolhand.agent_node.conversation import MOST_QUESTIONS
from toolhand.agent_node.dialogue.dialogue import Dialogue, DialogueTurn
from toolhand.agent_node.dialogue.memory import OpenQuestion
from toolhand.agent_node.pointed import PointedPoint

AskOperator = Callable[[OpenQuestion], str | None]
"""Puts a question to the operator and waits; their words, None where none came and the question is closed."""


def say_and_ask(dialogue: Dialogue, words: str, ask: AskOperator, pointed: Sequence[PointedPoint] = ()) -> DialogueTurn:
    """Say words, and then every answer to a question that they have led to; what came of the last.

    Args:
        dialogue: Hears them.
        words: Utterance of the operator.
        ask: Puts the questions.
        pointed: See `Dialogue.say`.

    Raises:
        ToolError: As `Dialogue.say`, and whatever `ask` raises.
    """
    turn = dialogue.say(words, pointed)
    for _ in range(MOST_QUESTIONS):
        if turn.question is None:
            break
        answer = ask(turn.question)
        if answer is None:
            dialogue.leave_question()
            break
        turn = dialogue.say(answer)
    return turn
