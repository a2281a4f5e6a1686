"""A goal on its way to its result, and time that passes for it in lockstep."""

from __future__ import annotations

import threading
import time
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future
from simulation_interfaces.msg import Result as SimulationResult
from simulation_interfaces.srv import StepSimulation

from toolhand.tool_nodes.results import unavailable
from toolhand.tool_nodes.ros.action_client import ActionClient, server_is_there
from toolhand.tool_nodes.ros.calling import Deadlines, call, server_gone

CHUNK = 50
"""Most time steps of one request in lockstep."""

NO_GOAL_ACTIVE = "no goal is active"
"""What `sim_node` remarks when nothing would move in a further time step; the result is on its way then."""


class ActiveGoal:
    """A goal that a controller has accepted."""

    def __init__(self, client: ActionClient, name: str, handle: Any) -> None:
        self._client = client
        self._name = name
        self._handle = handle
        self._result: Future = handle.get_result_async()
        self._ended = threading.Event()
        self._result.add_done_callback(lambda _: self._ended.set())
        self._missed = 0
        self._next_look = 0.0

    def wait(self, timeout_s: float) -> bool:
        """True once it has ended."""
        return self._ended.wait(timeout_s)

    def cancel(self) -> None:
        """Ask the controller to end it."""
        if server_is_there(self._client.server_is_ready):
            self._handle.cancel_goal_async()

    def require_server(self) -> None:
        """Raises ToolError UNAVAILABLE where the controller went away; looks ten times a second."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + 0.1
        self._missed = 0 if server_is_there(self._client.server_is_ready) else self._missed + 1
        if self._missed == 2:  # once may be a passing state of discovery
            raise server_gone(self._name)

    @property
    def outcome(self) -> tuple[int, Any]:
        """(status of action_msgs/msg/GoalStatus, result); only after it has ended."""
        response = self._result.result()
        return response.status, response.result


class Stepper:
    """Lets simulated time pass, in lockstep.

    Args:
        node: Gets the client.
        deadlines: How long to wait for the simulator.
        time_step_s: Simulated time of one step.
    """

    def __init__(self, node: Node, deadlines: Deadlines, time_step_s: float) -> None:
        self._client = node.create_client(StepSimulation, "step_simulation", callback_group=ReentrantCallbackGroup())
        self._deadlines = deadlines
        self.time_step_s = time_step_s

    def step(self, count: int) -> bool:
        """Make time steps; True if the simulator says that no goal is left. Raises ToolError UNAVAILABLE, TIMEOUT."""
        request = StepSimulation.Request(steps=count)
        result = call(self._client, request, self._deadlines.response_s, self._deadlines.availability_s).result
        if result.result != SimulationResult.RESULT_OK:
            raise unavailable(f"The simulator made no step: {result.error_message}")
        return bool(result.error_message == NO_GOAL_ACTIVE)
