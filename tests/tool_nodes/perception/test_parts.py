"""Objects that stand side by side and touch are told apart, whether they are known or not."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.refusals import refused
from toolhand.bench.perception.masks import make_images
from toolhand.bench.perception.metrics import mask_iou
from toolhand.sim.camera.ray import jittered, make_camera, scene_camera
from toolhand.sim.objects.sets import find_asset
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import PlacedObject, Scene
from toolhand.sim.tasks.crowds import crowded_scene
from toolhand.sim.world import World
from toolhand.tool_nodes.language.referring import refer
from toolhand.tool_nodes.perception.masks import inner_point
from toolhand.tool_nodes.perception.pixels import PixelPerception
from toolhand.tool_nodes.perception.relief import depth_noise
from toolhand.tool_nodes.perception.surface import find_surface
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import Frame, ObjectView, PointPrompt


def make_image(scene: Scene) -> tuple[Frame, Frame]:
    """(with ids, as a real camera gives it)."""
    world = World(scene)
    model = jittered(scene_camera(), scene)
    lamp = np.asarray(scene.light_position_m)
    frame = make_camera("ray", world.model, world.data, model, world.body_index, seed=1, lamp_position=lamp).capture()
    return frame, replace(frame, ids=None)


@pytest.mark.parametrize("seed", [0, 6, 10, 15])
def test_two_that_stand_0_to_2_mm_apart_are_two_objects_with_their_names(seed: int) -> None:
    scene = crowded_scene(seed)
    true, frame = make_image(scene)
    perception = PixelPerception()
    for k, placed in enumerate(scene.objects[:2]):
        points = perception.points(frame, placed.item)
        assert len(points) == 1
        assert true.ids is not None
        mask = perception.masks_at(frame, points)[0].mask
        own = true.ids == k
        assert np.count_nonzero(mask & own) > 0.75 * np.count_nonzero(mask | own), placed.item


def test_three_in_a_row_are_three_objects() -> None:
    scene = crowded_scene(5)
    names = {view.name for view in PixelPerception().views(make_image(scene)[1])}
    assert {placed.item for placed in scene.objects} <= names


def test_what_stands_alone_stays_one_object() -> None:
    scene = generate_scene(3)
    views = PixelPerception().views(make_image(scene)[1])
    assert sorted(view.name for view in views) == sorted(placed.item for placed in scene.objects)


def view(name: str, several: bool = False, x: float = 0.3) -> ObjectView:
    size, position = np.full(3, 0.06), np.array([0.5, 0.0, 0.03])
    kind = name.split()[-1]
    colour = name.split()[0]
    return ObjectView(name, kind, colour, (), (), (), (x, 0.5), position, size, several=several)


def test_a_description_is_ambiguous_beside_objects_that_could_not_be_told_apart() -> None:
    views = [view("red ball"), view("green long object", several=True, x=0.7)]
    assert refer("red ball", views) == [0]
    for phrase in ("ball", "red thing", "green thing", "green long object", "the thing next to the ball"):
        with refused(ErrorCode.AMBIGUOUS, r"what stands at \(0\.70, 0\.50\) may be several things"):
            refer(phrase, views)
    with refused(ErrorCode.OBJECT_NOT_FOUND, r"no 'lemon' here; .*several things that touch"):
        refer("lemon", views)
    assert refer("ball", [views[0], view("green box")]) == [0]


@pytest.mark.parametrize("seed", [0, 6, 10, 15])
def test_products_that_are_not_known_come_apart_all_the_same(seed: int) -> None:
    true, frame = make_image(crowded_scene(seed))
    assert true.ids is not None
    perception = PixelPerception(items=[])
    views = perception.views(frame)
    assert not any(view.recognised for view in views)
    for k in range(2):
        own = true.ids == k
        found = perception.masks_at(frame, [inner_point(own)])[0]
        assert mask_iou(found.mask, own) > 0.75


def test_the_noise_of_the_depth_is_what_was_added_to_it() -> None:
    _, frame = make_image(generate_scene(2))
    clean = replace(frame, depth=np.round(frame.depth, 6))
    noise = 0.002 * np.random.default_rng(0).standard_normal(frame.depth.shape, dtype=np.float32)
    before = depth_noise(clean, find_surface(clean))
    noisy = replace(clean, depth=clean.depth + noise)
    after = depth_noise(noisy, find_surface(noisy))
    assert np.sqrt(after**2 - before**2) == pytest.approx(0.002, rel=0.15)


class Halved(PixelPerception):
    """Sees everything as one object or two."""

    def halves_at(self, frame: Frame, points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
        return ((0.25, 0.5), (0.75, 0.5)) if len(points) == 1 else ()


def test_a_point_on_what_may_be_two_objects_is_ambiguous_and_several_points_decide() -> None:
    true, frame = make_image(crowded_scene(0))
    assert true.ids is not None
    image = SessionImage(frame.rgb, frame)
    point = inner_point(true.ids == 0)
    with refused(ErrorCode.AMBIGUOUS, r"one about \(0.250, 0.500\), the other about \(0.750, 0.500\)"):
        Halved().segment(image, PointPrompt([point]))
    assert Halved().segment(image, PointPrompt([point, point])).value[0].mask.any()


@pytest.mark.parametrize("item", ["tube-5003", "cup-5014", "tray-5027", "tube-5034", "letter-5037", "ruler-5017"])
def test_what_is_hollow_or_of_two_colours_is_one_object(item: str) -> None:
    height = find_asset(f"generated/{item}").size_m[2]
    obj = PlacedObject("thing", f"generated/{item}", (0.48, 0.0, height / 2), 0.4)
    true, frame = make_images(replace(generate_scene(3, n_objects=1), objects=(obj,)), "realsense_d435", 3)
    assert true.ids is not None
    own = true.ids == 0
    found = PixelPerception().segment(SessionImage(frame.rgb, frame), PointPrompt([inner_point(own)])).value
    assert mask_iou(found[0].mask, own) > 0.75
