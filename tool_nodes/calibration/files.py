"""The file that a calibration is kept in: YAML for people, with a hash that an edited file does not have."""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from tool_nodes import plain_yaml
from tool_nodes.calibration.charuco import CharucoBoard, parse_board
from tool_nodes.calibration.solving import HandEye
from tool_nodes.calibration.viewpoints import CameraPlace
from tool_nodes.camera_names import OPTICAL_FRAMES, SCENE_LINK, WRIST_LINK
from tool_nodes.files import KIB, read_file, why, write_whole
from tool_nodes.geometry import matrix_from_quat_wxyz, pose, quat_wxyz_from_matrix
from tool_nodes.motion.robot_model import RobotModel
from tool_nodes.results import ToolError, invalid
from tool_nodes.types import FloatArray

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


@dataclass(frozen=True, eq=False)
class CameraCalibration:
    """Where a camera is.

    Attributes:
        robot: Name of the robot.
        description: Hash of the robot's URDF.
        camera: Which camera.
        parent: Frame that carries it: the tip frame at the wrist, else the base frame.
        link: Frame of the camera's body, which is published.
        frame: Its optical frame, which `T` is the pose of.
        T: (4, 4) pose of the optical frame in the parent.
        sd_mm, sd_deg: Standard deviations of position [mm] and rotation [degrees].
        date: Day on which it was made.
        board: The board.
        poses: Number of poses.
        rms_px: Root mean square of the corners' residuals [px].
        joint_sd_deg: Standard deviation of the joints' errors [degrees].
        intrinsics: fx, fy, cx, cy [px].
        size: (width, height) of the pictures [px].
    """

    robot: str
    description: str
    camera: CameraPlace
    parent: str
    link: str
    frame: str
    T: FloatArray
    sd_mm: float
    sd_deg: float
    date: datetime.date
    board: CharucoBoard
    poses: int
    rms_px: float
    joint_sd_deg: float
    intrinsics: tuple[float, float, float, float]
    size: tuple[int, int]

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
    return CameraCalibration(
        robot=robot.name,
        description=description_hash(robot),
        camera=camera,
        parent=robot.tip_frame if found.on_hand else frames.base,
        link=frames.link,
        frame=frames.optical,
        T=found.X,
        sd_mm=1000.0 * position,
        sd_deg=float(np.degrees(rotation)),
        date=date,
        board=board,
        poses=found.poses,
        rms_px=found.rms_px,
        joint_sd_deg=float(np.degrees(found.joint_sd)),
        intrinsics=(float(K[0, 0]), float(K[1, 1]), float(K[0, 2]), float(K[1, 2])),
        size=size,
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
        found = plain_yaml.load(read_file(path, _LIMIT), _LIMITS)
    except (OSError, plain_yaml.PlainYamlError) as error:
        raise invalid(f"The calibration {path} cannot be read: {why(error)}.") from error
    if not isinstance(found, dict):
        raise _wrong(path, "it is no calibration")
    try:
        made = _Reader(path, found).calibration()
    except ToolError as error:
        raise error.with_traceback(None) from None
    if found.get("sha256") != _hash(_lines(made)):
        raise invalid(
            f"The calibration {path} was changed after it was made: its hash does not fit.",
            "Calibrate anew instead of editing the file.",
        )
    return made


def _lines(made: CameraCalibration) -> list[str]:
    """The lines but the hash, with numbers to fixed places."""
    quat = quat_wxyz_from_matrix(made.T[:3, :3])
    return [
        "calibration: 1",
        f"robot: {_scalar(made.robot)}",
        f'description: "{made.description}"',
        f"camera: {made.camera}",
        f"parent: {_scalar(made.parent)}",
        f"link: {_scalar(made.link)}",
        f"frame: {_scalar(made.frame)}",
        f"position_m: [{', '.join(f'{value:.7f}' for value in made.T[:3, 3])}]",
        f"quat_wxyz: [{', '.join(f'{value:.9f}' for value in quat)}]",
        f"sd_mm: {made.sd_mm:.4f}",
        f"sd_deg: {made.sd_deg:.5f}",
        f'date: "{made.date.isoformat()}"',
        f'board: "{made.board}"',
        f"poses: {made.poses}",
        f"rms_px: {made.rms_px:.4f}",
        f"joint_sd_deg: {made.joint_sd_deg:.5f}",
        f"intrinsics_px: [{', '.join(f'{value:.4f}' for value in made.intrinsics)}]",
        f"size_px: [{made.size[0]}, {made.size[1]}]",
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


def _wrong(path: Path, problem: str) -> ToolError:
    return invalid(f"The calibration {path} cannot be used: {problem}.", "Make it anew: toolhand calibrate run")


class _Reader:
    """Values of a file, each checked."""

    def __init__(self, path: Path, found: Mapping[str, Any]) -> None:
        self._path, self._found = path, found

    def calibration(self) -> CameraCalibration:
        """Raises ToolError."""
        if self._found.get("calibration") != 1:
            raise _wrong(self._path, "it does not begin with `calibration: 1`")
        camera = self._text("camera", re.compile("|".join(get_args(CameraPlace))))
        size = [round(side) for side in self._numbers("size_px", 2, 16.0, 20_000.0)]
        position = self._numbers("position_m", 3, -_FURTHEST_M, _FURTHEST_M)
        quat = np.array(self._numbers("quat_wxyz", 4, -1.0, 1.0))
        if abs(float(np.linalg.norm(quat)) - 1.0) > 1e-6:
            raise _wrong(self._path, "quat_wxyz is no unit quaternion")
        fx, fy, cx, cy = self._numbers("intrinsics_px", 4, -20_000.0, 50_000.0)
        try:
            date = datetime.date.fromisoformat(str(self._found.get("date")))
        except ValueError:
            raise _wrong(self._path, "date must be a day such as 2026-05-31") from None
        return CameraCalibration(
            robot=self._text("robot", _NAME),
            description=self._text("description", re.compile("[0-9a-f]{16}")),
            camera="wrist" if camera == "wrist" else "scene",
            parent=self._text("parent", _FRAME),
            link=self._text("link", _FRAME),
            frame=self._text("frame", _FRAME),
            T=pose(matrix_from_quat_wxyz(quat), position),
            sd_mm=self._number("sd_mm", 0.0, 100.0),
            sd_deg=self._number("sd_deg", 0.0, 90.0),
            date=date,
            board=parse_board(self._text("board", re.compile(".{1,40}"))),
            poses=int(self._number("poses", 1, 10_000)),
            rms_px=self._number("rms_px", 0.0, 1000.0),
            joint_sd_deg=self._number("joint_sd_deg", 0.0, 90.0),
            intrinsics=(fx, fy, cx, cy),
            size=(size[0], size[1]),
        )

    def _text(self, key: str, allowed: re.Pattern[str]) -> str:
        value = self._found.get(key)
        if not isinstance(value, str) or not allowed.fullmatch(value):
            raise _wrong(self._path, f"{key} is missing or no such name")
        return value

    def _number(self, key: str, low: float, high: float) -> float:
        return self._checked(key, self._found.get(key), low, high)

    def _numbers(self, key: str, count: int, low: float, high: float) -> list[float]:
        values = self._found.get(key)
        if not isinstance(values, list) or len(values) != count:
            raise _wrong(self._path, f"{key} must be {count} numbers")
        return [self._checked(key, value, low, high) for value in values]

    def _checked(self, key: str, value: Any, low: float, high: float) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise _wrong(self._path, f"{key} holds what is no finite number")
        if not low <= value <= high:
            raise _wrong(self._path, f"{key} must be {low:g} to {high:g}, and is {value:g}")
        return float(value)
