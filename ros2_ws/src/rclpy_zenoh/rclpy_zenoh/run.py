"""Runs a program that is written for rclpy: `python -m rclpy_zenoh.run [--distro NAME] FILE_OR_MODULE [ARGUMENTS]`."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from collections.abc import Sequence

from rclpy_zenoh import overlay
from rclpy_zenoh.interfaces import use_distro
from rclpy_zenoh.interfaces.registry import DISTROS

SIGINT_EXIT = 130


def main(argv: list[str]) -> int:
    """Run the program as `__main__`; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m rclpy_zenoh.run", description="Run a program written for rclpy.")
    parser.add_argument("--distro", choices=DISTROS, help="the ROS 2 distribution whose interfaces are used")
    parser.add_argument("program", help="a Python file, or a module as after python -m")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="handed to the program")
    given = parser.parse_args(argv)
    if given.distro is not None:
        use_distro(given.distro)
    overlay.install()
    if not os.path.isfile(given.program) and (given.program.endswith(".py") or os.sep in given.program):
        parser.error(f"there is no file {given.program}")
    return run_program(given.program, given.arguments)


def run_program(program: str, arguments: Sequence[str]) -> int:
    """Run a Python file or a module as `__main__` of this process, where rclpy can be imported.

    Returns:
        Its exit code; SystemExit goes through.
    """
    is_file = os.path.isfile(program)
    sys.argv = [program, *arguments]
    if is_file and sys.flags.safe_path:
        sys.path.insert(0, os.path.dirname(os.path.abspath(program)))
    elif not sys.flags.safe_path:  # else no module of the folder that it was started from is wanted
        sys.path[0] = os.path.dirname(os.path.abspath(program)) if is_file else os.getcwd()
    try:
        if is_file:
            runpy.run_path(program, run_name="__main__")
        else:
            runpy.run_module(program, run_name="__main__", alter_sys=True)
    except KeyboardInterrupt:
        return SIGINT_EXIT
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
