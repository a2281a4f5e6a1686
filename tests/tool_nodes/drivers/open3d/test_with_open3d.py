"""Open3D and this project's own code agree about boxes; and both refuse what is no cloud."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from toolhand.tool_nodes import registry
from toolhand.tool_nodes.clouds import boxes, files
from toolhand.tool_nodes.drivers import open3d
from toolhand.tool_nodes.results import ErrorCode, ToolError

LIBRARIES = (boxes.smallest_box, open3d.smallest_box)


def whole_cloud(seed: int) -> np.ndarray:
    """The surface (N, 3) of a box, a cylinder or a lump [m], turned at random."""
    rng = np.random.default_rng(seed)
    half, directions = rng.uniform(0.01, 0.10, 3), rng.normal(size=(5000, 3))
    if seed % 3 == 0:  # a box: each direction goes on to the nearest side
        surface = directions / np.abs(directions).max(axis=1, keepdims=True)
    elif seed % 3 == 1:
        surface = directions / np.linalg.norm(directions[:, :2], axis=1, keepdims=True)
        surface[:, 2] = rng.uniform(-1.0, 1.0, len(surface))
    else:
        surface = directions / np.linalg.norm(directions, axis=1, keepdims=True) ** rng.uniform(0.5, 1.0)
    return (surface * half) @ Rotation.random(random_state=seed).as_matrix().T + rng.uniform(-0.5, 0.5, 3)


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


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (lambda: open3d.smallest_box(np.zeros((0, 3))), "at least 4 finite points, not 0"),
        (lambda: open3d.smallest_box(np.full((9, 3), np.nan)), "at least 4 finite points, not 0 of 9"),
        (lambda: open3d.smallest_box(np.zeros((9, 2))), "must be an array (N, 3)"),
        (lambda: open3d.smallest_box(np.c_[np.random.default_rng(0).random((50, 2)), np.zeros(50)]), "in one plane"),
    ],
)
def test_bad_input_is_one_sentence(use: Callable[[], object], said: str) -> None:
    with pytest.raises(ToolError) as caught:
        use()
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert said in caught.value.message


def test_it_is_a_choice_for_the_box_tools() -> None:
    fitter = registry.make("boxes", "open3d")
    cloud = whole_cloud(0)
    np.testing.assert_allclose(fitter.box(cloud)[1], open3d.smallest_box(cloud)[1])


def test_where_there_is_no_screen_the_window_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ToolError, match="cannot open a window here"):
        open3d.show([files.ColouredCloud(whole_cloud(0))], "cloud")
