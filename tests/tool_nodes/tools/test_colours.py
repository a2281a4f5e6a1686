"""What the colours of pictures mean, as SpaceTools' appendix B.5 has it."""

from __future__ import annotations

import colorsys

import numpy as np

from tool_nodes.drawing import colourize_depth, draw_axes


def hue(colour: np.ndarray) -> float:
    """In degrees: red is 0, green 120, blue 240."""
    return 360.0 * colorsys.rgb_to_hsv(*(float(part) / 255.0 for part in colour))[0]


def test_nearer_is_cooler_all_the_way_from_purple_to_red() -> None:
    """B.5: "closer objects appear cooler (blue/purple)"."""
    ramp = np.tile(np.linspace(0.5, 2.0, 101, dtype=np.float32), (40, 1))
    picture = colourize_depth(ramp, bar=False)
    hues = [hue(colour) for colour in picture[20]]
    assert 220 < hues[0] < 300
    assert min(hues[-1], 360 - hues[-1]) < 30
    assert hues[0] > hues[25] > hues[50] > hues[75] > hues[95]


def test_the_scale_beside_a_picture_of_depth_runs_from_near_to_far_in_the_same_colours() -> None:
    ramp = np.tile(np.linspace(0.5, 2.0, 101, dtype=np.float32), (80, 1))
    picture = colourize_depth(ramp)
    scale = picture[10:70, 101 + 20]
    assert np.abs(scale[0].astype(int) - picture[0, 2]).max() < 20
    assert np.abs(scale[-1].astype(int) - picture[0, 98]).max() < 20
    assert hue(scale[0]) > hue(scale[30]) > hue(scale[-1])


def test_unknown_depth_is_black() -> None:
    depth = np.full((10, 10), np.nan, np.float32)
    assert not colourize_depth(depth).any()
    depth[5:] = 1.0
    picture = colourize_depth(depth, bar=False)
    assert not picture[:5].any()
    assert picture[5:].any(axis=2).all()


def test_the_axes_of_a_grasp_are_red_green_and_blue_in_the_order_x_y_z() -> None:
    ends = [(90.0, 50.0), (50.0, 10.0), (10.0, 50.0)]
    gripper = [(50.0, 90.0)] * 5
    picture = draw_axes(np.zeros((100, 100, 3), np.uint8), (50.0, 50.0), ends, gripper)
    for axis, (u, v) in enumerate([(80, 50), (50, 20), (20, 50)]):
        colour = picture[v, u].astype(int)
        assert int(np.argmax(colour)) == axis
        assert colour[axis] > 2 * np.delete(colour, axis).max()
