"""What browsers may send over the websockets of the pages: lists of what pages and viewer send, and nothing else.

NiceGUI and viser take more kinds of messages than this console has a use for: log lines, answers of scripts, uploads,
a tunnel to a public address. What is not in the lists here never reaches them, nor what is in them with a value of
another kind. A rule is made for each websocket that is opened, of what its request asks for; it says of each message
whether it passes. What does not is left out, and the websocket goes on.
"""

from __future__ import annotations

import importlib
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.types import Scope

from toolhand.console.guarding import SocketRule

PAGES_PATH, SCENE_PATH = "/_nicegui_ws/socket.io/", "/scene"
"""The websockets that there are: NiceGUI's and viser's."""

_MOST_ARGUMENTS = 4
"""Arguments of one event of a page [-]: all have one or none."""
_DEEPEST = 8
"""Lists and objects within each other in an argument [-]: a pointed point in a list of them needs three."""
_MOST_WHOLE = 2**53 - 1
"""Largest whole number of a browser [-]."""
_MOST_PIXELS = 32_768
"""Widest image of a viewer [px]: twice the widest canvas of browsers."""
_FARTHEST = 1e6
"""Largest number of a viewer's pose or view [m, rad, -]: a thousand times the distance at which it still draws."""

_NAME = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_EVENT = re.compile(r"42(?P<answered>\d{0,9})(?P<content>\[.*\])", re.ASCII | re.DOTALL)
_CONNECT = ("40", "40{}")
_ALWAYS = ("3", "41", "1")
"""Of Engine.IO and Socket.IO: the answer to a ping, the end of the namespace, the end of the connection."""

FieldCheck = Callable[[Any], bool]


def page_socket(scope: Scope) -> Callable[[str | bytes], bool] | None:
    """The rule of a page's websocket: it connects once and speaks for the page that its address names.

    None where the address is not one that NiceGUI's script makes.
    """
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    query = dict(pairs)
    if len(pairs) != len(query) or not _fits(query, _QUERY, more=True):
        return None
    page = query["client_id"]
    connected = False

    def passes(message: str | bytes) -> bool:
        nonlocal connected
        if message in _CONNECT:
            first, connected = not connected, True
            return first
        if message in _ALWAYS:
            return True
        found = _EVENT.fullmatch(message) if isinstance(message, str) else None
        content = _decoded(found["content"]) if found else None
        if not isinstance(content, list) or len(content) != 2 or not isinstance(content[0], str):
            return False
        table = _EVENTS.get(content[0])
        return connected and table is not None and _fits(content[1], table) and content[1]["client_id"] == page

    return passes


def scene_socket(scope: Scope) -> Callable[[str | bytes], bool] | None:
    """The rule of a viewer's websocket: it says where its camera is. None for a viewer of another version."""
    viser, msgpack = importlib.import_module("viser"), importlib.import_module("msgspec.msgpack")
    if list(scope.get("subprotocols", ())) != [f"viser-v{viser.__version__}"]:
        return None

    def passes(message: str | bytes) -> bool:
        if not isinstance(message, bytes):
            return False
        try:
            return _fits(msgpack.decode(message), _CAMERA)
        except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
            return False

    return passes


SOCKET_RULES: Mapping[str, SocketRule] = {PAGES_PATH: page_socket, SCENE_PATH: scene_socket}
"""The rules of the pages' websockets by path."""


def _fits(value: Any, table: Mapping[str, FieldCheck], more: bool = False) -> bool:
    """Whether an object has the fields of a table, each of its kind, and no other unless `more`."""
    named = isinstance(value, dict) and (more or len(value) == len(table))
    return named and all(name in value and check(value[name]) for name, check in table.items())


def _decoded(text: str) -> Any:
    """JSON as every reader of it understands it; None for what is none, or holds null alone."""
    try:
        value = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None
    return value if _is_plain(value) else None


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _is_plain(value: Any, depth: int = 0) -> bool:
    """Text is Unicode, numbers are those of browsers, and nothing lies deeper than `_DEEPEST`."""
    if isinstance(value, str):
        return len(value.encode(errors="replace")) == len(value.encode(errors="surrogatepass"))
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return abs(value) <= _MOST_WHOLE
    if isinstance(value, dict):
        return depth < _DEEPEST and all(_is_plain(each, depth + 1) for pair in value.items() for each in pair)
    return value is None or (depth < _DEEPEST and all(_is_plain(each, depth + 1) for each in value))


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _is_name_or_none(value: Any) -> bool:
    return value in (None, "", "null", "undefined") or _is_name(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_WHOLE


def _is_whole_text(value: Any) -> bool:
    return isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16


def _is_switch(value: Any) -> bool:
    return value in (True, False, "true", "false") and isinstance(value, bool | str)


def _are_arguments(value: Any) -> bool:
    """Each argument is JSON as text, or nothing."""
    return (
        isinstance(value, list)
        and len(value) <= _MOST_ARGUMENTS
        and all(
            each is None or (isinstance(each, str) and (each == "null" or _decoded(each) is not None)) for each in value
        )
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _FARTHEST


def _are_numbers(count: int) -> FieldCheck:
    return lambda value: isinstance(value, list) and len(value) == count and all(map(_is_number, value))


def _is_side(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_PIXELS


_QUERY: Mapping[str, FieldCheck] = {
    "transport": lambda value: value == "websocket",
    "EIO": lambda value: value == "4",
    "client_id": _is_name,
    "document_id": _is_name,
    "tab_id": _is_name,
    "old_tab_id": _is_name_or_none,
    "next_message_id": _is_whole_text,
    "implicit_handshake": _is_switch,
}
"""What the address of a page's websocket says."""

_EVENTS: Mapping[str, Mapping[str, FieldCheck]] = {
    "event": {"client_id": _is_name, "id": _is_whole, "listener_id": _is_name, "args": _are_arguments},
    "ack": {"client_id": _is_name, "next_message_id": _is_whole},
    "handshake": {
        "client_id": _is_name,
        "document_id": _is_name,
        "tab_id": _is_name,
        "old_tab_id": _is_name_or_none,
        "next_message_id": _is_whole,
        "implicit_handshake": _is_switch,
    },
    "javascript_response": {"client_id": _is_name, "request_id": _is_name},
}
"""What a page says: an event of an element, how far it has read, that it is there after it was loaded ahead, and that
it has done what it was told to; what came of that is asked for nowhere."""

_CAMERA: Mapping[str, FieldCheck] = {
    "type": lambda value: value == "ViewerCameraMessage",
    "wxyz": _are_numbers(4),
    "position": _are_numbers(3),
    "fov": _is_number,
    "near": _is_number,
    "far": _is_number,
    "image_height": _is_side,
    "image_width": _is_side,
    "look_at": _are_numbers(3),
    "up_direction": _are_numbers(3),
}
"""What viser's page says where nothing in the scene can be clicked, dragged or filled in."""
