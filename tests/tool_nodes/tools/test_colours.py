"""Colours of objects, and what hangs above the table."""

import colorsys

import numpy as np
import pytest

from toolhand.tool_nodes.drawing import colourize_depth, draw_axes
from toolhand.tool_nodes.tools.spacetools.bounding_box import oriented_box
from toolhand.tool_nodes.types import FloatArray

# -- what the colours of images mean, as SpaceTools' appendix B.5 has it -------------------------


def hue(colour: np.ndarray) -> float:
    """In degrees: red is 0, green 120, blue 240."""
    return 360.0 * colorsys.rgb_to_hsv(*(float(part) / 255.0 for part in colour))[0]


def test_nearer_is_cooler_all_the_way_from_purple_to_red() -> None:
    """B.5: "closer objects appear cooler (blue/purple)"."""
    ramp = np.tile(np.linspace(0.5, 2.0, 101, dtype=np.float32), (40, 1))
    image = colourize_depth(ramp, bar=False)
    hues = [hue(colour) for colour in image[20]]
    assert 220 < hues[0] < 300
    assert min(hues[-1], 360 - hues[-1]) < 30
    assert hues[0] > hues[25] > hues[50] > hues[75] > hues[95]


def test_the_scale_beside_an_image_of_depth_runs_from_near_to_far_in_the_same_colours() -> None:
    ramp = np.tile(np.linspace(0.5, 2.0, 101, dtype=np.float32), (80, 1))
    image = colourize_depth(ramp)
    scale = image[10:70, 101 + 20]
    assert np.abs(scale[0].astype(int) - image[0, 2]).max() < 20
    assert np.abs(scale[-1].astype(int) - image[0, 98]).max() < 20
    assert hue(scale[0]) > hue(scale[30]) > hue(scale[-1])


def test_unknown_depth_is_black() -> None:
    depth = np.full((10, 10), np.nan, np.float32)
    assert not colourize_depth(depth).any()
    depth[5:] = 1.0
    image = colourize_depth(depth, bar=False)
    assert not image[:5].any()
    assert image[5:].any(axis=2).all()


def test_the_axes_of_a_grasp_are_red_green_and_blue_in_the_order_x_y_z() -> None:
    ends = [(90.0, 50.0), (50.0, 10.0), (10.0, 50.0)]
    gripper = [(50.0, 90.0)] * 5
    image = draw_axes(np.zeros((100, 100, 3), np.uint8), (50.0, 50.0), ends, gripper)
    for axis, (u, v) in enumerate([(80, 50), (50, 20), (20, 50)]):
        colour = image[v, u].astype(int)
        assert int(np.argmax(colour)) == axis
        assert colour[axis] > 2 * np.delete(colour, axis).max()


# -- what of a mask belongs to the object: all that stands out of the table, and nothing that lies in it


def block(size: tuple[float, float, float], floor: float = 0.0, step: float = 0.004) -> FloatArray:
    """Points on the top and the four sides of a block [m] that stands at a height, every few millimetres."""
    x, y, z = (np.arange(-half, half + step / 2, step) for half in (size[0] / 2, size[1] / 2, 0.0))
    z = np.arange(floor + step, floor + size[2] + step / 2, step)
    top = [(a, b, floor + size[2]) for a in x for b in y]
    sides = [(a, b, c) for a in x for b in (y[0], y[-1]) for c in z] + [
        (a, b, c) for a in (x[0], x[-1]) for b in y for c in z
    ]
    return np.array(top + sides)


AROUND = np.random.default_rng(1).uniform(-0.25, 0.25, (3000, 3)) * (1, 1, 0)


def test_a_low_foot_belongs_to_its_object() -> None:
    """A pedestal 2 cm high under a column that has most of the points: the footprint is the pedestal's."""
    points = np.vstack([block((0.12, 0.08, 0.02)), block((0.04, 0.04, 0.10), floor=0.02, step=0.0015)])
    extent = oriented_box(points, AROUND)[1]
    assert extent == pytest.approx([0.12, 0.08, 0.12], abs=0.005)


def test_table_that_a_mask_took_along_does_not() -> None:
    spilt = np.random.default_rng(2).uniform(-0.12, 0.12, (400, 3)) * (1, 1, 0) + (0, 0, 0.003)
    extent = oriented_box(np.vstack([block((0.10, 0.06, 0.05)), spilt]), AROUND)[1]
    assert extent == pytest.approx([0.10, 0.06, 0.05], abs=0.006)
