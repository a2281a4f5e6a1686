"""What a browser may say to NiceGUI and viser: what their own pages say, and nothing else that they could be told."""

import json
import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import pytest

from toolhand.console.socket_rules import page_socket, scene_socket

PAGE, OTHER = "cdc6c824-643b-4a02-8bc2-7326317d033c", "11111111-2222-4333-8444-555555555555"
"""This page, and another one whose name somebody has found out."""
QUERY = {
    "client_id": PAGE,
    "next_message_id": "0",
    "implicit_handshake": "true",
    "document_id": OTHER,
    "tab_id": OTHER,
    "old_tab_id": "null",
    "EIO": "4",
    "transport": "websocket",
}
EVENT = {"id": 31, "client_id": PAGE, "listener_id": OTHER, "args": ["0.2"]}
SAID = {"text": "pick up the lemon", "pointed": [{"point": [0.5, 0.25], "stamp": "1", "camera": "scene"}]}


def scope_of(query: Mapping[str, str] | str) -> dict[str, Any]:
    text = query if isinstance(query, str) else urlencode(query)
    return {"type": "websocket", "query_string": text.encode("latin-1")}


def event(name: str = "event", number: str = "", **fields: Any) -> str:
    """An event as Socket.IO sends it; fields that are `...` are left out."""
    document = {key: value for key, value in (EVENT | fields).items() if value is not ...}
    return f"42{number}{json.dumps([name, document])}"


def raw(arguments: str) -> str:
    """An event whose arguments are this text."""
    return f'42["event",{{"id":1,"client_id":"{PAGE}","listener_id":"{OTHER}","args":{arguments}}}]'


NAMES = {"id": ..., "listener_id": ..., "args": ...}
HANDSHAKE = NAMES | {
    "document_id": OTHER,
    "tab_id": OTHER,
    "old_tab_id": None,
    "next_message_id": 3,
    "implicit_handshake": False,
}

SENT_BY_PAGES: dict[str, str] = {
    "a ping's answer": "3",
    "a press": event(args=[json.dumps({"isTrusted": True, "pointerId": 1, "view": None})]),
    "a heartbeat": event(args=[None]),
    "a value": event(),
    "an empty field": event(args=["null"]),
    "a sentence": event(args=[json.dumps(SAID)]),
    "a sentence in another script": event(args=[json.dumps("グラス 🍋", ensure_ascii=False)]),
    "an acknowledgement": event("ack", **NAMES, next_message_id=10),
    "that a script has run": event("javascript_response", **NAMES, request_id=OTHER),
    "a handshake that is answered": event("handshake", "0", **HANDSHAKE),
    "the end": "41",
}

