"""Serves the pages over a robot of the tests, which logs to FAKE_ROBOT_LOG: `python serving.py`, as
`toolhand.console.serve`."""

import os
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.console.fake_robot import FakeRobot
from toolhand.console import seats
from toolhand.console.process import handed_over
from toolhand.console.serve import serve
from toolhand.console.settings import ConsoleSettings


def compute_for_ever() -> None:
    """Keep the interpreter busy, as a handler does that hangs."""
    number = 0
    while True:
        number = (number * 31 + 7) % 1_000_003


if __name__ == "__main__":
    for _ in range(int(os.environ.get("BUSY_THREADS", "0"))):
        threading.Thread(target=compute_for_ever, daemon=True).start()
    seats.OBSERVERS = int(os.environ.get("MOST_OBSERVERS", seats.OBSERVERS))
    robot = FakeRobot(Path(os.environ["FAKE_ROBOT_LOG"]), float(os.environ.get("FAKE_ROBOT_HZ", "10")))
    robot.deadline_s = float(os.environ.get("FAKE_ROBOT_DEADLINE_S", robot.deadline_s))
    settings, sockets = ConsoleSettings.from_line(sys.stdin.readline()), handed_over(sys.argv[1:])
    serve(settings, robot, lambda: print("ready", flush=True), sockets)
