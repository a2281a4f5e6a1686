"""Poses that a calibration is taken from: where board and camera are about, and where the hand has to go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.calibration.charuco import CharucoBoard
from toolhand.tool_nodes.geometry import invert, look_at, pose, rotation_z
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.motion.robot_spec import compile_spec, load_robot_spec
from toolhand.tool_nodes.types import Box, CollisionScene, FloatArray

CameraPlace = Literal["wrist", "scene"]
"""The camera that the arm carries, with the board on the table; or the one that stands, with the board in the hand."""

_TILTS = np.radians([0.0, 32.0, 24.0, 32.0, 16.0])
"""Tilts of the board against the camera [rad], taken in turn: the more, the better the rotation is known; beyond 35
degrees corners are found less well, and corners of one side leave the focus."""
_GOLDEN = np.radians(137.50776)
"""From one pose to the next the direction of the tilt goes on by this [rad]: any number of them is spread evenly."""
_ROLLS = np.radians([0.0, 60.0, -60.0, 120.0, -120.0, 180.0])
"""Turns about the camera's axis [rad], taken in turn: the position is known the better the more they differ."""
_OTHER_ROLLS = np.radians([0.0, 25.0, -25.0, 50.0, -50.0])
"""Where a pose cannot be reached, the same view turned by these is [rad]."""
_SHARES: Mapping[CameraPlace, tuple[float, ...]] = {"wrist": (0.62, 0.78, 0.55), "scene": (0.40, 0.45, 0.36)}
"""Shares of the image that the board is to fill along one side [-], taken in turn. At the wrist all of it stays in
the image when it is tilted and off the middle; before the scene camera the arm holds it 0.55 to 0.7 m away."""
_OFFSETS = ((0.0, 0.0), (0.18, 0.10), (-0.18, -0.10), (-0.18, 0.10), (0.18, -0.10))
"""How far the board's middle is off the image's [shares of the distance], taken in turn."""

BOARD_AT = (0.45, 0.0)
"""Where the board lies on the table unless said otherwise, (x, y) of its middle in the base frame [m]: in the middle of
what the arm reaches from above."""
_THICK_M, _MARGIN_M = 0.004, 0.015
"""Thickness of a board and width of its margin that motions keep clear of [m]; round figures above a stiff print's."""
_HELD_M = 0.018
"""How much of the board's edge is between the fingers [m], about half the length of the pads."""


@dataclass(frozen=True)
class Arrangement:
    """Where camera and board are about.

    Attributes:
        camera: The camera that is calibrated.
        board: The board.
        X: (4, 4) the camera, about: in the tip frame at the wrist, else in the base frame.
        Z: (4, 4) the board, about: in the base frame on the table, else in the tip frame.
        thickness_m: Height of its printed side over the table that it lies on [m].
    """

    camera: CameraPlace
    board: CharucoBoard
    X: FloatArray
    Z: FloatArray
    thickness_m: float = _THICK_M

    @property
    def on_hand(self) -> bool:
        """True where the arm carries the camera."""
        return self.camera == "wrist"

    def hand(self, T_camera_board: FloatArray) -> FloatArray:
        """T_base_gripper (4, 4) that brings the board before the camera so."""
        if self.on_hand:
            return self.Z @ invert(T_camera_board) @ invert(self.X)
        return self.X @ T_camera_board @ invert(self.Z)

    def scene(self) -> CollisionScene:
        """What motions keep clear of: the board, where it lies or with the hand that holds it."""
        width, height = self.board.size_m
        box = Box(
            self.Z @ pose(np.eye(3), self.board.centre + np.array([0.0, 0.0, _THICK_M / 2.0])),
            np.array([width / 2.0 + _MARGIN_M, height / 2.0 + _MARGIN_M, _THICK_M / 2.0]),
        )
        if self.on_hand:
            return CollisionScene(boxes=(box,), table_z=workspace.TABLE_Z)
        return CollisionScene(attached=(box,), table_z=workspace.TABLE_Z, opening_m=_THICK_M)

    def views(self, K: FloatArray, size: tuple[int, int]) -> Iterator[FloatArray]:
        """Poses (5, 4, 4) of the hand, T_base_gripper, of one view after the other, without end; any of the five will
        do, the first best.

        Args:
            K: (3, 3) intrinsics [px].
            size: (width, height) of the images [px].
        """
        k = 0
        while True:
            shares = _SHARES[self.camera]
            filled = shares[k % len(shares)] * min(size[0] / self.board.size_m[0], size[1] / self.board.size_m[1])
            distance = float(K[0, 0]) / filled
            offset = _OFFSETS[k % len(_OFFSETS)]
            middle = distance * np.array([*offset, 1.0])
            tilt, about = _TILTS[k % len(_TILTS)], k * _GOLDEN
            turn = Rotation.from_rotvec(tilt * np.array([np.cos(about), np.sin(about), 0.0])).as_matrix()
            views = []
            for more in _OTHER_ROLLS:
                R = turn @ rotation_z(float(_ROLLS[k % len(_ROLLS)] + more))
                views.append(self.hand(pose(R, middle - R @ self.board.centre)))
            yield np.array(views)
            k += 1


def usual_arrangement(
    robot: RobotModel, camera: CameraPlace, board: CharucoBoard, at: tuple[float, float] = BOARD_AT
) -> Arrangement:
    """Where camera and board are where nobody says otherwise: the board lies with its top away from the robot, or is
    held by the middle of its top edge, the printed side against the fingers' closing direction.

    Args:
        robot: The robot; of its description the wrist camera's mount.
        camera: The camera to calibrate.
        board: The board.
        at: (x, y) of the board's middle on the table, base frame [m].
    """
    if camera == "wrist":
        R = np.array([[0.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
        middle = np.array([*at, workspace.TABLE_Z + _THICK_M])
        return Arrangement(camera, board, described_mount(robot), pose(R, middle - R @ board.centre))
    R = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    low = robot.gripper.fingertip_depth(_THICK_M) - _HELD_M
    middle = np.array([-_THICK_M / 2.0, 0.0, low + board.size_m[1] / 2.0])
    X = look_at(workspace.SCENE_CAMERA_POSITION, workspace.SCENE_CAMERA_TARGET)
    return Arrangement(camera, board, X, pose(R, middle - R @ board.centre))


def described_mount(robot: RobotModel) -> FloatArray:
    """The wrist camera's pose (4, 4) in the tip frame by the robot's description."""
    model = compile_spec(load_robot_spec(robot), robot)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    tip, camera = (model.body(name).id for name in (robot.tip_frame, robot.wrist_camera_frame))
    T_tip, T_camera = (pose(data.xmat[body].reshape(3, 3), data.xpos[body]) for body in (tip, camera))
    return invert(T_tip) @ T_camera
