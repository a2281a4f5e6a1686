"""The small parts: queue, gate, log and graph cache."""

from __future__ import annotations

import threading
import time

import pytest
from wire_support import RELIABLE

from rclpy_zenoh.wire import Entity, Qos
from rclpy_zenoh.wire import graph as graph_module
from rclpy_zenoh.wire.gate import Gate
from rclpy_zenoh.wire.graph import GraphCache
from rclpy_zenoh.wire.log import DropLog, shielded
from rclpy_zenoh.wire.mailbox import KEEP_ALL_LIMIT, Mailbox, capacity


def test_a_mailbox_tells_of_each_item_and_pushes_out_the_oldest() -> None:
    calls: list[None] = []
    box: Mailbox[int] = Mailbox(2, lambda: calls.append(None))
    assert [box.put(number) for number in range(4)] == [None, None, 0, 1]
    assert len(calls) == 4
    assert [box.take(), box.take(), box.take()] == [2, 3, None]


def test_a_closed_mailbox_gives_back_what_it_had_and_what_comes() -> None:
    calls: list[None] = []
    box: Mailbox[int] = Mailbox(2, lambda: calls.append(None))
    box.put(1)
    assert box.close() == [1]
    assert box.put(2) == 2
    assert box.take() is None
    assert len(calls) == 1


def test_closing_a_mailbox_waits_for_the_callback_that_runs() -> None:
    entered, leave = threading.Event(), threading.Event()
    done: list[str] = []

    def on_ready() -> None:
        entered.set()
        leave.wait(20)
        done.append("callback")

    box: Mailbox[int] = Mailbox(2, on_ready)
    putting = threading.Thread(target=box.put, args=(1,))
    putting.start()
    assert entered.wait(20)

    def close() -> None:
        box.close()
        done.append("closed")

    closing = threading.Thread(target=close)
    closing.start()
    time.sleep(0.02)
    leave.set()
    for thread in (putting, closing):
        thread.join(20)
    assert done == ["callback", "closed"]


def test_a_mailbox_can_be_closed_from_its_own_callback() -> None:
    box: Mailbox[int] = Mailbox(2, lambda: None)
    left: list[list[int]] = []
    closing: Mailbox[int] = Mailbox(2, lambda: left.append(closing.close()))
    closing.put(7)
    assert left == [[7]]
    assert box.close() == []


def test_a_callback_that_fails_leaves_the_mailbox_usable() -> None:
    def fail() -> None:
        raise RuntimeError("no")

    box: Mailbox[int] = Mailbox(2, fail)
    with pytest.raises(RuntimeError):
        box.put(1)
    assert box.take() == 1
    assert box.close() == []


@pytest.mark.parametrize(
    ("qos", "size"),
    [(Qos(1, 2, 1, 5), 5), (Qos(1, 2, 2, 5), KEEP_ALL_LIMIT), (Qos(1, 2, 1, 10**12), KEEP_ALL_LIMIT)],
)
def test_a_queue_never_holds_more_than_its_limit(qos: Qos, size: int) -> None:
    assert capacity(qos) == size


def test_a_gate_closes_once() -> None:
    gate = Gate()
    with gate.passing() as is_open:
        assert is_open
    assert gate.close()
    assert not gate.close()
    with gate.passing() as is_open:
        assert not is_open


