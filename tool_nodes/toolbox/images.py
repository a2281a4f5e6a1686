"""Pictures of a conversation, and their way back to the camera frame that they show."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import FloatArray, Frame


@dataclass(frozen=True, eq=False)
class CameraView:
    """Which camera saw what a picture shows, and how: what is needed to put the picture into space.

    Attributes:
        camera: "scene" or "wrist".
        stamp: When it was seen [s].
        K: (3, 3) pinhole intrinsics of the picture itself, a crop's too [px].
        T_base_camera: (4, 4), camera axes as in OpenCV.
    """

    camera: str
    stamp: float
    K: FloatArray
    T_base_camera: FloatArray


def view_of(frame: Frame, left: int = 0, top: int = 0) -> CameraView:
    """The view of the part of a frame that begins at (left, top) [px]."""
    K = np.array(frame.K, float)
    K[:2, 2] -= left, top
    return CameraView(frame.camera, frame.stamp, K, frame.T_base_camera)


@dataclass(frozen=True, eq=False)
class SessionImage:
    """One picture of a conversation. Crops of a picture and drawings over it keep the link to the camera frame.

    Attributes:
        rgb: uint8 (H, W, 3), as it is shown.
        frame: The camera frame behind it; None for a foreign picture.
        window: The part of the frame that it shows, (left, top, right, bottom) [px], right and bottom exclusive;
            None shows all of it.
    """

    rgb: NDArray[np.uint8]
    frame: Frame | None = None
    window: tuple[int, int, int, int] | None = None

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) [px]."""
        return self.rgb.shape[1], self.rgb.shape[0]

    def require_frame(self) -> Frame:
        """The camera frame behind the picture, all of it. Raises ToolError UNAVAILABLE when there is none."""
        if self.frame is None:
            raise ToolError(
                ErrorCode.UNAVAILABLE,
                "This picture has no link to a camera frame.",
                "Use the image_index of a picture from robot.capture_image.",
            )
        return self.frame

    @property
    def view(self) -> CameraView | None:
        """How a camera saw this part of its frame; None for a foreign picture."""
        if self.frame is None:
            return None
        left, top, _, _ = self._window()
        return view_of(self.frame, left, top)

    def principal_point(self) -> tuple[float, float]:
        """(cx, cy) [px of this picture], which for a crop may lie outside it. Raises ToolError UNAVAILABLE."""
        K = self.require_frame().K
        left, top, _, _ = self._window()
        return float(K[0, 2]) - left, float(K[1, 2]) - top

    def redrawn(self, rgb: NDArray[np.uint8]) -> SessionImage:
        """The same part of the frame with other pixels; a picture of another size shows something else."""
        return replace(self, rgb=rgb) if rgb.shape == self.rgb.shape else SessionImage(rgb)

    def cropped(self, left: int, top: int, right: int, bottom: int) -> SessionImage:
        """The part between left, top and right, bottom (exclusive) [px of this picture], which must lie inside it."""
        width, height = self.size
        if not (0 <= left < right <= width and 0 <= top < bottom <= height):
            raise ValueError(f"({left}, {top}, {right}, {bottom}) is no part of a {width}x{height} picture")
        rgb = np.ascontiguousarray(self.rgb[top:bottom, left:right])
        if self.frame is None:
            return SessionImage(rgb)
        x, y, _, _ = self._window()
        return SessionImage(rgb, self.frame, (x + left, y + top, x + right, y + bottom))

    def to_frame(self, points: ArrayLike) -> FloatArray:
        """Normalized points (N, 2) of this picture as normalized points of the frame."""
        left, top, right, bottom = self._window()
        scaled = np.asarray(points, float).reshape(-1, 2) * (right - left, bottom - top) + (left, top)
        return scaled / self.require_frame().size

    def from_frame(self, points: ArrayLike) -> FloatArray:
        """Normalized points (N, 2) of the frame as points of this picture; outside [0, 1] it does not show them."""
        left, top, right, bottom = self._window()
        scaled = np.asarray(points, float).reshape(-1, 2) * self.require_frame().size - (left, top)
        return scaled / (right - left, bottom - top)

    def cut(self, array: NDArray[Any]) -> NDArray[Any]:
        """The part of an array (H, W, ...) of the frame that this picture shows."""
        left, top, right, bottom = self._window()
        return array[top:bottom, left:right]

    def _window(self) -> tuple[int, int, int, int]:
        return self.window or (0, 0, *self.require_frame().size)


class PackedPicture(SessionImage):
    """A picture that is too old to be used: only its pixels are kept, packed without loss, for reports and recordings.

    Its link to the camera frame is gone, and no call may name it.

    Args:
        picture: What to keep.
    """

    def __init__(self, picture: SessionImage) -> None:
        # A frozen dataclass sets its fields so; `rgb` is none here.
        object.__setattr__(self, "frame", None)
        object.__setattr__(self, "window", None)
        object.__setattr__(self, "shape", picture.rgb.shape)
        object.__setattr__(self, "packed", zlib.compress(np.ascontiguousarray(picture.rgb).data, 1))

    shape: tuple[int, int, int]
    packed: bytes

    @property
    def rgb(self) -> NDArray[np.uint8]:
        """uint8 (H, W, 3), unpacked each time."""
        return np.frombuffer(zlib.decompress(self.packed), np.uint8).reshape(self.shape)
