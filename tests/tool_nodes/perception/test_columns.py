"""What stands about a thing to be grasped: upright boxes of cells, which leave gaps open."""

from __future__ import annotations

import numpy as np

from tool_nodes.perception.columns import HAND_REACH, column_boxes, within_hand, without_own
from tool_nodes.perception.heights import HeightMap

CELL = 0.005


def grid(heights: np.ndarray) -> HeightMap:
    return HeightMap(0.2, -0.1, CELL, heights)


def covered(boxes: tuple, heights: HeightMap) -> np.ndarray:
    """Height (nx, ny) up to which boxes cover the middles of the cells [m]."""
    xs, ys = heights.centres()
    top = np.zeros(heights.heights.shape)
    for box in boxes:
        x, y, z = box.T_parent_box[:3, 3]
        a, b, c = box.half_extents
        over = (np.abs(xs - x) < a)[:, None] & (np.abs(ys - y) < b)[None, :]
        top[over] = np.maximum(top[over], z + c)
    return top


def test_boxes_cover_every_column_and_nothing_beside_them() -> None:
    rng = np.random.default_rng(0)
    columns = np.where(rng.random((40, 30)) < 0.6, rng.uniform(0.01, 0.2, (40, 30)), 0.0)
    columns[10:20, 5:25] = 0.071
    top = covered(column_boxes(columns, grid(columns), 0.0), grid(columns))
    assert ((top > 0) == (columns > 0)).all()
    assert (top >= columns - 1e-9).all()
    assert (top - columns).max() < 0.01


def test_a_level_block_is_one_box_to_the_edge_of_the_map() -> None:
    columns = np.zeros((40, 30))
    columns[35:, 10:] = 0.05
    assert len(column_boxes(columns, grid(columns), 0.0)) == 1
    assert column_boxes(np.zeros((40, 30)), grid(columns), 0.0) == ()


def test_a_gap_of_one_cell_between_two_things_stays_open() -> None:
    columns = np.zeros((40, 30))
    columns[10:20], columns[21:30] = 0.05, 0.055
    top = covered(column_boxes(columns, grid(columns), 0.0), grid(columns))
    assert not top[20].any()


def test_the_rim_of_the_thing_itself_is_no_obstacle_but_a_higher_neighbour_that_touches_it_is() -> None:
    thing = np.array([[0.2 + CELL * i, -0.1 + CELL * j, 0.05] for i in range(10, 15) for j in range(10, 15)])
    thing[:, :2] += CELL / 2
    columns = np.zeros((40, 30))
    columns[9, 10:15] = 0.048
    columns[15, 10:15] = 0.09
    columns[16, 10:15] = 0.048
    left = without_own(grid(columns), columns, thing)
    assert not left[9].any()
    assert (left[15, 10:15] == 0.09).all()
    assert (left[16, 10:15] == 0.048).all()


def test_cells_count_as_near_as_far_as_the_hand_reaches() -> None:
    near = within_hand(grid(np.zeros((140, 240))), np.array([[0.5, 0.0, 0.1], [0.52, 0.0, 0.1]]))
    xs, ys = grid(np.zeros((140, 240))).centres()
    assert not near[xs > 0.52 + HAND_REACH].any()
    assert near[np.abs(xs - 0.51) < 0.1][:, np.abs(ys) < 0.1].all()
