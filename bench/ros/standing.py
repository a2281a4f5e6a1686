"""`toolhand bench stop`: is a stop confirmed while a joint moves or is not measured, or refused at true rest?

A motion node with its stop, in this process and a graph of its own, hears the joint states of
`toolhand.bench.ros.manners`.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from toolhand.agent_node.console.terminal import say
from toolhand.bench.commands.stop import Options
from toolhand.bench.frame import Benchmark, Document
from toolhand.bench.stats import machine
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.results import invalid, unavailable
from toolhand.tool_nodes.ros.client import environment, use_client

STOP_DEADLINE_S = 2.5
"""How long a stop may take to be confirmed here [s]: time that runs a quarter as fast takes 1.2 s to show rest."""

_DOMAIN = 100 + os.getpid() % 100
"""ROS domain of the graph, which has a router of its own."""
_ANSWER_S = 30.0
"""Longest wait for an answer [s]; a bound against hanging."""


@dataclass(frozen=True)
class StopBeside:
    """What became of one manner.

    Attributes:
        moves: True where the stop must not be confirmed.
        confirmed: Answer of /stop.
        reset: Answer of /reset_stop after it.
        told: The answer to /stop.
        took_s: From the call to the answer, by the wall clock [s].
    """

    name: str
    moves: bool
    confirmed: bool
    reset: bool
    told: str
    took_s: float

    @property
    def right(self) -> bool:
        """Confirmed and reset where all was at rest, and neither where something moved."""
        return self.confirmed is self.reset is not self.moves


class StopBench(Benchmark[Options, Any, StopBeside]):
    """See `toolhand.bench.commands.stop`; a job is a manner of joint states, one after the other on one graph."""

    name = "stop"

    def jobs(self, options: Options) -> Sequence[Any]:
        if not use_client():
            raise unavailable(
                "This benchmark measures the client that needs no ROS 2, and a ROS 2 is sourced here.",
                "Run it in a shell without /opt/ros.",
            )
        from toolhand.bench.ros.manners import AT_REST, MOVING

        chosen = [manner for manner in (*MOVING, *AT_REST) if options.only in manner.name]
        if not chosen:
            said = f"No manner of joint states is called {options.only[:60]!r}."
            raise invalid(said, "Leave --only out to see the names.")
        return chosen

    def measure(self, options: Options, jobs: Sequence[Any]) -> list[StopBeside]:
        heard: list[StopBeside] = []
        with _stop_beside() as listen:
            for manner in jobs:
                heard.append(listen(manner))
                say(f"{len(heard)} of {len(jobs)}: {manner.name}{'' if heard[-1].right else ' NOT AS IT SHOULD'}")
        return heard

    def document(self, options: Options, records: Sequence[StopBeside]) -> dict[str, Any]:
        document: dict[str, Any] = {
            "machine": machine(),
            "moving": sum(each.moves for each in records),
            "confirmed_while_moving": sum(each.moves and (each.confirmed or each.reset) for each in records),
            "at_rest": sum(not each.moves for each in records),
            "refused_at_rest": sum(not each.moves and not each.right for each in records),
            "heard": [asdict(each) for each in records],
        }
        if options.moments:
            from toolhand.bench.ros.stop import stopped_rows

            document["rows"] = stopped_rows(options.moments, options.seed)
        return document

    def lines(self, document: Document) -> str:
        lines = [
            f"{'moves' if row['moves'] else 'rests':6} {row['name']:50} {row['took_s']:5.2f} s  "
            f"{'confirmed' if row['confirmed'] else 'not confirmed':14} {'reset' if row['reset'] else 'no reset'}"
            for row in document["heard"]
        ]
        lines.append(f"moving or not measured: n {document['moving']}, confirmed {document['confirmed_while_moving']}")
        lines.append(f"at rest: n {document['at_rest']}, refused {document['refused_at_rest']}")
        for row in document.get("rows", ()):
            counts = ", ".join(f"{key} {value}" for key, value in row.items() if key != "name")
            lines.append(f"{row['name']:32}{counts}")
        return "\n".join(lines)

    def status(self, document: Document) -> int:
        return int(bool(document["confirmed_while_moving"] or document["refused_at_rest"]))


BENCH = StopBench()


@contextlib.contextmanager
def _stop_beside() -> Iterator[Callable[[Any], StopBeside]]:
    """A motion node, and what asks it to stop beside a manner; gone when the block ends."""
    import rclpy
    from rclpy.context import Context
    from rclpy.executors import MultiThreadedExecutor
    from rclpy.parameter import Parameter
    from rclpy.signals import SignalHandlerOptions

    from rclpy_zenoh.wire import start_router
    from toolhand.tool_nodes.nodes.motion_node import MotionNode

    with contextlib.ExitStack() as stack:
        router = start_router()
        stack.callback(router.close)
        stack.enter_context(environment({"RCLPY_ZENOH_ROUTER": router.endpoint, "ROS_DOMAIN_ID": str(_DOMAIN)}))
        context = Context()
        rclpy.init(args=[], context=context, signal_handler_options=SignalHandlerOptions.NO)
        stack.callback(context.try_shutdown)
        overrides = [Parameter("stop_deadline_s", value=STOP_DEADLINE_S)]
        motion = MotionNode(context=context, parameter_overrides=overrides)
        asking = rclpy.create_node("bench_stop", context=context)
        executor = MultiThreadedExecutor(2, context=context)
        for node in (motion, asking):
            executor.add_node(node)
            stack.callback(node.destroy_node)
        thread = threading.Thread(target=executor.spin, daemon=True)
        thread.start()
        stack.callback(thread.join, 5.0)
        stack.callback(executor.shutdown, 5.0)
        yield _Asking(asking).heard


class _Asking:
    """Sends joint states, and asks for stops and resets.

    Args:
        node: Spun in the background.
    """

    def __init__(self, node: Any) -> None:
        from sensor_msgs.msg import JointState
        from std_srvs.srv import Trigger

        self._trigger = Trigger
        self._joints = node.create_publisher(JointState, "joint_states", 100)
        self._clients = {name: node.create_client(Trigger, name) for name in ("stop", "reset_stop")}
        for name, client in self._clients.items():
            if not client.wait_for_service(_ANSWER_S):
                raise unavailable(f"The motion node does not serve /{name}.", "Run the benchmark again.")

    def heard(self, manner: Any) -> StopBeside:
        """What /stop and /reset_stop say beside a manner."""
        from toolhand.bench.ros.manners import LEAD_S

        over = threading.Event()
        sender = threading.Thread(target=self._send, args=(manner, over), daemon=True)
        sender.start()
        time.sleep(LEAD_S)
        began = time.monotonic()
        stopped = self._call("stop")
        took_s = time.monotonic() - began
        reset = self._call("reset_stop")
        over.set()
        sender.join()
        return StopBeside(manner.name, manner.moves, stopped.success, reset.success, stopped.message, round(took_s, 3))

    def _send(self, manner: Any, over: threading.Event) -> None:
        """Send what is due, until it is over."""
        began, sent_s = time.monotonic(), 0.0
        while not over.wait(0.002):
            now_s = time.monotonic() - began
            for _, said in manner.messages(sent_s, now_s):
                self._joints.publish(_message(said))
            sent_s = now_s

    def _call(self, name: str) -> Any:
        answered = threading.Event()
        future = self._clients[name].call_async(self._trigger.Request())
        future.add_done_callback(lambda _: answered.set())
        if not answered.wait(_ANSWER_S):
            raise unavailable(f"/{name} did not answer within {_ANSWER_S:g} s.", "Run the benchmark again.")
        return future.result()


def _message(said: Any) -> Any:
    from sensor_msgs.msg import JointState

    from toolhand.bench.ros.manners import of_robot
    from toolhand.tool_nodes.ros.messages import time_message

    joints = of_robot(said.joints, load_robot())
    message = JointState(name=list(joints), position=[position for position, _ in joints.values()])
    if said.velocities:
        message.velocity = [velocity for _, velocity in joints.values()]
    message.header.stamp = time_message(round(1e9 * said.stamp_s))
    return message
