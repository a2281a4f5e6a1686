"""The planner `moveit` over the double of move_group, each a node with a session of its own in this process."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions

from rclpy_zenoh.wire import start_router
from toolhand.sim.ros.move_group_double import MoveGroupDouble
from toolhand.tool_nodes.drivers.moveit import MoveItPlanner
from toolhand.tool_nodes.motion.checked_planner import checked
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.ports import Planner
from toolhand.tool_nodes.ros.calling import Deadlines
from toolhand.tool_nodes.ros.client import environment
from toolhand.tool_nodes.ros.link import RosLink

_JOIN_S = 20.0
"""A bound against hanging [s]."""


@contextlib.contextmanager
def over_double(
    robot: str,
    make: Callable[..., Node] = MoveGroupDouble,
    deadlines: Deadlines | None = None,
    interrupted: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[Planner, Any]]:
    """The planner, checked as in the node motion, and the node that answers it, until the block ends.

    Args:
        robot: Name of the robot.
        make: Class of the node that answers.
        deadlines: How long the planner waits.
        interrupted: Polled meanwhile; see MoveItPlanner.
    """
    with start_router() as router:
        variables = {"RCLPY_ZENOH_ROUTER": router.endpoint}
        with _served(make, robot, variables) as double, RosLink(variables) as link:
            model = load_robot(robot)
            yield checked(MoveItPlanner(link.node, model, deadlines=deadlines, interrupted=interrupted), model), double


@contextlib.contextmanager
def _served(make: Callable[..., Node], robot: str, variables: dict[str, str]) -> Iterator[Node]:
    context = Context()
    with environment(variables):
        rclpy.init(args=[], context=context, signal_handler_options=SignalHandlerOptions.NO)
    node = make(context=context, parameter_overrides=[Parameter("robot", value=robot)])
    executor = MultiThreadedExecutor(2, context=context)
    executor.add_node(node)

    def spin() -> None:
        with contextlib.suppress(ExternalShutdownException):
            executor.spin()

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    try:
        yield node
    finally:
        executor.shutdown(timeout_sec=1.0)
        thread.join(_JOIN_S)
        node.destroy_node()
        context.try_shutdown()
