"""Substitutions of launch files: `$(var name)`, `$(env NAME default)`, `$(find-pkg-share pkg)`, `$(dirname)` and more.

The grammar is that of ROS 2: arguments are separated by one space each, may be quoted and may hold substitutions
themselves; a backslash takes the next character as it is. `$(eval ...)` and `$(command ...)`, which run programs, are
not offered.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rclpy_zenoh.launch.errors import LaunchError
from rclpy_zenoh.launch.packages import share_folder

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_TRUE, _FALSE = ("true", "1"), ("false", "0")


@dataclass(frozen=True)
class Call:
    """A substitution with its arguments, which are templates."""

    name: str
    arguments: tuple[Template, ...]


Template = tuple[str | Call, ...]
"""Pieces of text and substitutions, in order."""


@dataclass
class Scope:
    """What holds at one point of a launch file.

    Attributes:
        file: The launch file.
        variables: Values of arguments and of `let`.
        environment: Environment variables of processes started from now on.
        namespace: Prefix of the nodes' namespaces.
    """

    file: Path
    variables: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    namespace: str = ""


class _Reader:
    """Parses one text. Positions move forward only."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def template(self, end: str = "") -> Template:
        """Up to one of the characters of `end`, which stays, or to the end of the text."""
        pieces: list[str | Call] = []
        literal = ""
        while self._at < len(self._text) and (not end or self._text[self._at] not in end):
            if self._text.startswith("$(", self._at):
                pieces += [literal] if literal else []
                literal = ""
                pieces.append(self._call())
            else:
                if self._text[self._at] == "\\" and self._at + 1 < len(self._text):
                    self._at += 1
                literal += self._text[self._at]
                self._at += 1
        return tuple(pieces + ([literal] if literal else []))

    def _call(self) -> Call:
        start = self._at
        name = _NAME.match(self._text, start + 2)
        if name is None:
            raise LaunchError(f"'{self._text[start : start + 20]}' names no substitution")
        self._at = name.end()
        arguments = []
        while self._peek() == " ":
            self._at += 1
            arguments.append(self._argument())
        if self._peek() != ")":
            raise LaunchError(f"'{self._text[start:]}' has no closing parenthesis")
        self._at += 1
        return Call(name.group(), tuple(arguments))

    def _argument(self) -> Template:
        quote = self._peek()
        if quote in ("'", '"'):
            self._at += 1
            inner = self.template(end=quote)
            if self._peek() != quote:
                raise LaunchError(f"a quotation mark {quote} is not closed")
            self._at += 1
            return inner
        inner = self.template(end=" )")
        if not inner:
            raise LaunchError("arguments of a substitution are separated by exactly one space")
        return inner

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]


def expand(text: str, scope: Scope) -> str:
    """The text with its substitutions carried out. Raises LaunchError."""
    return _expand(_Reader(text).template(), scope)


def expand_words(text: str, scope: Scope) -> list[str]:
    """The words of a command line; what a substitution gives is never split. Raises LaunchError.

    As ROS 2's launch (3.4.3) reads it: each piece of text beside a substitution is split on its own, so that quotation
    marks around a substitution, which needs none, are not closed.
    """
    calls: list[Call] = []
    marked = ""
    for piece in _Reader(text).template():
        if isinstance(piece, Call):
            marked += f"\0{len(calls)}\0"
            calls.append(piece)
        else:
            _split(piece, text)
            marked += piece
    words = _split(marked, text)
    return [re.sub("\0(\\d+)\0", lambda match: _expand((calls[int(match[1])],), scope), word) for word in words]


def _split(piece: str, text: str) -> list[str]:
    try:
        return shlex.split(piece)
    except ValueError as error:
        hint = "; a substitution is one word without quotation marks" if "$(" in text else ""
        raise LaunchError(f"'{text}' is no command line: {error}{hint}") from None


def truth(text: str) -> bool:
    """The value of a condition. Raises LaunchError unless it is true, false, 1 or 0."""
    word = text.strip().lower()
    if word not in _TRUE + _FALSE:
        raise LaunchError(f"'{text}' must be true or false")
    return word in _TRUE


def _expand(template: Template, scope: Scope) -> str:
    return "".join(piece if isinstance(piece, str) else _perform(piece, scope) for piece in template)


def _perform(call: Call, scope: Scope) -> str:
    if call.name not in _OFFERED:
        raise LaunchError(f"there is no substitution $({call.name}); offered: {', '.join(sorted(_OFFERED))}")
    (low, high), perform = _OFFERED[call.name]
    if not low <= len(call.arguments) <= high:
        counts = f"{low}" if low == high else f"{low} or {high}"
        raise LaunchError(f"$({call.name}) takes {counts} arguments, not {len(call.arguments)}")
    return perform([_expand(argument, scope) for argument in call.arguments], scope)


def _variable(arguments: list[str], scope: Scope) -> str:
    name, *default = arguments
    if name in scope.variables:
        return scope.variables[name]
    if default:
        return default[0]
    raise LaunchError(f"there is no variable '{name}'; known here: {', '.join(sorted(scope.variables)) or 'none'}")


def _environment(arguments: list[str], scope: Scope) -> str:
    name, *default = arguments
    if name in scope.environment:
        return scope.environment[name]
    if default:
        return default[0]
    raise LaunchError(f"the environment variable {name} is not set, and $(env {name}) has no default")


def _word(value: bool) -> str:
    return "true" if value else "false"


_OFFERED: Mapping[str, tuple[tuple[int, int], Callable[[list[str], Scope], str]]] = {
    "var": ((1, 2), _variable),
    "env": ((1, 2), _environment),
    "find-pkg-share": ((1, 1), lambda arguments, scope: str(share_folder(arguments[0]))),
    "dirname": ((0, 0), lambda arguments, scope: str(scope.file.parent)),
    "filename": ((0, 0), lambda arguments, scope: str(scope.file)),
    "not": ((1, 1), lambda arguments, scope: _word(not truth(arguments[0]))),
    "and": ((2, 2), lambda arguments, scope: _word(truth(arguments[0]) and truth(arguments[1]))),
    "or": ((2, 2), lambda arguments, scope: _word(truth(arguments[0]) or truth(arguments[1]))),
    "equals": ((2, 2), lambda arguments, scope: _word(arguments[0] == arguments[1])),
    "not-equals": ((2, 2), lambda arguments, scope: _word(arguments[0] != arguments[1])),
}
"""Name to the least and greatest number of arguments and what is done."""
