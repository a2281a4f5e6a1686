"""RIHS01 hashes against those of the official generator."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from rclpy_zenoh.interfaces import InterfaceError, get_class, type_hash, use_distro
from rclpy_zenoh.interfaces.parser import parse_interface
from rclpy_zenoh.interfaces.registry import DISTROS, STANDARD, Registry
from rclpy_zenoh.interfaces.type_hash import rihs01

TABLE = json.loads((Path(__file__).parents[1] / "data" / "type_hashes.json").read_text(encoding="utf-8"))
REGISTRIES = {distro: Registry(distro) for distro in DISTROS}
SIZES = {"jazzy": 689, "kilted": 701, "lyrical": 695}
NOT_CARRIED = {"jazzy": 24, "kilted": 51, "lyrical": 51}


@cache
def expected(distro: str) -> dict[str, str]:
    rows = {n: h if isinstance(h, str) else h.get(distro) for n, h in TABLE["hashes"].items()}
    return {name: f"RIHS01_{digits}" for name, digits in rows.items() if digits}


@cache
def carried(distro: str) -> dict[str, str]:
    found = {}
    for name, known in expected(distro).items():
        with suppress(InterfaceError):
            REGISTRIES[distro].definition(name)
            found[name] = known
    return found


@pytest.mark.parametrize("distro", DISTROS)
def test_every_carried_definition_has_the_hash_of_the_official_generator(distro: str) -> None:
    computed = {name: REGISTRIES[distro].type_hash(name) for name in carried(distro)}
    assert computed == carried(distro)


@pytest.mark.parametrize("distro", DISTROS)
def test_only_parts_of_control_msgs_are_not_carried(distro: str) -> None:
    missing = set(expected(distro)) - set(carried(distro))
    assert len(expected(distro)) == SIZES[distro]
    assert len(missing) == NOT_CARRIED[distro]
    assert {name.split("/")[0] for name in missing} == {"control_msgs"}


@pytest.mark.parametrize("distro", DISTROS)
def test_no_standard_definition_is_carried_that_the_table_cannot_prove(distro: str) -> None:
    standard = {name for name in REGISTRIES[distro].names() if STANDARD in REGISTRIES[distro].path(name).parents}
    assert standard <= set(expected(distro))


@pytest.mark.parametrize(
    ("name", "digits"),
    [
        ("std_msgs/msg/String", "df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"),
        ("example_interfaces/srv/AddTwoInts", "e118de6bf5eeb66a2491b5bda11202e7b68f198d6f67922cf30364858239c81a"),
    ],
)
def test_hashes_published_elsewhere_agree(name: str, digits: str) -> None:
    assert type_hash(get_class(name)) == f"RIHS01_{digits}"


def test_a_hash_depends_on_the_distribution_where_definitions_do() -> None:
    hashes = {}
    for distro in DISTROS:
        use_distro(distro)
        hashes[distro] = type_hash(get_class("lifecycle_msgs/msg/TransitionEvent"))
    assert hashes["jazzy"] == hashes["kilted"] != hashes["lyrical"]


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("char data", "uint8 data", True),
        ("char data", "byte data", False),
        ("int32 data 5", "int32 data", True),
        ("int32 A=1\nint32 data", "int32 data", True),
        ("string<=4 data", "string<=5 data", False),
        ("string<=4[] data", "string[] data", False),
        ("int32[<=3] data", "int32[3] data", False),
        ("", "uint8 structure_needs_at_least_one_member", True),
    ],
)
def test_a_hash_sees_types_and_bounds_but_no_defaults_or_constants(one: str, other: str, equal: bool) -> None:
    def hash_of(text: str) -> str:
        messages = parse_interface("pkg/msg/Thing", text)
        return rihs01("pkg/msg/Thing", messages.__getitem__)

    assert (hash_of(one) == hash_of(other)) is equal
