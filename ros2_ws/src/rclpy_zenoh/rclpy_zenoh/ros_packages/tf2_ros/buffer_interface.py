"""Transforming messages and other objects with the transforms of a buffer."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, ClassVar

from geometry_msgs.msg import TransformStamped
from rclpy.duration import Duration
from rclpy.time import Time
from std_msgs.msg import Header

_NO_TIME = Duration()


class TypeException(Exception):
    """A class for which nothing is registered."""

    def __init__(self, errstr: str) -> None:
        super().__init__(errstr)
        self.errstr = errstr


class NotImplementedException(Exception):
    """A method that a subclass of `BufferInterface` lacks."""

    def __init__(self) -> None:
        super().__init__("CanTransform or LookupTransform not implemented")
        self.errstr = str(self)


class BufferInterface:
    """Base of buffers: `transform` on top of lookups that a subclass has.

    Which classes can be transformed is registered with `TransformRegistration`; `import tf2_geometry_msgs` does so for
    geometry_msgs.
    """

    def __init__(self) -> None:
        self.registration = TransformRegistration()

    def transform(
        self, object_stamped: Any, target_frame: str, timeout: Duration = _NO_TIME, new_type: Any = None
    ) -> Any:
        """The object in the coordinates of another frame, at the time of its header.

        Args:
            object_stamped: A message with a header, of a registered class.
            target_frame: The frame.
            timeout: Longest wait for the transform.
            new_type: Class to convert the outcome to.

        Raises:
            TypeException: If the class is not registered.
            TransformException: If there is no transform.
        """
        do_transform = self.registration.get(type(object_stamped))
        header = object_stamped.header
        transform = self.lookup_transform(target_frame, header.frame_id, header.stamp, timeout)
        moved = do_transform(object_stamped, transform)
        return moved if new_type is None else convert(moved, new_type)

    def transform_full(
        self,
        object_stamped: Any,
        target_frame: str,
        target_time: Time,
        fixed_frame: str,
        timeout: Duration = _NO_TIME,
        new_type: Any = None,
    ) -> Any:
        """As `transform`, to the frame as it is at another time; `fixed_frame` is taken not to move in between."""
        do_transform = self.registration.get(type(object_stamped))
        header = object_stamped.header
        transform = self.lookup_transform_full(
            target_frame, target_time, header.frame_id, header.stamp, fixed_frame, timeout
        )
        moved = do_transform(object_stamped, transform)
        return moved if new_type is None else convert(moved, new_type)

    def lookup_transform(
        self, target_frame: str, source_frame: str, time: Time, timeout: Duration = _NO_TIME
    ) -> TransformStamped:
        """The transform of the source frame to the target frame."""
        raise NotImplementedException

    def lookup_transform_full(
        self,
        target_frame: str,
        target_time: Time,
        source_frame: str,
        source_time: Time,
        fixed_frame: str,
        timeout: Duration = _NO_TIME,
    ) -> TransformStamped:
        """The transform of the source frame at one time to the target frame at another."""
        raise NotImplementedException

    def can_transform(
        self, target_frame: str, source_frame: str, time: Time, timeout: Duration = _NO_TIME
    ) -> bool | tuple[bool, str]:
        """Whether there is a transform."""
        raise NotImplementedException

    def can_transform_full(
        self,
        target_frame: str,
        target_time: Time,
        source_frame: str,
        source_time: Time,
        fixed_frame: str,
        timeout: Duration = _NO_TIME,
    ) -> bool | tuple[bool, str]:
        """Whether there is a transform between two times."""
        raise NotImplementedException


def Stamped(obj: Any, stamp: Any, frame_id: str) -> Any:
    """The object, with a header set."""
    obj.header = Header(frame_id=frame_id, stamp=stamp)
    return obj


class _Registry:
    """Functions by key; each subclass has its own."""

    @staticmethod
    def _find(functions: dict[Any, Callable[..., Any]], key: Any) -> Callable[..., Any]:
        if key not in functions:
            raise TypeException(f"Type {key} is not loaded or supported")
        return functions[key]


class TransformRegistration(_Registry):
    """Functions `f(object, transform) -> object` by the class of the object, shared by all buffers of the process."""

    _functions: ClassVar[dict[Any, Callable[..., Any]]] = {}

    def add(self, key: Any, callback: Callable[[Any, TransformStamped], Any]) -> None:
        """Register the function of a class."""
        self._functions[key] = callback

    def get(self, key: Any) -> Callable[[Any, TransformStamped], Any]:
        """The function of a class; TypeException where there is none."""
        return self._find(self._functions, key)


class ConvertRegistration(_Registry):
    """Functions that convert between classes, directly or over a message."""

    _to_msg: ClassVar[dict[Any, Callable[..., Any]]] = {}
    _from_msg: ClassVar[dict[Any, Callable[..., Any]]] = {}
    _convert: ClassVar[dict[Any, Callable[..., Any]]] = {}

    def add_from_msg(self, key: Any, callback: Callable[[Any], Any]) -> None:
        """Register what makes an object of the class from its message."""
        self._from_msg[key] = callback

    def add_to_msg(self, key: Any, callback: Callable[[Any], Any]) -> None:
        """Register what makes the message of an object of the class."""
        self._to_msg[key] = callback

    def add_convert(self, key: tuple[Any, Any], callback: Callable[[Any], Any]) -> None:
        """Register what converts objects of the first class to the second."""
        self._convert[key] = callback

    def get_from_msg(self, key: Any) -> Callable[[Any], Any]:
        """What was registered by `add_from_msg`; TypeException where nothing was."""
        return self._find(self._from_msg, key)

    def get_to_msg(self, key: Any) -> Callable[[Any], Any]:
        """What was registered by `add_to_msg`; TypeException where nothing was."""
        return self._find(self._to_msg, key)

    def get_convert(self, key: tuple[Any, Any]) -> Callable[[Any], Any]:
        """What was registered by `add_convert`; TypeException where nothing was."""
        return self._find(self._convert, key)


def convert(a: Any, b_type: Any) -> Any:
    """The object as another class, by a registered function; a copy where it has the class already."""
    registration = ConvertRegistration()
    try:
        return registration.get_convert((type(a), b_type))(a)
    except TypeException:
        if type(a) is b_type:
            return deepcopy(a)
        return registration.get_from_msg(b_type)(registration.get_to_msg(type(a))(a))
