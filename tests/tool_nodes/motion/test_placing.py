from __future__ import annotations

import numpy as np
import pytest

from tests.gen3 import GEN3, pad_depth
from toolhand.tool_nodes.geometry import pose, transform
from toolhand.tool_nodes.motion.placing import (
    inside_candidates,
    is_steady,
    place_candidates,
    settled_inside,
    verify_placed,
)
from toolhand.tool_nodes.motion.targets import HeldObject, held_object, target_mask
from toolhand.tool_nodes.perception.containers import is_cavity
from toolhand.tool_nodes.perception.heights import HeightMap
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.types import Box, FloatArray, Frame

TOP = 0.09
HEIGHT = 0.10
"""Height of the held object [m]."""

SPOT = np.array([0.5, 0.0])


def table_with_a_block(half_x: float, half_y: float) -> HeightMap:
    """A table that is seen all over, with a block in its middle."""
    heights = HeightMap(0.16, -0.6, 0.005, np.zeros((140, 240)))
    xs, ys = heights.centres()
    heights.heights[np.ix_(abs(xs - SPOT[0]) < half_x, abs(ys - SPOT[1]) < half_y)] = TOP
    return heights


def held(half_x: float, half_y: float) -> HeldObject:
    """An upright object gripped at half its height, the hand pointing down."""
    pose = np.eye(4)
    pose[2, 3] = 0.15
    down = np.diag([1.0, -1.0, -1.0])
    return HeldObject(Box(pose, np.array([half_x, half_y, HEIGHT / 2])), down, np.array([0.0, 0.0, 0.2]), 2 * half_x)


@pytest.mark.parametrize(
    ("top", "base", "expected"),
    [
        ((0.029, 0.045), (0.022, 0.022), True),
        ((0.029, 0.045), (0.033, 0.033), True),
        ((0.022, 0.022), (0.025, 0.043), False),
        ((0.010, 0.045), (0.033, 0.033), False),
    ],
)
def test_a_top_must_carry_the_middle_of_the_base(
    top: tuple[float, float], base: tuple[float, float], expected: bool
) -> None:
    heights = table_with_a_block(*top)
    assert is_steady(heights, SPOT, np.eye(3), np.array([*base, HEIGHT / 2]), TOP) is expected


def test_nothing_is_set_down_on_a_top_that_is_too_small() -> None:
    point = np.array([*SPOT, TOP])
    assert not list(place_candidates(point, held(0.033, 0.033), table_with_a_block(0.012, 0.012), GEN3.reach))
    assert list(place_candidates(point, held(0.022, 0.022), table_with_a_block(0.029, 0.045), GEN3.reach))


def bin_with(content_m: float, half_x: float = 0.08, half_y: float = 0.06) -> HeightMap:
    """A table with an open bin of 8 cm about `SPOT`, and something of a height on its left half."""
    heights = table_with_a_block(0.0, 0.0)
    xs, ys = heights.centres()
    away = np.maximum(abs(xs - SPOT[0])[:, None] - half_x, abs(ys - SPOT[1])[None, :] - half_y)
    heights.heights[(away > 0.0) & (away < 0.01)] = 0.08
    heights.heights[np.ix_(abs(xs - SPOT[0]) < half_x, (ys > SPOT[1] - half_y) & (ys < SPOT[1]))] = content_m
    return heights


def inside(beside_m: float, z: float = 0.0) -> FloatArray:
    """A point (3,) so far to the right of `SPOT`, at a height."""
    return np.array([SPOT[0], SPOT[1] + beside_m, z])


@pytest.mark.parametrize(("content_m", "beside", "above"), [(0.0, True, True), (0.03, True, True), (0.12, True, False)])
def test_a_place_in_a_container_is_one_whatever_lies_low_in_it(content_m: float, beside: bool, above: bool) -> None:
    heights = bin_with(content_m)
    assert is_cavity(heights, inside(0.03)) is beside
    assert is_cavity(heights, inside(-0.03, content_m)) is above
    assert not is_cavity(heights, inside(0.065, 0.08))


def test_in_a_container_an_object_goes_beside_another_one_and_lies_on_it_where_it_has_to() -> None:
    heights = bin_with(0.03)
    small = settled_inside(np.array([*SPOT, 0.0]), held(0.02, 0.02), heights)
    assert small[1] > SPOT[1] + 0.015
    wide = held(0.05, 0.05)
    point = settled_inside(inside(0.05), wide, heights)
    first = next(inside_candidates(point, wide, heights, GEN3.reach))
    corners = first.T_base_gripper[:2, :2] @ np.array([(0.05, 0.05, -0.05, -0.05), (0.05, -0.05, 0.05, -0.05)])
    assert (abs(corners.T + first.T_base_gripper[:2, 3] - SPOT) < (0.08, 0.06)).all()


