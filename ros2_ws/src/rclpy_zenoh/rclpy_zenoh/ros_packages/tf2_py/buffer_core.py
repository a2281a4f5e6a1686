"""The buffer of transforms."""

from __future__ import annotations

import math
import threading
from typing import Any

from geometry_msgs.msg import TransformStamped
from rclpy.logging import get_logger
from rclpy.time import Time

from tf2_py._cache import Sample, StaticCache, TimeCache, format_time
from tf2_py._rigid import IDENTITY, Quaternion, Rigid, normalize
from tf2_py.exceptions import (
    ConnectivityException,
    ExtrapolationException,
    InvalidArgumentException,
    LookupException,
    TransformException,
)

MAX_GRAPH_DEPTH = 1000
DEFAULT_CACHE_TIME_NS = 10 * 10**9
_NORM_TOLERANCE = 10e-3
"""Largest deviation of a squared quaternion norm from 1; inputs within it are normalised."""

_Cache = TimeCache | StaticCache
_Chain = list[tuple[str, Rigid]]
_LOG_PERIOD_SEC = 1.0
_logger = get_logger("tf2")


class BufferCore:
    """Keeps the transforms of frames to their parents, and finds those between any two frames.

    Times are rclpy.time.Time or builtin_interfaces/msg/Time; time 0 asks for the latest one that all frames on the
    way have in common. It may be used from several threads.

    Args:
        cache_time: An rclpy.duration.Duration for which transforms are kept; 10 s by default.
    """

    def __init__(self, cache_time: Any = None) -> None:
        self._cache_time_ns = DEFAULT_CACHE_TIME_NS if cache_time is None else to_nanoseconds(cache_time)
        self._lock = threading.RLock()
        self._caches: dict[str, _Cache | None] = {}  # None: a frame that is only known as a parent
        self._authorities: dict[str, str] = {}

    def clear(self) -> None:
        """Forget all transforms but the static ones."""
        with self._lock:
            for cache in self._caches.values():
                if cache is not None:
                    cache.clear()

    def set_transform(self, transform: TransformStamped, authority: str) -> None:
        """Add a transform; one that is not valid is logged and ignored, as in tf2.

        Args:
            transform: Transform from `child_frame_id` to `header.frame_id`, with a unit quaternion.
            authority: Name of the publisher.
        """
        self._set(transform, authority, is_static=False)

    def set_transform_static(self, transform: TransformStamped, authority: str) -> None:
        """Add a transform that holds at all times; see `set_transform`."""
        self._set(transform, authority, is_static=True)

    def _set(self, message: TransformStamped, authority: str, *, is_static: bool) -> None:
        parent = message.header.frame_id.removeprefix("/")
        child = message.child_frame_id.removeprefix("/")
        q, t = message.transform.rotation, message.transform.translation
        rotation, translation = (q.x, q.y, q.z, q.w), (t.x, t.y, t.z)
        if reason := _refusal(parent, child, rotation, translation):
            _logger.error(
                f'Ignoring transform for child_frame_id "{child}" from authority "{authority}": {reason}.',
                throttle_duration_sec=_LOG_PERIOD_SEC,
            )
            return
        stamp = to_nanoseconds(message.header.stamp)
        sample = Sample(stamp, parent, Rigid(_unit(rotation), translation))
        with self._lock:
            cache = self._caches.get(child)
            if cache is None or isinstance(cache, StaticCache) != is_static:
                cache = StaticCache(sample) if is_static else TimeCache(self._cache_time_ns)
                self._caches[child] = cache
            self._caches.setdefault(parent, None)
            if cache.insert(sample):
                self._authorities[child] = authority
                return
        _logger.warning(
            f"TF_OLD_DATA ignoring data from the past for frame {child} at time {format_time(stamp)} according to "
            f"authority {authority}",
            throttle_duration_sec=_LOG_PERIOD_SEC,
        )

    def lookup_transform_core(self, target_frame: str, source_frame: str, time: Any) -> TransformStamped:
        """The transform that turns coordinates of the source frame into those of the target frame.

        Raises:
            InvalidArgumentException: If a name is empty or begins with a slash.
            LookupException: If a frame does not exist, or there is a loop.
            ConnectivityException: If the frames are in different trees.
            ExtrapolationException: If there is no data for the time.
        """
        with self._lock:
            stamp, transform = self._lookup(target_frame, source_frame, to_nanoseconds(time))
        return _to_message(target_frame, source_frame, stamp, transform)

    def lookup_transform_full_core(
        self, target_frame: str, target_time: Any, source_frame: str, source_time: Any, fixed_frame: str
    ) -> TransformStamped:
        """The transform from the source frame at one time to the target frame at another.

        `fixed_frame` is taken not to move between the times. For errors see `lookup_transform_core`.
        """
        with self._lock:
            for name, frame in (
                ("target_frame", target_frame),
                ("source_frame", source_frame),
                ("fixed_frame", fixed_frame),
            ):
                self._require_frame(name, frame)
            _, inner = self._lookup(fixed_frame, source_frame, to_nanoseconds(source_time))
            stamp, outer = self._lookup(target_frame, fixed_frame, to_nanoseconds(target_time))
        return _to_message(target_frame, source_frame, stamp, outer @ inner)

    def can_transform_core(self, target_frame: str, source_frame: str, time: Any) -> tuple[bool, str]:
        """Whether `lookup_transform_core` would find a transform, and why not."""
        try:
            with self._lock:
                self._lookup(target_frame, source_frame, to_nanoseconds(time))
        except TransformException as error:
            return False, str(error)
        return True, ""

    def can_transform_full_core(
        self, target_frame: str, target_time: Any, source_frame: str, source_time: Any, fixed_frame: str
    ) -> tuple[bool, str]:
        """Whether `lookup_transform_full_core` would find a transform, and why not."""
        try:
            self.lookup_transform_full_core(target_frame, target_time, source_frame, source_time, fixed_frame)
        except TransformException as error:
            return False, str(error)
        return True, ""

    def get_latest_common_time(self, target_frame: str, source_frame: str) -> Time:
        """The latest rclpy.time.Time at which all frames on the way are known; 0 where they are all static.

        Raises:
            LookupException: If a frame does not exist, or there is a loop.
            ConnectivityException: If the frames are in different trees.
        """
        with self._lock:
            for frame in (target_frame, source_frame):
                if frame not in self._caches:
                    raise LookupException(f'Frame "{frame}" does not exist.')
            return Time(nanoseconds=self._latest_common_time(target_frame, source_frame))

    def all_frames_as_string(self) -> str:
        """One sentence for each frame that has a parent."""
        with self._lock:
            return "".join(
                f"Frame {frame} exists with parent {cache.latest_parent or 'NO_PARENT'}.\n"
                for frame, cache in self._caches.items()
                if cache is not None
            )

    def all_frames_as_yaml(self) -> str:
        """Parent, source, rate and times of each frame that has a parent."""
        with self._lock:
            known = [
                (frame, cache) for frame, cache in self._caches.items() if cache is not None and cache.latest_parent
            ]
            if not self._caches:
                return "[]"
            return "".join(self._frame_as_yaml(frame, cache) for frame, cache in known)

    def _frame_as_yaml(self, frame: str, cache: _Cache) -> str:
        span = cache.latest - cache.oldest
        return (
            f"{frame}: \n"
            f"  parent: '{cache.latest_parent}'\n"
            f"  broadcaster: '{self._authorities.get(frame, 'no recorded authority')}'\n"
            f"  rate: {len(cache) * 1e9 / max(span, 100_000):.3f}\n"
            f"  most_recent_transform: {format_time(cache.latest)}\n"
            f"  oldest_transform: {format_time(cache.oldest)}\n"
            f"  buffer_length: {span / 1e9:.3f}\n"
        )

    def _require_frame(self, argument: str, frame: str) -> None:
        what = f'Invalid argument "{frame}" passed to lookupTransform argument {argument} - in tf2 frame_ids cannot'
        if not frame:
            raise InvalidArgumentException(f"{what} be empty")
        if frame.startswith("/"):
            raise InvalidArgumentException(f"{what} start with a '/'")
        if frame not in self._caches:
            raise LookupException(f'"{frame}" passed to lookupTransform argument {argument} does not exist. ')

    def _lookup(self, target: str, source: str, time: int) -> tuple[int, Rigid]:
        """The time and the transform of source to target."""
        if target == source:
            cache = self._caches.get(target)
            return (cache.latest if time == 0 and cache is not None else time), IDENTITY
        self._require_frame("target_frame", target)
        self._require_frame("source_frame", source)
        time = time or self._latest_common_time(target, source)
        up, up_end = self._climb(source, time, until=target)
        if up[-1][0] == target:
            return time, up[-1][1]
        down, down_end = self._climb(target, time, until=source)
        if down[-1][0] == source:
            return time, down[-1][1].inverse()
        to_ancestor = dict(up)
        for ancestor, target_to_ancestor in down:
            if ancestor in to_ancestor:
                return time, target_to_ancestor.inverse() @ to_ancestor[ancestor]
        error = up_end or down_end
        if error is None:
            raise self._not_connected(target, source)
        raise ExtrapolationException(f"{error}, when looking up transform from frame [{source}] to frame [{target}]")

    def _climb(self, frame: str, time: int, until: str) -> tuple[_Chain, ExtrapolationException | None]:
        """The ancestors of a frame with its transform to them, and why the way ends before the root, if it does."""
        transform = IDENTITY
        chain = [(frame, transform)]
        while frame != until:
            cache = self._caches.get(frame)
            if cache is None:
                break
            try:
                sample = cache.at(time)
            except ExtrapolationException as error:
                return chain, error
            frame, transform = sample.parent, sample.transform @ transform
            chain.append((frame, transform))
            if len(chain) > MAX_GRAPH_DEPTH:
                raise self._loop()
        return chain, None

    def _latest_common_time(self, target: str, source: str) -> int:
        up = self._latest_ancestors(source, until=target)
        if up[-1][0] == target:
            return _earliest(up)
        down = self._latest_ancestors(target, until=source)
        if down[-1][0] == source:
            return _earliest(down)
        ancestors = [frame for frame, _ in up]
        for i, (frame, _) in enumerate(down):
            if frame in ancestors:
                return _earliest([*up[: ancestors.index(frame) + 1], *down[: i + 1]])
        raise self._not_connected(target, source)

    def _latest_ancestors(self, frame: str, until: str) -> list[tuple[str, int]]:
        """The ancestors of a frame by the newest data, each with the time of the step to it; 0 for static steps."""
        steps = [(frame, 0)]
        while frame != until:
            cache = self._caches.get(frame)
            if cache is None or cache.latest_parent is None:
                break
            frame, time = cache.latest_parent, cache.latest
            steps.append((frame, time))
            if len(steps) > MAX_GRAPH_DEPTH:
                raise self._loop()
        return steps

    def _not_connected(self, target: str, source: str) -> ConnectivityException:
        return ConnectivityException(
            f"Could not find a connection between '{target}' and '{source}' because they are not part of the same "
            "tree.Tf has two or more unconnected trees."
        )

    def _loop(self) -> LookupException:
        return LookupException(f"The tf tree is invalid because it contains a loop.\n{self.all_frames_as_string()}")


