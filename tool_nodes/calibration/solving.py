"""From images of the board and joint positions to where the camera is; what does not agree is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from toolhand.tool_nodes.calibration.adjustment import SCALE, Adjusted, HandEyeProblem, adjust, carried_by
from toolhand.tool_nodes.calibration.board_poses import IntrinsicsCheck, board_pose, check_intrinsics
from toolhand.tool_nodes.calibration.charuco import CharucoBoard
from toolhand.tool_nodes.calibration.detection import BoardCorners
from toolhand.tool_nodes.camera_checks import BadMessage, require_pinhole
from toolhand.tool_nodes.geometry import invert, pose
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.types import FloatArray

FEWEST_POSES = 8
"""Poses that a calibration needs [-]: three determine it, and eight show which of them does not fit."""
JOINT_SD = np.radians(0.02)
"""Standard deviation of a joint's reading that is assumed at the least [rad]: two steps of a Gen3's encoders. Larger
errors are found by the adjustment itself."""

_LEAST_TURN = (np.radians(12.0), np.radians(5.0))
"""Root mean square of the angles between two poses, about the first and about the second axis, below which poses are
refused [rad]: at half of the proposed poses' least tilt the position along the axis is three times as uncertain."""
_WORST_SD = (0.002, np.radians(0.25))
"""Largest standard deviation of position [m] and rotation [rad] that is worth a file: with more, grasps miss."""
_CERTAIN = 4.0
"""A difference of this many of its standard deviations is no chance [-]: one in 16,000."""
_OTHER_FOCAL, _OTHER_CENTRE_PX, _BENT_PX = 0.01, 10.0, 2.0
"""Focal lengths that differ by this share [-], principal points and edges of the image that are this far off [px],
are another camera's, or a lens's whose images are raw; calibrations of one camera agree five times as well."""
_OTHER_SIZE = 0.01
"""Boards whose size is wrong by this share are named [-]: 2.5 mm of 245 mm, which a ruler shows."""
_ROBOT_RAD = np.radians(0.5)
"""Joint errors [rad] from which on it is not the encoders that are wrong, but which joints they belong to."""
_MISFIT, _MISFIT_RAD = 6.0, np.radians(0.15)
"""A pose whose joint errors are this many times those of the middle pose [-], and larger than this [rad], is named."""


@dataclass(frozen=True)
class HandEye:
    """Where a camera is, and how certain that is.

    Attributes:
        X: (4, 4) pose of the camera: in the tip frame where the arm carries it, else in the base frame.
        Z: (4, 4) pose of the board, in the other of the two.
        on_hand: True where the arm carries the camera.
        covariance: (6, 6) of X, in its own frame: translation [m] before rotation vector [rad].
        joint_sd: Standard deviation of the joints' errors, as stated or larger [rad].
        rms_px: Root mean square of the corners' residuals [px].
        intrinsics: Intrinsics as the images have them, and the noise of the corners.
        poses: Number of poses.
    """

    X: FloatArray
    Z: FloatArray
    on_hand: bool
    covariance: FloatArray
    joint_sd: float
    rms_px: float
    intrinsics: IntrinsicsCheck
    poses: int

    @property
    def sd(self) -> tuple[float, float]:
        """Standard deviations of position [m] and rotation [rad]: roots of the sums of three variances."""
        variances = np.diag(self.covariance)
        return float(np.sqrt(variances[:3].sum())), float(np.sqrt(variances[3:].sum()))


def check_poses(robot: RobotModel, joints: FloatArray, on_hand: bool) -> None:
    """Raises ToolError INVALID_ARGUMENT unless poses (n, d) [rad] can determine a calibration."""
    n = len(joints)
    if n < FEWEST_POSES:
        raise invalid(
            f"There are {n} poses with the board in the picture, and at least {FEWEST_POSES} are needed.", "Take more."
        )
    first, second = turns(carried_by(Kinematics(robot).fk_path(joints), on_hand))
    shown = f"{np.degrees(first):.1f} and {np.degrees(second):.1f} degrees"
    need = f"{np.degrees(_LEAST_TURN[0]):.0f} and {np.degrees(_LEAST_TURN[1]):.0f}"
    hint = "Take poses with the hand tilted by 10 to 35 degrees in several directions, and turned about its own axis."
    if first < _LEAST_TURN[0]:
        raise invalid(f"The poses hardly turn: by {shown} about two axes, and {need} are needed.", hint)
    if second < _LEAST_TURN[1]:
        raise invalid(f"The poses turn about one axis alone: by {shown} about two, and {need} are needed.", hint)


