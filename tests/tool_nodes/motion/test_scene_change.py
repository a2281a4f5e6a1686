"""Whether a picture without depth shows the same around a point as a later frame."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from sim.scene.files import EXAMPLE_SCENE, load_scene
from sim.station import Station
from tool_nodes.geometry import invert, project, transform
from tool_nodes.scene_change import changed_around, looks_otherwise_around
from tool_nodes.types import Frame

MOVED = "cinnamon_1"
Point = tuple[float, float]


@pytest.fixture(scope="module")
def before_and_after() -> tuple[Frame, Frame, Point, Point]:
    """Two frames between which one thing is moved by 10 cm, the point where it was, and one on another thing."""
    station = Station(load_scene(EXAMPLE_SCENE))
    before, objects = station.camera.capture(), station.world.snapshot().objects
    places = np.array([objects[name].position_m for name in (MOVED, "red_box_1")])
    pixels = project(transform(invert(before.T_base_camera), places), before.K) / before.size
    station.world.place_object(MOVED, objects[MOVED].position_m + np.array([0.0, 0.1, 0.0]), objects[MOVED].quat_wxyz)
    there, other = (tuple(map(float, pixel)) for pixel in pixels)
    return before, station.camera.capture(), there, other


def as_shown(frame: Frame, size: tuple[int, int] | None = None, brighter: float = 1.0) -> np.ndarray:
    """The picture as a page has shown it: JPEG, perhaps smaller, and in another light."""
    image = Image.fromarray((frame.rgb * brighter).clip(0, 255).astype(np.uint8))
    out = io.BytesIO()
    (image.resize(size) if size else image).save(out, "jpeg", quality=85)
    return np.asarray(Image.open(out))


@pytest.mark.parametrize("size", [None, (320, 240)])
def test_a_thing_that_has_moved_is_noticed_by_colour(
    before_and_after: tuple[Frame, Frame, Point, Point], size: tuple[int, int] | None
) -> None:
    before, after, there, other = before_and_after
    assert looks_otherwise_around(as_shown(before, size), after, there)
    assert changed_around(before, after, there)
    assert not looks_otherwise_around(as_shown(before, size), after, other)
    assert not looks_otherwise_around(as_shown(after, size), after, there)
    assert not changed_around(before, after, other)


def test_light_that_changes_everything_alike_is_no_change(before_and_after: tuple[Frame, Frame, Point, Point]) -> None:
    before, _, there, other = before_and_after
    for point in (there, other, (0.0, 0.0), (1.0, 1.0)):
        assert not looks_otherwise_around(as_shown(before, brighter=0.95), before, point)
