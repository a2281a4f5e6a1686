"""PERIA's figures 11 and 12, by the tools, with either backend."""

import json

import pytest

from toolhand.sim.drawings import samples as images
from toolhand.sim.drawings.text_truth import SimTextReader
from toolhand.tool_nodes.perception.text.rapid import RapidTextReader
from toolhand.tool_nodes.ports import TextReader
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox
from toolhand.tool_nodes.tools.peria.text_reading import TextTools
from toolhand.tool_nodes.types import Frame

READERS: dict[str, TextReader] = {"rapidocr": RapidTextReader(), "sim": SimTextReader()}


@pytest.fixture(scope="module")
def street() -> Frame:
    return images.street(0)


def billboard(street: Frame) -> SessionImage:
    """The region of figure 12 with the telephone number."""
    image = SessionImage(street.rgb, street)
    width, height = image.size
    return image.cropped(700 * width // 1000, 300 * height // 1000, width, 500 * height // 1000)


@pytest.mark.parametrize("tool", ["text_ocr", "map_text_ocr"])
def test_figure_12_the_phone_number_is_missed_at_first_and_read_in_a_crop(street: Frame, tool: str) -> None:
    session = Session(images=[SessionImage(street.rgb, street), billboard(street)])
    toolbox = Toolbox([TextTools(READERS["sim"])])
    first = toolbox.call(tool, {"image_index": 0}, session).result
    expected = 'Tool executed successfully.\nResult: {"task": "ocr", "text": "PEINTRE\\nLE DANAY\\nVisuel"}'
    assert first.text.startswith(expected)
    second = toolbox.call("text_ocr", {"image_index": 1}, session).result
    assert second.value == {"task": "ocr", "text": "WEB DESIGN - COMMUNICATION\n(+237) 650 58 49 04"}


def test_figure_12_from_pixels_the_shop_is_read_in_the_image_and_the_number_in_the_crop(street: Frame) -> None:
    session = Session(images=[SessionImage(street.rgb, street), billboard(street)])
    toolbox = Toolbox([TextTools(READERS["rapidocr"])])
    first = toolbox.call("text_ocr", {"image_index": 0}, session).result
    assert {"PEINTRE", "LE DANAY", "Visuel"} <= set(first.value["text"].split("\n"))
    second = toolbox.call("text_ocr", {"image_index": 1}, session).result
    assert second.value["text"] == "WEB DESIGN - COMMUNICATION\n(+237) 650 58 49 04"


@pytest.mark.parametrize("backend", list(READERS))
def test_figure_11_spotting_finds_the_three_view_labels(backend: str) -> None:
    frame = images.cubes(0)
    session = Session(images=[SessionImage(frame.rgb, frame)])
    result = Toolbox([TextTools(READERS[backend])]).call("text_spotting", {"image_index": 0}, session).result
    assert [item["text"] for item in result.value["items"]] == ["front_left", "left", "front"]
    assert all(item["bbox"].startswith("\\boxed{") for item in result.value["items"])
    assert json.dumps(result.value["items"][0])[1:-1] in result.text
