"""What a node owns."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from rclpy._entity import Entity
from rclpy.client import Client
from rclpy.exceptions import InvalidHandle
from rclpy.guard_condition import GuardCondition
from rclpy.publisher import Publisher
from rclpy.service import Service
from rclpy.subscription import Subscription
from rclpy.timer import Rate, Timer

if TYPE_CHECKING:
    from rclpy.executors import Executor

E = TypeVar("E", bound=Entity)


class NodeEntities:
    """The part of `Node` that knows and destroys its publishers, subscriptions, clients, services and timers."""

    @property
    def executor(self) -> Executor | None:
        """The executor that runs its callbacks, or None."""
        raise NotImplementedError

    def _init_entities(self) -> None:
        self._publishers: list[Publisher] = []
        self._subscriptions: list[Subscription] = []
        self._clients: list[Client] = []
        self._services: list[Service] = []
        self._timers: list[Timer] = []
        self._guards: list[GuardCondition] = []

    @property
    def publishers(self) -> Iterator[Publisher]:
        """Its publishers."""
        yield from self._publishers

    @property
    def subscriptions(self) -> Iterator[Subscription]:
        """Its subscriptions."""
        yield from self._subscriptions

    @property
    def clients(self) -> Iterator[Client]:
        """Its service clients."""
        yield from self._clients

    @property
    def services(self) -> Iterator[Service]:
        """Its services."""
        yield from self._services

    @property
    def timers(self) -> Iterator[Timer]:
        """Its timers."""
        yield from self._timers

    @property
    def guards(self) -> Iterator[GuardCondition]:
        """Its guard conditions."""
        yield from self._guards

    def _adopt(self, entity: E, owned: list[E]) -> E:
        entity._owner = weakref.ref(self)  # type: ignore[arg-type]  # Node inherits this class
        entity.callback_group.add_entity(entity)
        owned.append(entity)
        executor = self.executor
        if executor is not None:
            executor._adopt(entity)
        return entity

    def _entities(self) -> list[Entity]:
        return [*self._subscriptions, *self._guards, *self._clients, *self._services, *self._timers]

    def destroy_publisher(self, publisher: Publisher) -> bool:
        """Destroy one of its publishers; False if it is none."""
        return _destroy(publisher, self._publishers)

    def destroy_subscription(self, subscription: Subscription) -> bool:
        """Destroy one of its subscriptions; False if it is none."""
        return _destroy(subscription, self._subscriptions)

    def destroy_client(self, client: Client) -> bool:
        """Destroy one of its clients; False if it is none."""
        return _destroy(client, self._clients)

    def destroy_service(self, service: Service) -> bool:
        """Destroy one of its services; False if it is none."""
        return _destroy(service, self._services)

    def destroy_timer(self, timer: Timer) -> bool:
        """Destroy one of its timers; False if it is none."""
        return _destroy(timer, self._timers)

    def destroy_guard_condition(self, guard: GuardCondition) -> bool:
        """Destroy one of its guard conditions; False if it is none."""
        return _destroy(guard, self._guards)

    def destroy_rate(self, rate: Rate) -> bool:
        """Destroy a rate, and wake those that sleep in it."""
        destroyed = self.destroy_timer(rate._timer)
        rate.destroy()
        return destroyed

    def _destroy_entities(self) -> None:
        for owned in (
            self._publishers,
            self._subscriptions,
            self._clients,
            self._services,
            self._timers,
            self._guards,
        ):
            while owned:
                _destroy(owned[0], owned)


def _destroy(entity: Any, owned: list[Any]) -> bool:
    if entity not in owned:
        return False
    owned.remove(entity)
    try:
        entity.destroy()
    except InvalidHandle:
        return False
    return True
