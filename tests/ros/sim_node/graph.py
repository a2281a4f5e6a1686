"""A simulator in this process and a node that looks at it from outside."""

import threading
import time
from collections.abc import Callable
from typing import Any

import rclpy
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.executors import MultiThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions

from toolhand.sim.sim_node import SimNode

PATIENCE_S = 60.0
"""A bound against hanging, not an expectation."""


class Graph:
    """A simulator and an observer of it, each as if in a process of its own."""

    def __init__(self, domain: int, parameters: dict[str, Any]) -> None:
        self._contexts = [Context(), Context()]
        for context in self._contexts:
            rclpy.init(args=[], context=context, domain_id=domain, signal_handler_options=SignalHandlerOptions.NO)
        overrides = [Parameter(name, value=value) for name, value in parameters.items()]
        self.sim = SimNode(context=self._contexts[0], parameter_overrides=overrides)
        self.node = rclpy.create_node("observer", context=self._contexts[1])
        self._executors = []
        for node, context in zip((self.sim, self.node), self._contexts, strict=True):
            executor = MultiThreadedExecutor(4, context=context)
            executor.add_node(node)
            self._executors.append(executor)
        self._threads = [threading.Thread(target=executor.spin, daemon=True) for executor in self._executors]
        for thread in self._threads:
            thread.start()
        self._clients: dict[str, Any] = {}

    def close(self) -> None:
        for client in self._clients.values():
            client.destroy()
        for executor in self._executors:
            executor.shutdown(timeout_sec=5.0)
        for thread in self._threads:
            thread.join(PATIENCE_S)
        self.sim.destroy_node()
        self.node.destroy_node()
        for context in self._contexts:
            context.try_shutdown()

    def wait(self, condition: Callable[[], Any]) -> Any:
        """The first true value of a condition."""
        end = time.monotonic() + PATIENCE_S
        while not (value := condition()):
            assert time.monotonic() < end, "this never came"
            time.sleep(0.002)
        return value

    def done(self, future: Any) -> Any:
        self.wait(future.done)
        return future.result()

    def hear(self, kind: Any, topic: str, qos: Any = 10) -> list[Any]:
        """The messages of a topic, as they come."""
        heard: list[Any] = []
        self.node.create_subscription(kind, topic, heard.append, qos)
        return heard

    def call(self, kind: Any, name: str, /, **fields: Any) -> Any:
        """The answer of a service."""
        if name not in self._clients:
            self._clients[name] = self.node.create_client(kind, name)
            assert self._clients[name].wait_for_service(PATIENCE_S)
        return self.done(self._clients[name].call_async(kind.Request(**fields)))

    def action(self, kind: Any, name: str) -> ActionClient:
        if name not in self._clients:
            self._clients[name] = ActionClient(self.node, kind, name)
            assert self._clients[name].wait_for_server(PATIENCE_S)
        client: ActionClient = self._clients[name]
        return client

    def send(self, kind: Any, name: str, goal: Any, feedback: Any = None) -> Any:
        """The handle of a goal."""
        return self.done(self.action(kind, name).send_goal_async(goal, feedback_callback=feedback))

    def set_parameter(self, name: str, value: Any) -> Any:
        return self.sim.set_parameters([Parameter(name, value=value)])[0]
