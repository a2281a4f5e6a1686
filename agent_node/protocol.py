r"""How a policy writes thoughts, calls and answers, and reads results: each protocol is data, one YAML file each.

Malformed output is never repaired: it becomes an observation that says precisely what is wrong.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from agent_node.calls import ToolCall, blocks, boxed_answers, json_call, python_call
from rclpy_zenoh.plain_yaml import load
from tool_nodes.results import ErrorCode, ToolError

FOLDER = Path(__file__).with_name("protocols")
BOXED = r"\boxed"

NOTE = "\nNote: "
"""Begins what the agent adds to a tool's words for the policy; see `agent_node.recovery`."""
NOT_RUN = "Not run:"
"""Begins the agent's own answer to a call that was not run; after the code, where there is one."""

Calls = Literal["all", "one", "first"]

_SPOKEN_BY_OTHERS = re.compile(
    r"<(?=\s*/?\s*(?:tool_responses?|tool_calls?|tools|think|answer|action|analy|ans|images?|system|user|assistant|"
    r"human|s|(?:start|end)_of_turn)\b|[|\uff5c])",
    re.IGNORECASE,
)
"""Where a tool's words could end its response, begin a call, a picture or a turn, in any protocol or chat template."""


@dataclass(frozen=True)
class ParsedTurn:
    """One assistant turn.

    Attributes:
        thought: Its reasoning.
        calls: Calls in the order they were written, malformed ones included.
        answer: Text of the answer, or None. A turn with calls has no answer: it would precede their results.
        problem: What is wrong with the turn as a whole, or empty.
        ignored: Calls after the first that the protocol passes over.
    """

    thought: str
    calls: tuple[ToolCall, ...]
    answer: str | None
    problem: str = ""
    ignored: int = 0


