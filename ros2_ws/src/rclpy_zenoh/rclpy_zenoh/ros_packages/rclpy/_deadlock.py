"""Refusal of blocking calls that could never end, because the thread that they wait for is the one that blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.task import running_task

if TYPE_CHECKING:
    from rclpy._entity import Entity
    from rclpy.callback_groups import CallbackGroup
    from rclpy.executors import Executor


def refuse_deadlock(what: str, entity: Entity) -> None:
    """Refuse a blocking call in a callback, if nothing could run the callback that ends it.

    Args:
        what: The call, for the message.
        entity: Callback, timer or future whose execution ends the call.

    Raises:
        RuntimeError: The call would never end.
    """
    task = running_task()
    if task is None:
        return
    executor = task._executor() if task._executor is not None else None
    if executor is None or executor is not entity._executor_of_owner():
        return
    if not executor._thread_is_free():
        raise RuntimeError(
            f"{what} in a callback would wait for ever, because no thread of the executor is free to end it; use "
            "'await client.call_async(...)' with a client in another callback group, or a MultiThreadedExecutor with "
            "more threads and a ReentrantCallbackGroup."
        )
    if excludes(task._entity.callback_group if task._entity is not None else None, entity.callback_group):
        raise RuntimeError(
            f"{what} in a callback of the same MutuallyExclusiveCallbackGroup would wait for ever; create one of the "
            "two with another callback group, such as ReentrantCallbackGroup()."
        )


def excludes(group: CallbackGroup | None, other: CallbackGroup | None) -> bool:
    """True if a callback of `group` keeps those of `other` from running as long as it runs."""
    return group is other and isinstance(group, MutuallyExclusiveCallbackGroup)


def refuse_nested_spin(executor: Executor) -> None:
    """Refuse to spin an executor that is spinning."""
    where = "from a callback that it runs" if _inside(executor) else "while another thread spins it"
    raise RuntimeError(
        f"This executor is already spinning and cannot be spun {where}; await the future in an 'async def' callback, "
        "or use an executor of its own for each thread."
    )


def _inside(executor: Executor) -> bool:
    task = running_task()
    return task is not None and task._executor is not None and task._executor() is executor
