"""Packets that are wrong in every way, on every key: nothing fails, nothing grows, all is logged and dropped.

Most cases go to the functions that zenoh's threads call; some thousand are sent across the network by a plain zenoh
session while a genuine peer goes on with its work.
"""

from __future__ import annotations

import json
import os
import random
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zenoh
from wire_support import LATCHED, RELIABLE, Peer, SetBool, String, wait_until

from rclpy_zenoh.interfaces import get_class, serialize
from rclpy_zenoh.wire import (
    Attachment,
    Entity,
    InvalidNameError,
    Qos,
    QoSError,
    RouterProcess,
    SessionOptions,
    WireClient,
    WireError,
    WireService,
    WireSession,
    WireSubscription,
    decode_qos,
    encode_qos,
    expand_name,
    pack_attachment,
    parse_token,
    unpack_attachment,
)
from rclpy_zenoh.wire.graph import MAX_ENTITIES, GraphCache
from rclpy_zenoh.wire.names import check_full_name

# Together 103 500 cases.
TOKENS = 30_000
PROFILES = 15_000
NAMES = 15_000
ATTACHMENTS = 15_000
MESSAGES = 12_000
REQUESTS = 6_000
REPLIES = 6_000
ON_THE_WIRE = 4_500

GID = bytes(range(16))
TYPES = ("std_msgs::msg::dds_::String_", "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18")
TOKEN = Entity(0, "ab12", 0, 7, "publisher", "/", "/ns", "talker", "/chatter", *TYPES, RELIABLE).token
ODD_TEXT = ["", "*", "**", "$*", "%", "%%%", "NN", "MP", "XX", "-1", "9" * 30, "é", "\u202e", "\x00", "a b", "x" * 3000]
ODD_TEXT += ["~", "{node}", "{", "}", "//", "/1", "::,10:,:,:,,", ",", ":", "²", "٣", "18446744073709551616"]


def mutated_text(rng: random.Random, text: str, separator: str) -> str:
    chunks = text.split(separator)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(chunks) + 1)
        match rng.randrange(4):
            case 0:
                chunks.insert(at, rng.choice(ODD_TEXT))
            case 1 if chunks:
                del chunks[at % len(chunks)]
            case 2 if chunks:
                chunks[at % len(chunks)] = rng.choice(ODD_TEXT)
            case _ if chunks:
                chunk = chunks[at % len(chunks)]
                cut = rng.randrange(len(chunk) + 1)
                chunks[at % len(chunks)] = chunk[:cut] + chr(rng.randrange(1, 0x500)) + chunk[cut:]
    return separator.join(chunks)


def mutated_bytes(rng: random.Random, data: bytes) -> bytes:
    """The bytes cut off, lengthened, overwritten, with a huge length in them, or others altogether."""
    match rng.randrange(6):
        case 0:
            return data[: rng.randrange(len(data) + 1)]
        case 1:
            return data + rng.randbytes(rng.randrange(1, 40))
        case 2:
            changed = bytearray(data)
            for _ in range(rng.randint(1, 4)):
                if changed:
                    changed[rng.randrange(len(changed))] = rng.randrange(256)
            return bytes(changed)
        case 3:
            at = rng.randrange(len(data) + 1)
            return data[:at] + struct.pack("<I", rng.choice([0xFFFFFFFF, 0x7FFFFFFF, 0x80000000])) + data[at + 4 :]
        case 4:
            return rng.randbytes(rng.randrange(80))
        case _:
            return b""


def attachment(rng: random.Random, number: int | None = None, gid: bytes = GID) -> bytes | None:
    """A right attachment half of the time, so that what comes behind it is reached too."""
    right = pack_attachment(rng.randrange(1 << 62) if number is None else number, rng.randrange(1 << 62), gid)
    return right if rng.random() < 0.5 else rng.choice([None, mutated_bytes(rng, right), b"x" * 100_000])


