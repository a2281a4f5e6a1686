"""Two runs turn by turn, and the first object that differs between them in one sentence.

A turn begins with a thought; of a policy that gives none, every call is a turn. What was called and what came of it
counts first; thoughts are compared only where all of that is the same.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from typing import Any

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.events import Event, Thought, ToolCalled
from toolhand.console.history.replay import RunReplay, as_json

MOST_TURNS = 500
"""Turns of each run that are laid side by side, twenty times a usual budget; the first difference is sought in all."""
_SHOWN = 80
"""Longest part of a value that the sentence repeats [characters]."""


@dataclass(frozen=True)
class TurnCall:
    """One call of a turn and what came of it.

    Attributes:
        name: Name of the tool.
        arguments: Arguments as they were written: a mapping, unless the policy wrote something else.
        result: Text of the result, or of the refusal; empty where the recording ends before.
        code: Error code; empty where there is none.
    """

    name: str
    arguments: Any
    result: str = ""
    code: str = ""


@dataclass
class RunTurn:
    """One turn of a run.

    Attributes:
        number: From 1.
        thought: Reasoning of the policy.
        calls: In order.
        said: Notes, questions, answers and refusals of whole turns, in order.
    """

    number: int
    thought: str = ""
    calls: list[TurnCall] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, ...]:
        """What turns are aligned by: the names of their tools."""
        return tuple(call.name for call in self.calls)


@dataclass(frozen=True)
class AlignedTurns:
    """Two turns side by side; None where the other run has none that fits.

    Attributes:
        left, right: A turn of each run.
        difference: Difference, one sentence; empty where nothing does.
    """

    left: RunTurn | None
    right: RunTurn | None
    difference: str


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side.

    Attributes:
        first_difference: One sentence; what is the same where nothing differs.
        same: Nothing differs.
        rows: At most MOST_TURNS turns of each.
        problems: Faults of the recordings.
    """

    first_difference: str
    same: bool
    rows: Sequence[AlignedTurns]
    problems: Sequence[str]


def compare(left: RunReplay, right: RunReplay, names: tuple[str, str] = ("A", "B")) -> Comparison:
    """Compare two recordings; `names` are those that the sentence uses."""
    found = _first(left, right, names)
    rows = _aligned([*islice(turns_of(left), MOST_TURNS)], [*islice(turns_of(right), MOST_TURNS)], names)
    problems = [run.problem for run in (left, right) if run.problem]
    text = found or "Both runs are the same in every turn: sentence, calls, results, thoughts and answer."
    return Comparison(text, not found, rows, problems)


def turns_of(run: RunReplay, first: int = 0, number: int = 1) -> Iterator[RunTurn]:
    """The turns of a recording, in order.

    Args:
        run: The recording.
        first: Step that the first of these turns begins with.
        number: Number of that turn.
    """
    begin = _begin_of_turns(run)
    turn = RunTurn(number)
    for index in range(first, len(run)):
        if run.packet(index)[0] == begin and (turn.thought or turn.calls or turn.said):
            yield turn
            turn = RunTurn(turn.number + 1)
        event = run.event(index)
        if event is not None:
            _take(turn, event)
    if turn.thought or turn.calls or turn.said:
        yield turn


def _begin_of_turns(run: RunReplay) -> str:
    """Topic of the steps that begin a turn."""
    looked_at = range(min(len(run), _LOOKED_AT))
    return Thought.topic if any(run.packet(index)[0] == Thought.topic for index in looked_at) else ToolCalled.topic


def _same_begin(left: RunReplay, right: RunReplay) -> tuple[int, int]:
    """(step, number) of the turn in which the recordings begin to differ, found without reading what is the same."""
    begin = _begin_of_turns(left)
    if begin != _begin_of_turns(right):
        return 0, 1
    step, begun = 0, int(min(len(left), len(right)) > 1 and left.packet(1)[0] != begin)
    for index in range(1, min(len(left), len(right))):
        packet = left.packet(index)
        if packet != right.packet(index):
            break
        if packet[0] == begin:
            step, begun = index, begun + 1
    return (step, begun) if begun > 1 else (0, 1)


_LOOKED_AT = 200
"""Steps in which a policy that thinks has had a thought."""


def _take(turn: RunTurn, event: Event) -> None:
    call = event.of_call
    if isinstance(event, Thought):
        turn.thought = event.text
    elif isinstance(event, ToolCalled):
        turn.calls.append(TurnCall(event.call.name, event.call.arguments))
    elif call is not None:
        _answer(turn, call, event.words, event.code if event.failed else "")
    else:
        said = f"{event.code or 'not run'}: " if event.kind == "refusal" else ""
        turn.said.append(f"{said}{event.words}")


def _answer(turn: RunTurn, call: ToolCall, text: str, code: str) -> None:
    """Note what came of a call, which was noted before unless it was refused."""
    done = TurnCall(call.name, call.arguments, text, code)
    if turn.calls and turn.calls[-1].name == call.name and not turn.calls[-1].result:
        turn.calls[-1] = TurnCall(call.name, turn.calls[-1].arguments, text, code)
    else:
        turn.calls.append(done)


