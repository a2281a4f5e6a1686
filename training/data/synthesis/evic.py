"""E-ViC's verifiability filter (4.1): a task is kept only where somebody is known to answer it.

Each candidate is tried by two models, 8 rollouts each, and kept where one rollout or more is correct; then the kinds
are balanced by stratified subsampling. The paper keeps the question alone, to learn from by RL; the rollout that
showed it to be answerable is kept with it here. The rest of the rollouts would not change the decision, so the first
that is right ends the search. Its two models are two policies here. Kinds are balanced beforehand: candidates are
drawn in turn."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import numpy as np

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.policy import Message, Policy, Reply
from toolhand.agent_node.protocol import Protocol
from toolhand.training.data.synthesis.attempts import Attempt
from toolhand.training.data.synthesis.reflection import turns_of

ROLLOUTS = 8
"""Rollouts of each policy for a candidate task; 4.1."""
POLICIES = 2
"""Policies that try it; 4.1."""

Try = Callable[[int, int], Attempt]
"""(policy, rollout) -> what came of it."""


def verifiable(tried: Try, policies: int = POLICIES) -> list[Attempt]:
    """The attempts up to the first that is right, which stands first; none is where the task is not verifiable.

    Args:
        tried: Lets a policy try the task; rollouts of one policy differ by their seeds.
        policies: Number of policies; the paper's by default.
    """
    found: list[Attempt] = []
    for rollout in range(ROLLOUTS):
        for policy in range(policies):
            made = tried(policy, rollout)
            if made.right:
                return [made, *found]
            found.append(made)
    return found


class Confirming:
    """Look and confirm: a point, a box or a path is drawn into the image before it is the answer (figure 5).

    E-ViC's tools show, and tell nothing to a policy without eyes: what is confirmed here is that the answer is a place
    of the image. A model that sees learns from it to look at what it is about to say.

    Args:
        teacher: Decides everything else; it does not read of the drawing.
        image_size: (width, height) of the first image [px], which the answer is about.
    """

    def __init__(self, teacher: Policy, protocol: Protocol, image_size: tuple[int, int]) -> None:
        self.name = teacher.name
        self._teacher = teacher
        self._protocol = protocol
        self._size = np.array(image_size, float)

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """The teacher's next turn, or a drawing of its answer. Raises what the teacher raises."""
        head, turns = turns_of(conversation)
        view, confirmed = list(head), False
        for said, answers in turns:
            drawn = any(call.name in _DRAWING for call in self._protocol.parse(said.text).calls)
            confirmed = confirmed or drawn
            view += [] if drawn else [said, *answers]
        reply = self._teacher.respond(view)
        answer = self._protocol.parse(reply.text).answer
        call = None if answer is None or confirmed else self._drawing(answer)
        if call is None:
            return reply
        thought = f"Before I answer I look at it: {call.name} draws it into the picture."
        return Reply(self._protocol.render_turn(thought, [call]))

    def _drawing(self, answer: str) -> ToolCall | None:
        """The call that shows an answer, in pixels; None for one that is no place of the image."""
        try:
            rows = np.atleast_2d(np.array(json.loads(answer), float))
        except (ValueError, TypeError):
            return None
        if rows.size == 0 or rows.min() < 0.0 or rows.max() > 1.0:
            return None
        if rows.shape == (1, 4):
            box = rows.reshape(2, 2) * (self._size - 1)
            return ToolCall("draw_box", {"image_idx": 0, "boxes": [[round(float(value), 1) for value in box.ravel()]]})
        if rows.ndim != 2 or rows.shape[1] != 2:
            return None
        points = [[round(float(value), 1) for value in row] for row in rows * (self._size - 1)]
        return ToolCall("draw_point", {"image_idx": 0, "points": points})


_DRAWING = frozenset({"draw_point", "draw_box"})
"""Tools that show an answer."""
