"""Quality of service: policies, profiles and whether two profiles fit."""

from __future__ import annotations

import warnings
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any, ClassVar

from rclpy.duration import Duration, Infinite

if TYPE_CHECKING:
    from rclpy_zenoh.wire import Qos


class QoSPolicyKind(IntEnum):
    """Policies by the number that events carry."""

    INVALID = 1 << 0
    DURABILITY = 1 << 1
    DEADLINE = 1 << 2
    LIVELINESS = 1 << 3
    RELIABILITY = 1 << 4
    HISTORY = 1 << 5
    LIFESPAN = 1 << 6
    DEPTH = 1 << 7
    LIVELINESS_LEASE_DURATION = 1 << 8
    AVOID_ROS_NAMESPACE_CONVENTIONS = 1 << 9


def qos_policy_name_from_kind(policy_kind: QoSPolicyKind | int) -> str:
    """The name of a policy."""
    return QoSPolicyKind(policy_kind).name


class InvalidQoSProfileException(Exception):
    """A profile without what it needs."""

    def __init__(self, *args: Any) -> None:
        super().__init__("Invalid QoSProfile", *args)


class QoSPolicyEnum(IntEnum):
    """Base of the policies; the numbers are rmw's."""

    @classmethod
    def short_keys(cls) -> list[str]:
        """The names in small letters, as the command line writes them."""
        return [name.lower() for name in cls.__members__]

    @classmethod
    def get_from_short_key(cls, name: str) -> int:
        """The number of a name, in small or capital letters."""
        return cls[name.upper()].value

    @property
    def short_key(self) -> str:
        """The name in small letters."""
        return self.name.lower()


class HistoryPolicy(QoSPolicyEnum):
    """How many messages are kept."""

    SYSTEM_DEFAULT = 0
    KEEP_LAST = 1
    KEEP_ALL = 2
    UNKNOWN = 3


class ReliabilityPolicy(QoSPolicyEnum):
    """Whether lost messages are sent again."""

    SYSTEM_DEFAULT = 0
    RELIABLE = 1
    BEST_EFFORT = 2
    UNKNOWN = 3
    BEST_AVAILABLE = 4


class DurabilityPolicy(QoSPolicyEnum):
    """Whether late subscriptions get earlier messages."""

    SYSTEM_DEFAULT = 0
    TRANSIENT_LOCAL = 1
    VOLATILE = 2
    UNKNOWN = 3
    BEST_AVAILABLE = 4


class LivelinessPolicy(QoSPolicyEnum):
    """What asserts that a publisher is alive."""

    SYSTEM_DEFAULT = 0
    AUTOMATIC = 1
    MANUAL_BY_TOPIC = 3
    UNKNOWN = 4
    BEST_AVAILABLE = 5


QoSHistoryPolicy = HistoryPolicy
QoSReliabilityPolicy = ReliabilityPolicy
QoSDurabilityPolicy = DurabilityPolicy
QoSLivelinessPolicy = LivelinessPolicy

DeadlineBestAvailable = Duration(nanoseconds=2**63 - 2)
LivelinessLeaseDurationeBestAvailable = Duration(nanoseconds=2**63 - 2)


