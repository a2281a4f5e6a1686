"""Which colour image, depth image and calibration make one image."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from sensor_msgs.msg import CameraInfo, Image

from toolhand.tool_nodes.camera_names import CameraTopics
from toolhand.tool_nodes.ros.arm_trace import STILL_RAD
from toolhand.tool_nodes.ros.messages import nanoseconds

KINDS = tuple(entry.name for entry in fields(CameraTopics))
"""What a message of a camera can be: "image", "camera_info" or "depth"."""

_KEPT = 8
"""Messages of each kind that are remembered."""


@dataclass(frozen=True)
class MatchedMessages:
    """Messages that belong together."""

    image: Image
    camera_info: CameraInfo
    depth: Image


class ImageMatching:
    """Collects the messages for one request.

    Image and depth are of the same moment, or of moments between which the arm did not move and that are at most the
    tolerance apart; of several pairs the closest. Neither is older than the object. The calibration is that of the
    image's moment; where the driver gives none, because it is latched or slow, the newest for images of that size.

    Args:
        now_ns: The clock that the stamps are of [ns].
        tolerance_ns: How far image and depth may be apart [ns].
        arm_turned: How far a joint turned from one stamp to another [rad], None while that is not known.
        latched: A calibration that came before.
    """

    def __init__(
        self,
        now_ns: Callable[[], int],
        tolerance_ns: int,
        arm_turned: Callable[[int, int], float | None],
        latched: CameraInfo | None = None,
    ) -> None:
        self._now_ns = now_ns
        self._tolerance_ns = tolerance_ns
        self._arm_turned = arm_turned
        self._wanted_ns = now_ns()
        self._newest: dict[str, int] = {}
        self._kept: dict[str, dict[int, Any]] = {kind: {} for kind in KINDS}
        self._complete: MatchedMessages | None = None
        self._closest_ns: int | None = None
        self._arm_moved = ""
        self._changed = threading.Condition()
        if latched is not None:
            self.add("camera_info", latched)

    def add(self, kind: str, message: Any) -> None:
        """Take one message of a kind of `KINDS`."""
        stamp_ns = nanoseconds(message.header.stamp)
        with self._changed:
            self._newest[kind] = max(stamp_ns, self._newest.get(kind, stamp_ns))
            # A simulator that begins again sets its clock back; what was wanted lies in its future then.
            self._wanted_ns = min(self._wanted_ns, self._now_ns())
            if kind != "camera_info" and stamp_ns < self._wanted_ns:
                return
            kept = self._kept[kind]
            kept.pop(stamp_ns, None)
            kept[stamp_ns] = message
            while len(kept) > _KEPT:
                kept.pop(next(iter(kept)))
            self._look(last_chance=False)

    def look_again(self) -> None:
        """The arm's positions are better known now."""
        with self._changed:
            self._look(last_chance=False)

    def wait(self, end: float, last_chance: bool = True) -> MatchedMessages:
        """The image, as soon as it is complete; at the last chance the best there is by then.

        Raises:
            TimeoutError: There is none at `end` (monotonic) [s].
        """
        with self._changed:
            complete = self._changed.wait_for(lambda: self._complete is not None, max(0.0, end - time.monotonic()))
            if last_chance and not complete:
                self._look(last_chance=True)
            if self._complete is None:
                raise TimeoutError
            return self._complete

    def silent(self) -> list[str]:
        """The kinds of which nothing came."""
        with self._changed:
            return [kind for kind in KINDS if kind not in self._newest]

    def outdated(self) -> list[str]:
        """The kinds of which nothing came, or only images older than the object, which were on their way before."""
        with self._changed:
            return [kind for kind in KINDS if not self._kept[kind]]

    def behind(self) -> tuple[str, float]:
        """The slower image topic, and how much older than the object its newest message is [s]."""
        with self._changed:
            slower = min(("image", "depth"), key=lambda kind: self._newest[kind])
            return slower, (self._wanted_ns - self._newest[slower]) / 1e9

    @property
    def rejected(self) -> str:
        """Why the images and depth images that came were no image, as part of a sentence."""
        with self._changed:
            if self._arm_moved:
                return self._arm_moved
            closest = "" if self._closest_ns is None else f"; the closest were {_ms(self._closest_ns)} apart"
            return f"image and depth never had the same stamp to within {_ms(self._tolerance_ns)}{closest}"

    def _look(self, last_chance: bool) -> None:
        """Find the closest messages that belong together; at the last chance without waiting for closer ones."""
        if self._complete is not None:
            return
        self._arm_moved = ""
        for image, depth in self._neighbours():
            apart = abs(image - depth)
            self._closest_ns = apart if self._closest_ns is None else min(apart, self._closest_ns)
            if apart > self._tolerance_ns:
                return
            if apart and not (last_chance or self._nothing_closer_comes(image, depth)):
                continue
            if apart and not self._arm_was_still(image, depth):
                continue
            camera_info = self._calibration_of(self._kept["image"][image], last_chance)
            if camera_info is None:
                continue
            self._complete = MatchedMessages(self._kept["image"][image], camera_info, self._kept["depth"][depth])
            self._changed.notify_all()
            return

    def _neighbours(self) -> list[tuple[int, int]]:
        """Stamps of images and depth images that are each other's nearest [ns], the closest first."""
        images, depths = self._kept["image"], self._kept["depth"]
        pairs = []
        for image in images:
            depth = min(depths, key=lambda stamp: abs(stamp - image), default=None)
            if depth is not None and abs(image - depth) == min(abs(stamp - depth) for stamp in images):
                pairs.append((image, depth))
        return sorted(pairs, key=lambda pair: abs(pair[0] - pair[1]))

    def _nothing_closer_comes(self, image_ns: int, depth_ns: int) -> bool:
        """True once the topic of the earlier stamp has gone past the later one."""
        earlier = "image" if image_ns < depth_ns else "depth"
        return self._newest[earlier] >= max(image_ns, depth_ns)

    def _arm_was_still(self, image_ns: int, depth_ns: int) -> bool:
        begin, end = sorted((image_ns, depth_ns))
        turned = self._arm_turned(begin, end)
        if turned is not None and turned <= STILL_RAD:
            return True
        if not self._arm_moved:  # of the closest pair
            moved = f"the arm moved {turned:.3f} rad" if turned else "no joint states tell whether the arm stood still"
            self._arm_moved = f"image and depth are {_ms(end - begin)} apart, and {moved} meanwhile"
        return False

    def _calibration_of(self, image: Image, last_chance: bool) -> CameraInfo | None:
        stamp_ns = nanoseconds(image.header.stamp)
        known = self._kept["camera_info"]
        closest = min(known, key=lambda stamp: abs(stamp - stamp_ns), default=stamp_ns)
        if known and abs(closest - stamp_ns) <= self._tolerance_ns:
            return known[closest]
        # Its own may be on the way until the next image is there.
        if not known or not (last_chance or self._newest["image"] > stamp_ns):
            return None
        infos = list(known.values())
        fitting = [info for info in infos if (info.width, info.height) == (image.width, image.height)]
        return (fitting or infos)[-1]


def _ms(duration_ns: int) -> str:
    return f"{duration_ns / 1e6:.3g} ms"
