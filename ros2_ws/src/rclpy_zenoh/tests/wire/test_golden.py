"""Keys, tokens, profiles and attachments byte for byte as rmw_zenoh writes them.

The tokens are the examples of its docs/design.md, the attachment's layout is described there too.
"""

from __future__ import annotations

import struct

import pytest
import xxhash
import zenoh

from rclpy_zenoh.interfaces import dds_name, get_class, type_hash
from rclpy_zenoh.wire import (
    Attachment,
    Durability,
    Entity,
    History,
    Liveliness,
    Qos,
    QoSError,
    Reliability,
    data_key,
    decode_qos,
    encode_qos,
    pack_attachment,
    parse_token,
    resolve_qos,
    unpack_attachment,
)

STRING = ("std_msgs::msg::dds_::String_", "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18")
ADD = (
    "example_interfaces::srv::dds_::AddTwoInts_",
    "RIHS01_e118de6bf5eeb66a2491b5bda11202e7b68f198d6f67922cf30364858239c81a",
)


def reliable(depth: int) -> Qos:
    return Qos(Reliability.RELIABLE, Durability.VOLATILE, History.KEEP_LAST, depth)


def entity(zid: str, entity_id: int, kind: str, node: str, name: str, types: tuple[str, str], depth: int) -> Entity:
    return Entity(2, zid, 0, entity_id, kind, "/", "/", node, name, *types, reliable(depth))


TOKENS = [
    (
        Entity(2, "aac3178e146ba6f1fc6e6a4085e77f21", 0, 0, "node", "/", "/", "listener"),
        "@ros2_lv/2/aac3178e146ba6f1fc6e6a4085e77f21/0/0/NN/%/%/listener",
    ),
    (
        entity("aac3178e146ba6f1fc6e6a4085e77f21", 10, "subscription", "listener", "/chatter", STRING, 10),
        "@ros2_lv/2/aac3178e146ba6f1fc6e6a4085e77f21/0/10/MS/%/%/listener/%chatter/std_msgs::msg::dds_::String_/"
        "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18/::,10:,:,:,,",
    ),
    (
        entity("8b20917502ee955ac4476e0266340d5c", 10, "publisher", "talker", "/chatter", STRING, 7),
        "@ros2_lv/2/8b20917502ee955ac4476e0266340d5c/0/10/MP/%/%/talker/%chatter/std_msgs::msg::dds_::String_/"
        "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18/::,7:,:,:,,",
    ),
    (
        entity("f9980ee0495eaafb3e38f0d19e2eae12", 10, "service", "add_two_ints_server", "/add_two_ints", ADD, 10),
        "@ros2_lv/2/f9980ee0495eaafb3e38f0d19e2eae12/0/10/SS/%/%/add_two_ints_server/%add_two_ints/"
        "example_interfaces::srv::dds_::AddTwoInts_/"
        "RIHS01_e118de6bf5eeb66a2491b5bda11202e7b68f198d6f67922cf30364858239c81a/::,10:,:,:,,",
    ),
    (
        entity("e1dc8d1b45ae8717fce78689cc655685", 10, "client", "add_two_ints_client", "/add_two_ints", ADD, 10),
        "@ros2_lv/2/e1dc8d1b45ae8717fce78689cc655685/0/10/SC/%/%/add_two_ints_client/%add_two_ints/"
        "example_interfaces::srv::dds_::AddTwoInts_/"
        "RIHS01_e118de6bf5eeb66a2491b5bda11202e7b68f198d6f67922cf30364858239c81a/::,10:,:,:,,",
    ),
]


@pytest.mark.parametrize(("entity", "token"), TOKENS, ids=lambda value: getattr(value, "kind", ""))
def test_a_token_is_the_one_that_rmw_zenoh_documents(entity: Entity, token: str) -> None:
    assert entity.token == token


@pytest.mark.parametrize(("entity", "token"), TOKENS, ids=lambda value: getattr(value, "kind", ""))
def test_a_token_is_read_back(entity: Entity, token: str) -> None:
    qos = entity.qos and resolve_qos(entity.qos)
    assert parse_token(token) == Entity(
        entity.domain,
        entity.zid,
        entity.node_id,
        entity.entity_id,
        entity.kind,
        "/",
        "/",
        entity.node_name,
        entity.name,
        entity.dds_type,
        entity.type_hash,
        qos,
        token,
    )


def test_namespaces_and_enclaves_have_percent_signs_for_slashes() -> None:
    node = Entity(0, "ab", 3, 3, "node", "/safe/place", "/robot/arm", "camera")
    assert node.token == "@ros2_lv/0/ab/3/3/NN/%safe%place/%robot%arm/camera"
    assert parse_token(node.token) == node


def test_further_chunks_of_newer_versions_are_ignored_but_count_for_the_gid() -> None:
    token = TOKENS[2][1]
    newer = parse_token(f"{token}/backends:cpu:;")
    assert (newer.name, newer.qos) == ("/chatter", resolve_qos(reliable(7)))
    assert newer.token.endswith("cpu:;")
    assert newer.gid == xxhash.xxh3_128_intdigest(newer.token.encode()).to_bytes(16, "little")


def test_a_type_is_named_as_ros_writes_it() -> None:
    assert parse_token(TOKENS[2][1]).type_name == "std_msgs/msg/String"
    assert parse_token(TOKENS[3][1]).type_name == "example_interfaces/srv/AddTwoInts"


