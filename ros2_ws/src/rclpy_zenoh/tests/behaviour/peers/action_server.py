"""The action `fibonacci`. A negative order is executed for ever; it can be cancelled."""

from contextlib import suppress

import rclpy
import rclpy.duration
from example_interfaces.action import Fibonacci
from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor


def main() -> None:
    rclpy.init()
    node = rclpy.create_node("action_server")
    clock = node.get_clock()

    def execute(goal_handle) -> Fibonacci.Result:
        sequence = [0, 1]
        order = goal_handle.request.order
        if order < 0:
            print("executing for ever", flush=True)
        while order < 0 or len(sequence) <= order:
            if goal_handle.is_cancel_requested:
                goal_handle.canceled()
                return Fibonacci.Result(sequence=sequence)
            if order < 0:
                if not clock.sleep_for(rclpy.duration.Duration(seconds=0.02)):
                    return Fibonacci.Result()
            else:
                sequence.append(sequence[-1] + sequence[-2])
                goal_handle.publish_feedback(Fibonacci.Feedback(sequence=sequence))
        goal_handle.succeed()
        return Fibonacci.Result(sequence=sequence)

    server = ActionServer(
        node,
        Fibonacci,
        "fibonacci",
        execute,
        callback_group=ReentrantCallbackGroup(),
        cancel_callback=lambda _: CancelResponse.ACCEPT,
    )
    executor = MultiThreadedExecutor(num_threads=3)
    executor.add_node(node)
    print("ready", flush=True)
    with suppress(KeyboardInterrupt, ExternalShutdownException):
        executor.spin()
    server.destroy()
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()
