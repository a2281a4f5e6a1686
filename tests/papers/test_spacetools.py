"""Figures 6 and 7 of the SpaceTools supplement: their calls, as they are written, on images that are like theirs."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from toolhand.agent_node.protocol import load_protocol
from toolhand.sim.mock.data import MockFrame
from toolhand.sim.mock.recording import record_frame
from toolhand.sim.mock.station import MockStation
from toolhand.sim.station import StationConfig
from toolhand.tool_nodes.toolbox.toolbox import Session
from toolhand.tool_nodes.types import Frame

Point = tuple[float, float]
PERCEPTIONS = ("sim", "pixels")
RED, BLUE = (255, 0, 0), (0, 0, 255)

FIGURE_6 = {
    "detect": "Detected 1 instance(s) of 'oatmeal-raisin cookies': [(0.479, 0.417)]",
    "segment": "Segmented object at normalized coords (0.479, 0.417) with IoU score: 0.940. "
    "Use $segmentation_mask (boolean array, 289x511) to reference it.",
    "depth": "Generated 511x289 depth map and 147,679 3D points. Depth range in point cloud: 1.01m to 1.44m "
    "(mean: 1.18m). Use $depth_map (numpy array, 289x511), $point_cloud (numpy array, 147679x3) and "
    "$focal_length_px (float) to reference the results.",
    "grasp": "Generated collision-free grasp with confidence 0.978 from 1980/147679 masked points. "
    "Filtered 100 → 12 collision-free grasps. Projected 2D gripper points: [(0.501, 0.213), (0.460, 0.168), "
    "(0.546, 0.261), (0.461, 0.262), (0.543, 0.359)].",
}
FIGURE_7_POINTS = {
    "depth": "Estimated depth map for 504x476 image. Focal length: 1198.4px. Depth range: 0.52m to 1.34m "
    "(mean: 0.74m). Use $depth_map (numpy array, 476x504) to reference the depth data and $focal_length_px (float) to "
    "reference the focal length.",
    "A": "Detected 1 instance(s) of 'red circle under label A': [(0.327, 0.439)]",
    "B": "Detected 1 instance(s) of 'red circle under label B': [(0.672, 0.437)]",
    "value": "Pixel value at (0.327, 0.439) is 0.6470662355422974",
}
FIGURE_7_BOXES = {
    "depth": "Estimated depth map for 512x373 image. Focal length: 473.6px. Depth range: 1.84m to 8.38m "
    "(mean: 4.02m). Use $depth_map (numpy array, 373x512) to reference the depth data and $focal_length_px (float) to "
    "reference the focal length.",
    "books": "Detected 1 instance(s) of 'books (highlighted by a red box)': [(0.861, 0.672)]",
    "chair": "Detected 1 instance(s) of 'chair (highlighted by a blue box)': [(0.443, 0.733)]",
    "value": "Pixel value at (0.861, 0.672) is 2.70392107963562",
}
"""The tools' responses as the figures print them."""

_SIZE = r"\d+x\d+|\d{1,3}(?:,\d{3})+ 3D|\d+/\d+ masked"
_NUMBER = re.compile(rf"(?P<fixed>{_SIZE})|(?P<decimal>\d+\.\d+)|(?P<whole>(?<=Filtered )\d+|(?<=→ )\d+)")
_AFTER = r"(?: Use \$grasp_pose \(numpy array, 4x4\) to reference it\.)?(?: \(backend: \w+\))?"
"""What may follow: the figure does not print that the grasp has a name, nor who answered."""


def has_form_of(text: str, printed: str) -> bool:
    """True if a response differs from a printed one only in its measurements, and names its backend at the end."""

    def pattern(found: re.Match[str]) -> str:
        if found["fixed"]:
            return r"\d+/147679 masked" if "masked" in found["fixed"] else re.escape(found["fixed"])
        digits = len(found["decimal"].split(".")[1]) if found["decimal"] else 0
        return rf"-?\d+\.\d{{{digits}}}" if 0 < digits < 6 else r"\d+\.\d+" if digits else r"\d+"

    form, end = "", 0
    for found in _NUMBER.finditer(printed):
        form += re.escape(printed[end : found.start()]) + pattern(found)
        end = found.end()
    form += re.escape(printed[end:])
    return re.fullmatch(form + _AFTER, text) is not None