def solve(
    robot: RobotModel,
    joints: FloatArray,
    seen: Sequence[BoardCorners],
    board: CharucoBoard,
    K: FloatArray,
    size: tuple[int, int],
    on_hand: bool,
) -> HandEye:
    """The pose of the camera, after checks of everything that was given.

    Args:
        robot: Robot whose joints they are.
        joints: (n, d) joint positions as read in each pose, while the arm stood still [rad].
        seen: Corners of the n images.
        board: Board that they show.
        K: (3, 3) intrinsics of the images [px].
        size: (width, height) of the images [px].
        on_hand: True where the arm carries the camera and the board rests; False where it carries the board.

    Raises:
        ToolError: INVALID_ARGUMENT where there are too few poses or they do not turn enough, where intrinsics, size of
            the board, single poses or all joints do not agree with the images, or the result would be too uncertain.
            IMAGE_UNUSABLE for corners that fit no pose of the board.
    """
    check_poses(robot, joints, on_hand)
    try:
        require_pinhole("K of the camera", K, size)
    except BadMessage as error:
        raise invalid(str(error), "Take the camera_info of this camera, at this size.") from error
    kinematics = Kinematics(robot)
    points = board.corners
    C = []
    for number, corners in enumerate(seen, start=1):
        try:
            C.append(board_pose(corners, points, K))
        except ToolError as error:
            raise ToolError(error.code, f"Picture {number}: {error.message}", error.hint) from error
    checked = check_intrinsics(seen, C, points, K, size)
    _require_intrinsics(checked, K)
    problem = HandEyeProblem(joints, seen, points, K, on_hand, JOINT_SD, checked.noise_px)
    first = solve_closed_form(carried_by(kinematics.fk_path(joints), on_hand), np.array(C))
    _require_agreement(adjust(problem, kinematics, *first, free_scale=True), board, problem, kinematics, C)
    found = adjust(problem, kinematics, *first)
    hand_eye = HandEye(
        found.X, found.Z, on_hand, found.covariance[:6, :6], found.joint_sd, found.rms_px, checked, len(joints)
    )
    _require_certainty(hand_eye)
    return hand_eye


def _require_intrinsics(checked: IntrinsicsCheck, K: FloatArray) -> None:
    given = np.array([K[0, 0], K[1, 1], K[0, 2], K[1, 2]])
    off = np.abs(checked.values[:4] - given)
    least = np.array([*_OTHER_FOCAL * given[:2], _OTHER_CENTRE_PX, _OTHER_CENTRE_PX])
    if (other := (off > least) & (off > _CERTAIN * checked.sd[:4])).any():
        which = int(np.argmax(other))
        name = ("fx", "fy", "cx", "cy")[which]
        raise invalid(
            f"The intrinsics are another camera's: {name} is {given[which]:.1f} px, but the pictures fit "
            f"{checked.values[which]:.1f} px with a standard deviation of {checked.sd[which]:.1f} px.",
            "Take the camera_info of this camera, at the size of these pictures.",
        )
    if checked.edge_px > _BENT_PX and abs(checked.values[4]) > _CERTAIN * checked.sd[4]:
        raise invalid(
            f"The pictures are distorted: at their edge the lens moves a point by {checked.edge_px:.1f} px.",
            "Take rectified pictures, or the camera's own calibration of its lens.",
        )


def _require_agreement(
    free: Adjusted,
    board: CharucoBoard,
    problem: HandEyeProblem,
    kinematics: Kinematics,
    C: Sequence[FloatArray],
) -> None:
    """Size of the board, single poses, and the joints as a whole."""
    sizes = np.sqrt(np.mean(free.errors**2, axis=1))
    worst = int(np.argmax(sizes))
    if sizes[worst] > max(_MISFIT * float(np.median(sizes)), _MISFIT_RAD):
        raise invalid(
            f"Pose {worst + 1} does not fit the others: its joints are {np.degrees(sizes[worst]):.2f} degrees off it.",
            "Did the arm still move, or was board or camera touched? Take that pose again.",
        )
    if free.joint_sd > _ROBOT_RAD:
        raise _disagree(free, problem, kinematics, C)
    scale_sd = float(np.sqrt(free.covariance[SCALE, SCALE]))
    if abs(free.scale - 1.0) > max(_OTHER_SIZE, _CERTAIN * scale_sd):
        square = 1000.0 * board.square_m
        raise invalid(
            f"The squares of the board are not {square:g} mm wide: by the arm's motion they measure "
            f"{square * free.scale:.2f} mm, with a standard deviation of {square * scale_sd:.2f} mm.",
            "Measure them with a ruler, print at 100 % without fitting to the page, and say the size in --board.",
        )