@dataclass(frozen=True)
class Protocol:
    """One paper's form of a conversation.

    Attributes:
        name: Of its file.
        system: System prompt with `{tools}`.
        user: The operator's sentence as the policy reads it, with `{task}`.
        tools: How tools are listed: JSON "schemas" one a line, "signatures", or "none" where the server is given them.
        call: Tag of a call.
        answer: Tag of the answer, or `\\boxed`.
        turn_budget: Assistant turns of a command.
        thought: Tag of a thought; empty where everything outside calls and answer is one.
        syntax: Of what a call's tag holds: a "json" object or a "python" expression.
        calls_in_a_turn: "all" are run; with "one", more are a problem; with "first", later ones are ignored and logged.
        reasoning_alone: A turn with neither call nor answer is no problem.
        stop: Where a server may stop writing.
        malformed_cost, failed_call_cost: What the paper's reward takes for a malformed turn and for a call that fails.
    """

    name: str
    system: str
    user: str
    tools: Literal["schemas", "signatures", "none"]
    call: str
    answer: str
    turn_budget: int
    thought: str = ""
    syntax: Literal["json", "python"] = "json"
    calls_in_a_turn: Calls = "all"
    reasoning_alone: bool = False
    stop: tuple[str, ...] = ()
    malformed_cost: float = 0.0
    failed_call_cost: float = 0.0

    def system_prompt(self, schemas: Sequence[Mapping[str, Any]]) -> str:
        """The system prompt with the tools' JSON schemas in the protocol's own form."""
        if self.tools == "schemas":
            listed = "\n".join(json.dumps(schema) for schema in schemas)
        else:
            listed = "\n".join(_signature(schema["function"]) for schema in schemas)
        return self.system.replace("{tools}", listed)

    def user_prompt(self, task: str) -> str:
        """The operator's sentence as the policy reads it."""
        return self.user.replace("{task}", task)

    def parse(self, text: str) -> ParsedTurn:
        """Parse one assistant turn; never raises."""
        tags = [tag for tag in (self.thought, self.call, self.answer) if tag and tag != BOXED]
        found, unclosed = blocks(text, tags)
        held: dict[str, list[str]] = {tag: [] for tag in tags}
        for tag, content in found:
            held[tag].append(content.strip())
        rest = "" if unclosed or self.thought else self._outside_calls(text)
        answers = boxed_answers(rest)[-1:] if self.answer == BOXED else held[self.answer]
        thought = "\n".join(held[self.thought]) if self.thought else rest.rpartition(BOXED)[0] if answers else rest
        thought = thought.strip()
        written = held[self.call]
        problem = self._problem(unclosed, written, answers)
        if problem:
            return ParsedTurn(thought, (), None, problem)
        ignored = max(len(written) - 1, 0) if self.calls_in_a_turn == "first" else 0
        read = json_call if self.syntax == "json" else python_call
        calls = tuple(read(content) for content in written[: len(written) - ignored])
        return ParsedTurn(thought, calls, answers[0] if answers and not calls else None, "", ignored)

    def _outside_calls(self, text: str) -> str:
        return re.sub(rf"<{self.call}>.*?</{self.call}>", "", text, flags=re.DOTALL)

    def _problem(self, unclosed: str, calls: Sequence[str], answers: Sequence[str]) -> str:
        call, answer = f"<{self.call}>", f"{BOXED}{{}}" if self.answer == BOXED else f"<{self.answer}>"
        if unclosed:
            return f"the <{unclosed}> tag is not closed"
        if not calls and not answers and not self.reasoning_alone:
            return f"a turn needs a {call} or an {answer}"
        if len(answers) > 1:
            return f"a turn may hold only one {answer}"
        if calls and answers and self.answer != BOXED:
            return f"a turn may not hold both {call} and {answer}: wait for the results"
        if len(calls) > 1 and self.calls_in_a_turn == "one":
            return f"a turn may hold only one {call}"
        return ""

    def render_turn(self, thought: str, calls: Sequence[ToolCall], answer: str | None = None) -> str:
        """A turn as the protocol writes it; what `parse` reads back, if the words hold none of its tags."""
        thinking = f"<{self.thought}>{thought}</{self.thought}>" if self.thought else thought
        parts = [thinking, *(f"<{self.call}>{self._written(call)}</{self.call}>" for call in calls)]
        if answer is not None:
            parts.append(f"{BOXED}{{{answer}}}" if self.answer == BOXED else f"<{self.answer}>{answer}</{self.answer}>")
        return "\n".join(part for part in parts if part)

    def _written(self, call: ToolCall) -> str:
        if self.syntax == "json":
            return json.dumps({"name": call.name, "arguments": call.arguments})
        return f"{call.name}({', '.join(f'{name}={value!r}' for name, value in call.arguments.items())})"

    def closed(self, text: str) -> str:
        """The text with the end that a server cut off when it stopped at one of the protocol's stop strings."""
        for tag in (self.call, self.answer):
            if f"</{tag}>" in self.stop and text.rfind(f"<{tag}>") > text.rfind(f"</{tag}>"):
                return f"{text}</{tag}>"
        return text


def as_data(text: str) -> str:
    """A tool's words in which no marker of a protocol or a chat template is spelt: its `<` becomes a look-alike.

    A tool repeats what it has read in pictures, names of things and arguments; none of it may speak in another's name.
    """
    return _SPOKEN_BY_OTHERS.sub("\u2039", text)


def render_response(text: str, image_index: int | None = None) -> str:
    """One tool response; a picture shows as `<image K>`. No paper but E-ViC (section B.3) prints another form."""
    picture = "" if image_index is None else f" <image {image_index}>"
    return f"<tool_response>{as_data(text)}{picture}</tool_response>"


def protocol_names() -> list[str]:
    """Names of the protocols that there are."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


@functools.cache
def load_protocol(name: str) -> Protocol:
    """The protocol of a name. Raises ToolError INVALID_ARGUMENT."""
    if name not in protocol_names():
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT,
            f"There is no protocol {name[:60]!r}: it must be one of {', '.join(protocol_names())}.",
        )
    document = load((FOLDER / f"{name}.yaml").read_bytes())
    unknown = set(document) - {entry.name for entry in fields(Protocol)}
    if unknown or document.get("calls_in_a_turn", "all") not in get_args(Calls):
        raise ToolError(ErrorCode.INTERNAL, f"The protocol file {name}.yaml is wrong: {sorted(unknown) or document}.")
    return Protocol(name=name, **document | {"stop": tuple(document.get("stop", ()))})


def _signature(function: Mapping[str, Any]) -> str:
    arguments = ", ".join(function["parameters"]["properties"])
    return f"• {function['name']}({arguments}): {function['description']}"
