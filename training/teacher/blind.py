"""The floor: answers from a question's words alone, without looking and without tools."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from toolhand.agent_node.policies.scripted.transcript import read_episode
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.protocol import Protocol, load_protocol
from toolhand.training.teacher.reading import ReadQuestion, read_question
from toolhand.training.teacher.steps import listed, one

PRIORS: dict[str, str] = {
    "point": "[0.45, 0.40]",
    "depth": "A",
    "count": "2",
    "box": "[0.45, 0.33, 0.52, 0.48]",
    "pose": listed([corner for corner in product((0.40, 0.52), (0.29, 0.49)) for _ in range(2)]),
    "grasp": "Grasp center: [0.50, 0.40], Left finger base: [0.46, 0.38], Right finger base: [0.54, 0.38], "
    "Left finger tip: [0.46, 0.42], Right finger tip: [0.54, 0.42]",
    "size": "0.105",
    "distance": "0.29",
    "yes_no": "yes",
    "choice": "A",
    "map_route": "[[0.35, 0.5], [0.5, 0.5], [0.65, 0.5]]",
    "map_stations": "Oakfield",
    "small_print": "A5-5000",
}
"""Kind -> the best guess without looking: medians of 40 training tasks, the middle of the image, the first letter."""

BESIDE = {"left of": (0.34, 0.37), "right of": (0.64, 0.37), "in front of": (0.48, 0.52), "behind": (0.40, 0.29)}
"""The same for free table, by the side that the words name."""


class BlindPolicy:
    """Guesses at once; it tells of a command that it was done.

    Args:
        protocol: Protocol that it writes; SpaceTools' where None.
    """

    name = "blind"
    session = "rules"

    def __init__(self, protocol: Protocol | None = None) -> None:
        self._protocol = protocol or load_protocol("spacetools")

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """The answer."""
        question = read_question(read_episode(conversation)[0])
        answer = "Done." if question is None else guess(question)
        return Reply(self._protocol.render_turn("I guess.", (), answer))


def guess(question: ReadQuestion) -> str:
    """The best answer to a kind of question without looking."""
    if question.kind == "free_space":
        return one(BESIDE[question.blanks["where"]])
    return PRIORS[question.kind]
