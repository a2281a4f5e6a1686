"""One executor with tight limits, and a watch over what a program must not touch."""

import os
import platform
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from toolhand.tool_nodes.sandbox import seccomp
from toolhand.tool_nodes.sandbox.executor import CodeExecutor, CodeOutcome, ProgramLimits

SECRET = "the secret of the parent"
PROCESSES = Path("/proc")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs the sandbox is skipped where the kernel has none."""
    reason = seccomp.why_missing()
    for item in items:
        if reason and Path(__file__).parent in item.path.parents and "executor" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def executor() -> Iterator[CodeExecutor]:
    executor = CodeExecutor(ProgramLimits(wall_s=60.0, cpu_s=1, memory=128 << 20))
    executor.start()
    yield executor
    executor.close()


def _session_of(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[3])
    except (OSError, ValueError):
        return 0


@pytest.fixture(scope="session")
def processes_of() -> Callable[[CodeExecutor], set[int]]:
    """Ids of all processes in the session of an executor's server, zombies included."""

    def find(executor: CodeExecutor) -> set[int]:
        leader = executor._servers[0].process_id
        return {int(p.name) for p in PROCESSES.iterdir() if p.name.isdigit() and _session_of(p) == leader}

    return find


@dataclass
class Watch:
    """What a program must not touch: a secret, a folder, this process, a port."""

    executor: CodeExecutor
    folder: Path
    listener: socket.socket
    processes: Callable[[CodeExecutor], set[int]]

    def run(self, code: str, timeout_s: float | None = None) -> CodeOutcome:
        """Run a program that may name SECRET, TARGET, PORT, PARENT and SERVER, and check that nothing got out."""
        before = self.processes(self.executor)
        names = {
            "SECRET": str(self.folder / "secret"),
            "TARGET": str(self.folder / "new"),
            "PORT": self.listener.getsockname()[1],
            "PARENT": os.getpid(),
            "SERVER": self.executor._servers[0].process_id,
        }
        outcome = self.executor.run(code, "exec", names, timeout_s)
        seen = f"{outcome.value!r} {outcome.stdout} {outcome.stderr} {outcome.error!r}"
        assert SECRET not in seen
        assert [p.name for p in self.folder.iterdir()] == ["secret"]
        assert (self.folder / "secret").read_text() == SECRET
        assert (self.folder / "secret").stat().st_mode & 0o777 == 0o644
        with pytest.raises(BlockingIOError):
            self.listener.accept()
        assert self.processes(self.executor) == before
        assert self.executor.run("1 + 1", "eval").value == 2
        return outcome


@pytest.fixture
def watch(executor: CodeExecutor, tmp_path: Path, processes_of: Callable[[CodeExecutor], set[int]]) -> Iterator[Watch]:
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    secret.chmod(0o644)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield Watch(executor, tmp_path, listener, processes_of)


@pytest.fixture(scope="session")
def x86_64() -> None:
    if platform.machine() != "x86_64":
        pytest.skip("written for the system call numbers of x86_64")
