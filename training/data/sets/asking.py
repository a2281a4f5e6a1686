"""Asking a policy the questions of a public set, with the papers' tools over their pictures and without a robot."""

from __future__ import annotations

from collections.abc import Sequence

from agent_node.agent import converse
from agent_node.conversation import Conversation
from agent_node.conversation_settings import ConversationSettings
from agent_node.policy import Policy
from agent_node.protocol import Protocol
from tool_nodes.backends import Ports
from tool_nodes.results import INFRASTRUCTURE_ERRORS, ToolError, invalid
from tool_nodes.toolbox.images import SessionImage
from tool_nodes.toolbox.toolbox import Toolbox, Tools
from tool_nodes.tools.suites import Backends, make_toolbox
from training.data.sets.question import Question, rgb_of
from training.tasks.shown import for_question

_ASKED = {
    "spacetools": ("pointer", "second_pointer", "segmenter", "depth"),
    "peria": ("reader", "detector", "segmenter", "depth"),
    "evic": (),
    "last": ("detector", "segmenter", "depth"),
}
"""Which ports the tools of a suite ask."""


def ports_asked(suites: Sequence[str]) -> list[str]:
    """The ports that the tools of some suites ask, each once."""
    return list(dict.fromkeys(port for suite in suites for port in _ASKED[suite]))


def picture_toolbox(ports: Ports, suites: Sequence[str]) -> Toolbox:
    """The tools of some papers that work on a picture: all but those for a robot, a camera, grasps and code."""
    looking = Backends(
        ports.pointer, ports.detector, ports.segmenter, ports.depth, ports.reader, second_pointer=ports.second_pointer
    )
    return make_toolbox(looking, suites)


def asked(question: Question, toolbox: Tools, protocol: Protocol, turns: int | None = None) -> Conversation:
    """A conversation that begins with a question and its pictures.

    Args:
        question: Question of a set with pictures.
        toolbox: Tools over pictures.
        protocol: How the policy writes.
        turns: Assistant turns that are allowed; the protocol's own number where None.

    Raises:
        ToolError: INVALID_ARGUMENT for a question without pictures.
        RowError: A picture cannot be read.
    """
    if not question.pictures:
        raise invalid(
            f"Question {question.id} comes with no picture: a policy cannot be asked about videos.",
            "Mark predictions that were made elsewhere.",
        )
    pictures = [SessionImage(rgb_of(picture)) for picture in question.pictures]
    return Conversation(
        question.text,
        toolbox,
        ConversationSettings(turns or protocol.turn_budget, for_question(protocol)),
        pictures=pictures,
    )


def answer_of(
    policy: Policy, question: Question, toolbox: Tools, protocol: Protocol, turns: int | None = None
) -> str | None:
    """What a policy answers; None where it ends without an answer, be it out of turns or by an error of its own.

    Raises:
        ToolError: See `asked`; UNAVAILABLE and INTERNAL, the first that there was, where policy or tools are not there:
            what was said all the same is no answer.
        RowError: See `asked`.
    """
    episode = converse(asked(question, toolbox, protocol, turns), policy)
    for record in episode.records:
        error = record.result.error
        if error is not None and error.code in INFRASTRUCTURE_ERRORS:
            raise ToolError(error.code, f"{record.name}: {error.message}", error.hint, error.backend, error.cause)
    if episode.error_code in INFRASTRUCTURE_ERRORS:
        raise ToolError(episode.error_code, episode.answer)
    return episode.turns[-1].parsed.answer if episode.turns else None
