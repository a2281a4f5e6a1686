"""Tool calls and answers as the papers write them, one small parser for each form.

Nothing here raises for what a model wrote, and nothing is repaired or evaluated: a call is either exactly what its form
says, or it carries the reason why it cannot be run.

| paper | thought | call | answer |
|---|---|---|---|
| SpaceTools (figure 3) | `<think>` | `<tool_call>{"name": ..., "arguments": {...}}</tool_call>` | `<answer>` |
| E-ViC (figure 8) | free text | `<tool_call>{"name": ..., "arguments": {...}}</tool_call>` | `\\boxed{}` |
| PERIA (figure 5) | `<think>` | `<action>{"name": ..., "arguments": {...}}</action>` | `<answer>` |
| LAST (figure 6) | `<analy>` | `<action>EstimateSize(img_path="image-0", text_labels=["lamp"])</action>` | `<ans>` |
"""

from __future__ import annotations

import ast
import json
import math
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MAX_CALL_LENGTH = 20_000
"""Characters of a call that is written as a Python expression; its parser's memory grows with the text."""

_SHOWN = 40
"""Characters before a fault that are quoted [-]."""
_JSON_STRING = r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"'
_NATIVE = re.compile(rf'\{{(?:"name": ({_JSON_STRING}), )?"arguments": (.*)\}}', re.DOTALL)
"""A call that a server has written in a form of its own, as `toolhand.agent_node.policies.chat.canonical` says it."""
_BRACES = re.compile(r"\\boxed\s*\{|\\.|[{}]", re.DOTALL)


@dataclass(frozen=True)
class ToolCall:
    """One requested call; `problem` says why it cannot be run (malformed), else it is empty."""

    name: str
    arguments: Any
    problem: str = ""


def blocks(text: str, tags: Sequence[str]) -> tuple[list[tuple[str, str]], str]:
    """(tag, content) of every closed `<tag>...</tag>` in order, and the tag of the block left open, or "".

    Tags inside an open block are part of its content. One pass: backtracking would take minutes over the text of a
    model that repeats an opening tag.
    """
    found, opened, start = [], "", 0
    for tag in re.finditer(rf"<(/?)({'|'.join(map(re.escape, tags))})>", text):
        closing, name = tag.groups()
        if not opened and not closing:
            opened, start = name, tag.end()
        elif opened == name and closing:
            found.append((name, text[start : tag.start()]))
            opened = ""
    return found, opened


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


def _strict(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_unique)


def as_written(text: str) -> tuple[str, str]:
    """(name or "", arguments in the model's own words) of a call of a server; the text itself of any other."""
    found = _NATIVE.fullmatch(text)
    name, words = found.groups() if found else (None, text)
    return (json.loads(name) if name else ""), words.replace("\\u003c", "<")


def _fault(text: str) -> str:
    """What is wrong with a text that should be JSON, and the words before the place; empty if nothing."""
    try:
        _strict(text)
    except (ValueError, RecursionError) as error:
        return _quoted(error)
    return ""


def _quoted(error: ValueError | RecursionError) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return str(error)
    before = error.doc[max(0, error.pos - _SHOWN) : error.pos].strip()
    return f"{error.msg} after {before}" if before else f"{error.msg} at its beginning"


def json_call(text: str) -> ToolCall:
    r"""A call written as `{"name": <function-name>, "arguments": <args-json-object>}`, on one line or on many.

    A key given twice, NaN, Infinity and numbers beyond the range of a float are not JSON here. A control character
    inside a string must be escaped. An escape means what JSON says it means: PERIA's `"\boxed{0,0,500,500}"`, written
    with one backslash, arrives as a backspace (U+0008) and `oxed{0,0,500,500}`; the tool that reads it decides.
    """
    try:
        call = _strict(text)
    except (ValueError, RecursionError) as error:
        return ToolCall("", {}, f"the tool call is not valid JSON: {_fault(as_written(text)[1]) or _quoted(error)}")
    if not isinstance(call, dict) or not isinstance(call.get("name"), str) or set(call) - {"name", "arguments"}:
        return ToolCall("", {}, 'a tool call must be {"name": <func-name>, "arguments": <args-json-object>}')
    return ToolCall(call["name"], call.get("arguments", {}))


def python_call(text: str) -> ToolCall:
    """A call written as LAST's appendix A does, e.g. `ZoomCrop(img_path="image-0", box=[100, 200, 300, 400])`.

    The text is parsed, never run: one name (dots allowed) and named arguments whose values are literals, that is
    strings, finite numbers, True, False, None, and lists, tuples and dicts of these. Tuples arrive as lists.
    """
    form = 'a tool call must be Name(argument=value, ...), e.g. EstimateDepth(img_path="image-0")'
    if len(text) > MAX_CALL_LENGTH:
        return ToolCall("", {}, f"the tool call is longer than {MAX_CALL_LENGTH} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an escape that means nothing is the model's affair
            call = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ToolCall("", {}, form)
    if not isinstance(call, ast.Call):
        return ToolCall("", {}, form)
    name = _dotted(call.func)
    if not name:
        return ToolCall("", {}, form)
    if call.args or any(keyword.arg is None for keyword in call.keywords):
        return ToolCall("", {}, "every argument of the tool call must be named")
    try:
        return ToolCall(name, _unique([(str(keyword.arg), _literal(keyword.value)) for keyword in call.keywords]))
    except ValueError as error:
        return ToolCall("", {}, f"the tool call cannot be read: {error}")


def boxed_answers(text: str) -> list[str]:
    r"""The contents of every outermost `\boxed{...}`, stripped, in order; braces inside are matched, `\{` is a sign.

    One that is never closed is none.
    """
    answers: list[str] = []
    opened: list[int] = []  # where the content of a box begins; -1 for any other brace
    boxes = 0
    for match in _BRACES.finditer(text):
        sign = match.group()
        if sign == "{":
            opened.append(-1)
        elif sign.startswith("\\boxed"):
            opened.append(match.end())
            boxes += 1
        elif sign == "}" and opened:
            start = opened.pop()
            boxes -= start >= 0
            if start >= 0 and not boxes:
                answers.append(text[start : match.start()].strip())
    return answers


def _dotted(node: ast.expr) -> str:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = _literal(node.operand)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return -value
    elif isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float, type(None))):
        if isinstance(node.value, float) and not math.isfinite(node.value):
            raise ValueError("a number is too large")
        return node.value
    elif isinstance(node, (ast.List, ast.Tuple)):
        return [_literal(item) for item in node.elts]
    elif isinstance(node, ast.Dict):
        keys = [key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
        if len(keys) == len(node.keys):
            return _unique(list(zip(keys, map(_literal, node.values), strict=True)))
    raise ValueError("values must be strings, numbers, True, False, None, lists or dicts of these")
