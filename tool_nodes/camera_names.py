"""Topics and frames of the cameras, as their drivers name them. Nothing else in the code names them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class CameraTopics:
    """Topics of one camera: colour (sensor_msgs/Image), its calibration, and depth in the colour image's frame."""

    image: str
    camera_info: str
    depth: str


@dataclass(frozen=True)
class CameraNames:
    """What one camera's driver calls its topics.

    Attributes:
        topics: Topics of colour, calibration and registered depth.
        depth_info: Topic of the depth image's calibration.
        optical_frame: Frame that its colour images are in.
        registered_by: Argument that the driver is started with to send registered depth.
    """

    topics: CameraTopics
    depth_info: str
    optical_frame: str
    registered_by: str


ZED: Mapping[str, CameraNames] = {
    "new": CameraNames(
        CameraTopics(
            "/zed/zed_node/rgb/color/rect/image",
            "/zed/zed_node/rgb/color/rect/camera_info",
            "/zed/zed_node/depth/depth_registered",
        ),
        "/zed/zed_node/depth/camera_info",
        "zed_left_camera_frame_optical",
        "a depth_mode other than NONE",
    ),
    "old": CameraNames(
        CameraTopics(
            "/zed/zed_node/rgb/image_rect_color",
            "/zed/zed_node/rgb/camera_info",
            "/zed/zed_node/depth/depth_registered",
        ),
        "/zed/zed_node/depth/camera_info",
        "zed_left_camera_optical_frame",
        "a depth_mode other than NONE",
    ),
}
"""The scene camera: zed-ros2-wrapper from 5.1 on, and before."""

WRIST = CameraNames(
    CameraTopics("/camera/color/image_raw", "/camera/color/camera_info", "/camera/depth_registered/image_rect"),
    "/camera/depth_registered/camera_info",
    "camera_color_frame",
    "depth_registration:=true",
)
"""The wrist camera: kinova_vision with depth_registration:=true."""

REALSENSE = CameraNames(
    CameraTopics(
        "/camera/camera/color/image_raw",
        "/camera/camera/color/camera_info",
        "/camera/camera/aligned_depth_to_color/image_raw",
    ),
    "/camera/camera/aligned_depth_to_color/camera_info",
    "camera_color_optical_frame",
    "align_depth.enable:=true",
)
"""A RealSense: realsense2_camera from 4.55 on, with its own camera_namespace and camera_name, both "camera"."""

DRIVERS = ("zed", "kinova_vision", "realsense")
"""Whose names a camera can have been given."""


def names_of(driver: str, zed_names: str = "new") -> CameraNames:
    """The names of a driver of `DRIVERS`; those of the ZED wrapper differ between its versions (a key of `ZED`)."""
    return {"zed": ZED[zed_names], "kinova_vision": WRIST, "realsense": REALSENSE}[driver]


WRIST_LINK = "camera_link"
"""The frame that kinova_vision hangs its optical frames on; the robot's tip frame carries it."""

SCENE_LINK = "zed_camera_link"
"""The frame that zed-ros2-wrapper hangs its optical frames on; the base frame carries it."""

OPTICAL_FRAMES: Mapping[str, str] = {"scene": ZED["new"].optical_frame, "wrist": WRIST.optical_frame}
"""Optical frame of each camera, where nothing else was chosen."""
