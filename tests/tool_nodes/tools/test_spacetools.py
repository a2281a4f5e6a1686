"""Every tool that looks, on a simulated table: its text, picture and variables, and what it refuses."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from sim.scene.files import EXAMPLE_SCENE, load_scene
from sim.station import Station
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.toolbox.images import SessionImage
from tool_nodes.toolbox.limits import CallHistory
from tool_nodes.toolbox.toolbox import CallRecord, Session, Toolbox
from tool_nodes.tools.spacetools.grasping import GraspTools
from tool_nodes.tools.spacetools.pointing import variable_name
from tool_nodes.types import GraspSet

N = r"\d\.\d{3}"
RED, WHITE = [230, 30, 30], [255, 255, 255]
CLOUD = {"point_cloud": "$point_cloud", "mask": "$segmentation_mask", "focal_length_px": "$focal_length_px"}


@pytest.fixture(scope="module")
def station() -> Station:
    return Station(load_scene(EXAMPLE_SCENE))


class Table:
    """A conversation that has a picture of the table as image 0."""

    def __init__(self, station: Station) -> None:
        self.station = station
        self.toolbox = station.toolbox
        self.session = Session()
        self.do("robot.capture_image")

    def call(self, name: str, **arguments: Any) -> CallRecord:
        return self.toolbox.call(name, arguments, self.session)

    def do(self, name: str, **arguments: Any) -> CallRecord:
        record = self.call(name, **arguments)
        assert record.result.ok, record.result.text
        return record

    def refusal(self, name: str, **arguments: Any) -> ToolError:
        """The error of a call that must fail: one sentence, and nothing enters the session."""
        variables, images = dict(self.session.variables), len(self.session.images)
        error = self.call(name, **arguments).result.error
        assert error is not None
        assert "\n" not in error.message
        assert len(str(error)) < 400
        assert self.session.variables == variables
        assert len(self.session.images) == images
        return error

    def point(self, name: str) -> tuple[float, float]:
        """Where a thing is."""
        (found,) = self.do("roborefer.detect_one", obj_name=name, image_index=0).result.variables.values()
        return found

    def segment(self, name: str) -> None:
        """Bring $segmentation_mask, $point_cloud and $focal_length_px of a thing into the session."""
        self.do("robot.get_depth_with_pointcloud")
        x, y = self.point(name)
        self.do("sam2.segment_from_point", x=x, y=y, image_index=0)


@pytest.fixture
def table(station: Station) -> Table:
    return Table(station)


# -- pictures and depth ----------------------------------------------------------------------------


def test_capture_image_shows_and_keeps_the_picture(station: Station) -> None:
    session = Session()
    record = station.toolbox.call("robot.capture_image", {}, session)
    assert record.result.text.startswith("Captured 640x480 image from the robot camera. Use $captured_image (image,")
    assert record.image_index == 0
    assert record.result.value["image_shape"] == [480, 640, 3]
    assert np.array_equal(session.images[0].rgb, station.camera.capture().rgb)
    assert session.variables["captured_image"].frame is station.camera.capture()


def test_get_depth_reports_size_focal_length_and_range(table: Table) -> None:
    result = table.do("robot.get_depth").result
    assert re.fullmatch(
        r"Captured 640x480 depth map\. Focal length: 660\.0px\. Depth range: \d\.\d\dm to \d\.\d\dm "
        r"\(mean: \d\.\d\dm\)\. Use \$depth_map \(numpy array, 480x640\) and \$focal_length_px \(float\) to "
        r"reference the results\.",
        result.text,
    )
    assert result.image is not None
    assert result.image.shape == (480, 640, 3)
    assert set(result.value) == {"depth_map", "depth_map_visualization", "focal_length_px", "width", "height"}
    assert result.variables["depth_map"].shape == (480, 640)
    assert result.variables["focal_length_px"] == pytest.approx(660.0)


def test_a_cloud_has_one_row_for_every_pixel_so_that_a_mask_indexes_it(table: Table) -> None:
    result = table.do("robot.get_depth_with_pointcloud").result
    assert result.text.startswith("Captured 640x480 depth map and 307,200 3D points. Focal length: 660.0px.")
    cloud, depth = result.variables["point_cloud"], result.variables["depth_map"]
    assert cloud.shape == (307200, 3)
    assert cloud.dtype == np.float32
    assert np.array_equal(cloud[:, 2], depth.reshape(-1), equal_nan=True)


def test_estimated_depth_is_reported_as_in_the_papers_figure_7(table: Table) -> None:
    result = table.do("depth_estimator.estimate_depth", image_index=0).result
    assert re.fullmatch(
        r"Estimated depth map for 640x480 image\. Focal length: \d+\.\dpx\. Depth range: \d\.\d\dm to \d\.\d\dm "
        r"\(mean: \d\.\d\dm\)\. Use \$depth_map \(numpy array, 480x640\) to reference the depth data and "
        r"\$focal_length_px \(float\) to reference the focal length\. \(backend: sim\)",
        result.text,
    )
    assert set(result.value) == {"depth_map", "focal_length_px", "width", "height"}
    assert set(result.variables) == {"depth_map", "focal_length_px"}
    truth = table.station.camera.capture().depth
    assert np.nanmedian(np.abs(result.variables["depth_map"] - truth)) < 0.005


def test_an_estimated_cloud_is_reported_as_in_the_papers_figure_6(table: Table) -> None:
    result = table.do("depth_estimator.estimate_depth_with_pointcloud", image_index=0).result
    assert re.fullmatch(
        r"Generated 640x480 depth map and 307,200 3D points\. Depth range in point cloud: \d\.\d\dm to \d\.\d\dm "
        r"\(mean: \d\.\d\dm\)\. Use \$depth_map \(numpy array, 480x640\), \$point_cloud \(numpy array, 307200x3\) "
        r"and \$focal_length_px \(float\) to reference the results\. \(backend: sim\)",
        result.text,
    )
    assert set(result.variables) == {"depth_map", "point_cloud", "focal_length_px"}


def test_a_picture_of_estimated_depth_has_a_scale_on_its_right(table: Table) -> None:
    image = table.do("depth_estimator.estimate_depth", image_index=0).result.image
    assert image is not None
    assert image.shape[0] == 480
    assert image.shape[1] > 640
    assert (image[:, 640:] == 255).all(axis=2).mean() > 0.5


def test_near_is_cooler_than_far_in_a_picture_of_depth(table: Table) -> None:
    result = table.do("robot.get_depth").result
    assert result.image is not None
    depth = result.variables["depth_map"]
    near, far = depth < np.nanpercentile(depth, 5), depth > np.nanpercentile(depth, 95)
    red, blue = result.image[..., 0].astype(int), result.image[..., 2].astype(int)
    assert (blue - red)[near].mean() > 0 > (blue - red)[far].mean()


# -- pointing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["roborefer", "vlm"])
def test_one_instance_is_reported_as_in_the_papers_figures(table: Table, family: str) -> None:
    result = table.do(f"{family}.detect_one", obj_name="red box", image_index=0).result
    match = re.fullmatch(rf"Detected 1 instance\(s\) of 'red box': \[\(({N}), ({N})\)\] \(backend: sim\)", result.text)
    assert match
    x, y = (float(v) for v in match.groups())
    assert result.variables == {"red_box_detection": (x, y)}
    assert result.value == f"({x}, {y})"
    frame = table.station.camera.capture()
    assert frame.ids is not None
    ids = [placed.item for placed in table.station.scene.objects]
    assert ids[frame.ids[int(y * 480), int(x * 640)]] == "red box"


def test_all_instances_are_listed(table: Table) -> None:
    result = table.do("roborefer.detect_all", obj_name="coconut water", image_index=0).result
    point = rf"\({N}, {N}\)"
    assert re.fullmatch(
        rf"Detected 2 instance\(s\) of 'coconut water': \[{point}, {point}\] \(backend: sim\)", result.text
    )
    assert len(result.variables["coconut_water_detections"]) == 2
    assert result.value == str(result.variables["coconut_water_detections"])


def test_points_are_drawn_as_red_circles_with_white_outlines(table: Table) -> None:
    result = table.do("roborefer.detect_one", obj_name="red box", image_index=0).result
    x, y = result.variables["red_box_detection"]
    u, v = int(x * 640), int(y * 480)
    assert result.image is not None
    assert result.image[v, u].tolist() == RED
    patch = result.image[v - 7 : v + 8, u - 7 : u + 8]
    assert (patch == WHITE).all(axis=2).sum() >= 8
    untouched = np.ones((480, 640), bool)
    untouched[v - 8 : v + 9, u - 8 : u + 9] = False
    assert np.array_equal(result.image[untouched], table.session.images[0].rgb[untouched])


def test_a_thing_that_is_not_there_is_answered_with_what_can_be_seen(table: Table) -> None:
    for name, code in (("banana", ErrorCode.OBJECT_NOT_FOUND), ("violin", ErrorCode.NOT_RECOGNISED)):
        error = table.refusal("roborefer.detect_one", obj_name=name, image_index=0)
        assert error.code is code
        assert name in error.message
        assert "red box" in str(error)


@pytest.mark.parametrize(
    ("obj_name", "variable"),
    [("red box", "red_box"), ("7up can", "_7up_can"), ("far-left can's lid", "far_left_can_s_lid"), ("café", "café")],
)
def test_any_name_gives_a_variable_that_can_be_referred_to(obj_name: str, variable: str) -> None:
    assert variable_name(obj_name) == variable
    assert re.fullmatch(r"[A-Za-z_]\w*", variable)


# -- segmentation ----------------------------------------------------------------------------------


def test_a_segmentation_is_reported_as_in_the_papers_figure_6(table: Table) -> None:
    x, y = table.point("red box")
    result = table.do("sam2.segment_from_point", x=x, y=y, image_index=0).result
    assert re.fullmatch(
        rf"Segmented object at normalized coords \({x:.3f}, {y:.3f}\) with IoU score: {N}\. "
        r"Use \$segmentation_mask \(boolean array, 480x640\) to reference it\. \(backend: sim\)",
        result.text,
    )
    mask = result.variables["segmentation_mask"]
    assert mask.dtype == np.bool_
    assert mask[int(y * 480), int(x * 640)]
    assert set(result.value) == {"mask", "iou_score"}
    frame = table.station.camera.capture()
    assert frame.ids is not None
    true = frame.ids == [placed.item for placed in table.station.scene.objects].index("red box")
    assert (mask & true).sum() / (mask | true).sum() > 0.85


def test_a_mask_is_drawn_green_with_a_white_outline_and_the_point_in_red(table: Table) -> None:
    x, y = table.point("rice box")
    result = table.do("sam2.segment_from_point", x=x, y=y, image_index=0).result
    mask, before = result.variables["segmentation_mask"], table.session.images[0].rgb.astype(int)
    assert result.image is not None
    assert result.image[int(y * 480), int(x * 640)].tolist() == RED
    shift = (result.image.astype(int) - before)[mask].mean(axis=0)
    assert shift[1] > max(shift[0], shift[2])
    rows, columns = np.nonzero(mask)
    assert result.image[rows[0] - 1, columns[0]].tolist() == WHITE


def test_several_points_give_one_mask_and_all_scores(table: Table) -> None:
    x, y = table.point("rice box")
    result = table.do("sam2.segment_from_points", points=[[x, y], [x + 0.005, y]], image_index=0).result
    assert re.match(
        rf"Segmented object from 2 point\(s\) with best IoU score: {N}\. Use \$segmentation_mask", result.text
    )
    assert result.value["iou_scores"].ndim == 1
    assert result.value["mask"] is result.variables["segmentation_mask"]


def test_points_on_two_things_are_told_apart(table: Table) -> None:
    places = [table.do("roborefer.detect_one", obj_name=name, image_index=0).result for name in ("red box", "rice box")]
    points = [next(iter(place.variables.values())) for place in places]
    result = table.do("sam2.segment_from_points", points=points, image_index=0).result
    mask = result.variables["segmentation_mask"]
    beside = [(x, y) for x, y in points if not mask[int(y * 480), int(x * 640)]]
    assert len(beside) == 1
    ((x, y),) = beside
    assert f"1 of the 2 points lies outside of it, on something else: ({x:.3f}, {y:.3f}). Use $" in result.text


def test_bare_table_has_no_mask(table: Table) -> None:
    free = np.argwhere(np.asarray(table.station.camera.capture().ids) < 0)[200_000]
    y, x = (free + 0.5) / (480, 640)
    error = table.refusal("sam2.segment_from_point", x=float(x), y=float(y), image_index=0)
    assert error.code is ErrorCode.EMPTY_MASK
    assert f"({x:.3f}, {y:.3f})" in error.message


# -- grasps ----------------------------------------------------------------------------------------


def test_a_grasp_is_reported_as_in_the_papers_figure_6(table: Table) -> None:
    table.segment("cinnamon")
    result = table.do("grasp_generator.compute_grasp", **CLOUD, image_index=0).result
    masked = int(table.session.variables["segmentation_mask"].sum())
    point = r"\(-?\d\.\d{3}, -?\d\.\d{3}\)"
    match = re.fullmatch(
        rf"Generated collision-free grasp with confidence ({N}) from {masked}/307200 masked points\. "
        rf"Filtered (\d+) → (\d+) collision-free grasps\. "
        rf"Projected 2D gripper points: \[({point}(?:, {point}){{4}})\]\. "
        r"Use \$grasp_pose \(numpy array, 4x4\) to reference it\. \(backend: analytic\)",
        result.text,
    )
    assert match
    assert int(match[2]) >= int(match[3]) > 0
    T, score = result.value
    assert score == pytest.approx(float(match[1]), abs=5e-4)
    assert np.array_equal(result.variables["grasp_pose"], T)
    assert T[:3, :3] @ T[:3, :3].T == pytest.approx(np.eye(3), abs=1e-6)
    assert T[3].tolist() == [0, 0, 0, 1]


def test_the_five_points_of_a_grasp_surround_the_thing_and_its_axes_are_drawn(table: Table) -> None:
    table.segment("cinnamon")
    record = table.do("grasp_generator.compute_grasp", **CLOUD, image_index=0).result
    shown = re.findall(r"\((-?\d\.\d{3}), (-?\d\.\d{3})\)", record.text)
    points = np.array(shown, float) * (640, 480)
    rows, columns = np.nonzero(table.session.variables["segmentation_mask"])
    middle, size = np.array([columns.mean(), rows.mean()]), max(np.ptp(columns), np.ptp(rows))
    assert np.linalg.norm(points[0] - middle) < size
    assert np.linalg.norm(points[3:].mean(axis=0) - middle) < size
    assert record.image is not None
    drawn = record.image[(record.image != table.session.images[0].rgb).any(axis=2)]
    assert {(230, 30, 30), (30, 200, 60), (40, 90, 240)} <= {tuple(colour) for colour in drawn.tolist()}


class FixedGrasps:
    """Three grasps along the optical axis."""

    backend = "fixed"

    def generate(self, cloud: Any, mask: Any, T_base_camera: Any) -> GraspSet:
        T = np.tile(np.eye(4), (3, 1, 1))
        T[:, 2, 3] = [0.5, 0.6, 0.7]
        return GraspSet(T, np.full(3, 0.05), np.array([0.9, 0.8, 0.7]), sampled=10)


def asked_again(station: Station, reachable: Any, times: int) -> list[float]:
    """Distance along the optical axis of the grasps that the same call gives one after the other [m]."""
    table = Table(station)
    table.segment("cinnamon")
    table.toolbox = Toolbox([GraspTools(FixedGrasps(), reachable)])
    found = []
    for _ in range(times):
        T, _score = table.do("grasp_generator.compute_grasp", **CLOUD, image_index=0).result.value
        found.append(float(T[2, 3]))
    return found


def test_asking_again_gives_the_next_best_grasp_and_starts_over_after_the_last(station: Station) -> None:
    assert asked_again(station, None, 4) == [0.5, 0.6, 0.7, 0.5]


def test_grasps_out_of_reach_are_passed_over(station: Station) -> None:
    T_base_camera = station.camera.capture().T_base_camera

    def reachable(T_base_gripper: Any, frame: Any) -> bool:
        return (np.linalg.inv(T_base_camera) @ T_base_gripper)[2, 3] > 0.55

    assert asked_again(station, reachable, 3) == [0.6, 0.7, 0.6]


def test_no_grasp_in_reach_is_an_error_that_says_how_many_there_were(station: Station) -> None:
    table = Table(station)
    table.segment("cinnamon")
    table.toolbox = Toolbox([GraspTools(FixedGrasps(), lambda T, frame: False)])
    error = table.refusal("grasp_generator.compute_grasp", **CLOUD, image_index=0)
    assert error.code is ErrorCode.NO_GRASP
    assert error.message == "None of the 3 collision-free grasps can be reached by the arm."


# -- single values ---------------------------------------------------------------------------------


def test_a_single_value_is_reported_as_in_the_papers_figure_7(table: Table) -> None:
    depth = table.do("robot.get_depth").result.variables["depth_map"]
    result = table.do("vision_ops.index_at", data="$depth_map", u=0.327, v=0.439).result
    expected = float(depth[int(0.439 * 480), int(0.327 * 640)])
    assert result.text == f"Pixel value at (0.327, 0.439) is {expected}"
    assert result.value == expected


@pytest.mark.parametrize(("u", "v", "row", "column"), [(0, 0, 0, 0), (1, 1, 479, 639), (0.999, 0.5, 240, 639)])
def test_the_borders_of_the_picture_are_its_outermost_pixels(
    table: Table, u: float, v: float, row: int, column: int
) -> None:
    table.session.variables["rows"] = np.arange(480 * 640).reshape(480, 640)
    assert table.do("vision_ops.index_at", data="$rows", u=u, v=v).result.value == row * 640 + column


def test_pictures_and_masks_can_be_read_too(table: Table) -> None:
    rgb = table.session.images[0].rgb
    assert table.do("vision_ops.index_at", data="$captured_image", u=0, v=0).result.value == rgb[0, 0].tolist()
    table.session.variables["mask"] = np.ones((2, 2), bool)
    assert table.do("vision_ops.index_at", data="$mask", u=0.5, v=0.5).result.value is True


@pytest.mark.parametrize(
    ("array", "sentence"),
    [
        (np.zeros(7), "must have shape (H, W) or (H, W, C), got (7,)."),
        (np.zeros((0, 4)), "must have shape (H, W) or (H, W, C), got (0, 4)."),
        (np.zeros((48, 3)), "got (48, 3), a point cloud without rows and columns; use $depth_map."),
        (np.array(["a", "b"]), "must be a numeric array (H, W) or (H, W, C) of numbers"),
    ],
)
def test_what_has_no_rows_and_columns_cannot_be_read(table: Table, array: np.ndarray, sentence: str) -> None:
    table.session.variables["thing"] = array
    error = table.refusal("vision_ops.index_at", data="$thing", u=0.5, v=0.5)
    assert error.code is ErrorCode.INVALID_ARGUMENT
    assert sentence in error.message


# -- other names, other ways to name a picture -----------------------------------------------------


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


def test_a_drawing_can_be_looked_at_as_if_it_were_the_picture_itself(table: Table) -> None:
    record = table.do("roborefer.detect_one", obj_name="red box", image_index=0)
    assert record.image_index == 1
    again = table.do("roborefer.detect_one", obj_name="red box", image_index=1).result
    assert again.text == record.result.text
    x, y = again.variables["red_box_detection"]
    assert table.do("sam2.segment_from_point", x=x, y=y, image_index=2).image_index == 3


@pytest.mark.parametrize("depth_tool", ["robot.get_depth", "depth_estimator.estimate_depth"])
def test_a_picture_of_depth_has_no_frame_and_says_which_picture_has(table: Table, depth_tool: str) -> None:
    arguments = {} if depth_tool.startswith("robot") else {"image_index": 0}
    index = table.do(depth_tool, **arguments).image_index
    error = table.refusal("roborefer.detect_one", obj_name="red box", image_index=index)
    assert error.code is ErrorCode.UNAVAILABLE
    assert "robot.capture_image" in error.hint


# -- wrong arguments -------------------------------------------------------------------------------

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
    ("grasp_generator.compute_grasp", {**CLOUD, "mask": "$small", "image_index": 0}, ErrorCode.INVALID_ARGUMENT,
     "argument 'mask' has 6 pixels (2x3) but 'point_cloud' has 307200 points"),
    ("grasp_generator.compute_grasp", {**CLOUD, "mask": "$empty", "image_index": 0}, ErrorCode.EMPTY_MASK, "is empty"),
    ("grasp_generator.compute_grasp", {**CLOUD, "point_cloud": "$depth_map", "image_index": 0},
     ErrorCode.INVALID_ARGUMENT, "must be a point cloud (N, 3), got shape (480, 640)"),
    ("robot.execute_grasp", {"grasp_pose": "$grasp_pose"}, ErrorCode.INVALID_ARGUMENT, "which does not exist"),
    ("robot.execute_grasp", {"grasp_pose": [[1, 2], [3, 4]]}, ErrorCode.INVALID_ARGUMENT, "must be a pose (4, 4)"),
    ("robot.place_object_at_2d_location", {"point_2d": [0.5]}, ErrorCode.INVALID_ARGUMENT, "must be a point [x, y]"),
    ("robot.place_object_at_2d_location", {"point_2d": [0.5, 1.5]}, ErrorCode.INVALID_ARGUMENT, "between 0 and 1"),
    ("robot.place_object_at_3d_location", {"point_3d": [0, NAN, 1]}, ErrorCode.INVALID_ARGUMENT, "NaN or infinite"),
    ("robot.place_object_at_3d_location", {"point_3d": "here"}, ErrorCode.INVALID_ARGUMENT, "a point [x, y, z]"),
]  # fmt: skip


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


def test_a_foreign_picture_is_refused_by_everything_that_needs_a_camera(table: Table) -> None:
    table.session.images.append(SessionImage(np.zeros((480, 640, 3), np.uint8), None))
    foreign = len(table.session.images) - 1
    for name, arguments in (
        ("roborefer.detect_one", {"obj_name": "red box"}),
        ("depth_estimator.estimate_depth", {}),
        ("depth_estimator.estimate_depth_with_pointcloud", {}),
    ):
        assert table.refusal(name, **arguments, image_index=foreign).code is ErrorCode.UNAVAILABLE


def test_in_a_foreign_picture_a_point_outlines_what_stands_out_by_its_colour(table: Table) -> None:
    drawn = np.full((120, 160, 3), 255, np.uint8)
    drawn[40:80, 60:100] = (0, 0, 200)
    table.session.images.append(SessionImage(drawn))
    arguments = {"x": 0.5, "y": 0.5, "image_index": len(table.session.images) - 1}
    found = table.station.toolbox.call("sam2.segment_from_point", arguments, table.session).result
    wrong = found.value["mask"] ^ (drawn == (0, 0, 200)).all(axis=2)
    assert np.count_nonzero(wrong) < 20  # of 1600; corners are rounded
    assert found.backend == "drawings"
