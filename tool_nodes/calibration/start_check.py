"""The check before the first motion: kinematics, cameras and table agree, or nothing moves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from toolhand.tool_nodes.calibration.files import CameraCalibration
from toolhand.tool_nodes.calibration.table_plane import TablePlane, require_table, table_plane
from toolhand.tool_nodes.geometry import invert, rotation_angle
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.ports import Camera
from toolhand.tool_nodes.results import ErrorCode, ToolError, unavailable
from toolhand.tool_nodes.types import FloatArray, Frame

POSE_M, POSE_RAD = 0.003, np.radians(0.3)
"""By how much a frame's pose may be off the file's [m], [rad]: joints move by a few hundredths of a degree between the
image and their reading, and whoever publishes another calibration is off by more."""
OTHER_FOCAL = 0.01
"""Share by which a focal length may differ [-], as in `toolhand.tool_nodes.calibration.solving`."""


def check_calibration(
    made: CameraCalibration, robot: RobotModel, frame: Frame, q: FloatArray
) -> TablePlane | ToolError:
    """Compare an image with a calibration.

    Args:
        made: The calibration.
        robot: The robot.
        frame: An image of now, with the pose that the graph gives it.
        q: (n,) joint positions of now [rad].

    Returns:
        The table as the image has it, or why it shows none.

    Raises:
        ToolError: INVALID_ARGUMENT for a calibration of another robot; UNAVAILABLE where pose, intrinsics or table do
            not agree.
    """
    made.require_robot(robot)
    hand = Kinematics(robot).fk(q) if made.camera == "wrist" else np.eye(4)
    off = invert(hand @ made.T) @ frame.T_base_camera
    shift, turn = float(np.linalg.norm(off[:3, 3])), rotation_angle(np.eye(3), off[:3, :3])
    if shift > POSE_M or turn > POSE_RAD:
        raise unavailable(
            f"The {made.camera} camera is said to be {1000 * shift:.1f} mm and {np.degrees(turn):.2f} degrees from "
            "where its calibration and the joints have it.",
            "Who else publishes its pose? Give the calibration to the camera node alone, and check the joint states.",
        )
    scale = frame.size[0] / made.size_px[0]
    if abs(float(frame.K[0, 0]) / (scale * made.intrinsics_px[0]) - 1.0) > OTHER_FOCAL:
        raise unavailable(
            f"The {made.camera} camera has a focal length of {frame.K[0, 0]:.1f} px, but its calibration was made with "
            f"{scale * made.intrinsics_px[0]:.1f} px.",
            "Is it another camera, or one with other settings? Calibrate anew.",
        )
    try:
        plane = table_plane(frame)
    except ToolError as error:
        if error.code not in (ErrorCode.NO_DEPTH, ErrorCode.IMAGE_UNUSABLE):
            raise
        return error
    require_table(plane.height_m, plane.tilt_rad, f"the {made.camera} camera")
    return plane


class StartCheck:
    """Stands before every motion until it has passed once.

    Args:
        made: Calibrations; without any, nothing is checked.
        robot: The robot.
        cameras: Cameras by name.
        joints: Called for the joint positions (n,) of now [rad].
    """

    def __init__(
        self,
        made: Sequence[CameraCalibration],
        robot: RobotModel,
        cameras: Mapping[str, Camera],
        joints: Callable[[], FloatArray],
    ) -> None:
        for one in made:
            one.require_robot(robot)
        self._made, self._robot, self._cameras, self._joints = tuple(made), robot, cameras, joints
        self._passed = not made
        self._lock = threading.Lock()

    def require(self) -> None:
        """Check, unless it has passed before.

        Raises:
            ToolError: As `check_calibration`; UNAVAILABLE where no camera sees the table; what a camera raises.
        """
        with self._lock:
            if self._passed:
                return
            blind: list[ToolError] = []
            for one in self._made:
                frame = self._cameras[one.camera].capture()
                found = check_calibration(one, self._robot, frame, self._joints())
                if isinstance(found, ToolError):
                    blind.append(found)
            if len(blind) == len(self._made):
                raise unavailable(
                    f"Nothing moves before the calibration was checked against the table: {blind[0].message}",
                    blind[0].hint,
                )
            self._passed = True
