"""`toolhand bench ros`: calls, pictures and goals between two processes, through the rclpy API as nodes use it.

The whole graph is measured by `bench.ros.graph`.

Every figure is taken with shared memory on and off, on a router and a domain of its own. What is timed is what a node
waits for: `call_async` to the decoded response, stamp of a picture to its callback, `send_goal_async` to the result.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from agent_node.console.terminal import AsJson, say
from bench.stats import machine, publish
from tool_nodes.results import ErrorCode, ToolError, invalid, unavailable
from tool_nodes.ros.client import environment, use_client

WARM_UP = 10
"""First calls that are not counted [-]: connections are opened in them."""
ANSWER_TIMEOUT_S = 30.0
"""Longest wait for an answer [s]."""
PIXELS = 1280 * 720
"""Pixels of a picture, HD as a ZED takes it."""
PICTURES = {"tiny": {}, "rgb": {"image": 3 * PIXELS}, "rgbd": {"image": 3 * PIXELS, "depth": 4 * PIXELS}}
"""Services and the bytes of the pictures in their responses."""

STREAM_HZ = 30.0
"""Rate of the stream [Hz]."""
STREAM_GRACE_S = 5.0
"""Time after the last picture in which late ones still count [s]."""
PEER = Path(__file__).with_name("peer.py")
DOMAIN = 100 + os.getpid() % 100
"""ROS domain of the measurement, most likely free."""


def bench_ros(n: int = 200, graph: bool = False, stops: int = 0, seed: int = 0, as_json: AsJson = False) -> int:
    """Time the ROS 2 client that needs no ROS 2 install: calls, pictures and goals between two processes.

    Args:
        n: Samples of each kind, after a warm-up that is not counted.
        graph: Also start the simulated graph: time until ready, idle load, memory and time to the first motion.
        stops: Also stop picks and placements at this many random moments.
        seed: Seeds the moments of the stops.
    """
    if n < 1 or stops < 0 or seed < 0:
        raise invalid(f"n must be 1 or more, stops and seed 0 or more; got n={n}, stops={stops}, seed={seed}.")
    began = time.monotonic()
    load = os.getloadavg()[0]
    rows = []
    for shm in (True, False):
        say(f"{n} samples each, shared memory {'on' if shm else 'off'}")
        rows += measure(n, shm)
    if graph or stops:
        from bench.ros.graph import graph_rows, stopped_rows

        rows += graph_rows() if graph else []
        rows += stopped_rows(stops, seed) if stops else []
    document = {
        "bench": "ros",
        "machine": machine(),
        "load_before": round(load, 2),
        "seeds": [seed] if stops else [],
        "warm_up": WARM_UP,
        "rows": rows,
        "wall_s": round(time.monotonic() - began, 1),
    }
    publish(document, format_table, as_json)
    return 0


def measure(n: int, shm: bool) -> list[dict[str, Any]]:
    """All rows for one setting of shared memory. Raises ToolError where the other process does not answer."""
    with _graph(shm) as link:
        calls = {
            "tiny_call": lambda: link.call("tiny"),
            "rgb_720p_call": lambda: link.call("rgb"),
            "rgbd_720p_call": lambda: link.call("rgbd"),
        }
        rows = [latency_row(name, link.durations(call, n), shm=shm) for name, call in calls.items()]
        seconds, sent = link.stream(n)
        rows.append(latency_row("image_topic_30hz", seconds, shm=shm, delivered=len(seconds), sent=sent))
        rows.append(latency_row("action_goal", link.durations(link.run_goal, n), shm=shm))
    return rows


def latency_row(name: str, seconds: Sequence[float], **more: Any) -> dict[str, Any]:
    """A row with percentiles in milliseconds, to the microsecond; None where nothing was measured."""
    row: dict[str, Any] = {"name": name, "n": len(seconds)}
    for percent in (50, 95, 99):
        row[f"p{percent}_ms"] = round(1000 * float(np.percentile(seconds, percent)), 3) if len(seconds) else None
    return row | more


def format_table(document: Mapping[str, Any]) -> str:
    """The rows as a text table, with the machine below."""
    lines = [f"{'':32}{'shm':>5}{'n':>7}" + "".join(f"{head:>12}" for head in ("p50", "p95", "p99"))]
    for row in document["rows"]:
        if "p50_ms" in row:
            times = [row[f"p{percent}_ms"] for percent in (50, 95, 99)]
            cells = "".join(f"{'-' if ms is None else f'{ms:.2f} ms':>12}" for ms in times)
            shm = {True: "on", False: "off"}.get(row.get("shm"), "")
            lost = f"   {row['delivered']} of {row['sent']} delivered" if "sent" in row else ""
            lines.append(f"{row['name']:32}{shm:>5}{row['n']:>7}{cells}{lost}")
        else:
            counts = ", ".join(f"{key} {value}" for key, value in row.items() if key not in ("name", "processes"))
            lines.append(f"{row['name']:32}{counts}")
            for name, cost in row.get("processes", {}).items():
                memory = f"{cost['rss_mb']:>9.1f} MB RSS{cost['pss_mb']:>9.1f} MB PSS"
                lines.append(f"  {name:30}{cost['cpu_percent']:>7.1f} % CPU{memory}")
    info = document["machine"]
    lines.append(
        f"{info['cpu']}, cores {info['cores']}, python {info['python']}, load {document['load_before']}; "
        f"warm-up of {document['warm_up']} not counted; {document['wall_s']} s"
    )
    return "\n".join(lines)


class PeerLink:
    """This process's node and its clients of the peer.

    Args:
        node: A node of rclpy.
        executor: Has the node, and alone spins it.
    """

    def __init__(self, node: Any, executor: Any) -> None:
        from example_interfaces.action import Fibonacci
        from example_interfaces.srv import AddTwoInts
        from rclpy.action import ActionClient
        from std_srvs.srv import Trigger
        from toolhand_interfaces.srv import CaptureImage, GetDepth

        self._node, self._executor = node, executor
        self._clients = {
            name: node.create_client(cls, name)
            for name, cls in {"tiny": Trigger, "rgb": CaptureImage, "rgbd": GetDepth, "stream": AddTwoInts}.items()
        }
        self._requests = {"tiny": Trigger.Request(), "rgb": CaptureImage.Request(), "rgbd": GetDepth.Request()}
        self._action, self._goal = ActionClient(node, Fibonacci, "fibonacci"), Fibonacci.Goal(order=2)
        ready = [client.wait_for_service(ANSWER_TIMEOUT_S) for client in self._clients.values()]
        if not all(ready) or not self._action.wait_for_server(ANSWER_TIMEOUT_S):
            raise unavailable("The other process of the benchmark did not start.")

    def durations(self, call: Callable[[], object], n: int) -> list[float]:
        """Durations of n calls [s], after the warm-up."""
        seconds = []
        for index in range(WARM_UP + n):
            began = time.perf_counter()
            call()
            if index >= WARM_UP:
                seconds.append(time.perf_counter() - began)
        return seconds

    def call(self, name: str) -> None:
        """One call of a service, whose pictures must be whole."""
        response = self._wait(self._clients[name].call_async(self._requests[name]))
        if any(len(getattr(response, field).data) != size for field, size in PICTURES[name].items()):
            raise ToolError(ErrorCode.INTERNAL, f"The response of '{name}' is not what was asked for.")

    def run_goal(self) -> None:
        """A goal that is accepted and succeeds at once."""
        handle = self._wait(self._action.send_goal_async(self._goal))
        result = self._wait(handle.get_result_async())
        if list(result.result.sequence) != [0, 1]:
            raise ToolError(ErrorCode.INTERNAL, "The result of the goal is not what was asked for.")

    def stream(self, n: int) -> tuple[list[float], int]:
        """Latencies [s] of the pictures that came of n, and how many were sent; the warm-up is in neither."""
        from example_interfaces.srv import AddTwoInts
        from rclpy.event_handler import SubscriptionEventCallbacks
        from rclpy.qos import qos_profile_sensor_data
        from sensor_msgs.msg import Image

        total = WARM_UP + n
        seconds: dict[int, float] = {}

        def note(image: Image) -> None:
            now = time.time_ns()
            sent = image.header.stamp.sec * 1_000_000_000 + image.header.stamp.nanosec
            seconds[int(image.header.frame_id)] = (now - sent) * 1e-9

        # Without the events' own entities, as whatever is destroyed before its node.
        events = SubscriptionEventCallbacks(use_default_callbacks=False)
        subscription = self._node.create_subscription(
            Image, "image", note, qos_profile_sensor_data, event_callbacks=events
        )
        self._wait(self._clients["stream"].call_async(AddTwoInts.Request(a=total)))
        end = time.monotonic() + total / STREAM_HZ + STREAM_GRACE_S
        while total - 1 not in seconds and (left := end - time.monotonic()) > 0:
            self._executor.spin_once(timeout_sec=left)
        sent = self._wait(self._clients["stream"].call_async(AddTwoInts.Request())).sum
        self._node.destroy_subscription(subscription)
        return [latency for number, latency in seconds.items() if number >= WARM_UP], sent - WARM_UP

    def _wait(self, future: Any) -> Any:
        self._executor.spin_until_future_complete(future, timeout_sec=ANSWER_TIMEOUT_S)
        if not future.done():
            raise unavailable(f"No answer came within {ANSWER_TIMEOUT_S:g} s.")
        return future.result()


@contextlib.contextmanager
def _graph(shm: bool) -> Iterator[PeerLink]:
    """A router, the peer and a node of this process, all gone when the block ends."""
    if not use_client():
        raise unavailable(
            "This benchmark measures the client that needs no ROS 2, and a ROS 2 is sourced here.",
            "Run it in a shell without /opt/ros.",
        )
    import rclpy
    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.signals import SignalHandlerOptions

    from rclpy_zenoh.wire import start_router

    with contextlib.ExitStack() as stack:
        router = start_router()
        stack.callback(router.close)
        settings = {
            "RCLPY_ZENOH_ROUTER": router.endpoint,
            "RCLPY_ZENOH_SHM": str(int(shm)),
            "ROS_DOMAIN_ID": str(DOMAIN),
        }
        stack.enter_context(environment(settings))
        stack.callback(_stop, _start_peer())
        context = Context()
        rclpy.init(args=[], context=context, signal_handler_options=SignalHandlerOptions.NO)
        stack.callback(rclpy.try_shutdown, context=context)
        node = rclpy.create_node("bench_ros", context=context)
        stack.callback(node.destroy_node)
        executor = SingleThreadedExecutor(context=context)
        stack.callback(executor.shutdown)
        executor.add_node(node)
        yield PeerLink(node, executor)


def _start_peer() -> subprocess.Popen[bytes]:
    import rclpy_zenoh

    source = str(Path(rclpy_zenoh.__file__).parents[1])
    paths = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-m", "rclpy_zenoh.run", str(PEER)], env=os.environ | {"PYTHONPATH": paths}
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
