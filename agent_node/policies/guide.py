r"""What a model may write next, as a grammar that its server holds it to (guided decoding, structured outputs).

The grammar is EBNF in the form that llama.cpp calls GBNF and that xgrammar reads, so one text serves vLLM, SGLang and
llama.cpp's servers. It is made of the protocol and of the tools' JSON schemas: a thought, and then calls of tools that
there are with arguments of their types, or an answer. Where a leading policy is given it admits the calls or the answer
of that policy alone, and the thought is all that the model chooses.

A grammar knows forms, not meanings: bounds of numbers are kept to the number of their digits, and no grammar knows
which variables and images a conversation has. The toolbox judges those, as ever.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from toolhand.agent_node.call_lines import NUMBERS, SAY, WORDS
from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.policies.chat import ToolNames
from toolhand.agent_node.policy import Message, Policy
from toolhand.agent_node.protocol import BOXED, Protocol
from toolhand.tool_nodes.results import ErrorCode, ToolError

_MOST_CALLS = 8
"""Most calls of one turn, where a protocol allows several [-]."""
_DIGITS = 9
"""Most digits of a number without bounds, and behind a decimal point [-]."""

_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_HEX = "[0-9a-fA-F]"
_UNICODE = f'"u" ([0-9a-cA-CefEF] {_HEX}{{3}} | [dD] [0-7] {_HEX}{{2}})'
"""Of an escape; halves of a surrogate pair are no character."""
_PATTERNS = {
    r"^\$[A-Za-z_]\w*$": ("variable", '"$" [A-Za-z_] [A-Za-z0-9_]{0,63}'),
    r"^image-(0|[1-9][0-9]{0,5})$": ("image", '"image-" ("0" | [1-9] [0-9]{0,5})'),
    r"^\\boxed\{[^{}]*\}$": ("boxed", r'"\\\\boxed{" [^{}"\\<\u0000-\u001f]{0,200} "}"'),
}
"""Regular expression of our schemas -> a rule, and what it admits between quotation marks; another one is any text."""


def quoted(text: str) -> str:
    """A text as a grammar spells it."""
    return f'"{text.translate(_ESCAPED)}"'


@dataclass
class ArgumentRules:
    """Rules of a grammar for values of JSON schemas.

    Attributes:
        python: Values are written as Python's literals, not as JSON.
        longest: Longest string [characters].
        rules: Name -> right side, of those that were needed.
    """

    python: bool
    longest: int
    rules: dict[str, str] = field(default_factory=dict)

    def value(self, schema: Mapping[str, Any]) -> str:
        """An expression for a value; what the schema says in a way that is not known here admits any value."""
        if "enum" in schema or "const" in schema:
            return _either([quoted(self._rendered(value)) for value in schema.get("enum", [schema.get("const")])])
        if "anyOf" in schema:
            return _either([self.value(part) for part in schema["anyOf"]])
        match schema.get("type"):
            case "string":
                return self._string(schema)
            case "integer" | "number" as kind:
                return _number(schema, fraction=kind == "number")
            case "boolean":
                return _either([quoted(self._rendered(value)) for value in (True, False)])
            case "null":
                return quoted(self._rendered(None))
            case "array":
                return self._array(schema)
            case "object" if "properties" in schema:
                return f'"{{" {self.members(schema)} "}}"'
        return self._anything()

    def members(self, schema: Mapping[str, Any], form: str = '"{}": ') -> str:
        """The properties of an object, separated by commas: those that must be there, then those that may be."""
        required = set(schema.get("required", ()))
        made = {name: f"{quoted(form.format(name))} {self.value(part)}" for name, part in schema["properties"].items()}
        return _listed(
            [one for name, one in made.items() if name in required],
            [one for name, one in made.items() if name not in required],
        )

    def _string(self, schema: Mapping[str, Any]) -> str:
        if (pattern := schema.get("pattern")) in _PATTERNS:
            name, inner = _PATTERNS[pattern]
            self.rules[name] = rf'"\"" {inner} "\""'
            return name
        # "</" would end the tag that the call stands in.
        escapes = _either([r'["\\bfnrt]', *([] if self.python else ['"/"']), _UNICODE])
        self.rules["sign"] = rf'[^"\\<\u0000-\u001f] | "<" [^/<"\\|\u0000-\u001f] | "<"? "\\" {escapes}'
        least = schema.get("minLength", 0)
        most = max(least, min(schema.get("maxLength", self.longest), self.longest))
        return rf'"\"" sign{{{least},{most}}} "\""'

    def _array(self, schema: Mapping[str, Any]) -> str:
        item = self.value(schema.get("items", {}))
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        if most == 0:
            return '"[]"'
        more = f'(", " {item}){{{max(least - 1, 0)},{most - 1 if most else ""}}}'
        return f'"[" {item} {more} "]"' if least else f'"[" ({item} {more})? "]"'

    def _anything(self) -> str:
        text, number = self._string({}), _number({}, fraction=True)
        words = _either([quoted(self._rendered(value)) for value in (True, False, None)])
        several = '"[" (anything (", " anything)*)? "]" | "{" (pair (", " pair)*)? "}"'
        self.rules |= {"pair": f'{text} ": " anything', "anything": f"{text} | {number} | {words} | {several}"}
        return "anything"

    def _rendered(self, value: Any) -> str:
        return repr(value) if self.python else json.dumps(value)


def _listed(needed: Sequence[str], free: Sequence[str]) -> str:
    """What must be there and what may be, in this order, with commas between."""
    if needed:
        return " ".join([' ", " '.join(needed), *(f'(", " {rule})?' for rule in free)])
    starts = [_listed(free[k : k + 1], free[k + 1 :]) for k in range(len(free))]
    return f"{_either(starts)}?" if starts else '""'


def _either(choices: Sequence[str]) -> str:
    return f"({' | '.join(choices)})"


def _number(schema: Mapping[str, Any], fraction: bool) -> str:
    """A number of no more digits before the point than its bounds have; a power of ten is kept exactly."""
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    bounds = [abs(bound) for bound in (low, schema.get("maximum")) if bound is not None]
    most = int(max(bounds)) if schema.get("maximum") is not None and low is not None else 10**_DIGITS - 1
    digits = len(str(most))
    sign = '"-"? ' if low is None or low < 0 else ""
    behind = f' ("." [0-9]{{1,{_DIGITS}}})?' if fraction else ""
    if most == 10 ** (digits - 1):
        whole = f'("0" | [1-9] [0-9]{{0,{digits - 2}}})' if digits > 1 else '"0"'
        round_one = f'"{most}" (".0")?' if fraction else f'"{most}"'
        return f"{sign}({whole}{behind} | {round_one})"
    return f'{sign}("0" | [1-9] [0-9]{{0,{digits - 1}}}){behind}'


class Guide:
    """Makes the grammar of each turn.

    Args:
        protocol: How the turn is written. With `native` calls have the form of Hermes and Qwen 2.5 and 3, which a
            server's parser of that name takes out of the words.
        schemas: JSON schemas of the tools.
        longest: Longest thought, answer, and string of a call [characters].
        leader: Its calls or its answer are the only ones; None admits all.

    Raises:
        ToolError: INVALID_ARGUMENT for a tool whose name a server cannot take.
    """

    def __init__(
        self, protocol: Protocol, schemas: Sequence[Mapping[str, Any]], longest: int, leader: Policy | None = None
    ) -> None:
        self._protocol = protocol
        self._native = protocol.native
        self._names = ToolNames(schemas if self._native else ())
        self._longest = longest
        self._leader = leader
        self._of_tools = self._grammar(*self._any_calls(schemas))

    def grammar(self, conversation: Sequence[Message]) -> str:
        """What the next turn may be.

        Raises:
            ToolError: INTERNAL where the leader's own turn is malformed, and whatever the leader raises.
        """
        if self._leader is None:
            return self._of_tools
        turn = self._protocol.parse(self._leader.respond(conversation).text)
        if problem := turn.problem or next((call.problem for call in turn.calls if call.problem), ""):
            raise ToolError(ErrorCode.INTERNAL, f"The leading policy {self._leader.name} wrote a bad turn: {problem}.")
        return self._grammar(quoted(self._rendered(turn.calls, turn.answer)), {})

    def _grammar(self, rest: str, rules: dict[str, str]) -> str:
        protocol = self._protocol
        if protocol.syntax == "lines":
            thought = rf'"# " [^\n]{{0,{self._longest}}} "\n"'
        elif protocol.thought:
            thought = f'"<{protocol.thought}>" [^<]{{0,{self._longest}}} "</{protocol.thought}>" "\\n"?'
        else:
            thought = f"[^<\\\\]{{0,{self._longest}}}"
        root = f"thought {rest}" if protocol.thought_before_call else f"thought? {rest}"
        return "\n".join(f"{name} ::= {body}" for name, body in ({"root": root, "thought": thought} | rules).items())

    def _any_calls(self, schemas: Sequence[Mapping[str, Any]]) -> tuple[str, dict[str, str]]:
        """What follows the thought without a leading policy, and the rules that it needs."""
        protocol, longest = self._protocol, self._longest
        arguments = ArgumentRules(protocol.syntax == "python", longest)
        tools = {f"tool{k}": self._tool(schema["function"], arguments) for k, schema in enumerate(schemas)}
        first = r"[^<\u0000-\u0020\u007f-\u00a0]"  # a blank answer is none
        words = f"{first} [^<]{{0,{longest}}}"
        if self._native:
            answer = words
        elif protocol.syntax == "lines":
            return self._any_lines(schemas, tools | arguments.rules)
        elif protocol.answer == BOXED:
            answer = rf'"\\boxed{{" [^<\\{{}} ] [^<\\{{}}]{{0,{longest}}} "}}"'
        else:
            answer = f'"<{protocol.answer}>" {words} "</{protocol.answer}>"'
        if not tools:
            return "answer", {"answer": answer}
        begin, end = self._tags()
        call = f"{quoted(begin)} {_either(list(tools))} {quoted(end)}"
        more = f' ("\\n" call){{0,{_MOST_CALLS - 1}}}' if protocol.calls_in_a_turn == "all" else ""
        return "(calls | answer)", {"calls": f"call{more}", "call": call, "answer": answer} | tools | arguments.rules

    def _any_lines(self, schemas: Sequence[Mapping[str, Any]], rules: dict[str, str]) -> tuple[str, dict[str, str]]:
        """The same where each line is a call: those of the protocol's page whose tools there are, and any tool."""
        offered = {schema["function"]["name"] for schema in schemas}
        words = rf"[^\u0000-\u0020\u007f-\u00a0] [^\u0000-\u001f]{{0,{self._longest}}}"
        blanks = {WORDS: f"({words})"} | dict.fromkeys(NUMBERS, _number({"minimum": 0, "maximum": 1}, fraction=True))
        short = {
            f"line{k}": " ".join([quoted(line.verb), *(f'" " {blanks[blank]}' for blank in line.blanks)])
            for k, line in enumerate(self._protocol.lines)
            if line.tool in offered
        }
        tools = [name for name in rules if name.startswith("tool")]
        answer = {"answer": f"{quoted(f'{SAY} ')} {words}"}
        if not tools:
            return "answer", answer
        calls = {"calls": f'call ("\\n" call){{0,{_MOST_CALLS - 1}}}', "call": _either([*short, *tools])}
        return "(calls | answer)", calls | short | answer | rules

    def _tool(self, function: Mapping[str, Any], arguments: ArgumentRules) -> str:
        parameters, name = {"properties": {}} | function["parameters"], function["name"]
        if self._protocol.syntax == "lines":
            return " ".join([quoted(f"{name} {{"), arguments.members(parameters), quoted("}")])
        if self._protocol.syntax == "python":
            return " ".join([quoted(f"{name}("), arguments.members(parameters, "{}="), quoted(")")])
        opened = json.dumps({"name": self._names.sent(name) if self._native else name, "arguments": {}})[:-2]
        return " ".join([quoted(opened), arguments.members(parameters), quoted("}}")])

    def _tags(self) -> tuple[str, str]:
        """Around a call; SGLang's parser of native calls wants the line breaks that Qwen's chat template has."""
        call, between = self._protocol.call, "\n" if self._native else ""
        return f"<{call}>{between}", f"{between}</{call}>"

    def _rendered(self, calls: Sequence[ToolCall], answer: str | None) -> str:
        """Calls and answer as the model is to write them."""
        if not self._native:
            return replace(self._protocol, thought="").render_turn("", calls, answer)
        begin, end = self._tags()
        bodies = [json.dumps({"name": self._names.sent(call.name), "arguments": call.arguments}) for call in calls]
        written = [begin + body.replace("</", "<\\/") + end for body in bodies]
        return "\n".join([*written, *([answer] if answer else [])])
