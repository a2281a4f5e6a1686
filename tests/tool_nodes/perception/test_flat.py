"""Things thinner than the noise of one pixel's depth are seen by colour and mean height; shadows are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bench.perception.masks import pictures
from bench.perception.metrics import mask_iou
from sim.objects.sets import find_asset
from sim.scene.generator import generate_scene
from sim.scene.scenes import PlacedObject, Scene
from tool_nodes.perception.masks import inner_point
from tool_nodes.perception.pixels import PixelPerception
from tool_nodes.toolbox.images import SessionImage
from tool_nodes.types import PointPrompt

SENSORS = ("clean", "stereo", "realsense_d435")


def scene_with(seed: int, *items: str) -> Scene:
    """Things on a table whose colour and light come from a seed."""
    heights = [find_asset(item).size_m[2] for item in items]
    objects = [
        PlacedObject(f"thing_{k}", item, (0.48, 0.16 * k - 0.08, height / 2), 0.4)
        for k, (item, height) in enumerate(zip(items, heights, strict=True))
    ]
    return replace(generate_scene(seed, n_objects=1), objects=tuple(objects))


@pytest.mark.parametrize("sensor", SENSORS)
@pytest.mark.parametrize("item", ["generated/card-5021", "generated/lid-5005"])
def test_a_point_on_what_is_5_mm_thick_for_the_most_part_gives_its_outline(item: str, sensor: str) -> None:
    true, frame = pictures(scene_with(5021, item), sensor, 1)
    assert true.ids is not None
    own = true.ids == 0
    found = PixelPerception().segment(SessionImage(frame.rgb, frame), PointPrompt([inner_point(own)])).value
    assert mask_iou(found[0].mask, own) > 0.75


@pytest.mark.parametrize("sensor", [*SENSORS, "zed2", "hard"])
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_nothing_is_seen_on_an_empty_table(seed: int, sensor: str) -> None:
    assert PixelPerception().masks(pictures(scene_with(seed), sensor, seed)[1]) == []


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_a_shadow_is_no_thing(seed: int) -> None:
    true, frame = pictures(scene_with(seed, "red box", "mustard"), "realsense_d435", seed)
    assert true.ids is not None
    for found in PixelPerception().masks(frame):
        assert np.count_nonzero(found.mask & (true.ids >= 0)) > 0.5 * np.count_nonzero(found.mask)
