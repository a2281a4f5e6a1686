"""At which addresses processes of this machine take connections, as the kernel tells it."""

import contextlib
import ipaddress
import os
from collections.abc import Iterable
from pathlib import Path

_STATES = {"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"}
"""Of a socket that takes what comes from anywhere, by the kernel's tables."""


def listening(processes: Iterable[int]) -> set[tuple[str, int]]:
    """Addresses and ports at which any of these processes, or of their descendants, takes connections or packets."""
    mine = {inode for process in _with_descendants(processes) for inode in _sockets(process)}
    found = set()
    for table, listens in _STATES.items():
        with contextlib.suppress(FileNotFoundError):  # a kernel without IPv6
            for row in Path("/proc/net", table).read_text(encoding="ascii").splitlines()[1:]:
                _, local, _, state, *_, inode = row.split()[:10]
                if state == listens and inode in mine:
                    address, _, port = local.partition(":")
                    found.add((_address(address), int(port, 16)))
    return found


def only_loopback(processes: Iterable[int]) -> bool:
    """Whether these processes take connections at all, and only from this machine."""
    found = listening(processes)
    return bool(found) and all(_is_loopback(address) for address, _ in found)


def _is_loopback(text: str) -> bool:
    address = ipaddress.ip_address(text)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def _address(digits: str) -> str:
    words = [bytes.fromhex(digits[at : at + 8])[::-1] for at in range(0, len(digits), 8)]
    return str(ipaddress.ip_address(b"".join(words)))


def _sockets(process: int) -> set[str]:
    found = set()
    with contextlib.suppress(OSError):  # it has ended
        for link in Path(f"/proc/{process}/fd").iterdir():
            with contextlib.suppress(OSError):
                target = os.readlink(link)
                if target.startswith("socket:["):
                    found.add(target[8:-1])
    return found


def _with_descendants(processes: Iterable[int]) -> set[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parent = int((entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found, todo = set(), list(processes)
    while todo:
        process = todo.pop()
        if process not in found:
            found.add(process)
            todo += children.get(process, [])
    return found
