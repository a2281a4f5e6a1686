"""The adjustment of a hand-eye calibration: camera, board and the joint errors of every pose at once.

Corners are known to hundredths of a pixel, joint positions are not: an adjustment over the corners alone blames the
camera for the errors of the joints. So every pose has joint errors of its own, which are unknowns with a prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from toolhand.tool_nodes.calibration.board_poses import cross, seen_at, turned
from toolhand.tool_nodes.calibration.detection import BoardCorners
from toolhand.tool_nodes.geometry import invert
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.types import FloatArray

_ITERATIONS = 50
"""Steps of Levenberg-Marquardt [-]; from the closed form four to eight are needed."""
_WIDENED = 4
"""How often the prior of the joint errors is widened [-]; each time the excess falls to a tenth or less."""
_CONVERGED = 1e-9
"""Relative decrease of the squared error below which it has converged [-]."""
_OUTLIER = 3.0
"""Corners whose residual is larger than this many standard deviations count less (Huber) [-]: one in 370 by chance."""
CAMERA, BOARD, SCALE = slice(0, 6), slice(6, 12), 12
"""Where the unknowns of camera, board and scale are; the joints' errors follow."""


@dataclass(frozen=True)
class HandEyeProblem:
    """What the adjustment is given.

    Attributes:
        joints: (n, d) joint positions as they were read [rad].
        seen: Corners of each of the n images.
        points: (N, 3) all corners in the board's frame [m].
        K: (3, 3) intrinsics [px].
        on_hand: True where the arm carries the camera and the board rests; False where it carries the board.
        joint_sd: Standard deviation of a joint's error [rad].
        noise_px: Standard deviation of a corner's coordinate [px].
    """

    joints: FloatArray
    seen: Sequence[BoardCorners]
    points: FloatArray
    K: FloatArray
    on_hand: bool
    joint_sd: float
    noise_px: float


@dataclass(frozen=True)
class Adjusted:
    """What the adjustment found.

    Attributes:
        X: (4, 4) camera: in the tip frame where the arm carries it, else in the base frame.
        Z: (4, 4) board: in the other of the two.
        scale: True size of the board over its stated size [-]; 1 where it was no unknown.
        errors: (n, d) joint errors: true less read positions [rad].
        joint_sd: Standard deviation of the joint errors: of the prior, or larger where the images say so [rad].
        covariance: (12, 12) of the steps of X and of Z, each in its own frame, translation [m] before rotation [rad];
            (13, 13) with the scale.
        rms_px: Root mean square of the corners' residuals [px].
    """

    X: FloatArray
    Z: FloatArray
    scale: float
    errors: FloatArray
    joint_sd: float
    covariance: FloatArray
    rms_px: float


