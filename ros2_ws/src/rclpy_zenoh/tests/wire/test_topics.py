"""Topics within a session and between processes: order, queues, latched messages, classes and closing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from wire_support import LATCHED, PATIENCE_S, RELIABLE, Peer, SetBool, String, wait_until

from rclpy_zenoh.interfaces import get_class, serialize
from rclpy_zenoh.wire import (
    Durability,
    History,
    InvalidNameError,
    Qos,
    QoSError,
    Reliability,
    SessionOptions,
    WireError,
    WireSession,
    WireSubscription,
)

QOS = [1, 2, 1, 10]
LATCHED_QOS = [1, 1, 1, 3]


def take_all(subscription: WireSubscription, count: int) -> list[str]:
    texts: list[str] = []

    def enough() -> bool:
        while (taken := subscription.take_message()) is not None:
            texts.append(taken[0].data)
        return len(texts) >= count

    wait_until(enough)
    return texts


def test_messages_reach_another_process_in_order(session: WireSession, peer: Peer) -> None:
    publisher = session.create_node("here").create_publisher("/chatter", String, RELIABLE)
    peer.ask("subscribe", topic="/chatter", qos=QOS)
    wait_until(lambda: publisher.subscription_count() == 1)
    texts = [f"text {number}" for number in range(8)]
    for text in texts:
        publisher.publish(String(data=text))
    assert peer.ask("take", topic="/chatter", count=8) == texts


def test_a_latched_subscription_has_no_token_that_nobody_reads(
    session: WireSession, options: SessionOptions, new_session: Callable[[SessionOptions], WireSession]
) -> None:
    # Zenoh 1.10 keeps 2 kB for each such token in every session of the graph, for ever.
    node, other = session.create_node("here"), new_session(options)

    def tokens(kind: str) -> list[str]:
        replies = other.zenoh.liveliness().get(f"{options.domain}/**/@adv/{kind}/**", timeout=PATIENCE_S)
        return [str(reply.ok.key_expr) for reply in replies if reply.ok is not None]

    publisher = node.create_publisher("/map", String, LATCHED)
    subscription = node.create_subscription("/map", String, LATCHED, lambda: None)
    publisher.publish(String(data="a map"))
    assert take_all(subscription, 1) == ["a map"]
    wait_until(lambda: other.graph.endpoints("subscription", "/map"))
    assert wait_until(lambda: tokens("pub")), "a subscription finds late publishers by theirs"
    assert tokens("sub") == []


def test_messages_come_from_another_process_with_their_origin(session: WireSession, peer: Peer) -> None:
    ready = threading.Semaphore(0)
    subscription = session.create_node("here").create_subscription("/chatter", String, RELIABLE, ready.release)
    before = time.time_ns()
    peer.ask("advertise", topic="/chatter", qos=QOS)
    peer.ask("publish", topic="/chatter", texts=["one", "two"], subscriptions=1)
    infos = []
    for text in ("one", "two"):
        assert ready.acquire(timeout=20)
        taken = subscription.take_message()
        assert taken is not None
        assert taken[0].data == text
        infos.append(taken[1])
    assert subscription.take_message() is None
    assert [info.publication_sequence_number for info in infos] == [1, 2]
    assert before < infos[0].source_timestamp_ns <= infos[0].received_timestamp_ns <= time.time_ns()
    (publisher,) = session.graph.endpoints("publisher", "/chatter")
    assert {info.publisher_gid for info in infos} == {publisher.gid}


def test_a_session_hears_itself(session: WireSession) -> None:
    node = session.create_node("here")
    ready = threading.Event()
    subscription = node.create_subscription("/chatter", String, RELIABLE, ready.set)
    node.create_publisher("/chatter", String, RELIABLE).publish(String(data="me"))
    assert ready.wait(20)
    assert take_all(subscription, 1) == ["me"]


def test_bytes_are_published_as_they_are_and_can_be_taken_so(session: WireSession) -> None:
    node = session.create_node("here")
    subscription = node.create_subscription("/chatter", String, RELIABLE, lambda: None)
    packet = serialize(String(data="raw"))
    node.create_publisher("/chatter", String, RELIABLE).publish(packet)
    taken = wait_until(subscription.take)
    assert taken[0] == packet
    assert taken[1].publication_sequence_number == 1


@pytest.mark.parametrize("sender_shares", [False, True])
@pytest.mark.parametrize("receiver_shares", [False, True])
def test_a_large_message_arrives_whole_whoever_shares_memory(
    options: SessionOptions,
    new_session: Callable[[SessionOptions], WireSession],
    sender_shares: bool,
    receiver_shares: bool,
) -> None:
    image = get_class("sensor_msgs/msg/Image")
    data = np.random.default_rng(1).integers(0, 256, 3_000_000, dtype=np.uint8)
    sender = new_session(replace(options, shared_memory=sender_shares))
    receiver = new_session(replace(options, shared_memory=receiver_shares))
    subscription = receiver.create_node("there").create_subscription("/image", image, RELIABLE, lambda: None)
    waiting = Qos(Reliability.RELIABLE, Durability.VOLATILE, History.KEEP_ALL, 0)  # others drop on a busy machine
    publisher = sender.create_node("here").create_publisher("/image", image, waiting)
    wait_until(lambda: publisher.subscription_count() == 1)
    for _ in range(12):  # more than fits in the pool at once
        publisher.publish(image(data=data))
        message, _ = wait_until(subscription.take_message)
        assert np.array_equal(message.data, data)


@pytest.mark.parametrize("shares", [False, True])
def test_a_burst_of_large_messages_arrives_whole_up_to_the_depth_of_the_history(
    options: SessionOptions, new_session: Callable[[SessionOptions], WireSession], shares: bool
) -> None:
    cls = get_class("std_msgs/msg/UInt8MultiArray")
    packet = serialize(cls(data=bytes(1_000_000)))
    history = Qos(Reliability.RELIABLE, Durability.VOLATILE, History.KEEP_LAST, 200)
    sender, receiver = (new_session(replace(options, shared_memory=shares)) for _ in range(2))
    subscription = receiver.create_node("there").create_subscription("/burst", cls, history, lambda: None)
    publisher = sender.create_node("here").create_publisher("/burst", cls, history)
    wait_until(lambda: publisher.subscription_count() == 1)
    for _ in range(history.depth):
        publisher.publish(packet)
    numbers = [wait_until(subscription.take)[1].publication_sequence_number for _ in range(history.depth)]
    assert numbers == list(range(1, history.depth + 1))


def test_a_full_queue_loses_the_oldest(session: WireSession) -> None:
    node = session.create_node("here")
    calls: list[None] = []
    last_two = Qos(Reliability.RELIABLE, Durability.VOLATILE, History.KEEP_LAST, 2)
    subscription = node.create_subscription("/chatter", String, last_two, lambda: calls.append(None))
    publisher = node.create_publisher("/chatter", String, RELIABLE)
    for text in "abcde":
        publisher.publish(String(data=text))
    wait_until(lambda: len(calls) == 5)
    assert take_all(subscription, 2) == ["d", "e"]


def test_keep_all_keeps_all(session: WireSession) -> None:
    node = session.create_node("here")
    keep_all = Qos(Reliability.RELIABLE, Durability.VOLATILE, History.KEEP_ALL, 0)
    subscription = node.create_subscription("/chatter", String, keep_all, lambda: None)
    publisher = node.create_publisher("/chatter", String, keep_all)
    for number in range(500):
        publisher.publish(String(data=str(number)))
    assert take_all(subscription, 500) == [str(number) for number in range(500)]


def test_a_late_subscription_gets_the_latched_messages(session: WireSession, peer: Peer) -> None:
    peer.ask("advertise", topic="/map", qos=LATCHED_QOS)
    peer.ask("publish", topic="/map", texts=["1", "2", "3", "4", "5"])
    subscription = session.create_node("here").create_subscription("/map", String, LATCHED, lambda: None)
    assert take_all(subscription, 3) == ["3", "4", "5"]
    peer.ask("publish", topic="/map", texts=["6"])
    assert take_all(subscription, 1) == ["6"]


def test_a_latched_subscription_hears_every_publisher_also_a_late_one(
    session: WireSession, options: SessionOptions, new_peer: Callable[[SessionOptions], Peer]
) -> None:
    early, late = new_peer(options), new_peer(options)
    early.ask("advertise", topic="/tf_static", qos=LATCHED_QOS)
    early.ask("publish", topic="/tf_static", texts=["early"])
    subscription = session.create_node("here").create_subscription("/tf_static", String, LATCHED, lambda: None)
    assert take_all(subscription, 1) == ["early"]
    late.ask("advertise", topic="/tf_static", qos=LATCHED_QOS)
    late.ask("publish", topic="/tf_static", texts=["late"])
    assert take_all(subscription, 1) == ["late"]


def test_a_volatile_subscription_gets_no_old_messages(session: WireSession, peer: Peer) -> None:
    peer.ask("advertise", topic="/map", qos=LATCHED_QOS)
    peer.ask("publish", topic="/map", texts=["old"])
    subscription = session.create_node("here").create_subscription("/map", String, RELIABLE, lambda: None)
    peer.ask("publish", topic="/map", texts=["new"], subscriptions=1)
    assert take_all(subscription, 1) == ["new"]


def test_messages_of_another_type_stay_away(session: WireSession) -> None:
    node = session.create_node("here")
    other = get_class("std_msgs/msg/Int32")
    subscription = node.create_subscription("/chatter", String, RELIABLE, lambda: None)
    wrong = node.create_publisher("/chatter", other, RELIABLE)
    right = node.create_publisher("/chatter", String, RELIABLE)
    wrong.publish(other(data=1))
    right.publish(String(data="right"))
    assert take_all(subscription, 1) == ["right"]
    assert (wrong.subscription_count(), right.subscription_count()) == (0, 1)


def test_domains_do_not_hear_each_other(
    options: SessionOptions, new_session: Callable[[SessionOptions], WireSession]
) -> None:
    here, there = new_session(options), new_session(SessionOptions((options.domain + 100) % 233, options.router))
    publisher = here.create_node("here").create_publisher("/chatter", String, RELIABLE)
    same = new_session(options).create_node("same").create_subscription("/chatter", String, RELIABLE, lambda: None)
    other = there.create_node("there").create_subscription("/chatter", String, RELIABLE, lambda: None)
    wait_until(lambda: publisher.subscription_count() == 1)
    publisher.publish(String(data="private"))
    assert take_all(same, 1) == ["private"]
    assert other.take() is None
    assert there.graph.get_nodes() == [("there", "/", "/")]


def test_wrong_classes_names_and_profiles_are_refused(session: WireSession) -> None:
    node = session.create_node("here")
    with pytest.raises(WireError, match="no message class"):
        node.create_publisher("/chatter", SetBool, RELIABLE)
    with pytest.raises(WireError, match="no message class"):
        node.create_subscription("/chatter", str, RELIABLE, lambda: None)
    with pytest.raises(InvalidNameError):
        node.create_publisher("chatter", String, RELIABLE)
    with pytest.raises(QoSError):
        node.create_publisher("/chatter", String, Qos(7, 2, 1, 1))
    with pytest.raises(InvalidNameError):
        session.create_node("a/b")
    with pytest.raises(InvalidNameError):
        session.create_node("a", "b")
    publisher = node.create_publisher("/chatter", String, RELIABLE)
    with pytest.raises(WireError, match="carries std_msgs/msg/String"):
        publisher.publish(get_class("std_msgs/msg/Int32")())
    assert session.graph.get_topic_names_and_types() == [("/chatter", ["std_msgs/msg/String"])]


def test_what_is_closed_says_so_and_is_out_of_the_graph(session: WireSession, peer: Peer) -> None:
    node = session.create_node("here")
    publisher = node.create_publisher("/chatter", String, RELIABLE)
    assert len(peer.ask("nodes", count=2)) == 2
    publisher.close()
    publisher.close()
    with pytest.raises(WireError, match="The publisher /chatter is closed"):
        publisher.publish(String())
    assert session.graph.count("publisher", "/chatter") == 0
    node.close()
    node.close()
    with pytest.raises(WireError, match="The node /here is closed"):
        node.create_publisher("/chatter", String, RELIABLE)
    session.close()
    session.close()
    assert not session.is_open
    with pytest.raises(WireError, match="The session is closed"):
        session.create_node("again")


def test_no_callback_comes_after_close(session: WireSession, peer: Peer) -> None:
    peer.ask("advertise", topic="/chatter", qos=QOS)
    node = session.create_node("here")
    late: list[str] = []
    for number in range(30):
        closed = threading.Event()
        seen = threading.Event()

        def on_ready(closed: threading.Event = closed, seen: threading.Event = seen) -> None:
            seen.set()
            if closed.is_set():
                late.append("called")

        subscription = node.create_subscription("/chatter", String, RELIABLE, on_ready)
        peer.ask("publish", topic="/chatter", texts=["x"] * 30, subscriptions=1)
        if number % 2:
            assert seen.wait(20)
        subscription.close()
        closed.set()
    assert late == []


def test_publishing_from_several_threads_while_closing_does_no_harm(session: WireSession) -> None:
    node = session.create_node("here")
    errors: list[BaseException] = []
    for _ in range(6):
        publisher = node.create_publisher("/chatter", String, LATCHED)

        def work(publisher: object = publisher) -> None:
            try:
                while True:
                    publisher.publish(String(data="x"))  # type: ignore[attr-defined]
            except WireError:
                pass
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.003)
        publisher.close()
        for thread in threads:
            thread.join(20)
    assert errors == []


def test_numbers_of_several_threads_are_all_different(session: WireSession) -> None:
    node = session.create_node("here")
    keep_all = Qos(Reliability.RELIABLE, Durability.VOLATILE, History.KEEP_ALL, 0)
    subscription = node.create_subscription("/chatter", String, keep_all, lambda: None)
    publisher = node.create_publisher("/chatter", String, keep_all)
    threads = [
        threading.Thread(target=lambda: [publisher.publish(String(data="x")) for _ in range(200)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    numbers = {wait_until(subscription.take)[1].publication_sequence_number for _ in range(800)}
    assert numbers == set(range(1, 801))


def test_making_endpoints_while_the_session_closes_does_no_harm(
    options: SessionOptions, new_session: Callable[[SessionOptions], WireSession]
) -> None:
    errors: list[BaseException] = []

    def work(session: WireSession) -> None:
        try:
            while True:
                node = session.create_node("here")
                node.create_publisher("/chatter", String, RELIABLE).publish(String(data="x"))
                node.create_client("/switch", SetBool, RELIABLE, lambda: None).send_request(SetBool.Request())
                node.close()
        except WireError:
            pass
        except BaseException as error:
            errors.append(error)

    for _ in range(8):
        session = new_session(options)
        threads = [threading.Thread(target=work, args=(session,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.02)
        session.close()
        for thread in threads:
            thread.join(20)
            assert not thread.is_alive()
    assert errors == []


def test_an_interpreter_that_ends_while_messages_arrive_ends_well(session: WireSession, peer: Peer) -> None:
    publisher = session.create_node("here").create_publisher("/chatter", String, RELIABLE)
    peer.ask("subscribe", topic="/chatter", qos=QOS)
    wait_until(lambda: publisher.subscription_count() == 1)
    done = threading.Event()

    def flood() -> None:
        while not done.is_set():
            publisher.publish(String(data="x" * 1000))

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        peer.begin("leave_running")
        assert peer.process.wait(20) == 0
    finally:
        done.set()
        thread.join()
    wait_until(lambda: publisher.subscription_count() == 0)
