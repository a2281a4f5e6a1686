"""A router and a domain for each module, a node that is spun, a camera to be misused, and nodes in other processes."""

import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rclpy_zenoh import overlay

overlay.install()

import rclpy
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node

from tests.ros.tool_nodes.fake_camera import FakeCamera
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig

ROOT = Path(__file__).parents[3]
PACKAGE = Path(overlay.__file__).parents[1]
DEADLINE_S = 60.0
"""A bound against hanging, not a promise."""

_domains = itertools.cycle(range(1, 200))


@pytest.fixture(scope="module")
def domain(router: str) -> Iterator[int]:
    """A domain of the module's own; the environment names the router and the domain, for child processes too."""
    number = next(_domains)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RCLPY_ZENOH_ROUTER", router)
        patch.setenv("ROS_DOMAIN_ID", str(number))
        rclpy.init(args=[])
        yield number
        rclpy.try_shutdown()


@pytest.fixture(scope="module")
def executor(domain: int) -> Iterator[MultiThreadedExecutor]:
    """Spins in a thread of its own."""
    executor = MultiThreadedExecutor(num_threads=4)
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    yield executor
    executor.shutdown(timeout_sec=DEADLINE_S)
    thread.join(DEADLINE_S)


MakeNode = Callable[..., Node]


@pytest.fixture(scope="module")
def make_node(executor: MultiThreadedExecutor) -> Iterator[MakeNode]:
    """Makes nodes that are spun."""
    nodes: list[Node] = []

    def make(name: str, **options: Any) -> Node:
        nodes.append(Node(name, start_parameter_services=False, **options))
        executor.add_node(nodes[-1])
        return nodes[-1]

    yield make
    executor.shutdown(timeout_sec=DEADLINE_S)  # no callback runs any more that would use what is destroyed
    for node in nodes:
        node.destroy_node()


class Program:
    """A Python program with the client, in another process."""

    def __init__(self, program: str, *arguments: str) -> None:
        more = filter(None, [os.environ.get("PYTHONPATH")])
        paths = os.pathsep.join(map(str, (PACKAGE, ROOT, *more)))
        environment = os.environ | {"PYTHONPATH": paths, "PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rclpy_zenoh.run", program, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=ROOT,
        )

    def expect(self, line: str) -> None:
        assert self.process.stdout is not None
        got = self.process.stdout.readline().strip()
        assert got == line, got + "".join(self.end()[1:])

    def end(self) -> tuple[int, str, str]:
        """Kill it if it runs, and return exit status, output and errors."""
        if self.process.poll() is None:
            self.process.kill()
        out, err = self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode, out, err

    def wait(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode, out, err


Start = Callable[..., Program]


@pytest.fixture(scope="module")
def start(domain: int) -> Iterator[Start]:
    """Starts programs: a file, or a module as after python -m."""
    programs: list[Program] = []

    def run(program: str, *arguments: str) -> Program:
        programs.append(Program(program, *arguments))
        return programs[-1]

    yield run
    for program in programs:
        program.end()


def wait_until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.01)


@pytest.fixture(scope="session", name="wait_until")
def _wait_until() -> Callable[[Callable[[], bool], str], None]:
    return wait_until


@pytest.fixture(scope="session")
def station() -> Station:
    return Station(load_scene(EXAMPLE_SCENE))


@pytest.fixture(scope="session")
def pixel_station() -> Station:
    return Station(load_scene(EXAMPLE_SCENE), StationConfig(perception="pixels"))


@pytest.fixture(scope="module")
def fake_camera(make_node: MakeNode, station: Station) -> FakeCamera:
    frame = station.camera.capture()
    return FakeCamera(make_node("fake_camera"), frame, [placed.item for placed in station.scene.objects])


@pytest.fixture
def camera(fake_camera: FakeCamera) -> Iterator[FakeCamera]:
    """The fake camera, which behaves again afterwards."""
    frame = fake_camera.frame
    yield fake_camera
    fake_camera.behave()
    fake_camera.frame = replace(frame)
