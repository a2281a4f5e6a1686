"""The six skills over the perception that recognises by pixels: on camera images, on crops of them, on drawings."""

import re
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.perception.object_finder import ObjectFinder
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session, Toolbox
from toolhand.tool_nodes.tools.last.tools import SkillTools
from toolhand.tool_nodes.tools.peria.perception import PeriaPerceptionTools


@pytest.fixture(scope="module")
def station() -> Station:
    return Station(load_scene(EXAMPLE_SCENE), StationConfig(perception="pixels"))


@pytest.fixture(scope="module")
def toolbox(station: Station) -> Toolbox:
    ports = station.ports
    return Toolbox([SkillTools(ObjectFinder(ports.detector, ports.segmenter, ports.depth))])


@pytest.fixture
def session(station: Station) -> Session:
    frame = station.camera.capture()
    drawing = Image.new("RGB", (320, 240), "white")
    draw = ImageDraw.Draw(drawing)
    draw.ellipse((30, 30, 90, 90), fill="red")
    draw.ellipse((130, 150, 170, 190), fill="red")
    draw.rectangle((200, 100, 260, 160), fill="blue")
    return Session(images=[SessionImage(frame.rgb, frame), SessionImage(np.asarray(drawing))])


def text(record: CallRecord) -> str:
    assert record.result.ok, record.result.text
    return record.result.text


@pytest.mark.parametrize("name", ["EstimateDepth", "EstimateSize", "SegmentObjects", "CountObjects", "Get3DPoint"])
def test_every_skill_works_without_the_simulators_ids(toolbox: Toolbox, session: Session, name: str) -> None:
    assert session.images[0].require_frame().ids is None
    arguments: dict[str, Any] = {"img_path": "image-0", "text_labels": ["red box", "violin"]}
    lines = text(toolbox.call(name, arguments, session))
    assert re.search(r"^red box", lines, re.MULTILINE)
    assert re.search(r"^violin: .*not recognised\.", lines, re.MULTILINE)
    assert lines.endswith("(backend: pixels)")


def test_an_object_seen_in_a_crop_is_where_it_is_seen_in_the_whole_image(toolbox: Toolbox, session: Session) -> None:
    def place(image: str) -> list[float]:
        told = text(toolbox.call("Get3DPoint", {"img_path": image, "text_labels": ["red box"]}, session))
        return [float(number) for number in re.findall(r"-?\d\.\d{3}", told)]

    text(toolbox.call("ZoomCrop", {"img_path": "image-0", "box": [100, 60, 300, 340]}, session))
    assert place("image-2") == pytest.approx(place("image-0"), abs=0.005)


def test_what_a_crop_does_not_show_is_not_found_in_it(toolbox: Toolbox, session: Session) -> None:
    text(toolbox.call("ZoomCrop", {"img_path": "image-0", "box": [100, 60, 300, 340]}, session))
    record = toolbox.call("SegmentObjects", {"img_path": "image-2", "text_labels": ["cinnamon"]}, session)
    assert record.result.error is not None
    assert record.result.error.code is ErrorCode.OBJECT_NOT_FOUND


def test_objects_in_a_drawing_are_counted_and_its_depth_is_unavailable(toolbox: Toolbox, session: Session) -> None:
    arguments = {"img_path": "image-1", "text_labels": ["red circles", "blue square"]}
    told = text(toolbox.call("CountObjects", arguments, session))
    assert told.splitlines()[0] == "red circles: count 2, centroids (60, 60), (150, 170)."
    assert told.splitlines()[1].startswith("blue square: count 1, centroids (230, 130).")
    error = toolbox.call("EstimateDepth", {"img_path": "image-1"}, session).result.error
    assert error is not None
    assert error.code is ErrorCode.IMAGE_UNUSABLE


@pytest.mark.parametrize("backend", ["sim", "pixels"])
@pytest.mark.parametrize("part", [None, [100, 60, 540, 440]])
def test_the_table_is_one_object_that_every_skill_can_look_at(backend: str, part: list[int] | None) -> None:
    station = Station(load_scene(EXAMPLE_SCENE), StationConfig(perception=backend))
    ports = station.ports
    finder = ObjectFinder(ports.detector, ports.segmenter, ports.depth)
    toolbox = Toolbox([SkillTools(finder), PeriaPerceptionTools(finder)])
    frame = station.camera.capture()
    session = Session(images=[SessionImage(frame.rgb, frame)])
    shown = 0
    if part:
        text(toolbox.call("ZoomCrop", {"img_path": "image-0", "box": part}, session))
        shown = 1
    image = session.images[shown]

    def told(name: str) -> list[str]:
        return text(toolbox.call(name, {"img_path": f"image-{shown}", "text_labels": ["table"]}, session)).splitlines()

    outlined = finder.outline(image, *finder.detect(image, "table").value).value
    objects = np.any([one.mask for one in finder.everything(image).value], axis=0)
    assert np.count_nonzero(outlined.mask) > 0.2 * outlined.mask.size
    assert not (outlined.mask & objects).any()
    assert [line for line in told("SegmentObjects") if line.startswith("table 1: centroid")]
    (size,) = [line for line in told("EstimateSize") if line.startswith("table 1:")]
    assert f"{np.count_nonzero(outlined.mask)} px in area" in size
    assert [line for line in told("EstimateDepth") if line.startswith("table 1: average depth")]
    for name, argument in (("text_segment", "text_prompt"), ("grounding_dino", "question")):
        assert "table" in text(toolbox.call(name, {"image_index": shown, argument: "table"}, session))
