"""Services and clients in one process, on one executor."""

from __future__ import annotations

import threading

import pytest
from example_interfaces.srv import AddTwoInts
from harness import DEADLINE
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.exceptions import InvalidHandle
from rclpy.task import Future
from std_msgs.msg import Int32
from std_srvs.srv import Empty, SetBool, Trigger


def add(request, response):
    response.sum = request.a + request.b
    return response


@pytest.fixture
def adder(ros):
    """A node with the service `add` and a client of it that is ready."""
    node = ros.node()
    node.create_service(AddTwoInts, "add", add)
    client = node.create_client(AddTwoInts, "add")
    ros.spin_until(client.service_is_ready, "the service")
    return client


def test_an_asynchronous_call(ros, adder):
    future = adder.call_async(AddTwoInts.Request(a=2, b=3))
    assert not future.done()
    response = ros.result(future)
    assert type(response) is AddTwoInts.Response
    assert response.sum == 5


def test_many_calls_at_once_get_their_own_answers(ros, adder):
    futures = [adder.call_async(AddTwoInts.Request(a=number, b=1000)) for number in range(10)]
    ros.spin_until(lambda: all(future.done() for future in futures), "10 answers")
    assert [future.result().sum for future in futures] == [1000 + number for number in range(10)]


def test_two_clients_get_their_own_answers(ros, adder):
    other = ros.node("other").create_client(AddTwoInts, "add")
    ros.spin_until(other.service_is_ready, "the service")
    futures = [client.call_async(AddTwoInts.Request(a=a, b=0)) for a in range(5) for client in (adder, other)]
    ros.spin_until(lambda: all(future.done() for future in futures), "10 answers")
    assert [future.result().sum for future in futures] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_an_empty_service_and_one_with_text(ros):
    node = ros.node()
    calls: list[str] = []

    def trigger(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        calls.append("trigger")
        response.success, response.message = True, "größer " * 100_000
        return response

    def empty(request: Empty.Request, response: Empty.Response) -> Empty.Response:
        calls.append("empty")
        return response

    node.create_service(Trigger, "trigger", trigger)
    node.create_service(Empty, "empty", empty)
    clients = node.create_client(Trigger, "trigger"), node.create_client(Empty, "empty")
    ros.spin_until(lambda: all(client.service_is_ready() for client in clients), "the services")
    response = ros.result(clients[0].call_async(Trigger.Request()))
    assert response.success
    assert response.message == "größer " * 100_000
    assert ros.result(clients[1].call_async(Empty.Request())) == Empty.Response()
    assert calls == ["trigger", "empty"]


def test_a_new_response_may_be_returned(ros):
    node = ros.node()
    node.create_service(SetBool, "set", lambda request, response: SetBool.Response(success=request.data, message="new"))
    client = node.create_client(SetBool, "set")
    ros.spin_until(client.service_is_ready, "the service")
    assert ros.result(client.call_async(SetBool.Request(data=True))) == SetBool.Response(success=True, message="new")


def test_a_service_may_be_a_coroutine(ros):
    node = ros.node()
    gate = Future()

    async def later(request, response):
        response.sum = request.a + await gate
        return response

    node.create_service(AddTwoInts, "add", later)
    client = node.create_client(AddTwoInts, "add")
    ros.spin_until(client.service_is_ready, "the service")
    future = client.call_async(AddTwoInts.Request(a=1))
    ros.spin_for(0.2)
    assert not future.done()
    gate.set_result(41)
    assert ros.result(future).sum == 42


@pytest.mark.parametrize("wrong", [AddTwoInts.Response(), AddTwoInts, None, Int32()], ids=repr)
def test_a_request_of_the_wrong_type_is_a_type_error(adder, wrong):
    with pytest.raises(TypeError):
        adder.call_async(wrong)
    with pytest.raises(TypeError):
        adder.call(wrong)


@pytest.mark.parametrize("wrong", [Int32, "std_srvs/srv/Empty", AddTwoInts.Request], ids=repr)
def test_only_service_classes_make_services_and_clients(ros, wrong):
    node = ros.node()
    with pytest.raises((AttributeError, RuntimeError, TypeError)):
        node.create_service(wrong, "add", add)
    with pytest.raises((AttributeError, RuntimeError, TypeError)):
        node.create_client(wrong, "add")


@pytest.mark.parametrize("wrong", [None, 5, AddTwoInts.Request()], ids=repr)
def test_a_response_of_the_wrong_type_is_a_type_error_out_of_spin(ros, wrong):
    node = ros.node()
    node.create_service(AddTwoInts, "add", lambda request, response: wrong)
    client = node.create_client(AddTwoInts, "add")
    ros.spin_until(client.service_is_ready, "the service")
    future = client.call_async(AddTwoInts.Request())
    with pytest.raises(TypeError):
        ros.spin_until(future.done, "the exception")
    assert not future.done()


def test_a_service_s_exception_comes_out_of_spin_and_its_client_gets_nothing(ros):
    node = ros.node()

    def divide(request, response):
        response.sum = request.a // request.b
        return response

    node.create_service(AddTwoInts, "divide", divide)
    client = node.create_client(AddTwoInts, "divide")
    ros.spin_until(client.service_is_ready, "the service")
    failing = client.call_async(AddTwoInts.Request(a=1, b=0))
    with pytest.raises(ZeroDivisionError):
        ros.spin_until(lambda: False, "the exception")
    ros.spin_for()
    assert not failing.done()
    assert ros.result(client.call_async(AddTwoInts.Request(a=6, b=3))).sum == 2
    assert not failing.done()


def test_without_a_server_nothing_comes(ros):
    client = ros.node().create_client(AddTwoInts, "nobody")
    assert not client.service_is_ready()
    assert client.wait_for_service(timeout_sec=0.1) is False
    future = client.call_async(AddTwoInts.Request())
    ros.spin_for()
    assert not future.done()
    client.remove_pending_request(future)


def test_wait_for_service_returns_when_it_is_there(ros):
    client = ros.node().create_client(AddTwoInts, "add")
    server = ros.node("server")
    timer = threading.Timer(0.2, lambda: server.create_service(AddTwoInts, "add", add))
    timer.start()
    assert client.wait_for_service(timeout_sec=DEADLINE) is True
    timer.join(DEADLINE)
    assert client.service_is_ready()


def test_readiness_follows_the_server(ros, adder):
    node = ros.node("second")
    service = node.create_service(Empty, "short_lived", lambda request, response: response)
    client = node.create_client(Empty, "short_lived")
    ros.spin_until(client.service_is_ready, "the service")
    assert node.destroy_service(service)
    ros.spin_until(lambda: not client.service_is_ready(), "the service to be gone")
    node.create_service(Empty, "short_lived", lambda request, response: response)
    ros.spin_until(client.service_is_ready, "the service again")
    assert ros.result(client.call_async(Empty.Request())) == Empty.Response()


def test_a_reply_that_nobody_waits_for_is_never_given_to_the_next_call(ros):
    node = ros.node()
    gates = {1: Future(), 2: Future()}
    asked: list[int] = []

    async def later(request, response):
        asked.append(request.a)
        await gates[request.a]
        response.sum = 100 * request.a
        return response

    node.create_service(AddTwoInts, "slow", later, callback_group=ReentrantCallbackGroup())
    client = node.create_client(AddTwoInts, "slow", callback_group=ReentrantCallbackGroup())
    ros.spin_until(client.service_is_ready, "the service")
    given_up = client.call_async(AddTwoInts.Request(a=1))
    ros.spin_until(lambda: asked == [1], "the first request at the server")
    client.remove_pending_request(given_up)
    waiting = client.call_async(AddTwoInts.Request(a=2))
    ros.spin_until(lambda: asked == [1, 2], "the second request at the server")
    gates[1].set_result(None)
    ros.spin_for()
    assert not waiting.done()
    assert not given_up.done()
    gates[2].set_result(None)
    assert ros.result(waiting).sum == 200
    assert not given_up.done()


def test_calling_after_destruction_is_an_error(ros, adder):
    node = ros.node("second")
    client = node.create_client(AddTwoInts, "add")
    assert node.destroy_client(client)
    with pytest.raises(InvalidHandle):
        client.call_async(AddTwoInts.Request())
    assert ros.result(adder.call_async(AddTwoInts.Request(a=1))).sum == 1


def test_done_callbacks_of_a_call_run_in_the_executor_s_thread(ros, adder):
    seen: list[tuple[int, str]] = []
    future = adder.call_async(AddTwoInts.Request(a=1, b=1))
    future.add_done_callback(lambda done: seen.append((done.result().sum, threading.current_thread().name)))
    ros.spin_until(lambda: seen, "the done callback")
    assert seen == [(2, threading.current_thread().name)]
