"""Where a thing that was put down stands, by the pictures before and after."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sim.scene.files import parse_scene
from sim.station import Station
from tool_nodes.perception.placed import standing_at
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import Frame

ACROSS_M = 0.01
BIN = "  - {name: black bin, position: [0.50, 0.30]}\n"
BOX = "  - {name: red box, position: [0.40, -0.20]}\n"


def seen(*rows: str) -> Frame:
    scene = parse_scene("objects:\n" + "".join(rows))
    return Station(scene).camera.capture()


@pytest.fixture(scope="module")
def before() -> Frame:
    return seen(BIN, BOX)


@pytest.mark.parametrize(
    ("name", "x", "y"),
    [("apple", 0.5, 0.0), ("cereal box", 0.45, 0.1), ("baseball", 0.35, 0.1), ("apple in the bin", 0.5, 0.3)],
)
def test_it_stands_where_something_new_is_seen(before: Frame, name: str, x: float, y: float) -> None:
    place = [x, y, 0.05] if "bin" in name else [x, y]
    after = seen(BIN, BOX, f"  - {{name: {name.removesuffix(' in the bin')}, position: {place}}}\n")
    found = standing_at(before, after, np.array([x + 0.02, y - 0.02, 0.0]))
    assert found is not None
    assert np.hypot(*(found[:2] - (x, y))) < ACROSS_M


def test_where_nothing_is_new_nearby_nothing_stands(before: Frame) -> None:
    after = seen(BIN, BOX, "  - {name: apple, position: [0.5, 0.0]}\n")
    assert standing_at(before, before, np.array([0.5, 0.0, 0.0])) is None
    assert standing_at(before, after, np.array([0.3, 0.3, 0.0])) is None
    assert standing_at(after, before, np.array([0.5, 0.0, 0.0])) is None  # gone, not new


def test_a_picture_without_depth_is_refused(before: Frame) -> None:
    blind = replace(before, depth=np.full_like(before.depth, np.nan))
    with pytest.raises(ToolError) as caught:
        standing_at(before, blind, np.zeros(3))
    assert caught.value.code is ErrorCode.NO_DEPTH
