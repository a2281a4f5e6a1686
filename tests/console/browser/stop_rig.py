"""A simulated arm that swings, the stop server beside it, and pages: what the stop button is measured with."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rclpy_zenoh import overlay

overlay.install()

import rclpy
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionClient
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rclpy_zenoh.wire import start_router
from tests.console.browser.conftest import free_port
from toolhand.console.settings import ConsoleSettings

ROOT = Path(__file__).parents[3]
PATIENCE_S = 90.0
"""A bound against hanging on a busy machine, not a promise [s]."""

STILL = 0.005
"""The arm is at rest below this [rad/s], as in `toolhand.bench.ros.stop`."""
MOVING = 0.25
"""A click comes when the fastest joint is above this [rad/s]; 50 times STILL."""
SWING = 0.8
"""The first joint turns by so much and back [rad]."""
SWING_S = 3.0
"""Time of a swing [s]: its fastest joint moves at 0.42 rad/s."""
JOINTS = [f"joint_{number}" for number in range(1, 8)]


def until(true: Callable[[], Any], what: str = "this") -> Any:
    """Wait for a condition, and return what it gives."""
    end = time.monotonic() + PATIENCE_S
    while not (found := true()):
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.001)
    return found


@dataclass(frozen=True)
class Measured:
    """Speed of the fastest joint [rad/s] at a time of this machine's monotonic clock [s]."""

    at_s: float
    speed: float


