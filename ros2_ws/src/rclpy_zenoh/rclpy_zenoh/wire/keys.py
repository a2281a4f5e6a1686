"""Key expressions: where data flows, and the liveliness tokens that announce which entities exist."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import xxhash

from rclpy_zenoh.wire.qos import Qos, decode_qos, encode_qos

ADMIN = "@ros2_lv"
KINDS = {"MP": "publisher", "MS": "subscription", "SS": "service", "SC": "client"}
"""Entity codes of endpoints; a node is NN."""

MAX_TOKEN_LENGTH = 2048
"""Longer tokens are refused: names have at most 255 characters, so a genuine one is much shorter."""

_CODES = {kind: code for code, kind in KINDS.items()}
_NODE_CHUNKS = 9
_ENDPOINT_CHUNKS = 13
_CHUNK = re.compile(r"[A-Za-z0-9_.%:,~+-]+")
_ZID = re.compile(r"[0-9a-f]{1,32}")
_DDS_TYPE = re.compile(r"(\w+)::(msg|srv|action)::dds_::(\w+)_")


def data_key(domain: int, fq_name: str, dds_type: str, type_hash: str) -> str:
    """The key of a topic's messages or a service's requests: "0/chatter/std_msgs::msg::dds_::String_/RIHS01_.."."""
    return f"{domain}/{fq_name.strip('/')}/{dds_type}/{type_hash}"


def graph_key(domain: int) -> str:
    """The key that all tokens of a domain match."""
    return f"{ADMIN}/{domain}/**"


@dataclass(frozen=True)
class EndpointInfo:
    """A publisher, subscription, service or client somewhere in the graph.

    Attributes:
        type_name: Such as "std_msgs/msg/String".
        kind: "publisher", "subscription", "service" or "client".
        gid: 16 bytes, the same in its attachments.
    """

    node_name: str
    node_namespace: str
    type_name: str
    type_hash: str
    kind: str
    gid: bytes
    qos: Qos


@dataclass(frozen=True)
class Entity:
    """A node (`kind` "node") or an endpoint, as its token describes it.

    `name`, `dds_type`, `type_hash` and `qos` are an endpoint's only. `token` is the key of its liveliness token; it is
    made from the rest unless it is given.
    """

    domain: int
    zid: str
    node_id: int
    entity_id: int
    kind: str
    enclave: str
    namespace: str
    node_name: str
    name: str = ""
    dds_type: str = ""
    type_hash: str = ""
    qos: Qos | None = None
    token: str = ""

    def __post_init__(self) -> None:
        if not self.token:
            object.__setattr__(self, "token", self._make_token())

    def _make_token(self) -> str:
        code = _CODES.get(self.kind, "NN")
        chunks = [ADMIN, str(self.domain), self.zid, str(self.node_id), str(self.entity_id), code]
        chunks += [_mangle(text) for text in (self.enclave, self.namespace, self.node_name)]
        if self.qos is not None:
            chunks += [_mangle(self.name), _mangle(self.dds_type), _mangle(self.type_hash), encode_qos(self.qos)]
        return "/".join(chunks)

    @cached_property
    def gid(self) -> bytes:
        """16 bytes that stand for this entity: XXH3-128 of its token, as in rmw_zenoh."""
        return xxhash.xxh3_128_intdigest(self.token.encode()).to_bytes(16, "little")

    @property
    def key(self) -> str:
        """The key of an endpoint's data."""
        return data_key(self.domain, self.name, self.dds_type, self.type_hash)

    @property
    def type_name(self) -> str:
        """The type as ROS writes it, such as "std_msgs/msg/String"."""
        found = _DDS_TYPE.fullmatch(self.dds_type)
        return "/".join(found.groups()) if found else self.dds_type


def parse_token(token: str) -> Entity:
    """What a liveliness token says; chunks after the thirteenth are ignored, as newer versions of rmw_zenoh add some.

    Raises:
        ValueError: With the reason, when it is no token of rmw_zenoh's (QoSError is one).
    """
    if len(token) > MAX_TOKEN_LENGTH:
        raise ValueError(f"it has {len(token)} characters, more than {MAX_TOKEN_LENGTH}")
    chunks = token.split("/")
    if len(chunks) < _NODE_CHUNKS:
        raise ValueError(f"it has {len(chunks)} chunks, fewer than {_NODE_CHUNKS}")
    chunks = chunks[:_ENDPOINT_CHUNKS]
    if chunks[0] != ADMIN:
        raise ValueError(f"it does not begin with {ADMIN}")
    if not all(_CHUNK.fullmatch(chunk) for chunk in chunks[1:]):
        raise ValueError("a chunk has a character that names cannot have")
    if not _ZID.fullmatch(chunks[2]):
        raise ValueError("its session id is not hexadecimal")
    domain, node_id, entity_id = (_index(chunk) for chunk in (chunks[1], chunks[3], chunks[4]))
    place = (domain, chunks[2], node_id, entity_id)
    enclave, namespace, node_name = (_demangle(chunk) for chunk in chunks[6:9])
    if chunks[5] == "NN":
        return Entity(*place, "node", enclave, namespace, node_name, token=token)
    if chunks[5] not in KINDS:
        raise ValueError(f"'{chunks[5][:20]}' is not one of NN, {', '.join(KINDS)}")
    if len(chunks) < _ENDPOINT_CHUNKS:
        raise ValueError(f"an endpoint's token has {len(chunks)} chunks, fewer than {_ENDPOINT_CHUNKS}")
    name, dds_type, type_hash = (_demangle(chunk) for chunk in chunks[9:12])
    if not name.startswith("/"):
        raise ValueError("its name is not absolute")
    node = (enclave, namespace, node_name)
    return Entity(*place, KINDS[chunks[5]], *node, name, dds_type, type_hash, decode_qos(chunks[12]), token)


def _index(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 20):
        raise ValueError("a number in it is no number")
    return int(text)


def _mangle(text: str) -> str:
    return text.replace("/", "%")


def _demangle(text: str) -> str:
    return text.replace("%", "/")
