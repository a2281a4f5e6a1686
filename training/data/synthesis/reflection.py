"""Forced reflection: a call that failed, or whose result is doubtful, is checked and made again before the teacher goes
on.

Each repetition is a real call with a real result. It is put between the turns of the teacher, who reads the
conversation as if the call had worked at once; the record keeps all of it. LAST has the model "abandon the tool path
and revert to the original image" after a failure: a teacher without eyes cannot, so the second repetition takes
another tool with the same answer, and what fails even then is left to the teacher. LAST's consistency check is here
too: a result about some of the objects that were asked for is doubtful."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.policies.scripted.transcript import read_response
from toolhand.agent_node.policy import Message, Policy, Reply
from toolhand.agent_node.protocol import Protocol
from toolhand.tool_nodes.results import ErrorCode

RETRIES = 2
"""Most repetitions of a doubtful call [-]."""

_MAY_PASS = frozenset(
    {
        ErrorCode.OBJECT_NOT_FOUND,
        ErrorCode.NOT_RECOGNISED,
        ErrorCode.EMPTY_MASK,
        ErrorCode.NO_DEPTH,
        ErrorCode.NO_GRASP,
        ErrorCode.TIMEOUT,
        ErrorCode.EXECUTION_FAILED,
    }
)
"""Errors of looking and measuring after which the same call, or another tool, may have an answer."""

INSTEAD = {
    "roborefer.detect_one": "vlm.detect_one",
    "roborefer.detect_all": "vlm.detect_all",
    "vlm.detect_one": "roborefer.detect_one",
    "vlm.detect_all": "roborefer.detect_all",
    "EstimateSize": "SegmentObjects",
    "SegmentObjects": "EstimateSize",
    "text_ocr": "text_spotting",
}
"""Tools that take the same arguments and answer in the same form."""

MOTIONS = frozenset({"robot.execute_grasp", "robot.place_object_at_2d_location", "robot.place_object_at_3d_location"})
"""Tools that move the robot: they are never repeated here, since the world may have changed."""

_LABELS = "text_labels"
"""The argument of LAST's tools that names several objects at once."""

_REASONS = {
    "failed": (
        "{tool} failed with {code}. One failure may be chance, so I check it.",
        "That did not work: {code}. Before I rely on anything I make sure with {tool}.",
        "Hmm, {tool} says {code}. I should not guess from that; I try it again.",
    ),
    "empty": (
        "{tool} returned nothing at all. That tells me nothing about the picture, so I ask again.",
        "An empty result from {tool} is no answer. I call it once more.",
        "Hmm, there is nothing in what {tool} gave back. I verify before going on.",
    ),
    "partial": (
        "{tool} says nothing about {missing}. What it gave is only a part, so I check it.",
        "I asked for {missing} too, and the result of {tool} does not have it. I ask once more.",
    ),
}
_WITH = (" This time I use {other} for it.", " Another tool can tell the same: {other}.")


@dataclass(frozen=True)
class Doubt:
    """A result that should not be relied on.

    Attributes:
        index: Which call of the turn.
        kind: "failed", "empty" or "partial".
        missing: Values that a partial result does not give.
    """

    index: int
    kind: str
    code: str = ""
    missing: str = ""


def doubt_of(index: int, call: ToolCall, message: Message, moved: bool = False) -> Doubt | None:
    """What is doubtful about the result of a call that moved nothing; None where nothing is.

    Args:
        index: Which call of its turn.
        moved: The robot has moved before: that an object is not found any more is an answer then.
    """
    response = read_response(message)
    if moved and response.error is ErrorCode.OBJECT_NOT_FOUND:
        return None
    if response.error is not None:
        return Doubt(index, "failed", response.error) if response.error in _MAY_PASS else None
    if not response.text and message.image_index is None and not _inner(message):
        return Doubt(index, "empty")
    labels = call.arguments.get(_LABELS) if isinstance(call.arguments, dict) else None
    if isinstance(labels, list):
        missing = [str(label) for label in labels if _not_there(str(label), response.text)]
        if missing and len(missing) < len(labels):
            return Doubt(index, "partial", missing=" and ".join(missing))
    return None


