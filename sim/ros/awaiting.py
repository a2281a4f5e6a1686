"""Awaiting another thread's result in a callback of an executor."""

from __future__ import annotations

import concurrent.futures
from typing import TypeVar

from rclpy.node import Node
from rclpy.task import Future

Result = TypeVar("Result")


async def awaited(node: Node, work: concurrent.futures.Future[Result]) -> Result:
    """The result of a future of `concurrent.futures`; the executor does other objects meanwhile."""
    done = Future()

    def finish(_: object) -> None:
        done.set_result(None)
        # The executor looks at its waiting tasks when it is woken.
        if node.executor is not None:
            node.executor.wake()

    work.add_done_callback(finish)
    await done
    return work.result()
