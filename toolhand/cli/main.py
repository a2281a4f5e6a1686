"""`toolhand`: the front door. Every command is a function; its signature and docstring are its help."""

from __future__ import annotations

import atexit
import contextlib
import errno
import functools
import gc
import io
import os
import platform
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import Any, cast

# The arrays here are small: BLAS threads cost more than they give, and must be set before numpy loads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from toolhand.agent_node.console.terminal import INTERRUPTED, documents_alone, emit, exit_status, say
from toolhand.cli.commands import BENCHMARKS, COMMANDS, CliCommand, Program
from toolhand.tool_nodes.names import did_you_mean
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid, unavailable

BROKEN_PIPE = 141
"""Exit status that a shell gives to programs ended by a reader that has gone away."""

MAX_SHOWN = 200
"""Characters of a typed sentence that a message repeats."""

NARROWEST_COLUMNS = 40
"""Least width for which help is laid out [characters]; a narrower terminal wraps it. It is that of tyro's messages."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
"""What sets colours at a terminal."""

DESCRIPTION = """A robot arm that is worked through tools: a sentence in, an object picked or placed.

Try `toolhand run "pick up the far coconut water"`. `toolhand COMMAND --help` explains a command; `toolhand up` starts
the nodes of a launch file, `toolhand stop` brakes their arm, `toolhand ros` looks into their graph, as ros2 does;
`toolhand help COMMAND` is the same as `toolhand COMMAND --help`, and `toolhand --version` prints the version. The exit
status is 0 if all was done, 1 if the task was not done, 2 for wrong input and 130 after Ctrl-C."""


def _bound(command: Callable[..., int]) -> Callable[..., Callable[[], int]]:
    """The command as the parser sees it: called with its arguments, it gives back what is to be run."""

    @functools.wraps(command)
    def bind(*args: Any, **kwargs: Any) -> Callable[[], int]:
        return functools.partial(command, *args, **kwargs)

    return bind


def _parse(arguments: list[str]) -> Callable[[], int]:
    """The command with its arguments bound; SystemExit after --help or a complaint about the arguments, ToolError for a
    word that is none of a group's commands.

    Only the module of the command that is asked for is loaded; of the others their summaries are known.
    """
    import tyro

    commands, words, prog, description = COMMANDS, list(arguments) or ["--help"], "toolhand", DESCRIPTION
    while words and words[0] in commands:
        name = words.pop(0)
        entry, prog = commands[name], f"{prog} {name}"
        if isinstance(entry, CliCommand):
            if commands is BENCHMARKS:
                options: Callable[[], int] = tyro.cli(cast(Any, entry.load()), args=words, prog=prog)
                return functools.partial(_kept, name, words, options)
            return tyro.cli(_bound(entry.load()), args=words, prog=prog)
        commands, description = entry.commands, entry.summary
        if words and not words[0].startswith("-") and words[0] not in commands:
            meant = did_you_mean(words[0], commands)
            raise invalid(f"There is no {prog} {words[0][:60]!r}, only {', '.join(commands)}.{meant}")
    overview = tyro.extras.SubcommandApp()
    for name, entry in commands.items():
        overview.command(name=name, help=entry.summary)(lambda: None)
    overview.cli(args=words, prog=prog, description=description)
    raise SystemExit(2)  # it shows help, or complains that there is no such command


def _kept(name: str, words: list[str], run: Callable[[], int]) -> int:
    """Run a benchmark; the file of its result is written."""
    from toolhand.bench.results import kept

    return kept(name, words, run)


@contextlib.contextmanager
def _wide_enough() -> Iterator[None]:
    """Within it a terminal has NARROWEST_COLUMNS or more: in one of 1 to 7 the parser's layout of help never ends."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(max(NARROWEST_COLUMNS, shutil.get_terminal_size().columns))
    try:
        yield
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before


def _parse_or_complain(arguments: list[str], as_json: bool) -> Callable[[], int]:
    """As `_parse`, with a complaint about the arguments as an error where one sentence can say it.

    Raises:
        ToolError: INVALID_ARGUMENT for a sentence without quotes; with `as_json` for every complaint.
    """
    complaint, shown = io.StringIO(), io.StringIO()
    colourless = bool(os.environ.get("NO_COLOR"))  # https://no-color.org; the parser colours its help whatever it says
    streams = contextlib.redirect_stderr(complaint), contextlib.redirect_stdout(shown if colourless else sys.stdout)
    try:
        with streams[0], streams[1], _wide_enough():
            return _parse(arguments)
    except SystemExit as end:
        print(_COLOUR.sub("", shown.getvalue()), end="")
        if not end.code:
            raise
        if arguments[0] == "run" and re.search(r"Unrecognized options: [^-\s]", complaint.getvalue()):
            raise _no_quotes(arguments[1:]) from None
        if not as_json:
            text = complaint.getvalue()
            print(_COLOUR.sub("", text) if colourless else text, end="", file=sys.stderr)
            raise
        text = re.sub("[│╭╮╰╯]", " ", complaint.getvalue())
        parts = [" ".join(part.split()) for part in re.split("[─-]{5,}", text)[1:]]
        sentence = "; ".join(part for part in parts if part and not part.startswith(("For full", "Perhaps")))
        raise invalid(f"{sentence.rstrip('.')}.", "See toolhand --help.") from None


