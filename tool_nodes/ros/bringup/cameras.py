"""The cameras: their drivers, where they are, and their images."""

from __future__ import annotations

import datetime
import time
from pathlib import Path

from rclpy.time import Time
from sensor_msgs.msg import CameraInfo
from tf2_ros import TransformException
from toolhand_interfaces.srv import GetDepth

from toolhand.tool_nodes.calibration.files import OLD_DAYS, dated, read_calibration_file
from toolhand.tool_nodes.camera_names import names_of
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.ros.bringup.findings import problem
from toolhand.tool_nodes.ros.bringup.listening import HEARD_S, Listening
from toolhand.tool_nodes.ros.messages import BASE_FRAME, RosFrame, take_frame
from toolhand.tool_nodes.ros.status import raise_failure

_LEAST_DEPTH = 0.2
"""Share of an image that must have depth [-]: a stereo camera that sees a table leaves out a fifth to a half of it."""

_DARK, _BRIGHT = 12, 243
"""Mean brightness of a usable image lies between these, of 0 to 255: beyond them most pixels are at an end."""


def dates_of(files: str) -> str:
    """What the calibrations in files, with commas between, are of and how old, as the end of a sentence.

    Raises:
        ToolError: INVALID_ARGUMENT for a file that cannot be used; UNAVAILABLE for one that is old.
    """
    said = []
    for name in filter(None, (part.strip() for part in files.split(","))):
        made, today = read_calibration_file(Path(name)), datetime.date.today()
        if made.age_days(today) > OLD_DAYS:
            raise problem(f"A calibration is old: {dated(made, today)}.", "toolhand calibrate record")
        said.append(dated(made, today))
    return "; ".join(said) or "no calibration is given"


class CameraChecks(Listening):
    """What the cameras must be like; each check returns a sentence, or raises ToolError."""

    def cameras(self) -> str:
        """Each camera's driver publishes its calibration."""
        if not self._link.offers("/get_depth"):
            raise problem(
                "The camera node is not in the graph: nobody serves /get_depth.",
                "toolhand up kinova, and look at the log of the node camera.",
            )
        zed = str(self._parameter("camera", "zed_names"))
        for camera in ("scene", "wrist"):
            if self._parameter("camera", f"{camera}.camera") != "topics":
                continue  # the camera node has opened it itself; its images are looked at below
            names = names_of(str(self._parameter("camera", f"{camera}.driver")), zed).topics
            info, image, depth = (
                str(self._parameter("camera", f"{camera}.{name}_topic") or getattr(names, name))
                for name in ("camera_info", "image", "depth")
            )
            heard = self._hear(CameraInfo, info, beside=(image, depth))
            if heard is None:
                raise problem(
                    f"Nothing came from the {camera} camera on {info} within {HEARD_S:g} s.",
                    "Is its driver running? `ros2 topic list` shows other names, which kinova.launch.yaml takes as "
                    f"{camera}_camera_info, {camera}_image and {camera}_depth.",
                )
            self._frames[camera] = heard.header.frame_id
        return f"The cameras are there ({', '.join(self._frames.values()) or 'opened by the camera node'})."

    def transforms(self) -> str:
        """The pose of each camera in the robot's base is known."""
        end = time.monotonic() + HEARD_S
        for camera, frame in self._frames.items():
            while True:
                try:
                    self._transforms.lookup_transform(BASE_FRAME, frame, Time())
                    break
                except TransformException as error:
                    if time.monotonic() > end:
                        raise problem(
                            f"The pose of the {camera} camera is unknown: no transform from {BASE_FRAME} to {frame}.",
                            "Give kinova.launch.yaml a calibration (toolhand calibrate), or publish the transform."
                            if camera == "scene"
                            else "Look at wrist_mount in launch/kinova.launch.yaml and at robot_state_publisher.",
                        ) from error
                    time.sleep(0.05)
        dates = dates_of(str(self._parameter("camera", "calibration") or ""))
        return f"The poses of {len(self._frames)} cameras are known; {dates}."

    def images(self) -> str:
        """Each camera takes a usable image with depth."""
        said = []
        for camera in ("scene", "wrist"):
            answer = self._link.call(GetDepth, "/get_depth", GetDepth.Request(camera=camera, data_only=True))
            try:
                raise_failure(answer.status)
            except ToolError as error:
                hint = error.hint or "Look at its driver; docs/guides/camera.md says what it must publish."
                raise problem(error.message, hint) from error
            frame: RosFrame = take_frame(answer)
            bright, known = float(frame.rgb.mean()), float((frame.depth > 0.0).mean())
            if not _DARK <= bright <= _BRIGHT:
                raise problem(
                    f"The {camera} camera's picture is too {'dark' if bright < _DARK else 'bright'}: its mean is "
                    f"{bright:.0f} of 255.",
                    "Look at the light, the lens and the exposure.",
                )
            if known < _LEAST_DEPTH:
                raise problem(
                    f"Only {100 * known:.0f} % of the {camera} camera's picture has depth.",
                    "Clean the lens, and keep the camera 0.3 to 1.5 m away from the table.",
                )
            said.append(f"{camera} {frame.size[0]}x{frame.size[1]}, {100 * known:.0f} % with depth")
        return f"Pictures come: {'; '.join(said)}."
