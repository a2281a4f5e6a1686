"""E-ViC: its three cases (appendix A), the example of E.8, the schemas of figure 8, the text of B.3, via a toolbox."""

from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageColor, ImageDraw

from toolhand.agent_node.calls import blocks, boxed_answers, json_call
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session, Toolbox
from toolhand.tool_nodes.tools.evic.visual_tools import BLUE_FIRST, PALETTE, EvicTools

RED, BLUE, GREEN = [255, 0, 0], [0, 0, 255], [0, 128, 0]

FIGURE_8: dict[str, Any] = {
    "image_zoom_in": (
        "Crop and enlarge a specified rectangular region of the image for detailed inspection. The coordinate origin "
        "(0,0) is at the top-left corner.",
        {
            "image_idx": ("integer", "Index of the target image (starting from 0)"),
            "bbox_2d": (
                "array",
                "Region coordinates as [x1, y1, x2, y2], where (x1, y1) is the top-left corner and (x2, y2) is the "
                "bottom-right corner. Requires x1 < x2 and y1 < y2.",
            ),
            "label": ("string", "Optional descriptive annotation for the cropped region"),
        },
        ["bbox_2d"],
    ),
    "draw_point": (
        "Place visible point markers at specified locations on the image to indicate positions, objects, or areas of "
        "interest.",
        {
            "image_idx": ("integer", "Index of the target image (starting from 0)"),
            "points": ("array", "List of point coordinates, each formatted as [x, y]"),
        },
        ["points"],
    ),
    "draw_box": (
        "Render rectangular bounding boxes on the image to highlight, localize, or annotate specific regions or "
        "objects.",
        {
            "image_idx": ("integer", "Index of the target image (starting from 0)"),
            "boxes": (
                "array",
                "List of bounding boxes, each formatted as [x1, y1, x2, y2] where (x1, y1) is the top-left corner and "
                "(x2, y2) is the bottom-right corner",
            ),
        },
        ["boxes"],
    ),
    "draw_trajectory": (
        "Draw connected paths on the image by linking sequential waypoints with lines. Suitable for visualizing "
        "motion, flow, or ordered spatial relationships.",
        {
            "image_idx": ("integer", "Index of the target image (starting from 0)"),
            "trajectories": (
                "array",
                "List of trajectories, where each trajectory is an ordered sequence of at least 2 waypoints formatted "
                "as [x, y]",
            ),
        },
        ["trajectories"],
    ),
    "draw_3d_bbox": (
        "Render 3D bounding boxes on the image using 8 projected corner points per box. Front face edges are drawn in "
        "red, back face in blue, and connecting edges in green.",
        {
            "image_idx": ("integer", "Index of the target image (starting from 0)"),
            "boxes_3d": (
                "array",
                "List of 3D boxes, each defined by 8 corner points as [x, y]. Corners 0-3 define the front face, "
                "corners 4-7 define the back face. Corner order per face: top-left, top-right, bottom-right, "
                "bottom-left.",
            ),
        },
        ["boxes_3d"],
    ),
}


class Conversation:
    """Images, and the model's turns as text."""

    def __init__(self, *images: Image.Image) -> None:
        self.toolbox = Toolbox([EvicTools()])
        self.session = Session(images=[SessionImage(np.asarray(image)) for image in images])

    def turn(self, text: str) -> CallRecord:
        """The one call of a turn."""
        ((_, content),) = blocks(text, ["tool_call"])[0]
        call = json_call(content)
        assert not call.problem
        record = self.toolbox.call(call.name, call.arguments, self.session)
        assert record.result.ok, record.result.text
        return record

    def pixel(self, image: int, x: int, y: int) -> list[int]:
        return self.session.images[image].rgb[y, x].tolist()


def make_image(width: int, height: int, *objects: tuple[tuple[int, int, int, int], str]) -> Image.Image:
    """A grey image with filled rectangles."""
    image = Image.new("RGB", (width, height), (120, 120, 120))
    for box, colour in objects:
        ImageDraw.Draw(image).rectangle(box, fill=colour)
    return image


def test_case_1_marks_the_target_and_the_start_and_draws_the_path() -> None:
    talk = Conversation(make_image(224, 168, ((63, 119, 83, 139), "#b01010"), ((20, 60, 30, 90), "#303030")))
    talk.turn('<tool_call>\n{"name": "draw_point", "arguments": {"points": [[73, 129]]}}\n</tool_call>')
    talk.turn('<tool_call>\n{"name": "draw_point", "arguments": {"image_idx": 1, "points": [[25, 90]]}}\n</tool_call>')
    record = talk.turn(
        'Now the path. <tool_call>{"name": "draw_trajectory", "arguments": '
        '{"image_idx": 0, "trajectories": [[[25, 90], [73, 129]]]}}</tool_call>'
    )
    assert record.result.text == "Drew 1 trajectory on image 0: red with 2 waypoints."
    assert talk.pixel(1, 73, 129) == talk.pixel(2, 73, 129) == talk.pixel(2, 25, 90) == RED
    assert talk.pixel(0, 73, 129) == [0xB0, 0x10, 0x10]  # the original stays
    assert talk.pixel(3, 49, 110) == RED  # the middle of the path
    assert talk.pixel(3, 49, 90) == [120, 120, 120]
    (answer,) = boxed_answers(r"The trajectory is \boxed{[(25, 90), (73, 129)]}.")
    assert answer == "[(25, 90), (73, 129)]"


