"""Images of a conversation, and their way back to the camera frame that they show."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from toolhand.tool_nodes.geometry import intrinsics
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import FloatArray, Frame

FrameWindow = tuple[float, float, float, float]
"""A part of a frame, (left, top, right, bottom) [px], right and bottom exclusive."""


@dataclass(frozen=True, eq=False)
class CameraView:
    """Which camera saw what an image shows, and how: what is needed to put the image into space.

    Attributes:
        camera: "scene" or "wrist".
        stamp: When it was seen [s].
        K: (3, 3) pinhole intrinsics of the image itself, a crop's or an enlarged one's too [px].
        T_base_camera: (4, 4), camera axes as in OpenCV.
    """

    camera: str
    stamp: float
    K: FloatArray
    T_base_camera: FloatArray


def view_of(frame: Frame) -> CameraView:
    """The view of a whole frame."""
    return CameraView(frame.camera, frame.stamp, np.array(frame.K, float), frame.T_base_camera)


def resized(rgb: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """An image (H, W, 3) with another size (width, height) [px], interpolated."""
    if (rgb.shape[1], rgb.shape[0]) == size:
        return rgb
    return np.asarray(Image.fromarray(rgb).resize(size, Image.Resampling.BICUBIC))


@dataclass(frozen=True, eq=False)
class SessionImage:
    """One image of a conversation. Crops, enlargements and drawings keep the link to the camera frame.

    All sizes, points, masks and boxes of an image are in its own pixels, whatever the frame's size is.

    Attributes:
        rgb: uint8 (H, W, 3), as it is shown.
        frame: The camera frame behind it; None for a foreign image.
        window: The part of the frame that it shows, as large as the image or not; None shows all of it.
        origin: The same for an image and all that is drawn over it: by that a foreign image is known again.
        shows: Name of what its colours stand for, e.g. "depth"; "" for images of objects.
    """

    rgb: NDArray[np.uint8]
    frame: Frame | None = None
    window: FrameWindow | None = None
    origin: object = None
    shows: str = ""

    def __post_init__(self) -> None:
        if self.origin is None:
            object.__setattr__(self, "origin", object())

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) [px]."""
        return self.rgb.shape[1], self.rgb.shape[0]

    @property
    def scale(self) -> tuple[float, float]:
        """Pixels of the image for one of the frame, across and down; (1, 1) for a foreign image."""
        if self.frame is None:
            return 1.0, 1.0
        left, top, right, bottom = self._window()
        return self.size[0] / (right - left), self.size[1] / (bottom - top)

    @property
    def is_whole_frame(self) -> bool:
        """True if it shows all of a camera frame, pixel by pixel."""
        return self.frame is not None and self.window is None and self.size == self.frame.size

    def require_frame(self, or_else: str = "") -> Frame:
        """The camera frame behind the image, all of it.

        Args:
            or_else: Another remedy beside another image, for the hint.

        Raises:
            ToolError: IMAGE_UNUSABLE when there is none.
        """
        if self.frame is None:
            raise ToolError(
                ErrorCode.IMAGE_UNUSABLE,
                "This picture has no link to a camera frame.",
                f"Use the image_index of a picture from robot.capture_image{or_else and f', or {or_else}'}.",
            )
        return self.frame

    @property
    def view(self) -> CameraView | None:
        """How a camera saw this part of its frame; None for a foreign image."""
        if self.frame is None:
            return None
        return CameraView(self.frame.camera, self.frame.stamp, self._seen_by(self.frame), self.frame.T_base_camera)

    def intrinsics(self, focal_px: float) -> FloatArray:
        """Pinhole intrinsics (3, 3) of the image for a focal length [px of its width].

        What a focal length leaves open is the camera's own: the principal point, which for a crop may lie outside the
        image, and how high a pixel is. Of a foreign image the middle and square pixels are all there is to assume.
        """
        if self.frame is None:
            return intrinsics(focal_px, *self.size)
        K = self._seen_by(self.frame)
        K[:2, :2] *= focal_px / K[0, 0]
        return K

    def redrawn(self, rgb: NDArray[np.uint8]) -> SessionImage:
        """The same part of the frame with other pixels; an image of another size shows something else."""
        return replace(self, rgb=rgb) if rgb.shape == self.rgb.shape else SessionImage(rgb)

    def resized(self, width: int, height: int) -> SessionImage:
        """The same part of the frame with another size [px], each at least 1."""
        if (width, height) == self.size:
            return self
        window = None if self.frame is None else self._window()
        return SessionImage(resized(self.rgb, (width, height)), self.frame, window)

    def cropped(self, left: int, top: int, right: int, bottom: int) -> SessionImage:
        """The part between left, top and right, bottom (exclusive) [px of this image], which must lie inside it."""
        width, height = self.size
        if not (0 <= left < right <= width and 0 <= top < bottom <= height):
            raise ValueError(f"({left}, {top}, {right}, {bottom}) is no part of a {width}x{height} picture")
        rgb = np.ascontiguousarray(self.rgb[top:bottom, left:right])
        if self.frame is None:
            return SessionImage(rgb)
        x, y, _, _ = self._window()
        across, down = self.scale
        return SessionImage(rgb, self.frame, (x + left / across, y + top / down, x + right / across, y + bottom / down))

    def to_frame(self, points: ArrayLike) -> FloatArray:
        """Normalized points (N, 2) of this image as normalized points of the frame."""
        left, top, right, bottom = self._window()
        scaled = np.asarray(points, float).reshape(-1, 2) * (right - left, bottom - top) + (left, top)
        return scaled / self.require_frame().size

    def from_frame(self, points: ArrayLike) -> FloatArray:
        """Normalized points (N, 2) of the frame as points of this image; outside [0, 1] it does not show them."""
        left, top, right, bottom = self._window()
        scaled = np.asarray(points, float).reshape(-1, 2) * self.require_frame().size - (left, top)
        return scaled / (right - left, bottom - top)

    def cut(self, array: NDArray[Any]) -> NDArray[Any]:
        """What lies under each pixel of this image in an array (H, W, ...) of the frame; nothing is interpolated."""
        left, top, right, bottom = self._window()
        columns = _under(left, right, self.size[0], array.shape[1])
        rows = _under(top, bottom, self.size[1], array.shape[0])
        if isinstance(columns, slice) and isinstance(rows, slice):
            return array[rows, columns]
        return array[rows][:, columns]

    def _seen_by(self, frame: Frame) -> FloatArray:
        """Intrinsics (3, 3) of the image [px]; coordinates are those of pixels' middles, so it begins at -0.5."""
        left, top, _, _ = self._window()
        scale = np.array(self.scale)
        K = np.array(frame.K, float)
        K[:2, 2] -= left, top
        K[:2] *= scale[:, None]
        K[:2, 2] += (scale - 1.0) / 2.0
        return K

    def _window(self) -> FrameWindow:
        return self.window or (0, 0, *self.require_frame().size)