def _no_quotes(words: list[str]) -> ToolError:
    """What to say to a user who has typed a sentence as separate words: a shell would change some of them."""
    first_option = next((k for k, word in enumerate(words) if word.startswith("-")), len(words))
    sentence = " ".join(words[:first_option])[:MAX_SHOWN]
    return invalid(
        "The sentence must be one argument, in quotes.",
        f"For example: {shlex.join(['toolhand', 'run', sentence, *words[first_option:][:8]])}"
        if len(words[:first_option]) > 1
        else 'For example: toolhand run "pick up the red box"',
    )


def _no_command(word: str) -> ToolError:
    """What to say to a user who has typed a word that is none of the commands, perhaps a sentence."""
    allowed = f"The commands are {', '.join(COMMANDS)}."
    if " " in word.strip():
        allowed = f"A sentence is carried out by {shlex.join(['toolhand', 'run', word[:MAX_SHOWN]])}. {allowed}"
    meant = did_you_mean(word, COMMANDS)
    return invalid(f"There is no command {word[:60]!r}.{meant}", allowed)


def _run_command(arguments: list[str], as_json: bool) -> int:
    """Exit status of the command; a failure is reported in one sentence and, if wanted, as the JSON document."""
    try:
        if arguments[:1] == ["help"]:
            arguments = [*arguments[1:], "--help"]
        program = COMMANDS.get(arguments[0]) if arguments else None
        if isinstance(program, Program):
            return program.load()(arguments[1:])
        if arguments and arguments[0] in ("-V", "--version"):
            from toolhand.tool_nodes.version import version

            emit({"version": version()}) if as_json else print(f"toolhand {version()}")
            return 0
        if arguments and arguments[0] not in (*COMMANDS, "-h", "--help"):
            raise _no_command(arguments[0])
        return _parse_or_complain(arguments, as_json)()
    except ToolError as error:
        failure = error
    except KeyboardInterrupt:
        failure = ToolError(ErrorCode.STOPPED, "Interrupted.")
    except Exception as error:
        print(end="", flush=True)  # raises once more if the output itself is the trouble
        if isinstance(error, BrokenPipeError) or os.environ.get("TOOLHAND_DEBUG"):
            raise
        failure = _failure_inside(error)
    say(f"{failure.code}: {failure}")
    if as_json:
        emit({"success": False, "error_code": failure.code, "answer": str(failure)})
    return INTERRUPTED if failure.code is ErrorCode.STOPPED else exit_status(failure.code, False)


def _failure_inside(error: Exception) -> ToolError:
    """What to say of an unexpected error, unless it comes of a platform that lacks something."""
    from toolhand.tool_nodes import platforms

    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return invalid(f"The name {str(error.filename)[:60]!r} is too long for a file.")
    if missing := platforms.missing(error):
        message = f"This needs {missing}, which {platform.system()} lacks."
        return unavailable(message, platforms.note())
    message = f"Something is wrong inside: {type(error).__name__}: {error}."
    hint = f"TOOLHAND_DEBUG=1 in the environment shows where. {platforms.note()}".rstrip()
    return ToolError(ErrorCode.INTERNAL, message, hint)


def main(argv: list[str] | None = None) -> None:
    """Parse the command line, run the command, exit: 0 done, 1 task not done, 2 bad input, 130 interrupted."""
    arguments = sys.argv[1:] if argv is None else argv
    atexit.register(gc.freeze)  # the worlds of a process that ends are not searched for cycles: that took half a second
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a character that the terminal lacks is no reason to fail
    try:
        as_json = "--json" in arguments
        with documents_alone() if as_json else contextlib.nullcontext():
            status = _run_command(arguments, as_json)
        print(end="", flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains on its way out
        gone = isinstance(error, BrokenPipeError)
        if not gone:
            say(f"{ErrorCode.UNAVAILABLE}: Cannot write the output: {error.strerror}.")
        status = BROKEN_PIPE if gone else 1
    except SystemExit as end:
        status = 2 if end.code or not arguments else 0
    sys.exit(status)
