"""Tool calls that a server streams in pieces, in the form of chat completions, put together again.

A piece names its call by an index, an id and a function's name, and servers leave out or repeat any of the three:
OpenAI gives id and name once and the index always; Ollama and Dynamo number every call 0 and give each its own id;
others repeat id or name in each piece, give all calls one id, or no index. So none of the three decides alone.

| a piece | is part of |
|---|---|
| with an id that is known | the call of that id; where several have it, that of the same index |
| with a new id and a name | a new call, whatever its index |
| with a new id alone | the last call of its index (of all, without an index), unless that is whole |
| with another name than the call has that index or id would give it | a new call |
| with the same name again | that call, or a new one where the call is whole and the piece has arguments |
| of a call that has an id and is whole, with the same arguments again | that call, once |
| the same with other arguments | neither: one id is one call |
| without a function | nothing |
| with neither id nor name | the last call of its index; without an index, the last call |

A call is whole once its arguments are a JSON object: of no such text is another one the beginning. Ambiguous pieces
are never guessed at: arguments without a name, a name for pieces that were taken for another call's, or other arguments
for a call that was whole make the turn one malformed call, and nothing of it is run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolhand.agent_node.policies.transport import Fault


@dataclass
class _Call:
    """What is known of a call; `borrowed` are the ids of pieces that were taken for its own."""

    index: int | None
    name: str
    ids: set[str] = field(default_factory=set)
    borrowed: set[str] = field(default_factory=set)
    text: str = ""

    @property
    def whole(self) -> bool:
        return _object(self.text) is not None


class CallPieces:
    """The calls of one turn."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._mixed = self._whole = False

    @property
    def size(self) -> int:
        """Characters of all arguments, and some for each call."""
        return sum(100 + len(call.text) for call in self._calls)

    def add(self, requested: Any) -> None:
        """Pieces of calls, as a delta's `tool_calls`; nothing for null. Raises Fault for what is no list of them."""
        for index, id_, name, arguments in _read(requested):
            call = self._home(index, id_, name, arguments)
            if call is not None and self._says_again(call, arguments):
                continue
            if call is None:
                call = _Call(index, name)
                self._calls.append(call)
            call.name = call.name or name
            call.ids |= {id_} - {""}
            call.text += arguments

    def replace(self, requested: Any) -> None:
        """All calls at once, as a whole message's `tool_calls`: each entry is one, once. Raises Fault as `add`."""
        read = _read(requested)
        if read:
            self._whole = True
            once = dict.fromkeys((*piece, None if piece[1] else n) for n, piece in enumerate(read))
            self._calls = [_Call(None, name, text=arguments) for _, _, name, arguments, _ in once]

    def joined(self) -> list[tuple[str, str]]:
        """(name, arguments as text) of each call, in the order in which they began."""
        calls = [(call.name, call.text) for call in self._calls]
        if self._whole:
            return calls
        calls = [(name, text) for name, text in calls if name or text.strip()]
        if self._mixed or not all(name for name, _ in calls):
            return [("", "".join(text for name, text in calls if not name) or "{}")]
        return calls

    def _home(self, index: int | None, id_: str, name: str, arguments: str) -> _Call | None:
        """The call that a piece goes on with; None where it begins one."""
        known = [call for call in self._calls if id_ in call.ids]
        near = [call for call in known or self._calls if index is None or call.index is None or call.index == index]
        if not near and known and not name:
            near = known  # an index of the piece, not of the call
        if not near:
            return None
        call = near[-1]
        if id_ and not known:
            if name or call.whole:
                return None
            call.borrowed.add(id_)
            return call
        if name and id_ in call.borrowed and (name != call.name or call.ids > call.borrowed):
            self._mixed = True
        if name and call.name and name != call.name:
            return None
        if name and call.whole and arguments.strip() and not (known or (call.ids and call.index == index is not None)):
            return None
        return call

    def _says_again(self, call: _Call, arguments: str) -> bool:
        """Whether a piece repeats what its call has; other arguments for a whole one are marked as wrong."""
        if not (call.whole and arguments.strip()):
            return False
        if _object(arguments) != _object(call.text):
            self._mixed = self._mixed or bool(call.ids)
            return False
        return True


def same_call(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two calls, each (name, arguments as text), ask for the same."""
    arguments = _object(one[1])
    return one == other or (one[0] == other[0] and arguments is not None and arguments == _object(other[1]))


def _object(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is; None for any other."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _read(requested: Any) -> list[tuple[int | None, str, str, str]]:
    """(index, id, name, arguments) of each piece, the last three empty where they are not there."""
    if not requested:
        return []
    if isinstance(requested, Mapping):
        requested = [requested]
    if not isinstance(requested, list):
        raise Fault("sent tool calls that are no list")
    pieces = []
    for piece in requested:
        function = piece.get("function") or {} if isinstance(piece, Mapping) else None
        if not isinstance(function, Mapping):
            raise Fault("sent a tool call without a function")
        index, id_, name, arguments = (
            piece.get("index"),
            piece.get("id"),
            function.get("name"),
            function.get("arguments"),
        )
        pieces.append(
            (
                index if type(index) is int else None,
                id_ if isinstance(id_, str) else "",
                name if isinstance(name, str) else "",
                # Some servers send an object where a string belongs.
                arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments),
            )
        )
    return pieces
