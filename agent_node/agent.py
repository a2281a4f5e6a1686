"""The agent: a policy that carries out commands with a toolbox."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from toolhand.agent_node.conversation import Conversation
from toolhand.agent_node.conversation_settings import AS_SPACETOOLS, ConversationSettings
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.events import Ask, Listener, OperatorAnswer, ignore, nobody
from toolhand.agent_node.opening import ShownToPolicy
from toolhand.agent_node.pointed import PointedPoint
from toolhand.agent_node.policy import (
    Message,
    Policy,
    Reply,
    candidates_of,
    only_answers,
    reply_problem,
    sees_images,
    speed_of,
)
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Tools


class Agent:
    """Runs one policy against one toolbox.

    Args:
        policy: Decides every turn from the text of the conversation.
        toolbox: The tools.
        settings, stopped, listener: See `Conversation`.
        ask: Puts a question to the operator; with `nobody` a question ends the command.
        images: Images that are shown with every command that comes with none.
    """

    def __init__(
        self,
        policy: Policy,
        toolbox: Tools,
        settings: ConversationSettings = AS_SPACETOOLS,
        stopped: Callable[[], bool] = lambda: False,
        listener: Listener = ignore,
        ask: Ask = nobody,
        images: Sequence[SessionImage] = (),
    ) -> None:
        self._policy, self._ask, self._images = policy, ask, images
        self._begin = functools.partial(
            Conversation,
            toolbox=toolbox,
            settings=settings,
            stopped=stopped,
            listener=listener,
            asks=ask is not nobody,
            answers=only_answers(policy),
            candidates=lambda question: candidates_of(policy, question),
        )

    def run(
        self,
        task: str,
        images: Sequence[SessionImage] = (),
        memory: str = "",
        speed: float | None = None,
        follows: Episode | None = None,
        look: bool = False,
        pointed: Sequence[PointedPoint] = (),
    ) -> Episode:
        """Carry out one command, or answer a question about images. Never raises for what a policy or a tool does.

        Args:
            task: The operator's sentence.
            images: Images that the operator shows with it.
            memory: Account of the commands before, in a few sentences.
            speed: Share of the allowed speed, in (0, 1]; what the policy reads into the sentence where None.
            follows: The command before, whose conversation this one goes on with.
            look: A policy that looks at images is shown the scene first.
            pointed: Points that the operator shows with the sentence, in order.
        """
        conversation = self._begin(
            task,
            shown=ShownToPolicy(images or self._images, look and sees_images(self._policy), pointed),
            memory=memory,
            speed=speed_of(self._policy, task) if speed is None else speed,
            follows=follows,
        )
        return converse(conversation, self._policy, self._ask)


def converse(conversation: Conversation, policy: Policy, ask: Ask = nobody) -> Episode:
    """Have a policy take the turns of a conversation to its end. Never raises for what a policy or a tool does."""
    while not conversation.done:
        question = conversation.question
        try:
            said = next_turn(policy, conversation.messages) if question is None else ask(question)
        except ToolError as error:
            conversation.abort(error)
            continue
        if said is None:
            conversation.leave_unanswered()
        elif isinstance(said, OperatorAnswer):
            conversation.answer(said)
        else:
            conversation.step(said)
    return conversation.episode


def next_turn(policy: Policy, messages: Sequence[Message]) -> Reply:
    """The policy's next turn. Raises ToolError: its own, INTERNAL for whatever else goes wrong."""
    try:
        reply = policy.respond(messages)
    except ToolError:
        raise
    except Exception as error:
        raise ToolError(ErrorCode.INTERNAL, f"The policy failed: {type(error).__name__}: {error}.") from error
    if problem := reply_problem(reply):
        raise ToolError(ErrorCode.INTERNAL, f"The policy failed: {problem}")
    return reply
