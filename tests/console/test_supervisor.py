"""The two processes of a console: none is left behind, pages come back, and without a stop server all of it ends."""

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import alive, until
from toolhand.console import supervisor
from toolhand.console.settings import ConsoleSettings
from toolhand.console.supervisor import ConsoleSupervisor
from toolhand.tool_nodes.results import ErrorCode, ToolError

PATIENCE_S = 30.0
"""A bound against hanging, not a promise [s]."""

CHILD = textwrap.dedent("""
    import json, os, socket, subprocess, sys, threading
    settings = json.loads(sys.stdin.readline())
    with open(os.environ["KEPT"], "a") as file:
        file.write(json.dumps({"name": __spec__.name, "pid": os.getpid(), **settings}) + "\\n")
    if os.environ.get("FAILS") == __spec__.name:
        sys.exit(3)
    listening = socket.socket(fileno=int(sys.argv[1]))
    if os.environ.get("ORPHAN") and not settings["anew"]:
        holds = [sys.executable, "-c", "import time; print(flush=True); time.sleep(1000)"]
        orphan = subprocess.Popen(holds, pass_fds=[listening.fileno()], stdout=subprocess.PIPE, start_new_session=True)
        orphan.stdout.readline()
        with open(os.environ["ORPHAN"], "a") as file:
            file.write(f"{orphan.pid}\\n")
    print("ready", flush=True)
    def serve():
        while True:
            listening.accept()[0].sendall(b"served")
    threading.Thread(target=serve, daemon=True).start()
    sys.stdin.read()
""")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ConsoleSupervisor]:
    for name in ("fake_stop", "fake_pages"):
        (tmp_path / f"{name}.py").write_text(CHILD)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("KEPT", str(tmp_path / "log"))
    monkeypatch.setattr(supervisor, "STOP_MODULE", "fake_stop")
    monkeypatch.setattr(supervisor, "PAGES_MODULE", "fake_pages")
    monkeypatch.setattr(supervisor, "AGAIN_S", 0.1)
    settings = ConsoleSettings(port=free_port(), stop_port=free_port(), approval_token="the operator's own")
    kept = ConsoleSupervisor(settings, print)
    yield kept
    kept.close()


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def test_pages_come_back_and_the_console_ends_with_its_stop_server(
    kept: ConsoleSupervisor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept.start()
    first = kept.pids()
    said = (tmp_path / "log").read_text().splitlines()
    assert ["the operator" in line for line in sorted(said)] == [True, False], "the stop server has no token"
    statuses: list[int] = []
    watching = threading.Thread(target=lambda: statuses.append(kept.watch()))
    watching.start()
    os.kill(first["pages"], signal.SIGKILL)
    until(lambda: kept.pids()["pages"] != first["pages"])
    assert kept.pids()["stop server"] == first["stop server"]
    assert alive(first["stop server"])
    until(lambda: len((tmp_path / "log").read_text().splitlines()) == 3)
    anew = [json.loads(line)["anew"] for line in (tmp_path / "log").read_text().splitlines()]
    assert anew == [False, False, True], "the pages know that they take the place of others"
    os.kill(first["stop server"], signal.SIGKILL)
    watching.join(PATIENCE_S)
    assert statuses == [-signal.SIGKILL]
    kept.close()
    assert not alive(kept.pids()["pages"])
    out = capsys.readouterr().out
    assert "The pages have ended (exit status -9) and are started anew." in out
    assert "The stop server has ended (exit status -9), and so does the console." in out


@pytest.mark.parametrize(("fails", "said"), [("fake_stop", "The stop server"), ("fake_pages", "The pages")])
def test_what_cannot_start_is_said_and_leaves_nothing(
    kept: ConsoleSupervisor, monkeypatch: pytest.MonkeyPatch, fails: str, said: str
) -> None:
    monkeypatch.setenv("FAILS", fails)
    with pytest.raises(ToolError, match=f"{said} could not be started: exit status 3") as failed:
        kept.start()
    assert failed.value.code is ErrorCode.UNAVAILABLE
    kept.close()
    assert not any(alive(process) for process in kept.pids().values())


def served(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connection:
        return connection.recv(8)


def test_pages_come_back_at_a_port_that_orphans_of_theirs_still_hold(
    kept: ConsoleSupervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their socket is the supervisor's: whoever else has it, and lives on, keeps nobody from being served."""
    monkeypatch.setenv("ORPHAN", str(tmp_path / "orphans"))
    kept.start()
    orphans = [int(line) for line in (tmp_path / "orphans").read_text().splitlines()]
    try:
        assert len(orphans) == 2
        watching = threading.Thread(target=kept.watch)
        watching.start()
        for _ in range(2):
            before = kept.pids()["pages"]
            os.kill(before, signal.SIGKILL)
            until(lambda before=before: not alive(before))
            assert served(kept.settings.port) == b"served", "who connects meanwhile waits"
            until(lambda before=before: kept.pids()["pages"] != before)
        assert all(map(alive, orphans))
        os.kill(kept.pids()["stop server"], signal.SIGKILL)
        watching.join(PATIENCE_S)
    finally:
        for orphan in orphans:
            os.kill(orphan, signal.SIGKILL)


def test_processes_end_with_a_command_that_is_killed(kept: ConsoleSupervisor, tmp_path: Path) -> None:
    program = textwrap.dedent(f"""
        import sys, time
        sys.path[:0] = {[str(tmp_path), str(Path(supervisor.__file__).parents[1])]!r}
        from toolhand.console import supervisor
        from toolhand.console.settings import ConsoleSettings
        supervisor.STOP_MODULE, supervisor.PAGES_MODULE = "fake_stop", "fake_pages"
        kept = supervisor.ConsoleSupervisor(ConsoleSettings(port={free_port()}, stop_port={free_port()}), print)
        kept.start()
        print(*kept.pids().values(), flush=True)
        time.sleep(1000)
    """)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None
        pids = [int(word) for word in command.stdout.readline().split()]
        assert len(pids) == 2
        command.kill()
        until(lambda: not any(map(alive, pids)))
