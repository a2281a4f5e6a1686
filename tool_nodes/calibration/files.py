"""The file that a calibration is kept in: YAML for people, with a hash that an edited file does not have."""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from annotated_types import Interval

from toolhand.tool_nodes import plain_yaml
from toolhand.tool_nodes.calibration.charuco import CharucoBoard, parse_board
from toolhand.tool_nodes.calibration.solving import HandEye
from toolhand.tool_nodes.calibration.viewpoints import CameraPlace
from toolhand.tool_nodes.camera_names import OPTICAL_FRAMES, SCENE_LINK, WRIST_LINK
from toolhand.tool_nodes.files import KIB, why, write_whole
from toolhand.tool_nodes.geometry import matrix_from_quat_wxyz, pose, quat_wxyz_from_matrix
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.records import As, Rule, read_yaml
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.types import FloatArray

_LIMIT = 64 * KIB
"""Longest file [bytes]; one has a thousand."""
_LIMITS = plain_yaml.YamlLimits(size=_LIMIT, depth=4, nodes=400)
OLD_DAYS = 180
"""An older calibration is called old [days]: mounts loosen, and half a year is a usual interval of service."""
_FURTHEST_M = 10.0
"""No camera is further from what carries it [m]."""
_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,4096}")
"""A robot's name or folder, in any alphabet: for sentences, the robot is known by its description."""
_FRAME = re.compile(r"[^\W\d][^\s\x00-\x1f\x7f]{0,99}")
"""A frame of tf2."""
_HEAD = "# Where a camera is, made by toolhand calibrate. An edited file is refused: make a new one.\n"


_Name = Annotated[str, Rule("a name of 1 to 4096 printable characters", lambda text: bool(_NAME.fullmatch(text)))]
_Frame = Annotated[str, Rule("a frame of tf2", lambda text: bool(_FRAME.fullmatch(text)))]
_Share = Annotated[float, Interval(ge=-1.0, le=1.0)]
_Metres = Annotated[float, Interval(ge=-_FURTHEST_M, le=_FURTHEST_M)]
_Degrees = Annotated[float, Interval(ge=0.0, le=90.0)]
_Pixels = Annotated[float, Interval(ge=-20_000.0, le=50_000.0)]
_Side = Annotated[int, Interval(ge=16, le=20_000)]


@dataclass(frozen=True, eq=False, kw_only=True)
class CameraCalibration:
    """Where a camera is; the fields are the keys of a file.

    Attributes:
        robot: Name of the robot.
        description: Hash of the robot's URDF.
        camera: Which camera.
        parent: Frame that carries it: the tip frame at the wrist, else the base frame.
        link: Frame of the camera's body, which is published.
        frame: Its optical frame.
        position_m, quat_wxyz: Pose of the optical frame in the parent.
        sd_mm, sd_deg: Standard deviations of position [mm] and rotation [degrees].
        date: Day on which it was made.
        board: The board.
        poses: Number of poses.
        rms_px: Root mean square of the corners' residuals [px].
        joint_sd_deg: Standard deviation of the joints' errors [degrees].
        intrinsics_px: fx, fy, cx, cy [px].
        size_px: (width, height) of the images [px].
    """

    robot: _Name
    description: Annotated[str, Rule("16 digits", lambda text: bool(re.fullmatch("[0-9a-f]{16}", text)))]
    camera: CameraPlace
    parent: _Frame
    link: _Frame
    frame: _Frame
    position_m: tuple[_Metres, _Metres, _Metres]
    quat_wxyz: Annotated[
        tuple[_Share, _Share, _Share, _Share],
        Rule("a unit quaternion", lambda quat: abs(math.hypot(*quat) - 1.0) < 1e-6),
    ]
    sd_mm: Annotated[float, Interval(ge=0.0, le=100.0)]
    sd_deg: _Degrees
    date: Annotated[datetime.date, As("a day such as 2026-05-31", lambda text: datetime.date.fromisoformat(str(text)))]
    board: Annotated[CharucoBoard, As("a board such as 7x5:35", lambda text: parse_board(str(text)))]
    poses: Annotated[int, Interval(ge=1, le=10_000)]
    rms_px: Annotated[float, Interval(ge=0.0, le=1000.0)]
    joint_sd_deg: _Degrees
    intrinsics_px: tuple[_Pixels, _Pixels, _Pixels, _Pixels]
    size_px: tuple[_Side, _Side]

    @cached_property
    def T(self) -> FloatArray:
        """(4, 4) pose of the optical frame in the parent."""
        return pose(matrix_from_quat_wxyz(self.quat_wxyz), self.position_m)

    def age_days(self, today: datetime.date) -> int:
        """Days since it was made."""
        return (today - self.date).days

    def require_robot(self, robot: RobotModel) -> None:
        """Raises ToolError INVALID_ARGUMENT where it was made with another description, whatever the name."""
        hint = "Calibrate with this robot: toolhand calibrate run"
        if self.description != description_hash(robot):
            raise invalid(
                f"The calibration is of the robot {self.robot}, but this one is {robot.name}, or another description "
                "(URDF) of it.",
                hint,
            )


@dataclass(frozen=True)
class FrameNames:
    """Names of frames in ROS 2.

    Attributes:
        base: The base of the robot.
        link: The camera's body, which its driver hangs the optical frame on.
        optical: The camera's optical frame.
    """

    base: str
    link: str
    optical: str


