"""A package with two executables, launch files written by tests, and graphs that are closed at the end."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))  # for `launch_support`, in every import mode of pytest

from rclpy_zenoh.launch import LaunchedGraph, launch
from rclpy_zenoh.packages import PACKAGE_PATH

NODE = """
import sys
import rclpy
from rclpy.executors import ExternalShutdownException

def main(args=None):
    rclpy.init(args=args)
    node = rclpy.create_node("unnamed")
    print("hello from", node.get_fully_qualified_name(), node.declare_parameter("word", "none").value, flush=True)
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        print("goodbye", flush=True)

if __name__ == "__main__":
    main()
"""
SETUP = """
[options.entry_points]
console_scripts =
    talker = launch_test_nodes.talker:main
    missing = launch_test_no_such_module.node:main
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the package `launch_test`."""
    folder = tmp_path / "packages" / "launch_test"
    modules = folder / "launch_test_nodes"
    modules.mkdir(parents=True)
    (folder / "package.xml").write_text("<package/>")
    (folder / "setup.cfg").write_text(SETUP)
    (modules / "__init__.py").write_text("")
    (modules / "talker.py").write_text(NODE)
    monkeypatch.setenv(PACKAGE_PATH, str(folder.parent))
    monkeypatch.syspath_prepend(str(folder))
    return folder


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a launch file: `write(text, name)`; the text is what stands below `launch:`."""

    def write_file(text: str, name: str = "test.launch.yaml") -> Path:
        path = tmp_path / name
        path.write_text("launch:\n" + textwrap.indent(textwrap.dedent(text), "  "))
        return path

    return write_file


@dataclass
class Running:
    """A graph and what it has shown."""

    graph: LaunchedGraph
    lines: list[str] = field(default_factory=list)


@pytest.fixture
def start() -> Iterator[Callable[..., Running]]:
    """Starts a launch file with a router of its own; closed at the end."""
    started: list[Running] = []

    def run(path: Path, domain: int = 77, **arguments: str) -> Running:
        lines: list[str] = []
        running = Running(launch(path, arguments, domain=domain, router_port=0, sink=lines.append), lines)
        started.append(running)
        return running

    yield run
    for running in started:
        running.graph.close()
