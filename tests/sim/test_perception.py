"""Simulated perception: truth from ids, blurred as documented."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests.refusals import refused
from toolhand.sim.camera.ray import make_camera, scene_camera
from toolhand.sim.perception import PerceptionNoise, SimPerception
from toolhand.sim.scene.clutter import clutter_scene
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import Scene, footprint, gap
from toolhand.sim.world import World
from toolhand.tool_nodes.geometry import backproject, pixel, transform
from toolhand.tool_nodes.perception.masks import inner_point
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.types import BoolArray, Frame

EXACT = PerceptionNoise(point_jitter_px=0.0, mask_noise_px=0.0, depth_noise=0.0)


@cache
def make_image(seed: int = 0) -> tuple[Scene, Frame]:
    scene = generate_scene(seed)
    world = World(scene)
    return scene, make_camera("ray", world.model, world.data, scene_camera(), world.body_index, seed=seed).capture()


def seen(scene: Scene, frame: Frame) -> list[tuple[int, BoolArray]]:
    assert frame.ids is not None
    masks = [(k, frame.ids == k) for k in range(len(scene.objects))]
    found = [(k, mask) for k, mask in masks if np.count_nonzero(mask) >= 80]
    assert found, "nothing is in the picture"
    return found


def iou(a: BoolArray, b: BoolArray) -> float:
    return float(np.count_nonzero(a & b) / np.count_nonzero(a | b))


@pytest.mark.parametrize("seed", range(3))
def test_every_visible_object_is_seen_where_it_is(seed: int) -> None:
    scene, frame = make_image(seed)
    views = SimPerception(scene).views(frame)
    visible = seen(scene, frame)
    assert [view.name for view in views] == [scene.objects[k].item for k, _ in visible]
    for view, (k, mask) in zip(views, visible, strict=True):
        u, v = pixel(view.point, frame.size)
        assert mask[v, u]
        assert np.linalg.norm(view.position_m - scene.objects[k].position_m) < 0.02
        assert abs(view.size_m[2] - scene.objects[k].asset.size_m[2]) < 0.012


@pytest.mark.parametrize("seed", [5017, 5021])
def test_what_is_as_flat_as_a_ruler_or_a_card_is_seen_too(seed: int) -> None:
    scene = clutter_scene("single", seed)
    (placed,) = scene.objects
    assert placed.asset.size_m[2] < 0.008
    world = World(scene)
    frame = make_camera("ray", world.model, world.data, scene_camera(), world.body_index, seed=seed).capture()
    assert frame.ids is not None
    (found,) = SimPerception(scene, EXACT).masks_at(frame, [inner_point(frame.ids == 0)])
    assert (found.mask == (frame.ids == 0)).all()
    (view,) = SimPerception(scene, EXACT).views(frame)
    assert np.linalg.norm(view.position_m - placed.position_m) < 0.01


def test_without_noise_masks_are_the_truth() -> None:
    scene, frame = make_image()
    perception = SimPerception(scene, EXACT)
    for _, mask in seen(scene, frame):
        found = perception.masks_at(frame, [inner_point(mask)])[0]
        assert np.array_equal(found.mask, mask)
        assert found.score == 1.0


def test_mask_noise_moves_the_outline_by_at_most_a_pixel_and_the_score_predicts_the_iou() -> None:
    scene, frame = make_image()
    assert frame.ids is not None
    perception = SimPerception(scene, PerceptionNoise(mask_noise_px=1.0), seed=1)
    exact = 0
    for k, mask in seen(scene, frame):
        found = perception.masks_at(frame, [inner_point(mask)])[0]
        exact += np.array_equal(found.mask, mask)
        assert found.score == pytest.approx(iou(found.mask, mask), abs=0.03)
        assert found.score > 0.75
        assert not np.any(found.mask & (frame.ids >= 0) & (frame.ids != k))
        v, u = np.nonzero(found.mask)
        rows, columns = np.clip(v[:, None] + [0, 1, -1, 0, 0], 0, 479), np.clip(u[:, None] + [0, 0, 0, 1, -1], 0, 639)
        assert mask[rows, columns].any(axis=1).all()
    assert exact == 0


def test_points_scatter_as_documented_and_stay_on_the_object() -> None:
    scene, frame = make_image()
    noise = PerceptionNoise(point_jitter_px=1.5, mask_noise_px=0.0)
    name = scene.objects[0].item
    mask = seen(scene, frame)[0][1]
    middle = np.array(inner_point(mask)) * frame.size
    points = np.array([SimPerception(scene, noise, seed).points(frame, name)[0] for seed in range(14)]) * frame.size
    assert all(mask[int(v), int(u)] for u, v in points)
    spread = np.sqrt(np.mean((points - middle) ** 2))
    assert 0.9 < spread < 2.3


def test_the_miss_rate_is_the_share_of_objects_that_are_not_found() -> None:
    scene, frame = make_image()
    counts = [len(SimPerception(scene, PerceptionNoise(miss_rate=0.4), seed).views(frame)) for seed in range(12)]
    total = 12 * len(seen(scene, frame))
    assert 0.45 < sum(counts) / total < 0.75
    assert SimPerception(scene, PerceptionNoise(miss_rate=1.0)).views(frame) == []


def test_depth_noise_grows_with_the_square_of_the_distance() -> None:
    scene, frame = make_image()
    depth, focal = SimPerception(scene, PerceptionNoise(depth_noise=0.002)).depth(frame)
    error = (depth - frame.depth)[np.isfinite(frame.depth)]
    z = frame.depth[np.isfinite(frame.depth)]
    assert focal == frame.K[0, 0]
    assert np.std(error / z**2) == pytest.approx(0.002, rel=0.02)
    assert abs(np.mean(error)) < 1e-4


def test_the_same_seed_and_image_give_the_same_answers_in_any_order() -> None:
    scene, frame = make_image()
    one, other = SimPerception(scene, seed=3), SimPerception(scene, seed=3)
    other.depth(frame)
    other.points(frame, "everything")
    assert [view.point for view in one.views(frame)] == [view.point for view in other.views(frame)]
    assert np.array_equal(one.depth(frame)[0], other.depth(frame)[0], equal_nan=True)
    assert [view.point for view in SimPerception(scene, seed=4).views(frame)] != [v.point for v in one.views(frame)]


def test_an_object_with_few_visible_pixels_is_not_seen() -> None:
    scene, frame = make_image()
    assert frame.ids is not None
    ids = frame.ids.copy()
    v, u = np.nonzero(ids == 0)
    ids[v[79:], u[79:]] = -1
    names = [view.name for view in SimPerception(scene).views(replace(frame, ids=ids))]
    assert len(names) == len(seen(scene, frame)) - 1


def test_an_image_without_ids_is_unavailable() -> None:
    scene, frame = make_image()
    bare = replace(frame, ids=None)
    for ask in (lambda p: p.views(bare), lambda p: p.points(bare, "box"), lambda p: p.masks_at(bare, [(0.5, 0.5)])):
        with refused(ErrorCode.IMAGE_UNUSABLE, "no object ids"):
            ask(SimPerception(scene))


def test_words_find_objects_and_free_space() -> None:
    scene, frame = make_image(1)
    perception = SimPerception(scene)
    names = [placed.item for placed in scene.objects]
    alone = next(k for k, placed in enumerate(scene.objects) if names.count(placed.item) == 1)
    (point,) = perception.points(frame, f"free table next to the {names[alone]}")
    u, v = pixel(point, frame.size)
    cloud = transform(frame.T_base_camera, backproject(frame.depth, frame.K)).reshape(*frame.depth.shape, 3)
    corner = 0.02 * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    assert 0.0 < gap(cloud[v, u, :2].astype(float) + corner, footprint(scene.objects[alone])) < 0.15
    with refused(ErrorCode.NOT_RECOGNISED):
        perception.points(frame, "grand piano")


def test_free_table_has_no_mask() -> None:
    scene, frame = make_image()
    with refused(ErrorCode.EMPTY_MASK):
        SimPerception(scene).masks_at(frame, [(0.99, 0.99)])


@pytest.mark.parametrize(
    "wrong", [{"miss_rate": 1.2}, {"mask_noise_px": 2.0}, {"point_jitter_px": -1.0}, {"depth_noise": float("nan")}]
)
def test_noise_out_of_range_is_refused_with_what_is_allowed(wrong: dict[str, float]) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, "must be"):
        PerceptionNoise(**wrong)
