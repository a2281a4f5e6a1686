"""Services between processes: answers, their order, forgotten and missing ones, servers that go away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import zenoh
from wire_support import RELIABLE, Peer, SetBool, String, wait_until

from rclpy_zenoh.interfaces import get_class
from rclpy_zenoh.wire import Qos, SessionOptions, WireClient, WireError, WireService, WireSession
from rclpy_zenoh.wire import client as client_module


class Client:
    """A client whose answers can be waited for."""

    def __init__(self, session: WireSession, service: str = "/switch") -> None:
        self.ready = threading.Semaphore(0)
        node = session.create_node("here")
        self.wire: WireClient = node.create_client(service, SetBool, RELIABLE, self.ready.release)

    def send(self, data: bool = True) -> int:
        return self.wire.send_request(SetBool.Request(data=data))

    def answer(self) -> tuple[int, Any]:
        assert self.ready.acquire(timeout=20)
        taken = self.wire.take_response()
        assert taken is not None
        return taken

    def wait_for_service(self) -> None:
        wait_until(self.wire.service_is_ready)


def local_service(session: WireSession, qos: Qos = RELIABLE) -> tuple[WireService, threading.Semaphore]:
    ready = threading.Semaphore(0)
    service = session.create_node("server").create_service("/switch", SetBool, qos, ready.release)
    return service, ready


def test_a_call_is_answered_by_another_process(session: WireSession, peer: Peer) -> None:
    peer.ask("serve", service="/switch")
    client = Client(session)
    client.wait_for_service()
    for number, data in enumerate((True, False, True), 1):
        assert client.send(data) == number
        assert peer.ask("answer", service="/switch", count=1) == 1
        assert client.answer() == (number, SetBool.Response(success=data, message="served"))
    assert client.wire.take_response() is None


def test_another_process_is_answered(session: WireSession, peer: Peer) -> None:
    service, ready = local_service(session)

    def serve() -> None:
        assert ready.acquire(timeout=20)
        taken = service.take_request()
        assert taken is not None
        request, header = taken
        service.send_response(header, SetBool.Response(success=not request.data, message="no"))

    thread = threading.Thread(target=serve)
    thread.start()
    assert peer.ask("client", service="/switch")
    assert peer.ask("call", service="/switch", data=True) == [False, "no"]
    thread.join(20)


def test_a_session_can_call_itself(session: WireSession) -> None:
    service, ready = local_service(session)
    client = Client(session)
    client.wait_for_service()
    number = client.send()
    assert ready.acquire(timeout=20)
    request, header = wait_until(service.take_request)
    assert request == SetBool.Request(data=True)
    assert (header.client_gid, header.sequence_number) == (client.wire.gid, number)
    assert 0 < header.source_timestamp_ns <= header.received_timestamp_ns
    service.send_response(header, SetBool.Response(message="me"))
    assert client.answer() == (number, SetBool.Response(message="me"))


def test_answers_in_another_order_find_their_requests(session: WireSession, peer: Peer) -> None:
    peer.ask("serve", service="/switch")
    client = Client(session)
    client.wait_for_service()
    sent = {client.send(bool(index % 2)): bool(index % 2) for index in range(12)}
    assert peer.ask("hold", service="/switch", count=12) == 12
    assert peer.ask("release", service="/switch") == 12
    answers = dict(client.answer() for _ in range(12))
    assert {number: response.success for number, response in answers.items()} == sent


def test_many_clients_and_threads_get_their_own_answers(
    options: SessionOptions, session: WireSession, new_session: Callable[[SessionOptions], WireSession]
) -> None:
    keep_all = Qos(1, 2, 2, 0)
    service, ready = local_service(session, keep_all)
    closing = threading.Event()

    def serve() -> None:
        while ready.acquire(timeout=20) and not closing.is_set():
            taken = service.take_request()
            if taken is not None:
                request, header = taken
                service.send_response(header, SetBool.Response(success=request.data, message=header.client_gid.hex()))

    servers = [threading.Thread(target=serve) for _ in range(3)]
    clients = [Client(new_session(options)) for _ in range(3)]
    wrong: list[Any] = []

    def call(client: Client, data: bool) -> None:
        client.wait_for_service()
        for _ in range(60):
            number = client.send(data)
            if client.answer() != (number, SetBool.Response(success=data, message=client.wire.gid.hex())):
                wrong.append(number)

    callers = [threading.Thread(target=call, args=(client, bool(i % 2))) for i, client in enumerate(clients)]
    for thread in (*servers, *callers):
        thread.start()
    for thread in callers:
        thread.join(30)
    closing.set()
    for _ in servers:
        ready.release()
    for thread in servers:
        thread.join(20)
    assert wrong == []


def test_without_a_server_there_is_an_error_at_once(session: WireSession) -> None:
    client = Client(session)
    assert not client.wire.service_is_ready()
    number = client.send()
    answered, error = client.answer()
    assert answered == number
    assert isinstance(error, WireError)
    assert str(error).startswith("/switch: no reply: no server")


def test_a_forgotten_answer_never_comes_also_not_to_the_next_call(session: WireSession, peer: Peer) -> None:
    peer.ask("serve", service="/switch")
    client = Client(session)
    client.wait_for_service()
    first = client.send(False)
    peer.ask("hold", service="/switch", count=1)
    client.wire.forget(first)
    second = client.send(True)
    assert peer.ask("release", service="/switch") == 1
    assert peer.ask("answer", service="/switch", count=1) == 1
    assert client.answer() == (second, SetBool.Response(success=True, message="served"))
    assert client.wire.take_response() is None


def test_an_answer_that_is_in_the_queue_can_be_forgotten(session: WireSession, peer: Peer) -> None:
    peer.ask("serve", service="/switch")
    client = Client(session)
    client.wait_for_service()
    number = client.send()
    peer.ask("answer", service="/switch", count=1)
    assert client.ready.acquire(timeout=20)
    client.wire.forget(number)
    assert client.wire.take_response() is None


def test_a_server_killed_during_a_call_is_noticed(session: WireSession, peer: Peer) -> None:
    peer.ask("serve", service="/switch")
    client = Client(session)
    client.wait_for_service()
    number = client.send()
    peer.ask("hold", service="/switch", count=1)
    peer.kill()
    answered, error = client.answer()
    assert answered == number
    assert isinstance(error, WireError)
    wait_until(lambda: not client.wire.service_is_ready())
    wait_until(lambda: session.graph.count("service", "/switch") == 0)


def test_a_server_that_comes_back_is_found(
    session: WireSession, options: SessionOptions, new_peer: Callable[[SessionOptions], Peer]
) -> None:
    client = Client(session)
    for _ in range(2):
        peer = new_peer(options)
        peer.ask("serve", service="/switch")
        client.wait_for_service()
        number = client.send()
        assert peer.ask("answer", service="/switch", count=1) == 1
        assert client.answer() == (number, SetBool.Response(success=True, message="served"))
        peer.kill()
        wait_until(lambda: not client.wire.service_is_ready())


def test_a_client_killed_during_a_call_does_not_disturb_the_server(session: WireSession, peer: Peer) -> None:
    service, ready = local_service(session)
    peer.ask("client", service="/switch")
    peer.begin("call", service="/switch", data=True)
    assert ready.acquire(timeout=20)
    _, header = wait_until(service.take_request)
    peer.kill()
    wait_until(lambda: session.graph.count("client", "/switch") == 0)
    service.send_response(header, SetBool.Response())
    client = Client(session)
    client.wait_for_service()
    number = client.send()
    _, header = wait_until(service.take_request)
    service.send_response(header, SetBool.Response(success=True))
    assert client.answer() == (number, SetBool.Response(success=True))


def test_a_service_that_closes_ends_the_calls_that_wait_for_it(session: WireSession, peer: Peer) -> None:
    peer.ask("serve", service="/switch")
    client = Client(session)
    client.wait_for_service()
    numbers = {client.send() for _ in range(4)}
    assert peer.ask("hold", service="/switch", count=2) == 2  # two are taken, two are still in its queue
    peer.ask("close", name="/switch")
    answers = dict(client.answer() for _ in range(4))
    assert set(answers) == numbers
    assert all(isinstance(answer, WireError) for answer in answers.values())
    assert peer.ask("release", service="/switch") == 2  # answers after closing are ignored
    wait_until(lambda: not client.wire.service_is_ready())


def test_a_full_queue_drops_the_oldest_request_and_its_client_hears_of_it(
    session: WireSession, wire_log: pytest.LogCaptureFixture
) -> None:
    service, _ = local_service(session, Qos(1, 2, 1, 2))
    client = Client(session)
    client.wait_for_service()
    first, second, third = client.send(), client.send(), client.send()
    answered, error = client.answer()
    assert answered == first
    assert isinstance(error, WireError)
    assert "the oldest request, because the queue is full" in wire_log.text
    for number in (second, third):
        _, header = wait_until(service.take_request)
        assert header.sequence_number == number
        service.send_response(header, SetBool.Response())
        service.send_response(header, SetBool.Response())  # a second answer is ignored
        assert client.answer() == (number, SetBool.Response())


def test_sending_does_not_wait_for_a_busy_server(session: WireSession, peer: Peer) -> None:
    peer.ask("serve", service="/switch")
    client = Client(session)
    client.wait_for_service()
    numbers = [client.send() for _ in range(50)]  # nobody takes them meanwhile
    assert peer.ask("hold", service="/switch", count=50) == 50
    peer.ask("release", service="/switch")
    assert sorted(client.answer()[0] for _ in numbers) == numbers


def test_a_call_that_takes_too_long_gets_an_error(
    session: WireSession, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "QUERY_TIMEOUT_S", 0.2)
    peer.ask("serve", service="/switch")
    client = Client(session)
    client.wait_for_service()
    number = client.send()
    answered, error = client.answer()
    assert answered == number
    assert str(error) == "/switch: no reply: Timeout."
    peer.ask("hold", service="/switch", count=1)
    peer.ask("release", service="/switch")
    monkeypatch.undo()
    assert client.wire.take_response() is None


def test_the_result_of_an_action_may_take_longer_than_other_calls(
    session: WireSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "QUERY_TIMEOUT_S", 0.05)
    result = get_class("example_interfaces/action/Fibonacci_GetResult")
    name = "/fibonacci/_action/get_result"
    node = session.create_node("both")
    ready = threading.Semaphore(0)
    service = node.create_service(name, result, RELIABLE, lambda: None)
    client = node.create_client(name, result, RELIABLE, ready.release)
    wait_until(client.service_is_ready)
    number = client.send_request(result.Request())
    _, header = wait_until(service.take_request)
    time.sleep(0.3)
    assert client.take_response() is None
    service.send_response(header, result.Response(status=4))
    assert ready.acquire(timeout=20)
    assert client.take_response() == (number, result.Response(status=4))


def test_a_server_of_another_type_does_not_count(session: WireSession) -> None:
    node = session.create_node("server")
    node.create_service("/switch", get_class("std_srvs/srv/Trigger"), RELIABLE, lambda: None)
    client = Client(session)
    assert session.graph.count("service", "/switch") == 1
    assert not client.wire.service_is_ready()


def test_a_server_that_only_the_graph_still_has_does_not_count(session: WireSession) -> None:
    """What is left of a process that was killed together with its router: a token, and nobody behind it."""
    client = Client(session)
    service, _ = local_service(session)
    client.wait_for_service()
    (entity,) = [e for e in session.graph._entities.values() if e.kind == "service"]
    service.close()
    another_zid = "0123456789abcdef0123456789abcdef"
    session.graph.on_token(entity.token.replace(session.zid, another_zid), alive=True)
    assert session.graph.count("service", "/switch") == 1
    assert not client.wire.service_is_ready()


def test_wrong_classes_are_refused(session: WireSession) -> None:
    node = session.create_node("here")
    with pytest.raises(WireError, match="needs a service class"):
        node.create_service("/switch", String, RELIABLE, lambda: None)
    with pytest.raises(WireError, match="needs a service class"):
        node.create_client("/switch", String, RELIABLE, lambda: None)
    service, _ = local_service(session)
    client = Client(session)
    with pytest.raises(WireError, match="Request class"):
        client.wire.send_request(SetBool.Response())
    client.wait_for_service()
    number = client.send()
    _, header = wait_until(service.take_request)
    with pytest.raises(WireError, match="Response class"):
        service.send_response(header, SetBool.Request())
    answered, error = client.answer()
    assert answered == number
    assert isinstance(error, WireError)
    client.wire.close()
    with pytest.raises(WireError, match="is closed"):
        client.send()


def test_a_closed_client_leaves_its_server_in_peace(session: WireSession, peer: Peer) -> None:
    peer.ask("serve", service="/switch")
    client = Client(session)
    client.wait_for_service()
    client.send()
    peer.ask("hold", service="/switch", count=1)
    client.wire.close()
    assert peer.ask("release", service="/switch") == 1
    assert not client.ready.acquire(timeout=0.2)


def test_a_client_with_a_former_clients_gid_goes_on_with_its_numbers(session: WireSession) -> None:
    node = session.create_node("here")
    gids, numbers = set(), []
    for _ in range(3):
        client = node.create_client("/switch", SetBool, RELIABLE, lambda: None)
        gids.add(client.gid)
        numbers.append(client.send_request(SetBool.Request()))
        client.close()
    assert len(gids) == 1
    assert numbers == [1, 2, 3]


def test_zenoh_says_matching_in_an_object(session: WireSession) -> None:
    """Its stub says bool; an object would always be true."""
    querier = session.zenoh.declare_querier("nobody/there")
    status: Any = querier.matching_status
    assert isinstance(status, zenoh.MatchingStatus)
    assert status.matching is False
