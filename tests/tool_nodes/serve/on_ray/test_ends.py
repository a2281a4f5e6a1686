"""Nothing is left of a service: by Ctrl-C, by `down`, and after whoever kept it was killed."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.sockets import listening, only_loopback
from tests.tool_nodes.serve.conftest import a_folder
from toolhand.tool_nodes.results import Cause, ErrorCode, ToolError
from toolhand.tool_nodes.serve import processes, service_file
from toolhand.tool_nodes.serve.calling import connect, disconnect
from toolhand.tool_nodes.serve.cluster import ServiceSupervisor, take_down
from toolhand.tool_nodes.serve.config import parse_config
from toolhand.tool_nodes.toolbox.images import SessionImage

TINY = """
ports: {pointer: {backend: obedient}, quick: {port: pointer, backend: obedient, run: serve}}
cluster: {cpus: 1, store_gb: 0.1}
"""


def test_what_is_started_here_is_asked_by_this_machine_alone_and_ends_when_its_note_is_gone() -> None:
    disconnect()
    with a_folder() as running:
        service = running.up(TINY)
        assert service.address.startswith("127.0.0.1:")
        for name in ("pointer", "quick"):
            connect().call(name, SessionImage(np.zeros((8, 8, 3), np.uint8)), "x")
        everything = [service.keeper, os.getpid(), *processes.of_service(service)]
        assert len(listening(everything)) >= 5  # its head, its node, an agent, a worker, this process
        assert only_loopback(everything), listening(everything)
        assert processes.keeps(service)
        assert not (Path(tempfile.gettempdir()) / "ray").exists()
        disconnect()
        service_file.forget(Path(service.folder))
        until = time.monotonic() + 60.0
        while processes.of_service(service) and time.monotonic() < until:
            time.sleep(0.1)
        assert processes.of_service(service) == []


def test_down_leaves_no_process_also_after_its_keeper_was_killed() -> None:
    disconnect()
    with a_folder() as running:
        service = running.up(TINY)
        assert len(processes.of_service(service)) > 3
        os.kill(service.keeper, signal.SIGKILL)
        until = time.monotonic() + 30.0
        while processes.began(service.keeper) == service.began and time.monotonic() < until:
            time.sleep(0.05)
        done = running.toolhand("serve", "down")
        assert (done.returncode, "has ended" in done.stderr) == (0, True)
        assert processes.of_service(service) == []
        assert service_file.noted() is None
        assert not (Path(service.folder) / "ray").exists()
        again = running.toolhand("serve", "down")
        assert (again.returncode, again.stderr) == (0, "Nothing is served here.\n")


@contextmanager
def a_cluster(folder: Path, mode: str = "token") -> Iterator[tuple[str, dict[str, str]]]:
    """Somebody else's cluster: its address, and what has to be in the environment of who joins it. All of it is ended
    afterwards."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ray = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", f"--port={port}", "--num-cpus=2", "--block"]
    ray += ["--include-dashboard=false", "--disable-usage-stats", f"--temp-dir={folder / 'r'}"]
    ray += ["--node-ip-address=127.0.0.1", "--object-store-memory=100000000"]
    mark = service_file.ServiceNote("another-cluster", "", 0, str(folder), own=True)
    token = folder / "token"
    token.write_text("7" * 64, encoding="ascii")
    asked = {"RAY_AUTH_MODE": mode, "RAY_AUTH_TOKEN_PATH": str(token)}  # by default, from Ray 2.60 on
    started = subprocess.Popen(ray, env=os.environ | asked | {service_file.MARK: mark.id}, stdout=subprocess.DEVNULL)
    try:
        yield f"127.0.0.1:{port}", asked
    finally:
        started.kill()
        started.wait()
        assert processes.end_all(mark) == 0


