"""SpaceTools' tools by other names and with wrong arguments: what is accepted, and what is refused."""

from typing import Any

import numpy as np
import pytest

from tests.tool_nodes.tools.looking import CLOUD, Table
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.limits import CallHistory


@pytest.mark.parametrize(
    ("name", "alias", "arguments", "other"),
    [
        ("roborefer.detect_one", "point1.detect_one", {"obj_name": "red box", "image_index": 0}, {"image": 0}),
        ("roborefer.detect_all", "point1.detect_all", {"obj_name": "red box", "image_index": 0}, {"image": 0}),
        ("vlm.detect_one", "point2.detect_one", {"obj_name": "red box", "image_index": 0}, {"image": 0}),
        ("vlm.detect_all", "point2.detect_all", {"obj_name": "red box", "image_index": 0}, {"image": 0}),
        ("bounding_box.compute_bbox", "3d_bbox.compute_bbox", CLOUD, {}),
        ("vision_ops.index_at", "image_ops.index_at", {"data": "$depth_map", "u": 0.5, "v": 0.5}, {"x": 0.5, "y": 0.5}),
        ("sam2.segment_from_point", "sam2.segment_from_point", {"x": 0.5, "y": 0.5, "image_index": 0}, {"image": 0}),
        ("depth_estimator.estimate_depth", "depth_estimator.estimate_depth", {"image_index": 0}, {"image": 0}),
        (
            "grasp_generator.compute_grasp",
            "grasp_generator.compute_grasp",
            {**CLOUD, "image_index": 0},
            {"image": "$captured_image"},
        ),
    ],
)
def test_the_names_of_the_papers_appendix_reach_the_same_tool(
    table: Table, name: str, alias: str, arguments: dict[str, Any], other: dict[str, Any]
) -> None:
    table.segment("red box")
    if name == "sam2.segment_from_point":
        x, y = table.point("red box")
        arguments = {**arguments, "x": x, "y": y}
    renamed = {"image_index": "image", "u": "x", "v": "y"}
    spelled = {key: value for key, value in arguments.items() if not other or key not in renamed} | other
    own = table.do(name, **arguments).result
    table.session.history = CallHistory()
    alike = table.do(alias, **spelled).result
    assert own.text.split(" ")[0] == alike.text.split(" ")[0]
    if name != "grasp_generator.compute_grasp":
        assert own.text == alike.text
    assert set(own.variables) == set(alike.variables)


def test_a_drawing_can_be_looked_at_as_if_it_were_the_image_itself(table: Table) -> None:
    record = table.do("roborefer.detect_one", obj_name="red box", image_index=0)
    assert record.image_index == 1
    again = table.do("roborefer.detect_one", obj_name="red box", image_index=1).result
    assert again.text == record.result.text
    x, y = again.variables["red_box_detection"]
    assert table.do("sam2.segment_from_point", x=x, y=y, image_index=2).image_index == 3


@pytest.mark.parametrize("depth_tool", ["robot.get_depth", "depth_estimator.estimate_depth"])
def test_an_image_of_depth_has_no_frame_and_says_which_image_has(table: Table, depth_tool: str) -> None:
    arguments = {} if depth_tool.startswith("robot") else {"image_index": 0}
    index = table.do(depth_tool, **arguments).image_index
    error = table.refusal("roborefer.detect_one", obj_name="red box", image_index=index)
    assert error.code is ErrorCode.IMAGE_UNUSABLE
    assert "image 0" in error.hint


NAN = float("nan")