REFUSED_EVENTS: dict[str, str | bytes] = {
    # events that NiceGUI has a handler for, and names that nobody has
    "a line of the log": event("log", **NAMES, level="error", message="\x1b[2K\x1b[1A\x1b[31mStopped\x1b[0m\r"),
    "a line of the log of no level": event("log", **NAMES, level="__class__", message="x"),
    "a result of a script": event("javascript_response", **NAMES, request_id=OTHER, result={"a": 1}),
    "connect as an event": event("connect"),
    "disconnect as an event": event("disconnect"),
    "an upload": event("upload"),
    "a name that nobody has": event("anything"),
    "a name with spaces": event("event "),
    "another case": event("Event"),
    "the name of a method": event("__init__"),
    "no name": "42[]",
    "a number as the name": f"42[1,{json.dumps(EVENT)}]",
    "a list as the name": f'42[["event"],{json.dumps(EVENT)}]',
    # for another page, or for none
    "another page": event(client_id=OTHER),
    "another page's acknowledgement": event("ack", **NAMES | {"client_id": OTHER}, next_message_id=1),
    "another page's handshake": event("handshake", **HANDSHAKE | {"client_id": OTHER}),
    "no page": event(client_id=...),
    "a page that is a list": event(client_id=[PAGE]),
    "a page that is empty": event(client_id=""),
    # fields of another kind
    "no element": event(id=...),
    "an element by name": event(id="31"),
    "an element that is true": event(id=True),
    "an element below zero": event(id=-1),
    "half an element": event(id=1.5),
    "an element of 400 digits": raw("[]").replace('"id":1', f'"id":{"9" * 400}'),
    "no listener": event(listener_id=...),
    "a listener of no name": event(listener_id="x"),
    "a listener that is none": event(listener_id=None),
    "a listener with an escape": event(listener_id="\x1b[2K" + OTHER),
    "no arguments": event(args=...),
    "arguments that are none": event(args=None),
    "arguments that are text": event(args="0.2"),
    "arguments that are an object": event(args={"0": "1"}),
    "an argument that is no text": event(args=[0.2]),
    "an argument that is no JSON": event(args=["{"]),
    "an argument that is empty": event(args=[""]),
    "an argument of NaN": event(args=["NaN"]),
    "an argument of infinity": event(args=["-Infinity"]),
    "an argument of 1e999": event(args=["1e999"]),
    "an argument of 400 digits": event(args=["9" * 400]),
    "an argument of 5,000 digits": event(args=["9" * 5000]),
    "an argument that is half a sign": event(args=['"\\ud800"']),
    "an argument of half a sign as a key": event(args=['{"\\udfff": 1}']),
    "an argument of 50,000 lists": event(args=["[" * 50_000 + "]" * 50_000]),
    "an argument of 9 objects": event(args=['{"a":' * 9 + "1" + "}" * 9]),
    "a hundred arguments": event(args=["1"] * 100),
    "one field more": event(extra=1),
    "an acknowledgement of text": event("ack", **NAMES, next_message_id="10"),
    "an acknowledgement of minus one": event("ack", **NAMES, next_message_id=-1),
    "an acknowledgement of 1e30": event("ack", **NAMES, next_message_id=1e30),
    "a handshake without a tab": event("handshake", **HANDSHAKE | {"tab_id": ...}),
    "a handshake with a path as its tab": event("handshake", **HANDSHAKE | {"tab_id": "../../storage"}),
    "a handshake as a list": "42" + json.dumps(["handshake", [PAGE]]),
    "two payloads": "42" + json.dumps(["event", EVENT, EVENT]),
    "no payload": '42["event"]',
    "a payload that is null": '42["event",null]',
    # packets of Engine.IO and Socket.IO
    "an empty message": "",
    "bytes": b"42[]",
    "bytes that are an event": event().encode(),
    "no bytes": b"",
    "base64": "bAAAA",
    "an unknown packet": "9",
    "a packet that is a letter": "x",
    "a digit of another script": "4\u0662" + event()[2:],
    "open": "0{}",
    "a ping": "2probe",
    "an upgrade": "5",
    "noop": "6",
    "a second connect": "40",
    "connect to another namespace": "40/admin,",
    "connect with a payload": '40{"token":"x"}',
    "an event of another namespace": event().replace("42", "42/admin,", 1),
    "an answer to nothing": "430[]",
    "an answer with 100 digits": f"43{'1' * 100}[]",
    "an error of the connection": '44{"message":"x"}',
    "an event with an attachment": "451-" + json.dumps(["event", {"_placeholder": True, "num": 0}]),
    "attachments without end": "459999999999-" + json.dumps(["event"]),
    "an answer with attachments": "461-[]",
    "an event that wants a number of 100 digits": event(number="1" * 100),
    "an event that is no JSON": "42[",
    "an event of nested lists": "42" + "[" * 100_000 + "]" * 100_000,
    "an event of NaN": raw("[NaN]"),
    "two lines": event() + "\n" + event(),
    "two packets": event() + "\x1e" + event(),
    "the pointer of another event": event() + '["event"]',
}


@pytest.mark.parametrize("message", SENT_BY_PAGES.values(), ids=SENT_BY_PAGES)
def test_what_a_page_sends_passes_once_it_has_connected(message: str) -> None:
    passes = page_socket(scope_of(QUERY))
    assert passes is not None
    assert passes(message) is (message in ("3", "41")), "nothing is said before the connection"
    assert passes("40")
    assert passes(message)


@pytest.mark.parametrize("message", REFUSED_EVENTS.values(), ids=REFUSED_EVENTS)
def test_what_no_page_sends_never_reaches_nicegui(message: str | bytes) -> None:
    passes = page_socket(scope_of(QUERY))
    assert passes is not None
    assert passes("40")
    assert not passes(message)
    assert passes(SENT_BY_PAGES["a press"]), "the page goes on"


ADDRESSES: dict[str, Mapping[str, str] | str] = {
    "no query": "",
    **{f"no {name}": {key: value for key, value in QUERY.items() if key != name} for name in QUERY},
    "polling": QUERY | {"transport": "polling"},
    "another protocol": QUERY | {"EIO": "3"},
    "a page that is none": QUERY | {"client_id": "x"},
    "a page with a line break": QUERY | {"client_id": f"{PAGE}\n"},
    "a number that is none": QUERY | {"next_message_id": "zero"},
    "a number below zero": QUERY | {"next_message_id": "-1"},
    "a number of 5,000 digits": QUERY | {"next_message_id": "9" * 5000},
    "a digit of another script": QUERY | {"next_message_id": "\u0663"},
    "a tab that is a path": QUERY | {"tab_id": "../../x"},
    "an old tab that is a path": QUERY | {"old_tab_id": "../../x"},
    "a handshake that is both": QUERY | {"implicit_handshake": "maybe"},
    "two pages": urlencode(QUERY) + f"&client_id={OTHER}",
    "a page that takes up a connection": QUERY | {"sid": "x", "client_id": ""},
}


