"""The service `add`; the argument is added too. A request for a = -1 is held for ever, as in a server that hangs."""

import sys
import time
from contextlib import suppress

import rclpy
from example_interfaces.srv import AddTwoInts
from rclpy.executors import ExternalShutdownException


def main() -> None:
    extra = int(sys.argv[1])
    rclpy.init()
    node = rclpy.create_node("server")

    def add(request: AddTwoInts.Request, response: AddTwoInts.Response) -> AddTwoInts.Response:
        if request.a == -1:
            print("holding", flush=True)
            time.sleep(3600)
        response.sum = request.a + request.b + extra
        return response

    node.create_service(AddTwoInts, "add", add)
    print("ready", flush=True)
    with suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(node)
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()
