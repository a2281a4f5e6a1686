"""Service servers."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any

from rclpy._entity import Entity, Work
from rclpy._handle import Handle
from rclpy.callback_groups import CallbackGroup
from rclpy.context import Context
from rclpy.qos import QoSProfile
from rclpy_zenoh.wire import RequestHeader, WireNode


class Service(Entity):
    """Answers requests; made by `Node.create_service`."""

    def __init__(
        self,
        node: WireNode,
        full_name: str,
        srv_type: type[Any],
        srv_name: str,
        callback: Callable[[Any, Any], Any],
        callback_group: CallbackGroup,
        qos_profile: QoSProfile,
        context: Context,
    ) -> None:
        super().__init__(callback_group)
        self.callback = callback
        self.srv_type = srv_type
        self.srv_name = srv_name
        self.qos_profile = qos_profile
        # What a coroutine callback wants done right after its response was sent, before another callback can run.
        self._after_response: Callable[[], Awaitable[None]] | None = None
        self._wire = node.create_service(full_name, srv_type, qos_profile._to_wire(), self._notify)
        self._handle = Handle(f"service '{full_name}'", context, self._wire.close)

    def send_response(self, response: Any, header: RequestHeader) -> None:
        """Answer a request.

        Raises:
            TypeError: The response is not of the service's Response class.
        """
        if not isinstance(response, self.srv_type.Response):
            raise TypeError(
                f"The callback of service '{self.srv_name}' must return a {self.srv_type.__name__}.Response, "
                f"not {type(response).__name__}."
            )
        with self._handle:
            self._wire.send_response(header, response)

    @property
    def service_name(self) -> str:
        """The full name of the service."""
        with self._handle:
            return self._wire.service

    @property
    def handle(self) -> Handle:
        """What ends its use."""
        return self._handle

    def destroy(self) -> None:
        """Destroy it; call `Node.destroy_service` instead."""
        self._handle.destroy_when_not_in_use()

    def _take(self) -> Work | None:
        if self._handle.destroyed:
            return None
        taken = self._wire.take_request()
        if taken is None:
            return None
        return self._serve_async if inspect.iscoroutinefunction(self.callback) else self._serve, taken

    def _serve(self, request: Any, header: RequestHeader) -> None:
        self.send_response(self.callback(request, self.srv_type.Response()), header)

    async def _serve_async(self, request: Any, header: RequestHeader) -> None:
        response = await self.callback(request, self.srv_type.Response())
        if self._handle.destroyed:  # while the callback waited
            return
        self.send_response(response, header)
        if self._after_response is not None:
            await self._after_response()

    def __enter__(self) -> Service:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.destroy()
