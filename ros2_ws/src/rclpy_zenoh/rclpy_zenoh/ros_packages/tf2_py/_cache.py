"""What is known about one frame: its parents and transforms over time. Times are in nanoseconds; 0 means the latest."""

from __future__ import annotations

import bisect
from typing import NamedTuple

from tf2_py._rigid import Rigid, interpolate
from tf2_py.exceptions import ExtrapolationException


class Sample(NamedTuple):
    """The transform of a frame to its parent at a time."""

    stamp: int
    parent: str
    transform: Rigid


def format_time(stamp: int) -> str:
    """Seconds with nine decimals, exactly."""
    sign, stamp = ("-", -stamp) if stamp < 0 else ("", stamp)
    return f"{sign}{stamp // 10**9}.{stamp % 10**9:09d}"


class TimeCache:
    """Samples of a frame that moves, for the last `max_age` nanoseconds before the newest one."""

    def __init__(self, max_age: int) -> None:
        self._max_age = max_age
        self._stamps: list[int] = []
        self._samples: list[Sample] = []

    def __len__(self) -> int:
        return len(self._samples)

    @property
    def latest(self) -> int:
        """Time of the newest sample; 0 if there is none."""
        return self._stamps[-1] if self._stamps else 0

    @property
    def oldest(self) -> int:
        """Time of the oldest sample; 0 if there is none."""
        return self._stamps[0] if self._stamps else 0

    @property
    def latest_parent(self) -> str | None:
        """Parent in the newest sample."""
        return self._samples[-1].parent if self._samples else None

    def insert(self, sample: Sample) -> bool:
        """Keep a sample; False if it is too old."""
        if self._stamps and sample.stamp < self.latest - self._max_age:
            return False
        first = bisect.bisect_left(self._stamps, sample.stamp)
        after = bisect.bisect_right(self._stamps, sample.stamp)
        if sample not in self._samples[first:after]:
            self._stamps.insert(after, sample.stamp)
            self._samples.insert(after, sample)
        expired = bisect.bisect_left(self._stamps, self.latest - self._max_age)
        del self._stamps[:expired], self._samples[:expired]
        return True

    def at(self, time: int) -> Sample:
        """The sample at a time, interpolated between its neighbours.

        Raises:
            ExtrapolationException: If the time is not within the samples.
        """
        if not self._samples:
            raise ExtrapolationException(
                f"Lookup would require extrapolation at time {format_time(time)}, without data"
            )
        if time in (0, self.latest):
            return self._samples[-1]
        if len(self._samples) == 1:
            raise ExtrapolationException(
                f"Lookup would require extrapolation at time {format_time(time)}, but only time "
                f"{format_time(self.latest)} is in the buffer"
            )
        if time > self.latest:
            raise ExtrapolationException(
                f"Lookup would require extrapolation into the future.  Requested time {format_time(time)} but the "
                f"latest data is at time {format_time(self.latest)}"
            )
        if time < self.oldest:
            raise ExtrapolationException(
                f"Lookup would require extrapolation into the past.  Requested time {format_time(time)} but the "
                f"earliest data is at time {format_time(self.oldest)}"
            )
        after = bisect.bisect_right(self._stamps, time)
        before, behind = self._samples[after - 1], self._samples[after]
        if before.parent != behind.parent:
            return before
        ratio = (time - before.stamp) / (behind.stamp - before.stamp)
        return Sample(time, before.parent, interpolate(before.transform, behind.transform, ratio))

    def clear(self) -> None:
        """Forget all samples."""
        self._stamps.clear()
        self._samples.clear()


class StaticCache:
    """The one sample of a frame that does not move; it is valid at all times."""

    latest = 0
    oldest = 0

    def __init__(self, sample: Sample) -> None:
        self._sample = sample

    def __len__(self) -> int:
        return 1

    @property
    def latest_parent(self) -> str:
        """The parent."""
        return self._sample.parent

    def insert(self, sample: Sample) -> bool:
        """Replace the sample."""
        self._sample = sample
        return True

    def at(self, time: int) -> Sample:
        """The sample."""
        return self._sample

    def clear(self) -> None:
        """Static transforms stay."""
