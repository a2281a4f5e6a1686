"""zenoh's configuration of sessions and of the router: rmw_zenoh's topology, on loopback only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import zenoh

from rclpy_zenoh.wire.errors import SessionError
from rclpy_zenoh.wire.options import SessionOptions, is_loopback
from rclpy_zenoh.wire.shared_memory import POOL_BYTES

QUERY_TIMEOUT_S = 600.0
"""How long a request may take, as in rmw_zenoh. zenoh keeps about 650 bytes of each request until then."""

_RETRY = {"period_init_ms": 100, "period_max_ms": 1000, "period_increase_factor": 2}

DROP_PATIENCE_US = 250_000
"""How long a message that may be dropped waits for its turn [us]. A receiver that is late catches up, so that a burst
arrives whole; one that has stopped holds its senders up for so long once, and not again until it goes on. rmw_zenoh
leaves zenoh's default of 1 ms, with which a burst of pictures arrives in part."""

_PATIENT = {
    "unicast": {"open_timeout": 60_000, "accept_timeout": 60_000},
    "link": {
        "tx": {
            "lease": 60_000,
            "queue": {
                "congestion_control": {
                    "drop": {"wait_before_drop": DROP_PATIENCE_US, "max_wait_before_drop_fragments": DROP_PATIENCE_US},
                    "block": {"wait_before_close": 60_000_000},
                }
            },
        }
    },
}
"""A machine that is busy starting many nodes must not lose connections for it; rmw_zenoh is as patient."""


def session_config(options: SessionOptions) -> zenoh.Config:
    """A peer that finds others through the router and then talks to them directly; or a client of the router.

    Raises:
        SessionError: An override is wrong, makes the session listen beyond loopback, or makes it connect beyond
            loopback without `allow_remote`.
    """
    config = _config(
        mode="client" if options.client else "peer",
        listen=[] if options.client else ["tcp/127.0.0.1:0"],
        connect=[options.router] if options.router else [],
        shared_memory=options.shared_memory,
    )
    for key, value in options.overrides:
        try:
            config.insert_json5(key, value)
        except (zenoh.ZError, ValueError) as error:
            raise SessionError(f"ZENOH_CONFIG_OVERRIDE: zenoh does not accept {key}={value}: {error}.") from None
    _require_loopback(config, connect=not options.allow_remote)
    return config


def router_config(port: int) -> zenoh.Config:
    """The router, through which sessions find each other."""
    return _config(mode="router", listen=[f"tcp/127.0.0.1:{port}"], connect=[], shared_memory=False)


def _config(*, mode: str, listen: list[str], connect: list[str], shared_memory: bool) -> zenoh.Config:
    document = {
        "mode": mode,
        "listen": {"endpoints": listen},
        "connect": {"endpoints": connect, "retry": _RETRY},
        "scouting": {"delay": 1, "multicast": {"enabled": False}, "gossip": {"enabled": True}},
        "timestamping": {"enabled": True},
        "queries_default_timeout": int(QUERY_TIMEOUT_S * 1000),
        "transport": {
            "shared_memory": {"enabled": shared_memory, "transport_optimization": {"pool_size": POOL_BYTES}},
            **_PATIENT,
        },
        "adminspace": {"enabled": False},
    }
    return zenoh.Config.from_json5(json.dumps(document))


def _require_loopback(config: zenoh.Config, *, connect: bool) -> None:
    for endpoint in _texts(json.loads(config.get_json("listen/endpoints"))):
        if not is_loopback(endpoint):
            raise SessionError(f"Sessions listen on loopback only, such as tcp/127.0.0.1:0, not on '{endpoint}'.")
    for endpoint in _texts(json.loads(config.get_json("connect/endpoints"))) if connect else ():
        if not is_loopback(endpoint):
            raise SessionError(f"Connecting to '{endpoint}' needs RCLPY_ZENOH_ALLOW_REMOTE=1; it is not loopback.")
    if json.loads(config.get_json("scouting/multicast/enabled")):
        raise SessionError("Sessions listen on loopback only, so scouting/multicast/enabled must stay false.")


def _texts(value: Any) -> Iterator[str]:
    """The strings in a JSON value; zenoh allows one endpoint, a list, or one of these for each mode."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)
