"""Areas of places, names of products, and answers of a wrong size."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from toolhand.bench.perception.masks import make_images, scene_of
from toolhand.bench.perception.naming import fit
from toolhand.sim.scene.files import parse_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.catalogue import load_catalogue
from toolhand.tool_nodes.geometry import pixel
from toolhand.tool_nodes.language.places import FreeSpaceRequest, place_words
from toolhand.tool_nodes.perception.drawings.backend import Drawings
from toolhand.tool_nodes.perception.extents import Extents
from toolhand.tool_nodes.perception.naming import EVIDENCE, SURE, known_product
from toolhand.tool_nodes.perception.object_finder import ObjectFinder
from toolhand.tool_nodes.perception.pixels import PixelPerception
from toolhand.tool_nodes.perception.place_areas import Outline, place_area
from toolhand.tool_nodes.perception.recognition import Look, Recogniser
from toolhand.tool_nodes.place_argument import PlaceInImageArgument, PointedPlace, place_document
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox
from toolhand.tool_nodes.tools.last.tools import SkillTools
from toolhand.tool_nodes.tools.spacetools.depth import DepthTools
from toolhand.tool_nodes.types import Frame, ImagePoint

# -- the area of a place holds the point that is found for it, and lies where the words say --------

SCENE = """
objects:
  - {name: green bowl, position: [0.42, 0.20]}
  - {name: red box, position: [0.50, -0.15]}
