"""What a session is asked to be: domain, router, shared memory. From arguments or from the environment."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from rclpy_zenoh.wire.errors import SessionError

DEFAULT_PORT = 7447
DEFAULT_ROUTER = f"tcp/127.0.0.1:{DEFAULT_PORT}"
MAX_DOMAIN = 232

_LOCAL_PROTOCOLS = ("unixsock-stream", "unixpipe")


@dataclass(frozen=True)
class SessionOptions:
    """How to open a session.

    Args:
        domain: ROS domain, 0 to 232; graphs of different domains do not see each other.
        router: Endpoint of the router, "tcp/HOST:PORT", or None for a session without peers.
        shared_memory: Pass large messages to other processes of this machine through shared memory.
        enclave: Security enclave as other nodes see it; it has no effect.
        client: Talk through the router only: nothing listens, and no other session learns where this one is. For
            those who look for a moment, because other sessions go on calling at a peer's door after it has gone.
        allow_remote: Let `router` be on another machine. Sessions listen on loopback only in any case.
        overrides: Further settings of zenoh's configuration, as pairs of key and JSON5 value.

    Raises:
        SessionError: The domain, the router or an override is not allowed.
    """

    domain: int = 0
    router: str | None = DEFAULT_ROUTER
    shared_memory: bool = False
    enclave: str = "/"
    client: bool = False
    allow_remote: bool = False
    overrides: tuple[tuple[str, str], ...] = field(default=())

    def __post_init__(self) -> None:
        if not 0 <= self.domain <= MAX_DOMAIN:
            raise SessionError(f"The ROS domain must be between 0 and {MAX_DOMAIN}, not {self.domain}.")
        if self.router is not None and not self.allow_remote and not is_loopback(self.router):
            raise SessionError(
                f"The router must be on this machine, such as {DEFAULT_ROUTER}, not '{self.router}'; "
                "RCLPY_ZENOH_ALLOW_REMOTE=1 allows another machine."
            )

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> SessionOptions:
        """The options that ROS_DOMAIN_ID, RCLPY_ZENOH_ROUTER, RCLPY_ZENOH_SHM, RCLPY_ZENOH_CLIENT,
        RCLPY_ZENOH_ALLOW_REMOTE and ZENOH_CONFIG_OVERRIDE ("key=value;key=value") give; shared memory is on without
        RCLPY_ZENOH_SHM=0.

        Raises:
            SessionError: One of them has a value that is not allowed.
        """
        env = os.environ if environ is None else environ
        domain = env.get("ROS_DOMAIN_ID", "") or "0"
        if not (domain.isascii() and domain.isdigit() and int(domain[:9]) <= MAX_DOMAIN and len(domain) < 9):
            raise SessionError(f"ROS_DOMAIN_ID must be a number between 0 and {MAX_DOMAIN}, not '{domain[:40]}'.")
        return cls(
            domain=int(domain),
            router=env.get("RCLPY_ZENOH_ROUTER") or DEFAULT_ROUTER,
            shared_memory=_flag(env, "RCLPY_ZENOH_SHM", default=True),
            enclave=env.get("ROS_SECURITY_ENCLAVE_OVERRIDE") or "/",
            client=_flag(env, "RCLPY_ZENOH_CLIENT", default=False),
            allow_remote=_flag(env, "RCLPY_ZENOH_ALLOW_REMOTE", default=False),
            overrides=_parse_overrides(env.get("ZENOH_CONFIG_OVERRIDE", "")),
        )


def is_loopback(endpoint: str) -> bool:
    """True for an endpoint that other machines cannot reach, such as "tcp/127.0.0.1:7447"."""
    protocol, _, address = endpoint.partition("/")
    if protocol in _LOCAL_PROTOCOLS:
        return True
    address = address.partition("#")[0].partition("?")[0]
    host = address.rpartition(":")[0].strip("[]")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _flag(env: Mapping[str, str], name: str, *, default: bool) -> bool:
    value = env.get(name, "") or str(int(default))
    if value not in ("0", "1"):
        raise SessionError(f"{name} must be 0 or 1, not '{value[:40]}'.")
    return value == "1"


def _parse_overrides(text: str) -> tuple[tuple[str, str], ...]:
    pairs = []
    for item in filter(None, (part.strip() for part in text.split(";"))):
        key, equals, value = item.partition("=")
        if not equals:
            raise SessionError(f"ZENOH_CONFIG_OVERRIDE must be key=value;key=value, and '{item[:80]}' has no '='.")
        pairs.append((key.strip(), value.strip()))
    return tuple(pairs)
