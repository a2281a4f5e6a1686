"""Shared by all tests."""

import ctypes
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings


class FoldersAreNoPackages:
    """The repository lies on sys.path for `tests`; its other folders are packages of toolhand and of that alone."""

    folders = frozenset(("agent_node", "bench", "console", "sim", "tool_nodes", "training", "urdf"))

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Raises ModuleNotFoundError for such a folder."""
        if name in self.folders:
            raise ModuleNotFoundError(f"import toolhand.{name}", name=name)


sys.meta_path.insert(0, FoldersAreNoPackages())

pytest_plugins = ("tests.tiers",)


@pytest.fixture(scope="module", autouse=True)
def memory_is_given_back() -> Iterator[None]:
    """Worlds and images are tens of MB, which neither Python's collector counts nor glibc returns by itself."""
    yield
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


# A shell that starts something in the background lets it ignore Ctrl-C, and so would every process that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples every time: a test that fails can be run again. No deadline: this must not depend on the machine.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