def test_a_flood_of_reports_is_counted_not_repeated(wire_log: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    drops = DropLog("Topic /x", clock=lambda: now[0])
    for _ in range(1000):
        drops.report("a message: no")
    now[0] = 1.5
    drops.report("a message: again no")
    assert [record.getMessage() for record in wire_log.records] == [
        "Topic /x: dropped a message: no.",
        "Topic /x: dropped a message: again no (999 more were not reported).",
    ]


def test_no_exception_leaves_a_shielded_callback(wire_log: pytest.LogCaptureFixture) -> None:
    def fail(value: object) -> None:
        raise ValueError(value)

    shielded(DropLog("Topic /x"), fail)("bad")
    assert "Topic /x: dropped an event (ValueError: bad)." in wire_log.text


ZID = "ab"


def entity(number: int, kind: str = "publisher", zid: str = "cd", name: str = "/chatter") -> Entity:
    types = ("std_msgs::msg::dds_::String_", "RIHS01_00")
    return Entity(0, zid, 0, number, kind, "/", "/ns", "talker", name, *types, RELIABLE)


def test_the_graph_knows_names_types_nodes_and_endpoints() -> None:
    graph = GraphCache(ZID)
    node = Entity(0, "cd", 0, 0, "node", "/", "/ns", "talker")
    for each in (node, entity(1), entity(2, "subscription"), entity(3, "service", name="/add"), entity(4, "client")):
        graph.on_token(each.token, alive=True)
    assert graph.get_nodes() == [("talker", "/ns", "/")]
    topics = [("/chatter", ["std_msgs/msg/String"])]
    assert graph.get_topic_names_and_types() == topics
    assert graph.get_publishers_by_node("talker", "/ns") == topics
    assert graph.get_subscriptions_by_node("talker", "/ns") == topics
    assert graph.get_publishers_by_node("talker", "/") == []
    assert [name for name, _ in graph.get_services_by_node("talker", "/ns")] == ["/add"]
    assert [name for name, _ in graph.get_clients_by_node("talker", "/ns")] == ["/chatter"]
    (info,) = graph.endpoints("publisher", "/chatter")
    assert (info.node_name, info.node_namespace, info.gid) == ("talker", "/ns", entity(1).gid)
    graph.on_token(entity(1).token, alive=False)
    assert graph.count("publisher", "/chatter") == 0
    assert graph.endpoints("publisher", "/chatter") == []


def test_the_graph_counts_what_data_can_flow_to() -> None:
    graph = GraphCache(ZID)
    other = Entity(0, "cd", 0, 9, "subscription", "/", "/", "x", "/chatter", "a::msg::dds_::B_", "RIHS01_00", RELIABLE)
    for each in (entity(1, "subscription"), other):
        graph.on_token(each.token, alive=True)
    assert graph.count("subscription", "/chatter") == 2
    assert graph.count_matching("subscription", entity(5)) == 1


def test_the_graph_tells_of_changes_only_and_survives_listeners_that_fail() -> None:
    graph = GraphCache(ZID)
    calls: list[str] = []

    def fail() -> None:
        raise RuntimeError("no")

    graph.add_listener(fail)
    remove = graph.add_listener(lambda: calls.append("changed"))
    token = entity(1).token
    for alive in (True, True, False, False):
        graph.on_token(token, alive=alive)
    assert len(calls) == 2
    remove()
    graph.on_token(token, alive=True)
    assert len(calls) == 2


def test_nobody_else_can_change_the_own_part_of_the_graph() -> None:
    graph = GraphCache(ZID)
    own = entity(1, zid=ZID)
    graph.on_token(own.token, alive=True)
    assert graph.count("publisher", "/chatter") == 0
    graph.add(own)
    graph.on_token(own.token, alive=False)
    assert graph.count("publisher", "/chatter") == 1
    graph.remove(own.token)
    assert graph.count("publisher", "/chatter") == 0


def test_a_flood_of_tokens_is_bounded_but_own_entities_have_a_place(
    monkeypatch: pytest.MonkeyPatch, wire_log: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(graph_module, "MAX_ENTITIES", 50)
    graph = GraphCache(ZID)
    for number in range(500):
        graph.on_token(entity(number).token, alive=True)
    assert graph.count("publisher", "/chatter") == 50
    assert "because the graph has 50 entities" in wire_log.text
    graph.add(entity(1, zid=ZID))
    assert graph.count("publisher", "/chatter") == 51
    graph.on_token(entity(3).token, alive=False)
    graph.on_token(entity(4).token, alive=False)
    graph.on_token(entity(400).token, alive=True)
    assert graph.count("publisher", "/chatter") == 50


def test_what_goes_away_while_a_snapshot_is_read_stays_away() -> None:
    graph = GraphCache(ZID)
    first, second = entity(1).token, entity(2).token

    def snapshot() -> object:
        graph.on_token(first, alive=False)
        yield first
        graph.on_token(second, alive=False)
        graph.on_token(second, alive=True)
        yield second

    graph.load(snapshot())  # type: ignore[arg-type]
    assert [info.gid for info in graph.endpoints("publisher", "/chatter")] == [entity(2).gid]


def test_a_ctrl_c_that_hits_a_callback_comes_once_more_after_it() -> None:
    def hit() -> None:
        raise KeyboardInterrupt

    def go_on() -> None:
        shielded(DropLog("Graph"), hit)()
        time.sleep(10.0)

    with pytest.raises(KeyboardInterrupt):
        go_on()
