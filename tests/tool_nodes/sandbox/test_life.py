"""The server's life: when it starts, what ends it, what it leaves behind, and where it refuses."""

from __future__ import annotations

import gc
import os
import platform
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import alive, until
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.sandbox import connection, landlock, seccomp
from toolhand.tool_nodes.sandbox.executor import CodeExecutor, CodeTools, ProgramLimits
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox

ROOT = Path(__file__).parents[3]
DEADLINE_S = 30.0
"""A bound against hanging, not a promise."""


def server_of(executor: CodeExecutor) -> int:
    return executor._servers[0].process_id


def patch_server(monkeypatch: pytest.MonkeyPatch, statement: str) -> None:
    """Let servers that start from now on run a statement before they serve."""
    program = connection._PROGRAM.replace("; main()", f"; {statement}; main()")
    monkeypatch.setattr(connection, "_PROGRAM", program)


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[CodeExecutor]:
    """An executor of the test's own, whose server is its own child, and starts quickly with little of numpy."""
    reason = seccomp.why_missing()
    if reason:
        pytest.skip(reason)
    monkeypatch.setattr(connection, "bubblewrap", tuple)
    patch_server(
        monkeypatch, "from toolhand.tool_nodes.sandbox import server; server._import_all = lambda package: None"
    )
    executor = CodeExecutor(ProgramLimits(wall_s=60.0, cpu_s=2))
    yield executor
    executor.close()


# -- where it refuses ---------------------------------------------------------------------------------


def test_without_seccomp_nothing_runs() -> None:
    executor = CodeExecutor(why_missing=lambda: "this kernel does not offer seccomp filters")
    result = Toolbox([CodeTools(executor)]).call("code_executor.eval", {"expression": "1"}, Session()).result
    assert result.error is not None
    assert result.error.code is ErrorCode.UNAVAILABLE
    assert str(result.error) == ("Code cannot be run safely here, because this kernel does not offer seccomp filters.")
    assert not executor._servers


@pytest.mark.parametrize(
    ("patched", "value", "words"),
    [("sys.platform", "darwin", "has no seccomp"), ("platform.machine", lambda: "riscv64", "riscv64 are not known")],
)
def test_other_systems_are_told_apart(monkeypatch: pytest.MonkeyPatch, patched: str, value: Any, words: str) -> None:
    monkeypatch.setattr(patched, value)
    assert words in seccomp.why_missing()


@pytest.mark.parametrize(
    "statement",
    [
        "from toolhand.tool_nodes.sandbox import seccomp; seccomp.ARCHITECTURES = {}",
        "from toolhand.tool_nodes.sandbox import landlock; landlock.abi = lambda: 99; landlock.handled = lambda v: "
        "b'x' * 9",
        "from toolhand.tool_nodes.sandbox import lockdown; lockdown._drop_capabilities = lambda: 1 / 0",
    ],
)
def test_a_worker_that_cannot_lock_itself_up_runs_nothing(
    monkeypatch: pytest.MonkeyPatch, fresh: CodeExecutor, statement: str
) -> None:
    patch_server(monkeypatch, statement)
    with pytest.raises(ToolError, match="could not be locked up") as caught:
        fresh.run("result = 1")
    assert caught.value.code is ErrorCode.UNAVAILABLE


def test_without_landlock_seccomp_holds(monkeypatch: pytest.MonkeyPatch, fresh: CodeExecutor, tmp_path: Path) -> None:
    patch_server(monkeypatch, "from toolhand.tool_nodes.sandbox import landlock; landlock.abi = lambda: 0")
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    assert "PermissionError" in str(fresh.run("np.fromfile(p)", variables={"p": "/etc/passwd"}).error)
    assert "PermissionError" in str(fresh.run("np.save(p, 1)", variables={"p": str(tmp_path / "x")}).error)
    assert not list(tmp_path.iterdir())


def test_a_bubblewrap_that_does_not_work_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "bubblewrap", lambda: (shutil.which("false") or "no-such-program",))
    executor = CodeExecutor()
    assert executor.run("1 + 1").value == 2
    assert not executor._prefix
    executor.close()


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_bubblewrap_goes_around_the_server(executor: CodeExecutor) -> None:
    executor.start()
    command = Path(f"/proc/{server_of(executor)}/cmdline").read_text()
    assert ("bwrap" in command) is bool(executor._prefix)


def test_a_server_that_does_not_start_says_why(monkeypatch: pytest.MonkeyPatch, fresh: CodeExecutor) -> None:
    patch_server(monkeypatch, "from toolhand.tool_nodes.sandbox import server; server.prepare = lambda parent: 1 / 0")
    with pytest.raises(ToolError, match="does not start: ZeroDivisionError") as caught:
        fresh.run("1")
    assert caught.value.code is ErrorCode.UNAVAILABLE


# -- what it leaves behind ----------------------------------------------------------------------------


