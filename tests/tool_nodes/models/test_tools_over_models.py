"""The tools of all four suites over real models' adapters, chosen by name; and a pointer that repeats itself."""

from typing import Any

import pytest
import torch

from docs.site.tool_families import FAMILIES, tools_of
from tests.tool_nodes.models.conftest import Folder
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tool_examples import run_example
from toolhand.tool_nodes.models.qwen_vl import QwenVl
from toolhand.tool_nodes.port_names import PortNames
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox
from toolhand.tool_nodes.tools.spacetools.pointing import RoboReferTools, VlmTools
from toolhand.tool_nodes.tools.suites import SUITES


@pytest.fixture(scope="module")
def station(folder: Folder) -> Station:
    names = PortNames(
        pointer=f"qwen_vl:{folder('qwen')}?tokens=24",
        detector=f"grounding_dino:{folder('grounding_dino')}?threshold=0.02",
        segmenter=f"sam2:{folder('sam2')}?grid=2",
        depth=f"depth_anything:{folder('depth_anything')}",
        reader=f"paddleocr_vl:{folder('paddleocr_vl')}?tokens=12&spotting=0",
    )
    config = StationConfig(perception="pixels", ports=names, suites=tuple(SUITES), image_size=(160, 120))
    station = Station(load_scene(EXAMPLE_SCENE), config)
    pointer: Any = station.ports.pointer
    assert isinstance(pointer, QwenVl)
    words = pointer._tokenizer('[{"point_2d": [28, 14]}]', add_special_tokens=False, return_tensors="pt")["input_ids"]
    # Of random weights there is no point: the model is made to say one, and the rest of the way is its own.
    pointer._model.generate = lambda **inputs: torch.cat([inputs["input_ids"], words], dim=1)
    return station


ASKED = {
    "roborefer.detect_one": "qwen_vl",
    "roborefer.detect_all": "qwen_vl",
    "vlm.detect_one": "qwen_vl",
    "vlm.detect_all": "qwen_vl",
    "sam2.segment_from_point": "sam2",
    "sam2.segment_from_points": "sam2",
    "depth_estimator.estimate_depth": "depth_anything",
    "depth_estimator.estimate_depth_with_pointcloud": "depth_anything",
    "text_ocr": "paddleocr_vl",
    "text_spotting": "paddleocr_vl",
    "map_text_ocr": "paddleocr_vl",
    "formula_ocr": "paddleocr_vl",
    "table_ocr": "paddleocr_vl",
    "grounding_dino": "grounding_dino",
    "auto_segment": "sam2",
    "bbox_segment": "sam2",
    "exemplar_segment": "sam2",
    "text_segment": "sam2",
    "concept_count": "sam2",
    "presence_check": "sam2",
    "robot.what_is_in_the_way": "sam2",
    "robot.find_place": "sam2",
    "EstimateDepth": "depth_anything",
    "EstimateSize": "sam2",
    "SegmentObjects": "sam2",
    "CountObjects": "grounding_dino",
    "Get3DPoint": "depth_anything",
}
"""The tools that ask a port, and which backend signs each one's answer, alone or with others."""


@pytest.mark.parametrize("name", sorted(ASKED))
def test_every_tool_works_over_them_and_says_which_answered(station: Station, name: str) -> None:
    record, _ = run_example(name, station.toolbox, station.camera)
    error = record.result.error
    if error is not None:  # random weights find what they find
        found = (ErrorCode.OBJECT_NOT_FOUND, ErrorCode.EMPTY_MASK, ErrorCode.NO_DEPTH, ErrorCode.PLACE_BLOCKED)
        assert error.code in found, str(error)
    else:
        assert ASKED[name] in record.result.backend
        assert f"(backend: {record.result.backend})" in record.result.text


def test_no_tool_that_asks_a_port_is_left_out(station: Station) -> None:
    specs = station.toolbox.specs.values()
    asking = {tool.name for family in FAMILIES if family.models != "-" for tool in tools_of(family, specs)}
    assert asking - {"grasp_generator.compute_grasp", "robot.put_aside"} == set(ASKED)


def test_a_pointer_over_words_lies_where_it_was_written(station: Station) -> None:
    record, _ = run_example("roborefer.detect_one", station.toolbox, station.camera)
    pointer: Any = station.ports.pointer
    shown = pointer._show(station.camera.capture().rgb)
    assert record.result.facts["points"] == [(round(28 / shown.width, 3), round(14 / shown.height, 3))]


def test_two_stations_share_the_weights_that_one_has_read(station: Station, folder: Folder) -> None:
    twin: Any = QwenVl(str(folder("qwen")))
    assert twin._model is station.ports.pointer._model  # type: ignore[attr-defined]


class Stuck:
    """A pointer that says the same whatever it is asked."""

    def __init__(self, backend: str) -> None:
        self.backend = backend

    def point(self, image: SessionImage, text: str) -> Answer[list[tuple[float, float]]]:
        return Answer([(0.5, 0.25)], self.backend)


def texts(pointer: Any, session: Session, *phrases: str) -> list[str]:
    toolbox = Toolbox([RoboReferTools(pointer), VlmTools(pointer)])
    calls = [("roborefer.detect_one", {"obj_name": phrase, "image_index": 0}) for phrase in phrases]
    return [toolbox.call(name, arguments, session).result.text for name, arguments in calls]


def test_a_model_that_gives_one_point_for_different_phrases_is_flagged(station: Station) -> None:
    frame = station.camera.capture()
    toolbox = Toolbox([RoboReferTools(Stuck("roborefer"))])
    one, other = (Session(images=[SessionImage(frame.rgb, frame)]) for _ in range(2))

    def ask(phrase: str, session: Session) -> Any:
        return toolbox.call("roborefer.detect_one", {"obj_name": phrase, "image_index": 0}, session).result

    assert "Note" not in ask("red can", one).text
    assert "Note" not in ask("the Red  can", one).text, "the same words"
    flagged = ask("mug", one)
    assert "Note: 'red can' gave the very same; if those are different things, one of the two is wrong" in flagged.text
    assert flagged.facts["same_as"] == "red can"
    assert flagged.ok
    assert "Note" not in ask("mug", other).text, "another conversation"


def test_what_sees_objects_may_see_one_under_two_names(station: Station) -> None:
    frame = station.camera.capture()
    session = Session(images=[SessionImage(frame.rgb, frame)])
    assert not [text for text in texts(Stuck("pixels"), session, "red can", "can") if "Note" in text]
