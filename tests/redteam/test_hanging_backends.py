"""Backends of somebody else's package that never answer: a call ends by its deadline, a command with Ctrl-C."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from tests.redteam.test_entry_points import package
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.port_names import PortNames
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.toolbox import limits
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session

__all__ = ["package"]

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120.0
"""A bound against hanging, not an expectation."""

WAIT = "import pathlib, time\ndef wait():\n    pathlib.Path({here!r}).touch()\n    while True: time.sleep(0.05)\n"
"""Begins each module; says that it hangs by making a file."""

HANGING = {
    "when it is imported": "wait()",
    "when it is made": "class Backend:\n    def __init__(self): wait()",
    "when its parameters are asked for": "class Meta(type):\n    @property\n    def __signature__(cls): wait()\n"
    "class Backend(metaclass=Meta): pass",
    "when it is called": "class Backend:\n    backend = 'liar'\n    def point(self, image, text): wait()",
    "when its answer is read": "class Answer:\n    backend = 'liar'\n    @property\n    def value(self): wait()\n"
    "    def __iter__(self): wait()\n    def __getattr__(self, name): wait()\n"
    "class Backend:\n    backend = 'liar'\n    def point(self, image, text): return Answer()",
}


@pytest.fixture
def hung(package: Path, tmp_path: Path) -> Path:
    """A file that is there once the package hangs."""
    return tmp_path / "hangs"


@pytest.mark.parametrize("kind", ["when it is called", "when its answer is read"])
def test_a_call_that_never_ends_is_out_of_time_and_moves_nothing(
    kind: str, package: Path, hung: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package.write_text(WAIT.format(here=str(hung)) + HANGING[kind] + "\n")
    station = Station(load_scene(EXAMPLE_SCENE), StationConfig(ports=PortNames(pointer="liar")))
    before = station.world.data.qpos.copy()
    waited: list[float | None] = []
    join = threading.Thread.join

    def soon(thread: threading.Thread, timeout: float | None = None) -> None:
        """Waits until it hangs instead of for the whole time."""
        if not thread.name.startswith("tool "):
            join(thread, timeout)
            return
        waited.append(timeout)
        _until(hung.exists)

    monkeypatch.setattr(limits.threading.Thread, "join", soon)
    session = Session(images=[SessionImage(np.full((120, 160, 3), 90, np.uint8))])
    told = [
        station.toolbox.call("roborefer.detect_one", {"image_index": 0, "obj_name": name}, session).result
        for name in "abcdefghijkl"
    ]
    assert {result.error and result.error.code for result in told} == {ErrorCode.TIMEOUT}
    assert "earlier calls ran out of time" in told[-1].text
    assert waited
    assert all(timeout is not None and 0 < timeout <= 60 for timeout in waited)
    assert (station.world.data.qpos == before).all()


def _until(condition: object) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "this never came"
        time.sleep(0.01)


def _started(package: Path, *words: str) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(package.parent), str(ROOT)))}
    command = [sys.executable, "-m", "toolhand", *words]
    return subprocess.Popen(
        command, env=environment, cwd=package.parent, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


@pytest.mark.parametrize("kind", HANGING)
def test_a_command_whose_backend_hangs_ends_with_ctrl_c(kind: str, package: Path, hung: Path) -> None:
    package.write_text(WAIT.format(here=str(hung)) + HANGING[kind] + "\n")
    process = _started(package, "run", "pick up the far coconut water", "--pointer", "liar")
    try:
        _until(lambda: hung.exists() or process.poll() is not None)
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            try:
                said, _ = process.communicate(timeout=10)
                break
            except subprocess.TimeoutExpired:
                continue
    finally:
        process.kill()
    assert process.returncode == 130, said
    assert "Traceback" not in said


@pytest.mark.parametrize("words", [("--help",), ("run", "--help"), ("doctor",), ("tools",), ("mcp", "--help")])
def test_help_and_the_doctor_are_not_hung(words: tuple[str, ...], package: Path, hung: Path) -> None:
    package.write_text(WAIT.format(here=str(hung)) + HANGING["when it is imported"] + "\n")
    process = _started(package, *words)
    try:
        said, _ = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
    assert process.returncode == 0, said
    assert not hung.exists()
