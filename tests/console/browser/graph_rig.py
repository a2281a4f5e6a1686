"""The simulated graph and `toolhand console` over it, each in processes of its own that a test may end and start."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rclpy_zenoh import overlay

overlay.install()

from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from rclpy_zenoh.launch import LaunchedGraph, launch
from rclpy_zenoh.launch.packages import share_folder
from rclpy_zenoh.wire import start_router
from rclpy_zenoh.wire.router_process import RouterProcess
from tests.console.browser.conftest import free_port
from tests.console.browser.lines import FAR
from tests.console.browser.stop_rig import JOINTS, STILL, until
from toolhand.sim.ros.graph import READY_SERVICES, READY_TIMEOUT_S
from toolhand.sim.ros.station import begin_anew
from toolhand.sim.scene.files import named_scene
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.ros.link import RosLink

ROOT = Path(__file__).parents[3]
CAMERA_HZ = 3.0
"""Images of a camera here [1/s], instead of 10: on two cores they take most of the time."""
MOVING = 0.05
"""The arm is under way above this [rad/s], ten times STILL."""


LONGEST_S = 900.0
"""Longest wait for the end of a command on a busy machine; on an idle one it takes half a minute [s]."""


@dataclass(frozen=True)
class JointSample:
    """Positions [rad] and the fastest joint [rad/s], by this machine's monotonic clock [s]."""

    at_s: float
    q: tuple[float, ...]
    speed: float


class GraphRig:
    """Router, graph and console; a context manager.

    Args:
        folder: Folder for runs.
        arguments: Arguments of launch/sim.launch.yaml beside the folder of runs and the parameters.
        camera_hz: Images of a camera [1/s].

    Attributes:
        port: Port of the pages.
        stop_port: Port of the stop server.
        samples: What the joints have measured so far, the newest last.
        lines: What the processes of the graph have written.
    """

    def __init__(self, folder: Path, arguments: Mapping[str, str], camera_hz: float = CAMERA_HZ) -> None:
        self._stack = contextlib.ExitStack()
        self.folder = folder
        self.runs = folder / "runs"
        parameters = (ROOT / "launch" / "params" / "sim.yaml").read_text(encoding="utf-8")
        assert "camera_rate: 10.0" in parameters
        self._params = folder / "params.yaml"
        self._params.write_text(parameters.replace("camera_rate: 10.0", f"camera_rate: {camera_hz}"), encoding="utf-8")
        self._arguments = {**arguments, "runs_dir": str(self.runs), "params": str(self._params)}
        self._router_port, self.domain = free_port(), 1 + os.getpid() % 200
        self.port, self.stop_port = free_port(), free_port()
        self.lines: list[str] = []
        self.samples: list[JointSample] = []
        self.graph: LaunchedGraph
        self.console: subprocess.Popen[str]
        self.router: RouterProcess

    @property
    def url(self) -> str:
        """Address of the pages."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> GraphRig:
        try:
            self.start_router()
            self.start_graph()
            self.start_console()
            self._watch()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()
        for each in ("console", "graph", "router"):
            if hasattr(self, each):
                getattr(self, f"end_{each}")()

    # -- parts -----------------------------------------------------------------------------------

    def start_router(self) -> None:
        """Start the router, perhaps anew at the same port."""
        self.router = start_router(self._router_port)

    def end_router(self) -> None:
        """Kill the router."""
        self.router.close()

    def start_graph(self) -> None:
        """Start the graph, perhaps anew, and wait until it is ready."""
        file = share_folder("toolhand_bringup") / "launch" / "sim.launch.yaml"
        self.graph = launch(
            file, self._arguments, domain=self.domain, router_port=self._router_port, sink=self.lines.append
        )
        self.wait_ready()

    def wait_ready(self) -> None:
        """Wait until all nodes of the graph answer."""
        self.graph.wait_ready(READY_TIMEOUT_S, READY_SERVICES)

    def end_graph(self) -> None:
        """End the graph."""
        self.graph.close()

    def start_console(self) -> None:
        """Start `toolhand console`, perhaps anew at the same ports."""
        command = [sys.executable, "-m", "toolhand", "console", "--port", str(self.port)]
        command += ["--stop-port", str(self.stop_port), "--runs-dir", str(self.runs)]
        command += ["--names", FAR]
        environment = os.environ | self.graph.environment
        self.console = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        assert self.console.stdout is not None
        assert "Console:" in self.console.stdout.readline()

    def end_console(self) -> None:
        """End `toolhand console` by its own way out."""
        self.console.terminate()
        self.console.wait(60.0)

    def console_pids(self) -> dict[str, int]:
        """Process numbers of the stop server and of the pages."""
        pid = self.console.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        found = {}
        for child in map(int, children):
            words = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            for name, module in (
                ("stop server", b"toolhand.console.stop_server"),
                ("pages", b"toolhand.console.serve"),
            ):
                if module in words:
                    found[name] = child
        return found

    # -- the arm ---------------------------------------------------------------------------------

    def _watch(self) -> None:
        link = self._stack.enter_context(RosLink(self.graph.environment))

        def on_joints(message: Any) -> None:
            speeds = dict(zip(message.name, message.velocity, strict=True))
            q = dict(zip(message.name, message.position, strict=True))
            speed = max(abs(speeds[name]) for name in JOINTS)
            self.samples.append(JointSample(time.monotonic(), tuple(q[name] for name in JOINTS), speed))

        link.node.create_subscription(JointState, "joint_states", on_joints, QoSProfile(depth=50))
        self.link = link

    def begin_anew(self) -> None:
        """The scene as it was, and the arm parked; a stop that is latched is reset."""
        with contextlib.suppress(ToolError):  # none is latched
            self.link.trigger("/reset_stop")
        begin_anew(self.link, named_scene("example"), 0)
        self.rest()
        until(lambda: self.samples, "joint states")

    def moves(self) -> bool:
        """Whether the arm is under way."""
        return self.samples[-1].speed > MOVING

    def rest(self) -> tuple[float, ...]:
        """Wait until the arm has been at rest for a second; its joints [rad]."""

        def rested() -> bool:
            now = self.samples[-1].at_s
            last = [sample for sample in self.samples[-500:] if now - sample.at_s < 1.0]
            return len(last) > 10 and max(sample.speed for sample in last) < STILL

        end = time.monotonic() + LONGEST_S
        while not rested():
            assert time.monotonic() < end, "waited in vain for rest"
            time.sleep(0.02)
        return self.samples[-1].q


def wait_for(page: Any, true: Callable[[], Any], what: str) -> Any:
    """As `until`, while the page's events go on."""
    end = time.monotonic() + LONGEST_S
    while not (found := true()):
        assert time.monotonic() < end, f"waited in vain for {what}"
        page.wait_for_timeout(50)
    return found
