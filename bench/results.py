"""Every benchmark leaves one file: its command, version, machine and the document that it prints.

The command line calls a benchmark through `kept`; the benchmark itself only publishes its document, and knows nothing
of the file.
"""

from __future__ import annotations

import contextvars
import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolhand.agent_node.console.terminal import say
from toolhand.agent_node.runs.bench_results import FOLDER, BenchResult
from toolhand.agent_node.runs.folder import time_now, write_json
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.version import version

_PUBLISHED: contextvars.ContextVar[list[Mapping[str, Any]] | None] = contextvars.ContextVar("published", default=None)
"""Takes the documents of the benchmark that runs; None while none does."""


def note(document: Mapping[str, Any]) -> None:
    """A benchmark has its document."""
    published = _PUBLISHED.get()
    if published is not None:
        published.append(document)


def kept(name: str, arguments: Sequence[str], run: Callable[[], int], folder: Path = FOLDER) -> int:
    """Run a benchmark and write the file of its result.

    A file that cannot be written is said in one sentence, and changes nothing else.

    Args:
        arguments: Words of its command line.
        run: The benchmark, with its arguments bound; gives the exit status.
        folder: Where the file is written.

    Returns:
        The exit status of the benchmark.
    """
    began, clock = time_now(), time.monotonic()
    published: list[Mapping[str, Any]] = []
    token = _PUBLISHED.set(published)
    try:
        status = run()
    finally:
        _PUBLISHED.reset(token)
    for document in published:
        machine = document.get("machine")
        result = BenchResult(
            bench=name,
            arguments=tuple(arguments),
            began=began,
            wall_s=round(time.monotonic() - clock, 1),
            exit_status=status,
            version=version(),
            machine=machine if isinstance(machine, Mapping) else {},
            out=_out(arguments),
            document=document,
        )
        try:
            say(f"The result is kept in {_write(_new_file(folder, began, name), result)}.")
        except (OSError, ToolError) as error:
            say(f"The result is not kept: {error}")
    return status


def _write(path: Path, result: BenchResult) -> Path:
    try:
        write_json(path, result.written())
    except ToolError:
        path.unlink(missing_ok=True)
        raise
    return path


def _new_file(folder: Path, began: str, name: str) -> Path:
    """A file of a name that nobody has, made at once so that it is ours. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    stamp = "".join(sign for sign in began[:19] if sign.isdigit() or sign == "T").replace("T", "-")
    for number in itertools.count():
        path = folder / f"{stamp}-{number}-{name}.json"
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            continue
        return path
    raise AssertionError("the counter has no end")


def _out(arguments: Sequence[str]) -> str:
    """The folder of `--out`; empty without one."""
    for word, following in itertools.zip_longest(arguments, arguments[1:], fillvalue=""):
        if word == "--out":
            return following
        if word.startswith("--out="):
            return word.partition("=")[2]
    return ""
