"""PERIA's perception tools on simulated tables with both backends, on crops and drawings of them, and on drawings."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from toolhand.tool_nodes.perception.box_overlap import box_iou, inside_box, not_suppressed
from toolhand.tool_nodes.perception.drawings.exemplar import Appearance
from toolhand.tool_nodes.perception.instances import Instance
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox
from toolhand.tool_nodes.tools.peria.perception import PeriaPerceptionTools
from toolhand.tool_nodes.types import Detection

BOXED = re.compile(r"\\boxed\{\d+,\d+,\d+,\d+\}")
OBJECTS = {"coconut water": 2, "red box": 1, "black bin": 1, "cinnamon": 1, "rice box": 1, "teddy bear": 1}


def numbers(boxed: str) -> list[float]:
    return [float(v) for v in re.findall(r"[\d.]+", boxed)]


def in_space(box: tuple[int, int, int, int], size: tuple[int, int] = (640, 480)) -> np.ndarray:
    return np.array(box) / (*size, *size) * 1000


def check_segment(one: dict[str, Any], mask: np.ndarray) -> None:
    """What is true of every listed segment."""
    assert list(one) == ["bbox", "confidence", "area", "centroid"]
    assert BOXED.fullmatch(one["bbox"])
    x1, y1, x2, y2 = numbers(one["bbox"])
    assert 0 <= x1 < x2 <= 1000
    assert 0 <= y1 < y2 <= 1000
    assert 0.25 <= one["confidence"] <= 1.0
    assert 0 < one["area"] <= (x2 - x1 + 4) * (y2 - y1 + 4)
    assert one["area"] == pytest.approx(mask.mean() * 1e6, abs=1)
    assert x1 <= one["centroid"][0] <= x2
    assert y1 <= one["centroid"][1] <= y2
    rows, columns = np.nonzero(mask)
    assert np.allclose(
        in_space((columns.min(), rows.min(), columns.max() + 1, rows.max() + 1), mask.shape[::-1]),
        [x1, y1, x2, y2],
        atol=0.51,
    )


# -- camera images, by `sim` and by `pixels` -----------------------------------------------------------


def test_auto_segment_proposes_every_object_on_the_table(table: Any) -> None:
    answer = table.ask("auto_segment")
    assert list(answer) == ["task", "proposals", "units"]
    assert answer["task"] == "segmentation"
    assert len(answer["proposals"]) == sum(OBJECTS.values())
    masks = table.do("auto_segment").value["masks"]
    for one, mask in zip(answer["proposals"], masks, strict=True):
        check_segment(one, mask)


@pytest.mark.parametrize(("name", "count"), OBJECTS.items())
def test_text_segment_and_concept_count_agree(table: Any, name: str, count: int) -> None:
    segmented, counted = table.ask("text_segment", text_prompt=name), table.ask("concept_count", text_prompt=name)
    assert segmented["prompt"] == counted["prompt"] == name
    assert counted["task"] == "counting"
    assert counted["count"] == len(counted["instances"]) == count
    assert segmented["proposals"] == counted["instances"]


def test_presence_check_tells_what_is_there(table: Any) -> None:
    answer = table.ask("presence_check", text_prompt="a coconut water")
    assert answer.pop("confidence") > 0.9
    assert answer == {"task": "presence", "prompt": "a coconut water", "present": True, "count": 2}


def test_presence_check_and_concept_count_tell_absence_as_a_success(table: Any) -> None:
    present = table.ask("presence_check", text_prompt="banana")
    assert 0.5 < present.pop("confidence") <= 1.0  # in the absence
    assert present.pop("note").startswith("no 'banana' here; I see: ")
    assert present == {"task": "presence", "prompt": "banana", "present": False, "count": 0}
    counted = table.ask("concept_count", text_prompt="bananas")
    assert counted.pop("note").startswith("no 'bananas' here; I see: ")
    assert counted == {"task": "counting", "prompt": "bananas", "count": 0, "instances": []}


@pytest.mark.parametrize("name", ["xyzzy", "elephant", "person", "robot", "gripper", "background", "red floor"])
def test_what_no_backend_knows_is_neither_present_nor_absent(table: Any, name: str) -> None:
    for tool, argument in (
        ("presence_check", "text_prompt"),
        ("concept_count", "text_prompt"),
        ("text_segment", "text_prompt"),
        ("grounding_dino", "question"),
    ):
        error = table.refusal(tool, **{argument: name})
        assert error.code is ErrorCode.NOT_RECOGNISED
        assert "teddy bear" in error.message


def test_segmenting_what_is_not_there_names_what_is(table: Any) -> None:
    error = table.refusal("text_segment", text_prompt="banana")
    assert error.code is ErrorCode.OBJECT_NOT_FOUND
    assert "teddy bear" in error.message


def test_detecting_what_is_not_there_gives_an_empty_list(table: Any) -> None:
    answer = table.ask("grounding_dino", question="banana")
    assert answer == {"task": "detection", "objects": [], "not_found": ["banana"]}


def test_grounding_dino_finds_several_names_and_says_which_are_missing(table: Any) -> None:
    answer = table.ask("grounding_dino", question="coconut water . red box . banana . elephant .")
    assert list(answer) == ["task", "objects", "not_found", "not_recognised", "note"]
    assert "red box" in answer["note"]
    assert answer["task"] == "detection"
    assert (answer["not_found"], answer["not_recognised"]) == (["banana"], ["elephant"])
    assert sorted(one["label"] for one in answer["objects"]) == ["coconut water", "coconut water", "red box"]
    confidences = [one["confidence"] for one in answer["objects"]]
    assert confidences == sorted(confidences, reverse=True)
    assert all(BOXED.fullmatch(one["bbox"]) for one in answer["objects"])


def test_one_object_under_two_names_is_detected_once(table: Any) -> None:
    answer = table.ask("grounding_dino", question="red box, the box left of the rice box")
    assert len(answer["objects"]) == 1
    assert "not_found" not in answer


def test_a_detected_box_leads_bbox_segment_to_the_same_object(table: Any) -> None:
    (detected,) = table.ask("grounding_dino", question="teddy bear")["objects"]
    found = table.ask("bbox_segment", bounding_box=detected["bbox"])["proposals"]
    assert found[0]["bbox"] == detected["bbox"]


def test_bbox_segment_stays_inside_its_box(table: Any) -> None:
    answer = table.ask("bbox_segment", bounding_box=r"\boxed{0,0,600,500}")
    assert 0 < len(answer["proposals"]) < sum(OBJECTS.values())
    for one in answer["proposals"]:
        assert numbers(one["bbox"])[2] <= 600
        assert numbers(one["bbox"])[3] <= 500


def test_exemplar_segment_finds_the_second_carton_of_the_same_kind(table: Any) -> None:
    cartons = table.ask("text_segment", text_prompt="coconut water")["proposals"]
    assert len(cartons) == OBJECTS["coconut water"]
    for one in cartons:
        found = table.ask("exemplar_segment", bounding_box=one["bbox"])["proposals"]
        assert found[0]["bbox"] == one["bbox"]
        assert {f["bbox"] for f in found} == {c["bbox"] for c in cartons}
        assert found[1]["confidence"] < found[0]["confidence"]


def test_a_box_around_nothing_is_told(table: Any) -> None:
    for name in ("bbox_segment", "exemplar_segment"):
        error = table.refusal(name, bounding_box=r"\boxed{0,960,30,1000}")
        assert error.code == ErrorCode.EMPTY_MASK
        assert error.message == r"There is no object in \boxed{0,960,30,1000}."


def test_a_crop_is_looked_at_through_its_camera_frame(table: Any) -> None:
    (whole,) = table.ask("text_segment", text_prompt="red box")["proposals"]
    table.do("image_crop", bounding_box=r"\boxed{150,150,400,500}")
    result = table.do("text_segment", image_index=1, text_prompt="red box")
    (part,) = result.value["proposals"]
    assert result.value["masks"][0].shape == table.newest.rgb.shape[:2]
    x1, y1, x2, y2 = numbers(part["bbox"])
    back = [150 + 0.25 * x1, 150 + 0.35 * y1, 150 + 0.25 * x2, 150 + 0.35 * y2]
    assert np.allclose(back, numbers(whole["bbox"]), atol=3)
    assert not table.ask("presence_check", image_index=1, text_prompt="teddy bear")["present"]


def test_a_drawing_over_an_image_hides_nothing_from_the_tools(table: Any) -> None:
    before = table.ask("auto_segment")
    table.do("image_highlight", bounding_box=r"\boxed{0,0,1000,1000}")
    assert table.ask("auto_segment", image_index=1) == before


# -- drawings ------------------------------------------------------------------------------------------


def test_auto_segment_of_a_drawing_gives_its_shapes(sheet: Any, shapes: dict[str, Any], dots: list[Any]) -> None:
    answer = sheet.ask("auto_segment")
    found = [numbers(one["bbox"]) for one in answer["proposals"]]
    assert len(found) == len(shapes) + len(dots)
    for box in (*shapes.values(), *dots):
        assert min(np.abs(one - in_space(box)).max() for one in found) < 6


def test_words_find_shapes_in_a_drawing(sheet: Any, shapes: dict[str, Any]) -> None:
    (star,) = sheet.ask("text_segment", text_prompt="the star below the ring")["proposals"]
    assert np.abs(numbers(star["bbox"]) - in_space(shapes["red star"])).max() < 6
    detected = sheet.ask("grounding_dino", question="Where are the green circles?")["objects"]
    assert [one["label"] for one in detected] == ["the green circles"] * 5
    assert sheet.ask("concept_count", text_prompt="green dots")["count"] == 5
    assert sheet.ask("presence_check", text_prompt="a yellow ring")["present"]
    assert not sheet.ask("presence_check", text_prompt="a yellow star")["present"]


def test_exemplar_segment_finds_repeated_shapes_and_no_other_ones(sheet: Any, dots: list[Any]) -> None:
    found = sheet.ask("exemplar_segment", bounding_box=r"\boxed{370,740,410,800}")["proposals"]
    assert len(found) == len(dots)
    for dot in dots:
        assert min(np.abs(numbers(one["bbox"]) - in_space(dot)).max() for one in found) < 4


def test_bbox_segment_gives_the_framed_object_first_and_what_lies_on_it(sheet: Any, shapes: dict[str, Any]) -> None:
    found = sheet.ask("bbox_segment", bounding_box=r"\boxed{60,660,285,965}")["proposals"]
    for one, name in zip(found, ("grey circle", "dark blue square"), strict=True):
        assert np.abs(numbers(one["bbox"]) - in_space(shapes[name])).max() < 4


def test_an_empty_image_has_no_proposals(sheet_of: Callable[..., Any]) -> None:
    assert sheet_of(np.full((60, 80, 3), 200, np.uint8)).ask("auto_segment")["proposals"] == []


def test_at_most_twenty_proposals_are_listed_and_all_are_counted(sheet_of: Callable[..., Any]) -> None:
    rgb = np.full((300, 400, 3), 255, np.uint8)
    for k in range(30):
        rgb[20 + 50 * (k % 5) :, 20 + 60 * (k // 5) :][:25, :25] = (200, 30, 30)
    sheet = sheet_of(rgb)
    answer = sheet.ask("auto_segment")
    assert len(answer["proposals"]) == 20
    assert answer["found"] == 30
    counted = sheet.ask("concept_count", text_prompt="red squares")
    assert (counted["count"], len(counted["instances"])) == (30, 20)


@pytest.mark.parametrize("question", [" . . ", ",".join(f"thing {k}" for k in range(11))])
def test_a_question_without_or_with_too_many_names_is_refused(sheet: Any, question: str) -> None:
    error = sheet.refusal("grounding_dino", question=question)
    assert error.code == ErrorCode.INVALID_ARGUMENT
    assert "argument 'question' must hold 1 to 10 names" in error.message


# -- thresholds, with a finder that is told what to see --------------------------------------------------


class _Told:
    """An object finder that sees squares of given places and scores."""

    backend = "told"

    def __init__(self, seen: dict[str, list[tuple[int, float]]]) -> None:
        self.seen = seen

    def _instance(self, left: int, score: float, label: str) -> Instance:
        mask = np.zeros((50, 200), bool)
        mask[10:30, left : left + 20] = True
        return Instance.of_mask(mask, score, label)

    def detect(self, image: SessionImage, text: str) -> Answer[list[Detection]]:
        return Answer([one.detection for one in self.find(image, text).value], self.backend)

    def find(self, image: SessionImage, text: str) -> Answer[list[Instance]]:
        if text == "broken":
            raise ToolError(ErrorCode.UNAVAILABLE, "The camera is gone.")
        if text not in self.seen:
            raise ToolError(ErrorCode.OBJECT_NOT_FOUND, f"no {text!r} here")
        return Answer([self._instance(left, score, text) for left, score in self.seen[text]], self.backend)

    def everything(self, image: SessionImage) -> Answer[list[Instance]]:
        return Answer([one for text in self.seen for one in self.find(image, text).value], self.backend)


def told(seen: dict[str, list[tuple[int, float]]], name: str, **arguments: Any) -> Any:
    toolbox = Toolbox([PeriaPerceptionTools(_Told(seen))])  # type: ignore[arg-type]
    session = Session(images=[SessionImage(np.zeros((50, 200, 3), np.uint8))])
    return toolbox.call(name, {"image_index": 0, **arguments}, session).result


def test_scores_below_a_quarter_are_dropped() -> None:
    seen = {"cat": [(0, 0.9), (40, 0.25), (80, 0.24)]}
    assert len(told(seen, "auto_segment").value["proposals"]) == 2
    assert len(told(seen, "text_segment", text_prompt="cat").value["proposals"]) == 2
    assert len(told(seen, "grounding_dino", question="cat").value["objects"]) == 2
    assert told(seen, "concept_count", text_prompt="cat").value["count"] == 2
    only_faint = told({"cat": [(0, 0.1)]}, "presence_check", text_prompt="cat").value
    assert (only_faint["present"], only_faint["count"], only_faint["confidence"]) == (False, 0, 0.9)


def test_boxes_that_nearly_coincide_are_one_detection() -> None:
    seen = {"cat": [(0, 0.7), (100, 0.8)], "dog": [(1, 0.9), (110, 0.6)]}
    found = told(seen, "grounding_dino", question="cat . dog").value["objects"]
    assert [(one["label"], one["confidence"]) for one in found] == [("dog", 0.9), ("cat", 0.8), ("dog", 0.6)]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("grounding_dino", {"question": "cat . broken"}),
        ("text_segment", {"text_prompt": "broken"}),
        ("presence_check", {"text_prompt": "broken"}),
        ("concept_count", {"text_prompt": "broken"}),
    ],
)
def test_a_fault_is_never_told_as_absence(name: str, arguments: dict[str, str]) -> None:
    assert told({"cat": [(0, 0.7)]}, name, **arguments).error.code == ErrorCode.UNAVAILABLE


def test_the_overlap_of_boxes_is_their_shared_area() -> None:
    assert box_iou((0, 0, 10, 10), (0, 0, 10, 10)) == 1.0
    assert box_iou((0, 0, 10, 10), (5, 0, 15, 10)) == pytest.approx(1 / 3)
    assert box_iou((0, 0, 10, 10), (10, 0, 20, 10)) == 0.0


def test_suppression_keeps_the_best_of_a_heap() -> None:
    boxes = [(0, 0, 10, 10), (0, 0, 10, 11), (30, 0, 40, 10)]
    assert not_suppressed(boxes, [0.5, 0.9, 0.7], 0.8) == [1, 2]
    assert not_suppressed(boxes, [0.5, 0.9, 0.7], 0.95) == [1, 2, 0]
    assert not_suppressed([], [], 0.8) == []


def test_the_part_of_a_mask_inside_a_box_has_its_share() -> None:
    mask = np.zeros((10, 10), bool)
    mask[2:6, 2:6] = True
    part, share = inside_box(mask, (4, 0, 10, 10))
    assert share == 0.5
    assert part.sum() == 8


def test_likeness_is_one_for_itself_and_falls_with_colour_and_shape(
    drawing: np.ndarray, shapes: dict[str, Any]
) -> None:
    def look(name: str) -> Appearance:
        left, top, right, bottom = shapes[name]
        mask = np.zeros(drawing.shape[:2], bool)
        mask[top:bottom, left:right] = (drawing[top:bottom, left:right] < 250).any(axis=2)
        return Appearance.of(drawing, mask)

    circle = look("red circle")
    assert circle.likeness(circle) == 1.0
    assert circle.likeness(look("grey circle")) < 0.1
    assert circle.likeness(look("red star")) < 0.1
    assert circle.likeness(look("red star")) == look("red star").likeness(circle)
