"""Sends the action `fibonacci` one goal, whose order is the argument, and prints the status and the sequence."""

import sys

import rclpy
from example_interfaces.action import Fibonacci
from rclpy.action import ActionClient


def main() -> None:
    rclpy.init()
    node = rclpy.create_node("action_client_process")
    client = ActionClient(node, Fibonacci, "fibonacci")
    print("ready", flush=True)
    if not client.wait_for_server(timeout_sec=20.0):
        sys.exit("no server")
    sending = client.send_goal_async(Fibonacci.Goal(order=int(sys.argv[1])))
    rclpy.spin_until_future_complete(node, sending, timeout_sec=20.0)
    getting = sending.result().get_result_async()
    rclpy.spin_until_future_complete(node, getting, timeout_sec=20.0)
    response = getting.result()
    print(f"result {response.status} {response.result.sequence.tolist()}", flush=True)
    client.destroy()
    node.destroy_node()
    rclpy.shutdown()


if __name__ == "__main__":
    main()