def test_a_gid_is_the_low_then_the_high_half_of_xxh3_128_little_endian() -> None:
    # The algorithm's published value for no input is 99aa06d3014798d8 (high), 6001c324468d497f (low).
    assert xxhash.xxh3_128_hexdigest(b"") == "99aa06d3014798d86001c324468d497f"
    node, token = TOKENS[0]
    digest = xxhash.xxh3_128_intdigest(token.encode())
    assert node.gid == struct.pack("<QQ", digest & (2**64 - 1), digest >> 64)


@pytest.mark.parametrize(
    ("name", "cls", "key"),
    [
        ("/chatter", "std_msgs/msg/String", f"5/chatter/{STRING[0]}/{STRING[1]}"),
        ("/robot/a_b/chatter", "std_msgs/msg/String", f"5/robot/a_b/chatter/{STRING[0]}/{STRING[1]}"),
        ("/add_two_ints", "example_interfaces/srv/AddTwoInts", f"5/add_two_ints/{ADD[0]}/{ADD[1]}"),
    ],
)
def test_a_key_is_domain_name_type_and_hash(name: str, cls: str, key: str) -> None:
    known = get_class(cls)
    assert data_key(5, name, dds_name(known), type_hash(known)) == key


SECOND = 10**9
PROFILES = [
    (Qos(0, 0, 0, 0), "::,:,:,:,,"),
    (Qos(1, 2, 1, 42, liveliness=1), "::,:,:,:,,"),
    (Qos(2, 2, 1, 5), "2::,5:,:,:,,"),
    (Qos(1, 1, 1, 1), ":1:,1:,:,:,,"),
    (Qos(1, 1, 2, 0), ":1:2,:,:,:,,"),
    (Qos(1, 2, 1, 10, deadline_ns=5 * SECOND), "::,10:5,0:,:,,"),
    (Qos(1, 2, 1, 10, lifespan_ns=SECOND // 2), "::,10:,:0,500000000:,,"),
    (Qos(1, 2, 1, 10, liveliness=3, lease_ns=2 * SECOND + 7), "::,10:,:,:3,2,7"),
    (Qos(1, 2, 1, 10, deadline_ns=2**63 - 1), "::,10:,:,:,,"),
    (Qos(4, 4, 1, 1, liveliness=5), "4:4:,1:,:,:5,,"),
]


@pytest.mark.parametrize(("qos", "text"), PROFILES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_profile_names_only_what_differs_from_rmw_zenohs_defaults(qos: Qos, text: str) -> None:
    assert encode_qos(qos) == text


@pytest.mark.parametrize(("qos", "text"), PROFILES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_profile_is_read_back_with_the_defaults_filled_in(qos: Qos, text: str) -> None:
    assert decode_qos(text) == resolve_qos(qos)


def test_the_defaults_are_rmw_zenohs() -> None:
    assert decode_qos("::,:,:,:,,") == Qos(
        Reliability.RELIABLE, Durability.VOLATILE, History.KEEP_LAST, 42, 0, 0, Liveliness.AUTOMATIC, 0
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":::::",
        "::,10:,:,:,",
        "9::,10:,:,:,,",
        "3::,10:,:,:,,",
        ":7:,10:,:,:,,",
        "::5,10:,:,:,,",
        "::,-1:,:,:,,",
        "::,ten:,:,:,,",
        "::," + "9" * 21 + ":,:,:,,",
        "::,10:,:,:2,,",
        "::,١٠:,:,:,,",
        "²::,10:,:,:,,",
        "::,10:1.5,:,:,,",
    ],
)
def test_a_wrong_profile_is_refused(text: str) -> None:
    with pytest.raises(QoSError):
        decode_qos(text)


@pytest.mark.parametrize(
    "qos", [Qos(9, 2, 1, 1), Qos(3, 2, 1, 1), Qos(1, -1, 1, 1), Qos(1, 2, 7, 1), Qos(1, 2, 1, -1), Qos(1, 2, 1, 2**63)]
)
def test_a_profile_that_rmw_does_not_know_is_refused(qos: Qos) -> None:
    with pytest.raises(QoSError, match=r"^QoS: .*\.$"):
        encode_qos(qos)


GID = bytes(range(16))


def test_an_attachment_is_33_bytes_number_time_length_and_gid() -> None:
    assert pack_attachment(1, 0x0102030405060708, GID).hex() == (
        "0100000000000000" + "0807060504030201" + "10" + "000102030405060708090a0b0c0d0e0f"
    )


def test_an_attachment_is_what_zenohs_serializer_writes() -> None:
    expected = zenoh.ext.z_serialize((zenoh.ext.Int64(7), zenoh.ext.Int64(99), GID)).to_bytes()
    assert pack_attachment(7, 99, GID) == expected
    assert unpack_attachment(expected) == Attachment(7, 99, GID)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        pack_attachment(1, 1, GID)[:-1],
        pack_attachment(1, 1, GID) + b"\0",
        struct.pack("<qqB16s", 1, 1, 15, GID),
        struct.pack("<qqB16s", -1, 1, 16, GID),
        struct.pack("<qqB16s", 1, -1, 16, GID),
    ],
)
def test_a_wrong_attachment_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="attachment"):
        unpack_attachment(data)
