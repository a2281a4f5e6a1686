"""What the tests of the launcher share: waiting, scripts, and its command line."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Write = Callable[..., Path]
Start = Callable[..., Any]
PATIENCE_S = 30.0
"""Bounds how long a test waits for what must come [s]; nothing is measured by it."""

PYTHON = sys.executable


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether it runs: a zombie does while a thread of it is not over."""
    try:
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            return True
        return len(list(Path(f"/proc/{pid}/task").iterdir())) > 1
    except OSError:
        return False


def script(tmp_path: Path, name: str, text: str) -> str:
    path = tmp_path / name
    path.write_text(text)
    return f"{PYTHON} {path}"


def command_line(*arguments: str) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "ROS_DOMAIN_ID": "79"}
    command = [PYTHON, "-m", "rclpy_zenoh.launch", *arguments]
    return subprocess.Popen(command, env=environment, text=True, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
