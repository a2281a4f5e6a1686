"""Work on what came from anywhere in a process of its own, bounded in memory and time, which ends with its parent.

A child runs one function of arrays by name, `module:function`, as often as it is asked, and ends by itself when it is
not asked any more. It watches the pipe that its requests come through: however its parent ends, that end closes.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from toolhand.tool_nodes.files import GIB
from toolhand.tool_nodes.results import ErrorCode, ToolError

Arrays = Mapping[str, Any]
"""Arrays by name, or what numpy makes arrays of; no objects."""

_IDLE_S = 20.0
"""Time without a request after which a child ends by itself [s]: its packages take 60 MB."""
_LOADED = 4.0
"""Wall time over processor time that a child is given [-]: machines are shared, and a reader may wait for a disk."""
_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[5:]; from toolhand.tool_nodes.children import serve; serve(*sys.argv[1:5])"
)
_PROBLEM = "problem"
"""Name under which a child's answer holds an error, which no function may use for an array."""


class ChildFailed(Exception):
    """A request that came to nothing; the words say why, as a sentence goes on after "it"."""


class Child:
    """A process for one function; requests of several threads wait for each other.

    Args:
        function: `module:function`, from arrays by name to arrays by name; a ToolError of it is raised in the parent.
        cpu_s: Processor time for one request [s]; four times as long at the wall, which a loaded machine needs.
        memory: Its address space [bytes].
        idle_s: Time without a request after which it ends by itself [s].
    """

    def __init__(self, function: str, cpu_s: int, memory: int, idle_s: float = _IDLE_S) -> None:
        self._cpu_s = cpu_s
        self._arguments = [function, str(cpu_s), str(memory), str(idle_s)]
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def ask(self, request: Arrays) -> dict[str, Any]:
        """What the function makes of a request.

        Raises:
            ToolError: As the function.
            ChildFailed: It took too much time or memory, or crashed.
        """
        with self._lock:
            try:
                answer = self._asked(request)
                if answer is None:  # it had just ended, not being asked
                    answer = self._asked(request)
            except BaseException:
                self.close()
                raise
        if answer is None:
            raise ChildFailed("could not be read: the process that reads it does not start")
        if _PROBLEM in answer:
            code, message, hint = json.loads(str(answer[_PROBLEM]))
            raise ChildFailed(message) if code is None else ToolError(ErrorCode(code), message, hint)
        return answer

    def close(self) -> None:
        """End the process. Idempotent."""
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]

    def _asked(self, request: Arrays) -> dict[str, Any] | None:
        """The answer; None where the process had ended before it could take the request."""
        process = self._running()
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(_LOADED * self._cpu_s, end)
        timer.start()
        try:
            _write(process.stdin, request)  # type: ignore[arg-type]
            answer = _read(process.stdout)  # type: ignore[arg-type]
        except (BrokenPipeError, EOFError):
            answer = None
        finally:
            timer.cancel()
        if answer is not None:
            return answer
        ended = process.wait()
        self.close()
        if late.is_set() or ended == -getattr(signal, "SIGXCPU", 0):
            raise ChildFailed(f"takes more than {self._cpu_s} s of processor time")
        if ended:
            raise ChildFailed(f"ended the process that reads it, with status {ended}")
        return None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._owner != os.getpid() or self._process.poll() is not None:
            self.close()
            paths = [path for path in sys.path if path]  # never the working directory, where anything may lie
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM, *self._arguments, *paths],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # One thread: several wait for each other in busy loops, which on a loaded machine takes ten times as
                # long, and each reserves address space.
                env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            )
            self._owner = os.getpid()
        return self._process


def serve(function: str, cpu_s: str, memory: str, idle_s: str) -> None:
    """The child: answers requests from stdin until that ends, or none came for a while."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print goes nowhere
    requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, requests), daemon=True).start()
    module, _, name = function.partition(":")
    made = getattr(importlib.import_module(module), name)
    _limit(memory=int(memory))
    while True:
        try:
            request = requests.get(timeout=float(idle_s))
        except queue.Empty:
            os._exit(0)  # an ordinary end would abort over the thread that listens
        _limit(cpu_s=int(cpu_s))
        try:
            answer = made(request)
        except ToolError as error:
            answer = _problem(error.code, error.message, error.hint)
        except MemoryError:
            answer = _problem(None, f"takes more than {int(memory) / GIB:g} GiB of memory")
        del request
        _write(answers, answer)


def _problem(code: ErrorCode | None, message: str, hint: str = "") -> Arrays:
    return {_PROBLEM: json.dumps([code, message, hint])}


def _listen(pipe: BinaryIO, requests: queue.SimpleQueue[dict[str, Any]]) -> None:
    """Takes requests; ends the process, whatever it does, when the parent has ended."""
    with contextlib.suppress(EOFError):
        while True:
            requests.put(_read(pipe))
    os._exit(0)


def _limit(memory: int | None = None, cpu_s: int | None = None) -> None:
    try:
        import resource
    except ImportError:  # a system without limits: the parent's clock is left
        return
    if memory is not None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(ValueError, OSError):  # macOS has no limit of the address space
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    if cpu_s is not None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + 1 + cpu_s, hard))


def _write(pipe: BinaryIO, arrays: Arrays) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    pipe.write(len(buffer.getbuffer()).to_bytes(8, "little"))
    pipe.write(buffer.getbuffer())
    pipe.flush()


def _read(pipe: BinaryIO) -> dict[str, Any]:
    length = pipe.read(8)
    content = pipe.read(int.from_bytes(length, "little")) if len(length) == 8 else b""
    if not content:
        raise EOFError
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return dict(arrays.items())
