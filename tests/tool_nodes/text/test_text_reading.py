"""The five tools: what they answer, in which form, and what map OCR leaves out."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from toolhand.sim.drawings import samples as images
from toolhand.sim.drawings.builder import ImageBuilder
from toolhand.sim.drawings.text_truth import SimTextReader, TextNoise
from toolhand.tool_nodes.perception.text.rapid import RapidTextReader
from toolhand.tool_nodes.ports import Answer, TextReader
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session, Toolbox
from toolhand.tool_nodes.tools.peria.interaction import PeriaInteractionTools
from toolhand.tool_nodes.tools.peria.text_reading import TextTools, is_map_noise
from toolhand.tool_nodes.types import Frame, TextSpan

TOOLS = ("text_ocr", "text_spotting", "map_text_ocr", "formula_ocr", "table_ocr")
READERS: dict[str, TextReader] = {
    "rapidocr": RapidTextReader(),
    "sim": SimTextReader(noise=TextNoise(confusion_rate=0.0)),
}
PREFIX = "Tool executed successfully.\nResult: "
both = pytest.mark.parametrize("backend", list(READERS))


def call(backend: str, name: str, shown: Frame | np.ndarray) -> CallRecord:
    image = SessionImage(shown.rgb, shown) if isinstance(shown, Frame) else SessionImage(shown)
    return Toolbox([TextTools(READERS[backend])]).call(name, {"image_index": 0}, Session(images=[image]))


def value(backend: str, name: str, image: Frame) -> dict[str, Any]:
    """The tool's value, which is also what its text says."""
    result = call(backend, name, image).result
    assert result.ok, result.text
    shown, _ = json.JSONDecoder().raw_decode(result.text.removeprefix(PREFIX))
    assert result.text.startswith(PREFIX)
    assert shown == result.value
    return result.value  # type: ignore[no-any-return]


def test_the_tools_take_an_image_index_and_nothing_else() -> None:
    toolbox = Toolbox([TextTools(READERS["rapidocr"])])
    assert set(toolbox.specs) == set(TOOLS)
    for spec in toolbox.specs.values():
        assert (spec.suite, list(spec.kinds), spec.required) == ("peria", ["image_index"], ("image_index",))


@pytest.mark.parametrize("name", TOOLS)
def test_each_tool_answers_with_text_only_and_names_its_backend(name: str) -> None:
    record = call("rapidocr", name, np.full((40, 60, 3), 200, np.uint8))
    assert (record.image_index, record.result.backend) == (None, "rapidocr")
    assert record.result.text.endswith("(backend: rapidocr)")


@both
def test_nothing_to_read_is_an_empty_text(backend: str) -> None:
    frame = images.shapes(5)
    assert value(backend, "text_ocr", frame) == {"task": "ocr", "text": ""}
    assert value(backend, "text_spotting", frame) == {"task": "spotting", "items": []}
    assert value(backend, "formula_ocr", frame) == {"task": "formula", "text": ""}
    assert value(backend, "table_ocr", frame) == {"task": "table", "rows": []}


@both
def test_map_ocr_gives_names_without_numbers_scale_and_symbols(backend: str) -> None:
    frame = images.city_map(0)
    assert frame.texts is not None
    names = [span.text for span in frame.texts if not is_map_noise(span.text)]
    assert len(names) == 7
    told = value(backend, "map_text_ocr", frame)
    assert sorted(told["text"].split("\n")) == sorted(names)
    assert set(told.get("uncertain", ())) <= set(names)
    assert " m" in value(backend, "text_ocr", frame)["text"]


@pytest.mark.parametrize(
    "text",
    [
        "42",
        "12.5",
        "500 m",
        "1:2000 km",
        "2 mi",
        "0 1 2 km",
        "Scale 1:50 000",
        "scale: 200 m",
        "+",
        "A",
        "N",
        "--",
        "#7",
        "0 A00 200 m",
        "0 A00 2o0 m",
        "Scaie A :5o00",
        "A00",
    ],
)
def test_numbers_scales_and_symbols_are_map_noise(text: str) -> None:
    assert is_map_noise(text)


