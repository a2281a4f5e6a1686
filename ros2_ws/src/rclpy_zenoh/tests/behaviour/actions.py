"""What the tests of actions share."""

from __future__ import annotations

from action_msgs.msg import GoalStatus
from example_interfaces.action import Fibonacci
from rclpy.action import ActionClient, ActionServer
from rclpy.task import Future

ACCEPTED = GoalStatus.STATUS_ACCEPTED
EXECUTING = GoalStatus.STATUS_EXECUTING
CANCELING = GoalStatus.STATUS_CANCELING
SUCCEEDED = GoalStatus.STATUS_SUCCEEDED
CANCELED = GoalStatus.STATUS_CANCELED
ABORTED = GoalStatus.STATUS_ABORTED
UNKNOWN = GoalStatus.STATUS_UNKNOWN


def goal(order: int) -> Fibonacci.Goal:
    return Fibonacci.Goal(order=order)


def succeed(goal_handle) -> Fibonacci.Result:
    """Execute a goal at once: its result is [order]."""
    goal_handle.succeed()
    return Fibonacci.Result(sequence=[goal_handle.request.order])


class Gates:
    """An execute callback whose goals wait until the test opens their gate."""

    def __init__(self) -> None:
        self.handles: dict[int, object] = {}
        self._gates: dict[int, Future] = {}

    async def execute(self, goal_handle) -> Fibonacci.Result:
        order = goal_handle.request.order
        gate = self._gates.setdefault(order, Future())
        self.handles[order] = goal_handle
        await gate
        if goal_handle.is_cancel_requested:
            goal_handle.canceled()
        else:
            goal_handle.succeed()
        return Fibonacci.Result(sequence=[order, order])

    def open(self, order: int) -> None:
        self._gates.setdefault(order, Future()).set_result(None)


class Actions:
    """The action `fibonacci`: servers and clients on the nodes of a test."""

    def __init__(self, ros) -> None:
        self.ros = ros
        self.node = ros.node("action_server")
        self._made: list[object] = []

    def server(self, execute=succeed, node=None, **options) -> ActionServer:
        self._made.append(ActionServer(node or self.node, Fibonacci, "fibonacci", execute, **options))
        return self._made[-1]

    def client(self, name: str = "action_client") -> ActionClient:
        """A client on a node of its own, whose server is ready."""
        client = ActionClient(self.ros.node(name), Fibonacci, "fibonacci")
        self._made.append(client)
        self.ros.spin_until(client.server_is_ready, "the action server")
        return client

    def send(self, client, order: int, **options):
        """The client's handle of a new goal."""
        return self.ros.result(client.send_goal_async(goal(order), **options), f"the answer to goal {order}")

    def outcome(self, handle) -> tuple[int, list[int]]:
        """Status and sequence of a goal's result."""
        response = self.ros.result(handle.get_result_async(), "the result")
        return response.status, list(response.result.sequence)

    def destroy(self) -> None:
        for one in self._made:
            one.destroy()
