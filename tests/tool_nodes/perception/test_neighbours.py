"""Things that stand side by side and touch: told apart by a line between their footprints, or not named at all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sim.camera.ray import jittered, make_camera, scene_camera
from sim.scene.generator import generate_scene
from sim.scene.scenes import Scene
from sim.tasks.crowds import crowded_scene
from sim.world import World
from tool_nodes.language.referring import refer
from tool_nodes.perception.pixels import PixelPerception
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import Frame, ObjectView


def picture(scene: Scene) -> tuple[Frame, Frame]:
    """(with ids, as a real camera gives it)."""
    world = World(scene)
    model = jittered(scene_camera(), scene)
    lamp = np.asarray(scene.light_position_m)
    frame = make_camera("ray", world.model, world.data, model, world.body_index, seed=1, lamp_position=lamp).capture()
    return frame, replace(frame, ids=None)


@pytest.mark.parametrize("seed", [0, 6, 10, 15])
def test_two_that_stand_0_to_2_mm_apart_are_two_things_with_their_names(seed: int) -> None:
    scene = crowded_scene(seed)
    true, frame = picture(scene)
    perception = PixelPerception()
    for k, placed in enumerate(scene.objects[:2]):
        points = perception.points(frame, placed.item)
        assert len(points) == 1
        assert true.ids is not None
        mask = perception.masks_at(frame, points)[0].mask
        own = true.ids == k
        assert np.count_nonzero(mask & own) > 0.75 * np.count_nonzero(mask | own), placed.item


def test_three_in_a_row_are_three_things() -> None:
    scene = crowded_scene(5)
    names = {view.name for view in PixelPerception().views(picture(scene)[1])}
    assert {placed.item for placed in scene.objects} <= names


def test_what_stands_alone_stays_one_thing() -> None:
    scene = generate_scene(3)
    views = PixelPerception().views(picture(scene)[1])
    assert sorted(view.name for view in views) == sorted(placed.item for placed in scene.objects)


def view(name: str, several: bool = False, x: float = 0.3) -> ObjectView:
    size, position = np.full(3, 0.06), np.array([0.5, 0.0, 0.03])
    kind = name.split()[-1]
    colour = name.split()[0]
    return ObjectView(name, kind, colour, (), (), (), (x, 0.5), position, size, several=several)


def test_a_description_is_ambiguous_beside_things_that_could_not_be_told_apart() -> None:
    views = [view("red ball"), view("green long object", several=True, x=0.7)]
    assert refer("red ball", views) == [0]
    for phrase in ("ball", "red thing", "green thing", "green long object", "the thing next to the ball"):
        with pytest.raises(ToolError, match=r"what stands at \(0\.70, 0\.50\) may be several things") as caught:
            refer(phrase, views)
        assert caught.value.code is ErrorCode.AMBIGUOUS
    with pytest.raises(ToolError, match=r"no 'lemon' here; .*several things that touch") as caught:
        refer("lemon", views)
    assert caught.value.code is ErrorCode.OBJECT_NOT_FOUND
    assert refer("ball", [views[0], view("green box")]) == [0]


def test_what_is_taken_for_nothing_known_may_be_several_things() -> None:
    """With no product known, nothing can be taken apart: the row is one thing that says so, the others are single."""
    scene = crowded_scene(0)
    views = PixelPerception(items=[]).views(picture(scene)[1])
    assert [view.several for view in views].count(True) == 1
