"""The five tools: what they answer, in which form, and what map OCR leaves out."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from sim.drawings import samples as pictures
from sim.drawings.text_truth import SimTextReader, TextNoise
from tool_nodes.perception.text import PixelTextReader
from tool_nodes.ports import Answer, TextReader
from tool_nodes.results import ErrorCode
from tool_nodes.toolbox.images import SessionImage
from tool_nodes.toolbox.toolbox import CallRecord, Session, Toolbox
from tool_nodes.tools.peria.interaction import PeriaInteractionTools
from tool_nodes.tools.peria.text_reading import TextTools, is_map_noise
from tool_nodes.types import Frame, TextSpan

TOOLS = ("text_ocr", "text_spotting", "map_text_ocr", "formula_ocr", "table_ocr")
READERS: dict[str, TextReader] = {
    "pixels": PixelTextReader(),
    "sim": SimTextReader(noise=TextNoise(confusion_rate=0.0)),
}
PREFIX = "Tool executed successfully.\nResult: "
both = pytest.mark.parametrize("backend", list(READERS))


def call(backend: str, name: str, picture: Frame | np.ndarray) -> CallRecord:
    image = SessionImage(picture.rgb, picture) if isinstance(picture, Frame) else SessionImage(picture)
    return Toolbox([TextTools(READERS[backend])]).call(name, {"image_index": 0}, Session(images=[image]))


def value(backend: str, name: str, picture: Frame) -> dict[str, Any]:
    """The tool's value, which is also what its text says."""
    result = call(backend, name, picture).result
    assert result.ok, result.text
    shown, _ = json.JSONDecoder().raw_decode(result.text.removeprefix(PREFIX))
    assert result.text.startswith(PREFIX)
    assert shown == result.value
    return result.value  # type: ignore[no-any-return]


def test_the_tools_take_an_image_index_and_nothing_else() -> None:
    toolbox = Toolbox([TextTools(READERS["pixels"])])
    assert set(toolbox.specs) == set(TOOLS)
    for spec in toolbox.specs.values():
        assert (spec.suite, list(spec.kinds), spec.required) == ("peria", ["image_index"], ("image_index",))


@pytest.mark.parametrize("name", TOOLS)
def test_each_tool_answers_with_text_only_and_names_its_backend(name: str) -> None:
    record = call("pixels", name, np.full((40, 60, 3), 200, np.uint8))
    assert (record.image_index, record.result.backend) == (None, "pixels")
    assert record.result.text.endswith("(backend: pixels)")


@both
def test_nothing_to_read_is_an_empty_text(backend: str) -> None:
    frame = pictures.shapes(1)
    assert value(backend, "text_ocr", frame) == {"task": "ocr", "text": ""}
    assert value(backend, "text_spotting", frame) == {"task": "spotting", "items": []}
    assert value(backend, "formula_ocr", frame) == {"task": "formula", "text": ""}
    assert value(backend, "table_ocr", frame) == {"task": "table", "rows": []}


@both
def test_map_ocr_gives_names_without_numbers_scale_and_symbols(backend: str) -> None:
    frame = pictures.city_map(0)
    assert frame.texts is not None
    names = [span.text for span in frame.texts if not is_map_noise(span.text)]
    assert len(names) == 7
    assert sorted(value(backend, "map_text_ocr", frame)["text"].split("\n")) == sorted(names)
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
    frame = pictures.formula(seed)
    assert frame.texts is not None
    assert value(backend, "formula_ocr", frame)["text"].replace(" ", "") == frame.texts[0].text.replace(" ", "")


@both
def test_tables_are_rows_of_cells(backend: str) -> None:
    frame = pictures.table(0)
    assert frame.texts is not None
    cells = [span.text for span in frame.texts]
    rows = [cells[k : k + 3] for k in range(0, len(cells), 3)]
    assert value(backend, "table_ocr", frame) == {"task": "table", "rows": rows}


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
        ((-4.0, 10.0, 50.2, 130.0), r"\boxed{0,83,502,1000}"),  # the far sides lie outside the picture
        ((30.0, 20.0, 30.01, 40.0), r"\boxed{300,167,301,333}"),
        ((99.99, 119.99, 100.0, 120.0), r"\boxed{999,999,1000,1000}"),
    ],
)
def test_the_box_of_a_text_is_one_that_the_other_tools_take(box: tuple[float, float, float, float], told: str) -> None:
    toolbox = Toolbox([TextTools(OneText(box)), PeriaInteractionTools()])
    session = Session(images=[SessionImage(np.zeros((120, 100, 3), np.uint8))])
    found = toolbox.call("text_spotting", {"image_index": 0}, session).result
    assert isinstance(found.value, dict)
    assert found.value["items"] == [{"text": "x", "bbox": told}]
    assert toolbox.call("bounding_box", {"image_index": 0, "bounding_box": told}, session).result.ok


def test_the_simulators_reader_has_no_truth_about_other_pictures() -> None:
    error = call("sim", "text_ocr", np.zeros((40, 60, 3), np.uint8)).result.error
    assert error is not None
    assert error.code is ErrorCode.UNAVAILABLE
    assert "'pixels'" in str(error)
