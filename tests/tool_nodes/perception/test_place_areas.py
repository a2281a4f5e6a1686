"""The area of a place holds the point that is found for it, and lies where the words say."""

from __future__ import annotations

import numpy as np
import pytest

from sim.scene.files import parse_scene
from sim.station import Station, StationConfig
from tool_nodes.language.place_phrases import parse_free_space
from tool_nodes.language.places import FreeSpaceRequest
from tool_nodes.perception.place_areas import ImagePoint, Outline, place_area
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.toolbox.toolbox import Session
from tool_nodes.types import Frame

SCENE = """
objects:
  - {name: green bowl, position: [0.42, 0.20]}
  - {name: red box, position: [0.50, -0.15]}
"""


class Seen:
    """A picture, and where things and places are found in it."""

    def __init__(self) -> None:
        self.session, self.toolbox = Session(), Station(parse_scene(SCENE), StationConfig()).toolbox
        self.toolbox.call("robot.capture_image", {}, self.session)

    @property
    def frame(self) -> Frame:
        frame = self.session.newest_frame()
        assert frame is not None
        return frame

    def point(self, words: str) -> ImagePoint:
        arguments = {"obj_name": words, "image_index": 0}
        record = self.toolbox.call("roborefer.detect_one", arguments, self.session)
        assert record.result.ok, record.result.error
        x, y = record.result.facts["points"][0]
        return float(x), float(y)

    def area(self, words: str) -> tuple[Outline, ...]:
        request = parse_free_space(words)
        assert request is not None
        thing = self.point(request.thing) if request.thing else None
        return place_area(self.frame, request, [[self.point(name)] for name in request.all_references], thing)


@pytest.fixture(scope="module")
def seen() -> Seen:
    return Seen()


def surrounds(outlines: tuple[Outline, ...], point: ImagePoint) -> bool:
    """Whether an odd number of lines surrounds a point, by the crossings of a ray to the right."""
    crossings = 0
    for line in outlines:
        for (x0, y0), (x1, y1) in zip(line, [*line[1:], line[0]], strict=True):
            if (y0 > point[1]) != (y1 > point[1]):
                crossings += x0 + (point[1] - y0) / (y1 - y0) * (x1 - x0) > point[0]
    return crossings % 2 == 1


@pytest.mark.parametrize(
    "words",
    [
        "free table left of the red box",
        "free table in the front left corner of the table",
        "free table on the right side of the table",
        "free table in the middle of the table",
        "free table between the green bowl and the red box",
        "free table next to the green bowl",
        "free table a bit to the right of where the red box stands",
        "inside the green bowl",
        "on top of the red box",
        "free spot at (0.400, 0.600)",
    ],
)
def test_the_point_that_is_found_lies_in_the_area(seen: Seen, words: str) -> None:
    outlines = seen.area(words)
    assert surrounds(outlines, seen.point(words))
    assert not surrounds(outlines, (0.02, 0.02)), "it is not the whole picture"
    assert all(0.0 <= value <= 1.0 for line in outlines for corner in line for value in corner)


def test_a_ring_has_the_thing_in_its_hole_and_a_side_lies_on_one_side(seen: Seen) -> None:
    bowl, ring = seen.point("green bowl"), seen.area("free table next to the green bowl")
    assert len(ring) == 2
    assert not surrounds(ring, bowl)
    right = np.array(seen.area("free table right of the green bowl")[0])
    assert right[:, 0].min() > bowl[0]


def test_a_place_whose_thing_is_not_there_has_no_area(seen: Seen) -> None:
    with pytest.raises(ToolError) as error:
        place_area(seen.frame, FreeSpaceRequest("left_of", ("can",)), [[(0.5, 0.9)]])
    assert error.value.code is ErrorCode.OBJECT_NOT_FOUND