@pytest.mark.parametrize("query", ADDRESSES.values(), ids=ADDRESSES)
def test_an_address_that_no_page_makes_has_no_socket(query: Mapping[str, str] | str) -> None:
    assert page_socket(scope_of(query)) is None


def test_every_event_that_nicegui_answers_is_listed_or_refused() -> None:
    core = pytest.importorskip("nicegui").core
    names = set(core.sio.handlers["/"]) - {"connect", "disconnect"}
    assert names >= {"event", "log", "ack", "handshake", "javascript_response"}
    sent = {"event", "ack", "handshake", "javascript_response"}
    for name in names - sent:
        passes = page_socket(scope_of(QUERY))
        assert passes is not None
        assert passes("40")
        for fields in ({}, NAMES, HANDSHAKE, NAMES | {"level": "error", "message": "x"}):
            assert not passes(event(name, **fields)), name


# -- viser ---------------------------------------------------------------------------------------------

CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": [-0.2, 0.3, 0.8, -0.4],
    "position": [1.3, 0.9, 0.9],
    "image_height": 720,
    "image_width": 1280,
    "fov": 1.3,
    "near": 0.01,
    "far": 1000,
    "look_at": [0.35, 0, 0.2],
    "up_direction": [0.0, 0.0, 1.0],
}

REFUSED_CAMERAS: dict[str, Any] = {
    **{f"no {name}": {key: value for key, value in CAMERA.items() if key != name} for name in CAMERA},
    "one field more": CAMERA | {"excluded_self_client": 0},
    "a name that is none": CAMERA | {"type": None},
    "a name in a list": CAMERA | {"type": ["ViewerCameraMessage"]},
    "a short turn": CAMERA | {"wxyz": [1.0, 0.0, 0.0]},
    "a turn of text": CAMERA | {"wxyz": "1000"},
    "a place of NaN": CAMERA | {"position": [math.nan, 0.0, 0.0]},
    "a place of infinity": CAMERA | {"position": [math.inf, 0.0, 0.0]},
    "a place of a million kilometres": CAMERA | {"position": [1e9, 0.0, 0.0]},
    "a place of truth": CAMERA | {"position": [True, False, True]},
    "a place of lists": CAMERA | {"position": [[0.0], [0.0], [0.0]]},
    "a view of text": CAMERA | {"fov": "wide"},
    "a picture of half a pixel": CAMERA | {"image_height": 0.5},
    "a picture below zero": CAMERA | {"image_width": -1},
    "a picture of 2^60 pixels": CAMERA | {"image_width": 2**60},
    "a list": [CAMERA],
    "a number": 7,
    "nothing": None,
}


@pytest.fixture
def viewer() -> Any:
    viser = pytest.importorskip("viser")
    passes = scene_socket({"type": "websocket", "subprotocols": [f"viser-v{viser.__version__}"]})
    assert passes is not None
    return passes


@pytest.mark.parametrize("document", REFUSED_CAMERAS.values(), ids=REFUSED_CAMERAS)
def test_a_camera_that_is_none_never_reaches_viser(viewer: Any, document: Any) -> None:
    encode = pytest.importorskip("msgspec.msgpack").encode
    assert not viewer(encode(document))
    assert viewer(encode(CAMERA)), "the viewer goes on"
    assert not viewer(json.dumps(CAMERA)), "viser reads bytes alone"


@pytest.mark.parametrize("message", [b"", b"\xc1", b"\x8a\xa4type", b"\x91" * 100_000, b"\xff\xfe", "", "text"])
def test_what_is_no_message_never_reaches_viser(viewer: Any, message: str | bytes) -> None:
    assert not viewer(message)


def test_of_all_that_viser_can_be_told_only_the_camera_passes(viewer: Any) -> None:
    """Share, upload, click, drag, fill in, run a script: every kind that the installed viser has."""
    messages, encode = pytest.importorskip("viser._messages"), pytest.importorskip("msgspec.msgpack").encode
    kinds = {kind.__name__ for kind in messages.Message.get_subclasses()}
    assert kinds >= {"ShareUrlRequest", "ShareUrlDisconnect", "FileTransferStartUpload", "GuiUpdateMessage"}
    assert len(kinds) > 60
    for kind in kinds - {"ViewerCameraMessage"}:
        assert not viewer(encode({"type": kind})), kind
        assert not viewer(encode(CAMERA | {"type": kind})), kind
        assert not viewer(encode({"type": kind, "uuid": OTHER, "updates": {}, "value": None})), kind


@pytest.mark.parametrize("offered", [[], ["viser-v0.0.1"], ["viser-v[red]x"], ["x"], ["viser-v1.1.1", "viser-v1.1.1"]])
def test_a_viewer_of_another_version_has_no_socket(offered: list[str]) -> None:
    pytest.importorskip("viser")
    assert scene_socket({"type": "websocket", "subprotocols": offered}) is None
