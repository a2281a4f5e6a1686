"""What hangs in the hand, told from painted images of a camera that looks straight down."""

import numpy as np
import pytest

from toolhand.tool_nodes.geometry import intrinsics, pose
from toolhand.tool_nodes.perception.hanging import Hanging, what_hangs
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame, GraspTarget

SHAPE, FOCAL = (480, 640), 660.0
LIFT_M = 0.15
T_BASE_CAMERA: FloatArray = pose(np.diag([1.0, -1.0, -1.0]), (0.5, 0.0, 1.0))
RED, GREEN = (200, 40, 40), (90, 190, 80)
PaintedBox = tuple[tuple[float, float, float, float], float, tuple[int, int, int]]
"""From and to along the image's x and y from its middle [m], height of the top [m], colour."""
TARGET: PaintedBox = (-0.03, 0.03, -0.04, 0.04), 0.05, RED
TOUCHING: PaintedBox = (0.03, 0.09, -0.01, 0.02), 0.03, GREEN
BY: PaintedBox = (-0.02, 0.02, 0.08, 0.11), 0.03, GREEN
BEYOND: PaintedBox = (0.20, 0.26, -0.04, 0.04), 0.05, GREEN


def pixels(box: PaintedBox) -> tuple[slice, slice]:
    (x0, x1, y0, y1), height, _ = box
    u0, u1, v0, v1 = (round(FOCAL * side / (1.0 - height)) for side in (x0, x1, y0, y1))
    return slice(240 + v0, 240 + v1), slice(320 + u0, 320 + u1)


def make_image(*boxes: PaintedBox, hidden: tuple[slice, slice] | None = None) -> Frame:
    """A table 1 m below the camera, painted from far to near, with the camera's noise."""
    rng = np.random.default_rng(0)
    depth, rgb = np.ones(SHAPE), np.full((*SHAPE, 3), 120, np.uint8)
    for box in sorted(boxes, key=lambda box: box[1]):
        depth[pixels(box)], rgb[pixels(box)] = 1.0 - box[1], box[2]
    depth += rng.normal(0.0, 0.0005, SHAPE)
    if hidden is not None:
        depth[hidden] = np.nan
    return Frame(rgb, depth.astype(np.float32), intrinsics(FOCAL, SHAPE[1], SHAPE[0]), T_BASE_CAMERA, 0.0)


def raised(box: PaintedBox) -> PaintedBox:
    return box[0], box[1] + LIFT_M, box[2]


def mask_of(*boxes: PaintedBox) -> BoolArray:
    mask = np.zeros(SHAPE, bool)
    for box in boxes:
        mask[pixels(box)] = True
    return mask


def looked(before: Frame, lifted: Frame, mask: BoolArray) -> Hanging:
    hand = np.array([0.5, 0.0, LIFT_M + 0.2])
    return what_hangs(before, lifted, pose(np.eye(3), (0.0, 0.0, LIFT_M)), hand, GraspTarget(mask, ((0.5, 0.5),)))


@pytest.mark.parametrize(
    ("stand", "hang", "mask", "alone", "beside"),
    [
        ((TARGET, BEYOND), (TARGET,), (TARGET,), True, False),
        ((TARGET, TOUCHING), (TARGET,), (TARGET,), True, False),
        ((TARGET, TOUCHING), (TARGET, TOUCHING), (TARGET,), False, True),
        ((TARGET, TOUCHING, BY), (TARGET, TOUCHING), (TARGET, TOUCHING), False, False),
        ((TARGET, TOUCHING), (TARGET, TOUCHING), (TARGET, TOUCHING), True, False),
        ((TARGET, TOUCHING), (TOUCHING,), (TARGET,), False, False),
        ((TARGET, BEYOND), (), (TARGET,), False, False),
    ],
    ids=[
        "the target and nothing else",
        "the target, and its neighbour stays",
        "its neighbour too",
        "a mask of two that looked like one before",
        "two parts of what stood alone",
        "its neighbour instead",
        "nothing",
    ],
)
def test_what_hangs_in_the_hand_is_told_by_its_image_there(
    stand: tuple[PaintedBox, ...],
    hang: tuple[PaintedBox, ...],
    mask: tuple[PaintedBox, ...],
    alone: bool,
    beside: bool,
) -> None:
    left = [box for box in stand if box not in hang]
    found = looked(make_image(*stand), make_image(*left, *map(raised, hang)), mask_of(*mask))
    assert (found.alone, found.beside is not None) == (alone, beside)
    if found.beside is not None:
        x, y = found.beside
        assert mask_of(TOUCHING)[int(y * SHAPE[0]), int(x * SHAPE[1])]


def test_a_target_that_the_hand_hides_is_neither_alone_nor_beside_another() -> None:
    hidden = make_image(raised(TARGET), hidden=pixels(raised(TARGET)))
    assert looked(make_image(TARGET), hidden, mask_of(TARGET)) == Hanging()


def test_a_camera_without_depth_says_nothing() -> None:
    blind = make_image(TARGET, hidden=(slice(None), slice(None)))
    assert looked(blind, make_image(raised(TARGET)), mask_of(TARGET)) == Hanging()
    assert looked(make_image(TARGET), blind, mask_of(TARGET)) == Hanging()