def to_nanoseconds(time: Any) -> int:
    """Nanoseconds of a Time, a Duration or a message of these."""
    if hasattr(time, "nanoseconds"):
        return int(time.nanoseconds)
    if hasattr(time, "sec") and hasattr(time, "nanosec"):
        return int(time.sec) * 10**9 + int(time.nanosec)
    raise TypeError("time must have sec and nanosec, or nanoseconds.")


def _unit(rotation: Quaternion) -> Quaternion:
    """The rotation as a unit quaternion; one that is as good as floats can be stays as it is."""
    return rotation if abs(sum(part * part for part in rotation) - 1) < 1e-12 else normalize(rotation)


def _earliest(steps: list[tuple[str, int]]) -> int:
    return min((time for _, time in steps if time), default=0)


def _refusal(parent: str, child: str, rotation: tuple[float, ...], translation: tuple[float, ...]) -> str:
    """Why a transform is not valid, or ""."""
    if not child:
        return "child_frame_id is empty"
    if not parent:
        return "frame_id is empty"
    if child == parent:
        return "a frame cannot be its own parent"
    if any(math.isnan(number) for number in (*rotation, *translation)):
        return f"a number is nan in the translation {translation} or the rotation {rotation}"
    if not abs(sum(part * part for part in rotation) - 1) < _NORM_TOLERANCE:
        return f"the rotation {rotation} is no unit quaternion"
    return ""


def _to_message(target: str, source: str, stamp: int, transform: Rigid) -> TransformStamped:
    message = TransformStamped(child_frame_id=source)
    message.header.frame_id = target
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    translation, rotation = message.transform.translation, message.transform.rotation
    translation.x, translation.y, translation.z = transform.translation
    rotation.x, rotation.y, rotation.z, rotation.w = transform.rotation
    return message
