"""Each term of the noise model alone has the property that only it has."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from toolhand.sim.camera.sensor import View, calibrated, measured, unit_of
from toolhand.sim.camera.sensors.noise import TERMS
from toolhand.sim.camera.sensors.presets import AZURE_KINECT, CLEAN, HARD, REALSENSE_D435
from toolhand.sim.camera.sensors.unit import RgbdSensor
from toolhand.tool_nodes.geometry import intrinsics
from toolhand.tool_nodes.results import ToolError

SIZE = (320, 240)
K = intrinsics(330.0, *SIZE)
BLOCK = (slice(80, 160), slice(120, 200))

DEPTH_TERMS = ("quantisation", "noise", "pattern", "bias", "multipath", "fattening", "flying")
HOLE_TERMS = ("shadow", "edges", "dropout", "range")
COLOUR_TERMS = ("exposure", "colour_noise", "blur", "jpeg")


def block_before_a_wall() -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """A red block 0.8 m away before a grey wall at 1 m."""
    rgb = np.full((240, 320, 3), 150, dtype=np.uint8)
    depth = np.ones((240, 320), dtype=np.float32)
    rgb[BLOCK], depth[BLOCK] = (190, 40, 40), 0.8
    return rgb, depth


def look(
    sensor: RgbdSensor, seed: int = 0, image: int = 0, view: View | None = None
) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    return measured(
        unit_of(sensor, seed, "scene"), *block_before_a_wall(), np.random.default_rng(image), view or View(K)
    )


EVERYTHING = replace(HARD, bias_m=0.01, multipath=0.1, edges=0.3)


@pytest.mark.parametrize("term", TERMS)
def test_a_term_alone_changes_what_it_is_about_and_nothing_else(term: str) -> None:
    alone = EVERYTHING.only(term)
    assert alone.terms() == (term,)
    view = View(K, np.ones((240, 320), dtype=bool)) if term == "dropout" else View(K)
    if term == "range":
        alone = replace(alone, near_m=0.9)
    (rgb, depth), (ideal_rgb, ideal) = look(alone, view=view), block_before_a_wall()
    assert rgb.shape == ideal_rgb.shape
    assert rgb.dtype == np.uint8
    assert depth.shape == ideal.shape
    assert depth.dtype == np.float32
    assert np.isnan(depth).any() == (term in HOLE_TERMS)
    assert np.array_equal(rgb, ideal_rgb) == (term not in COLOUR_TERMS)
    seen = np.isfinite(depth)
    if term == "quantisation":
        steps = alone.focal_px * alone.baseline_m / depth / alone.subpixel_px
        assert np.allclose(depth, ideal, atol=0.003)  # a step of 1/32 px at 1 m is 1.4 mm
        assert np.abs(steps - np.rint(steps)).max() < 0.5
    elif term not in DEPTH_TERMS:
        assert np.array_equal(depth[seen], ideal[seen])
    else:
        assert not np.array_equal(depth, ideal)
    K_reported, T = calibrated(unit_of(alone, 3, "scene"), K, np.eye(4))
    assert np.array_equal(K_reported, K) == (term != "intrinsics")
    assert np.array_equal(T, np.eye(4)) == (term != "hand_eye")


def test_an_unknown_term_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ToolError, match="There is no noise term 'fog': it must be one of quantisation, "):
        HARD.only("fog")


def test_depth_that_is_quantised_comes_in_steps_of_the_disparity_and_of_the_unit() -> None:
    sensor = RgbdSensor(subpixel_px=1.0 / 8.0, focal_px=330.0)
    rgb, _ = block_before_a_wall()
    ramp = np.broadcast_to(np.linspace(0.7, 1.3, 320, dtype=np.float32), (240, 320)).copy()
    _, depth = measured(unit_of(sensor, 0, "scene"), rgb, ramp.copy(), np.random.default_rng(0), View(K))
    disparity = 330.0 * 0.05 / depth * 8.0
    assert np.allclose(disparity, np.rint(disparity), atol=1e-3)
    assert len(np.unique(depth)) == len(np.unique(np.rint(330.0 * 0.05 / ramp * 8.0)))
    _, depth = measured(
        unit_of(RgbdSensor(unit_m=0.001), 0, "scene"), rgb, ramp.copy(), np.random.default_rng(0), View(K)
    )
    assert np.allclose(depth * 1000.0, np.rint(depth * 1000.0), atol=1e-3)


def test_the_noise_of_depth_is_as_wide_as_the_matching_window_and_another_in_each_image() -> None:
    sensor = RgbdSensor(disparity_px=0.08, focal_px=447.0, window_px=7.0 * 447.0 / 330.0)
    error = [look(sensor, image=k)[1] - block_before_a_wall()[1] for k in range(2)]
    wall = error[0][170:, :]
    assert wall.std() == pytest.approx(0.08 / (447.0 * 0.05), rel=0.15)
    inside = np.corrcoef(wall[:, :-2].ravel(), wall[:, 2:].ravel())[0, 1]
    beyond = np.corrcoef(wall[:, :-10].ravel(), wall[:, 10:].ravel())[0, 1]
    assert inside > 0.6
    assert abs(beyond) < 0.15
    assert abs(np.corrcoef(error[0].ravel(), error[1].ravel())[0, 1]) < 0.1


def test_a_systematic_error_is_the_same_in_every_image_and_another_in_every_station() -> None:
    sensor = RgbdSensor(bias_m=0.011, bias_share=0.001)
    shift = [look(sensor, seed, image)[1][0, 0] - 1.0 for seed, image in ((0, 0), (0, 1), (1, 0))]
    assert shift[0] == shift[1] != shift[2]
    assert all(abs(value) <= 0.012 for value in shift)


def test_fattening_lets_what_is_near_grow_and_never_what_is_behind() -> None:
    _, depth = look(RgbdSensor(fattening_px=3.0, focal_px=330.0, window_px=3.0))
    near = depth < 0.9
    assert near[BLOCK].all()
    rows, columns = np.nonzero(near)
    assert near.sum() > 80 * 80 + 400
    assert rows.min() >= 77
    assert rows.max() <= 162
    assert columns.min() >= 117
    assert columns.max() <= 202


def test_flying_pixels_lie_between_two_surfaces_and_beside_a_jump() -> None:
    _, depth = look(RgbdSensor(flying=0.5))
    between = (depth > 0.801) & (depth < 0.999)
    rows, columns = np.nonzero(between)
    assert 100 < between.sum() < 640
    assert rows.min() >= 79
    assert rows.max() <= 160
    assert columns.min() >= 119
    assert columns.max() <= 200


def test_the_stereo_shadow_is_as_wide_as_the_difference_of_the_disparities_and_left_of_an_object() -> None:
    _, depth = look(RgbdSensor(shadow=1.0, baseline_m=0.12))
    hidden = np.isnan(depth)
    expected = 330.0 * 0.12 * (1.0 / 0.8 - 1.0)  # 9.9 px
    assert hidden[100].sum() == pytest.approx(expected, abs=1.0)
    assert hidden[100, 111:120].all()
    assert not hidden[100, 120:].any()
    assert not hidden[:80].any()
    assert not hidden[160:].any()
    assert not np.isnan(look(AZURE_KINECT.only("shadow"))[1]).any()


def test_what_is_dark_glossy_clear_or_seen_at_a_grazing_angle_has_holes_and_a_dull_wall_has_none() -> None:
    rgb, wall = block_before_a_wall()
    clear = np.zeros((240, 320), dtype=bool)
    rgb[:, :] = 150
    rgb[:60, :60], rgb[60:120, :60], clear[120:180, :60] = 3, 255, True
    sensor = RgbdSensor(dark=0.8, glossy=0.8, clear=0.8, grazing=0.8)
    wall[:] = 1.0
    wall[:, 200:] += np.arange(120, dtype=np.float32) * 0.02  # steep: 80 degrees
    _, depth = measured(unit_of(sensor, 0, "scene"), rgb, wall, np.random.default_rng(0), View(K, clear))
    holes = np.isnan(depth)
    for name, part in {"dark": holes[:60, :60], "glossy": holes[60:120, :60], "clear": holes[120:180, :60]}.items():
        assert part.mean() > 0.5, name
    assert holes[:, 210:].mean() > 0.1
    assert not holes[:, 62:198].any()


def test_multipath_makes_a_concave_place_seem_deeper_and_leaves_a_wall_alone() -> None:
    rgb, wall = block_before_a_wall()
    wall[:] = 1.0
    corner = wall + (0.3 - 0.002 * np.abs(np.arange(320, dtype=np.float32) - 160.0))
    sensor = unit_of(RgbdSensor(multipath=0.1, focal_px=330.0), 0, "scene")
    _, flat = measured(sensor, rgb, wall.copy(), np.random.default_rng(0), View(K))
    _, deep = measured(sensor, rgb, corner.copy(), np.random.default_rng(0), View(K))
    assert np.abs(flat - wall).max() < 1e-5
    assert (deep - corner)[120, 160] > 0.001
    assert (deep - corner).min() > -1e-5
    assert abs((deep - corner)[120, 40]) < 1e-4


def test_exposure_and_white_balance_are_of_the_device_and_noise_is_of_the_image() -> None:
    lit = [look(HARD.only("exposure"), seed, image)[0] for seed, image in ((0, 0), (0, 1), (1, 0))]
    assert np.array_equal(lit[0], lit[1])
    assert not np.array_equal(lit[0], lit[2])
    noisy = [look(HARD.only("colour_noise"), 0, image)[0].astype(int) for image in range(2)]
    assert not np.array_equal(noisy[0], noisy[1])
    assert abs(noisy[0][:, :100].mean() - 150.0) < 0.5
    assert 0.5 < noisy[0][:, :100].std() < 8.0


def test_blur_keeps_flat_parts_and_softens_an_edge() -> None:
    rgb, _ = look(RgbdSensor(blur_px=2.0))
    assert (rgb[:70, :] == 150).all()
    assert 42 < rgb[120, 120, 1] < 148


def test_the_clean_sensor_measures_the_ideal_image() -> None:
    (rgb, depth), (ideal_rgb, ideal) = look(CLEAN), block_before_a_wall()
    assert np.array_equal(rgb, ideal_rgb)
    assert np.array_equal(depth, ideal)


def test_where_nothing_is_there_is_no_depth_and_no_warning() -> None:
    rgb = np.zeros((240, 320, 3), dtype=np.uint8)
    for sensor in (EVERYTHING, AZURE_KINECT, REALSENSE_D435, CLEAN):
        empty = np.full((240, 320), np.inf, dtype=np.float32)
        with np.errstate(all="raise"):
            _, depth = measured(unit_of(sensor, 0, "scene"), rgb, empty, np.random.default_rng(0), View(K))
        assert np.isnan(depth).all()


@pytest.mark.parametrize("sensor", [EVERYTHING, AZURE_KINECT], ids=["hard", "azure_kinect"])
def test_the_same_seed_and_image_give_the_same_bytes(sensor: RgbdSensor) -> None:
    images = [look(sensor, 4, 7) for _ in range(2)]
    assert images[0][0].tobytes() == images[1][0].tobytes()
    assert images[0][1].tobytes() == images[1][1].tobytes()
    assert look(sensor, 4, 8)[1].tobytes() != images[0][1].tobytes()
