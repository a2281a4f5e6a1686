"""`interface list` and `interface show`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rclpy_zenoh.cli.grammar import Arguments
from rclpy_zenoh.cli.types import WORDS, definition_text, interface_names
from rclpy_zenoh.interfaces.definitions import PRIMITIVES

_FIELD = re.compile(r"(?P<base>[A-Za-z][\w/]*)(<=\d+)?(\[[\d<=]*\])?\s+\w+")


def list_interfaces(arguments: Arguments) -> int:
    """Names of all interfaces by kind."""
    wanted = {"msg": arguments.only_msgs, "srv": arguments.only_srvs, "action": arguments.only_actions}
    for kind, word in WORDS.items():
        if wanted[kind] or not any(wanted.values()):
            print(f"{word.capitalize()}s:", *(f"    {name}" for name in interface_names(kind)), sep="\n")
    return 0


def show(arguments: Arguments) -> int:
    """Print a definition, with the definitions of nested types indented below their fields."""
    for line in _lines(arguments.type, not arguments.no_comments, arguments.all_comments):
        print(line)
    return 0


def _lines(name: str, comments: bool, nested_comments: bool, depth: int = 0) -> Iterator[str]:
    for raw in definition_text(name).splitlines():
        line = raw.rstrip()
        code = _without_comment(line)
        shown = line if comments else code
        if shown or comments:
            yield "\t" * depth + shown if shown else ""
        if (nested := _nested_type(code, name)) is not None:
            yield from _lines(nested, nested_comments, nested_comments, depth + 1)


def _without_comment(line: str) -> str:
    """The line up to a # that is in no string."""
    quote = ""
    for position, character in enumerate(line):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character == "#":
            return line[:position].strip()
    return line.strip()


def _nested_type(code: str, owner: str) -> str | None:
    """Full name of the message that a field holds; None for numbers, texts, constants and separators."""
    found = _FIELD.match(code)
    if found is None or found["base"] in PRIMITIVES:
        return None
    package, _, short = found["base"].rpartition("/")
    return f"{package or owner.split('/')[0]}/msg/{short}"
