"""LAST: every example call of appendix A, as the model writes it, on a simulated image that shows those objects."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from toolhand.agent_node.calls import blocks, python_call
from toolhand.sim.perception import SimPerception
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.perception.object_finder import ObjectFinder
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session, Toolbox
from toolhand.tool_nodes.tools.last.tools import SkillTools
from toolhand.tool_nodes.types import Frame

LABELS = ("cup", "cup", "frisbee", "black bin", "lamp", "table", "person")
"""What the seven objects of the example scene are called here."""

PERSON, FRISBEE, LAMP, TABLE = 6, 2, 4, 5
CUPS = (0, 1)

APPENDIX_A: dict[str, Any] = {
    "EstimateDepth": (
        "Runs Depth-Anything v2 to obtain a dense depth matrix and computes the average depth for specified objects. "
        "Produces both a depth visualization and numerical depth measurements.",
        {
            "img_path": "Path to the input image.",
            "text_labels": 'Object queries for depth aggregation, e.g., ["a person", "a frisbee"].',
        },
        ["img_path"],
    ),
    "EstimateSize": (
        "Performs open-vocabulary object detection using GroundingDINO and segments detected objects with SAM2. "
        "Produces dense masks and centroid coordinates for object size estimation.",
        {
            "img_path": "Path to the input image.",
            "text_labels": "Object queries to detect and segment.",
            "threshold": "Detection score threshold (default: 0.1).",
        },
        ["img_path", "text_labels"],
    ),
    "SegmentObjects": (
        "Detects and segments objects via GroundingDINO and SAM2 to support spatial relationship analysis.",
        {
            "img_path": "Path to the input image.",
            "text_labels": "Object queries to detect and segment.",
            "threshold": "Detection score threshold (default: 0.1).",
        },
        ["img_path", "text_labels"],
    ),
    "CountObjects": (
        "Uses open-vocabulary detection with GroundingDINO to count multiple instances of queried objects and report "
        "their spatial locations.",
        {
            "img_path": "Path to the input image.",
            "text_labels": "Object categories to detect and count.",
            "threshold": "Detection score threshold (default: 0.1).",
        },
        ["img_path", "text_labels"],
    ),
    "ZoomCrop": (
        "Crops and optionally zooms into a region of interest (ROI) specified by a bounding box or by center and size.",
        {
            "img_path": "Path to the input image.",
            "box": "Bounding box [x1, y1, x2, y2] in pixels.",
            "center": "ROI center [cx, cy] in pixels.",
            "zoom_factor": "Zoom factor (default: 1.0).",
        },
        ["img_path"],
    ),
    "Get3DPoint": (
        "Combines GroundingDINO for object detection with VGGT (Visual Geometry Grounded Transformer) to estimate the "
        "3D coordinates of objects relative to the camera coordinate system.",
        {"img_path": "Path to the input image.", "text_labels": "Object queries to locate in 3D space."},
        ["img_path", "text_labels"],
    ),
}


class Conversation:
    """An image, and the model's turns as text."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        perception = SimPerception()
        self.toolbox = Toolbox([SkillTools(ObjectFinder(perception, perception, perception))])
        self.session = Session(images=[SessionImage(frame.rgb, frame)])

    def turn(self, text: str) -> CallRecord:
        """The one action of a turn."""
        found, unclosed = blocks(text, ("analy", "action", "ans"))
        (content,) = [content for tag, content in found if tag == "action"]
        assert not unclosed
        call = python_call(content)
        assert not call.problem
        record = self.toolbox.call(call.name, call.arguments, self.session)
        assert record.result.ok, record.result.text
        return record

    def mask(self, item: int) -> np.ndarray:
        assert self.frame.ids is not None
        return self.frame.ids == item

    def centroid(self, item: int) -> tuple[float, float]:
        rows, columns = np.nonzero(self.mask(item))
        return float(columns.mean()), float(rows.mean())


@pytest.fixture(scope="module")
def frame() -> Frame:
    return replace(Station(load_scene(EXAMPLE_SCENE)).camera.capture(), labels=LABELS)


