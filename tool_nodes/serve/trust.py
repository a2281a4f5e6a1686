"""Whether a cluster may be joined: who joins one runs what it sends, so that it is this user's, or asks for a token.

Ray asks who joins for a token and proves nothing in return. A cluster that was started here is known by who listens at
its address, which the kernel tells; of somebody's cluster at an address that the user has named it can be seen at
least that not everybody can send programs to it.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

from toolhand.tool_nodes.results import Cause, unavailable
from toolhand.tool_nodes.serve.service_file import ServiceNote
from toolhand.tool_nodes.serve.transport import GONE, not_served

ANSWER_S = 10.0
"""How long a cluster may take to say whether it asks for a token [s]: it takes milliseconds."""

_LISTENS = "0A"
_WORD = 8
"""Digits in which /proc/net writes 32 bits of an address, the lowest byte first [-]."""


def require_trusted(service: ServiceNote) -> None:
    """Refuse to join a cluster that is not what was started or named.

    Raises:
        ToolError: UNAVAILABLE where nothing listens at its address, where another user's process does though it should
            be this user's, and where a cluster of others admits clients without a token.
    """
    host, _, port = service.address.rpartition(":")
    if not service.own:
        _require_token(service.address)
        return
    users = listening_users(host, int(port or 0))
    if not users:
        raise not_served(f"No cluster answers at {service.address}.", GONE)
    if users != {os.geteuid()}:
        raise unavailable(
            f"At {service.address}, where a cluster was started here, another user of this machine listens now; "
            "it is not joined.",
            "Take the old one down with: toolhand serve down",
            cause=Cause.NOT_SERVED,
        )


def listening_users(host: str, port: int) -> set[int]:
    """The users whose processes take connections to a port of this machine.

    Args:
        host: An IPv4 address of this machine.
        port: The port.

    Raises:
        ToolError: UNAVAILABLE where the system does not say.
    """
    plain = _digits(socket.inet_aton(host))
    mapped = f"{'0' * 2 * _WORD}FFFF0000{plain}"
    wanted = {plain, "0" * _WORD, mapped, "0" * 4 * _WORD}
    found = set()
    for table in ("tcp", "tcp6"):
        try:
            rows = Path("/proc/net", table).read_text(encoding="ascii").splitlines()[1:]
        except FileNotFoundError as error:
            if table == "tcp6":  # a kernel without IPv6
                continue
            raise unavailable("This system does not tell who listens at a port.") from error
        for row in rows:
            _, local, _, state, _, _, _, user, *_ = row.split()
            address, _, number = local.partition(":")
            if state == _LISTENS and int(number, 16) == port and address in wanted:
                found.add(int(user))
    return found


def _digits(address: bytes) -> str:
    return f"{int.from_bytes(address, 'little'):08X}"


def _require_token(address: str) -> None:
    import grpc
    from ray.core.generated import gcs_service_pb2, gcs_service_pb2_grpc

    with _channel(grpc, address) as channel:
        nodes: Any = gcs_service_pb2_grpc.NodeInfoGcsServiceStub(channel)
        try:
            nodes.GetClusterId(gcs_service_pb2.GetClusterIdRequest(), timeout=ANSWER_S, wait_for_ready=True)
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.UNAUTHENTICATED:
                return
            raise not_served(f"No cluster answers at {address}: {error.code().name.lower()}.") from error
    raise unavailable(
        f"The cluster at {address} asks nobody for a token, so that whoever reaches it can run programs in this "
        "process; it is not joined.",
        "Start it with RAY_AUTH_MODE=token.",
        cause=Cause.NOT_SERVED,
    )


def _channel(grpc: Any, address: str) -> Any:
    if os.environ.get("RAY_USE_TLS", "0").lower() not in ("1", "true"):
        return grpc.insecure_channel(address, options=(("grpc.enable_http_proxy", 0),))
    from ray._common.tls_utils import load_certs_from_env

    chain, key, authority = load_certs_from_env()
    return grpc.secure_channel(
        address,
        grpc.ssl_channel_credentials(certificate_chain=chain, private_key=key, root_certificates=authority),
    )