def _not_there(label: str, text: str) -> bool:
    """LAST's tools say so in a line of its own."""
    return re.search(rf"(?im)^{re.escape(label)}: not (?:found|recognised)", text) is not None


def _inner(message: Message) -> str:
    return re.sub(r"</?tool_response>|<image \d+>", "", message.text).strip()


class Reflecting:
    """A policy whose doubtful calls are made again; stateless, as long as the one inside is.

    Args:
        teacher: Decides everything else. It may not mind that turns are missing: it reads a conversation in which the
            repetition stands in the place of what it repeats.
        seed: Seed of the words.
    """

    def __init__(
        self,
        teacher: Policy,
        protocol: Protocol,
        seed: int,
    ) -> None:
        self.name = teacher.name
        self._teacher = teacher
        self._protocol = protocol
        self._seed = seed

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """The teacher's next turn, or one that makes a doubtful call again. Raises what the teacher raises."""
        view, pending = self._read(conversation)
        if pending is None:
            return self._teacher.respond(view)
        offered = conversation[0].text if pending.tries else ""
        again = [_again(pending.calls[index], offered) for index in pending.repeated]
        if self._protocol.calls_in_a_turn != "all":
            again = again[:1]
        rng = np.random.default_rng([self._seed, len(conversation)])
        return Reply(self._protocol.render_turn(_thought(pending, again[0], rng), again))

    def _read(self, conversation: Sequence[Message]) -> tuple[list[Message], _Pending | None]:
        """The conversation as the teacher reads it, and what is to be made again before it does."""
        head, turns = turns_of(conversation)
        view, k, moved = list(head), 0, False
        while k < len(turns):
            said, answers = turns[k][0], list(turns[k][1])
            calls, tries, k = self._protocol.parse(said.text).calls, 0, k + 1
            while tries < RETRIES and (doubts := _doubts(calls, answers, moved)):
                pending = _Pending(calls, doubts[0], tries)
                if k == len(turns):
                    return view, pending
                for index, answer in zip(pending.repeated, turns[k][1], strict=False):
                    answers[index] = answer
                tries, k = tries + 1, k + 1
            moved = moved or any(call.name in MOTIONS for call in calls)
            view += [said, *answers]
        return view, None


@dataclass(frozen=True)
class _Pending:
    """Calls of a turn that are to be made again, and how often they were already."""

    calls: tuple[ToolCall, ...]
    doubt: Doubt
    tries: int

    @property
    def repeated(self) -> range:
        """The doubtful call and, since later ones may have needed what is missing, all after it."""
        return range(self.doubt.index, len(self.calls))


def _doubts(calls: Sequence[ToolCall], answers: Sequence[Message], moved: bool) -> list[Doubt]:
    if len(calls) != len(answers) or any(call.name in MOTIONS for call in calls):
        return []
    found = (doubt_of(k, call, answer, moved) for k, (call, answer) in enumerate(zip(calls, answers, strict=True)))
    return [doubt for doubt in found if doubt is not None]


def _again(call: ToolCall, offered: str) -> ToolCall:
    """The same call, or that of another tool where the system's prompt offers one with the same answer."""
    other = INSTEAD.get(call.name)
    return call if other is None or other not in offered else ToolCall(other, call.arguments)


def _thought(pending: _Pending, again: ToolCall, rng: np.random.Generator) -> str:
    doubt = pending.doubt
    tool = pending.calls[doubt.index].name
    texts = _REASONS[doubt.kind]
    said = texts[int(rng.integers(len(texts)))]
    if again.name != tool:
        said += _WITH[int(rng.integers(len(_WITH)))]
    return said.format(tool=tool, code=doubt.code, missing=doubt.missing, other=again.name)


def turns_of(conversation: Sequence[Message]) -> tuple[Sequence[Message], list[tuple[Message, Sequence[Message]]]]:
    """(what comes before the first assistant turn, each assistant turn with the responses to it)."""
    spoken = [k for k, message in enumerate(conversation) if message.role == "assistant"]
    if not spoken:
        return conversation, []
    ends = [*spoken[1:], len(conversation)]
    turns = [(conversation[k], conversation[k + 1 : end]) for k, end in zip(spoken, ends, strict=True)]
    return conversation[: spoken[0]], turns
