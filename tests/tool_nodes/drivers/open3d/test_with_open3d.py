"""Open3D and this project's own code agree: boxes, alignment, files; and both refuse what is no cloud."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.tool_nodes.clouds.held import held_object, moved_in_hand, whole_cloud
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.clouds import alignment, boxes, files
from toolhand.tool_nodes.drivers import open3d
from toolhand.tool_nodes.geometry import invert, pose, rotation_angle, transform
from toolhand.tool_nodes.results import ErrorCode, ToolError

LIBRARIES = (boxes.smallest_box, open3d.smallest_box)


@pytest.mark.parametrize("seed", range(6))
def test_both_find_boxes_of_the_same_volume(seed: int) -> None:
    cloud = whole_cloud(seed)
    own, other = (fit(cloud)[1] for fit in LIBRARIES)
    assert np.prod(own) == pytest.approx(np.prod(other), rel=0.01)
    assert other[0] >= other[1] >= other[2]


def test_corners_come_in_the_same_order_and_hold_all_points() -> None:
    cloud = whole_cloud(2)
    for fit in LIBRARIES:
        corners, extent = fit(cloud)
        axes = np.array([(corners[k] - corners[0]) / extent[i] for i, k in enumerate((1, 3, 4))])
        np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-6)
        assert np.linalg.det(axes) == pytest.approx(1.0)
        assert (np.abs((cloud - corners.mean(axis=0)) @ axes.T) <= extent / 2.0 + 1e-4).all()


def test_both_bring_clouds_together() -> None:
    rng = np.random.default_rng(3)
    T = pose(Rotation.from_rotvec(rng.uniform(-0.08, 0.08, 3)).as_matrix(), rng.uniform(-0.005, 0.005, 3))
    directions = rng.normal(size=(4000, 3))
    source = directions / np.abs(directions).max(axis=1, keepdims=True) * [0.05, 0.03, 0.02]
    target = transform(T, source[::2]) + rng.normal(size=source[::2].shape) * 0.0003
    for align in (alignment.aligned, open3d.aligned):
        found = align(source, target, 0.02)
        wrong = invert(T) @ found.T
        assert np.linalg.norm(wrong[:3, 3]) < 0.001
        assert np.degrees(rotation_angle(np.eye(3), wrong[:3, :3])) < 0.5
        assert found.share > 0.9


def test_a_held_object_is_moved_rigidly_by_both_and_nearer_by_its_own_code() -> None:
    case = held_object(1, "ideal")
    assert case is not None
    item, T_closed, T_now, frame, slip = case
    for align in (alignment.aligned, open3d.aligned):
        found = moved_in_hand(item, T_closed, T_now, frame, align)
        assert found is not None
        np.testing.assert_allclose(found[:3, :3] @ found[:3, :3].T, np.eye(3), atol=1e-6)
        if align is alignment.aligned:  # Open3D keeps pairs of what only one view shows, and may be led away by them
            assert np.linalg.norm((found - slip)[:3, 3]) < np.linalg.norm(slip[:3, 3])


@pytest.mark.parametrize("suffix", [".ply", ".pcd"])
def test_both_read_what_was_written(tmp_path: Path, suffix: str) -> None:
    points = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float32).astype(float)
    colours = np.random.default_rng(1).integers(0, 256, (500, 3), np.uint8)
    files.write_cloud(tmp_path / f"own{suffix}", points, colours)
    for read in (files.read_cloud, open3d.read_cloud):
        cloud = read(tmp_path / f"own{suffix}")
        np.testing.assert_allclose(cloud.points, points, atol=1e-6)
        assert cloud.colours is not None
        assert np.abs(cloud.colours.astype(int) - colours).max() <= 1


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (lambda: open3d.smallest_box(np.zeros((0, 3))), "at least 4 finite points, not 0"),
        (lambda: open3d.smallest_box(np.full((9, 3), np.nan)), "at least 4 finite points, not 0 of 9"),
        (lambda: open3d.smallest_box(np.zeros((9, 2))), "must be an array (N, 3)"),
        (lambda: open3d.smallest_box(np.c_[np.random.default_rng(0).random((50, 2)), np.zeros(50)]), "in one plane"),
        (lambda: open3d.aligned(np.zeros((0, 3)), np.zeros((30, 3)), 0.1), "The source cloud must have"),
        (lambda: open3d.aligned(np.ones((30, 3)), np.ones((30, 3)), -1.0), "reach_m must be a distance"),
        (lambda: open3d.read_cloud(Path("none.ply")), "there is no such file"),
        (lambda: open3d.read_cloud(Path("cloud.obj")), "must end with .ply or .pcd"),
    ],
)
def test_bad_input_is_one_sentence(use: Callable[[], object], said: str) -> None:
    with pytest.raises(ToolError) as caught:
        use()
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert said in caught.value.message


def test_clouds_that_do_not_meet_are_said_so() -> None:
    far = np.random.default_rng(0).random((100, 3))
    with pytest.raises(ToolError, match="Only 0 points of the source have one of the target within"):
        open3d.aligned(far, far + 10.0, 0.05)


def test_a_damaged_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "cut.ply").write_bytes(b"ply\nformat binary_little_endian 1.0\nelement vertex 9\n")
    with pytest.raises(ToolError, match="at least 1 finite points"):
        open3d.read_cloud(tmp_path / "cut.ply")


def test_it_is_a_choice_for_the_box_tools() -> None:
    fitter = registry.make("boxes", "open3d")
    cloud = whole_cloud(0)
    np.testing.assert_allclose(fitter.box(cloud)[1], open3d.smallest_box(cloud)[1])


def test_where_there_is_no_screen_the_window_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ToolError, match="cannot open a window here"):
        open3d.show([files.ColouredCloud(whole_cloud(0))], "cloud")
