"""What needs Ray itself: a count of what is put into shared memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from toolhand.tool_nodes.serve.calling import connect
from toolhand.tool_nodes.serve.requests import SharedArrays


def count_puts() -> Callable[[], int]:
    """Count what this process's connection puts into shared memory; gives how much that was since it was last asked."""
    import ray

    puts = [0]

    def counted(value: Any) -> Any:
        puts[0] += 1
        return ray.put(value)

    def taken() -> int:
        found, puts[0] = puts[0], 0
        return found

    connect().shared = SharedArrays(counted)
    return taken
