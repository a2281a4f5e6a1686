"""A simulated arm, camera and board whose true places are known, and the images that a calibration is given.

The truth comes from the simulator: a mount that is not where the robot's description has it, and joints that are not
where the encoders say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from toolhand.sim.camera.painted_board import BoardCamera, PaintedBoard
from toolhand.sim.camera.ray import LAMP_POSITION, CameraModel, RayCamera, camera_pose, scene_camera, wrist_camera
from toolhand.sim.camera.sensor import ideal
from toolhand.sim.scene.scenes import TABLE_RGB, Scene
from toolhand.sim.world import World
from toolhand.tool_nodes.calibration.charuco import MODULES, USUAL, CharucoBoard
from toolhand.tool_nodes.calibration.detection import BoardCorners, find_corners, pattern
from toolhand.tool_nodes.calibration.viewpoints import CameraPlace, usual_arrangement
from toolhand.tool_nodes.geometry import invert, pose, project, rotation_z, transform
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.planner import EmbeddedPlanner
from toolhand.tool_nodes.motion.robot_model import RobotModel, load_robot
from toolhand.tool_nodes.ports import Camera
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import FloatArray, Frame, PoseGoal

BLUR_PX, NOISE = 0.6, 2.0
"""Blur [px] and noise [grey levels] of the images, standard deviations."""
ENCODER_RAD = np.radians(0.02)
"""Standard deviation of what an encoder says [rad]."""
_MOUNT_M, _MOUNT_RAD = 0.004, np.radians(1.5)
"""How far the true camera and board are from where they are said to be, standard deviations of each axis [m], [rad]:
what a mount made by hand is off."""
_BOARD_M, _BOARD_RAD = 0.008, np.radians(3.0)
"""The same of the board [m], [rad], put down or gripped by eye."""
CORNER_PX = 0.05
"""Noise of corners that are computed instead of found [px]: what the found ones have in the images here."""
DEGENERATE = ("no turn", "one axis", "one pose")
"""Poses that determine nothing: the hand is shifted only, turned about one axis only, or stays where it is."""
TRIES = 60
"""Views that are tried for the poses of one calibration [-]."""


@dataclass(frozen=True)
class Taken:
    """One calibration's measurements.

    Attributes:
        joints: (n, d) as read [rad].
        seen: Corners of the n images.
        refused: Images that were taken in vain, and why.
    """

    joints: FloatArray
    seen: tuple[BoardCorners, ...]
    frames: tuple[Frame, ...]
    refused: tuple[str, ...]


class Rig:
    """A world with an arm, a camera and a board.

    Args:
        seed: Seeds the places, the noise and the planner.
        board: The board as it is said to be.
        printed: The board as it was printed.
        mirrored: The print is mirrored.
        table_m: Height of the board's table over the base [m].
        encoder_rad: Standard deviation of an encoder's error [rad].
    """

    def __init__(
        self,
        camera: CameraPlace,
        seed: int,
        board: CharucoBoard = USUAL,
        printed: CharucoBoard | None = None,
        mirrored: bool = False,
        table_m: float = 0.0,
        encoder_rad: float = ENCODER_RAD,
        robot: RobotModel | None = None,
    ) -> None:
        self.robot = robot or load_robot()
        self.rng = np.random.default_rng((seed, 35))
        self.encoder_rad = encoder_rad
        self.said = usual_arrangement(self.robot, camera, board)
        self.world = World(
            Scene(seed, (), tuple(LAMP_POSITION), (0.0,) * 3, (0.0,) * 3, TABLE_RGB[seed % 3], "calibration"),
            self.robot,
        )
        self._joints = [int(self.world.model.joint(name).qposadr[0]) for name in self.robot.arm_joints]
        self._tip = self.world.model.body(self.robot.tip_frame).id
        self.planner = EmbeddedPlanner(seed, self.robot)
        usual = wrist_camera(self.robot) if camera == "wrist" else scene_camera()
        mounted = self._off(_MOUNT_M, _MOUNT_RAD)
        mounted[2, 3] = abs(mounted[2, 3])  # a lens behind the front of its housing would see the housing
        self.model: CameraModel = replace(usual, T_base_camera=usual.T_base_camera @ mounted)
        printed = printed or board
        self._painted = PaintedBoard(pattern(printed), printed.square_m / MODULES, mirrored=mirrored)
        self.Z = self.said.Z @ self._off(_BOARD_M, _BOARD_RAD, flat=camera == "wrist")
        self.Z[2, 3] += table_m if camera == "wrist" else 0.0
        self._lifted = pose(np.eye(3), [0.0, 0.0, -table_m if camera == "scene" else 0.0])
        self.camera: Camera = BoardCamera(
            _blind(
                RayCamera(self.world.model, self.world.data, self.model, {}, sensor=ideal()),
                camera == "wrist" and bool(table_m),
            ),
            self._painted,
            self.model.K,
            lambda: camera_pose(self.world.model, self.world.data, self.model),
            self.true_board,
            BLUR_PX,
            NOISE,
            seed,
        )

    def _off(self, metres: float, radians: float, flat: bool = False) -> FloatArray:
        """A small random displacement (4, 4); a flat one stays on the table."""
        shift, turn = metres * self.rng.standard_normal(3), radians * self.rng.standard_normal(3)
        if flat:
            shift[2] = turn[0] = turn[1] = 0.0
        return pose(Rotation.from_rotvec(turn).as_matrix(), shift)

    # -- the truth -----------------------------------------------------------------------------------

    def put(self, q: FloatArray) -> None:
        """Bring the arm to joint positions (d,) [rad]."""
        self.world.data.qpos[self._joints] = q
        mujoco.mj_forward(self.world.model, self.world.data)

    def hand(self) -> FloatArray:
        """T_base_gripper (4, 4) now."""
        data = self.world.data
        return pose(data.xmat[self._tip].reshape(3, 3), data.xpos[self._tip])

    def true_board(self) -> FloatArray:
        """T_base_board (4, 4) now."""
        return self.Z if self.said.on_hand else self._lifted @ self.hand() @ self.Z

    @cached_property
    def X(self) -> FloatArray:
        """(4, 4) the camera: in the tip frame at the wrist, else in the base frame."""
        T = camera_pose(self.world.model, self.world.data, self.model)
        return invert(self.hand()) @ T if self.said.on_hand else invert(self._lifted) @ T

    # -- what is measured ----------------------------------------------------------------------------

    def take(self, n: int, tries: int = TRIES, drawn: bool = True) -> Taken:
        """Images and readings from n poses that the planner has a way to; fewer after so many tries.

        Without drawing the corners are computed, see `_computed`.
        """
        scene = self.said.scene()
        q = self.robot.named_states["Home"]
        joints: list[FloatArray] = []
        seen: list[BoardCorners] = []
        frames: list[Frame] = []
        refused: list[str] = []
        for _, goals in zip(range(tries), self.said.views(self.model.K, self.model.size), strict=False):
            if len(joints) == n:
                break
            try:
                q = self.planner.plan(q, PoseGoal(goals), scene).q[-1]
            except ToolError as error:
                if error.code is ErrorCode.INVALID_ARGUMENT:
                    raise
                continue
            self.put(q)
            if not drawn:
                seen.append(self._computed())
                joints.append(self._read(q))
                continue
            frame = self.camera.capture()
            try:
                seen.append(find_corners(frame.rgb, self.said.board))
            except ToolError as error:
                refused.append(f"{error.message} {error.hint}")
                continue
            joints.append(self._read(q))
            frames.append(frame)
        return Taken(np.array(joints).reshape(-1, self.robot.dof), tuple(seen), tuple(frames), tuple(refused))

    def _read(self, q: FloatArray) -> FloatArray:
        return q + self.encoder_rad * self.rng.standard_normal(len(q))

    def _computed(self) -> BoardCorners:
        """All corners where the true poses have them, with noise of `CORNER_PX`."""
        T = invert(camera_pose(self.world.model, self.world.data, self.model)) @ self.true_board()
        pixels = project(transform(T, self.said.board.corners), self.model.K)
        return BoardCorners(np.arange(len(pixels)), pixels + CORNER_PX * self.rng.standard_normal(pixels.shape))

    def degenerate(self, n: int, kind: str) -> Taken:
        """What is measured in poses of a kind that cannot determine the camera; the corners are computed."""
        joints: list[FloatArray] = []
        seen: list[BoardCorners] = []
        q = self.robot.named_states["Home"]
        kinematics = Kinematics(self.robot)
        while len(joints) < n:
            if not joints:  # until the first can be reached
                tilt = Rotation.from_rotvec([*self.rng.normal(0.0, 0.3, 2), 0.0]).as_matrix()
            shift = np.array([0.0, 0.0, 0.55])
            shift += self.rng.uniform(-0.05, 0.05, 3) if kind == "no turn" else 0.0
            roll = self.rng.uniform(-1.5, 1.5) if kind == "one axis" else 0.0
            R = tilt @ rotation_z(float(roll))
            goal = self.said.hand(pose(R, shift - R @ self.said.board.centre))
            found = kinematics.solve_ik(goal, q, 200)
            if found is None:
                continue
            self.put(q := found)
            joints.append(self._read(q))
            seen.append(self._computed())
        return Taken(np.array(joints), tuple(seen), (), ())


class _WithoutDepth:
    """A camera whose images have no depth, so that nothing hides what is drawn into them."""

    def __init__(self, camera: Camera) -> None:
        self._camera = camera

    def capture(self) -> Frame:
        """See ports.Camera."""
        frame = self._camera.capture()
        return replace(frame, depth=np.full_like(frame.depth, np.nan))


def _blind(camera: Camera, yes: bool) -> Camera:
    return _WithoutDepth(camera) if yes else camera