def _first(left: RunReplay, right: RunReplay, names: tuple[str, str]) -> str:
    if left.command != right.command:
        return f"The sentences differ: {_both(left.command, right.command, names)}."
    thoughts, same = "", _same_begin(left, right)
    for one, other in zip_longest(turns_of(left, *same), turns_of(right, *same)):
        if found := _difference(one, other, names):
            return found
        if not thoughts and one.thought != other.thought:
            thoughts = f"Calls and results are the same; the thoughts of turn {one.number} differ: "
            thoughts += f"{_both(*_from_difference(one.thought, other.thought), names)}."
    return thoughts


def _difference(one: RunTurn | None, other: RunTurn | None, names: tuple[str, str]) -> str:
    if one is None or other is None:
        return _ends_earlier(one or other, names[0] if one is None else names[1], names[1] if one is None else names[0])
    for number, (mine, theirs) in enumerate(zip_longest(one.calls, other.calls), 1):
        if found := _call_difference(mine, theirs, names):
            return f"Turn {one.number}, call {number}{found}"
    for mine, theirs in zip_longest(one.said, other.said):
        if mine != theirs:
            if mine is None or theirs is None:
                who = names[0] if theirs is None else names[1]
                return f"Turn {one.number}: only {who} says {_shown(mine or theirs or '')}."
            return f"Turn {one.number}: the words differ: {_both(*_from_difference(mine, theirs), names)}."
    return ""


def _ends_earlier(turn: RunTurn | None, ended: str, other: str) -> str:
    assert turn is not None
    what = f"calls {turn.calls[0].name[:_SHOWN]}" if turn.calls else "goes on"
    return f"{ended} ends after turn {turn.number - 1}; {other} {what} in turn {turn.number}."


def _call_difference(mine: TurnCall | None, theirs: TurnCall | None, names: tuple[str, str]) -> str:
    """The sentence after "Turn 2, call 1"; empty where nothing differs."""
    if mine is None or theirs is None:
        call, who = (theirs, names[1]) if mine is None else (mine, names[0])
        return f": only {who} makes it, {call.name[:_SHOWN]}." if call else ""
    if mine.name != theirs.name:
        return f": {names[0]} calls {mine.name[:_SHOWN]}, {names[1]} calls {theirs.name[:_SHOWN]}."
    named = f" ({mine.name[:_SHOWN]})"
    if as_json(mine.arguments) != as_json(theirs.arguments):
        return f"{named}: {_argument_difference(mine.arguments, theirs.arguments, names)}."
    if mine.code != theirs.code:
        ends = [
            f"{name} {f'fails with {call.code}' if call.code else 'succeeds'}"
            for name, call in zip(names, (mine, theirs), strict=True)
        ]
        return f"{named}: {', '.join(ends)}."
    if mine.result != theirs.result:
        return f"{named}: the results differ: {_both(*_from_difference(mine.result, theirs.result), names)}."
    return ""


def _argument_difference(mine: Any, theirs: Any, names: tuple[str, str]) -> str:
    if not (isinstance(mine, Mapping) and isinstance(theirs, Mapping)):
        return f"the arguments differ: {_both(as_json(mine), as_json(theirs), names)}"
    for name in [*mine, *(key for key in theirs if key not in mine)]:
        if name not in mine or name not in theirs:
            return f"only {names[0] if name in mine else names[1]} gives the argument {str(name)[:_SHOWN]}"
        one, other = as_json(mine[name]), as_json(theirs[name])
        if one != other:
            if isinstance(mine[name], str) and isinstance(theirs[name], str):
                one, other = mine[name], theirs[name]
            return f"the argument {str(name)[:_SHOWN]} differs: {_both(*_from_difference(one, other), names)}"
    return "the order of the arguments differs"


def _from_difference(one: str, other: str) -> tuple[str, str]:
    """Both texts from shortly before their first difference, where they are long."""
    same = next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    begin = max(0, same - _SHOWN // 4) if max(len(one), len(other)) > _SHOWN else 0
    return (f"…{one[begin:]}", f"…{other[begin:]}") if begin else (one, other)


def _both(one: str, other: str, names: tuple[str, str]) -> str:
    return f"{_shown(one)} in {names[0]}, {_shown(other)} in {names[1]}"


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return f"“{line if len(line) <= _SHOWN else line[: _SHOWN - 1] + '…'}”"


def _aligned(left: Sequence[RunTurn], right: Sequence[RunTurn], names: tuple[str, str]) -> list[AlignedTurns]:
    """Turns that call the same tools stand side by side; the others as far as they go."""
    rows: list[AlignedTurns] = []
    matcher = difflib.SequenceMatcher(None, [t.key for t in left], [t.key for t in right], autojunk=False)
    for _, a0, a1, b0, b1 in matcher.get_opcodes():
        for one, other in zip_longest(left[a0:a1], right[b0:b1]):
            if one is None or other is None:
                difference = f"Only in {names[0] if other is None else names[1]}."
            else:
                difference = _difference(one, other, names)
                if not difference and one.thought != other.thought:
                    difference = "Only the thoughts differ."
            rows.append(AlignedTurns(one, other, difference))
    return rows