class FakeBytes:
    """As much of zenoh's ZBytes as is used."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def to_bytes(self) -> bytes:
        return self._data


def fake(data: bytes | None) -> FakeBytes | None:
    return None if data is None else FakeBytes(data)


def test_tokens() -> None:
    rng = random.Random(1)
    graph = GraphCache("ab")
    accepted = 0
    for _ in range(TOKENS):
        token = mutated_text(rng, TOKEN, "/")
        graph.on_token(token, alive=rng.random() < 0.8)
        with suppress(ValueError):
            parse_token(token)
            accepted += 1
    graph.get_topic_names_and_types()
    graph.get_service_names_and_types()
    assert len(graph.get_nodes()) <= MAX_ENTITIES
    assert 0 < accepted < TOKENS / 2


def test_profiles() -> None:
    rng = random.Random(2)
    accepted = 0
    for _ in range(PROFILES):
        text = mutated_text(rng, mutated_text(rng, "2:1:1,5:1,2:,3:1,,9", ":"), ",")
        with suppress(QoSError):
            qos = decode_qos(text)
            accepted += 1
            with suppress(QoSError):  # a depth that a token may have can be too large to be written
                assert decode_qos(encode_qos(qos)) == qos
    assert 0 < accepted < PROFILES / 2


def test_names() -> None:
    rng = random.Random(3)
    accepted = 0
    for _ in range(NAMES):
        name = mutated_text(rng, "~/robot/{node}/camera", "/")
        with suppress(InvalidNameError):
            check_full_name(expand_name(name, "node", "/ns"))
            accepted += 1
    assert 0 < accepted < NAMES


def test_attachments() -> None:
    rng = random.Random(4)
    right = pack_attachment(5, 6, GID)
    for _ in range(ATTACHMENTS):
        data = mutated_bytes(rng, right)
        try:
            assert isinstance(unpack_attachment(data), Attachment)
            assert len(data) == 33
        except ValueError:
            pass


def packets(rng: random.Random, message: Any) -> Iterator[bytes]:
    right = bytes(serialize(message))
    while True:
        yield right if rng.random() < 0.1 else mutated_bytes(rng, right)


def test_messages(session: WireSession, wire_log: pytest.LogCaptureFixture) -> None:
    rng = random.Random(5)
    image = get_class("sensor_msgs/msg/Image")
    node = session.create_node("here")
    subscriptions: list[tuple[WireSubscription, Any]] = [
        (node.create_subscription("/text", String, RELIABLE, lambda: None), String(data="hello")),
        (node.create_subscription("/image", image, LATCHED, lambda: None), image(encoding="rgb8", data=[1, 2, 3])),
    ]
    taken = 0
    for subscription, message in subscriptions:
        source = packets(rng, message)
        for _ in range(MESSAGES // 2):
            kind = rng.choice([zenoh.SampleKind.PUT] * 9 + [zenoh.SampleKind.DELETE])
            sample = SimpleNamespace(kind=kind, attachment=fake(attachment(rng)), payload=fake(next(source)))
            subscription._receive(sample)  # type: ignore[arg-type]
            while subscription.take_message() is not None:
                taken += 1
    assert taken > MESSAGES / 100
    assert len(wire_log.records) < 50


def test_requests(session: WireSession, wire_log: pytest.LogCaptureFixture) -> None:
    rng = random.Random(6)
    service: WireService = session.create_node("here").create_service("/switch", SetBool, RELIABLE, lambda: None)
    source = packets(rng, SetBool.Request(data=True))
    dropped = [0]
    answered = [0]

    def drop() -> None:
        dropped[0] += 1

    def reply(*_: Any, **__: Any) -> None:
        answered[0] += 1

    for _ in range(REQUESTS):
        payload = next(source) if rng.random() < 0.9 else None
        query = SimpleNamespace(attachment=fake(attachment(rng)), payload=fake(payload), drop=drop, reply=reply)
        service._receive(query)  # type: ignore[arg-type]
        if rng.random() < 0.05:  # the queue fills up between
            while (taken := service.take_request()) is not None:
                service.send_response(taken[1], SetBool.Response())
    service.close()
    assert dropped[0] == REQUESTS  # no client waits for ever
    assert answered[0] > REQUESTS / 200
    assert len(wire_log.records) < 50


def test_replies(session: WireSession, wire_log: pytest.LogCaptureFixture) -> None:
    rng = random.Random(7)
    client: WireClient = session.create_node("here").create_client("/switch", SetBool, RELIABLE, lambda: None)
    source = packets(rng, SetBool.Response(success=True, message="hello"))
    answers = 0
    for index in range(REPLIES):
        client._waiting[index] = "no server"
        number, gid = rng.choice([(index, client.gid)] * 3 + [(index, GID), (index + 1, client.gid), (0, client.gid)])
        ok = SimpleNamespace(attachment=fake(attachment(rng, number, gid)), payload=fake(next(source)))
        err = SimpleNamespace(payload=fake(rng.randbytes(rng.randrange(3000))))
        reply = rng.choice([SimpleNamespace(ok=ok, err=None)] * 3 + [SimpleNamespace(ok=None, err=err)])
        client._receive(index, reply)  # type: ignore[arg-type]
        client._finish(index)
        client._receive(index, reply)  # type: ignore[arg-type]
        taken = client.take_response()
        assert taken is not None
        assert taken[0] == index
        answers += not isinstance(taken[1], WireError)
        assert client.take_response() is None
    assert REPLIES / 100 < answers < REPLIES / 2
    assert client._waiting == {}
    assert len(wire_log.records) < 50


@pytest.fixture
def attacker(router: RouterProcess) -> Iterator[zenoh.Session]:
    """A plain zenoh session."""
    config = {
        "mode": "peer",
        "connect": {"endpoints": [router.endpoint]},
        "listen": {"endpoints": ["tcp/127.0.0.1:0"]},
        "scouting": {"delay": 1, "multicast": {"enabled": False}},
        "timestamping": {"enabled": True},
    }
    attacker = zenoh.open(zenoh.Config.from_json5(json.dumps(config)))
    yield attacker
    attacker.close()


def resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGESIZE")


class Work:
    """A genuine peer calls, and is called, and publishes, until it is stopped."""

    def __init__(self, session: WireSession, peer: Peer) -> None:
        self.rounds = 0
        self.wrong: list[Any] = []
        self._peer = peer
        self._stop, self._stop_serving = threading.Event(), threading.Event()
        node = session.create_node("worker")
        self.subscription = node.create_subscription("/chatter", String, Qos(1, 2, 2, 0), lambda: None)
        self.latched = node.create_subscription("/latched", String, LATCHED, lambda: None)
        self.service = node.create_service("/here", SetBool, Qos(1, 2, 2, 0), lambda: None)
        self.client = node.create_client("/there", SetBool, RELIABLE, lambda: None)
        self.texts: set[str] = set()
        peer.ask("advertise", topic="/chatter", qos=[1, 2, 1, 10])
        peer.ask("serve", service="/there")
        peer.ask("keep_answering", service="/there")
        peer.ask("client", service="/here")
        wait_until(self.client.service_is_ready)
        self._serving, self._working = threading.Thread(target=self._serve), threading.Thread(target=self._work)
        self._serving.start()
        self._working.start()

    def _serve(self) -> None:
        try:
            while not self._stop_serving.is_set():
                taken = self.service.take_request()
                if taken is None:
                    self._stop_serving.wait(0.001)
                    continue
                request, header = taken
                self.service.send_response(header, SetBool.Response(success=request.data, message="here"))
        except BaseException as error:
            self.wrong.append(error)

    def _work(self) -> None:
        try:
            while not self._stop.is_set():
                text = f"round {self.rounds}"
                self._peer.ask("publish", topic="/chatter", texts=[text], subscriptions=1)
                answer = self._peer.ask("call", service="/here", data=True)
                number = self.client.send_request(SetBool.Request(data=True))
                response = self._response(number)
                wait_until(lambda text=text: text in self._heard())
                if answer != [True, "here"] or response != SetBool.Response(success=True, message="served"):
                    self.wrong.append((answer, response))
                self.rounds += 1
        except BaseException as error:
            self.wrong.append(error)

    def _response(self, wanted: int) -> Any:
        """The answer of the genuine server; the attacker's may come first and be refused."""
        number, response = wait_until(self.client.take_response)
        return response if number == wanted else number

    def _heard(self) -> set[str]:
        while (taken := self.subscription.take_message()) is not None:
            self.texts.add(taken[0].data)
        while self.latched.take_message() is not None:
            pass
        return self.texts

    def stop(self) -> None:
        self._stop.set()
        self._working.join(30)  # its last round still needs the server
        self._stop_serving.set()
        self._serving.join(30)


