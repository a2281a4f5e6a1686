"""The filter's decisions on both processors, worked out by an interpreter of classic BPF; and what landlock is told."""

import errno
import struct
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolhand.tool_nodes.sandbox import landlock, seccomp
from toolhand.tool_nodes.sandbox.seccomp import ARCHITECTURES

KILL, REFUSE, ALLOW = 0x80000000, 0x00050000 | errno.EPERM, 0x7FFF0000
OUTPUT = 3

COMPARE: dict[int, Callable[[int, int], bool]] = {
    0x15: lambda a, k: a == k,
    0x35: lambda a, k: a >= k,
    0x45: lambda a, k: bool(a & k),
}


def decide(machine: str, number: int, arguments: tuple[int, ...] = (), audit: int | None = None) -> int:
    """What the filter answers to a call."""
    architecture = ARCHITECTURES[machine]
    data = struct.pack("<IIQ", number & 0xFFFFFFFF, architecture.audit if audit is None else audit, 0)
    data += struct.pack("<6Q", *(a & (1 << 64) - 1 for a in (*arguments, *[0] * 6)[:6]))
    program = [struct.unpack("<HBBI", c) for c in _chunks(seccomp.build_filter(architecture, OUTPUT))]
    accumulator, at = 0, 0
    while True:
        code, then, otherwise, value = program[at]
        at += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif code == 0x06:
            return int(value)
        else:
            at += then if COMPARE[code](accumulator, value) else otherwise


def _chunks(code: bytes) -> list[bytes]:
    return [code[i : i + 8] for i in range(0, len(code), 8)]


machines = pytest.mark.parametrize("machine", sorted(ARCHITECTURES))


@machines
@given(number=st.integers(0, 1 << 32), first=st.integers(0, 1 << 64))
def test_a_call_that_is_not_listed_is_never_allowed(machine: str, number: int, first: int) -> None:
    architecture = ARCHITECTURES[machine]
    assume(number & 0xFFFFFFFF not in architecture.numbers.values())
    foreign = architecture.foreign and number & 0xFFFFFFFF >= architecture.foreign
    assert decide(machine, number, (first,)) == (KILL if foreign else REFUSE)


@machines
@given(number=st.integers(0, 500), audit=st.integers(0, (1 << 32) - 1))
def test_another_architecture_ends_the_process(machine: str, number: int, audit: int) -> None:
    assume(audit != ARCHITECTURES[machine].audit)
    assert decide(machine, number, audit=audit) == KILL


@machines
@pytest.mark.parametrize("name", seccomp.UNCONDITIONAL)
def test_what_computing_needs_is_allowed(machine: str, name: str) -> None:
    assert decide(machine, ARCHITECTURES[machine].numbers[name], (1, 2, 3, 4, 5, 6)) == ALLOW


@machines
@pytest.mark.parametrize(
    ("name", "arguments", "decision"),
    [
        ("write", (OUTPUT, 0, 8), ALLOW),
        ("write", (1, 0, 8), REFUSE),
        ("write", (0, 0, 8), REFUSE),
        ("mmap", (0, 4096, 3, 0x22, -1, 0), ALLOW),
        ("mmap", (0, 4096, 7, 0x22, -1, 0), REFUSE),
        ("mmap", (0, 4096, 4, 0x22, -1, 0), REFUSE),
        ("mmap", (0, 4096, 3, 0x02, OUTPUT, 0), REFUSE),
        ("mprotect", (0, 4096, 3), ALLOW),
        ("mprotect", (0, 4096, 5), REFUSE),
        ("madvise", (0, 4096, 14), ALLOW),
        ("madvise", (0, 4096, 100), REFUSE),
        ("madvise", (0, 4096, -1), REFUSE),
    ],
)
def test_arguments_decide_about_writing_and_memory(
    machine: str, name: str, arguments: tuple[int, ...], decision: int
) -> None:
    assert decide(machine, ARCHITECTURES[machine].numbers[name], arguments) == decision


def test_both_tables_name_the_same_calls_but_differ_in_their_numbers() -> None:
    first, second = (ARCHITECTURES[name].numbers for name in ("x86_64", "aarch64"))
    assert set(first) == set(second)
    assert len(set(first.values())) == len(first)
    assert len(set(second.values())) == len(second)


@pytest.mark.parametrize(
    ("version", "fields"),
    [
        (1, (0x1FFF,)),
        (2, (0x3FFF,)),
        (3, (0x7FFF,)),
        (4, (0x7FFF, 3)),
        (5, (0xFFFF, 3)),
        (6, (0xFFFF, 3, 3)),
        (9, (0xFFFF, 3, 3)),
    ],
)
def test_landlock_is_asked_for_all_that_its_version_knows(version: int, fields: tuple[int, ...]) -> None:
    assert landlock.handled(version) == struct.pack(f"<{len(fields)}Q", *fields)
