"""Hand-eye calibration against the simulator's truth, by corners that are computed from it, with noise."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from toolhand.bench.calibration.rig import DEGENERATE, Rig, Taken
from toolhand.tool_nodes.calibration.adjustment import HandEyeProblem, _Linearised
from toolhand.tool_nodes.calibration.board_poses import board_pose, turned
from toolhand.tool_nodes.calibration.charuco import CharucoBoard
from toolhand.tool_nodes.calibration.detection import BoardCorners
from toolhand.tool_nodes.calibration.solving import HandEye, solve
from toolhand.tool_nodes.calibration.viewpoints import CameraPlace
from toolhand.tool_nodes.geometry import invert
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import FloatArray


@cache
def measured(camera: CameraPlace, seed: int, encoder_deg: float = 0.02) -> tuple[Rig, Taken]:
    rig = Rig(camera, seed, encoder_rad=np.radians(encoder_deg))
    return rig, rig.take(15, drawn=False)


def solved(rig: Rig, taken: Taken, board: CharucoBoard | None = None, K: FloatArray | None = None) -> HandEye:
    K = rig.model.K if K is None else K
    return solve(rig.robot, taken.joints, taken.seen, board or rig.said.board, K, rig.model.size, rig.said.on_hand)


def miss(rig: Rig, found: HandEye) -> FloatArray:
    off = invert(found.X) @ rig.X
    return np.concatenate([off[:3, 3], Rotation.from_matrix(off[:3, :3]).as_rotvec()])


def complaint(rig: Rig, taken: Taken, board: CharucoBoard | None = None, K: FloatArray | None = None) -> str:
    with pytest.raises(ToolError) as caught:
        solved(rig, taken, board, K)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert caught.value.hint
    return caught.value.message


@pytest.mark.parametrize(("camera", "seed"), [("wrist", 0), ("wrist", 1), ("scene", 0), ("scene", 1)])
def test_the_camera_is_found_and_the_stated_deviation_is_of_the_right_size(camera: CameraPlace, seed: int) -> None:
    rig, taken = measured(camera, seed)
    found = solved(rig, taken)
    error = miss(rig, found)
    assert np.linalg.norm(error[:3]) < 0.0006
    assert np.linalg.norm(error[3:]) < np.radians(0.08)
    assert error @ np.linalg.solve(found.covariance, error) < 22.5  # of six normal errors, 99.9 %
    assert 0.00005 < found.sd[0] < 0.0004
    assert found.intrinsics.noise_px == pytest.approx(0.05, rel=0.15)


def test_encoders_that_are_worse_than_said_widen_the_stated_deviation() -> None:
    rig, taken = measured("wrist", 2, encoder_deg=0.1)
    found = solved(rig, taken)
    error = miss(rig, found)
    assert found.joint_sd == pytest.approx(np.radians(0.1), rel=0.3)
    assert found.sd[0] > 0.0003
    assert error @ np.linalg.solve(found.covariance, error) < 22.5


@pytest.mark.parametrize("kind", DEGENERATE)
def test_poses_that_determine_nothing_are_refused(kind: str) -> None:
    rig = Rig("wrist", 3)
    message = complaint(rig, rig.degenerate(12, kind))
    assert ("about one axis alone" if kind == "one axis" else "hardly turn") in message


def test_seven_poses_are_too_few() -> None:
    rig, taken = measured("wrist", 0)
    assert "There are 7 poses" in complaint(rig, replace(taken, joints=taken.joints[:7], seen=taken.seen[:7]))


def test_squares_of_another_size_are_named_with_the_size_that_they_have() -> None:
    rig, taken = measured("wrist", 0)
    message = complaint(rig, taken, board=replace(rig.said.board, square_m=0.036))
    assert "squares of the board are not 36 mm" in message
    assert "they measure 35.0" in message or "they measure 34.9" in message


@pytest.mark.parametrize("camera", ["wrist", "scene"])
def test_intrinsics_of_another_camera_are_named(camera: CameraPlace) -> None:
    rig, taken = measured(camera, 0)
    K = rig.model.K.copy()
    K[:2, :2] *= 0.95
    assert "another camera's: fx is" in complaint(rig, taken, K=K)
    K = rig.model.K.copy()
    K[0, 2] += 25.0
    assert "another camera's: cx is" in complaint(rig, taken, K=K)


@pytest.mark.parametrize(
    ("entry", "value", "words"),
    [
        ((0, 0), np.nan, "holds NaN or infinite numbers"),
        ((1, 2), np.inf, "holds NaN or infinite numbers"),
        ((0, 0), 0.0, "has focal lengths of 0 and 627.874 px"),
        ((1, 1), -600.0, "has focal lengths of 627.874 and -600 px"),
        ((0, 2), -1.0, "has its principal point at (-1, 239.5), outside the picture of 640x480 pixels"),
        ((1, 2), 480.0, "has its principal point at (319.5, 480), outside the picture of 640x480 pixels"),
        ((0, 1), 3.0, "has a skew of 3 px"),
        ((2, 2), 2.0, "ends with the row [0, 0, 2]"),
    ],
)
def test_intrinsics_that_no_fit_can_begin_with_are_refused(entry: tuple[int, int], value: float, words: str) -> None:
    rig, taken = measured("wrist", 0)
    K = rig.model.K.copy()
    K[entry] = value
    assert complaint(rig, taken, K=K).startswith(f"K of the camera {words}")


def test_images_of_a_lens_that_was_not_rectified_are_named() -> None:
    rig, taken = measured("wrist", 0)
    K = rig.model.K
    bent = []
    for corners in taken.seen:
        ray = (corners.pixels - K[:2, 2]) / [K[0, 0], K[1, 1]]
        ray = ray * (1.0 - 0.25 * np.sum(ray**2, axis=1, keepdims=True))
        bent.append(BoardCorners(corners.ids, ray * [K[0, 0], K[1, 1]] + K[:2, 2]))
    assert "distorted" in complaint(rig, replace(taken, seen=tuple(bent)))


def test_a_pose_whose_joints_are_of_another_moment_is_named() -> None:
    rig, taken = measured("wrist", 0)
    joints = taken.joints.copy()
    joints[4, 1] += 0.02
    assert "Pose 5 does not fit" in complaint(rig, replace(taken, joints=joints))


def test_joints_that_belong_to_other_images_are_named() -> None:
    rig, taken = measured("wrist", 0)
    assert "do not agree" in complaint(rig, replace(taken, joints=taken.joints[::-1].copy()))


def test_the_other_arrangement_is_named() -> None:
    rig, taken = measured("scene", 0)
    with pytest.raises(ToolError, match="an arrangement in which the arm carries the board"):
        solve(rig.robot, taken.joints, taken.seen, rig.said.board, rig.model.K, rig.model.size, on_hand=True)


def test_the_pose_of_a_board_is_found_in_one_image() -> None:
    rig, taken = measured("scene", 0)
    points = rig.said.board.corners
    T = board_pose(taken.seen[0], points, rig.model.K)
    before = points @ T[:3, :3].T + T[:3, 3]
    pixels = before[:, :2] / before[:, 2:] @ rig.model.K[:2, :2].T + rig.model.K[:2, 2]
    assert np.abs(pixels - taken.seen[0].pixels).max() < 0.3


@pytest.mark.parametrize("camera", ["wrist", "scene"])
def test_derivatives_are_those_of_the_residuals(camera: CameraPlace) -> None:
    rig, taken = measured(camera, 0)
    problem = HandEyeProblem(
        taken.joints, taken.seen, rig.said.board.corners, rig.model.K, rig.said.on_hand, 1e-3, noise_px=1.0
    )
    linearised = _Linearised(problem, Kinematics(rig.robot), free_scale=True)
    error = np.full(rig.robot.dof, 0.001)

    def residual(step: FloatArray) -> FloatArray:
        X, Z = turned(rig.X, step[:6]), turned(rig.Z, step[6:12])
        return linearised.image(2, X, Z, float(np.exp(step[12])), error + step[13:])[0]

    _, common, joints = linearised.image(2, rig.X, rig.Z, 1.0, error)
    steps = 1e-6 * np.eye(13 + rig.robot.dof)
    numeric = np.column_stack([(residual(-step) - residual(step)) / 2e-6 for step in steps])
    np.testing.assert_allclose(np.hstack([common, joints]), numeric, atol=0.02, rtol=1e-4)
