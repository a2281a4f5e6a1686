"""The process whose memory is measured: `cycles.py ROUTER DOMAIN`.

It makes and closes nodes, then each kind of endpoint, over and over, and prints as JSON what it used after each round.
It is a process of its own because in a worker of pytest the garbage of other tests moves the figures more than a leak
does. The heap is asked and not the resident memory, which grows by megabytes at a time. For that, Python's objects must
lie there too: PYTHONMALLOC=malloc.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wire_support import RELIABLE, SetBool, String, wait_until

from rclpy_zenoh.wire import SessionOptions, WireSession, open_session

CYCLES = 100
"""What is made and closed between two looks at the heap."""

NODE_ROUNDS = 4
ENDPOINT_ROUNDS = 16
"""Endpoints take a hundredth of a node's time, and zenoh's own threads move the heap by kilobytes between two looks: in
the median of many rounds that is not seen, and a leak is."""


class Mallinfo(ctypes.Structure):
    """`struct mallinfo2` of glibc 2.33 and later, <malloc.h>."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    )


def heap() -> int:
    """Bytes of the heap that are in use."""
    gc.collect()
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = Mallinfo
    info = mallinfo2()
    return int(info.uordblks + info.hblkhd)


def open_now() -> tuple[int, int]:
    """Threads and file descriptors of this process."""
    return len(list(Path("/proc/self/task").iterdir())), len(list(Path("/proc/self/fd").iterdir()))


def cycle(session: WireSession) -> None:
    """A node with each kind of endpoint, used once."""
    node = session.create_node("passing")
    subscription = node.create_subscription("/chatter", String, RELIABLE, lambda: None)
    publisher = node.create_publisher("/chatter", String, RELIABLE)
    service = node.create_service("/switch", SetBool, RELIABLE, lambda: None)
    client = node.create_client("/switch", SetBool, RELIABLE, lambda: None)
    publisher.publish(String(data="x"))
    client.send_request(SetBool.Request())
    assert wait_until(subscription.take)
    _, header = wait_until(service.take_request)
    service.send_response(header, SetBool.Response())
    assert wait_until(client.take_response)
    node.close()


def measured(what: Callable[[], Any], count: int) -> list[tuple[int, int, int]]:
    """(bytes, threads, files) after each round."""
    rounds = []
    for _ in range(count):
        for _ in range(CYCLES):
            what()
        rounds.append((heap(), *open_now()))
    return rounds


def main() -> None:
    """Measure, and print by what was made: [bytes, threads, files] after each round."""
    session = open_session(SessionOptions(domain=int(sys.argv[2]), router=sys.argv[1]))
    rounds = {"node": measured(lambda: cycle(session), NODE_ROUNDS)}
    assert session.graph.get_service_names_and_types() == []
    node = session.create_node("here")
    make: dict[str, Callable[[], Any]] = {
        "publisher": lambda: node.create_publisher("/chatter", String, RELIABLE),
        "subscription": lambda: node.create_subscription("/chatter", String, RELIABLE, lambda: None),
        "service": lambda: node.create_service("/switch", SetBool, RELIABLE, lambda: None),
        "client": lambda: node.create_client("/switch", SetBool, RELIABLE, lambda: None),
    }
    for kind, endpoint in make.items():
        rounds[kind] = measured(lambda endpoint=endpoint: endpoint().close(), ENDPOINT_ROUNDS)
    session.close()
    print(json.dumps(rounds))


if __name__ == "__main__":
    main()
