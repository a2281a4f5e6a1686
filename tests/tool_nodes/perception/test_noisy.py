"""Perception from pixels where depth is noisy and colours are too bright: sizes, colours and containers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bench.perception.masks import pictures
from sim.scene.generator import generate_scene
from sim.scene.scenes import PlacedObject
from tool_nodes.catalogue import load_catalogue
from tool_nodes.perception.colours import encoded, linear, shade_and_misfit
from tool_nodes.perception.extents import measure
from tool_nodes.perception.pixels import PixelPerception
from tool_nodes.perception.surface import Surface, firm_pixels

EYE = np.array([0.5, 0.0, 1.0])


def test_points_in_the_air_behind_an_edge_are_no_part_of_a_surface() -> None:
    v, u = np.mgrid[0:30, 0:40].astype(np.float32)
    points = np.stack([0.3 + 0.002 * u, 0.002 * v, np.full_like(u, 0.1)], axis=2)
    points[:, 39, 0] += 0.05 * np.random.default_rng(0).uniform(0.2, 1.0, 30).astype(np.float32)
    mask = np.ones(u.shape, bool)
    surface = Surface(points, np.zeros(3), mask)
    firm = firm_pixels(surface, (slice(0, 30), slice(0, 40)), mask)
    assert not firm[:, 39].any()
    assert firm[1:-1, :39].all()


def test_noise_does_not_raise_a_level_top() -> None:
    rng = np.random.default_rng(0)
    x, y = (side.ravel() for side in np.mgrid[-0.04:0.04:0.001, -0.03:0.03:0.001])
    box = np.column_stack([x + 0.5, y, np.full_like(x, 0.05)])
    inside = np.hypot(x, y) < 0.029
    ball = np.column_stack([x + 0.5, y, 0.03 + np.sqrt(np.maximum(0.03**2 - x**2 - y**2, 0.0))])[inside]
    for points, height in ((box, 0.05), (ball, 0.06)):
        exact = measure(points, 0.0, EYE).size[2]
        noisy = points + np.column_stack([np.zeros((len(points), 2)), rng.normal(0.0, 0.003 * 0.9, len(points))])
        assert abs(exact - height) < 0.001
        assert abs(measure(noisy, 0.0, EYE, rough=0.003).size[2] - height) < 0.003


def test_a_colour_that_is_too_bright_for_a_channel_is_still_that_colour() -> None:
    yellow, orange = (250, 200, 40), (250, 140, 40)
    bright = np.rint(encoded(1.25 * linear(np.array([yellow], np.uint8)))).astype(np.uint8)
    assert bright.max() == 255
    shade, misfit = shade_and_misfit(bright, [yellow, orange])
    assert misfit[0, 0] < 2.0 < 8.0 < misfit[0, 1]
    assert abs(shade[0, 0] - 1.25) < 0.02


def test_a_bin_with_clear_walls_is_known_by_its_rim_and_floor() -> None:
    size = load_catalogue()["transparent bin"].size_m
    for item in ("transparent bin", "black bin"):
        placed = PlacedObject("bin", item, (0.5, 0.05, size[2] / 2), 0.3)
        scene = replace(generate_scene(0, n_objects=1), objects=(placed,))
        (view,) = PixelPerception([]).views(pictures(scene, "realsense_d435", 0)[1])
        assert view.container
        assert (view.colour == "transparent") == (item == "transparent bin")
        np.testing.assert_allclose(np.sort(view.size_m[:2]), np.sort(size[:2]), atol=0.014)


def test_a_bin_and_what_stands_in_it_are_two_things_to_a_noisy_camera() -> None:
    height = load_catalogue()["tomato soup"].size_m[2]
    bin_ = PlacedObject("bin", "black bin", (0.5, 0.05, load_catalogue()["black bin"].size_m[2] / 2), 0.3)
    can = PlacedObject("can", "tomato soup", (0.5, 0.05, 0.005 + height / 2), 0.0)
    for objects, things in (((bin_,), 1), ((bin_, can), 2)):
        scene = replace(generate_scene(0, n_objects=1), objects=objects)
        views = PixelPerception().views(pictures(scene, "realsense_d435", 0)[1])
        assert len(views) == things, [view.name for view in views]
        assert sum(view.container for view in views) == 1