@pytest.mark.parametrize(
    "text", ["Oakfield", "Route 66", "St. 7th Avenue", "A40 North", "Mill", "Scale Lane 2", "Miles"]
)
def test_names_are_no_map_noise(text: str) -> None:
    assert not is_map_noise(text)


@both
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_formulas_are_latex(backend: str, seed: int) -> None:
    frame = images.formula(seed)
    assert frame.texts is not None
    assert value(backend, "formula_ocr", frame)["text"].replace(" ", "") == frame.texts[0].text.replace(" ", "")


@both
def test_tables_are_rows_of_cells(backend: str) -> None:
    frame = images.table(0)
    assert frame.texts is not None
    cells = [span.text for span in frame.texts]
    rows = [cells[k : k + 3] for k in range(0, len(cells), 3)]
    assert value(backend, "table_ocr", frame)["rows"] == rows


class OneText:
    """Reads one text, wherever it is."""

    backend = "one"

    def __init__(self, box: tuple[float, float, float, float]) -> None:
        self._box = box

    def read(self, image: SessionImage) -> Answer[list[TextSpan]]:
        return Answer([TextSpan("x", self._box)], self.backend)


@pytest.mark.parametrize(
    ("box", "told"),
    [
        ((-4.0, 10.0, 50.2, 130.0), r"\boxed{0,83,502,1000}"),  # the far sides lie outside the image
        ((30.0, 20.0, 30.01, 40.0), r"\boxed{300,167,301,333}"),
        ((99.99, 119.99, 100.0, 120.0), r"\boxed{999,999,1000,1000}"),
    ],
)
def test_the_box_of_a_text_is_one_that_the_other_tools_take(box: tuple[float, float, float, float], told: str) -> None:
    toolbox = Toolbox([TextTools(OneText(box)), PeriaInteractionTools()])
    session = Session(images=[SessionImage(np.zeros((120, 100, 3), np.uint8))])
    found = toolbox.call("text_spotting", {"image_index": 0}, session).result
    assert isinstance(found.value, dict)
    assert found.value["items"] == [{"text": "x", "bbox": told, "score": 1.0}]
    assert toolbox.call("bounding_box", {"image_index": 0, "bounding_box": told}, session).result.ok


class Told:
    """Reads what it was given; a part of an image is read as what is told of it."""

    backend = "told"

    def __init__(self, *spans: TextSpan, parts: Mapping[tuple[int, int], str] | None = None) -> None:
        self._spans = list(spans)
        self._parts = parts

    def read(self, image: SessionImage) -> Answer[list[TextSpan]]:
        if self._parts is None or image.size not in self._parts:
            return Answer(self._spans, self.backend)
        return Answer([TextSpan(self._parts[image.size], (5.0, 5.0, 20.0, 20.0))], self.backend)


def span(text: str, left: float, top: float, width: float = 60, score: float = 1.0) -> TextSpan:
    return TextSpan(text, (left, top, left + width, top + 20), score)


def told(name: str, reader: TextReader, rgb: np.ndarray | None = None) -> dict[str, Any]:
    session = Session(images=[SessionImage(np.full((200, 400, 3), 250, np.uint8) if rgb is None else rgb)])
    result = Toolbox([TextTools(reader)]).call(name, {"image_index": 0}, session).result
    assert result.ok, result.text
    return result.value  # type: ignore[no-any-return]


DOUBTS = (span("Kiel", 10, 10), span("Bonm", 10, 50, score=0.5), span("", 10, 90, score=0.1))


def test_what_is_uncertain_and_how_much_is_unread_is_said() -> None:
    expected = {"task": "ocr", "text": "Kiel\nBonm", "uncertain": ["Bonm"], "unread": 1}
    assert told("text_ocr", Told(*DOUBTS)) == expected
    assert told("map_text_ocr", Told(*DOUBTS, span("200 rn", 10, 120, score=0.4))) == expected | {
        "text": "Kiel\nBonm\n200 rn",
        "uncertain": ["Bonm", "200 rn"],
    }
    formula = told("formula_ocr", Told(span("a=b", 10, 10, score=0.5), span("", 10, 50)))
    assert formula == {"task": "formula", "text": "a=b", "uncertain": ["a=b"], "unread": 1}