"""


class Seen:
    """An image, and where objects and places are found in it."""

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

    def place(self, request: FreeSpaceRequest, item: ImagePoint | None = None) -> ImagePoint:
        """The place that the tool finds."""
        document = place_document(request, self._points(request))
        arguments = {"place": document} | ({"item": list(item)} if item else {})
        record = self.toolbox.call("robot.find_place", arguments, self.session)
        assert record.result.ok, record.result.error
        x, y = record.result.facts["points"][0]
        return float(x), float(y)

    def area(self, request: FreeSpaceRequest, item: ImagePoint | None = None) -> tuple[Outline, ...]:
        return place_area(self.frame, request, self._points(request), item)

    def _points(self, request: FreeSpaceRequest) -> list[list[ImagePoint]]:
        points = {name: self.point(name) for name in dict.fromkeys(request.all_references)}
        return [[points[name]] for name in request.all_references]


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
    "request_",
    [
        FreeSpaceRequest("left_of", ("red box",)),
        FreeSpaceRequest("region", region="front left", extent="corner"),
        FreeSpaceRequest("region", region="right", extent="side"),
        FreeSpaceRequest("region", region="middle"),
        FreeSpaceRequest("between", ("green bowl", "red box")),
        FreeSpaceRequest("next_to", ("green bowl",)),
        FreeSpaceRequest("moved", distance_m=0.05, loosely=True, way="right"),
        FreeSpaceRequest("in", ("green bowl",)),
        FreeSpaceRequest("on", ("red box",)),
        FreeSpaceRequest("at", point=(0.4, 0.6)),
        FreeSpaceRequest("next_to", ("red box",), also=(FreeSpaceRequest("behind", ("red box",), denied=True),)),
    ],
    ids=place_words,
)
def test_the_point_that_is_found_lies_in_the_area(seen: Seen, request_: FreeSpaceRequest) -> None:
    item = seen.point("red box") if request_.relation == "moved" else None
    outlines = seen.area(request_, item)
    assert surrounds(outlines, seen.place(request_, item))
    assert not surrounds(outlines, (0.02, 0.02)), "it is not the whole picture"
    assert all(0.0 <= value <= 1.0 for line in outlines for corner in line for value in corner)


@pytest.mark.parametrize(
    ("place", "item", "code"),
    [
        ({"relation": "under"}, None, ErrorCode.INVALID_ARGUMENT),
        ({"relation": "left_of"}, None, ErrorCode.INVALID_ARGUMENT),
        ({"relation": "at"}, None, ErrorCode.INVALID_ARGUMENT),
        ({"relation": "anywhere", "point": [0.5, 0.5]}, None, ErrorCode.INVALID_ARGUMENT),
        ({"relation": "moved", "way": "left", "distance_m": 0.1}, None, ErrorCode.INVALID_ARGUMENT),
        ({"relation": "moved", "way": "left", "distance_m": 9.0}, [0.5, 0.5], ErrorCode.INVALID_ARGUMENT),
        ({"relation": "region", "region": "upstairs"}, None, ErrorCode.INVALID_ARGUMENT),
        ({"relation": "anywhere", "speed": 1}, None, ErrorCode.INVALID_ARGUMENT),
        ({"relation": "on", "references": [{"name": "box", "points": [[2, 0.5]]}]}, None, ErrorCode.INVALID_ARGUMENT),
        ({"relation": "anywhere", "also": [{"relation": "anywhere", "also": []}]}, None, ErrorCode.INVALID_ARGUMENT),
        ({"relation": "anywhere", "denied": True}, None, ErrorCode.INVALID_ARGUMENT),
        ({"relation": "region", "also": [{"relation": "in_line"}]}, None, ErrorCode.INVALID_ARGUMENT),
        ({"relation": "region", "also": [{"relation": "at", "denied": True}]}, None, ErrorCode.INVALID_ARGUMENT),
        ({"relation": "at", "point": [0.5, 0.5], "also": [{"relation": "region"}]}, None, ErrorCode.INVALID_ARGUMENT),
        ({"relation": "anywhere", "also": [{"relation": "region", "denied": 1}]}, None, ErrorCode.INVALID_ARGUMENT),
        ({"relation": "moved", "way": "towards", "distance_m": 0.1}, [0.5, 0.5], ErrorCode.INVALID_ARGUMENT),
        ({"relation": "moved", "way": "left", "loosely": True}, [0.5, 0.5], ErrorCode.INVALID_ARGUMENT),
        ({"relation": "anywhere", "distance_m": 0.1}, None, ErrorCode.INVALID_ARGUMENT),
        ({"relation": "anywhere", "references": ""}, None, ErrorCode.INVALID_ARGUMENT),
        ({"relation": "on", "references": [{"name": "sky", "points": [[0.02, 0.98]]}]}, None, ErrorCode.EMPTY_MASK),
    ],
)
def test_a_place_that_is_none_is_refused(seen: Seen, place: dict[str, Any], item: Any, code: ErrorCode) -> None:
    arguments = {"place": place} | ({"item": item} if item else {})
    result = seen.toolbox.call("robot.find_place", arguments, seen.session).result
    assert result.error is not None
    assert result.error.code is code


def test_a_place_is_read_back_from_its_document() -> None:
    also = (FreeSpaceRequest("region", region="left"), FreeSpaceRequest("behind", ("bin",), denied=True))
    request = FreeSpaceRequest("next_to", ("can", "bowl"), distance_m=0.1, loosely=True, also=also)
    points = (((0.1, 0.2),), ((0.3, 0.4), (0.5, 0.6)), ((0.7, 0.8),))
    assert PlaceInImageArgument().parse(place_document(request, points), Session()) == PointedPlace(request, points)


def test_a_ring_has_the_object_in_its_hole_and_a_side_lies_on_one_side(seen: Seen) -> None:
    bowl, ring = seen.point("green bowl"), seen.area(FreeSpaceRequest("next_to", ("green bowl",)))
    assert len(ring) == 2
    assert not surrounds(ring, bowl)
    right = np.array(seen.area(FreeSpaceRequest("right_of", ("green bowl",)))[0])
    assert right[:, 0].min() > bowl[0]


def test_a_place_whose_object_is_not_there_has_no_area(seen: Seen) -> None:
    with pytest.raises(ToolError) as error:
        place_area(seen.frame, FreeSpaceRequest("left_of", ("can",)), [[(0.5, 0.9)]])
    assert error.value.code is ErrorCode.OBJECT_NOT_FOUND


# -- A product's name needs evidence that unknown objects do not have -------------------------------


PRODUCTS = list(load_catalogue().values())


def look_of(name: str, taller_m: float = 0.0, cut: bool = False) -> Look:
    """A product in even light, or something of its colours that is taller."""
    item = load_catalogue()[name]
    length, width = sorted(item.size_m[:2], reverse=True)
    extents = Extents(np.zeros(3), np.array([length, width, item.size_m[2] + taller_m]), 0.0, np.zeros((4, 2)), 0.985)
    return Look(extents, item.container, np.tile(np.uint8(item.rgb), (60, 1)), np.full(60, 0.5), cut)


@pytest.mark.parametrize("cut", [False, True])
def test_what_is_larger_than_a_product_is_not_that_product_even_where_it_is_half_hidden(cut: bool) -> None:
    recogniser = Recogniser([load_catalogue()["red box"]])
    assert recogniser.best(look_of("red box", cut=cut)) is not None
    taller = recogniser.readings(look_of("red box", 0.03, cut))
    assert [reading.item for reading in taller] == [None]


def test_the_readings_of_an_object_add_up_to_one_at_most() -> None:
    readings = Recogniser(PRODUCTS).readings(look_of("red box"))
    assert readings[0].item is not None
    assert readings[0].item.name == "red box"
    assert SURE <= sum(reading.probability for reading in readings if reading.item is not None) <= 1.0
    assert sum(reading.probability for reading in readings) <= 1.0 + 1e-9


def test_a_product_has_its_name_and_none_where_the_list_lacks_it() -> None:
    scene = scene_of("apart", 2000)
    true, frame = make_images(scene, "stereo", 2000)
    assert true.ids is not None
    here = {placed.item for placed in scene.objects}
    views = [view for view in PixelPerception(PRODUCTS).views(frame) if view.recognised]
    shown = [scene.objects[true.ids[pixel(view.point, frame.size)[::-1]]].item for view in views]
    assert [view.name for view in views] == shown
    assert set(shown) == here
    unknown = PixelPerception([item for item in PRODUCTS if item.name not in here]).views(frame)
    assert len(unknown) == len(views)
    assert not any(view.recognised for view in unknown)


def test_the_fit_finds_the_evidence_that_tells_known_objects_from_unknown_ones() -> None:
    rng = np.random.default_rng(0)
    known = (np.arange(400) % 4 == 0).astype(float)
    evidence = rng.standard_normal((400, len(EVIDENCE)))
    evidence[:, 3] += 3.0 * known
    weights, bias = fit(evidence, known)
    named = evidence @ weights + bias > 0.0
    assert int(np.argmax(np.abs(weights))) == 3
    assert np.mean(named == (known > 0.5)) > 0.9


def test_no_evidence_is_needed_for_nothing() -> None:
    assert Recogniser([]).best(look_of("red box")) is None
    assert 0.0 <= known_product(np.zeros(len(EVIDENCE))) <= 1.0


# -- backends whose answers do not have the image's size: one sentence that says so, whichever tool asked


class DepthOfShape:
    """A DepthEstimator that gives one shape for every image."""

    backend = "shrunk"

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape = shape

    def estimate(self, image: SessionImage) -> Answer[tuple[NDArray[np.float32], float]]:
        return Answer((np.ones(self._shape, np.float32), 60.0), self.backend)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("depth_estimator.estimate_depth", {"image": 0}),
        ("depth_estimator.estimate_depth_with_pointcloud", {"image": 0}),
        ("EstimateDepth", {"img_path": "image-0"}),
        ("Get3DPoint", {"img_path": "image-0", "text_labels": ["circle"]}),
    ],
)
@pytest.mark.parametrize("shape", [(30, 40), (80, 60), (60, 80, 1), (60 * 80,)])
def test_depth_of_another_size_is_one_sentence(tool: str, arguments: dict[str, object], shape: tuple[int, ...]) -> None:
    rgb = np.full((60, 80, 3), 255, np.uint8)
    v, u = np.indices((60, 80))
    rgb[np.hypot(u - 40, v - 30) < 20] = (220, 30, 30)
    estimator, drawings = DepthOfShape(shape), Drawings()
    finder = ObjectFinder(drawings, drawings, estimator)
    toolbox = Toolbox([DepthTools(estimator), SkillTools(finder)])
    error = toolbox.call(tool, arguments, Session(images=[SessionImage(rgb)])).result.error
    assert error is not None
    assert error.code is ErrorCode.INTERNAL
    told = f"The depth estimator 'shrunk' gave depth of shape {shape} for a picture of 80x60 px."
    assert str(error).startswith(told)
