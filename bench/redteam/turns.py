"""Random turns: what a model could write with a few characters wrong, through every protocol's parser.

No turn may raise an exception, and no call may come out of one that is not written in it, well formed, word by word.
"""

from __future__ import annotations

import ast
import contextlib
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from toolhand.agent_node.call_lines import WORDS
from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.protocol import ParsedTurn, Protocol, load_protocol, protocol_names

TAGS = ("think", "tool_call", "answer", "action", "analy", "ans", "tool_response", "image 3")
PIECES = (
    *(f"<{tag}>" for tag in TAGS), *(f"</{tag}>" for tag in TAGS), r"\boxed{", "}", "{", '"', "'", "\\", "[", "]", ",",
    ":", "(", ")", "=", "\n", "\x00", "\ud800", "\u202e", "NaN", "-Infinity", "1e999", '"name"', '"arguments"', "*",
    "**", "lambda: 0", "<|im_end|>", "null", "#", ";", "f'{x}'", "😀", "<TOOL_CALL>", "< tool_call>", "</tool_call >",
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    0,
    0.5,
    "red box",
    "$mask",
    [0.5, 0.5],
    {"a": [1]},
    None,
    True,
    "</tool_call>",
    r"\boxed{1}",
)


@dataclass
class ParsedTurns:
    """What came of many turns.

    Attributes:
        n: Turns, each parsed by every protocol.
        outcomes: How often a parsed turn was a problem, held calls, a malformed call, an answer, or reasoning alone.
        violations: A sentence for everything that should not have been.
        wall_s: All of them [s].
    """

    n: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    wall_s: float = 0.0


def fuzz_turns(n: int, seed: int) -> ParsedTurns:
    """Parse n turns by every protocol."""
    rng, result = np.random.default_rng(seed), ParsedTurns()
    protocols = [load_protocol(name) for name in protocol_names()]
    began = time.monotonic()
    for _ in range(n):
        writer = protocols[rng.integers(len(protocols))]
        text = mutated(rng, _turn(rng, writer))
        result.n += 1
        for protocol in protocols:
            try:
                parsed = protocol.parse(text)
            except Exception as error:  # which is what must not happen
                result.violations.append(f"{protocol.name} raised {type(error).__name__} for {text[:200]!r}")
                continue
            result.outcomes[_outcome(parsed)] += 1
            result.violations += [
                f"{protocol.name}: {fault}: {text[:300]!r}" for fault in faults(protocol, text, parsed)
            ]
    result.wall_s = time.monotonic() - began
    return result


def _turn(rng: np.random.Generator, protocol: Protocol) -> str:
    calls = []
    for _ in range(rng.integers(0, 3)):
        names = [f"a{k}" for k in range(rng.integers(0, 4))]
        calls.append(ToolCall("robot.execute_grasp", {name: _VALUES[rng.integers(len(_VALUES))] for name in names}))
    answer = None if rng.random() < 0.6 else "Done."
    return protocol.render_turn("I look.", calls, answer)


def mutated(rng: np.random.Generator, text: str) -> str:
    """The text with up to four pieces inserted, cut out, doubled, moved or replaced."""
    for _ in range(rng.integers(0, 5)):
        a, b = sorted(rng.integers(0, len(text) + 1, 2))
        piece = PIECES[rng.integers(len(PIECES))]
        kind = rng.integers(5)
        if kind == 0:
            text = text[:a] + piece + text[a:]
        elif kind == 1:
            text = text[:a] + text[min(b, a + 12) :]
        elif kind == 2:
            text = text[:b] + text[a:b] + text[b:]
        elif kind == 3:
            text = text[:a] + text[b:] + text[a:b]
        else:
            text = text[:a] + piece + text[a + len(piece) :]
    return text


def _outcome(parsed: ParsedTurn) -> str:
    if parsed.problem:
        return "problem"
    if parsed.calls:
        return "malformed call" if any(call.problem for call in parsed.calls) else "calls"
    return "reasoning" if parsed.answer is None else "answer"


def faults(protocol: Protocol, text: str, parsed: ParsedTurn) -> Iterator[str]:
    """What is wrong with how a turn was parsed."""
    if parsed.problem and (parsed.calls or parsed.answer is not None):
        yield "a malformed turn has calls or an answer"
    if parsed.calls and parsed.answer is not None:
        yield "a turn has calls and an answer"
    if protocol.calls_in_a_turn != "all" and len(parsed.calls) > 1:
        yield "more than one call would be run"
    runnable = [call for call in parsed.calls if not call.problem]
    if not runnable:
        return
    written = list(_calls_in(protocol, text))
    for call in runnable:
        if (call.name, call.arguments) not in written:
            yield f"a call that is not written: {call.name} {call.arguments!r}"


def _calls_in(protocol: Protocol, text: str) -> Iterator[tuple[str, Any]]:
    """(name, arguments) of everything between an opening tag of a call and the next closing one, read once more.

    Where each line is a call, of every line.
    """
    if protocol.syntax == "lines":
        yield from _lines_in(protocol, text)
        return
    opening, closing = f"<{protocol.call}>", f"</{protocol.call}>"
    for start in (match.end() for match in re.finditer(re.escape(opening), text)):
        content, end, _ = text[start:].partition(closing)
        if end:
            yield from _read(protocol, content)


def _lines_in(protocol: Protocol, text: str) -> Iterator[tuple[str, Any]]:
    for line in map(str.strip, text.split("\n")):
        name, _, written = line.partition(" ")
        for short in protocol.lines:
            if short.verb == name:
                values = [written.strip()] if short.blanks == [WORDS] else written.split()
                filled = json.dumps(dict(short.arguments))
                for blank, value in zip(short.blanks, values, strict=False):
                    filled = filled.replace(f'"{blank}"', json.dumps(value) if blank == WORDS else value)
                with contextlib.suppress(ValueError):
                    yield short.tool, json.loads(filled)
        with contextlib.suppress(ValueError, RecursionError):
            yield name, json.loads(written)


def _read(protocol: Protocol, content: str) -> Iterator[tuple[str, Any]]:
    try:
        if protocol.syntax == "json":
            found = json.loads(content)
            yield found["name"], found.get("arguments", {})
            return
        call = ast.parse(content.strip(), mode="eval").body
        if isinstance(call, ast.Call):
            values = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
            yield ast.unparse(call.func), json.loads(json.dumps(values))
    except (ValueError, TypeError, KeyError, SyntaxError, RecursionError, AttributeError):
        return
