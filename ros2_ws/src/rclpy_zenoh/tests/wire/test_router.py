"""The router: absent, late, killed, restarted, a second one on its port; and what listens where."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from wire_support import LATCHED, PATIENCE_S, RELIABLE, Peer, SetBool, String, wait_until

from rclpy_zenoh.wire import RouterProcess, SessionError, SessionOptions, WireSession, open_session, start_router

ROUTER = [sys.executable, "-m", "rclpy_zenoh.router"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def run_router(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*ROUTER, *arguments], env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def port_of(router: RouterProcess) -> int:
    return int(router.endpoint.rpartition(":")[2])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def kill(router: RouterProcess) -> None:
    os.kill(router.pid, signal.SIGKILL)
    router.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_says_one_line_and_ends_with_a_signal(number: signal.Signals) -> None:
    process = subprocess.Popen([*ROUTER, "--port", "0"], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("ready tcp/127.0.0.1:")
    assert int(line.rpartition(":")[2]) > 0
    process.send_signal(number)
    rest, _ = process.communicate(timeout=PATIENCE_S)
    assert (rest, process.returncode) == ("", 0)


def test_a_router_that_is_a_child_ends_when_its_parent_is_gone() -> None:
    program = "import os, sys; from rclpy_zenoh.wire import start_router; print(start_router().pid); sys.stdout.flush()"
    parent = subprocess.Popen(
        [sys.executable, "-c", f"{program}; os.kill(os.getpid(), 9)"],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
    )
    output, _ = parent.communicate(timeout=PATIENCE_S)
    child = Path(f"/proc/{int(output)}/stat")

    def ended() -> bool:  # nobody may have waited for it yet
        try:
            return child.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
        except OSError:
            return True

    wait_until(ended)


def test_a_second_router_on_the_port_says_so_in_one_sentence(router: RouterProcess) -> None:
    second = run_router("--port", str(port_of(router)))
    assert second.returncode == 2
    assert second.stdout == ""
    assert second.stderr == (
        f"Port {port_of(router)} of 127.0.0.1 is taken, perhaps by another router: "
        "use that one, or choose a port with --port.\n"
    )
    with pytest.raises(SessionError, match="is taken"):
        start_router(port_of(router))


def test_a_port_that_another_program_has_is_taken_too() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = run_router("--port", str(other.getsockname()[1]))
    assert taken.returncode == 2
    assert "is taken" in taken.stderr


@pytest.mark.parametrize("port", ["-1", "65536", "x", "9" * 5000])
def test_a_wrong_port_is_refused(port: str) -> None:
    wrong = run_router(f"--port={port}")
    assert wrong.returncode == 2
    assert "a port is a number from 0 to 65535" in wrong.stderr


def test_without_a_router_there_is_one_warning_and_sessions_meet_when_it_comes(
    new_session: Callable[[SessionOptions], WireSession],
    new_peer: Callable[[SessionOptions], Peer],
    wire_log: pytest.LogCaptureFixture,
) -> None:
    port = free_port()
    options = SessionOptions(domain=1, router=f"tcp/127.0.0.1:{port}")
    session = new_session(options)
    peer = new_peer(options)
    peer.ask("serve", service="/switch")
    (warning,) = wire_log.records
    assert warning.levelno == logging.WARNING
    assert warning.getMessage() == (
        f"No router at tcp/127.0.0.1:{port}; start one with python -m rclpy_zenoh.router. Waiting for it."
    )
    assert not session.wait_for_router(0.05)
    client = session.create_node("here").create_client("/switch", SetBool, RELIABLE, lambda: None)
    assert session.graph.count("service", "/switch") == 0
    with start_router(port):
        assert session.wait_for_router(PATIENCE_S)
        wait_until(client.service_is_ready)
        assert len(peer.ask("nodes", count=2)) == 2
    assert len(wire_log.records) == 1


def test_latched_messages_from_before_sessions_met_arrive_when_they_do(
    new_session: Callable[[SessionOptions], WireSession], new_peer: Callable[[SessionOptions], Peer]
) -> None:
    port = free_port()
    options = SessionOptions(domain=3, router=f"tcp/127.0.0.1:{port}")
    subscription = new_session(options).create_node("here").create_subscription("/map", String, LATCHED, lambda: None)
    peer = new_peer(options)
    peer.ask("advertise", topic="/map", qos=[1, 1, 1, 3])
    peer.ask("publish", topic="/map", texts=["from before"])
    with start_router(port):
        assert wait_until(subscription.take_message)[0].data == "from before"


def test_a_session_without_a_router_hears_only_itself(
    new_session: Callable[[SessionOptions], WireSession], wire_log: pytest.LogCaptureFixture
) -> None:
    session = new_session(SessionOptions(router=None))
    node = session.create_node("here")
    subscription = node.create_subscription("/chatter", String, RELIABLE, lambda: None)
    node.create_publisher("/chatter", String, RELIABLE).publish(String(data="me"))
    assert wait_until(subscription.take_message)[0].data == "me"
    assert wire_log.records == []
    assert not session.has_router()


def test_who_has_met_goes_on_without_the_router_and_new_ones_meet_when_it_is_back(
    new_session: Callable[[SessionOptions], WireSession], new_peer: Callable[[SessionOptions], Peer]
) -> None:
    first = start_router(free_port())
    options = SessionOptions(domain=2, router=first.endpoint)
    session, old = new_session(options), new_peer(options)
    old.ask("serve", service="/old")
    old.ask("keep_answering", service="/old")
    node = session.create_node("here")
    ready = [node.create_client(name, SetBool, RELIABLE, lambda: None) for name in ("/old", "/new")]
    wait_until(ready[0].service_is_ready)
    kill(first)
    wait_until(lambda: not session.has_router())
    number = ready[0].send_request(SetBool.Request(data=True))
    assert wait_until(ready[0].take_response) == (number, SetBool.Response(success=True, message="served"))
    assert len(session.graph.get_nodes()) == 2
    new = new_peer(options)
    new.ask("serve", service="/new")
    assert not ready[1].service_is_ready()
    with start_router(port_of(first)):
        wait_until(ready[1].service_is_ready)
        number = ready[1].send_request(SetBool.Request(data=True))
        assert new.ask("answer", service="/new", count=1) == 1
        assert wait_until(ready[1].take_response) == (number, SetBool.Response(success=True, message="served"))
        assert len(old.ask("nodes", count=3)) == 3


def listening(pid: int) -> set[tuple[str, int]]:
    """Address (hexadecimal, as the kernel writes it) and port of each socket on which a process listens."""
    inodes = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(descriptor)
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    found = set()
    for table, states in (("tcp", {"0A"}), ("tcp6", {"0A"}), ("udp", {"07"}), ("udp6", {"07"})):
        for line in Path(f"/proc/{pid}/net/{table}").read_text(encoding="utf-8").splitlines()[1:]:
            fields = line.split()
            address, port = fields[1].split(":")
            if fields[9] in inodes and fields[3] in states:
                found.add((address, int(port, 16)))
    return found


LOOPBACK = "0100007F"


def test_router_and_sessions_listen_on_loopback_only(session: WireSession, router: RouterProcess, peer: Peer) -> None:
    node = session.create_node("here")
    node.create_publisher("/chatter", String, RELIABLE)
    peer.ask("subscribe", topic="/chatter", qos=[1, 2, 1, 10])
    assert listening(router.pid) == {(LOOPBACK, port_of(router))}
    for pid in (os.getpid(), peer.process.pid):
        sockets = listening(pid)
        assert sockets
        assert {address for address, _ in sockets} == {LOOPBACK}


def test_a_client_of_the_router_sees_the_graph_and_listens_on_nothing(
    session: WireSession, options: SessionOptions
) -> None:
    session.create_node("here")
    before = listening(os.getpid())
    visitor = open_session(replace(options, client=True))
    try:
        wait_until(lambda: ("here", "/", "/") in visitor.graph.get_nodes())
        visitor.create_node("visitor")
        wait_until(lambda: ("visitor", "/", "/") in session.graph.get_nodes())
        assert listening(os.getpid()) == before
        assert visitor.zid not in {str(zid) for zid in session.zenoh.info.peers_zid()}
    finally:
        visitor.close()
    wait_until(lambda: ("visitor", "/", "/") not in session.graph.get_nodes())


def test_a_client_without_a_router_is_told() -> None:
    with pytest.raises(SessionError, match=r"no router answers at tcp/127\.0\.0\.1:1\."):
        open_session(SessionOptions(router="tcp/127.0.0.1:1", client=True))