def _disagree(free: Adjusted, problem: HandEyeProblem, kinematics: Kinematics, C: Sequence[FloatArray]) -> ToolError:
    """Joints and images do not belong together at all."""
    other = replace(problem, on_hand=not problem.on_hand)
    first = solve_closed_form(carried_by(kinematics.fk_path(problem.joints), other.on_hand), np.array(C))
    if adjust(other, kinematics, *first, free_scale=True).joint_sd < _ROBOT_RAD:
        ways = "the arm carries the camera", "the arm carries the board"
        said, true = ways if problem.on_hand else ways[::-1]
        return invalid(f"The pictures fit an arrangement in which {true}, not one in which {said}.", "Say --camera so.")
    hint = "Are they of this robot, in its order of joints, in radians, and read while the arm stood still?"
    still = float(np.abs(np.diff(problem.joints, axis=0)).max(initial=0.0))
    if still < _LEAST_TURN[1] or _shuffled(problem, C):
        hint = "Does each picture stand beside the joints of its own pose?"
    return invalid(
        f"Joints and pictures do not agree: the joints would be off by {np.degrees(free.joint_sd):.1f} degrees.", hint
    )


def _shuffled(problem: HandEyeProblem, C: Sequence[FloatArray]) -> bool:
    """True where the joints stay as they are between two images that differ, or the other way about."""
    moved = [float(np.abs(b - a).max()) > 1e-3 for a, b in pairwise(problem.joints)]
    changed = [float(np.linalg.norm((b - a)[:3, 3])) > 1e-3 for a, b in pairwise(C)]
    return moved != changed


def _require_certainty(found: HandEye) -> None:
    position, rotation = found.sd
    if not (position <= _WORST_SD[0] and rotation <= _WORST_SD[1]):
        shown = "unlimited" if not np.isfinite(position) else f"{1000 * position:.1f} mm and {np.degrees(rotation):.2f}"
        raise invalid(
            f"The poses leave the camera too uncertain: the standard deviation is {shown} degrees, and at most "
            f"{1000 * _WORST_SD[0]:g} mm and {np.degrees(_WORST_SD[1]):g} degrees are useful.",
            "Take more poses, tilted by 10 to 35 degrees in several directions, with the board large in the picture.",
        )


def turns(G: FloatArray) -> tuple[float, float]:
    """How much poses (n, 4, 4) turn against each other: root mean square of the angles between two of them, about the
    axis about which they turn most, and about the second [rad]."""
    first, second = _pairs(len(G))
    a = Rotation.from_matrix(G[first, :3, :3] @ np.swapaxes(G[second, :3, :3], 1, 2)).as_rotvec()
    spread = np.linalg.svd(a / np.sqrt(len(a)), compute_uv=False)
    return float(spread[0]), float(spread[1])


def solve_closed_form(G: FloatArray, C: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The X and Z that come near to X C_i = G_i Z in all n images.

    Args:
        G: (n, 4, 4) poses by the robot; n is 3 or more.
        C: (n, 4, 4) T_camera_board by the images.
    """
    first, second = _pairs(len(G))
    A, B = G[first] @ invert(G[second]), C[first] @ invert(C[second])
    a, b = (Rotation.from_matrix(M[:, :3, :3]).as_rotvec() for M in (A, B))
    R = Rotation.align_vectors(a, b)[0].as_matrix()
    left = (A[:, :3, :3] - np.eye(3)).reshape(-1, 3)
    right = (B[:, :3, 3] @ R.T - A[:, :3, 3]).ravel()
    X = pose(R, np.linalg.lstsq(left, right, rcond=None)[0])
    Z = invert(G) @ X @ C
    return X, pose(Rotation.from_matrix(Z[:, :3, :3]).mean().as_matrix(), Z[:, :3, 3].mean(axis=0))


def _pairs(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    both = np.array(list(combinations(range(n), 2)), dtype=np.intp)
    return both[:, 0], both[:, 1]
