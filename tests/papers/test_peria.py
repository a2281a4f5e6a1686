r"""PERIA (appendix C.1, table 7, figure 12): thirteen of its tools as printed; text reading has tests of its own."""

import json

import numpy as np
import pytest
from PIL import Image, ImageDraw

from toolhand.tool_nodes.backends import make_ports
from toolhand.tool_nodes.perception.object_finder import ObjectFinder
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox
from toolhand.tool_nodes.tools.peria import perception as peria_perception
from toolhand.tool_nodes.tools.peria.interaction import PeriaInteractionTools
from toolhand.tool_nodes.tools.peria.perception import PeriaPerceptionTools

TABLE_7 = {  # name: (output, main parameters)
    "grounding_dino": ("Text", "image_index, question"),
    "auto_segment": ("Text", "image_index"),
    "bbox_segment": ("Text", "image_index, bounding_box"),
    "text_segment": ("Text", "image_index, text_prompt"),
    "exemplar_segment": ("Text", "image_index, bounding_box"),
    "concept_count": ("Text", "image_index, text_prompt"),
    "presence_check": ("Text", "image_index, text_prompt"),
    "image_crop": ("Image", "image_index, bounding_box"),
    "image_label": ("Image", "image_index, text, position"),
    "draw_line": ("Image", "image_index, coordinates"),
    "draw_path": ("Image", "image_index, points"),
    "bounding_box": ("Image", "image_index, bounding_box"),
    "image_highlight": ("Image", "image_index, bounding_box"),
}
BOX = "\\boxed{300, 250, 700, 750}"  # with blanks, as appendix C.1 prints the form
ARGUMENTS = {
    "question": "red square",
    "bounding_box": BOX,
    "text_prompt": "red square",
    "text": "exit",
    "position": "\\boxed{100,100}",
    "coordinates": "\\boxed{100,100,900,900}",
    "points": "\\boxed{100,100,900,100,900,900}",
}
PHRASES = {  # from appendix C.1
    "grounding_dino": "open-vocabulary object detection from text descriptions",
    "auto_segment": "proposals with bounding boxes, confidence scores, areas, and centroids",
    "bbox_segment": "region-constrained segmentation inside a specified bounding box",
    "text_segment": "objects described by a natural-language prompt",
    "exemplar_segment": "a bounding box as a visual exemplar",
    "concept_count": "objects matching a text prompt and return both the count and instance locations",
    "presence_check": "whether a described concept is present in the image",
    "image_crop": "a specified region for fine-grained inspection, such as verifying small text, landmarks, or local",
    "image_label": "helping annotate landmarks, objects, or intermediate reasoning results",
    "draw_line": "a single line between two points, which is useful for marking road segments, boundaries, crossings",
    "draw_path": "a connected path through multiple waypoints, supporting route tracing, maze solving",
    "bounding_box": "a bounding box around a target region, providing explicit localization of objects, landmarks, or",
    "image_highlight": "with a translucent overlay, helping focus attention on relevant areas while preserving",
}


@pytest.fixture(scope="module")
def toolbox() -> Toolbox:
    ports = make_ports("pixels")
    return Toolbox(
        [PeriaInteractionTools(), PeriaPerceptionTools(ObjectFinder(ports.detector, ports.segmenter, ports.depth))]
    )


@pytest.fixture
def session() -> Session:
    """An image with a red square in the middle as image 0."""
    image = Image.new("RGB", (400, 300), "white")
    ImageDraw.Draw(image).rectangle((140, 90, 259, 209), fill=(220, 20, 20))
    return Session(images=[SessionImage(np.asarray(image))])


def test_table_7s_tools_have_its_parameters(toolbox: Toolbox) -> None:
    offered = {name: ", ".join(spec.required) for name, spec in toolbox.specs.items()}
    assert offered == {name: parameters for name, (_, parameters) in TABLE_7.items()}
    assert {spec.suite for spec in toolbox.specs.values()} == {"peria"}


@pytest.mark.parametrize(("name", "phrase"), PHRASES.items())
def test_descriptions_say_what_appendix_c_1_says(toolbox: Toolbox, name: str, phrase: str) -> None:
    assert phrase in toolbox.specs[name].description


@pytest.mark.parametrize(("name", "row"), TABLE_7.items())
def test_each_tool_gives_the_output_of_table_7(
    toolbox: Toolbox, session: Session, name: str, row: tuple[str, str]
) -> None:
    output, parameters = row
    arguments = {"image_index": 0} | {key: ARGUMENTS[key] for key in parameters.split(", ")[1:]}
    result = toolbox.call(name, arguments, session).result
    assert result.ok, result.text
    assert result.text.startswith("Tool executed successfully.\n")
    assert (result.image is not None) == (output == "Image")
    assert ("\nResult: {" in result.text) == (output == "Text")


def test_the_thresholds_are_those_of_appendix_c_1() -> None:
    assert peria_perception.BOX_THRESHOLD == 0.25
    assert peria_perception.NMS_THRESHOLD == 0.8
    assert peria_perception.SCORE_THRESHOLD == 0.25
    assert peria_perception.MAX_PROPOSALS == 20


@pytest.mark.parametrize(
    "action",
    [
        r'{"name": "image_crop", "arguments": {"image_index": 0, "bounding_box": "\boxed{700,300,1000,500}"}}',
        r'{"name": "image_crop", "arguments": {"image_index": 0, "bounding_box": "\\boxed{700,300,1000,500}"}}',
    ],
)
def test_figure_12s_crop_shows_the_right_of_the_image_whether_or_not_its_backslash_is_escaped(
    toolbox: Toolbox, session: Session, action: str
) -> None:
    call = json.loads(action, strict=False)
    record = toolbox.call(call["name"], call["arguments"], session)
    assert record.result.ok, record.result.text
    assert record.image_index == 1
    assert np.array_equal(session.images[1].rgb, session.images[0].rgb[90:150, 280:400])


def test_a_maze_is_traced_verified_and_labelled(toolbox: Toolbox, session: Session) -> None:
    """Perceive, interact, look again: boxes that one tool prints are the next tool's arguments."""
    result = toolbox.call("text_segment", {"image_index": 0, "text_prompt": "red square"}, session).result
    found = json.loads(result.text.split("Result: ")[1].split(" (backend")[0])["proposals"][0]
    assert found["bbox"] == "\\boxed{350,300,650,700}"
    assert found["centroid"] == [500, 500]
    for name, more in (
        ("draw_path", {"points": [[0, 500], found["centroid"]]}),
        ("bounding_box", {"bounding_box": found["bbox"]}),
        ("image_label", {"text": "goal", "position": found["centroid"]}),
    ):
        record = toolbox.call(name, {"image_index": len(session.images) - 1, **more}, session)
        assert record.result.ok, record.result.text
    assert len(session.images) == 4
