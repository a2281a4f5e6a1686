"""Perception from pixels on rendered scenes: what is seen, where, and what it is taken for."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage

from tests.refusals import refused
from toolhand.sim.camera.ray import make_camera, scene_camera
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import PlacedObject, Scene
from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tasks.tasks import random_task
from toolhand.sim.world import World
from toolhand.tool_nodes.catalogue import load_catalogue
from toolhand.tool_nodes.geometry import rotation_z
from toolhand.tool_nodes.perception.colours import name_colour, shade_and_misfit
from toolhand.tool_nodes.perception.extents import Extents
from toolhand.tool_nodes.perception.frames import fill_holes
from toolhand.tool_nodes.perception.masks import dilated, eroded, expected_iou, filled, grown, inner_point
from toolhand.tool_nodes.perception.pixels import PixelPerception
from toolhand.tool_nodes.perception.recognition import Look, Recogniser
from toolhand.tool_nodes.perception.surface import find_surface
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.types import BoolArray, Frame, ObjectView

SEEDS = range(5)
PERCEPTION = PixelPerception()


def image_of(scene: Scene, seed: int = 0) -> Frame:
    world = World(scene)
    lamp = np.asarray(scene.light_position_m)
    camera = make_camera(
        "ray", world.model, world.data, scene_camera(), world.body_index, seed=seed, lamp_position=lamp
    )
    return camera.capture()


@cache
def make_image(seed: int) -> tuple[Scene, Frame]:
    scene = generate_scene(seed)
    return scene, image_of(scene, seed)


def arranged(*items: tuple[str, float, float, float]) -> tuple[Scene, Frame]:
    """A scene of (item, x, y, height of its foot)."""
    catalogue = load_catalogue()
    objects = tuple(
        PlacedObject(f"thing_{k}", name, (x, y, foot + catalogue[name].size_m[2] / 2), 0.4)
        for k, (name, x, y, foot) in enumerate(items)
    )
    scene = replace(generate_scene(0, n_objects=1), objects=objects)
    return scene, image_of(scene)


def truth(scene: Scene, frame: Frame) -> list[tuple[PlacedObject, BoolArray]]:
    assert frame.ids is not None
    masks = [(placed, frame.ids == k) for k, placed in enumerate(scene.objects)]
    found = [(placed, mask) for placed, mask in masks if np.count_nonzero(mask) >= 80]
    assert found, "nothing is in the picture"
    return found


def iou(a: BoolArray, b: BoolArray) -> float:
    return float(np.count_nonzero(a & b) / np.count_nonzero(a | b))


def view_on(views: list[ObjectView], frame: Frame, mask: BoolArray) -> ObjectView | None:
    """The view whose point lies on a mask."""
    height, width = mask.shape
    return next((view for view in views if mask[int(view.point[1] * height), int(view.point[0] * width)]), None)


@pytest.mark.parametrize(
    "seed",
    [pytest.param(121, id="baseball"), pytest.param(123, id="clear bin"), pytest.param(130, id="orange")],
)
def test_a_small_image_shows_the_same_objects_as_a_large_one(seed: int) -> None:
    scene = random_task(seed, "pick_and_place").scene
    config = StationConfig(perception="pixels", seed=seed)
    stations = [Station(scene, replace(config, image_size=size)) for size in ((640, 480), (320, 240))]
    large, small = ([view.name for view in PERCEPTION.views(each.camera.capture())] for each in stations)
    assert sorted(small) == sorted(large)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_object_is_one_view_with_its_name_and_there_are_no_others(seed: int) -> None:
    scene, frame = make_image(seed)
    seen = truth(scene, frame)
    views = PERCEPTION.views(frame)
    assert len(views) == len(seen)
    right = sum((view := view_on(views, frame, mask)) is not None and view.name == o.item for o, mask in seen)
    assert right >= len(seen) - 1


def test_names_are_right_for_nearly_all_objects_of_several_scenes() -> None:
    results = []
    for seed in SEEDS:
        scene, frame = make_image(seed)
        views = PERCEPTION.views(frame)
        results += [getattr(view_on(views, frame, mask), "name", "") == o.item for o, mask in truth(scene, frame)]
    assert np.mean(results) >= 0.92


@pytest.mark.parametrize("seed", SEEDS)
def test_a_point_on_an_object_gives_its_mask(seed: int) -> None:
    scene, frame = make_image(seed)
    for placed, mask in truth(scene, frame):
        found = PERCEPTION.masks_at(frame, [inner_point(mask)])[0]
        assert iou(found.mask, mask) > 0.9, placed.item
        assert found.score > 0.85


@pytest.mark.parametrize("seed", SEEDS)
def test_positions_and_heights_are_those_of_the_objects(seed: int) -> None:
    scene, frame = make_image(seed)
    catalogue = load_catalogue()
    for placed, mask in truth(scene, frame):
        view = view_on(PERCEPTION.views(frame), frame, mask)
        assert view is not None, placed.item
        assert np.linalg.norm(view.position_m[:2] - placed.position_m[:2]) < 0.02
        assert abs(view.size_m[2] - catalogue[placed.item].size_m[2]) < 0.012


@pytest.mark.parametrize("seed", SEEDS)
def test_a_name_points_at_every_object_of_that_name(seed: int) -> None:
    scene, frame = make_image(seed)
    assert frame.ids is not None
    for placed in scene.objects:
        points = PERCEPTION.points(frame, placed.item)
        width, height = frame.size
        hit = {int(frame.ids[int(y * height), int(x * width)]) for x, y in points}
        assert hit == {k for k, other in enumerate(scene.objects) if other.item == placed.item}


@pytest.mark.parametrize("container", ["black bin", "transparent bin", "white bowl"])
def test_a_container_and_what_stands_in_it_are_two_objects(container: str) -> None:
    scene, frame = arranged((container, 0.45, 0.0, 0.0), ("cinnamon", 0.45, 0.01, 0.0045), ("red box", 0.5, 0.25, 0.0))
    views = PERCEPTION.views(frame)
    assert sorted(view.name for view in views) == sorted([container, "cinnamon", "red box"])
    bin_mask = next(mask for placed, mask in truth(scene, frame) if placed.item == container)
    assert iou(PERCEPTION.masks_at(frame, [inner_point(bin_mask)])[0].mask, bin_mask) > 0.9


def test_a_can_on_a_box_is_two_objects() -> None:
    _, frame = arranged(("sugar box", 0.45, 0.0, 0.0), ("tuna can", 0.45, 0.0, 0.0905))
    views = {view.name: view for view in PERCEPTION.views(frame)}
    assert set(views) == {"sugar box", "tuna can"}
    assert views["tuna can"].position_m[2] == pytest.approx(0.0905 + 0.018, abs=0.006)


def test_objects_fifteen_millimetres_apart_stay_apart() -> None:
    _, frame = arranged(("cola", 0.45, 0.0, 0.0), ("lemon soda", 0.45, 0.073, 0.0))
    assert sorted(view.name for view in PERCEPTION.views(frame)) == ["cola", "lemon soda"]


def test_a_miscalibrated_camera_does_not_change_what_is_seen() -> None:
    scene, frame = make_image(1)
    T = frame.T_base_camera.copy()
    T[:3, :3] = T[:3, :3] @ rotation_z(0.006)
    T[:3, 3] += [0.004, -0.004, 0.008]
    names = sorted(view.name for view in PERCEPTION.views(replace(frame, T_base_camera=T)))
    assert names == sorted(placed.item for placed in scene.objects)


def test_the_table_is_found_where_the_camera_sees_it() -> None:
    _, frame = make_image(0)
    T = frame.T_base_camera.copy()
    T[2, 3] += 0.012
    surface = find_surface(replace(frame, T_base_camera=T))
    assert surface.table_z(0.5, 0.0) == pytest.approx(0.012, abs=0.001)


def test_heavier_sensor_noise_keeps_names_and_adds_nothing() -> None:
    scene, frame = make_image(2)
    rng = np.random.default_rng(0)
    depth = frame.depth + 0.0015 * rng.standard_normal(frame.depth.shape, dtype=np.float32)
    rgb = np.clip(frame.rgb + rng.normal(0.0, 4.0, frame.rgb.shape), 0, 255).astype(np.uint8)
    views = PERCEPTION.views(replace(frame, depth=depth, rgb=rgb))
    assert sorted(view.name for view in views) == sorted(placed.item for placed in scene.objects)


def test_without_a_catalogue_objects_are_described_by_colour_and_shape() -> None:
    _, frame = arranged(("red box", 0.45, -0.15, 0.0), ("black bin", 0.45, 0.15, 0.0))
    views = PixelPerception([]).views(frame)
    assert sorted(view.name for view in views) == ["black bin-shaped object", "red box-shaped object"]
    assert [view.container for view in views if "bin" in view.name] == [True]


def test_an_empty_table_has_no_objects_and_the_error_says_what_is_seen() -> None:
    _, frame = arranged(("red box", 0.45, 0.0, 0.0))
    floor = np.full_like(frame.depth, np.nan)
    floor[::2] = frame.depth[::2]
    bare = replace(frame, depth=np.where(frame.ids == 0, np.float32(np.nan), floor))
    assert PERCEPTION.views(bare) == []
    with refused(ErrorCode.OBJECT_NOT_FOUND, "banana", "red box"):
        PERCEPTION.points(frame, "banana")


def test_free_table_is_no_object_to_segment() -> None:
    _, frame = arranged(("red box", 0.45, 0.0, 0.0))
    with refused(ErrorCode.EMPTY_MASK):
        PERCEPTION.masks_at(frame, [(0.9, 0.9)])
    with refused(ErrorCode.INVALID_ARGUMENT):
        PERCEPTION.masks_at(frame, [])


def test_the_object_under_most_points_comes_first() -> None:
    scene, frame = make_image(0)
    (_, first), (_, second) = truth(scene, frame)[:2]
    found = PERCEPTION.masks_at(frame, [inner_point(first), inner_point(second), inner_point(second)])
    assert iou(found[0].mask, second) > 0.9
    assert iou(found[1].mask, first) > 0.9
    assert found[0].score > found[1].score


def test_an_image_without_depth_is_refused() -> None:
    _, frame = make_image(0)
    blind = replace(frame, depth=np.full_like(frame.depth, np.nan))
    with refused(ErrorCode.NO_DEPTH):
        PERCEPTION.views(blind)


def test_the_same_image_gives_the_same_views_and_ids_are_never_read() -> None:
    _, frame = make_image(3)
    again = PixelPerception().views(replace(frame, ids=None))
    assert again
    for one, other in zip(PERCEPTION.views(frame), again, strict=True):
        assert (one.name, one.point) == (other.name, other.point)
        assert np.array_equal(one.position_m, other.position_m)


def test_depth_estimate_fills_small_smooth_holes_only() -> None:
    depth = np.full((40, 40), 1.0, dtype=np.float32)
    depth[5:8, 5:8] = np.nan
    depth[20:35, 20:35] = np.nan
    depth[:, 10:] += np.float32(0.3)
    depth[30, 9:11] = np.nan
    filled = fill_holes(depth)
    assert np.all(filled[5:8, 5:8] == 1.0)
    assert np.isnan(filled[25, 25])
    assert np.all(np.isnan(filled[30, 9:11]))
    assert np.array_equal(filled[0], depth[0])


def test_the_depth_estimate_keeps_the_sensors_depth_and_focal_length() -> None:
    _, frame = make_image(0)
    depth, focal = PERCEPTION.depth(frame)
    assert focal == frame.K[0, 0]
    assert np.array_equal(depth, frame.depth, equal_nan=True)


@pytest.mark.parametrize("shade", [0.4, 0.7, 1.0])
def test_a_shaded_colour_still_matches_itself_best(shade: float) -> None:
    colours = np.array([[205, 28, 32], [30, 140, 70], [22, 36, 108], [245, 205, 35], [238, 236, 228]])
    pixels = np.rint(255 * (shade * (colours / 255) ** 2.2) ** (1 / 2.2)).astype(np.uint8)
    factors, misfit = shade_and_misfit(pixels, colours)
    assert np.array_equal(np.argmin(misfit, axis=1), np.arange(5))
    assert np.allclose(np.diag(factors), shade, atol=0.1)


@pytest.mark.parametrize(
    ("rgb", "word"),
    [
        ((205, 28, 32), "red"),
        ((22, 36, 108), "dark blue"),
        ((150, 200, 240), "light blue"),
        ((245, 205, 35), "yellow"),
        ((32, 32, 35), "black"),
        ((240, 240, 240), "white"),
        ((125, 128, 132), "grey"),
        ((105, 62, 35), "brown"),
        ((110, 35, 160), "purple"),
        ((45, 190, 185), "turquoise"),
        ((240, 110, 170), "pink"),
        ((15, 75, 45), "dark green"),
    ],
)
def test_colours_have_their_everyday_names(rgb: tuple[int, int, int], word: str) -> None:
    assert name_colour(rgb) == word


def test_the_expected_iou_of_a_large_mask_is_higher() -> None:
    small, large = np.zeros((60, 60), dtype=bool), np.zeros((60, 60), dtype=bool)
    small[10:16, 10:16] = True
    large[5:55, 5:55] = True
    assert 0.5 < expected_iou(small) < expected_iou(large) < 1.0


@pytest.mark.parametrize("seed", SEEDS)
def test_segmenting_everything_gives_the_masks_of_all_views_best_first(seed: int) -> None:
    _, frame = make_image(seed)
    found = PERCEPTION.masks(frame)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    points = [(int(y * frame.size[1]), int(x * frame.size[0])) for x, y in (v.point for v in PERCEPTION.views(frame))]
    assert len(found) == len(points)
    assert all(sum(bool(one.mask[point]) for one in found) == 1 for point in points)


def test_segmenting_before_and_after_naming_gives_the_same_masks_of_a_pile() -> None:
    scene, frame = arranged(("sugar box", 0.45, 0.0, 0.0), ("tuna can", 0.45, 0.0, 0.0905), ("cola", 0.5, 0.3, 0.0))
    for _, mask in truth(scene, frame):
        point = [inner_point(mask)]
        early, late = PixelPerception(), PixelPerception()
        late.views(frame)
        found = early.masks_at(frame, point)[0].mask
        assert np.array_equal(found, late.masks_at(frame, point)[0].mask)
        assert iou(found, mask) > 0.9
        assert any(np.array_equal(found, other.mask) for other in early.masks(frame))


MASKS = arrays(bool, st.tuples(st.integers(1, 12), st.integers(1, 12)))


@settings(max_examples=60)
@given(MASKS)
def test_the_fast_operations_on_masks_are_those_of_ndimage(mask: BoolArray) -> None:
    eight = np.ones((3, 3), dtype=bool)
    assert np.array_equal(dilated(mask), ndimage.binary_dilation(mask))
    assert np.array_equal(eroded(mask), ndimage.binary_erosion(mask))
    assert np.array_equal(dilated(mask, diagonally=True), ndimage.binary_dilation(mask, eight))
    assert np.array_equal(eroded(mask, diagonally=True), ndimage.binary_erosion(mask, eight))
    for by in (1, 4, 8):
        near = ndimage.distance_transform_edt(~mask) <= by if mask.any() else mask
        assert np.array_equal(grown(mask, by), near)
    assert np.array_equal(filled(mask), ndimage.binary_fill_holes(mask))


@pytest.fixture(scope="module")
def recogniser() -> Recogniser:
    return Recogniser(list(load_catalogue().values()))


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.booleans(), st.floats(-40.0, 0.0))
def test_looking_only_at_items_over_a_floor_finds_the_same_best_one(
    recogniser: Recogniser, seed: int, cut: bool, floor: float
) -> None:
    rng = np.random.default_rng(seed)
    item = recogniser.items[int(rng.integers(len(recogniser.items)))]
    size = np.array(item.size_m) * rng.uniform(0.85, 1.15, 3)
    sides = np.sort(size[:2])[::-1]
    extents = Extents(np.zeros(3), np.array([*sides, size[2]]), 0.0, np.zeros((4, 2)), rng.uniform(0.7, 1.0))
    noise = rng.normal(0.0, 8.0, (60, 3))
    pixels = np.clip(np.array(item.rgb) * rng.uniform(0.6, 1.0) + noise, 0, 255).astype(np.uint8)
    look = Look(extents, item.container, pixels, rng.uniform(0.0, 1.0, 60), cut)
    best = recogniser.score(look)
    if best > floor:
        assert recogniser.score(look, floor) == pytest.approx(best, abs=1e-3)
    assert (recogniser.log_likelihood(look) <= recogniser.colour_limits(pixels) + 1e-6).all()
