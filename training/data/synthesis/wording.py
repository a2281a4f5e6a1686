"""Thoughts said in other words (PERIA, 4.2 and C.2): calls, arguments, observations and answers stay as they are.

PERIA has Qwen3-VL-235B rewrite them, with one prompt for the first choice of a tool, one for later ones, which looks
back at the results so far, and one for the final reasoning. `Templates` does so by seeded openings, exchanges of
phrases and closings, of which only what the record itself says is used: the tool that is called, and whether the last
call worked. `ByPolicy` asks a model; the prompts are ours, since the paper shows its own as figures. With either,
a thought is refused that holds a tag, lacks a number or a quoted name of the original, or, as in the paper, the name
of the tool."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.episode import Episode, Exchange, Turn
from toolhand.agent_node.policy import Message, Policy, Reply
from toolhand.agent_node.protocol import Protocol as Form
from toolhand.tool_nodes.results import ErrorCode

ThoughtRole = Literal["first", "later", "final"]
"""Which of PERIA's three prompts rewrites a thought."""

LastCalls = Literal["failed", "found nothing", "worked"]
"""What became of the calls of a turn."""
_WORST: tuple[LastCalls, ...] = ("failed", "found nothing")
"""Of several calls the first of these counts."""

LONGEST = 1200
"""A thought that has become longer is refused [characters], several times the longest of the teacher."""

_OPENINGS: dict[ThoughtRole, tuple[str, ...]] = {
    "first": (
        "", "Let me think.", "First things first.", "I begin with what I can find out.", "Hmm, one step at a time.",
        "What do I need to know here?", "Before I say anything I should look.", "Let me break this down.",
    ),
    "later": ("", "Good, now the next step.", "Let me go on.", "So far, so good.", "What is still missing?",
              "Let me put together what I have.", "Okay.", "Next."),
    "final": (
        "", "I have what I need.", "Let me sum up.", "Putting it together.", "That settles it.",
        "Looking back at what the tools gave.", "Now I can answer.", "Let me check once more what I saw.",
    ),
}  # fmt: skip
_AFTER_FAILURE = (
    "",
    "",
    "That did not go as meant.",
    "Hmm, the last call did not work.",
    "The last result is an error, so I have to react.",
    "I should not ignore that failure.",
)
_AFTER_NOTHING = ("", "", "Let me see.")
_CLOSINGS = (
    "So I call {tool}.",
    "{tool} can tell me that.",
    "For that there is {tool}.",
    "I use {tool} for this.",
    "The right tool here is {tool}.",
    "Let me ask {tool}.",
)
_EXCHANGES = (
    (r"\bI need to find\b", ("I have to find", "I must locate", "I need to find")),
    (r"\bI look again\b", ("I take another look", "let me look again", "I look again")),
    (r"\bI execute it\b", ("I carry it out", "I execute it", "now I do it")),
    (r"\bI place it there\b", ("I put it there", "I place it there", "that is where I put it")),
    (r"\bI need\b", ("I need", "I want")),
    (r"\bThere is room\b", ("There is room", "There is space", "There is a free spot")),
    (r"\bis there\b(?=[;,.])", ("is there", "exists")),
    (r"\bthe pick is done\b", ("the pick is done", "the pick has worked", "that completes the pick")),
    (r"\bThe object is down\b", ("The object is down", "It stands where it should", "The object has been set down")),
    (r"\bso\b", ("so", "therefore")),
)
_ANSWERS = (ErrorCode.OBJECT_NOT_FOUND, ErrorCode.NOT_RECOGNISED)
"""Errors that tell something about the image."""
_FACTS = re.compile(r"\d+(?:\.\d+)?|'[^']{2,60}'|\"[^\"]{2,60}\"")
_TAGS = re.compile(r"</?\s*(?:think|analy|answer|ans|action|tool_call|tool_response)\b|\\boxed", re.IGNORECASE)

_ASKED: dict[ThoughtRole, str] = {
    "first": "It explains which tool to begin with. Say why this tool, and name it.",
    "later": "It explains the next tool. Look back at the results so far, say whether they can be relied on, and name "
    "the tool.",
    "final": "It leads to the final answer. Go through all calls and keep every fact and the conclusion.",
}
_ASK = (
    "Rewrite the thought below in other words, in one to four sentences. Keep its meaning, every number and every "
    "name. Use no tags. {asked}{tool}\nThought: {thought}"
)


@dataclass(frozen=True)
class ThoughtContext:
    """What a writer gets beside the thought.

    Attributes:
        role: Which of the three prompts.
        last: Outcome of the calls before: they worked (also where there were none), failed, or brought nothing: an
            empty result, or that an object is not there.
        again: The thought is that of the turn before: a step of several calls, where a turn may have one.
        before: The conversation up to the turn.
    """

    role: ThoughtRole
    calls: tuple[ToolCall, ...] = ()
    last: LastCalls = "worked"
    again: bool = False
    before: Sequence[Message] = ()


