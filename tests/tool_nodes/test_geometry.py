"""Rigid transforms and the pinhole camera."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.refusals import refused
from toolhand.tool_nodes import geometry, workspace
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import FloatArray

quaternions = arrays(float, 4, elements=st.floats(-1.0, 1.0)).filter(lambda q: np.linalg.norm(q) > 0.01)


@given(quaternions, arrays(float, (3, 3), elements=st.floats(-1e-7, 1e-7)))
def test_a_carried_pose_comes_back_from_a_quaternion_to_the_last_bit(quat: FloatArray, error: FloatArray) -> None:
    T = geometry.pose(geometry.matrix_from_quat_wxyz(quat) + error, [0.3, -0.0, 0.1])
    carried = geometry.carried(T)
    assert np.allclose(carried, T, atol=1e-6)
    assert geometry.carried(carried).tobytes() == carried.tobytes()
    for sign in (1.0, -1.0):  # both are the same rotation
        message = sign * geometry.quat_wxyz_from_matrix(carried[:3, :3])
        assert geometry.carried_rotation(message).tobytes() == carried[:3, :3].tobytes()
    assert (np.eye(4) @ carried).tobytes() == carried.tobytes()


@pytest.mark.parametrize("quat", [[0.0, 0.0, 0.0, 0.0], [np.nan, 0.0, 0.0, 1.0], [np.inf, 0.0, 0.0, 1.0]])
def test_no_rotation_is_carried_by_a_quaternion_without_a_direction(quat: list[float]) -> None:
    with pytest.raises(ToolError):
        geometry.carried_rotation(quat)


@given(quaternions)
def test_a_rotation_survives_the_way_through_a_quaternion(quat: FloatArray) -> None:
    R = geometry.matrix_from_quat_wxyz(quat)
    assert np.allclose(R @ R.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(R) == pytest.approx(1.0)
    again = geometry.quat_wxyz_from_matrix(R)
    assert np.allclose(geometry.matrix_from_quat_wxyz(again), R, atol=1e-9)
    assert again[0] >= 0.0
    assert np.linalg.norm(again) == pytest.approx(1.0)


def test_a_quarter_turn_about_z_is_the_known_quaternion() -> None:
    R = geometry.rotation_z(np.pi / 2)
    assert np.allclose(R @ [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    assert np.allclose(geometry.quat_wxyz_from_matrix(R), [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])


@pytest.mark.parametrize("quat", [[0, 0, 0, 0], [np.nan, 0, 0, 1], [1, 0, 0]])
def test_a_quaternion_without_a_direction_is_refused(quat: list[float]) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, "four finite numbers"):
        geometry.matrix_from_quat_wxyz(quat)


@given(quaternions, arrays(float, 3, elements=st.floats(-2.0, 2.0)))
def test_a_transform_and_its_inverse_cancel(quat: FloatArray, p: FloatArray) -> None:
    T = geometry.pose(geometry.matrix_from_quat_wxyz(quat), p)
    points = np.array([[0.1, -0.2, 0.3], [1.0, 2.0, 3.0]])
    assert np.allclose(geometry.transform(geometry.invert(T), geometry.transform(T, points)), points, atol=1e-9)
    assert np.allclose(geometry.invert(np.stack([T, T]))[1] @ T, np.eye(4), atol=1e-9)


def test_transform_keeps_single_precision_and_unknown_points() -> None:
    T = geometry.pose(geometry.rotation_z(0.3), [1.0, 0.0, 0.0])
    out = geometry.transform(T, np.array([[np.nan] * 3, [0, 0, 0]], dtype=np.float32))
    assert out.dtype == np.float32
    assert np.isnan(out[0]).all()
    assert np.allclose(out[1], [1, 0, 0])


@pytest.mark.parametrize("count", [10, 20_000])
def test_a_part_of_a_cloud_is_mapped_to_the_bytes_of_the_whole(count: int) -> None:
    rng = np.random.default_rng(0)
    cloud = rng.normal(size=(40_000, 3)).astype(np.float32)
    T = geometry.pose(geometry.matrix_from_quat_wxyz(rng.normal(size=4)), rng.normal(size=3))
    whole = geometry.transform(T, cloud)
    assert geometry.transform_part(T, cloud[:count]).tobytes() == whole[:count].tobytes()
    assert geometry.heights(T, cloud[:count]).tobytes() == whole[:count, 2].tobytes()


@pytest.mark.parametrize("angle", [0.0, 1e-7, 0.3, np.pi / 2, np.pi - 1e-7, np.pi])
def test_rotation_angle_is_accurate_at_both_ends(angle: float) -> None:
    start = geometry.rotation_z(0.7)
    assert geometry.rotation_angle(start, start @ geometry.rotation_z(angle)) == pytest.approx(angle, abs=1e-9)


def test_the_camera_looks_at_its_target_and_stands_upright() -> None:
    T = geometry.look_at(workspace.SCENE_CAMERA_POSITION, workspace.SCENE_CAMERA_TARGET)
    assert np.allclose(T[:3, :3].T @ T[:3, :3], np.eye(3), atol=1e-12)
    assert np.linalg.det(T[:3, :3]) == pytest.approx(1.0)
    target = geometry.transform(geometry.invert(T), workspace.SCENE_CAMERA_TARGET)
    distance = float(np.linalg.norm(workspace.SCENE_CAMERA_TARGET - workspace.SCENE_CAMERA_POSITION))
    assert np.allclose(target, [0.0, 0.0, distance])
    assert T[2, 0] == pytest.approx(0.0)
    assert T[2, 1] < 0.0


def test_a_camera_that_looks_straight_down_has_a_frame() -> None:
    T = geometry.look_at([0.5, 0.0, 1.0], [0.5, 0.0, 0.0])
    assert np.allclose(T[:3, 2], [0, 0, -1])
    assert np.allclose(T[:3, 1], [-1, 0, 0])
    with pytest.raises(ToolError, match="two different points"):
        geometry.look_at([1, 0, 0], [1, 0, 0])


def test_projecting_the_cloud_of_an_image_gives_its_pixels() -> None:
    K = geometry.intrinsics(300.0, 40, 30)
    rng = np.random.default_rng(0)
    depth = rng.uniform(0.5, 2.0, (30, 40)).astype(np.float32)
    depth[3, 4] = np.nan
    cloud = geometry.backproject(depth, K)
    assert cloud.shape == (1200, 3)
    assert cloud.dtype == np.float32
    assert np.isnan(cloud[3 * 40 + 4]).all()
    pixels = geometry.project(cloud, K)
    v, u = np.divmod(np.arange(1200), 40)
    known = ~np.isnan(cloud[:, 0])
    assert np.allclose(pixels[known], np.column_stack([u, v])[known], atol=1e-3)


def test_points_behind_the_camera_have_no_pixel() -> None:
    K = geometry.intrinsics(300.0, 40, 30)
    assert np.isnan(geometry.project([[0.0, 0.0, -1.0], [0.1, 0.0, 0.0]], K)).all()
    assert np.allclose(geometry.project([[0.0, 0.0, 1.0]], K), [[19.5, 14.5]])


@pytest.mark.parametrize(
    ("point", "expected"), [((0, 0), (0, 0)), ((1, 1), (639, 479)), ((0.5, 0.5), (320, 240)), ((0.9999, 0), (639, 0))]
)
def test_normalized_points_map_to_pixels_inside_the_image(
    point: tuple[float, float], expected: tuple[int, int]
) -> None:
    assert geometry.pixel(point, (640, 480)) == expected


@pytest.mark.parametrize("point", [(1.2, 0.5), (-0.1, 0.5), (np.nan, 0.5), (0.5,), (320, 240)])
def test_a_point_outside_the_image_is_refused(point: tuple[float, ...]) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, "between 0 and 1"):
        geometry.pixel(point, (640, 480))