def _under(low: float, high: float, count: int, length: int) -> slice | NDArray[np.intp]:
    """Which of a frame's `length` rows or columns lie under `count` pixels that show those from low to high."""
    if high - low == count and low == int(low):
        return slice(int(low), int(high))
    # A middle of a pixel that falls between two of the frame's belongs to the later one, however it was rounded.
    middles = low + (np.arange(count) + 0.5) * (high - low) / count
    return np.clip(np.floor(middles + 1e-9).astype(np.intp), 0, length - 1)


class PackedImage(SessionImage):
    """An image that is too old to be used: only its pixels are kept, packed without loss, for reports and recordings.

    Its link to the camera frame is gone, and no call may name it.

    Args:
        image: Image to keep.
    """

    def __init__(self, image: SessionImage) -> None:
        # A frozen dataclass sets its fields so; frame and window keep their defaults, and `rgb` is no field here.
        object.__setattr__(self, "shape", image.rgb.shape)
        object.__setattr__(self, "packed", zlib.compress(np.ascontiguousarray(image.rgb).data, 1))

    shape: tuple[int, int, int]
    packed: bytes

    @property
    def rgb(self) -> NDArray[np.uint8]:
        """uint8 (H, W, 3), unpacked each time."""
        return np.frombuffer(zlib.decompress(self.packed), np.uint8).reshape(self.shape)