class Writer(Protocol):
    """Says a thought in other words."""

    def rewrite(self, thought: str, context: ThoughtContext, rng: np.random.Generator) -> str:
        """The thought in other words; it may be the same."""


class Templates:
    """Seeded openings, exchanged phrases and closings; no model."""

    def rewrite(self, thought: str, context: ThoughtContext, rng: np.random.Generator) -> str:
        """See Writer."""
        openings = {"worked": _OPENINGS[context.role], "failed": _AFTER_FAILURE, "found nothing": _AFTER_NOTHING}
        said = "" if context.again else thought
        for pattern, options in _EXCHANGES:
            said = re.sub(pattern, _chosen(rng, options), said)
        closing = _chosen(rng, _CLOSINGS).format(tool=context.calls[0].name) if context.calls else ""
        mentioned = bool(context.calls) and context.calls[0].name in said
        return " ".join(
            part for part in (_chosen(rng, openings[context.last]), said, "" if mentioned else closing) if part
        )


class ByPolicy:
    """Asks any policy, such as a language model."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def rewrite(self, thought: str, context: ThoughtContext, rng: np.random.Generator) -> str:
        """See Writer. Raises what the policy raises."""
        tool = f" The tool is {context.calls[0].name}." if context.calls else ""
        asked = _ASK.format(asked=_ASKED[context.role], tool=tool, thought=thought)
        return self._policy.respond([*context.before, Message("user", asked)]).text.strip()


def diversified(episode: Episode, writer: Writer, seed: int) -> tuple[Episode, int]:
    """The episode with its thoughts in other words, and how many of them were changed.

    Args:
        episode: Complete; it stays as it is.
        writer: Says thoughts in other words.
        seed: Seed of the words.

    Returns:
        An episode whose calls, observations and answer are the same. A turn that was changed has no token ids any
        more: no model sampled it so.
    """
    messages, turns, changed = list(episode.messages), [], 0
    asked = False
    for number, turn in enumerate(episode.turns):
        context = _context(episode, number, asked)
        asked = asked or bool(turn.parsed.calls)
        rng = np.random.default_rng([seed, number])
        text = _rewritten(episode.protocol, turn, context, writer, rng)
        if text != turn.text:
            changed += 1
            index = turn.prompt.messages
            messages[index] = replace(messages[index], text=text)
            turn = replace(turn, reply=Reply(text), parsed=episode.protocol.parse(text), sampled=None)
        turns.append(turn)
    return replace(episode, messages=messages, turns=turns), changed


def _context(episode: Episode, number: int, asked: bool) -> ThoughtContext:
    turn = episode.turns[number]
    role: ThoughtRole = "final" if turn.parsed.answer is not None else "later" if asked else "first"
    before = episode.turns[number - 1] if number else None
    ends = {_end_of(exchange) for exchange in before.exchanges} if before else set()
    last: LastCalls = next((end for end in _WORST if end in ends), "worked")
    again = before is not None and last == "worked" and bool(turn.parsed.calls) and turn.thought == before.thought
    return ThoughtContext(role, turn.parsed.calls, last, again, episode.messages[: turn.prompt.messages])


def _end_of(exchange: Exchange) -> LastCalls:
    record = exchange.record
    if record is None or (record.result.error is not None and record.result.error.code not in _ANSWERS):
        return "failed"
    if record.result.error is not None or not (record.result.text or record.image_index is not None):
        return "found nothing"
    return "worked"


def _rewritten(form: Form, turn: Turn, context: ThoughtContext, writer: Writer, rng: np.random.Generator) -> str:
    """The turn's text with another thought; the same where it has none, or the new one may not stand for it."""
    parsed = turn.parsed
    if not parsed.thought or parsed.problem or parsed.ignored or any(call.problem for call in parsed.calls):
        return turn.text
    thought = writer.rewrite(parsed.thought, context, rng)
    if thought_problem("" if context.again else parsed.thought, thought, context.calls):
        return turn.text
    text = form.render_turn(thought, parsed.calls, parsed.answer)
    read = form.parse(text)
    same = (read.calls, read.answer, read.problem) == (parsed.calls, parsed.answer, "")
    return text if same else turn.text


def thought_problem(thought: str, rewritten: str, calls: Sequence[ToolCall]) -> str:
    """Why a thought may not take the place of another one; empty where it may."""
    if not rewritten.strip() or len(rewritten) > LONGEST:
        return "it is empty or too long"
    if _TAGS.search(rewritten):
        return "it holds a tag"
    lost = [fact for fact in _FACTS.findall(thought) if fact not in rewritten]
    if lost:
        return f"it lacks {lost[0]}"
    if calls and calls[0].name not in rewritten:
        return f"it does not name {calls[0].name}"
    return ""


def _chosen(rng: np.random.Generator, options: Sequence[str]) -> str:
    return options[int(rng.integers(len(options)))]