class Conversation:
    """An agent that works the tools with turns of text."""

    def __init__(self, recorded: MockFrame, perception: Any) -> None:
        self._toolbox = MockStation(recorded, StationConfig(perception=perception)).toolbox
        self.session = Session()
        assert self._toolbox.call("robot.capture_image", {}, self.session).image_index == 0

    def turn(self, text: str) -> list[str]:
        """The responses to the calls of a turn."""
        parsed = load_protocol("spacetools").parse(text)
        assert not parsed.problem
        assert parsed.calls
        assert not any(call.problem for call in parsed.calls)
        records = [self._toolbox.call(call.name, call.arguments, self.session) for call in parsed.calls]
        assert all(record.result.ok for record in records), [record.result.text for record in records]
        return [record.result.text for record in records]


def points_of(response: str) -> list[Point]:
    """The points that a response lists in brackets."""
    listed = response[response.index("[") : response.index("]")]
    return [(float(x), float(y)) for x, y in re.findall(r"\((-?\d\.\d+), (-?\d\.\d+)\)", listed)]


def value_of(response: str) -> float:
    """The value of `Pixel value at (..) is ..`."""
    return float(response.rsplit(" ", 1)[1])


@cache
def scene(seed: int, size: tuple[int, int]) -> Frame:
    return record_frame(seed, size).frame


def renamed(frame: Frame, **names: str) -> Frame:
    labels = frame.labels or ()
    return replace(frame, labels=tuple(names.get(label.replace(" ", "_"), label) for label in labels))


def id_of(frame: Frame, label: str) -> int:
    return (frame.labels or ()).index(label)


def nearest_and_farthest(frame: Frame) -> list[tuple[int, float]]:
    """(id, depth [m]) of the objects of a frame, from near to far."""
    assert frame.ids is not None
    ids = [k for k in range(len(frame.labels or ())) if np.count_nonzero(frame.ids == k) > 400]
    return sorted(((k, float(np.nanmedian(frame.depth[frame.ids == k]))) for k in ids), key=lambda pair: pair[1])


def bounds(frame: Frame, k: int) -> tuple[int, int, int, int]:
    assert frame.ids is not None
    rows, columns = np.nonzero(frame.ids == k)
    return int(columns.min()), int(rows.min()), int(columns.max()), int(rows.max())


# -- figure 6 --------------------------------------------------------------------------------------


@cache
def figure_6() -> tuple[Conversation, Frame, dict[str, str]]:
    """The conversation of figure 6, and the response of each of its turns."""
    frame = renamed(scene(3, (511, 289)), cracker_box="oatmeal-raisin cookies")
    agent = Conversation(MockFrame(frame), "sim")
    said = {}
    (said["detect"],) = agent.turn(
        "<think> Let me start by detecting the oatmeal-raisin cookies box. </think>"
        '<tool_call>{"name": "roborefer.detect_one", "arguments": '
        '{"obj_name": "oatmeal-raisin cookies", "image_index": 0}}</tool_call>'
    )
    ((x, y),) = points_of(said["detect"])
    (said["segment"],) = agent.turn(
        "<think> Now I need to segment it to get a mask of the object. </think>"
        f'<tool_call>{{"name": "sam2.segment_from_point", "arguments": {{"x": {x}, "y": {y}, "image_index": 0}}}}'
        "</tool_call>"
    )
    (said["depth"],) = agent.turn(
        "<think> Now I need to estimate depth and generate a point cloud. </think>"
        '<tool_call>{"name": "depth_estimator.estimate_depth_with_pointcloud", "arguments": {"image_index": 0}}'
        "</tool_call>"
    )
    (said["grasp"],) = agent.turn(
        "<think> Now I can compute the grasp pose for the object. </think>"
        '<tool_call> {"name": "grasp_generator.compute_grasp", "arguments": {"point_cloud": "$point_cloud", '
        '"mask": "$segmentation_mask", "focal_length_px": "$focal_length_px", "image_index": 0}} </tool_call>'
    )
    return agent, frame, said


