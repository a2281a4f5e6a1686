"""What both processes of the console keep to themselves: their sockets, and the operator's terminal."""

import logging
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from toolhand.agent_node.web_gate import listening
from toolhand.console.process import _Few, _Plain
from toolhand.tool_nodes.results import ErrorCode, ToolError

FORKS = {
    "a fork": "pid = os.fork(); print('child' if pid == 0 else os.waitpid(pid, 0)[1] >> 8)",
    "a fork with a terminal": "import pty; pid, _ = pty.fork(); print(os.waitpid(pid, 0)[1] >> 8 if pid else 'child')",
    "a manager of processes": """
        import multiprocessing
        try:
            multiprocessing.get_context("fork").Manager()
            print("child")
        except EOFError:
            print(70)
    """,
    "a process": """
        import multiprocessing
        process = multiprocessing.get_context("fork").Process(target=print, args=("child",))
        process.start(); process.join(); print(process.exitcode)
    """,
    "a pool": """
        import concurrent.futures, multiprocessing
        try:
            pool = concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork"))
            pool.submit(print, "child").result()
        except concurrent.futures.process.BrokenProcessPool:
            print(70)
    """,
}
"""Ways to fork, each of which says what came of it; `child` is said by the child."""


def run(program: str, *words: str, pass_fds: tuple[int, ...] = ()) -> str:
    """What a program says that never forks, and that serves on sockets which were handed over."""
    begin = """
        import os, subprocess, sys
        from toolhand.console.process import handed_over, never_fork
        never_fork()
        sockets = handed_over(sys.argv[1:])
    """
    text = textwrap.dedent(begin) + textwrap.dedent(program)
    root = str(Path(__file__).parents[2])
    said = subprocess.run(
        [sys.executable, "-c", text, *words], pass_fds=pass_fds, cwd=root, capture_output=True, text=True, timeout=60
    )
    return said.stdout.strip() or said.stderr


@pytest.mark.parametrize("program", FORKS.values(), ids=FORKS)
def test_a_process_of_the_console_is_never_forked(program: str) -> None:
    assert run(program) == "70"


def test_a_program_that_is_started_gets_no_socket_of_the_console() -> None:
    (made,) = listening("127.0.0.1", 0, "")
    child = (
        "import os; print([os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd') if n not in '012'])"
    )
    program = f"""
        assert sockets[0].getsockname()[1]
        print(subprocess.run([sys.executable, "-c", {child!r}], close_fds=False, capture_output=True, text=True))
    """
    with made:
        said = run(program, str(made.fileno()), pass_fds=(made.fileno(),))
    assert "returncode=0" in said or "No such file" in said
    assert "socket:" not in said


def test_a_name_is_listened_at_on_all_its_addresses_and_a_port_that_is_taken_is_said() -> None:
    (made,) = listening("127.0.0.1", 0, "")
    port = made.getsockname()[1]
    with made, pytest.raises(ToolError, match=f"Cannot listen on port {port} of 127.0.0.1") as refused:
        listening("127.0.0.1", port, "")
    assert refused.value.code is ErrorCode.UNAVAILABLE
    sockets = listening("localhost", port, "")
    assert "127.0.0.1" in {each.getsockname()[0] for each in sockets}
    for each in sockets:
        each.close()
    with pytest.raises(ToolError, match="Cannot listen"):
        listening("no-such-name.invalid", port, "")


def entry(name: str, words: str, *arguments: object, error: BaseException | None = None) -> logging.LogRecord:
    info = None if error is None else (type(error), error, error.__traceback__)
    return logging.LogRecord(name, logging.ERROR, __file__, 1, words, arguments, info)


ESCAPES = {
    "colours": "\x1b[31mStopped\x1b[0m",
    "the line above": "x\x1b[2K\x1b[1A\rStopped: all joints were measured at rest.",
    "a title": "\x1b]0;title\x07",
    "eight bits": "\x9b2J\x9d0;x\x9c",
    "a line break": "x\nStopped: at rest",
    "other line breaks": "x\x0b\x0c\x85\u2028\u2029Stopped",
    "backspaces": "Stopped\x08\x08\x08\x08",
    "the direction of text": "\u202eats\u202c \u2066x",
    "half a sign": "\ud83d",
    "zero": "\0",
    "a line without end": "x" * 100_000,
}


@pytest.mark.parametrize("words", ESCAPES.values(), ids=ESCAPES)
def test_whatever_is_logged_is_one_short_line_without_control_characters(words: str) -> None:
    for record in (entry("nicegui", "%s", words), entry("a", words, error=ValueError(words)), entry(words, "x")):
        line = _Plain().format(record)
        assert line.isprintable()
        assert len(line) < 320


def test_an_error_is_its_kind_its_words_and_its_place() -> None:
    try:
        raise KeyError("client_id")
    except KeyError as error:
        line = _Plain().format(entry("asyncio", "Task exception was never retrieved", error=error))
    assert line.startswith("asyncio: Task exception was never retrieved KeyError: 'client_id' at test_process.py:")


def test_a_flood_of_lines_is_counted_and_the_stop_is_said_again_afterwards() -> None:
    now = [0.0]
    few = _Few(lambda: now[0])
    assert sum(few.filter(entry("nicegui", "x")) for _ in range(1000)) == 20
    now[0] += 10.0
    after = entry("toolhand", "Stop: %s", "stopped")
    assert few.filter(after)
    assert after.getMessage() == "(980 lines were left out) Stop: stopped"