def data_keys(session: WireSession) -> dict[str, str]:
    return {entity.name: entity.key for entity in session.graph._entities.values() if entity.qos is not None}


def test_across_the_network_while_a_genuine_peer_works(
    session: WireSession,
    options: SessionOptions,
    peer: Peer,
    attacker: zenoh.Session,
    wire_log: pytest.LogCaptureFixture,
) -> None:
    rng = random.Random(8)
    work = Work(session, peer)
    keys = data_keys(session)
    text, request = packets(rng, String(data="hello")), packets(rng, SetBool.Request(data=True))
    response = packets(rng, SetBool.Response(success=True))
    before = resident()

    def answer_badly(query: zenoh.Query) -> None:
        for _ in range(3):
            query.reply(keys["/there"], next(response), attachment=rng.choice([None, pack_attachment(1, 1, GID), b"x"]))
        query.reply_err(rng.randbytes(500))
        query.drop()

    false_server = attacker.declare_queryable(keys["/there"], answer_badly, complete=True)
    prefix = f"@ros2_lv/{options.domain}/"
    tokens = []
    for index in range(ON_THE_WIRE):
        match index % 3:
            case 0:
                key = keys[rng.choice(["/chatter", "/latched"])]
                if rng.random() < 0.1:
                    attacker.delete(key)
                attacker.put(key, next(text), attachment=attachment(rng))
            case 1:
                selector = rng.choice([keys["/here"], keys["/here"], f"{options.domain}/**"])
                payload = next(request) if rng.random() < 0.9 else None
                attacker.get(selector, lambda _: None, payload=payload, attachment=attachment(rng), timeout=5.0)
            case _:
                token = mutated_text(rng, TOKEN, "/")
                with suppress(zenoh.ZError):  # not every odd text is a key
                    tokens.append(attacker.liveliness().declare_token(prefix + token.split("/", 2)[-1]))
    seen = work.rounds
    wait_until(lambda: work.rounds > seen + 3 or work.wrong)
    false_server.undeclare()
    for token in tokens:
        token.undeclare()
    work.stop()
    assert work.wrong == []
    assert resident() - before < 100_000_000
    assert len(wire_log.records) < 300
    assert "/chatter: dropped a message" in wire_log.text
    assert "/here: dropped a request" in wire_log.text
    assert "/there: dropped a reply" in wire_log.text
    assert "Liveliness tokens: dropped" in wire_log.text
    wait_until(lambda: [name for name, _, _ in session.graph.get_nodes()] == ["peer", "worker"])


def test_a_service_is_found_by_its_hash_only(
    session: WireSession, attacker: zenoh.Session, options: SessionOptions
) -> None:
    ready: list[None] = []
    node = session.create_node("here")
    node.create_service("/switch", SetBool, RELIABLE, lambda: ready.append(None))
    right = data_keys(session)["/switch"]
    wrong = right[:-1] + ("0" if right[-1] != "0" else "1")
    payload, header = bytes(serialize(SetBool.Request())), pack_attachment(1, 1, GID)
    replies = attacker.get(wrong, payload=payload, attachment=header, target=zenoh.QueryTarget.ALL)
    assert list(replies) == []
    assert ready == []


def test_listeners_that_fail_do_not_stop_the_graph(
    options: SessionOptions, new_session: Callable[[SessionOptions], WireSession]
) -> None:
    here, there = new_session(options), new_session(options)
    here.graph.add_listener(lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    there.create_node("there")
    wait_until(lambda: len(here.graph.get_nodes()) == 1)