@pytest.mark.parametrize("step", FIGURE_6)
def test_every_response_of_figure_6_has_the_printed_form(step: str) -> None:
    _, _, said = figure_6()
    assert has_form_of(said[step], FIGURE_6[step]), said[step]


def test_figure_6_ends_with_five_points_that_outline_a_grasp_of_the_cookies() -> None:
    _, frame, said = figure_6()
    centre, *fingers = np.array(points_of(said["grasp"])) * frame.size
    assert len(fingers) == 4
    left_base, right_base, left_tip, right_tip = fingers
    left, top, right, bottom = bounds(frame, id_of(frame, "oatmeal-raisin cookies"))
    reach = 0.5 * max(right - left, bottom - top)
    for point in (left_tip, right_tip, centre):
        assert left - reach < point[0] < right + reach
        assert top - reach < point[1] < bottom + reach
    # Above the object: the camera looks down at it, so the fingers' bases appear higher than their tips.
    assert left_base[1] + right_base[1] < left_tip[1] + right_tip[1]
    on_the_object = (left_tip + right_tip) / 2.0
    assert left < on_the_object[0] < right


def test_the_mask_of_figure_6_is_that_of_the_object_which_the_frame_calls_so() -> None:
    agent, frame, _ = figure_6()
    assert frame.ids is not None
    true, mask = frame.ids == id_of(frame, "oatmeal-raisin cookies"), agent.session.variables["segmentation_mask"]
    assert np.count_nonzero(true & mask) / np.count_nonzero(true | mask) > 0.85


# -- figure 7, points ------------------------------------------------------------------------------


def marked(frame: Frame, points: Sequence[tuple[str, float, float]]) -> Frame:
    """The frame with labelled red discs at points [px] painted into its image."""
    image = Image.fromarray(frame.rgb.copy())
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(size=20)
    for label, x, y in points:
        draw.ellipse((x - 6, y - 6, x + 6, y + 6), fill=RED)
        draw.text((x, y - 20), label, fill="white", anchor="mm", font=font, stroke_width=2, stroke_fill="black")
    return replace(frame, rgb=np.asarray(image))


@pytest.mark.parametrize("perception", PERCEPTIONS)
@pytest.mark.parametrize("nearer", ["A", "B"])
def test_figure_7_tells_which_of_two_labelled_points_is_nearer(nearer: str, perception: str) -> None:
    bare = scene(3, (504, 476))
    (near, _), *_, (far, _) = nearest_and_farthest(bare)
    places = {}
    for label, k in (("A", near if nearer == "A" else far), ("B", near if nearer == "B" else far)):
        left, top, right, bottom = bounds(bare, k)
        places[label] = (left + right) // 2, (top + bottom) // 2
    agent = Conversation(MockFrame(marked(bare, [(label, *at) for label, at in places.items()])), perception)

    depth, a, b = agent.turn(
        "<think> I can see two red dots labeled A and B. </think>"
        '<tool_call>{"name": "depth_estimator.estimate_depth", "arguments": {"image_index": 0}}</tool_call>'
        '<tool_call>{"name": "roborefer.detect_one", "arguments": '
        '{"obj_name": "red circle under label A", "image_index": 0}}</tool_call>'
        '<tool_call>{"name": "roborefer.detect_one", "arguments": '
        '{"obj_name": "red circle under label B", "image_index": 0}}</tool_call>'
    )
    for text, step in ((depth, "depth"), (a, "A"), (b, "B")):
        assert has_form_of(text, FIGURE_7_POINTS[step]), text
    found = [points_of(text)[0] for text in (a, b)]
    for (x, y), label in zip(found, "AB", strict=True):
        assert np.hypot(x * 504 - places[label][0], y * 476 - places[label][1]) < 3.0

    values = agent.turn(
        "<think> Now let me get the depth values at these two points: </think>"
        + "".join(
            f'<tool_call>{{"name": "vision_ops.index_at", "arguments": {{"data": "$depth_map", "u": {x}, "v": {y}}}}}'
            "</tool_call>"
            for x, y in found
        )
    )
    assert all(has_form_of(text, FIGURE_7_POINTS["value"]) for text in values), values
    at_a, at_b = (value_of(text) for text in values)
    assert ("A" if at_a < at_b else "B") == nearer


