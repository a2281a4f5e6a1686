"""What needs Ray itself: one actor for each tool and a loop that waits for each answer, and a count of what is shared.

The loop is the naive way to call tools from many conversations: pictures travel with the request, by value, and a busy
tool holds up everybody.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tool_nodes.results import ToolError
from tool_nodes.serve.calling import connect
from tool_nodes.serve.config import ServedEntry
from tool_nodes.serve.requests import SharedArrays
from tool_nodes.serve.runner import make_backend
from tool_nodes.toolbox.images import SessionImage


class _Tool:
    """The actor."""

    def __init__(self, tool: str) -> None:
        self._backend = make_backend(ServedEntry("tool", "pointer", tool))

    def point(self, image: SessionImage, text: str) -> Any:
        """The answer, or the error that it came to."""
        try:
            return self._backend.point(image, text)
        except ToolError as error:
            return error


@contextmanager
def blocking_loop(tool: str) -> Iterator[Callable[[SessionImage, str], Any]]:
    """Calls of all conversations, on the cluster that this process is on."""
    import ray

    actor = ray.remote(_Tool).options(num_cpus=0).remote(tool)
    turn = threading.Lock()

    def call(image: SessionImage, text: str) -> Any:
        with turn:
            answer = ray.get(actor.point.remote(image, text))
        if isinstance(answer, ToolError):
            raise answer
        return answer

    try:
        yield call
    finally:
        ray.kill(actor)


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