def test_many_programs_leave_neither_processes_nor_descriptors_nor_threads(
    executor: CodeExecutor, processes_of: Callable[[CodeExecutor], set[int]]
) -> None:
    def counts() -> tuple[int, int, set[int]]:
        return len(list(Path("/proc/self/fd").iterdir())), threading.active_count(), processes_of(executor)

    executor.run("1")
    before = counts()
    for index in range(100):
        executor.run("1 / 0" if index % 3 else "result = np.ones(1000)")
    assert counts() == before


def test_nothing_starts_before_the_first_program() -> None:
    assert not CodeExecutor()._servers


def test_closing_ends_the_server_and_can_be_repeated(fresh: CodeExecutor) -> None:
    fresh.start()
    process = server_of(fresh)
    fresh.close()
    fresh.close()
    assert not Path(f"/proc/{process}").exists()
    assert fresh.run("1 + 1").value == 2


def test_an_executor_that_nobody_holds_ends_its_server() -> None:
    executor = CodeExecutor()
    executor.start()
    process = server_of(executor)
    del executor
    gc.collect()
    assert not Path(f"/proc/{process}").exists()


PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from toolhand.tool_nodes.sandbox.executor import CodeExecutor
executor = CodeExecutor()
executor.start()
print(executor._servers[0].process_id, flush=True)
if sys.argv[2] == "run":
    executor.run("while True: pass")
elif sys.argv[2] == "wait":
    sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["exit", "wait", "run"])
def test_the_server_ends_with_its_caller(how: str, executor: CodeExecutor) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(ROOT), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PATH": ""},  # no bubblewrap, so that the worker is a child of the server
    ) as caller:
        assert caller.stdout is not None
        process = int(caller.stdout.readline())
        if how == "run":
            children = Path(f"/proc/{process}/task/{process}/children")
            until(lambda: bool(children.read_text().split()))
            worker = int(children.read_text().split()[0])
        if how != "exit":
            caller.kill()
    until(lambda: not alive(process))
    if how == "run":
        until(lambda: not alive(worker))


# -- what ends it -------------------------------------------------------------------------------------


def test_a_server_that_died_is_replaced(fresh: CodeExecutor) -> None:
    assert fresh.run("1").value == 1
    first = server_of(fresh)
    os.kill(first, signal.SIGKILL)
    assert fresh.run("1 + 1").value == 2
    assert server_of(fresh) != first
    assert not Path(f"/proc/{first}").exists()


def test_a_program_whose_server_dies_is_run_again(fresh: CodeExecutor) -> None:
    fresh.start()
    first = server_of(fresh)
    children = Path(f"/proc/{first}/task/{first}/children")
    with ThreadPoolExecutor(1) as pool:
        outcome = pool.submit(fresh.run, "while True:\n    pass", timeout_s=1.0)
        until(lambda: bool(children.read_text().split()))
        worker = int(children.read_text().split()[0])
        os.kill(first, signal.SIGKILL)
        error = outcome.result(DEADLINE_S).error
    assert error is not None
    assert error.code is ErrorCode.TIMEOUT
    until(lambda: not alive(worker))


def test_a_server_that_always_dies_is_unavailable(monkeypatch: pytest.MonkeyPatch, fresh: CodeExecutor) -> None:
    patch_server(monkeypatch, "from toolhand.tool_nodes.sandbox import server; server._fork = lambda *fds: 1 / 0")
    with pytest.raises(ToolError, match="the sandbox ended") as caught:
        fresh.run("1")
    assert caught.value.code is ErrorCode.UNAVAILABLE


def test_an_interrupt_ends_the_program(monkeypatch: pytest.MonkeyPatch, fresh: CodeExecutor) -> None:
    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    fresh.start()
    process = server_of(fresh)
    with monkeypatch.context() as patch:
        patch.setattr(connection, "_take", interrupt)
        with pytest.raises(KeyboardInterrupt):
            fresh.run("while True:\n    pass")
    assert not Path(f"/proc/{process}").exists()
    assert fresh.run("1 + 1").value == 2


# -- threads and forks --------------------------------------------------------------------------------


def test_threads_share_one_server(fresh: CodeExecutor) -> None:
    with ThreadPoolExecutor(8) as pool:
        values = list(pool.map(lambda n: fresh.run(f"{n} * 2").value, range(24)))
    assert values == [2 * n for n in range(24)]
    assert len(fresh._servers) == 1


def test_the_server_outlives_the_thread_that_started_it(fresh: CodeExecutor) -> None:
    thread = threading.Thread(target=fresh.start)
    thread.start()
    thread.join()
    process = server_of(fresh)
    assert fresh.run("1 + 1").value == 2
    assert server_of(fresh) == process


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_has_a_server_of_its_own(fresh: CodeExecutor) -> None:
    fresh.start()
    first = server_of(fresh)
    with fresh._lock:  # as if another thread were running a program
        child = os.fork()
        if child == 0:
            status = 1
            try:
                if fresh.run("1 + 1").value == 2 and server_of(fresh) != first:
                    status = 0
                fresh.close()
            finally:
                os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert fresh.run("1 + 1").value == 2
    assert server_of(fresh) == first


def test_this_machine_is_known(executor: CodeExecutor) -> None:
    assert platform.machine() in seccomp.ARCHITECTURES
