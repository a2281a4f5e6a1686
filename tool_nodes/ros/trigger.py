"""A call of std_srvs/srv/Trigger over the rclpy of a ROS 2 install, for `toolhand stop`."""

from __future__ import annotations

import time

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions
from std_srvs.srv import Trigger

SERVER_S = 5.0
"""How long a server is waited for: discovery takes a while [s]."""


class NoServerError(Exception):
    """The service has no server."""


class NoAnswerError(Exception):
    """The service has a server, which has not answered."""


def call_trigger(name: str, domain: int | None, timeout_s: float) -> tuple[bool, str]:
    """(success, message) of a service's answer.

    Args:
        name: Full name of the service.
        domain: ROS domain; None for that of the environment.
        timeout_s: Longest time to wait for the answer [s].

    Raises:
        NoServerError: It has no server.
        NoAnswerError: It has not answered in time.
    """
    context = Context()
    rclpy.init(args=[], context=context, domain_id=domain, signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = rclpy.create_node("_toolhand_stop", context=context, enable_rosout=False, start_parameter_services=False)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        client = node.create_client(Trigger, name)
        if not client.wait_for_service(timeout_sec=SERVER_S):
            raise NoServerError(f"Nobody serves {name} in domain {context.get_domain_id()}.")
        future = client.call_async(Trigger.Request())
        until_s = time.monotonic() + timeout_s
        while not future.done():
            if time.monotonic() > until_s:
                raise NoAnswerError(f"{name} did not answer within {timeout_s:g} s.")
            executor.spin_once(timeout_sec=0.1)
        answer = future.result()
        return bool(answer.success), str(answer.message)
    finally:
        rclpy.try_shutdown(context=context)
