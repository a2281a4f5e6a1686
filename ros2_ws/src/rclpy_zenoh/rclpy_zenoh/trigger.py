"""Calls of std_srvs/srv/Trigger with as little as can be loaded: for a stop, which must not wait for imports.

There is no node, and nothing is announced to the graph: one query to the router, which knows who serves the name.
"""

from __future__ import annotations

import os
import struct
import time
from typing import NamedTuple

import zenoh

from rclpy_zenoh.wire.attachment import GID_SIZE, pack_attachment
from rclpy_zenoh.wire.config import session_config
from rclpy_zenoh.wire.errors import SessionError, WireError
from rclpy_zenoh.wire.options import SessionOptions

TYPE = "std_srvs::srv::dds_::Trigger_"
TYPE_HASH = "RIHS01_eeff2cd6fa5ad9d27cdf4dec64818317839b62f212a91e6b5304b634b2062c5f"
REQUEST = bytes.fromhex("0001000000")
"""CDR, little endian, of a structure without members, which has one byte all the same."""

SERVER_S = 2.0
"""How long a server of the name is waited for [s]."""

_AGAIN_S = 0.1
_LONGEST = 1 << 16


class Answer(NamedTuple):
    """What a server answered."""

    success: bool
    message: str


class NoServerError(WireError):
    """No node serves the name, or it went away without an answer."""


def call_trigger(name: str, options: SessionOptions, timeout_s: float, server_s: float = SERVER_S) -> list[Answer]:
    """Call a service and wait for the answers of all who serve it; one or more.

    A request that no server takes is sent again until `server_s` is over: it must do no harm twice.

    Args:
        name: Full name of the service, such as "/stop".
        options: Domain and router of the graph.
        timeout_s: Longest time to wait for the answers [s].
        server_s: Longest time to wait for a server [s].

    Raises:
        SessionError: The options are wrong, or no router answers.
        NoServerError: No node serves it.
        WireError: An answer did not come in time, or cannot be read.
    """
    session = _open(options)
    try:
        give_up_s = time.monotonic() + server_s
        while not (answers := _ask(session, name, options, timeout_s)):
            if time.monotonic() >= give_up_s:
                raise NoServerError(f"Nobody serves {name} in domain {options.domain} at {options.router}.")
            time.sleep(_AGAIN_S)
        return answers
    finally:
        session.close()


def _open(options: SessionOptions) -> zenoh.Session:
    config = session_config(options)
    # A client of the router: it listens nowhere and meets no other peer, and it fails where no router answers.
    config.insert_json5("mode", '"client"')
    config.insert_json5("listen/endpoints", "[]")
    config.insert_json5("connect/timeout_ms", "0")
    config.insert_json5("connect/exit_on_failure", "true")
    try:
        return zenoh.open(config)
    except zenoh.ZError:
        raise SessionError(f"No router answers at {options.router}.") from None


def _ask(session: zenoh.Session, name: str, options: SessionOptions, timeout_s: float) -> list[Answer]:
    key = f"{options.domain}/{name.strip('/')}/{TYPE}/{TYPE_HASH}"
    replies = session.get(
        key,
        target=zenoh.QueryTarget.ALL_COMPLETE,
        consolidation=zenoh.ConsolidationMode.NONE,
        timeout=timeout_s,
        payload=REQUEST,
        attachment=pack_attachment(1, time.time_ns(), os.urandom(GID_SIZE)),
    )
    answers = []
    for reply in replies:
        if reply.ok is None:
            error = reply.err.payload.to_bytes()[:200].decode(errors="replace") if reply.err else ""
            late = error.strip().lower() == "timeout"
            raise WireError(
                f"{name} did not answer within {timeout_s:g} s." if late else f"{name} refused the request: {error!r}."
            )
        answers.append(read_response(reply.ok.payload.to_bytes()))
    return answers


def read_response(packet: bytes) -> Answer:
    """What a response of Trigger says in CDR. Raises WireError where it is none."""
    try:
        order = {0: ">", 1: "<"}[packet[1]]
        (length,) = struct.unpack_from(f"{order}I", packet, 8)
        if len(packet) > _LONGEST or not 1 <= length <= len(packet) - 12 or packet[4] > 1:
            raise ValueError
    except (ValueError, KeyError, IndexError, struct.error):
        raise WireError("The answer is no response of std_srvs/srv/Trigger.") from None
    text = packet[12 : 12 + length].rstrip(b"\0").decode(errors="replace")
    return Answer(packet[4] == 1, "".join(sign if sign.isprintable() else " " for sign in text))
