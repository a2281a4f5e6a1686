"""One entry's way over Ray: messages to its replicas and back, and what each of Ray's errors means to a caller."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import Any

from toolhand.tool_nodes.results import Cause, ErrorCode, ToolError, invalid, unavailable
from toolhand.tool_nodes.serve.coalescing import Closed
from toolhand.tool_nodes.serve.config import SERVE, ServedEntry
from toolhand.tool_nodes.serve.requests import PortRequest


class RayTransport:
    """See `parcels.Carrier`; `receive` and `explained` are for other methods of a replica as well.

    Args:
        ray: The module, with this process on the cluster.
        entry: Entry that is called.
    """

    def __init__(self, ray: Any, entry: ServedEntry) -> None:
        self._ray = ray
        self._entry = entry
        self._handle: Any = None

    def start(self, method: str, *arguments: Any) -> Any:
        """Call a method of a replica; what `receive` waits for. Raises ToolError, and what Ray raises."""
        if self._handle is None:
            from toolhand.tool_nodes.serve.replicas import handle_of

            try:
                self._handle = handle_of(self._entry)
            except Exception as error:
                raise not_served(f"{self._named} is served no more: {first_line(error)}.") from error
        return getattr(self._handle, method).remote(*arguments)

    def send(self, requests: Sequence[PortRequest]) -> Any:
        """See `parcels.Carrier`."""
        return self.start("answer", list(requests))

    def receive(self, sent: Any, until: float) -> Any:
        """See `parcels.Carrier`."""
        left = max(0.0, until - time.time())
        if self._entry.run == SERVE:
            return sent.result(timeout_s=left, _skip_asyncio_check=True)
        return self._ray.get(sent, timeout=left)

    def cancel(self, sent: Any) -> None:
        """See `parcels.Carrier`."""
        with contextlib.suppress(Exception):  # what has ended meanwhile needs no cancelling
            sent.cancel() if self._entry.run == SERVE else self._ray.cancel(sent)

    def explained(self, error: Exception) -> ToolError:
        """What an error of Ray, or of what it could not send, means."""
        from ray.serve import exceptions as of_serve

        exceptions = self._ray.exceptions
        if isinstance(error, ToolError):
            return error
        if isinstance(error, Closed):
            return not_served("What was served has ended.")
        if isinstance(error, TimeoutError):
            return self._unavailable(f"gave no answer within {self._entry.deadline_s:g} s", Cause.TIMEOUT)
        if isinstance(error, exceptions.OutOfMemoryError):
            return self._unavailable("was ended as the machine ran out of memory", Cause.OUT_OF_MEMORY)
        if isinstance(error, of_serve.DeploymentUnavailableError):
            return not_served(f"{self._named} could not be started.")
        died = (
            exceptions.RayActorError,
            exceptions.WorkerCrashedError,
            exceptions.NodeDiedError,
            exceptions.ObjectLostError,
            exceptions.TaskCancelledError,
            of_serve.ReplicaUnavailableError,
        )
        if isinstance(error, died):
            return self._unavailable("died while it was asked", Cause.DIED)
        if isinstance(error, exceptions.RayTaskError):
            return ToolError(ErrorCode.INTERNAL, f"{self._named} failed inside: {first_line(error.cause)}.")
        if isinstance(error, TypeError):
            return invalid(f"What the {self._entry.port} is given cannot be sent: {first_line(error)}.")
        return self._unavailable(f"cannot be reached: {first_line(error)}", Cause.DIED)

    def full(self) -> ToolError:
        """What is said where as many wait as may."""
        return self._unavailable(f"has {self._entry.queue} requests of this process waiting", Cause.FULL_QUEUE)

    @property
    def _named(self) -> str:
        return f"The {self._entry.port} {self._entry.name!r}"

    def _unavailable(self, what: str, cause: Cause) -> ToolError:
        return unavailable(f"{self._named} {what}.", cause=cause)


GONE = "What is left of a service that has ended is taken away by: toolhand serve down"
"""What to do about a cluster that does not answer."""


def not_served(sentence: str, hint: str = "See toolhand serve status.") -> ToolError:
    """What is said where there is nothing to call."""
    return unavailable(sentence, hint, cause=Cause.NOT_SERVED)


def first_line(error: BaseException) -> str:
    """An error of Ray in short: its texts hold whole tracebacks."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200] if lines else ''}".rstrip(": .")
