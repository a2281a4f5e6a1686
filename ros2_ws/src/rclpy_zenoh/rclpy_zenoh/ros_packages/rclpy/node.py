"""Nodes."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rclpy import _rosout
from rclpy._arguments import Arguments
from rclpy._handle import Handle
from rclpy._node_entities import NodeEntities
from rclpy._node_graph import NodeGraph
from rclpy._node_names import NodeNames
from rclpy._node_parameters import NodeParameters
from rclpy._rclpy_pybind11 import NodeNameNonExistentError as NodeNameNonExistentError
from rclpy._rclpy_pybind11 import RCLError
from rclpy._same_name import warn_of_same_name
from rclpy.callback_groups import CallbackGroup, MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.client import Client
from rclpy.clock import Clock, ROSClock
from rclpy.constants import S_TO_NS
from rclpy.context import Context
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.exceptions import NotInitializedException
from rclpy.guard_condition import GuardCondition
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.logging import get_logger
from rclpy.logging_service import LoggingService
from rclpy.parameter import Parameter
from rclpy.parameter_service import ParameterService
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile, qos_profile_rosout_default, qos_profile_services_default
from rclpy.service import Service
from rclpy.subscription import Subscription
from rclpy.time_source import TimeSource
from rclpy.timer import Rate, Timer
from rclpy.type_description_service import TypeDescriptionService
from rclpy.type_support import check_is_valid_msg_type, check_is_valid_srv_type
from rclpy.utilities import get_default_context

if TYPE_CHECKING:
    from rclpy.executors import Executor
    from rclpy.qos_overriding_options import QoSOverridingOptions
    from rclpy_zenoh.wire import GraphCache, WireNode

HIDDEN_NODE_PREFIX = "_"


class Node(NodeEntities, NodeParameters, NodeGraph):
    """A node: the owner of publishers, subscriptions, services, clients, timers and parameters.

    Args:
        node_name: Its name; a remap rule may replace it.
        context: Its context, by default the default one.
        cli_args: Command line arguments for this node only, with or without a leading --ros-args.
        namespace: Its namespace, by default "/".
        use_global_arguments: False to ignore the arguments of the process.
        enable_rosout: False to keep its log messages off /rosout.
        start_parameter_services: False to let no other node see its parameters.
        parameter_overrides: Values for parameters that are declared later.
        allow_undeclared_parameters: Let undeclared parameters be set.
        automatically_declare_parameters_from_overrides: Declare what has an override.
        enable_logger_service: Let other nodes see and set log levels.

    Raises:
        NotInitializedException: The context is not initialized, or has been shut down.
        InvalidNodeNameException: The name is not allowed.
        InvalidNamespaceException: The namespace is not allowed.
    """

    def __init__(
        self,
        node_name: str,
        *,
        context: Context | None = None,
        cli_args: list[str] | None = None,
        namespace: str | None = None,
        use_global_arguments: bool = True,
        enable_rosout: bool = True,
        start_parameter_services: bool = True,
        parameter_overrides: list[Parameter] | None = None,
        allow_undeclared_parameters: bool = False,
        automatically_declare_parameters_from_overrides: bool = False,
        enable_logger_service: bool = False,
    ) -> None:
        self._context = get_default_context() if context is None else context
        self._executor_reference: weakref.ReferenceType[Executor] | None = None
        self._init_entities()
        self._default_callback_group = MutuallyExclusiveCallbackGroup()
        self._rate_group = ReentrantCallbackGroup()
        if not self._context.ok():
            self._context._require_unforked()
            raise NotInitializedException("cannot create node")

        own = Arguments.parse(["--ros-args", *cli_args]) if cli_args else Arguments()
        arguments = [own, self._context._arguments] if use_global_arguments else [own]
        self._names = NodeNames(node_name, namespace or "", arguments)
        self._logger = get_logger(self._names.logger_name)
        self._clock = ROSClock()
        self._wire = self._context._create_wire_node(self._names.name, self._names.namespace)
        stop_warning = warn_of_same_name(self._wire, self._logger)
        leave = partial(_leave_graph, self._wire, self._logger.name, stop_warning)
        self._context._when_dropped(self, leave)
        self._handle = Handle(f"node '{self._names.full_name}'", self._context, leave)
        try:
            if enable_rosout and all(given.rosout for given in arguments):
                _rosout.add(self._logger.name, self._context, self._wire, qos_profile_rosout_default._to_wire())
            values = [given.params_for(self._names.full_name) for given in reversed(arguments)]
            self._init_parameters(
                overrides=parameter_overrides or [],
                allow_undeclared=allow_undeclared_parameters,
                automatically_declare=automatically_declare_parameters_from_overrides,
                cli_overrides={name: value for each in values for name, value in each.items()},
            )
            self._time_source = TimeSource(node=self)
            self._time_source.attach_clock(self._clock)
            self._parameter_service = ParameterService(self) if start_parameter_services else None
            TypeDescriptionService(self)
            if enable_logger_service:
                LoggingService(self)
        except BaseException:
            self.destroy_node()  # what is half made must not stay in the graph
            raise

    @property
    def executor(self) -> Executor | None:
        """The executor that runs its callbacks, or None."""
        return self._executor_reference() if self._executor_reference is not None else None

    @executor.setter
    def executor(self, new_executor: Executor | None) -> None:
        current = self.executor
        if current is new_executor:
            return
        self._executor_reference = None if new_executor is None else weakref.ref(new_executor)
        if current is not None:
            current.remove_node(self)
        if new_executor is not None:
            new_executor.add_node(self)

    @property
    def context(self) -> Context:
        """Its context."""
        return self._context

    @property
    def default_callback_group(self) -> CallbackGroup:
        """The group of what is made without one: one callback at a time."""
        return self._default_callback_group

    @property
    def handle(self) -> Handle:
        """What ends its use."""
        return self._handle

    @property
    def _graph(self) -> GraphCache:
        with self._handle:
            return self._wire.session.graph

    def get_name(self) -> str:
        """Its name, without the namespace."""
        with self._handle:
            return self._names.name

    def get_namespace(self) -> str:
        """Its namespace."""
        with self._handle:
            return self._names.namespace

    def get_fully_qualified_name(self) -> str:
        """Namespace and name, such as "/robot/camera"."""
        with self._handle:
            return self._names.full_name

    def get_clock(self) -> Clock:
        """Its clock, which shows ROS time."""
        return self._clock

    def get_logger(self) -> RcutilsLogger:
        """Its logger."""
        return self._logger

    def resolve_topic_name(self, topic: str, *, only_expand: bool = False) -> str:
        """The full name of a topic, after remapping unless `only_expand`; RuntimeError if it is not allowed."""
        with self._handle:
            return _resolved(partial(self._names.resolve, topic, only_expand=only_expand))

    def resolve_service_name(self, service: str, *, only_expand: bool = False) -> str:
        """The full name of a service, after remapping unless `only_expand`; RuntimeError if it is not allowed."""
        with self._handle:
            return _resolved(partial(self._names.resolve, service, is_service=True, only_expand=only_expand))

    def create_publisher(
        self,
        msg_type: type[Any],
        topic: str,
        qos_profile: QoSProfile | int,
        *,
        callback_group: CallbackGroup | None = None,
        event_callbacks: PublisherEventCallbacks | None = None,
        qos_overriding_options: QoSOverridingOptions | None = None,
        publisher_class: type[Publisher] = Publisher,
    ) -> Publisher:
        """Make a publisher.

        Args:
            msg_type: A message class.
            topic: The name; it may be relative.
            qos_profile: The profile, or the depth of the default one.
            callback_group: No meaning: events never come.
            event_callbacks: Never called.
            qos_overriding_options: QoS policies that parameters may override.
            publisher_class: A subclass of Publisher.
        """
        check_is_valid_msg_type(msg_type)
        qos = _profile(qos_profile)
        with self._handle:
            full_name = self._names.resolve_new(topic)
        if qos_overriding_options is not None:
            qos = qos_overriding_options._apply(self, "publisher", full_name, qos)
        wire = self._wire.create_publisher(full_name, msg_type, qos._to_wire())
        publisher = publisher_class(wire, msg_type, topic, qos, self._context)
        self._publishers.append(publisher)
        return publisher

    def create_subscription(
        self,
        msg_type: type[Any],
        topic: str,
        callback: Callable[..., Any],
        qos_profile: QoSProfile | int,
        *,
        callback_group: CallbackGroup | None = None,
        event_callbacks: SubscriptionEventCallbacks | None = None,
        qos_overriding_options: QoSOverridingOptions | None = None,
        raw: bool = False,
    ) -> Subscription:
        """Make a subscription.

        Args:
            msg_type: A message class.
            topic: The name; it may be relative.
            callback: Called with each message, or with message and `MessageInfo`.
            qos_profile: The profile, or the depth of the default one.
            callback_group: When the callback may run, by default the node's group.
            event_callbacks: Never called.
            qos_overriding_options: QoS policies that parameters may override.
            raw: Hand over the bytes instead of a message.
        """
        check_is_valid_msg_type(msg_type)
        qos = _profile(qos_profile)
        with self._handle:
            full_name = self._names.resolve_new(topic)
        if qos_overriding_options is not None:
            qos = qos_overriding_options._apply(self, "subscription", full_name, qos)
        group = callback_group or self._default_callback_group
        subscription = Subscription(self._wire, full_name, msg_type, topic, callback, group, qos, raw, self._context)
        return self._adopt(subscription, self._subscriptions)

    def create_service(
        self,
        srv_type: type[Any],
        srv_name: str,
        callback: Callable[[Any, Any], Any],
        *,
        qos_profile: QoSProfile = qos_profile_services_default,
        callback_group: CallbackGroup | None = None,
    ) -> Service:
        """Make a service.

        Args:
            srv_type: A service class.
            srv_name: The name; it may be relative.
            callback: Called with a request and an empty response; returns the response.
            qos_profile: The profile.
            callback_group: When the callback may run, by default the node's group.
        """
        check_is_valid_srv_type(srv_type)
        with self._handle:
            full_name = self._names.resolve_new(srv_name, is_service=True)
        group = callback_group or self._default_callback_group
        service = Service(self._wire, full_name, srv_type, srv_name, callback, group, qos_profile, self._context)
        return self._adopt(service, self._services)

    def create_client(
        self,
        srv_type: type[Any],
        srv_name: str,
        *,
        qos_profile: QoSProfile = qos_profile_services_default,
        callback_group: CallbackGroup | None = None,
    ) -> Client:
        """Make a service client.

        Args:
            srv_type: A service class.
            srv_name: The name; it may be relative.
            qos_profile: The profile.
            callback_group: When responses may be received, by default the node's group.
        """
        check_is_valid_srv_type(srv_type)
        with self._handle:
            full_name = self._names.resolve_new(srv_name, is_service=True)
        group = callback_group or self._default_callback_group
        client = Client(self._wire, full_name, srv_type, srv_name, qos_profile, group, self._context, self._logger)
        return self._adopt(client, self._clients)

    def create_timer(
        self,
        timer_period_sec: float,
        callback: Callable[..., Any] | None,
        callback_group: CallbackGroup | None = None,
        clock: Clock | None = None,
        autostart: bool = True,
    ) -> Timer:
        """Make a timer.

        Args:
            timer_period_sec: Its period in seconds.
            callback: Called without arguments.
            callback_group: When the callback may run, by default the node's group.
            clock: Clock of the period; by default the node's.
            autostart: False to start it with `Timer.reset` only.
        """
        period_ns = int(float(timer_period_sec) * S_TO_NS)
        group = callback_group or self._default_callback_group
        clock = clock or self._clock
        with self._handle:
            timer = Timer(callback, group, period_ns, clock, context=self._context, autostart=autostart)
        return self._adopt(timer, self._timers)

    def create_guard_condition(
        self, callback: Callable[[], Any], callback_group: CallbackGroup | None = None
    ) -> GuardCondition:
        """Make a guard condition, whose callback runs after `trigger`."""
        with self._handle:
            guard = GuardCondition(callback, callback_group or self._default_callback_group, self._context)
        return self._adopt(guard, self._guards)

    def create_rate(self, frequency: float, clock: Clock | None = None) -> Rate:
        """Make a rate of some Hz, by default on the node's clock."""
        if frequency <= 0:
            raise ValueError("frequency must be > 0")
        return Rate(self.create_timer(1.0 / frequency, None, self._rate_group, clock), context=self._context)

    def destroy_node(self) -> None:
        """Destroy the node and all it owns; it leaves the graph."""
        executor = self.executor
        if executor is not None:
            executor.remove_node(self)
        self._destroy_entities()
        if not self._handle.destroyed:
            self._handle.destroy_when_not_in_use()

    def __enter__(self) -> Node:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.destroy_node()


def _leave_graph(wire: WireNode, logger_name: str, stop_warning: Callable[[], None]) -> None:
    stop_warning()
    _rosout.remove(logger_name, wire)
    wire.close()


def _resolved(resolve: Callable[[], str]) -> str:
    try:
        return resolve()
    except ValueError as error:
        raise RCLError(str(error)) from None


def _profile(qos_or_depth: QoSProfile | int) -> QoSProfile:
    if isinstance(qos_or_depth, QoSProfile):
        return qos_or_depth
    if not isinstance(qos_or_depth, int):
        raise TypeError(f"Expected QoSProfile or int, but received {type(qos_or_depth)!r}")
    if qos_or_depth < 0:
        raise ValueError("history depth must be greater than or equal to zero")
    return QoSProfile(depth=qos_or_depth)
