"""SpaceTools' turn format: `<think>`, `<tool_call>`, `<answer>`. Malformed output is never repaired."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tool_nodes.results import ToolResult

SYSTEM_PROMPT = """You are an expert in 3D spatial reasoning for robotics.
Given a spatial reasoning task, **follow this process:**
1. First, think about the reasoning process as an internal monologue the first time you receive the question, and \
every time you receive new information. Your reasoning process MUST be enclosed within <think></think> tags.
2. After thinking, if you need additional information to answer the question, or conduct external control, call the \
appropriate tool.
3. When you receive a tool response, use that information to continue your analysis.
4. Once no further visual analysis or tool calls are needed, you **MUST** provide your final answer inside \
<answer></answer> tags without detailed illustrations.
Example answer format: <answer><Your final answer here></answer>
# Tools
You may call one or more functions to assist with the user query.
You are provided with function signatures within <tools></tools> tags:
<tools> {tools} </tools>
For each function call, return a JSON object with function name and arguments within <tool_call></tool_call> tags:
<tool_call> {{"name": <func-name>, "arguments": <args-json-object>}} </tool_call>"""
"""The system prompt of SpaceTools, figure 3 of its supplement."""

_TAG = re.compile(r"<(/?)(think|tool_call|answer)>")


@dataclass(frozen=True)
class ToolCall:
    """One requested call; `problem` says why it cannot be run (malformed), else it is empty."""

    name: str
    arguments: Any
    problem: str = ""


@dataclass(frozen=True)
class ParsedTurn:
    """One assistant turn.

    Attributes:
        thought: Text of all `<think>` blocks.
        calls: Calls in the order they were written, malformed ones included.
        answer: Text of the answer, or None. A turn with calls has no answer: it would precede their results.
        problem: What is wrong with the turn as a whole, or empty.
    """

    thought: str
    calls: tuple[ToolCall, ...]
    answer: str | None
    problem: str = ""


def system_prompt(schemas: Sequence[Mapping[str, Any]]) -> str:
    """Figure 3 with the tools' JSON schemas, one a line."""
    return SYSTEM_PROMPT.format(tools="\n".join(json.dumps(schema) for schema in schemas))


def _refuse_constant(token: str) -> float:
    raise ValueError(f"{token} is not JSON")


def _finite(token: str) -> float:
    number = float(token)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is given twice")
    return found


def _parse_call(text: str) -> ToolCall:
    try:
        call = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        return ToolCall("", {}, f"the tool call is not valid JSON: {error}")
    if not isinstance(call, dict) or not isinstance(call.get("name"), str) or set(call) - {"name", "arguments"}:
        return ToolCall("", {}, 'a tool call must be {"name": <func-name>, "arguments": <args-json-object>}')
    return ToolCall(call["name"], call.get("arguments", {}))


def _blocks(text: str) -> tuple[list[tuple[str, str]], str]:
    """(kind, content) of every closed block and the kind of the block left open, or "".

    One pass: backtracking would take minutes over the text of a model that repeats an opening tag.
    """
    blocks, opened, start = [], "", 0
    for tag in _TAG.finditer(text):
        closing, kind = tag.groups()
        if not opened and not closing:
            opened, start = kind, tag.end()
        elif opened == kind and closing:
            blocks.append((kind, text[start : tag.start()]))
            opened = ""
    return blocks, opened


def parse_turn(text: str) -> ParsedTurn:
    """Parse one assistant turn; never raises."""
    thoughts, calls, answers = [], [], []
    blocks, unclosed = _blocks(text)
    for kind, content in blocks:
        if kind == "think":
            thoughts.append(content.strip())
        elif kind == "tool_call":
            calls.append(_parse_call(content.strip()))
        else:
            answers.append(content.strip())
    problem = ""
    if unclosed:
        problem = f"the <{unclosed}> tag is not closed"
    elif not calls and not answers:
        problem = "a turn needs a <tool_call> or an <answer>"
    elif len(answers) > 1:
        problem = "a turn may hold only one <answer>"
    elif calls and answers:
        problem = "a turn may not hold both <tool_call> and <answer>: wait for the results"
    if problem:
        return ParsedTurn("\n".join(thoughts), (), None, problem)
    return ParsedTurn("\n".join(thoughts), tuple(calls), answers[0] if answers else None)


def render_response(text: str, image_index: int | None) -> str:
    """One tool response; a picture shows as `<image K>`."""
    picture = "" if image_index is None else f" <image {image_index}>"
    return f"<tool_response>{text}{picture}</tool_response>"


def render_result(result: ToolResult, image_index: int | None) -> str:
    """The response of a finished call."""
    return render_response(result.text, image_index)
