"""The agent: a policy that carries out commands with a toolbox."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from toolhand.agent_node.conversation import Conversation
from toolhand.agent_node.conversation_settings import AS_SPACETOOLS, ConversationSettings
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.events import Ask, Listener, OperatorAnswer, ignore, nobody
from toolhand.agent_node.policy import Message, Policy, Reply, only_answers, reply_problem
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
        images, caption: Images that every command is shown that comes with none, and the sentence about them.
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
        caption: str = "",
    ) -> None:
        self._policy, self._ask = policy, ask
        self._shown = images, caption
        self._begin = functools.partial(
            Conversation,
            toolbox=toolbox,
            settings=settings,
            stopped=stopped,
            listener=listener,
            asks=ask is not nobody,
            answers=only_answers(policy),
        )

    def run(self, task: str, images: Sequence[SessionImage] = (), memory: str = "", caption: str = "") -> Episode:
        """Carry out one command, or answer a question about images. Never raises for what a policy or a tool does.

        Args:
            task: The operator's sentence.
            images: Images that the operator shows with it, images 0, 1 ... of the conversation.
            memory: Account of the commands before, in a few sentences.
            caption: Sentence about the images.
        """
        images, caption = (images, caption) if images else self._shown
        conversation = self._begin(task, images=images, memory=memory, caption=caption)
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
