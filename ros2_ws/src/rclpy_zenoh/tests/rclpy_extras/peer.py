"""The other process of a test. It says "ready" on a line, plays the role that is named, and is killed in the end."""

from __future__ import annotations

import sys
from typing import Any

from rclpy_zenoh import overlay

overlay.install()

import rclpy
from example_interfaces.action import Fibonacci
from geometry_msgs.msg import TransformStamped
from rclpy.action import ActionClient, ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from rclpy.task import Future
from tf2_ros import StaticTransformBroadcaster


def action_server(node: Node) -> Any:
    """Counts to the order of the goal with feedback; an order of 0 goes on until it is canceled."""

    async def execute(goal: Any) -> Any:
        turn = Future()
        timer = node.create_timer(0.01, lambda: None)

        def tick() -> None:
            if goal.is_cancel_requested or (goal.request.order and len(counted) == goal.request.order):
                timer.cancel()
                turn.set_result(None)
            else:
                counted.append(len(counted))
                goal.publish_feedback(Fibonacci.Feedback(sequence=counted))

        counted: list[int] = []
        timer.callback = tick
        await turn
        node.destroy_timer(timer)
        goal.canceled() if goal.is_cancel_requested else goal.succeed()
        return Fibonacci.Result(sequence=counted)

    return ActionServer(
        node,
        Fibonacci,
        "count",
        execute,
        callback_group=ReentrantCallbackGroup(),
        cancel_callback=lambda _: CancelResponse.ACCEPT,
    )


def action_client(node: Node, order: str) -> Any:
    """Sends one goal, asks for its result, and says "accepted"."""
    client = ActionClient(node, Fibonacci, "count")
    client.wait_for_server()

    def accepted(future: Any) -> None:
        results.append(future.result().get_result_async())
        print("accepted", flush=True)

    results: list[Any] = []
    client.send_goal_async(Fibonacci.Goal(order=int(order))).add_done_callback(accepted)
    return client, results


def static_broadcaster(node: Node, *frames: str) -> Any:
    """Publishes a static transform of each frame to "map"."""
    broadcaster = StaticTransformBroadcaster(node)
    for frame in frames:
        transform = TransformStamped(child_frame_id=frame)
        transform.header.frame_id = "map"
        broadcaster.sendTransform(transform)
    return broadcaster


def main(role: str, *args: str) -> None:
    """Play a role until the end."""
    rclpy.init()
    node = rclpy.create_node(f"peer_{role}")
    executor = MultiThreadedExecutor(2)
    executor.add_node(node)
    keep: Any = globals()[role](node, *args)
    print("ready", flush=True)
    executor.spin()
    del keep


if __name__ == "__main__":
    main(*sys.argv[1:])
