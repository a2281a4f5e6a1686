"""The other process of the tests: `peer.py ROUTER DOMAIN SHM`.

It prints its session's id, then reads a JSON line [operation, arguments], does it and prints the answer as a JSON line,
until its input ends.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

from rclpy_zenoh.interfaces import get_class
from rclpy_zenoh.wire import Qos, SessionOptions, WireError, open_session

TIMEOUT_S = 20.0


class Operations:
    """What the peer can do; each method is an operation."""

    def __init__(self, options: SessionOptions) -> None:
        self.session = open_session(options)
        self._node = self.session.create_node("peer")
        self._changed = threading.Condition()
        self._open: dict[str, Any] = {}
        self._string = get_class("std_msgs/msg/String")
        self._service = get_class("std_srvs/srv/SetBool")
        self._held: list[Any] = []

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _wait(self, value: Any, timeout_s: float = TIMEOUT_S) -> Any:
        """The first true result of `value`, or its last one."""
        deadline = time.monotonic() + timeout_s
        while not (result := value()) and time.monotonic() < deadline:
            with self._changed:
                self._changed.wait(0.01)
        return result

    def advertise(self, topic: str, qos: list[int]) -> None:
        self._open[topic] = self._node.create_publisher(topic, self._string, Qos(*qos))

    def publish(self, topic: str, texts: list[str], subscriptions: int = 0) -> None:
        publisher = self._open[topic]
        self._wait(lambda: publisher.subscription_count() >= subscriptions)
        for text in texts:
            publisher.publish(self._string(data=text))

    def subscribe(self, topic: str, qos: list[int]) -> None:
        self._open[topic] = self._node.create_subscription(topic, self._string, Qos(*qos), self._notify)

    def take(self, topic: str, count: int) -> list[str]:
        texts: list[str] = []

        def enough() -> bool:
            while (taken := self._open[topic].take_message()) is not None:
                texts.append(taken[0].data)
            return len(texts) >= count

        self._wait(enough)
        return texts

    def serve(self, service: str) -> None:
        """Answer each request after a moment in the text `NAME`: "hold NAME" waits for `release`."""
        self._open[service] = self._node.create_service(service, self._service, Qos(1, 2, 1, 50), self._notify)

    def answer(self, service: str, count: int) -> int:
        """Answer `count` requests with their value."""
        for _ in range(count):
            taken = self._wait(self._open[service].take_request)
            if taken is None:
                return -1
            request, header = taken
            self._open[service].send_response(header, self._service.Response(success=request.data, message="served"))
        return count

    def keep_answering(self, service: str) -> None:
        """Answer everything from now on, in the background."""

        def work() -> None:
            while not self._open[service].closed:
                self.answer(service, 1)

        threading.Thread(target=work, daemon=True).start()

    def hold(self, service: str, count: int) -> int:
        """Take requests and keep them."""
        for _ in range(count):
            self._held.append(self._wait(self._open[service].take_request))
        return len(self._held)

    def release(self, service: str) -> int:
        """Answer what is held, the last first."""
        for request, header in reversed(self._held):
            self._open[service].send_response(header, self._service.Response(success=request.data, message="late"))
        count = len(self._held)
        self._held.clear()
        return count

    def client(self, service: str) -> bool:
        self._open[f"client {service}"] = client = self._node.create_client(
            service, self._service, Qos(1, 2, 1, 10), self._notify
        )
        return bool(self._wait(client.service_is_ready))

    def call(self, service: str, data: bool) -> Any:
        client = self._open[f"client {service}"]
        client.send_request(self._service.Request(data=data))
        _, response = self._wait(client.take_response)
        return str(response) if isinstance(response, WireError) else [response.success, response.message]

    def close(self, name: str) -> None:
        self._open[name].close()

    def nodes(self, count: int) -> list[list[str]]:
        return [list(node) for node in self._wait(lambda: self._many_nodes(count)) or self.session.graph.get_nodes()]

    def _many_nodes(self, count: int) -> Any:
        nodes = self.session.graph.get_nodes()
        return nodes if len(nodes) >= count else None

    def leave_running(self) -> None:
        """End the interpreter while messages arrive and nothing is closed."""
        sys.exit()


def main() -> None:
    router, domain, shared_memory = sys.argv[1:]
    operations = Operations(SessionOptions(domain=int(domain), router=router, shared_memory=shared_memory == "1"))
    print(json.dumps(operations.session.zid), flush=True)
    for line in sys.stdin:
        operation, arguments = json.loads(line)
        print(json.dumps(getattr(operations, operation)(**arguments)), flush=True)


if __name__ == "__main__":
    main()
