"""Calls as short lines, for small models: `point red box` instead of a name with a JSON object.

A page of a protocol says which lines there are. Any other tool can be called, too, by its name and a JSON object.
Nothing is repaired: a line is exactly what the page says, or it carries the reason why it cannot be run.

| line | what it is |
|---|---|
| `# ...` | a thought |
| `point red box` | a call as the page has it: words, or numbers with a blank between |
| `robot.lift {"distance_m": 0.05}` | a call of any tool |
| `say Done.` | the answer: the rest of the turn |
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolhand.agent_node.calls import ToolCall, json_call

WORDS, NUMBERS = "WORDS", ("X", "Y")
"""Blanks of a line: the rest of it, and numbers."""
SAY, THOUGHT = "say", "#"
"""How the answer and a thought begin."""

_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,8})(?:\.\d{1,17})?")
_TOOL = re.compile(r"([A-Za-z]\w*(?:\.\w+)*) (\{.*)", re.DOTALL)
_SHOWN = 60
"""Longest part of a wrong line in an error [characters]."""


@dataclass(frozen=True)
class CallLine:
    """One line that a policy may write, and the call that it is.

    Attributes:
        line: Its word and its blanks, such as `outline X Y`.
        tool: Name of the tool.
        about: Purpose, in a few words for the prompt.
        arguments: Arguments of the call; a blank stands where what was written comes, also within a list.
    """

    line: str
    tool: str
    about: str
    arguments: Mapping[str, Any]

    @property
    def verb(self) -> str:
        """The word that it begins with."""
        return self.line.partition(" ")[0]

    @property
    def blanks(self) -> list[str]:
        """Its blanks, in order."""
        return self.line.split(" ")[1:]

    def read(self, rest: str) -> ToolCall:
        """The call of what stands behind the word; one with a problem where that does not fit the blanks."""
        written = [rest] if self.blanks == [WORDS] else rest.split()
        if len(written) != len(self.blanks) or not all(written):
            return self._misfit(rest)
        values: dict[str, Any] = {}
        for blank, text in zip(self.blanks, written, strict=True):
            if blank in NUMBERS and not _NUMBER.fullmatch(text):
                return self._misfit(rest)
            values[blank] = text if blank == WORDS else float(text)
        return ToolCall(self.tool, _filled(self.arguments, values))

    def _misfit(self, rest: str) -> ToolCall:
        numbers = "; X and Y are numbers such as 0.25" if NUMBERS[0] in self.blanks else ""
        return ToolCall("", {}, f"the line must be `{self.line}`{numbers}, not {_shown(f'{self.verb} {rest}'.strip())}")

    def write(self, call: ToolCall) -> str | None:
        """The line of a call; None where it is another one."""
        values: dict[str, str] = {}
        if call.name != self.tool or not _fits(dict(self.arguments), call.arguments, values):
            return None
        return " ".join([self.verb, *(values[blank] for blank in self.blanks)])


def _filled(pattern: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(pattern, Mapping):
        return {key: _filled(part, values) for key, part in pattern.items()}
    if isinstance(pattern, list):
        return [_filled(part, values) for part in pattern]
    return values.get(pattern, pattern) if isinstance(pattern, str) else pattern


def _fits(pattern: Any, found: Any, values: dict[str, str]) -> bool:
    """Whether arguments are those of a line; what stands in its blanks goes into `values`."""
    if isinstance(pattern, dict):
        same = isinstance(found, Mapping) and found.keys() == pattern.keys()
        return same and all(_fits(part, found[key], values) for key, part in pattern.items())
    if isinstance(pattern, list):
        same = isinstance(found, list) and len(found) == len(pattern)
        return same and all(_fits(part, one, values) for part, one in zip(pattern, found, strict=True))
    if pattern == WORDS:
        values[WORDS] = found if isinstance(found, str) else ""
        return bool(values[WORDS]) and "\n" not in found and found == found.strip()
    if pattern in NUMBERS:
        number = isinstance(found, float) and math.isfinite(found)
        values[pattern] = repr(found) if number else ""
        return _NUMBER.fullmatch(values[pattern]) is not None
    return type(found) is type(pattern) and bool(found == pattern)


def read_lines(text: str, lines: Sequence[CallLine]) -> tuple[str, tuple[ToolCall, ...], str | None, str]:
    """(thought, calls, answer or None, problem of the turn as a whole) of a turn."""
    thoughts: list[str] = []
    calls: list[ToolCall] = []
    known = {line.verb: line for line in lines}
    rest = text.strip("\n ")
    while rest:
        line, _, after = rest.partition("\n")
        line = line.strip()
        word, _, behind = line.partition(" ")
        if word == SAY:
            answer = rest.strip()[len(SAY) :].strip()
            if not answer:
                return "\n".join(thoughts), (), None, f"the line must be `{SAY} {WORDS}`"
            if calls:
                problem = f"a turn may not hold both calls and `{SAY}`: wait for the results"
                return "\n".join(thoughts), (), None, problem
            return "\n".join(thoughts), (), answer, ""
        if line.startswith(THOUGHT):
            thoughts.append(line.removeprefix(THOUGHT).strip())
        elif line:
            calls.append(known[word].read(behind.strip()) if word in known else _by_name(line, lines))
        rest = after
    thought = "\n".join(thoughts).strip()
    return thought, tuple(calls), None, "" if calls else f"a turn needs a call or `{SAY} {WORDS}`"


def _by_name(line: str, lines: Sequence[CallLine]) -> ToolCall:
    found = _TOOL.fullmatch(line)
    if found is None:
        allowed = ", ".join(f"`{known.line}`" for known in lines)
        return ToolCall("", {}, f"a line must be {allowed}, `{SAY} {WORDS}` or `TOOL {{...}}`, not {_shown(line)}")
    read = json_call(f'{{"name": {json.dumps(found[1])}, "arguments": {found[2]}}}')
    return read if read.problem or isinstance(read.arguments, dict) else ToolCall("", {}, "arguments are a JSON object")


def _shown(line: str) -> str:
    return repr(line if len(line) <= _SHOWN else f"{line[: _SHOWN - 3]}...")


def write_lines(thought: str, calls: Sequence[ToolCall], answer: str | None, lines: Sequence[CallLine]) -> str:
    """A turn that `read_lines` reads back, if the answer is not empty."""
    written = [f"{THOUGHT} {line}".rstrip() for line in thought.split("\n")] if thought else []
    for call in calls:
        short = next((found for line in lines if (found := line.write(call)) is not None), None)
        written.append(short or f"{call.name} {json.dumps(call.arguments)}".replace("</", "<\\/"))
    return "\n".join([*written, *([] if answer is None else [f"{SAY} {answer}"])])
