from __future__ import annotations

import numpy as np
import pytest

from tests.gen3 import GEN3
from tool_nodes.motion.placing import is_steady, place_candidates
from tool_nodes.motion.targets import HeldObject, target_mask
from tool_nodes.perception.obstacles import HeightMap
from tool_nodes.types import Box

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
    return HeldObject(Box(pose, np.array([half_x, half_y, HEIGHT / 2])), down, 0.2, 2 * half_x)


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


def test_the_first_way_to_set_down_is_on_the_very_point() -> None:
    first = next(place_candidates(np.array([*SPOT, 0.0]), held(0.03, 0.03), table_with_a_block(0.0, 0.0), GEN3.reach))
    np.testing.assert_allclose(first.point, [*SPOT, 0.0], atol=1e-9)


def test_all_of_a_long_thing_that_is_gripped_near_its_end_belongs_to_the_target() -> None:
    along = np.linspace(0.0, 0.16, 60)
    cloud = np.column_stack([np.full(60, 0.5), along, np.full(60, 0.03)]).astype(np.float32)
    T = np.eye(4)
    T[:3, :3] = np.diag([1.0, -1.0, -1.0])
    T[:3, 3] = (0.5, 0.01, 0.18)
    assert target_mask(cloud, T, GEN3.gripper).all()
