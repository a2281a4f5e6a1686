"""Frames of a camera that a library opens: as good as those of topics, with the same checks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.time import Time
from tf2_ros import Buffer

from toolhand.tool_nodes.camera_checks import BadMessage, require_metres, require_pinhole, require_usable
from toolhand.tool_nodes.camera_names import OPTICAL_FRAMES
from toolhand.tool_nodes.results import unavailable
from toolhand.tool_nodes.ros.image_checks import pose_of
from toolhand.tool_nodes.ros.messages import RosFrame, time_message
from toolhand.tool_nodes.types import FloatArray


class DeviceFrames:
    """Makes frames of what a camera's library gives.

    Args:
        transforms: Poses of the frames.
        base_frame: Frame of the robot's base.
        camera: "scene" or "wrist"; its optical frame is the one of `OPTICAL_FRAMES`.
        name: Name of the camera in sentences, e.g. "ZED".
    """

    def __init__(self, transforms: Buffer, base_frame: str, camera: str, name: str) -> None:
        self._transforms, self._base_frame, self._camera, self._name = transforms, base_frame, camera, name

    def frame(
        self, rgb: NDArray[np.uint8], depth: NDArray[np.float32], K: FloatArray, stamp_ns: int, end: float
    ) -> RosFrame:
        """The frame of one image.

        Args:
            rgb: The rectified image (H, W, 3).
            depth: Distance along its optical axis (H, W) [m], registered to the image; NaN where unknown.
            K: (3, 3) intrinsics of images of that size [px].
            stamp_ns: Time of the image [ns].
            end: When to stop waiting for its pose, on the monotonic clock [s].

        Raises:
            ToolError: UNAVAILABLE where no camera can be so, the image is black or its pose is unknown; NO_DEPTH.
        """
        frame_id = OPTICAL_FRAMES[self._camera]
        try:
            require_pinhole(f"K of the {self._name}'s calibration", K, (rgb.shape[1], rgb.shape[0]))
            require_metres(depth[np.isfinite(depth)], f"depth of the {self._name}", "it must be in metres")
            T_base_camera = self._pose(frame_id, stamp_ns, end)
        except BadMessage as error:
            raise unavailable(f"The {self._name} cannot be used: {error}") from error
        frame = RosFrame(
            rgb, depth, K, T_base_camera, stamp_ns / 1e9, self._camera, stamp_ns=stamp_ns, frame_id=frame_id
        )
        require_usable(frame, f"The {self._name}'s picture", f"the {self._name}'s picture")
        return frame

    def _pose(self, frame_id: str, stamp_ns: int, end: float) -> Any:
        return pose_of(self._transforms, self._base_frame, frame_id, Time.from_msg(time_message(stamp_ns)), end)