def test_a_container_at_the_end_of_what_is_known_of_the_table_has_no_room_beyond_it() -> None:
    heights = bin_with(0.0)
    cut = heights.part((slice(0, heights.shape[0]), slice(int(heights.cells(SPOT)[1]) - 3, heights.shape[1])))
    point = settled_inside(np.array([*SPOT, 0.0]), held(0.02, 0.02), cut)
    assert (cut.cells(point[:2]) >= 0).all()


def test_the_first_way_to_set_down_is_on_the_very_point() -> None:
    first = next(place_candidates(np.array([*SPOT, 0.0]), held(0.03, 0.03), table_with_a_block(0.0, 0.0), GEN3.reach))
    np.testing.assert_allclose(first.point, [*SPOT, 0.0], atol=1e-9)


def test_all_of_a_long_object_that_is_gripped_near_its_end_belongs_to_the_target() -> None:
    along = np.linspace(0.0, 0.16, 60)
    cloud = np.column_stack([np.full(60, 0.5), along, np.full(60, 0.03)]).astype(np.float32)
    T = np.eye(4)
    T[:3, :3] = np.diag([1.0, -1.0, -1.0])
    T[:3, 3] = (0.5, 0.01, 0.18)
    assert target_mask(cloud, T, GEN3.gripper).all()


def slab(x: tuple[float, float], y: tuple[float, float], z: tuple[float, float]) -> FloatArray:
    """Points (N, 3) of a solid block [m]."""
    grid = np.meshgrid(*(np.linspace(*limits, 12) for limits in (x, y, z)), indexing="ij")
    return np.stack(grid, axis=-1).reshape(-1, 3)


def looking(approach: tuple[float, float, float], closing: tuple[float, float, float], at: FloatArray) -> FloatArray:
    """A hand (4, 4) whose pads, open by 3 cm, are at a point, base frame [m]."""
    z, x = np.array(approach) / np.linalg.norm(approach), np.array(closing, float)
    R = np.column_stack([x, np.cross(z, x), z])
    return pose(R, at - pad_depth(0.03) * z)


