"""The clean process that workers are forked from: numpy and Pillow are loaded, nothing of the caller's is.

Its standard input is a socket. For each program the executor sends the worker's end of a connection and a file with the
request, and gets the worker's exit status when it asks for the end; the server itself never reads the program. It ends
when the socket does.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import sys
import warnings
from types import ModuleType

START, END = b"start", b"end"
_LEFT_OUT = ("tests", "conftest", "f2py", "distutils", "_pyinstaller", "mypy_plugin", "cversions")
"""Parts of numpy that no program computes with; some need a compiler or a test runner."""

_MODULES = (
    "mmap",
    "pydoc",
    "unicodedata",
    "encodings.ascii",
    "encodings.latin_1",
    "encodings.utf_16",
    "encodings.utf_32",
    "linecache",
    "PIL.ImageFile",
    "PIL.ImagePalette",
    "PIL.ImageColor",
)
"""What numpy, Pillow and the interpreter import only when they need it."""


def main() -> None:
    """Serve until the executor is gone. The command line has the executor's process id, 0 if it cannot be seen."""
    control = socket.socket(fileno=0)
    try:
        prepare(int(sys.argv[1]))
    except Exception as error:
        control.send(json.dumps(f"{type(error).__name__}: {error}").encode())
        return
    control.send(json.dumps("").encode())
    worker = 0
    while True:
        word, descriptors, _, _ = socket.recv_fds(control, 16, 2)
        if word == START:
            worker = _fork(*descriptors)
        elif worker:
            os.kill(worker, signal.SIGKILL)  # not reaped yet, so the number is still its own
            _, status = os.waitpid(worker, 0)
            worker = 0
            if word == END:
                control.send(status.to_bytes(4, "little"))
        if not word:
            return


def prepare(parent: int) -> None:
    """Import everything that a program may use, before anything is locked.

    Numpy is imported here, not above, so that the executor can import this module's constants and hears what failed.
    """
    from toolhand.tool_nodes.sandbox import lockdown, worker

    lockdown.die_with_parent(parent)
    import numpy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _import_all(numpy)
    for name in _MODULES:
        importlib.import_module(name)
    worker.prepare()
    gc.freeze()


def _import_all(package: ModuleType) -> None:
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if found.name.rpartition(".")[2] not in _LEFT_OUT:
            module = importlib.import_module(found.name)
            if found.ispkg:
                _import_all(module)


def _fork(connection: int, request_file: int) -> int:
    """Start a worker; its process id."""
    from toolhand.tool_nodes.sandbox import lockdown, worker

    server = os.getpid()
    child = os.fork()
    if child:
        os.close(connection)
        os.close(request_file)
        return child
    status = 1
    try:
        lockdown.die_with_parent(server)
        worker.serve(connection, request_file)
        status = 0
    finally:
        os._exit(status)
