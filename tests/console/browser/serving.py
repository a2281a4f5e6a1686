"""Serves the pages over a robot of the tests: `python serving.py LOG`, with the settings as a line of its input."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from console.serve import serve
from console.settings import ConsoleSettings
from tests.console.fake_robot import FakeRobot

if __name__ == "__main__":
    robot = FakeRobot(Path(sys.argv[1]), float(os.environ.get("FAKE_ROBOT_HZ", "10")))
    serve(ConsoleSettings.from_line(sys.stdin.readline()), robot, lambda: print("ready", flush=True))