def test_case_2_marks_three_objects_in_one_image() -> None:
    talk = Conversation(make_image(560, 420, ((480, 380, 540, 410), "white")))
    record = talk.turn(
        '<tool_call>{"name": "draw_point", "arguments": {"points": [[103, 242], [423, 344], [341, 349]]}}</tool_call>'
    )
    assert record.result.text == "Drew 3 points on image 0: (103, 242), (423, 344), (341, 349)."
    assert [talk.pixel(1, x, y) for x, y in ((103, 242), (423, 344), (341, 349))] == [RED] * 3
    assert boxed_answers(r"\boxed{A}") == ["A"]


def test_case_3_draws_the_box_and_then_its_centre() -> None:
    talk = Conversation(make_image(640, 480, ((324, 183, 525, 389), "silver")))
    box = talk.turn('<tool_call>{"name": "draw_box", "arguments": {"boxes": [[324, 183, 525, 389]]}}</tool_call>')
    point = talk.turn('<tool_call>{"name": "draw_point", "arguments": {"points": [[427, 289]]}}</tool_call>')
    assert box.result.text == "Drew 1 box on image 0: [324,183,525,389]."
    assert point.result.text == "Drew 1 point on image 0: (427, 289)."
    for x, y in ((324, 183), (525, 183), (525, 389), (324, 389), (324, 280), (400, 183)):
        assert talk.pixel(1, x, y) == RED
    assert talk.pixel(1, 425, 286) == [192, 192, 192]
    assert talk.pixel(2, 427, 289) == RED
    assert boxed_answers(r"\boxed{(427.0, 289.0)}") == ["(427.0, 289.0)"]


def test_the_example_of_e8_annotates_the_third_image() -> None:
    talk = Conversation(*(make_image(400, 300 + k) for k in range(3)))
    record = talk.turn(
        '<tool_call>\n{"name": "draw_point",\n "arguments": {"image_idx": 2,\n'
        '               "points": [[156, 234], [312, 189]]}}\n</tool_call>'
    )
    assert record.image_index == 3
    assert talk.session.images[3].size == (400, 302)
    assert talk.pixel(3, 156, 234) == talk.pixel(3, 312, 189) == RED


def test_a_zoom_is_reported_as_in_b3() -> None:
    talk = Conversation(make_image(640, 480, ((200, 100, 300, 200), "#00ff00")))
    record = talk.turn(
        '<tool_call>{"name": "image_zoom_in", "arguments": {"bbox_2d": [120, 80, 350, 240]}}</tool_call>'
    )
    assert record.result.text == "Zoomed in on image 0 to region [120,80,350,240]."
    assert np.array_equal(talk.session.images[1].rgb, talk.session.images[0].rgb[80:240, 120:350])


def test_algorithm_7_draws_the_front_red_the_back_blue_and_the_edges_between_green() -> None:
    talk = Conversation(make_image(300, 300))
    front, back = [[50, 100], [150, 100], [150, 200], [50, 200]], [[110, 50], [210, 50], [210, 150], [110, 150]]
    talk.turn(f'<tool_call>{{"name": "draw_3d_bbox", "arguments": {{"boxes_3d": [{front + back}]}}}}</tool_call>')
    for (x, y), colour in {
        (70, 100): RED,
        (150, 180): RED,
        (100, 200): RED,
        (50, 150): RED,
        (160, 50): BLUE,
        (210, 100): BLUE,
        (180, 150): BLUE,
        (110, 70): BLUE,
        (80, 75): GREEN,
        (180, 75): GREEN,
        (180, 175): GREEN,
        (80, 175): GREEN,
    }.items():
        assert talk.pixel(1, x, y) == colour, (x, y)


@pytest.mark.parametrize(("palette", "first", "eighth"), [(PALETTE, "red", "magenta"), (BLUE_FIRST, "blue", "red")])
def test_algorithm_6_colours_in_either_reading(palette: tuple[str, ...], first: str, eighth: str) -> None:
    toolbox = Toolbox([EvicTools(palette)])
    session = Session(images=[SessionImage(np.asarray(make_image(200, 200)))])
    paths = [[[10, 20 * j], [190, 20 * j]] for j in range(1, 10)]
    record = toolbox.call("draw_trajectory", {"trajectories": paths}, session)
    colours = [ImageColor.getrgb(name) for name in (first, eighth, first)]
    assert [session.images[1].rgb[20 * j, 100].tolist() for j in (1, 8, 9)] == [list(colour) for colour in colours]
    assert record.result.text.startswith(f"Drew 9 trajectories on image 0: {first} with 2 waypoints, ")


@pytest.mark.parametrize("name", FIGURE_8)
def test_the_schemas_have_the_words_of_figure_8(name: str) -> None:
    description, arguments, required = FIGURE_8[name]
    schema = Toolbox([EvicTools()]).specs[name].schema()["function"]
    assert schema["description"] == description
    properties = schema["parameters"]["properties"]
    assert {key: (entry["type"], entry["description"]) for key, entry in properties.items()} == arguments
    assert list(properties) == list(arguments)
    assert schema["parameters"]["required"] == required