USUAL_FRAMES: Mapping[CameraPlace, FrameNames] = {
    "wrist": FrameNames("base_link", WRIST_LINK, OPTICAL_FRAMES["wrist"]),
    "scene": FrameNames("base_link", SCENE_LINK, OPTICAL_FRAMES["scene"]),
}
"""Those of the default robot and of the usual drivers."""


def description_hash(robot: RobotModel) -> str:
    """What the URDF of a robot is known by."""
    return hashlib.sha256(robot.urdf_text().encode()).hexdigest()[:16]


def calibration_of(
    found: HandEye,
    robot: RobotModel,
    camera: CameraPlace,
    frames: FrameNames | None,
    board: CharucoBoard,
    K: FloatArray,
    size: tuple[int, int],
    date: datetime.date,
) -> CameraCalibration:
    """What is kept of a result; the usual names of frames where None are given."""
    frames = frames or USUAL_FRAMES[camera]
    position, rotation = found.sd
    (px, py, pz), (w, x, y, z) = found.X[:3, 3].tolist(), quat_wxyz_from_matrix(found.X[:3, :3]).tolist()
    return CameraCalibration(
        robot=robot.name,
        description=description_hash(robot),
        camera=camera,
        parent=robot.tip_frame if found.on_hand else frames.base,
        link=frames.link,
        frame=frames.optical,
        position_m=(px, py, pz),
        quat_wxyz=(w, x, y, z),
        sd_mm=1000.0 * position,
        sd_deg=float(np.degrees(rotation)),
        date=date,
        board=board,
        poses=found.poses,
        rms_px=found.rms_px,
        joint_sd_deg=float(np.degrees(found.joint_sd)),
        intrinsics_px=(float(K[0, 0]), float(K[1, 1]), float(K[0, 2]), float(K[1, 2])),
        size_px=size,
    )


def dated(made: CameraCalibration, today: datetime.date) -> str:
    """What a calibration is of, its age and its deviations, as the end of a sentence."""
    old = f", more than {OLD_DAYS} days ago: calibrate anew" if made.age_days(today) > OLD_DAYS else ""
    return (
        f"the {made.camera} camera of {made.robot}, made on {made.date}{old}; {made.sd_mm:.2f} mm and "
        f"{made.sd_deg:.3f} degrees from {made.poses} poses"
    )


def calibration_yaml(made: CameraCalibration) -> str:
    """The text of a file."""
    lines = _lines(made)
    return _HEAD + "".join(f"{line}\n" for line in lines) + f"sha256: {_hash(lines)}\n"


def write_calibration(path: Path, made: CameraCalibration) -> None:
    """Write a file, whole or not at all. Raises ToolError INVALID_ARGUMENT where it cannot be written."""
    try:
        write_whole(path, calibration_yaml(made).encode(), durable=True)
    except OSError as error:
        raise invalid(f"The calibration cannot be written to {path}: {why(error)}.") from error


def read_calibration_file(path: Path) -> CameraCalibration:
    """The calibration in a file.

    Raises:
        ToolError: INVALID_ARGUMENT for a file that cannot be read, lacks something, holds what is no number or no
            pose, or was changed after it was made.
    """
    try:
        made = read_yaml(_File, path, _LIMITS)
    except ToolError as error:
        message = f"The calibration {path} cannot be used: {error.message}"
        raise invalid(message, "Make it anew: toolhand calibrate run") from None
    if made.sha256 != _hash(_lines(made)):
        raise invalid(
            f"The calibration {path} was changed after it was made: its hash does not fit.",
            "Calibrate anew instead of editing the file.",
        )
    return made


def _lines(made: CameraCalibration) -> list[str]:
    """The lines but the hash, with numbers to fixed places."""
    return [
        "calibration: 1",
        f"robot: {_scalar(made.robot)}",
        f'description: "{made.description}"',
        f"camera: {made.camera}",
        f"parent: {_scalar(made.parent)}",
        f"link: {_scalar(made.link)}",
        f"frame: {_scalar(made.frame)}",
        f"position_m: [{', '.join(f'{value:.7f}' for value in made.position_m)}]",
        f"quat_wxyz: [{', '.join(f'{value:.9f}' for value in made.quat_wxyz)}]",
        f"sd_mm: {made.sd_mm:.4f}",
        f"sd_deg: {made.sd_deg:.5f}",
        f'date: "{made.date.isoformat()}"',
        f'board: "{made.board}"',
        f"poses: {made.poses}",
        f"rms_px: {made.rms_px:.4f}",
        f"joint_sd_deg: {made.joint_sd_deg:.5f}",
        f"intrinsics_px: [{', '.join(f'{value:.4f}' for value in made.intrinsics_px)}]",
        f"size_px: [{made.size_px[0]}, {made.size_px[1]}]",
    ]


def _scalar(name: str) -> str:
    """A name as YAML: in quotes only where it would be read as something else without them."""
    try:
        plain = plain_yaml.load(f"name: {name}") == {"name": name}
    except plain_yaml.PlainYamlError:
        plain = False
    return name if plain else json.dumps(name, ensure_ascii=False)


def _hash(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@dataclass(frozen=True, eq=False, kw_only=True)
class _File(CameraCalibration):
    calibration: Literal[1]
    sha256: str = ""