# -- figure 7, boxes -------------------------------------------------------------------------------


def boxed(frame: Frame, objects: Sequence[tuple[int, tuple[int, int, int]]]) -> Frame:
    """The frame with a box painted around each object."""
    image = Image.fromarray(frame.rgb.copy())
    for k, colour in objects:
        left, top, right, bottom = bounds(frame, k)
        ImageDraw.Draw(image).rectangle((left - 5, top - 5, right + 5, bottom + 5), outline=colour, width=3)
    return replace(frame, rgb=np.asarray(image))


@pytest.mark.parametrize("perception", PERCEPTIONS)
@pytest.mark.parametrize("books_are_nearer", [True, False])
def test_figure_7_tells_which_of_two_boxed_objects_is_nearer(books_are_nearer: bool, perception: str) -> None:
    bare = scene(3, (512, 373))
    (near, _), *_, (far, _) = nearest_and_farthest(bare)
    books, chair = (near, far) if books_are_nearer else (far, near)
    labels = list(bare.labels or ())
    labels[books], labels[chair] = "books", "chair"
    frame = boxed(replace(bare, labels=tuple(labels)), [(books, RED), (chair, BLUE)])
    agent = Conversation(MockFrame(frame), perception)

    depth, first, second = agent.turn(
        "<think> First, I'll estimate the depth map of the image, then locate both objects. </think>"
        '<tool_call>{"name": "depth_estimator.estimate_depth", "arguments": {"image_index": 0}}</tool_call>'
        '<tool_call>{"name": "roborefer.detect_one", "arguments": '
        '{"obj_name": "books (highlighted by a red box)", "image_index": 0}}</tool_call>'
        '<tool_call>{"name": "roborefer.detect_one", "arguments": '
        '{"obj_name": "chair (highlighted by a blue box)", "image_index": 0}}</tool_call>'
    )
    for text, step in ((depth, "depth"), (first, "books"), (second, "chair")):
        assert has_form_of(text, FIGURE_7_BOXES[step]), text
    found = [points_of(text)[0] for text in (first, second)]
    assert frame.ids is not None
    assert [int(frame.ids[int(y * 373), int(x * 512)]) for x, y in found] == [books, chair]

    values = agent.turn(
        "<think> Now I'll get the depth values at both detected locations: </think>"
        + "".join(
            f'<tool_call>{{"name": "vision_ops.index_at", "arguments": {{"data": "$depth_map", "u": {x}, "v": {y}}}}}'
            "</tool_call>"
            for x, y in found
        )
    )
    assert all(has_form_of(text, FIGURE_7_BOXES["value"]) for text in values), values
    assert (value_of(values[0]) < value_of(values[1])) == books_are_nearer


def test_the_form_of_a_response_is_all_of_it_but_its_measurements() -> None:
    printed = FIGURE_6["segment"]
    assert has_form_of(printed, printed)
    assert has_form_of(printed.replace("0.940", "0.871") + " (backend: sim)", printed)
    assert not has_form_of(printed.replace("289x511", "480x640"), printed)
    assert not has_form_of(printed.replace("0.940", "0.94"), printed)
    assert not has_form_of(printed.replace("IoU", "score"), printed)
    assert not has_form_of(printed + " And more.", printed)
