"""Images, depth and single values of a simulated table: text, image, variables."""

import re

import numpy as np
import pytest

from tests.tool_nodes.tools.looking import Table
from toolhand.sim.station import Station
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.toolbox.toolbox import Session


def test_capture_image_shows_and_keeps_the_image(station: Station) -> None:
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


def test_an_image_of_estimated_depth_has_a_scale_on_its_right(table: Table) -> None:
    image = table.do("depth_estimator.estimate_depth", image_index=0).result.image
    assert image is not None
    assert image.shape[0] == 480
    assert image.shape[1] > 640
    assert (image[:, 640:] == 255).all(axis=2).mean() > 0.5


def test_near_is_cooler_than_far_in_an_image_of_depth(table: Table) -> None:
    result = table.do("robot.get_depth").result
    assert result.image is not None
    depth = result.variables["depth_map"]
    near, far = depth < np.nanpercentile(depth, 5), depth > np.nanpercentile(depth, 95)
    red, blue = result.image[..., 0].astype(int), result.image[..., 2].astype(int)
    assert (blue - red)[near].mean() > 0 > (blue - red)[far].mean()


def test_a_single_value_is_reported_as_in_the_papers_figure_7(table: Table) -> None:
    depth = table.do("robot.get_depth").result.variables["depth_map"]
    result = table.do("vision_ops.index_at", data="$depth_map", u=0.327, v=0.439).result
    expected = float(depth[int(0.439 * 480), int(0.327 * 640)])
    assert result.text == f"Pixel value at (0.327, 0.439) is {expected}"
    assert result.value == expected


@pytest.mark.parametrize(("u", "v", "row", "column"), [(0, 0, 0, 0), (1, 1, 479, 639), (0.999, 0.5, 240, 639)])
def test_the_borders_of_the_image_are_its_outermost_pixels(
    table: Table, u: float, v: float, row: int, column: int
) -> None:
    table.session.variables["rows"] = np.arange(480 * 640).reshape(480, 640)
    assert table.do("vision_ops.index_at", data="$rows", u=u, v=v).result.value == row * 640 + column


def test_images_and_masks_can_be_read_too(table: Table) -> None:
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
