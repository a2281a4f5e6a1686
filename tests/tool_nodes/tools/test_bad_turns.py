"""Twenty calls as models get them wrong: each answer names what is wrong in the caller's terms, and the remedy."""

from typing import Any

import pytest

from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.toolbox.toolbox import Session

CLOUD = {"point_cloud": "$point_cloud", "mask": "$segmentation_mask", "focal_length_px": "$focal_length_px"}
SHARES = [[0.1, 0.2, 0.5, 0.6]]
WRONG, UNKNOWN, EMPTY = ErrorCode.INVALID_ARGUMENT, ErrorCode.UNKNOWN_TOOL, ErrorCode.EMPTY_MASK


@pytest.fixture(scope="module")
def station() -> Station:
    suites = ("spacetools", "peria", "evic", "last", "native")
    return Station(load_scene(EXAMPLE_SCENE), StationConfig(suites=suites))


@pytest.fixture(scope="module")
def looked(station: Station) -> Session:
    """Image 0 shows depth, 1 the table, 2 a mask over it, 3 the table with marks."""
    session = Session()
    for name, arguments in (
        ("robot.get_depth", {}),
        ("robot.capture_image", {}),
        ("sam2.segment_from_point", {"x": 0.349, "y": 0.545, "image_index": 1}),
        ("robot.look", {}),
    ):
        assert station.toolbox.call(name, arguments, session).result.ok
    session.forget(("segmentation_mask", "point_cloud"), "")
    session.forgotten.clear()
    return session


BAD_TURNS = [
    ("sam2.segment_from_point", {"x": 266, "y": 0.5, "image_index": 1}, WRONG, ["266", "divide", "640"]),
    ("sam2.segment_from_point", {"x": 0.4, "y": 250, "image_index": 1}, WRONG, ["250", "divide", "480"]),
    ("sam2.segment_from_points", {"points": [[266, 250]], "image_index": 1}, WRONG, ["divide", "640", "480"]),
    ("robot.place", {"point": [320, 240]}, WRONG, ["divide", "640", "480"]),
    ("robot.pick", {"box": [100, 100, 200, 200]}, WRONG, ["divide", "640", "480"]),
    (
        "sam2.segment_from_point",
        {"x": 0.02, "y": 0.98, "image_index": 2},
        EMPTY,
        ["drawn over", "image 1"],
    ),
    ("sam2.segment_from_point", {"x": 0.3, "y": 0.5, "image_index": 0}, ErrorCode.IMAGE_UNUSABLE, ["depth", "image 1"]),
    ("roborefer.detect_one", {"obj_name": "can", "image_index": 0}, ErrorCode.IMAGE_UNUSABLE, ["depth", "image 1"]),
    ("sam2.segment_from_point", {"x": 0.3, "y": 0.5, "image_index": 9}, WRONG, ["between 0 and 3", "9"]),
    (
        "grasp_generator.compute_grasp",
        {**CLOUD, "image_index": 1},
        WRONG,
        ["$point_cloud", "robot.get_depth_w", "$seg"],
    ),
    ("grasp_generator.compute_grasp", {**CLOUD, "image_index": 1}, WRONG, ["$segmentation_mask", "sam2.segment_from"]),
    ("robot.execute_grasp", {"grasp_pose": "$grasp_pose"}, WRONG, ["$grasp_pose", "grasp_generator.compute_grasp"]),
    ("robot.pick", {"point": [0.3, 0.5], "mark": 2}, WRONG, ["one of", "point and mark"]),
    ("robot.pick", {"point": None, "box": None, "mark": None, "mask": None, "name": ""}, WRONG, ["one of", "none"]),
    ("robot.pick", {"mark": 30}, WRONG, ["30", "1 to 7"]),
    ("robot.pick_up", {"mark": 1}, UNKNOWN, ["robot.pick"]),
    ("robot.capture_dept", {}, UNKNOWN, ["robot.capture_image"]),
    ("draw_box", {"image_idx": 1, "boxes": SHARES}, WRONG, ["pixels", "multiply"]),
    ("bbox_segment", {"image_index": 1, "bounding_box": r"\boxed{0.1,0.2,0.5,0.6}"}, WRONG, ["1000", "multiply"]),
    ("ZoomCrop", {"img_path": "image-1", "box": SHARES[0]}, WRONG, ["pixels", "multiply"]),
    ("robot.place", {"point": [0.5, 0.6]}, ErrorCode.NOT_HOLDING, ["holds nothing"]),
]


@pytest.mark.parametrize(("name", "arguments", "code", "told"), BAD_TURNS)
def test_a_bad_turn_is_answered_with_the_remedy(
    station: Station, looked: Session, name: str, arguments: dict[str, Any], code: ErrorCode, told: list[str]
) -> None:
    result = station.toolbox.call(name, arguments, looked.fork()).result
    assert result.error is not None, result.text
    assert result.error.code is code, result.text
    assert not [words for words in told if words not in result.text], result.text
    assert " more" not in result.text
    assert "capture_depth" not in result.text