WRONG: list[tuple[str, dict[str, Any], ErrorCode, str]] = [
    ("roborefer.detect_one", {"obj_name": 7, "image_index": 0}, ErrorCode.INVALID_ARGUMENT, "must be a string"),
    ("roborefer.detect_one", {"obj_name": "", "image_index": 0}, ErrorCode.INVALID_ARGUMENT, "1 to 300 characters"),
    ("vlm.detect_all", {"obj_name": "can", "image_index": 9}, ErrorCode.INVALID_ARGUMENT, "must be between 0 and"),
    ("vlm.detect_all", {"obj_name": "can"}, ErrorCode.INVALID_ARGUMENT, "argument 'image_index' is missing"),
    ("sam2.segment_from_point", {"x": NAN, "y": 0, "image_index": 0}, ErrorCode.INVALID_ARGUMENT, "a finite number"),
    ("sam2.segment_from_point", {"x": 1.2, "y": 0, "image_index": 0}, ErrorCode.INVALID_ARGUMENT, "between 0 and 1"),
    ("sam2.segment_from_points", {"points": [], "image_index": 0}, ErrorCode.INVALID_ARGUMENT, "[x, y] points"),
    ("sam2.segment_from_points", {"points": "$none", "image_index": 0}, ErrorCode.INVALID_ARGUMENT, "an empty list"),
    ("sam2.segment_from_points", {"points": [[0, 2]], "image_index": 0}, ErrorCode.INVALID_ARGUMENT, "between 0 and 1"),
    ("depth_estimator.estimate_depth", {"image_index": "0"}, ErrorCode.INVALID_ARGUMENT, "integer index"),
    ("robot.capture_image", {"image_index": 0}, ErrorCode.INVALID_ARGUMENT, "allowed: none"),
    ("vision_ops.index_at", {"data": 3, "u": 0, "v": 0}, ErrorCode.INVALID_ARGUMENT, "a $variable holding"),
    ("bounding_box.compute_bbox", {**CLOUD, "mask": "$gone"}, ErrorCode.INVALID_ARGUMENT, "which does not exist"),
    ("bounding_box.compute_bbox", {**CLOUD, "mask": "$depth_map"}, ErrorCode.INVALID_ARGUMENT, "must be a boolean"),
    ("bounding_box.compute_bbox", {**CLOUD, "mask": "$small"}, ErrorCode.INVALID_ARGUMENT, "from the same image"),
    ("bounding_box.compute_bbox", {**CLOUD, "mask": "$empty"}, ErrorCode.EMPTY_MASK, "the mask is empty"),
    ("bounding_box.compute_bbox", {**CLOUD, "focal_length_px": -5}, ErrorCode.INVALID_ARGUMENT, "greater than 0"),
    ("bounding_box.compute_bbox", {**CLOUD, "point_cloud": "$unknown"}, ErrorCode.NO_DEPTH, "Only 0 masked points"),
    (
        "grasp_generator.compute_grasp",
        {**CLOUD, "mask": "$small", "image_index": 0},
        ErrorCode.INVALID_ARGUMENT,
        "argument 'mask' has 6 pixels (2x3) but 'point_cloud' has 307200 points",
    ),
    ("grasp_generator.compute_grasp", {**CLOUD, "mask": "$empty", "image_index": 0}, ErrorCode.EMPTY_MASK, "is empty"),
    (
        "grasp_generator.compute_grasp",
        {**CLOUD, "point_cloud": "$depth_map", "image_index": 0},
        ErrorCode.INVALID_ARGUMENT,
        "must be a point cloud (N, 3), got shape (480, 640)",
    ),
    ("robot.execute_grasp", {"grasp_pose": "$grasp_pose"}, ErrorCode.INVALID_ARGUMENT, "which does not exist"),
    ("robot.execute_grasp", {"grasp_pose": [[1, 2], [3, 4]]}, ErrorCode.INVALID_ARGUMENT, "must be a pose (4, 4)"),
    ("robot.place_object_at_2d_location", {"point_2d": [0.5]}, ErrorCode.INVALID_ARGUMENT, "must be a point [x, y]"),
    ("robot.place_object_at_2d_location", {"point_2d": [0.5, 1.5]}, ErrorCode.INVALID_ARGUMENT, "between 0 and 1"),
    ("robot.place_object_at_3d_location", {"point_3d": [0, NAN, 1]}, ErrorCode.INVALID_ARGUMENT, "NaN or infinite"),
    ("robot.place_object_at_3d_location", {"point_3d": "here"}, ErrorCode.INVALID_ARGUMENT, "a point [x, y, z]"),
]


@pytest.mark.parametrize(("name", "arguments", "code", "sentence"), WRONG)
def test_a_wrong_argument_is_refused_with_one_clear_sentence(
    table: Table, name: str, arguments: dict[str, Any], code: ErrorCode, sentence: str
) -> None:
    table.segment("red box")
    table.session.variables |= {
        "small": np.ones((2, 3), bool),
        "empty": np.zeros((480, 640), bool),
        "none": np.zeros((0, 2)),
        "unknown": np.full((307200, 3), np.nan, np.float32),
    }
    before = table.station.world.time
    error = table.refusal(name, **arguments)
    assert error.code is code
    assert sentence in error.message
    assert error.message.endswith(".")
    assert table.station.world.time == before


def test_a_foreign_image_is_refused_by_everything_that_needs_a_camera(table: Table) -> None:
    table.session.images.append(SessionImage(np.zeros((480, 640, 3), np.uint8), None))
    foreign = len(table.session.images) - 1
    for name, arguments in (
        ("roborefer.detect_one", {"obj_name": "red box"}),
        ("depth_estimator.estimate_depth", {}),
        ("depth_estimator.estimate_depth_with_pointcloud", {}),
    ):
        assert table.refusal(name, **arguments, image_index=foreign).code is ErrorCode.IMAGE_UNUSABLE


def test_in_a_foreign_image_a_point_outlines_what_stands_out_by_its_colour(table: Table) -> None:
    drawn = np.full((120, 160, 3), 255, np.uint8)
    drawn[40:80, 60:100] = (0, 0, 200)
    table.session.images.append(SessionImage(drawn))
    arguments = {"x": 0.5, "y": 0.5, "image_index": len(table.session.images) - 1}
    found = table.station.toolbox.call("sam2.segment_from_point", arguments, table.session).result
    wrong = found.value["mask"] ^ (drawn == (0, 0, 200)).all(axis=2)
    assert np.count_nonzero(wrong) < 20  # of 1600; corners are rounded
    assert found.backend == "drawings"
