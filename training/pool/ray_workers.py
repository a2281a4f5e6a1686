"""Workers that are actors of the cluster on which backends are served: as many as it has processors, on any machine.

Everything else is as with `toolhand.training.pool.workers.Workers`: what is tried again, what is dropped, and the
records.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable
from typing import Any

from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.serve.calling import connect
from toolhand.training.pool.workers import Job, Result, Workers, _Slot, as_tool_error, reply_of

CPUS = 1.0
"""Processors that are reserved for a worker [-]: an episode keeps one busy."""


class RayWorkers(Workers[Job, Result]):
    """A number of actors; used as a context manager. They end with it, and with this process.

    Args:
        make, count, deadline_s, tries: See `Workers`. What `make` reads and writes is there for each machine of the
            cluster.

    Raises:
        ToolError: As Workers; INVALID_ARGUMENT for more than the cluster has; UNAVAILABLE where nothing is served.
    """

    def __init__(
        self, make: Callable[[], Callable[[Job], Result]], count: int, deadline_s: float | None = None, tries: int = 2
    ) -> None:
        super().__init__(make, count, deadline_s, tries)
        connect()
        self._ray = importlib.import_module("ray")
        free = self._ray.available_resources().get("CPU", 0.0)
        if count * CPUS > free:
            raise invalid(
                f"{count} workers need {count * CPUS:g} processors of the cluster, and {free:g} are free.",
                "Take fewer workers, or set cpus of cluster.",
            )

    def _start(self) -> _Slot[Job]:
        made = self._ray.remote(_Actor).options(num_cpus=CPUS, max_restarts=0).remote(self._make, os.getcwd())
        line = _Line(self._ray, made)
        return _Slot(_Process(self._ray, made), line, time.monotonic())

    def _await(self, patience_s: float | None) -> None:
        asked = [slot.connection.asked for slot in self._slots if slot.connection.asked is not None]
        self._ray.wait(asked, num_returns=1, timeout=patience_s)


class _Actor:
    """A worker's life on the cluster."""

    def __init__(self, make: Callable[[], Callable[[Any], Any]], folder: str) -> None:
        self._make, self._folder = make, folder

    def begin(self) -> tuple[str, Any]:
        """Make the work, where this process's folder is that of who asks."""
        try:
            os.chdir(self._folder)
            self._work = self._make()
        except Exception as error:
            return "unfit", as_tool_error(error)
        return "ready", None

    def do(self, job: Any) -> tuple[str, Any]:
        """See `reply_of`."""
        return reply_of(self._work, job)


class _Line:
    """The jobs of an actor and its replies, with the methods of a pipe to a process."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray, self._actor = ray, actor
        self.asked: Any = actor.begin.remote()

    def send(self, job: Any) -> None:
        """Begin a job."""
        self.asked = self._actor.do.remote(job)

    def poll(self) -> bool:
        """Whether there is a reply, or never will be one."""
        return self.asked is not None and bool(self._ray.wait([self.asked], timeout=0)[0])

    def recv(self) -> Any:
        """The reply. Raises EOFError where the actor is gone."""
        asked, self.asked = self.asked, None
        try:
            return self._ray.get(asked)
        except self._ray.exceptions.RayTaskError as error:  # a result that cannot be sent
            return "failed", as_tool_error(error.cause)
        except self._ray.exceptions.RayError as error:
            raise EOFError from error

    def close(self) -> None:
        """Listen no more."""
        self.asked = None


class _Process:
    """An actor's process, as multiprocessing has one."""

    exitcode = None

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray, self._actor = ray, actor

    def is_alive(self) -> bool:
        """Ray tells of the end as an answer that never comes, see `_Line.recv`."""
        return True

    def join(self, timeout: float | None = None) -> None:
        """Nothing is waited for: `kill` ends it whatever it does."""

    def terminate(self) -> None:
        """See `kill`."""
        self.kill()

    def kill(self) -> None:
        """End it at once."""
        self._ray.kill(self._actor)
