"""Children do one piece of work within bounds, and none is left when its parent has ended."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.waiting import alive, until
from toolhand.tool_nodes.children import Child, ChildFailed
from toolhand.tool_nodes.files import GIB
from toolhand.tool_nodes.results import ErrorCode, ToolError

WORK = "tests.tool_nodes.children_work:work"


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    made = Child(WORK, cpu_s=1, memory=2 * GIB)
    yield made
    made.close()


def double(child: Child) -> int:
    """The process that did it."""
    answer = child.ask({"what": "double", "numbers": np.arange(3)})
    assert answer["twice"].tolist() == [0, 2, 4]
    return int(answer["process"])


def test_one_process_answers_one_request_after_the_other_and_raises_what_the_work_raises(child: Child) -> None:
    first = double(child)
    with pytest.raises(ToolError) as caught:
        child.ask({"what": "refuse"})
    error = caught.value
    assert (error.code, error.message, error.hint) == (
        ErrorCode.INVALID_ARGUMENT,
        "It is not allowed.",
        "Do something else.",
    )
    assert double(child) == first != os.getpid()


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("fill", "takes more than 2 GiB of memory"),
        ("hang", "takes more than 1 s of processor time"),
        ("crash", "ended the process that reads it"),
    ],
)
def test_what_takes_too_much_or_crashes_is_said_and_the_next_request_is_answered(
    child: Child, what: str, said: str
) -> None:
    with pytest.raises(ChildFailed, match=said):
        child.ask({"what": what})
    double(child)


def test_a_child_that_has_ended_is_started_again(child: Child) -> None:
    first = double(child)
    os.kill(first, signal.SIGKILL)
    process = child._process
    until(lambda: process is None or process.poll() is not None)  # its threads end after the process is a zombie
    assert double(child) != first


def test_a_child_that_is_not_asked_ends_and_the_next_request_is_answered() -> None:
    idle = Child(WORK, cpu_s=1, memory=2 * GIB, idle_s=0.05)
    for _ in range(3):
        process = double(idle)
        until(lambda process=process: not alive(process))
    for _ in range(20):
        double(idle)  # also in the moment in which it ends
    idle.close()


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_a_child_that_works_ends_with_its_parent(end: signal.Signals, tmp_path: Path) -> None:
    note = tmp_path / "process"
    program = (
        "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"  # nohup has its children ignore it
        f"from toolhand.tool_nodes.children import Child; Child({WORK!r}, 600, "
        f"2**31).ask({{'what': '', 'note': {str(note)!r}}})"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen([sys.executable, "-c", program], env=environment) as parent:
        until(note.exists)
        parent.send_signal(end)
        parent.wait()
    worker = int(note.read_text("utf-8"))
    until(lambda: not alive(worker))