class StopRig:
    """Simulator, motion node, stop server and pages, each a process of its own; a context manager.

    Args:
        folder: Folder for what the pages note.
        busy: The pages' process has two threads that compute without end.
        pages: There are pages at all.
    """

    def __init__(self, folder: Path, busy: bool = False, pages: bool = True) -> None:
        self._stack = contextlib.ExitStack()
        self._folder = folder
        self._busy = busy
        self._with_pages = pages
        self.samples: list[Measured] = []
        self._q: dict[str, float] = {}
        self._forth = True
        self.settings = ConsoleSettings(
            port=free_port(),
            stop_port=free_port(),
            runs_dir=folder / "runs",
            bench_dir=folder / "bench",
            training_dir=folder / "training",
        )

    def __enter__(self) -> StopRig:
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _start(self) -> None:
        endpoint = self._stack.enter_context(start_router(port=0)).endpoint
        paths = os.pathsep.join(map(str, (Path(overlay.__file__).parents[1], ROOT)))
        self.environment = os.environ | {
            "RCLPY_ZENOH_ROUTER": endpoint,
            "ROS_DOMAIN_ID": str(1 + os.getpid() % 200),
            "PYTHONPATH": paths,
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        self.simulator = self._node("toolhand.sim.sim_node", image_width=160, image_height=120)
        self.start_motion_node()
        self.stop_server = self._served([sys.executable, "-m", "toolhand.console.stop_server"])
        if self._with_pages:
            serving = Path(__file__).with_name("serving.py")
            more = {"FAKE_ROBOT_LOG": str(self._folder / "robot.jsonl")} | ({"BUSY_THREADS": "2"} if self._busy else {})
            self.pages = self._served([sys.executable, str(serving)], more)
        self._join(endpoint)

    def _node(self, module: str, **parameters: Any) -> subprocess.Popen[bytes]:
        arguments = [item for name, value in parameters.items() for item in ("-p", f"{name}:={value}")]
        command = [sys.executable, "-m", "rclpy_zenoh.run", module, "--ros-args", *arguments]
        return self._process(subprocess.Popen(command, env=self.environment, cwd=ROOT))

    def _served(self, command: list[str], more: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        process = self._process(
            subprocess.Popen(
                command, env=self.environment | (more or {}), cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(self.settings.to_line().encode() + b"\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"ready\n"
        return process

    def _process(self, process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
        def end() -> None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait(PATIENCE_S)

        self._stack.callback(end)
        return process

    def start_motion_node(self) -> None:
        """Start the motion node, perhaps anew."""
        self.motion = self._node("toolhand.tool_nodes.nodes.motion_node", use_sim_time="true", approval="auto")

    def start_stop_server(self) -> None:
        """Start the stop server anew."""
        self.stop_server = self._served([sys.executable, "-m", "toolhand.console.stop_server"])

    # -- the arm -----------------------------------------------------------------------------------

    def _join(self, endpoint: str) -> None:
        os.environ.update({name: self.environment[name] for name in ("RCLPY_ZENOH_ROUTER", "ROS_DOMAIN_ID")})
        context = rclpy.Context()
        rclpy.init(args=[], context=context, signal_handler_options=SignalHandlerOptions.NO)
        node = rclpy.create_node("swinging", context=context)
        group = ReentrantCallbackGroup()
        node.create_subscription(JointState, "joint_states", self._on_joints, 50)
        action = "joint_trajectory_controller/follow_joint_trajectory"
        self._arm = ActionClient(node, FollowJointTrajectory, action, callback_group=group)
        self._reset = node.create_client(Trigger, "reset_stop", callback_group=group)
        self._stop = node.create_client(Trigger, "stop", callback_group=group)
        executor = MultiThreadedExecutor(2, context=context)
        executor.add_node(node)

        def spin() -> None:
            with contextlib.suppress(ExternalShutdownException):
                executor.spin()

        thread = threading.Thread(target=spin, daemon=True)
        thread.start()

        def leave() -> None:
            executor.shutdown(timeout_sec=2.0)
            thread.join(2.0)
            node.destroy_node()
            rclpy.try_shutdown(context=context)

        self._stack.callback(leave)
        until(self._arm.server_is_ready, "the controller")
        until(self._reset.service_is_ready, "the motion node")
        until(lambda: self.samples, "joint states")

    def _on_joints(self, message: JointState) -> None:
        speeds = dict(zip(message.name, message.velocity, strict=True))
        self._q = dict(zip(message.name, message.position, strict=True))
        self.samples.append(Measured(time.monotonic(), max(abs(speeds[name]) for name in JOINTS)))

    def stop_until_confirmed(self) -> None:
        """Stop again where the last stop was not confirmed: only then a reset is accepted."""
        until(lambda: self._trigger(self._stop).success, "a stop that is confirmed")

    def reset(self) -> None:
        """Allow motions again, as `toolhand stop --reset` does."""
        answer = self._trigger(self._reset)
        assert answer.success, answer.message

    @staticmethod
    def _trigger(client: Any) -> Any:
        future = client.call_async(Trigger.Request())
        until(future.done, "an answer")
        return future.result()

    def swing(self) -> None:
        """Begin to turn the first joint, and wait until it moves."""
        q0 = [self._q[name] for name in JOINTS]
        by, self._forth = (SWING if self._forth else -SWING), not self._forth
        points = []
        for step in range(1, 61):
            t = SWING_S * step / 60
            part = 0.5 * (1 - math.cos(math.pi * t / SWING_S))
            speed = by * 0.5 * math.pi / SWING_S * math.sin(math.pi * t / SWING_S)
            points.append(
                JointTrajectoryPoint(
                    positions=[q0[0] + by * part, *q0[1:]],
                    velocities=[speed, *[0.0] * 6],
                    time_from_start=Duration(sec=int(t), nanosec=int(t % 1 * 1e9)),
                )
            )
        goal = FollowJointTrajectory.Goal(trajectory=JointTrajectory(joint_names=JOINTS, points=points))
        sent = self._arm.send_goal_async(goal)
        until(sent.done, "the controller")
        assert sent.result().accepted
        until(lambda: self.samples[-1].speed > MOVING, "a motion")

    def rest_after(self, since_s: float) -> float:
        """Time of the first of three measurements at rest after a moment [s]."""

        def rested() -> float:
            later = [sample for sample in self.samples if sample.at_s > since_s]
            for first, second, third in zip(later, later[1:], later[2:], strict=False):
                if max(first.speed, second.speed, third.speed) < STILL:
                    return first.at_s
            return 0.0

        return float(until(rested, "rest"))
