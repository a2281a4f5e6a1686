"""A ROS 2 service and its client, on a machine that has only pip.

`overlay.install()` lets `import rclpy` find this project's client where no ROS 2 is installed; where one is, it does
nothing and the same code runs on it. Nodes find each other through a router: here one of this program's own, else
`toolhand ros router`.

    python examples/08_an_rclpy_node_with_pip_alone.py

You will see:

    hello from /demo/greeter
    services: ['/demo/greet']
"""

import os

from rclpy_zenoh import overlay
from rclpy_zenoh.wire import start_router

overlay.install()

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_srvs.srv import Trigger


class Greeter(Node):
    """Serves `greet`."""

    def __init__(self) -> None:
        super().__init__("greeter", namespace="/demo")
        self.create_service(Trigger, "greet", self.greet)

    def greet(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Answer with the node's name."""
        response.success, response.message = True, f"hello from {self.get_fully_qualified_name()}"
        return response


if __name__ == "__main__":
    router = start_router()  # any free port of this machine; it ends with this program
    os.environ["RCLPY_ZENOH_ROUTER"] = router.endpoint

    with rclpy.init():
        caller = rclpy.create_node("caller")
        greet = caller.create_client(Trigger, "/demo/greet")
        executor = SingleThreadedExecutor()
        executor.add_node(Greeter())
        executor.add_node(caller)

        answer = greet.call_async(Trigger.Request())
        executor.spin_until_future_complete(answer, timeout_sec=10.0)
        if not answer.done():
            raise SystemExit("the service /demo/greet did not answer within 10 s")
        print(answer.result().message)
        print("services:", [name for name, _ in caller.get_service_names_and_types() if name.endswith("/greet")])
    router.close()
