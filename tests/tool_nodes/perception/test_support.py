"""What lies on what, in depth of boxes that was computed."""

from collections.abc import Sequence

import numpy as np
import pytest

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import intrinsics, look_at
from toolhand.tool_nodes.perception.support import lie_of
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import BoolArray, Frame

Upright = tuple[tuple[float, float], tuple[float, float, float], float]
"""A box: middle (x, y), sides (3,) and height of its base over the table [m]."""


def seen(boxes: Sequence[Upright], noise_m: float = 0.0, size: tuple[int, int] = (640, 480)) -> Frame:
    """The table with boxes as the scene camera sees them; `ids` is the index of the box."""
    T = look_at(workspace.SCENE_CAMERA_POSITION, workspace.SCENE_CAMERA_TARGET)
    K = intrinsics(workspace.SCENE_CAMERA_FOCAL_PX * size[0] / 640, *size)
    v, u = np.mgrid[: size[1], : size[0]]
    rays = np.stack([(u - K[0, 2]) / K[0, 0], (v - K[1, 2]) / K[1, 1], np.ones(u.shape)], axis=-1) @ T[:3, :3].T
    eye = T[:3, 3]
    depth = (workspace.TABLE_Z - eye[2]) / rays[..., 2]
    ids = np.full(u.shape, -1, np.int32)
    for index, ((x, y), sides, base) in enumerate(boxes):
        low = np.array([x - sides[0] / 2, y - sides[1] / 2, workspace.TABLE_Z + base])
        one, other = (low - eye) / rays, (low + sides - eye) / rays
        near, far = np.minimum(one, other).max(axis=-1), np.maximum(one, other).min(axis=-1)
        hit = (near < far) & (near < depth)
        depth, ids = np.where(hit, near, depth), np.where(hit, index, ids).astype(np.int32)
    depth = depth + np.random.default_rng(0).normal(0.0, noise_m, depth.shape)
    return Frame(np.zeros((*depth.shape, 3), np.uint8), depth.astype(np.float32), K, T, 0.0, ids=ids)


def masks_of(frame: Frame, count: int) -> list[BoolArray]:
    assert frame.ids is not None
    return [np.asarray(frame.ids == k) for k in range(count)]


BASE: Upright = ((0.45, 0.0), (0.12, 0.16, 0.04), 0.0)
ON_IT: Upright = ((0.45, 0.0), (0.05, 0.05, 0.05), 0.04)
ON_TOP: Upright = ((0.45, 0.0), (0.04, 0.04, 0.04), 0.09)


@pytest.mark.parametrize("noise_m", [0.0, 0.002])
@pytest.mark.parametrize("size", [(640, 480), (320, 240)])
def test_what_stands_on_an_object_lies_on_it_and_not_the_other_way_round(noise_m: float, size: tuple[int, int]) -> None:
    frame = seen([BASE, ON_IT], noise_m, size)
    below, above = (lie_of(frame, masks_of(frame, 2), k) for k in range(2))
    assert below.above == (1,)
    assert below.first == 1
    assert below.beside == ()
    assert above.above == ()
    assert 0.6 < below.seen < 0.9
    assert above.seen == 1.0


def test_of_a_tower_the_top_comes_away_first() -> None:
    frame = seen([BASE, ON_IT, ON_TOP])
    assert lie_of(frame, masks_of(frame, 3), 0).above == (2, 1)
    assert lie_of(frame, masks_of(frame, 3), 1).above == (2,)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_higher_neighbour_that_touches_hems_in_and_lies_on_nothing(side: float) -> None:
    frame = seen([BASE, ((0.45, side * 0.11), (0.06, 0.06, 0.12), 0.0)])
    lie = lie_of(frame, masks_of(frame, 2), 0)
    assert lie.above == ()
    assert lie.beside == (1,)


def test_the_nearest_neighbour_is_named_first_and_what_leaves_room_not_at_all() -> None:
    frame = seen(
        [
            BASE,
            ((0.45, 0.13), (0.06, 0.06, 0.05), 0.0),
            ((0.45, -0.12), (0.06, 0.06, 0.05), 0.0),
            ((0.60, 0.0), (0.06, 0.06, 0.05), 0.0),
            ((0.45, 0.20), (0.06, 0.06, 0.005), 0.0),
        ]
    )
    assert lie_of(frame, masks_of(frame, 5), 0).beside == (2, 1)


def test_an_object_by_itself_is_seen_wholly_and_nothing_is_in_its_way() -> None:
    frame = seen([BASE])
    assert lie_of(frame, masks_of(frame, 1), 0).first is None
    assert lie_of(frame, masks_of(frame, 1), 0).seen == 1.0


def test_a_mask_without_depth_lies_nowhere_and_an_image_without_any_is_refused() -> None:
    frame = seen([BASE, ON_IT])
    masks = masks_of(frame, 2)
    frame.depth[masks[0]] = np.nan
    assert lie_of(frame, masks, 0).first is None
    frame.depth[:] = np.nan
    with pytest.raises(ToolError) as caught:
        lie_of(frame, masks, 0)
    assert caught.value.code is ErrorCode.NO_DEPTH