def extent(held: HeldObject, T: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest corner (3,) of what is held, with the hand at T, base frame [m]."""
    corners = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]) * held.box.half_extents
    found = transform(T @ held.box.T_parent_box, corners)
    return found.min(axis=0), found.max(axis=0)


EYE = np.array([0.98, 0.0, 0.88])


@pytest.mark.parametrize("approach", [(0.0, 0.0, -1.0), (1.0, 0.0, -1.0), (1.0, 0.0, 0.0)])
def test_a_tall_object_is_held_as_an_upright_box_from_above_aslant_and_from_the_side(
    approach: tuple[float, float, float],
) -> None:
    tall = slab((0.485, 0.515), (-0.015, 0.015), (0.0, 0.16))
    T = looking(approach, (0.0, 1.0, 0.0), np.array([0.5, 0.0, 0.1]))
    low, high = extent(held_object(tall, T, 0.03, GEN3.gripper, EYE), T)
    assert low == pytest.approx([0.485, -0.015, 0.0], abs=0.006)
    assert high == pytest.approx([0.515, 0.015, 0.16], abs=0.006)


def test_pixels_without_depth_count_as_not_seen_of_what_is_held() -> None:
    tall = slab((0.485, 0.515), (-0.015, 0.015), (0.0, 0.16))
    T = looking((0.0, 0.0, -1.0), (0.0, 1.0, 0.0), np.array([0.5, 0.0, 0.1]))
    holes = np.vstack([tall, np.full((40, 3), np.nan)])
    whole, pierced = (held_object(points, T, 0.03, GEN3.gripper, EYE) for points in (tall, holes))
    assert np.array_equal(whole.box.T_parent_box, pierced.box.T_parent_box)
    assert np.array_equal(whole.box.half_extents, pierced.box.half_extents)


def test_an_object_that_is_held_at_its_end_reaches_to_one_side_only() -> None:
    bar = slab((0.49, 0.51), (0.0, 0.2), (0.0, 0.03))
    T = looking((0.0, 0.0, -1.0), (1.0, 0.0, 0.0), np.array([0.5, 0.02, 0.015]))
    low, high = extent(held_object(bar, T, 0.02, GEN3.gripper, EYE), T)
    assert high[1] == pytest.approx(0.2, abs=0.01)
    assert low[1] > -0.03


@pytest.mark.parametrize("side", [0.0, 2.0, 4.0])
def test_the_middle_of_a_ball_is_found_from_the_half_that_a_camera_sees(side: float) -> None:
    eye = np.array([0.5 + 0.5 * np.cos(side), 0.5 * np.sin(side), 0.88])
    n = np.arange(4000) + 0.5
    z, turn = 1.0 - 2.0 * n / 4000, n * np.pi * (1.0 + np.sqrt(5.0))
    ball = 0.04 * np.column_stack([np.sqrt(1 - z**2) * np.cos(turn), np.sqrt(1 - z**2) * np.sin(turn), z])
    middle = np.array([0.5, 0.0, 0.04])
    seen = ball[ball @ (eye - middle) > 0.0] + middle
    T = looking((0.0, 0.0, -1.0), (0.0, 1.0, 0.0), middle)
    found = transform(T, held_object(seen, T, 0.08, GEN3.gripper, eye).middle[None])[0]
    assert found == pytest.approx([0.5, 0.0, 0.0], abs=0.002)
    assert np.linalg.norm(seen[:, :2].mean(axis=0) - middle[:2]) > 0.005  # the middle of what is seen is not it


def test_an_object_whose_rim_is_gripped_reaches_beyond_the_jaws() -> None:
    bowl = slab((0.4, 0.55), (-0.07, 0.07), (0.0, 0.06))
    T = looking((0.0, 0.0, -1.0), (1.0, 0.0, 0.0), np.array([0.4, 0.0, 0.05]))
    low, high = extent(held_object(bowl, T, 0.005, GEN3.gripper, EYE), T)
    assert high[0] == pytest.approx(0.55, abs=0.01)
    assert low[0] > 0.37


@pytest.mark.parametrize("approach", [(1.0, 0.0, -1.0), (1.0, 0.0, 0.0)])
def test_an_object_that_is_held_from_the_side_is_set_down_as_it_stood(approach: tuple[float, float, float]) -> None:
    tall = slab((0.485, 0.515), (-0.015, 0.015), (0.0, 0.16))
    T = looking(approach, (0.0, 1.0, 0.0), np.array([0.5, 0.0, 0.1]))
    held_tall = held_object(tall, T, 0.03, GEN3.gripper, EYE)
    first = next(place_candidates(np.array([0.45, 0.1, 0.0]), held_tall, table_with_a_block(0.0, 0.0), GEN3.reach))
    low, high = extent(held_tall, first.T_base_gripper)
    middle = transform(first.T_base_gripper, held_tall.middle[None])[0]
    assert middle[:2] == pytest.approx([0.45, 0.1], abs=1e-6)
    assert (low[:2] + high[:2]) / 2 == pytest.approx(middle[:2], abs=0.006)
    assert 0.0 < low[2] < 0.005
    assert high[2] - low[2] == pytest.approx(0.16, abs=0.005)


def test_noise_of_the_depth_is_not_what_was_set_down() -> None:
    K, T = np.array([[300.0, 0.0, 160.0], [0.0, 300.0, 120.0], [0.0, 0.0, 1.0]]), np.eye(4)
    T[:3, :3], T[:3, 3] = np.diag([1.0, -1.0, -1.0]), (*SPOT, 1.0)  # straight down, from 1 m

    def frame(seed: int, block_m: float = 0.0) -> Frame:
        depth = 1.0 + np.random.default_rng(seed).normal(0.0, 0.003, (240, 320)).astype(np.float32)
        depth[110:130, 150:170] -= np.float32(block_m)
        return Frame(np.zeros((240, 320, 3), np.uint8), depth, K, T, float(seed))

    point = np.array([*SPOT, 0.0])
    verify_placed(point, False, frame(0), frame(1, 0.05), 0.04)
    for after in (frame(2), frame(3)):
        with pytest.raises(ToolError, match="does not show it"):
            verify_placed(point, False, frame(0), after, 0.04)
    with pytest.raises(ToolError, match="does not show it"):  # what stood there before is not new
        verify_placed(point, False, frame(0, 0.05), frame(1, 0.05), 0.04)