def test_on_a_cluster_of_somebody_else_only_what_is_served_is_taken_down(monkeypatch: pytest.MonkeyPatch) -> None:
    disconnect()
    with a_folder() as running, a_cluster(running.folder) as (address, asked):
        _await(address)
        served = "ports: {pointer: obedient, quick: {port: pointer, backend: obedient, run: serve}}"
        with pytest.raises(AssertionError, match=f"The cluster at {address} asks for its token"):
            running.up(served, "--address", address)
        for name, value in asked.items():
            monkeypatch.setenv(name, value)
        service = running.up(served, "--address", address)
        assert (service.address, service.own) == (address, False)
        for name in ("pointer", "quick"):
            assert connect().call(name, SessionImage(np.zeros((8, 8, 3), np.uint8)), "x").value == [(1.0, 1.0)]
        disconnect()
        assert running.toolhand("serve", "down").returncode == 0
        look = "import ray; ray.init({!r}); print(ray.util.list_named_actors(all_namespaces=True), len(ray.nodes()))"
        told = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", look.format(address)], capture_output=True, text=True, check=True
        )
        assert "toolhand" not in told.stdout
        assert told.stdout.strip().endswith(" 1")


def test_a_cluster_that_asks_nobody_for_a_token_is_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    disconnect()
    with a_folder() as running, a_cluster(running.folder, mode="disabled") as (address, asked):
        _await(address)
        for mode in ("disabled", "token"):
            monkeypatch.setenv("RAY_AUTH_MODE", mode)
            monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", asked["RAY_AUTH_TOKEN_PATH"])
            with pytest.raises(AssertionError, match=f"The cluster at {address} asks nobody for a token"):
                running.up("ports: {pointer: obedient}", "--address", address)
            assert running.toolhand("serve", "down").returncode == 0


def _await(address: str) -> None:
    host, port = address.split(":")
    until = time.monotonic() + 120.0
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex((host, int(port))) == 0:
                return
        time.sleep(0.2)
    raise AssertionError("the other cluster does not start")


def test_without_a_service_a_served_port_says_how_to_start_one() -> None:
    disconnect()
    with (
        a_folder(),
        pytest.raises(ToolError, match="Start it with: toolhand serve up") as caught,
    ):
        connect()
    assert (caught.value.code, caught.value.cause) == (ErrorCode.UNAVAILABLE, Cause.NOT_SERVED)


def test_a_port_in_use_is_told_and_nothing_is_left() -> None:
    disconnect()
    with a_folder(), socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        keeper = ServiceSupervisor(parse_config({"ports": {"pointer": "pixels"}, "cluster": {"port": port}}))
        try:
            with pytest.raises(ToolError, match=f"The port {port} is in use"):
                keeper.start()
        finally:
            keeper.close()
        assert processes.of_service(keeper.service) == []
        assert service_file.noted() is None


def test_marked_processes_are_found_and_ended_and_no_others() -> None:
    sleep = [sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"]
    marked = subprocess.Popen(sleep, env=os.environ | {service_file.MARK: "a-service"}, stdout=subprocess.PIPE)
    other = subprocess.Popen(sleep, env=os.environ | {service_file.MARK: "a-service-2"}, stdout=subprocess.PIPE)
    service = service_file.ServiceNote("a-service", "", os.getpid(), "/nowhere", own=True)
    try:
        for process in (marked, other):
            assert process.stdout is not None
            process.stdout.readline()
        assert processes.of_service(service) == [marked.pid]
        assert processes.end_all(service) == 0
        assert marked.wait(10) == -signal.SIGKILL
        assert other.poll() is None
    finally:
        for process in (marked, other):
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def test_a_number_that_is_used_again_is_another_process() -> None:
    processes.end(os.getpid(), -1, 1.0)  # it would have ended this one
    assert processes.began(os.getpid()) is not None
    assert processes.began(2**22 + 1) is None


def test_a_service_that_was_noted_and_is_none_any_more_is_forgotten() -> None:
    with a_folder() as running:
        here = service_file.private(service_file.folder())
        gone = service_file.ServiceNote("gone", "127.0.0.1:9", 2**22 + 1, str(here), own=True, began=1)
        service_file.note(gone)
        with pytest.raises(ToolError, match="still being started"):
            service_file.running_service()
        gone = replace(gone, ready=True)
        service_file.note(gone)
        assert service_file.running_service() == gone
        assert take_down() == gone
        assert service_file.noted() is None
        assert oct(here.stat().st_mode)[-3:] == "700"
        (here / "service.json").write_text("{")
        with pytest.raises(ToolError, match="cannot be read"):
            service_file.noted()
        (here / "service.json").unlink()
        del running
