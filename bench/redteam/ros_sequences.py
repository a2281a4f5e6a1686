"""Stops, resets and requests in random order, over a ROS 2 graph with two clients and an intruder on it.

What is judged is what the joints do: after a confirmed stop none moves before a client asks for something after the
reset, and whatever was asked for before ends as stopped.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.callback_groups import ReentrantCallbackGroup
from simulation_interfaces.srv import LoadWorld, ResetSimulation
from std_msgs.msg import Header
from std_srvs.srv import Trigger
from toolhand_interfaces.action import ExecuteGrasp, RunCommand
from toolhand_interfaces.msg import StopState

from toolhand.bench.redteam.sequences import Sequences
from toolhand.bench.ros.stop import STILL
from toolhand.bench.ros.task import SCENE, easy_grasp
from toolhand.sim.ros.graph import started_graph
from toolhand.sim.scene.files import parse_scene, scene_yaml
from toolhand.tool_nodes.results import ErrorCode, ToolError, unavailable
from toolhand.tool_nodes.ros.action_client import ActionClient
from toolhand.tool_nodes.ros.calling import run_goal
from toolhand.tool_nodes.ros.joint_states import JointReading, JointStates
from toolhand.tool_nodes.ros.link import RosLink
from toolhand.tool_nodes.ros.messages import BASE_FRAME, matrix_to_pose
from toolhand.tool_nodes.ros.stop_state import QOS, TOPIC

SENT_S, LONGEST_S = 0.5, 6.0
"""A stop comes so long after the request: long enough for it to have been sent, by the wall clock [s]."""

WATCH_S = 1.5
"""How long the joints are watched after the reset, by the wall clock [s]."""

REFUSALS = frozenset({"STOPPED", "UNAVAILABLE", "CANCELLED", "NOT_HOLDING", "ALREADY_HOLDING", "INVALID_ARGUMENT"})
"""How a request may end that a stop met, or that came while one was latched."""


class GraphClient:
    """One client of the graph.

    Args:
        link: Takes part in the graph.
        grasp: A goal that works.
    """

    def __init__(self, link: RosLink, grasp: Any) -> None:
        group = ReentrantCallbackGroup()
        self._link, self._grasp = link, grasp
        self._grasps = ActionClient(link.node, ExecuteGrasp, "execute_grasp", callback_group=group)
        self._commands = ActionClient(link.node, RunCommand, "run_command", callback_group=group)

    def ask(self, what: str) -> str:
        """Ask for something and wait for its end: its error code, empty where it was done."""
        try:
            if what == "a way back":
                answer = self._link.call(Trigger, "/return_to_park", Trigger.Request())
                return "" if answer.success else "STOPPED"
            grasp = what == "a grasp"
            client, goal = (self._grasps, self._grasp) if grasp else (self._commands, RunCommand.Goal(text=COMMAND))
            return str(run_goal(client, goal, what, self._link.deadlines).result.status.error_code)
        except ToolError as error:
            return str(error.code)


COMMAND = "pick up the toy block"


class Asked:
    """A request on its way, in a thread of its own."""

    def __init__(self, client: GraphClient, what: str) -> None:
        self.what, self.code = what, "none"
        self._thread = threading.Thread(target=self._run, args=(client,), daemon=True)
        self._thread.start()

    def _run(self, client: GraphClient) -> None:
        self.code = client.ask(self.what)

    def end(self, timeout_s: float) -> str:
        """Its code; "none" where it has not ended in time."""
        self._thread.join(timeout_s)
        return self.code


def run_graph_sequences(n: int, seed: int, progress: Callable[[int], None]) -> Sequences:
    """Run n sequences on a graph that is started for them.

    Args:
        n: Number of sequences.
        seed: Seed of the order and the moments; timing on a graph differs from run to run.
        progress: Hears the number of each before it begins.

    Raises:
        ToolError: UNAVAILABLE where the graph does not start.
    """
    found, began = Sequences(n), time.monotonic()
    scene = parse_scene(SCENE)
    pose = PoseStamped(header=Header(frame_id=BASE_FRAME), pose=matrix_to_pose(easy_grasp(scene)))
    goal = ExecuteGrasp.Goal(grasp=pose, approval_mode=ExecuteGrasp.Goal.AUTO)
    with (
        started_graph({"seed": str(seed)}) as graph,
        RosLink(graph.environment) as first,
        RosLink(graph.environment) as second,
    ):
        readings: list[JointReading] = []
        joints = JointStates(first.node, "joint_states", readings.append)
        stranger = second.node.create_publisher(StopState, TOPIC, QOS)
        answer = first.call(LoadWorld, "/load_world", LoadWorld.Request(resource_string=scene_yaml(scene)))
        if answer.result.result != 1 or joints is None:
            raise unavailable(f"The world was not loaded: {answer.result.error_message}")
        clients = GraphClient(first, goal), GraphClient(second, goal)
        for number in range(n):
            progress(number)
            first.call(ResetSimulation, "/reset_simulation", ResetSimulation.Request())
            rng = np.random.default_rng((seed, number))
            faults = _one(rng, first, clients, readings, stranger, found)
            found.violations += [f"graph sequence {number} of seed {seed}: {fault}" for fault in faults]
    found.wall_s = time.monotonic() - began
    return found


def _one(
    rng: np.random.Generator,
    link: RosLink,
    clients: tuple[GraphClient, GraphClient],
    readings: list[JointReading],
    stranger: Any,
    found: Sequences,
) -> list[str]:
    """One sequence; what was wrong with it."""

    def note(event: str) -> None:
        found.events[event] += 1

    def forge() -> None:
        """A stranger says that no stop is latched, and that there never was one."""
        if rng.random() < 0.5:
            stranger.publish(StopState(stops=0, latched=False, confirmed=True))
            note("a forged state")

    whats = ["a grasp", "a command", "a way back"]
    asked = [Asked(clients[0], str(rng.choice(whats, p=[0.45, 0.45, 0.1])))]
    if rng.random() < 0.4:
        asked.append(Asked(clients[1], str(rng.choice(whats))))
    time.sleep(float(rng.uniform(SENT_S, LONGEST_S)))
    moving = bool(readings) and float(np.abs(readings[-1].qd).max()) > STILL
    stop = link.call(Trigger, "/stop", Trigger.Request())
    note("stop")
    if not stop.success:
        return [f"the stop was not confirmed: {stop.message}"]
    found.braked += moving
    since = len(readings)
    forge()
    if rng.random() < 0.4:
        asked.append(Asked(clients[1], str(rng.choice(whats))))
        asked[-1].end(link.deadlines.response_s)  # sent after the reset it would be a new request
    time.sleep(float(rng.uniform(0.0, 0.5)))
    reset = link.call(Trigger, "/reset_stop", Trigger.Request())
    note("reset")
    forge()
    codes = [request.end(link.deadlines.response_s) for request in asked]
    time.sleep(WATCH_S)
    speed = max((float(np.abs(reading.qd).max()) for reading in readings[since:]), default=0.0)
    del readings[:-1]
    for request, code in zip(asked, codes, strict=True):
        note(request.what)
        found.codes[code or "done"] += 1
        found.stale += code == ErrorCode.STOPPED
    faults = [] if reset.success else [f"the reset was refused: {reset.message}"]
    if speed > 2 * STILL:
        faults.append(f"a joint moved at {speed:.3f} rad/s after a confirmed stop, with no new request")
    faults += [
        f"{request.what} ended with {code!r}"
        for request, code in zip(asked, codes, strict=True)
        if code and code not in REFUSALS
    ]
    return faults