class QoSProfile:
    """Quality of service of a topic's or service's end.

    Args:
        history: KEEP_LAST by default, which needs a depth.
        depth: Messages that are kept.
        reliability: RELIABLE by default.
        durability: VOLATILE by default.
        lifespan: Age up to which a message is sent; unlimited by default.
        deadline: The longest time between two messages; not limited by default.
        liveliness: SYSTEM_DEFAULT by default.
        liveliness_lease_duration: Time for which a publisher counts as alive; unlimited by default.
        avoid_ros_namespace_conventions: No meaning here.

    Raises:
        InvalidQoSProfileException: Neither history nor depth is given, or KEEP_LAST without a depth.
    """

    __slots__ = (
        "_avoid_ros_namespace_conventions",
        "_deadline",
        "_depth",
        "_durability",
        "_history",
        "_lifespan",
        "_liveliness",
        "_liveliness_lease_duration",
        "_reliability",
    )
    _DEFAULTS: ClassVar[dict[str, Any]] = {
        "depth": 10,
        "reliability": ReliabilityPolicy.RELIABLE,
        "durability": DurabilityPolicy.VOLATILE,
        "lifespan": Duration(),
        "deadline": Duration(),
        "liveliness": LivelinessPolicy.SYSTEM_DEFAULT,
        "liveliness_lease_duration": Duration(),
        "avoid_ros_namespace_conventions": False,
    }

    def __init__(self, **kwargs: Any) -> None:
        assert all(name == "history" or name in self._DEFAULTS for name in kwargs), (
            f"Invalid arguments passed to constructor: {kwargs.keys()!r}"
        )
        if "history" not in kwargs:
            if "depth" not in kwargs:
                raise InvalidQoSProfileException("History and/or depth settings are required.")
            kwargs["history"] = HistoryPolicy.KEEP_LAST
        self.history = kwargs.pop("history")
        if self.history == HistoryPolicy.KEEP_LAST and "depth" not in kwargs:
            raise InvalidQoSProfileException("History set to KEEP_LAST without a depth setting.")
        for name, value in (self._DEFAULTS | kwargs).items():
            setattr(self, name, value)

    @property
    def history(self) -> HistoryPolicy:
        """How many messages are kept."""
        return self._history

    @history.setter
    def history(self, value: int) -> None:
        assert isinstance(value, int), f"history is a HistoryPolicy, not {value!r}"
        self._history = HistoryPolicy(value)

    @property
    def reliability(self) -> ReliabilityPolicy:
        """Whether lost messages are sent again."""
        return self._reliability

    @reliability.setter
    def reliability(self, value: int) -> None:
        assert isinstance(value, int), f"reliability is a ReliabilityPolicy, not {value!r}"
        self._reliability = ReliabilityPolicy(value)

    @property
    def durability(self) -> DurabilityPolicy:
        """Whether late subscriptions get earlier messages."""
        return self._durability

    @durability.setter
    def durability(self, value: int) -> None:
        assert isinstance(value, int), f"durability is a DurabilityPolicy, not {value!r}"
        self._durability = DurabilityPolicy(value)

    @property
    def depth(self) -> int:
        """Messages that are kept with KEEP_LAST."""
        return self._depth

    @depth.setter
    def depth(self, value: int) -> None:
        assert isinstance(value, int), f"depth is an int, not {value!r}"
        if self.history == HistoryPolicy.KEEP_LAST and value == 0:
            warnings.warn(
                "A zero depth with KEEP_LAST doesn't make sense; no data could be stored. "
                "This will be interpreted as SYSTEM_DEFAULT",
                stacklevel=2,
            )
        self._depth = value

    @property
    def lifespan(self) -> Duration:
        """How long a message is worth sending."""
        return self._lifespan

    @lifespan.setter
    def lifespan(self, value: Duration) -> None:
        assert isinstance(value, Duration), f"lifespan is a Duration, not {value!r}"
        self._lifespan = value

    @property
    def deadline(self) -> Duration:
        """The longest time between two messages."""
        return self._deadline

    @deadline.setter
    def deadline(self, value: Duration) -> None:
        assert isinstance(value, Duration), f"deadline is a Duration, not {value!r}"
        self._deadline = value

    @property
    def liveliness(self) -> LivelinessPolicy:
        """What asserts that a publisher is alive."""
        return self._liveliness

    @liveliness.setter
    def liveliness(self, value: int) -> None:
        assert isinstance(value, int), f"liveliness is a LivelinessPolicy, not {value!r}"
        self._liveliness = LivelinessPolicy(value)

    @property
    def liveliness_lease_duration(self) -> Duration:
        """How long a publisher counts as alive."""
        return self._liveliness_lease_duration

    @liveliness_lease_duration.setter
    def liveliness_lease_duration(self, value: Duration) -> None:
        assert isinstance(value, Duration), f"liveliness_lease_duration is a Duration, not {value!r}"
        self._liveliness_lease_duration = value

    @property
    def avoid_ros_namespace_conventions(self) -> bool:
        """No meaning here."""
        return self._avoid_ros_namespace_conventions

    @avoid_ros_namespace_conventions.setter
    def avoid_ros_namespace_conventions(self, value: bool) -> None:
        assert isinstance(value, bool), f"avoid_ros_namespace_conventions is a bool, not {value!r}"
        self._avoid_ros_namespace_conventions = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, QoSProfile):
            return False
        return all(getattr(self, slot) == getattr(other, slot) for slot in self.__slots__)

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __str__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{slot[1:]}={getattr(self, slot)}' for slot in self.__slots__)})"

    def _to_wire(self) -> Qos:
        """The profile as the wire writes it; BEST_AVAILABLE stays what it is, as in rmw_zenoh."""
        from rclpy_zenoh.wire import Qos

        return Qos(
            reliability=int(self.reliability),
            durability=int(self.durability),
            history=int(self.history),
            depth=self.depth,
            deadline_ns=self.deadline.nanoseconds,
            lifespan_ns=self.lifespan.nanoseconds,
            liveliness=int(self.liveliness),
            lease_ns=self.liveliness_lease_duration.nanoseconds,
        )

    @classmethod
    def _from_wire(cls, qos: Qos) -> QoSProfile:
        """The profile of an end somewhere in the graph."""

        def span(nanoseconds: int) -> Duration:
            return Duration(nanoseconds=nanoseconds) if nanoseconds else Infinite

        return cls(
            history=HistoryPolicy(qos.history),
            depth=qos.depth,
            reliability=ReliabilityPolicy(qos.reliability),
            durability=DurabilityPolicy(qos.durability),
            lifespan=span(qos.lifespan_ns),
            deadline=span(qos.deadline_ns),
            liveliness=LivelinessPolicy(qos.liveliness),
            liveliness_lease_duration=span(qos.lease_ns),
        )


