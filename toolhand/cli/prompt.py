"""A prompt at the terminal that stays: lines with a history, and words that Tab completes."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from toolhand.agent_node.console.keyboard import is_terminal, overheard
from toolhand.agent_node.console.terminal import INTERRUPTED, say
from toolhand.tool_nodes.language.stopping import is_stop

LEAVING = frozenset({"exit", "quit", "leave"})
"""Words that end the program, beside the end of the input."""


def listen(answer: Callable[[str], None], is_hit: Callable[[], bool], brake: Callable[[], None]) -> int:
    """Hear what is typed, a line at a time, to the end; the exit status.

    Args:
        answer: Carries out a line and says what comes of it.
        is_hit: Says whether Ctrl-C was typed meanwhile.
        brake: Stops the arm: at a terminal words of stopping are heard while a line is carried out.
    """

    def takes(line: str) -> bool:
        if is_stop(line):
            brake()
        return is_stop(line)

    known = is_terminal(sys.stdin, sys.stderr)
    interrupted = False
    waiting: list[str] = []
    with _completed() if known else contextlib.nullcontext():
        while True:
            try:
                line = (waiting.pop(0) if waiting else input("> " if known else "")).strip()
                interrupted = False
                if line.casefold() in LEAVING:
                    return 0
                if line:
                    hearing: AbstractContextManager[list[str]] = contextlib.nullcontext([])
                    with overheard(sys.stdin, takes) if known else hearing as more:
                        answer(line)
                    waiting += more
            except EOFError:
                return 0
            except KeyboardInterrupt:
                if interrupted or is_hit():
                    return INTERRUPTED
                interrupted = True
                say("\nNothing is moving. (Ctrl-C again leaves.)")


@contextlib.contextmanager
def _completed() -> Iterator[None]:
    """While entered, lines have a history, and Tab completes words that mean something."""
    try:
        import readline
    except ImportError:  # a Python without it
        yield
        return
    before = readline.get_completer()
    readline.set_completer(_completer())
    readline.set_completer_delims(" ")
    readline.parse_and_bind("tab: complete")
    try:
        yield
    finally:
        readline.set_completer(before)


def _completer() -> Callable[[str, int], str | None]:
    """Completes the word that is typed to the words of the robot's grammar, or of the names of objects."""
    from toolhand.agent_node.plan.grammar import symbols
    from toolhand.tool_nodes.catalogue import load_catalogue

    texts = [
        *symbols(),
        *(item.name for item in load_catalogue().values()),
        "pick up the",
        "put the",
        "next to",
        "exit",
    ]
    words = sorted({word.strip(",.?!").lower() for text in texts for word in text.split() if word.isascii()})

    def complete(begun: str, state: int) -> str | None:
        fitting = [f"{word} " for word in words if word.startswith(begun.lower())]
        return fitting[state] if state < len(fitting) else None

    return complete
