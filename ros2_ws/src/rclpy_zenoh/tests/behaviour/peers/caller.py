"""Calls the service `add` as often as its argument says, one call after the other."""

import sys

import rclpy
from example_interfaces.srv import AddTwoInts


def main() -> None:
    count = int(sys.argv[1])
    rclpy.init()
    node = rclpy.create_node("caller")
    client = node.create_client(AddTwoInts, "add")
    print("ready", flush=True)
    if not client.wait_for_service(timeout_sec=20.0):
        sys.exit("no service")
    sums = []
    for number in range(count):
        future = client.call_async(AddTwoInts.Request(a=number, b=number))
        print(f"called {number}", flush=True)
        rclpy.spin_until_future_complete(node, future, timeout_sec=20.0)
        sums.append(future.result().sum)
    print(f"sums {sums}", flush=True)
    node.destroy_node()
    rclpy.shutdown()


if __name__ == "__main__":
    main()