@pytest.fixture
def talk(frame: Frame) -> Conversation:
    return Conversation(frame)


def shown(record: CallRecord) -> np.ndarray:
    assert record.result.image is not None
    return record.result.image


def test_estimate_depth_of_the_whole_image(talk: Conversation) -> None:
    record = talk.turn('<analy>How far is it?</analy><action>EstimateDepth(img_path="image-0")</action>')
    match = re.fullmatch(
        r"Depth map: (\d\.\d\d) m to (\d\.\d\d) m, average (\d\.\d\d) m\. \(backend: sim\)", record.result.text
    )
    assert match
    depth = talk.frame.depth
    assert [float(number) for number in match.groups()] == pytest.approx(
        [np.nanmin(depth), np.nanmax(depth), np.nanmean(depth)], abs=0.03
    )
    image = shown(record)
    assert image.shape[0] == 480
    near, far = depth < np.nanpercentile(depth, 5), depth > np.nanpercentile(depth, 95)
    red, blue = image[:, :640, 0].astype(int), image[:, :640, 2].astype(int)
    assert (blue - red)[near].mean() > 0 > (blue - red)[far].mean()


def test_estimate_depth_of_a_person_and_a_frisbee(talk: Conversation) -> None:
    record = talk.turn('<action>EstimateDepth(img_path="image-0",\ntext_labels=["a person", "a frisbee"])</action>')
    first, person, frisbee = record.result.text.split("\n")
    assert first.startswith("Depth map: ")
    for line, name, item in ((person, "a person", PERSON), (frisbee, "a frisbee", FRISBEE)):
        match = re.match(rf"{name} 1: average depth (\d\.\d\d) m in box \[(\d+), (\d+), (\d+), (\d+)\]\.", line)
        assert match
        rows, columns = np.nonzero(talk.mask(item))
        box = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
        assert [int(number) for number in match.groups()[1:]] == pytest.approx(box, abs=2)
        inside = talk.frame.depth[box[1] : box[3], box[0] : box[2]]
        assert float(match[1]) == pytest.approx(np.nanmean(inside), abs=0.015)
    depth_only = shown(talk.turn('<action>EstimateDepth(img_path="image-0")</action>'))
    changed = (shown(record) != depth_only).any(axis=2)
    left = int(np.nonzero(talk.mask(FRISBEE))[1].min())
    assert changed[200:210, :].any()  # the person's box
    assert changed[140:160, left - 3 : left + 4].any()
    assert not changed[300:].any()


@pytest.mark.parametrize(
    ("written", "name", "item"),
    [
        ('EstimateSize(img_path="image-0",\ntext_labels=["lamp"])', "lamp", LAMP),
        ('EstimateSize(img_path="image-0",\ntext_labels=["a person"],\nthreshold=0.1)', "a person", PERSON),
    ],
)
def test_estimate_size_gives_centroid_mask_and_patch(talk: Conversation, written: str, name: str, item: int) -> None:
    record = talk.turn(f"<action>{written}</action>")
    match = re.fullmatch(
        rf"{name} 1: centroid \((\d+), (\d+)\), mask (\d+)x(\d+) px, (\d+) px in area \((\d\.\d\d) % of the image\)\. "
        r"\(backend: sim\)",
        record.result.text,
    )
    assert match
    x, y, width, height, area, share = (float(number) for number in match.groups())
    mask = talk.mask(item)
    rows, columns = np.nonzero(mask)
    assert (x, y) == pytest.approx(talk.centroid(item), abs=1.5)
    assert (width, height) == pytest.approx((np.ptp(columns) + 1, np.ptp(rows) + 1), abs=3)
    assert area == pytest.approx(mask.sum(), rel=0.1)
    assert share == pytest.approx(100 * area / mask.size, abs=0.006)
    image = shown(record)
    assert image.shape == (480, 800, 3)
    masked = (image[:, :640] != talk.frame.rgb).any(axis=2)
    assert masked[mask].mean() > 0.9
    assert masked[~mask].mean() < 0.01
    patch = image[2 : 2 + int(height), 642 : 642 + int(width)]
    original = talk.frame.rgb[mask].mean(axis=0)
    coloured = patch[(patch < 250).any(axis=2)]
    assert len(coloured) == pytest.approx(area, rel=0.15)
    assert coloured.mean(axis=0) == pytest.approx(original, abs=6)


