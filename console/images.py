"""Images of the cameras as JPEG over plain HTTP, subscribed to only while a page asks for them.

A page asks for the next image as soon as it has the last one; a camera that nobody has asked for a while is let go.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from fastapi import FastAPI
from fastapi.responses import Response
from numpy.typing import NDArray
from PIL import Image

from toolhand.console.approving import Approvals
from toolhand.console.layers import LAYERS, layer_image
from toolhand.console.robot import CameraImage, Close, MotionMark, Robot
from toolhand.tool_nodes.camera_names import OPTICAL_FRAMES
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.types import Frame

LEASE_S = 3.0
"""A camera that no page has asked for in this time is listened to no more [s]: longer than a page needs between two
images on a slow line, and no longer than an operator may be silent."""

WAIT_S = 5.0
"""Longest wait for an image that a page has not seen [s]; then the page asks again."""

MOST_SENT = 60
"""Images that were sent and are kept for points in them [-]: 6 s of a page at 10 Hz, 2 MB; a page that shows an older
one shows it grey."""

QUALITY = 85
"""Quality of JPEG [-]: 30 kB for 640 x 480."""

MOST_SIDE = 1920
"""Longer side of an image that is sent [px]; images with more are made smaller."""


def jpeg(rgb: NDArray[np.uint8]) -> bytes:
    """An image (H, W, 3) as JPEG, no side longer than MOST_SIDE."""
    image = Image.fromarray(rgb)
    image.thumbnail((MOST_SIDE, MOST_SIDE))
    out = io.BytesIO()
    image.save(out, "jpeg", quality=QUALITY)
    return out.getvalue()


@dataclass
class _Feed:
    """A camera that is listened to."""

    asked_s: float
    close: Close | None = None
    newest: CameraImage | None = None
    encoded: tuple[CameraImage | None, bytes] = (None, b"")
    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: set[asyncio.Future[None]] = field(default_factory=set)


class ImageFeeds:
    """The newest image of each camera, and what is marked in it, while somebody looks. May be used from any thread.

    Args:
        robot: Has the cameras.
        clock: Monotonic time [s], that of `CameraImage.received_s`.
    """

    def __init__(self, robot: Robot, clock: Callable[[], float] = time.monotonic) -> None:
        self._robot = robot
        self._clock = clock
        self._lock = threading.RLock()
        self._feeds: dict[str, _Feed] = {}
        self._sent: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._marks: tuple[MotionMark, ...] = ()
        self._marks_asked_s = 0.0
        self._close_marks: Close | None = None

    @property
    def open(self) -> tuple[str, ...]:
        """Cameras that are listened to."""
        with self._lock:
            return tuple(self._feeds)

    def newest(self, camera: str) -> CameraImage | None:
        """The newest image of a camera, None before the first; from now on for LEASE_S it is listened to."""
        with self._lock:
            feed = self._feeds.get(camera)
            if feed is None:
                feed = self._feeds[camera] = _Feed(self._clock())
                feed.close = self._robot.images(camera, lambda image: self._keep(feed, image))
            feed.asked_s = self._clock()
            return feed.newest

    async def newer(self, camera: str, than: str) -> CameraImage | None:
        """The newest image of a camera, once its stamp [ns] is another one; None where none has come in WAIT_S."""
        loop = asyncio.get_running_loop()
        end = loop.time() + WAIT_S
        while True:
            with self._lock:
                image = self.newest(camera)
                if image is not None and str(image.stamp_ns) != than:
                    return image
                feed, came = self._feeds[camera], loop.create_future()
                feed.waiting.add(came)
            try:
                async with asyncio.timeout_at(end):
                    await came
            except TimeoutError:
                return None
            finally:
                with self._lock:
                    feed.waiting.discard(came)

    def encoded(self, camera: str, image: CameraImage) -> bytes:
        """An image as JPEG, made once for all pages."""
        feed = self._feeds.get(camera)
        if feed is None:
            return self._keep_sent(camera, image.stamp_ns, jpeg(image.rgb))
        with feed.lock:
            if feed.encoded[0] is not image:
                feed.encoded = image, self._keep_sent(camera, image.stamp_ns, jpeg(image.rgb))
            return feed.encoded[1]

    def sent(self, camera: str, stamp_ns: int) -> bytes:
        """An image that a page was sent, or that lay below the layer that it was sent, as JPEG; empty where it is not
        kept any more."""
        with self._lock:
            return self._sent.get((camera, stamp_ns), b"")

    def keep_frame(self, frame: Frame, camera: str) -> int:
        """Keep what lies below a layer, and give the stamp that it is sent with [ns]."""
        stamp_ns = round(frame.stamp * 1e9)
        self._keep_sent(camera, stamp_ns, jpeg(frame.rgb))
        return stamp_ns

    def _keep_sent(self, camera: str, stamp_ns: int, data: bytes) -> bytes:
        with self._lock:
            self._sent[camera, stamp_ns] = data
            while len(self._sent) > MOST_SENT:
                self._sent.popitem(last=False)
        return data

    def marks(self) -> tuple[MotionMark, ...]:
        """What the motion that is planned is about; from now on for LEASE_S it is listened to."""
        with self._lock:
            self._marks_asked_s = self._clock()
            if self._close_marks is None:
                self._close_marks = self._robot.marks(self._hear_marks)
            return self._marks

    def _hear_marks(self, marks: tuple[MotionMark, ...]) -> None:
        self._marks = marks

    def let_go(self) -> None:
        """Listen no more to what nobody has asked for."""
        with self._lock:
            if self._close_marks is not None and self._clock() - self._marks_asked_s > LEASE_S:
                close, self._close_marks, self._marks = self._close_marks, None, ()
                close()
            over = [
                name
                for name, feed in self._feeds.items()
                if not feed.waiting and self._clock() - feed.asked_s > LEASE_S
            ]
            ended = [self._feeds.pop(name) for name in over]
        for feed in ended:
            if feed.close is not None:
                feed.close()

    def _keep(self, feed: _Feed, image: CameraImage) -> None:
        with self._lock:
            feed.newest = image
            waiting, feed.waiting = feed.waiting, set()
        for came in waiting:
            with contextlib.suppress(RuntimeError):  # the loop is closed: the pages end
                came.get_loop().call_soon_threadsafe(_end, came)


def _end(came: asyncio.Future[None]) -> None:
    if not came.done():
        came.set_result(None)


def add_image_routes(app: FastAPI, feeds: ImageFeeds, robot: Robot, approvals: Approvals) -> None:
    """Add the routes: images of cameras with or without a layer, and the image of the motion that waits.

    Args:
        app: Gets them.
        feeds: The cameras.
        robot: Takes the frames that layers are drawn over.
        approvals: Has the motion that waits.
    """
    drawn: dict[tuple[str, tuple[str, ...]], asyncio.Task[Response]] = {}

    @app.get("/pictures/motion.jpg")
    async def motion_image(hash: str = "") -> Response:
        motion = approvals.card.motion
        if motion is None or motion.request.image is None or motion.request.hash != hash:
            return Response(status_code=404)
        return _jpeg_response(await asyncio.to_thread(jpeg, motion.request.image), motion.request.image)

    @app.get("/pictures/{camera}.jpg")
    async def camera_image(camera: str, after: str = "", layers: str = "") -> Response:
        asked = layers.split(",") if layers else []
        if camera not in OPTICAL_FRAMES or not LAYERS.keys() >= set(asked):
            return Response(status_code=404)
        if asked:
            key = camera, tuple(layer for layer in LAYERS if layer in asked)
            asyncio.get_running_loop().call_later(LEASE_S + 1.0, feeds.let_go)
            task = drawn.get(key)
            if task is None or task.done():
                task = drawn[key] = asyncio.create_task(_layered(robot, feeds, *key))
            return await asyncio.shield(task)
        image = await feeds.newer(camera, after)
        asyncio.get_running_loop().call_later(LEASE_S + 1.0, feeds.let_go)
        if image is None:
            return Response(status_code=204)
        data = await asyncio.to_thread(feeds.encoded, camera, image)
        age = max(0.0, time.monotonic() - image.received_s)
        return _jpeg_response(data, image.rgb, str(image.stamp_ns), age)


async def _layered(robot: Robot, feeds: ImageFeeds, camera: str, layers: tuple[str, ...]) -> Response:
    """An image that is taken now, with layers drawn over it; several pages that ask at once share it."""
    marks = feeds.marks()
    try:
        frame = await asyncio.to_thread(robot.frame, camera)
        rgb = await asyncio.to_thread(layer_image, frame, layers, marks)
        stamp_ns = await asyncio.to_thread(feeds.keep_frame, frame, camera)
        response = _jpeg_response(await asyncio.to_thread(jpeg, rgb), rgb, str(stamp_ns))
        response.headers["X-Marks"] = str(len(marks))
        return response
    except ToolError as error:
        return Response(str(error), status_code=503, media_type="text/plain")


def _jpeg_response(data: bytes, rgb: NDArray[np.uint8], stamp: str = "", age_s: float = 0.0) -> Response:
    height, width = rgb.shape[:2]
    headers = {
        "Cache-Control": "no-store",
        "X-Stamp": stamp,
        "X-Age": f"{age_s:.3f}",
        "X-Size": f"{width}x{height}",
    }
    return Response(data, media_type="image/jpeg", headers=headers)
