"""What a lift took from the table, told from painted images of a camera that looks straight down."""

import numpy as np
import pytest
from scipy import ndimage

from toolhand.tool_nodes.geometry import intrinsics, pose
from toolhand.tool_nodes.perception.lifted import Lift, what_was_lifted
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame, GraspTarget

SHAPE = (240, 320)
HAND = np.array([0.2, 0.5, 0.5])
RED, GREEN, DARK_GREEN = (200, 40, 40), (90, 190, 80), (60, 160, 40)
SegmentedObject = tuple[tuple[int, int, int, int], float, tuple[int, int, int]]
"""Rows and columns (first, end, first, end) [px], height [m], colour."""
TARGET: SegmentedObject = (100, 124, 120, 144), 0.05, RED
NEIGHBOUR: SegmentedObject = (100, 124, 148, 172), 0.06, GREEN


def mask_of(item: SegmentedObject) -> BoolArray:
    mask = np.zeros(SHAPE, bool)
    top, bottom, left, right = item[0]
    mask[top:bottom, left:right] = True
    return mask


def make_image(*objects: SegmentedObject, seed: int | None = None) -> Frame:
    """A table 1 m below the camera; with a seed, the depth has correlated noise of 4 mm and holes."""
    depth, rgb = np.ones(SHAPE, np.float32), np.full((*SHAPE, 3), 120, np.uint8)
    for item in objects:
        _, height, colour = item
        depth[mask_of(item)] = 1.0 - height
        rgb[mask_of(item)] = colour
    if seed is not None:
        rng = np.random.default_rng(seed)
        noise = ndimage.uniform_filter(rng.normal(size=SHAPE), 5)
        depth += (0.004 * noise / noise.std()).astype(np.float32)
        depth[rng.random(SHAPE) < 0.05] = np.nan
    T: FloatArray = pose(np.diag([1.0, -1.0, -1.0]), (0.5, 0.0, 1.0))
    return Frame(rgb, depth, intrinsics(330.0, SHAPE[1], SHAPE[0]), T, 0.0)


def looked(before: Frame, after: Frame, pointed: bool = True) -> Lift:
    middle = ((132.5 / SHAPE[1], 112.5 / SHAPE[0]),) if pointed else ()
    return what_was_lifted(before, after, GraspTarget(mask_of(TARGET), middle), HAND)


def test_a_neighbour_that_has_toppled_was_not_lifted_though_it_is_lit_otherwise_now() -> None:
    lying: SegmentedObject = (100, 124, 150, 180), 0.02, DARK_GREEN
    lift = looked(make_image(TARGET, NEIGHBOUR), make_image(lying))
    assert lift.stays is None
    assert lift.beside is None


def test_a_neighbour_that_is_nowhere_any_more_was_lifted_too() -> None:
    lift = looked(make_image(TARGET, NEIGHBOUR), make_image())
    assert lift.beside is not None
    x, y = lift.beside
    assert mask_of(NEIGHBOUR)[int(y * SHAPE[0]), int(x * SHAPE[1])]


def test_a_neighbour_that_has_turned_a_little_in_its_place_was_not_lifted() -> None:
    turned: SegmentedObject = NEIGHBOUR[0], NEIGHBOUR[1] - 0.01, RED
    assert looked(make_image(TARGET, NEIGHBOUR), make_image(turned)).beside is None


@pytest.mark.parametrize("pointed", [True, False])
def test_a_neighbour_that_has_fallen_to_where_the_target_was_does_not_stand_for_it(pointed: bool) -> None:
    before = make_image(TARGET, NEIGHBOUR)
    fallen: SegmentedObject = (104, 128, 126, 150), 0.07, DARK_GREEN
    assert looked(before, make_image(fallen), pointed).stays is None
    assert looked(before, make_image(TARGET, fallen), pointed=False).stays is not None


@pytest.mark.parametrize("pointed", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_noise_and_holes_of_the_depth_change_no_verdict(seed: int, pointed: bool) -> None:
    before = make_image(TARGET, NEIGHBOUR, seed=seed)
    gone = looked(before, make_image(NEIGHBOUR, seed=seed + 100), pointed)
    assert gone.stays is None
    assert gone.beside is None
    assert looked(before, make_image(TARGET, NEIGHBOUR, seed=seed + 200), pointed).stays is not None
    assert looked(before, make_image(TARGET, seed=seed + 300), pointed).stays is not None
    assert looked(before, make_image(seed=seed + 400), pointed).beside is not None


BOWL_FLOOR: SegmentedObject = (104, 120, 124, 140), 0.009, RED


@pytest.mark.parametrize("seed", range(5))
def test_a_floor_as_low_as_the_table_does_not_stand_for_a_bowl_that_is_gone(seed: int) -> None:
    """The middle of a bowl is pointed at, where the table comes into view a few millimetres lower."""
    before = make_image(TARGET, BOWL_FLOOR, seed=seed)
    assert looked(before, make_image(seed=seed + 100)).stays is None
    assert looked(before, make_image(TARGET, BOWL_FLOOR, seed=seed + 200)).stays is not None


def test_an_edge_that_the_camera_widens_is_no_neighbour_of_what_was_lifted() -> None:
    (top, bottom, left, right), height, colour = TARGET
    widened: SegmentedObject = (top - 8, bottom + 8, left - 8, right + 8), height, colour
    lift = looked(make_image(widened), make_image())
    assert lift.stays is None
    assert lift.beside is None


def test_the_half_of_an_object_that_its_mask_leaves_out_was_not_lifted_beside_it() -> None:
    (top, bottom, left, right), height, colour = TARGET
    whole: SegmentedObject = (top, bottom, left, right + 30), height, colour
    assert looked(make_image(whole), make_image()).beside is None


def test_a_neighbour_is_missed_though_another_object_was_pushed_aside_meanwhile() -> None:
    blue: SegmentedObject = (100, 130, 200, 240), 0.08, (40, 60, 200)
    (top, bottom, left, right), height, colour = blue
    pushed: SegmentedObject = (top + 12, bottom + 12, left + 12, right + 12), height, colour
    lift = looked(make_image(TARGET, NEIGHBOUR, blue), make_image(pushed))
    assert lift.beside is not None
    x, y = lift.beside
    assert mask_of(NEIGHBOUR)[int(y * SHAPE[0]), int(x * SHAPE[1])]


def test_what_was_pushed_a_little_where_something_else_was_lifted_still_stands() -> None:
    (top, bottom, left, right), height, colour = TARGET
    leaning: SegmentedObject = (top + 5, bottom + 5, left + 5, right + 5), height - 0.012, colour
    lift = looked(make_image(TARGET, NEIGHBOUR), make_image(leaning))
    assert lift.stays is not None


@pytest.mark.parametrize("seed", range(3))
def test_the_upper_of_two_equal_objects_was_lifted_though_the_lower_one_looks_like_it(seed: int) -> None:
    lower: SegmentedObject = TARGET[0], TARGET[1] - 0.02, TARGET[2]
    assert looked(make_image(TARGET, NEIGHBOUR, seed=seed), make_image(lower, NEIGHBOUR, seed=seed + 100)).stays is None


def test_a_low_neighbour_of_another_colour_where_the_target_stood_is_not_the_target() -> None:
    before = make_image(TARGET, NEIGHBOUR)
    fallen: SegmentedObject = (98, 126, 118, 146), TARGET[1] + 0.002, GREEN
    assert looked(before, make_image(fallen)).stays is None
