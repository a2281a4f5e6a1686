"""Runs one command line: parse it, load the verb, turn every failure into one sentence and an exit status."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from types import FrameType

from rclpy_zenoh import overlay
from rclpy_zenoh.cli.errors import BROKEN_PIPE, EXTRA, INTERRUPTED, CliError, UsageError, packages_missing
from rclpy_zenoh.cli.grammar import Arguments, make_parser
from rclpy_zenoh.interfaces import InterfaceError, use_distro


def main(argv: Sequence[str], prog: str = "python -m rclpy_zenoh.cli") -> int:
    """Run a command such as ["topic", "list"].

    Args:
        argv: The words after the program's name.
        prog: The program's name in help texts.

    Returns:
        Exit status: 0 done, 1 failed, 2 wrong input, 130 after Ctrl-C, 141 when the reader of the output has gone.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What is piped to another program gets there at once; a character that the terminal lacks is no error.
        sys.stdout.reconfigure(line_buffering=True, errors="replace")
    try:
        with _interruptible():
            status = _run(argv, prog)
        sys.stdout.flush()
    except CliError as error:
        print(error, file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains on its way out
        return BROKEN_PIPE
    except SystemExit as end:  # argparse, after --help
        return int(end.code or 0)
    return status


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C also reaches the command where zenoh, in the middle of a callback, would print and lose it."""
    own = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not own or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, _on_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _on_interrupt(number: int, frame: FrameType | None) -> None:
    wire = sys.modules.get("rclpy_zenoh.wire.log")  # which only commands that use the graph have loaded
    if wire is not None and wire.in_callback(frame):
        wire.interrupt_later(number)
        return
    raise KeyboardInterrupt


def _run(argv: Sequence[str], prog: str) -> int:
    arguments = make_parser(prog).parse_args(list(argv), Arguments(prog=prog))
    _choose_distro(arguments.distro)
    return load_verb(arguments.verb)(arguments)


def _choose_distro(distro: str | None) -> None:
    pip_client = overlay.install()
    if distro is None:
        return
    if not pip_client:
        raise UsageError("--distro chooses interfaces where there is no ROS 2; here the sourced ROS 2 provides them.")
    try:
        use_distro(distro)
    except InterfaceError as error:
        raise UsageError(str(error)) from error


def load_verb(name: str) -> Callable[[Arguments], int]:
    """The function of a verb such as "topics.echo".

    Verbs import rclpy, which can be found only after `overlay.install()`; so they are loaded when they are needed.

    Raises:
        CliError: A package that the graph needs is not installed.
    """
    module, function = name.split(".")
    try:
        verb: Callable[[Arguments], int] = getattr(import_module(f"rclpy_zenoh.cli.{module}"), function)
    except ModuleNotFoundError as error:
        if error.name not in EXTRA:
            raise
        raise packages_missing() from error
    return verb