_KEEP_LAST, _VOLATILE, _RELIABLE = HistoryPolicy.KEEP_LAST, DurabilityPolicy.VOLATILE, ReliabilityPolicy.RELIABLE

qos_profile_unknown = QoSProfile(
    history=HistoryPolicy.UNKNOWN,
    depth=0,
    reliability=ReliabilityPolicy.UNKNOWN,
    durability=DurabilityPolicy.UNKNOWN,
    liveliness=LivelinessPolicy.UNKNOWN,
)
qos_profile_default = QoSProfile(depth=10)
qos_profile_system_default = QoSProfile(
    history=HistoryPolicy.SYSTEM_DEFAULT,
    depth=0,
    reliability=ReliabilityPolicy.SYSTEM_DEFAULT,
    durability=DurabilityPolicy.SYSTEM_DEFAULT,
)
qos_profile_sensor_data = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
qos_profile_services_default = QoSProfile(depth=10)
qos_profile_parameters = QoSProfile(depth=1000)
qos_profile_parameter_events = QoSProfile(depth=1000)
qos_profile_best_available = QoSProfile(
    depth=10,
    reliability=ReliabilityPolicy.BEST_AVAILABLE,
    durability=DurabilityPolicy.BEST_AVAILABLE,
    deadline=DeadlineBestAvailable,
    liveliness=LivelinessPolicy.BEST_AVAILABLE,
    liveliness_lease_duration=LivelinessLeaseDurationeBestAvailable,
)
qos_profile_action_status_default = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
qos_profile_rosout_default = QoSProfile(
    depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL, lifespan=Duration(seconds=10)
)


class QoSPresetProfiles(Enum):
    """The profiles above by name."""

    UNKNOWN = qos_profile_unknown
    DEFAULT = qos_profile_default
    SYSTEM_DEFAULT = qos_profile_system_default
    SENSOR_DATA = qos_profile_sensor_data
    SERVICES_DEFAULT = qos_profile_services_default
    PARAMETERS = qos_profile_parameters
    PARAMETER_EVENTS = qos_profile_parameter_events
    ACTION_STATUS_DEFAULT = qos_profile_action_status_default
    BEST_AVAILABLE = qos_profile_best_available

    @classmethod
    def short_keys(cls) -> list[str]:
        """The names in small letters, as the command line writes them."""
        return [name.lower() for name in cls.__members__]

    @classmethod
    def get_from_short_key(cls, name: str) -> QoSProfile:
        """The profile of a name, in small or capital letters."""
        return cls[name.upper()].value


class QoSCompatibility(IntEnum):
    """Whether two profiles fit."""

    OK = 0
    WARNING = 1
    ERROR = 2


def qos_check_compatible(publisher_qos: QoSProfile, subscription_qos: QoSProfile) -> tuple[QoSCompatibility, str]:
    """Whether a publisher and a subscription with these profiles would be matched by DDS, and why not.

    On this wire they always are; other middlewares refuse what does not fit.
    """
    from rclpy._qos_compatible import reasons

    errors, doubts = reasons(publisher_qos, subscription_qos)
    if errors:
        return QoSCompatibility.ERROR, "".join(f"ERROR: {reason};" for reason in errors)
    if doubts:
        return QoSCompatibility.WARNING, "".join(f"WARNING: {reason};" for reason in doubts)
    return QoSCompatibility.OK, ""