def test_every_spotted_text_has_a_score_and_an_unread_one_is_null() -> None:
    items = told("text_spotting", Told(*DOUBTS))["items"]
    assert [(item["text"], item["score"]) for item in items] == [("Kiel", 1.0), ("Bonm", 0.5), (None, 0.1)]


def test_all_read_and_sure_is_the_papers_form_and_nothing_else() -> None:
    assert told("text_ocr", Told(span("Kiel", 10, 10))) == {"task": "ocr", "text": "Kiel"}


def grid(*printed: tuple[str, float, float]) -> np.ndarray:
    """An image with a table of 2 x 2 cells, 100 x 50 px each, and what is printed into it."""
    image = ImageBuilder(240, 140)
    for x in (20, 120, 220):
        image.path([(x, 20), (x, 120)], 2.0, (0, 0, 0))
    for y in (20, 70, 120):
        image.path([(20, y), (220, y)], 2.0, (0, 0, 0))
    for text, x, y in printed:
        image.text(text, (x, y), 20.0)
    return image.frame().rgb


def test_a_cell_that_could_not_be_read_is_not_an_empty_one() -> None:
    rgb = grid(("Bonn", 40, 50), ("331", 140, 50), ("Kiel", 40, 100))
    read = told("table_ocr", Told(span("Bonn", 40, 35), span("", 40, 85)), rgb)
    assert read == {"task": "table", "rows": [["Bonn", None], [None, ""]], "unread": 2}


def test_neighbours_that_were_taken_for_one_line_are_read_apart() -> None:
    rgb = grid(("1", 100, 50), ("7", 130, 50))
    cells = {(100, 50): "1", (101, 50): "1", (99, 50): "1"}
    read = told("table_ocr", Told(span("17", 95, 35, 50), parts=cells), rgb)
    assert read["rows"] == [["1", "1"], ["", ""]]


def test_a_text_outside_of_the_grid_is_told() -> None:
    assert told("table_ocr", Told(span("Bonn", 40, 35), span("Cities", 40, 0)), grid(("Bonn", 40, 50))) == {
        "task": "table",
        "rows": [["Bonn", ""], ["", ""]],
        "outside": ["Cities"],
    }


def test_prose_is_neither_a_formula_nor_a_table_without_saying_so() -> None:
    prose = Told(span("Region based segmentation", 10, 10, 250), span("These markers are pixels", 10, 50, 250))
    assert told("formula_ocr", prose) == {
        "task": "formula",
        "text": "",
        "not_formula": ["Region based segmentation", "These markers are pixels"],
    }
    assert "neither ruled lines nor columns" in told("table_ocr", prose)["note"]


def test_signs_that_are_no_latex_are_named() -> None:
    read = told("formula_ocr", Told(span("√2 ≤ π", 10, 10)))
    assert read == {"task": "formula", "text": "√2 \\le \\pi", "not_latex": ["√"]}


@pytest.mark.parametrize("size", [(500, 300), (1200, 900), (320, 240)])
@pytest.mark.parametrize("text", ["carton", "Station A", "B"])
def test_what_image_label_draws_is_read(size: tuple[int, int], text: str) -> None:
    width, height = size
    session = Session(images=[SessionImage(np.full((height, width, 3), 120, np.uint8))])
    toolbox = Toolbox([PeriaInteractionTools(), TextTools(READERS["rapidocr"])])
    labelled = toolbox.call("image_label", {"image_index": 0, "text": text, "position": [300, 400]}, session)
    read = toolbox.call("text_ocr", {"image_index": labelled.image_index}, session).result
    assert read.value["text"] == text


def test_the_simulators_reader_has_no_truth_about_other_images() -> None:
    error = call("sim", "text_ocr", np.zeros((40, 60, 3), np.uint8)).result.error
    assert error is not None
    assert error.code is ErrorCode.IMAGE_UNUSABLE
    assert "'rapidocr'" in str(error)