class _Linearised:
    """The problem about an estimate: residuals in standard deviations and their derivatives."""

    def __init__(self, problem: HandEyeProblem, kinematics: Kinematics, free_scale: bool) -> None:
        self.problem, self._kinematics = problem, kinematics
        self.common = 13 if free_scale else 12

    def residuals(self, X: FloatArray, Z: FloatArray, scale: float, errors: FloatArray) -> list[FloatArray]:
        """Measured less predicted pixels of each image (2k,), in standard deviations."""
        return [self._image(i, X, Z, scale, errors[i])[0] for i in range(len(errors))]

    def _chain(
        self, i: int, X: FloatArray, Z: FloatArray, scale: float, error: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Of image i: the hand F, and the corners in the board's, the base's and the camera's frame."""
        problem = self.problem
        F = self._kinematics.fk(problem.joints[i] + error)
        own = scale * problem.points[problem.seen[i].ids]
        placed = own @ Z[:3, :3].T + Z[:3, 3]
        in_base = placed if problem.on_hand else placed @ F[:3, :3].T + F[:3, 3]
        carrier = X if not problem.on_hand else F @ X
        before = (in_base - carrier[:3, 3]) @ carrier[:3, :3]
        return F, own, in_base, before

    def _image(
        self, i: int, X: FloatArray, Z: FloatArray, scale: float, error: FloatArray
    ) -> tuple[FloatArray, FloatArray, tuple[FloatArray, FloatArray, FloatArray, FloatArray]]:
        chain = self._chain(i, X, Z, scale, error)
        predicted, by_point = seen_at(chain[3], self.problem.K)
        residual = (self.problem.seen[i].pixels - predicted).ravel() / self.problem.noise_px
        return residual, by_point / self.problem.noise_px, chain

    def image(
        self, i: int, X: FloatArray, Z: FloatArray, scale: float, error: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Residuals (2k,) of image i, and the derivatives of what is predicted, by the common unknowns and by its
        joints."""
        problem = self.problem
        residual, by_point, (F, own, in_base, before) = self._image(i, X, Z, scale, error)
        R_camera_base = (X if not problem.on_hand else F @ X)[:3, :3].T
        R_camera_board = R_camera_base @ (Z if problem.on_hand else F @ Z)[:3, :3]
        k = len(own)
        moved = np.zeros((k, 3, self.common))
        moved[:, :, 0:3], moved[:, :, 3:6] = -np.eye(3), cross(before)
        moved[:, :, 6:9], moved[:, :, 9:12] = R_camera_board, -R_camera_board @ cross(own)
        if self.common > SCALE:
            moved[:, :, SCALE] = own @ R_camera_board.T / scale
        J = self._kinematics.jacobian(problem.joints[i] + error)
        # where the hand carries a point in the base's frame when a joint turns; seen from the hand it is the opposite
        swept = J[:3] - cross(in_base - F[:3, 3]) @ J[3:]
        by_joints = (-1.0 if problem.on_hand else 1.0) * R_camera_base @ swept
        return residual, (by_point @ moved).reshape(2 * k, -1), (by_point @ by_joints).reshape(2 * k, -1)


def adjust(
    problem: HandEyeProblem, kinematics: Kinematics, X: FloatArray, Z: FloatArray, free_scale: bool = False
) -> Adjusted:
    """The most likely camera, board and joint errors.

    Where the joint errors come out larger than their prior, the prior is widened, and all is adjusted once more: the
    standard deviations are those of the robot that was there.

    Args:
        problem: Images, joints and their noise.
        kinematics: Kinematics of the robot.
        X, Z: (4, 4) first solution.
        free_scale: The size of the board is an unknown, too.
    """
    found = _adjust(problem, kinematics, X, Z, free_scale)
    for _ in range(_WIDENED):
        if found.joint_sd <= problem.joint_sd * 1.01:
            break
        problem = replace(problem, joint_sd=found.joint_sd)
        found = _adjust(problem, kinematics, found.X, found.Z, free_scale)
    return found


def _adjust(
    problem: HandEyeProblem, kinematics: Kinematics, X: FloatArray, Z: FloatArray, free_scale: bool
) -> Adjusted:
    n, d = problem.joints.shape
    linearised = _Linearised(problem, kinematics, free_scale)
    errors, scale, damping = np.zeros((n, d)), 1.0, 1e-6
    cost = _cost(linearised.residuals(X, Z, scale, errors), errors, problem.joint_sd)
    for _ in range(_ITERATIONS):
        normal, right, blocks = _normal_equations(linearised, X, Z, scale, errors)
        for _ in range(12):
            damped = normal + damping * np.diag(np.diag(normal))
            step: FloatArray = np.linalg.lstsq(damped, right, rcond=None)[0].astype(float)
            joint_steps = [inverse @ (own - mixed.T @ step) for inverse, mixed, own in blocks]
            tried = (
                turned(X, step[CAMERA]),
                turned(Z, step[BOARD]),
                scale * float(np.exp(step[SCALE])) if free_scale else scale,
                errors + np.array(joint_steps),
            )
            new_cost = _cost(linearised.residuals(*tried), tried[3], problem.joint_sd)
            if new_cost <= cost:
                break
            damping *= 10.0
        else:
            break
        gained, cost, damping = cost - new_cost, new_cost, max(damping / 10.0, 1e-12)
        X, Z, scale, errors = tried
        if gained <= _CONVERGED * cost:
            break
    return _summed_up(linearised, X, Z, scale, errors)


def _weights(residual: FloatArray) -> FloatArray:
    """Huber's weights (2k,), the same for both coordinates of a corner."""
    lengths = np.linalg.norm(residual.reshape(-1, 2), axis=1)
    return np.repeat(np.minimum(1.0, _OUTLIER / np.maximum(lengths, 1e-9)), 2)


def _cost(residuals: Sequence[FloatArray], errors: FloatArray, joint_sd: float) -> float:
    lengths = np.concatenate([np.linalg.norm(residual.reshape(-1, 2), axis=1) for residual in residuals])
    bounded = np.where(lengths <= _OUTLIER, lengths**2, 2.0 * _OUTLIER * lengths - _OUTLIER**2)
    total = float(bounded.sum() + np.sum((errors / joint_sd) ** 2))
    return total if np.isfinite(total) else np.inf


def _normal_equations(
    linearised: _Linearised, X: FloatArray, Z: FloatArray, scale: float, errors: FloatArray
) -> tuple[FloatArray, FloatArray, list[tuple[FloatArray, FloatArray, FloatArray]]]:
    """Those of the common unknowns, each pose's joints eliminated, and what gives the joints' steps back."""
    normal, right = np.zeros((linearised.common,) * 2), np.zeros(linearised.common)
    prior = 1.0 / linearised.problem.joint_sd**2
    blocks = []
    for i, error in enumerate(errors):
        residual, by_common, by_joints = linearised.image(i, X, Z, scale, error)
        weights = _weights(residual)
        weighted = weights[:, None] * by_joints
        inverse: FloatArray = np.linalg.inv(by_joints.T @ weighted + prior * np.eye(len(error))).astype(float)
        mixed, own = by_common.T @ weighted, weighted.T @ residual - prior * error
        normal += by_common.T @ (weights[:, None] * by_common) - mixed @ inverse @ mixed.T
        right += by_common.T @ (weights * residual) - mixed @ inverse @ own
        blocks.append((inverse, mixed, own))
    return normal, right, blocks


def _summed_up(linearised: _Linearised, X: FloatArray, Z: FloatArray, scale: float, errors: FloatArray) -> Adjusted:
    problem = linearised.problem
    normal, _, blocks = _normal_equations(linearised, X, Z, scale, errors)
    covariance = _inverse(normal)
    residuals = np.concatenate(linearised.residuals(X, Z, scale, errors))
    found = 0.0
    if np.isfinite(covariance).all():
        # An error that the images do not determine stays at the prior's zero, and says nothing of how large it is.
        determined = float(errors.size)
        for inverse, mixed, _ in blocks:
            spread = inverse + inverse @ mixed.T @ covariance @ mixed @ inverse
            determined -= float(np.trace(spread)) / problem.joint_sd**2
        found = float(np.sqrt(np.sum(errors**2) / max(determined, 1.0)))
    return Adjusted(
        X=X,
        Z=Z,
        scale=scale,
        errors=errors,
        joint_sd=max(problem.joint_sd, found),
        covariance=covariance,
        rms_px=problem.noise_px * float(np.sqrt(np.mean(residuals**2))),
    )


def _inverse(normal: FloatArray) -> FloatArray:
    """The inverse of normal equations; what they do not determine has an infinite variance."""
    scales = 1.0 / np.sqrt(np.maximum(np.diag(normal), 1e-300))
    values, vectors = np.linalg.eigh(normal * np.outer(scales, scales))
    if values[0] < 1e-13 * values[-1]:
        return np.full_like(normal, np.inf)
    return (vectors / values) @ vectors.T * np.outer(scales, scales)


def carried_by(F: FloatArray, on_hand: bool) -> FloatArray:
    """The G of `solve_closed_form` for poses of the hand (n, 4, 4): X C = G Z."""
    return invert(F) if on_hand else F