def test_segment_objects_gives_centroids_masks_and_boxes(talk: Conversation) -> None:
    record = talk.turn('<action>SegmentObjects(img_path="image-0",\ntext_labels=["a person", "a frisbee"])</action>')
    for line, name, item in zip(
        record.result.text.split("\n"), ("a person", "a frisbee"), (PERSON, FRISBEE), strict=True
    ):
        match = re.match(rf"{name} 1: centroid \((\d+), (\d+)\), score (\d\.\d\d)\.", line)
        assert match
        assert (float(match[1]), float(match[2])) == pytest.approx(talk.centroid(item), abs=1.5)
        assert 0.8 < float(match[3]) <= 1.0
        assert (shown(record)[talk.mask(item)] != talk.frame.rgb[talk.mask(item)]).any(axis=1).mean() > 0.9
    assert talk.session.images[1].frame is talk.frame  # what is drawn over keeps the link


def test_count_objects_counts_tables(talk: Conversation) -> None:
    record = talk.turn('<action>CountObjects(img_path="image-0",\ntext_labels=["table"])</action>')
    match = re.fullmatch(r"table: count 1, centroids \((\d+), (\d+)\)\. \(backend: sim\)", record.result.text)
    assert match
    rows, columns = np.nonzero(talk.mask(TABLE))
    middle = (columns.min() + columns.max()) / 2, (rows.min() + rows.max()) / 2
    assert (float(match[1]), float(match[2])) == pytest.approx(middle, abs=2)
    assert (
        shown(record)[rows.min() : rows.max(), columns.min()] != talk.frame.rgb[rows.min() : rows.max(), columns.min()]
    ).any()


def test_zoom_crop_cuts_the_box_out(talk: Conversation) -> None:
    record = talk.turn('<action>ZoomCrop(img_path="image-0",\nbox=[100, 200, 300, 400])</action>')
    assert record.result.text == "Cropped the region [100, 200, 300, 400] (200x200 px), shown as 200x200 px."
    assert np.array_equal(shown(record), talk.frame.rgb[200:400, 100:300])
    assert talk.session.images[1].window == (100, 200, 300, 400)


def test_get_3d_point_gives_every_cup_in_the_camera_frame(talk: Conversation) -> None:
    record = talk.turn('<action>Get3DPoint(img_path="image-0",\ntext_labels=["cup"])</action>')
    number = r"-?\d\.\d{3}"
    found = re.findall(rf"cup (\d): \[({number}), ({number}), ({number})\] m", record.result.text)
    assert [which for which, *_ in found] == ["1", "2"]
    u, v = np.meshgrid(np.arange(640), np.arange(480))
    K, z = talk.frame.K, talk.frame.depth
    cloud = np.dstack([(u - K[0, 2]) / K[0, 0] * z, (v - K[1, 2]) / K[1, 1] * z, z])
    told = np.array([[float(part) for part in parts] for _, *parts in found])
    for item in CUPS:
        surface = cloud[talk.mask(item)]
        nearest = np.linalg.norm(told[:, None] - surface[None], axis=2).min(axis=1)
        assert nearest.min() < 0.01
    assert shown(record).shape == (480, 640 + 480, 3)
    assert (shown(record)[:, 640:] == 255).all(axis=2).mean() < 0.9


@pytest.mark.parametrize("name", APPENDIX_A)
def test_the_schemas_have_the_words_and_arguments_of_appendix_a(name: str) -> None:
    description, arguments, required = APPENDIX_A[name]
    perception = SimPerception()
    toolbox = Toolbox([SkillTools(ObjectFinder(perception, perception, perception))])
    assert set(toolbox.specs) == set(APPENDIX_A)
    schema = toolbox.specs[name].schema()["function"]
    assert schema["description"] == description
    properties = schema["parameters"]["properties"]
    assert {key: entry["description"] for key, entry in properties.items()} == arguments
    assert schema["parameters"]["required"] == required
