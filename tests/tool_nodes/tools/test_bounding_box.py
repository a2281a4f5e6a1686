"""Boxes around objects: measured against the catalogue's sizes, from one side, without knowing what is up."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import ndimage

from toolhand.sim.camera.ray import make_camera, scene_camera
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import PlacedObject
from toolhand.sim.station import Station
from toolhand.sim.world import World
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.catalogue import load_catalogue
from toolhand.tool_nodes.geometry import backproject, intrinsics, project, rotation_z
from toolhand.tool_nodes.results import ToolError, ToolResult
from toolhand.tool_nodes.toolbox.toolbox import Session
from toolhand.tool_nodes.tools.spacetools.bounding_box import BoundingBoxTools, oriented_box, support_plane
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame


@pytest.fixture(scope="module")
def station() -> Station:
    return Station(load_scene(EXAMPLE_SCENE))


def measure(station: Station, name: str) -> ToolResult:
    """The box of an object, segmented where the simulator says it is."""
    session = Session()
    frame = station.camera.capture()
    assert frame.ids is not None
    index = [placed.item for placed in station.scene.objects].index(name)
    rows, columns = np.nonzero(frame.ids == index)
    x, y = (np.median(columns) + 0.5) / 640, (np.median(rows) + 0.5) / 480
    for tool, arguments in (
        ("robot.capture_image", {}),
        ("robot.get_depth_with_pointcloud", {}),
        ("sam2.segment_from_point", {"x": float(x), "y": float(y), "image_index": 0}),
    ):
        assert station.toolbox.call(tool, arguments, session).result.ok
    given = {"point_cloud": "$point_cloud", "mask": "$segmentation_mask", "focal_length_px": "$focal_length_px"}
    result = station.toolbox.call("bounding_box.compute_bbox", given, session).result
    assert result.ok, result.text
    return result


@pytest.mark.parametrize("name", ["red box", "rice box", "cinnamon"])
def test_an_object_on_the_table_is_measured_to_a_centimetre(station: Station, name: str) -> None:
    extent = measure(station, name).value["extent"]
    assert np.abs(np.sort(extent) - np.sort(load_catalogue()[name].size_m)).max() < 0.01


def test_a_box_stands_where_its_object_stands(station: Station) -> None:
    corners = np.array(measure(station, "red box").variables["obb_corners_3d"])
    T = station.camera.capture().T_base_camera
    in_base = corners @ T[:3, :3].T + T[:3, 3]
    placed = next(p for p in station.scene.objects if p.item == "red box")
    assert np.abs(in_base.mean(axis=0) - placed.position_m).max() < 0.01
    assert np.abs(in_base[:4, 2]).max() < 0.005


def test_a_box_is_reported_with_corners_edges_and_extent(station: Station) -> None:
    result = measure(station, "red box")
    number = r"\d\.\d{3}"
    said = (
        rf"Computed oriented bounding box from \d+ points \(mask 480x640\)\. Extent: \[{number}(, {number}){{2}}\] m\."
    )
    assert re.match(said, result.text)
    assert result.image is None
    assert set(result.variables) == {"obb_corners_3d", "obb_corners_2d", "extent", "edges"}
    corners, flat = np.array(result.variables["obb_corners_3d"]), np.array(result.variables["obb_corners_2d"])
    assert corners.shape == (8, 3)
    assert flat == pytest.approx(project(corners, intrinsics(660.0, 640, 480)) / (640, 480), abs=1e-3)
    lengths = [np.linalg.norm(corners[a] - corners[b]) for a, b in result.variables["edges"]]
    assert np.sort(lengths) == pytest.approx(np.sort(np.repeat(result.variables["extent"], 4)), abs=1e-3)


def turned_box(size: tuple[float, float, float], n: int = 4000) -> FloatArray:
    """Points (n, 3) on the three sides of a turned box that can be seen from one corner [m]."""
    rng = np.random.default_rng(0)
    points = rng.uniform(-0.5, 0.5, (n, 3))
    points[np.arange(n), rng.integers(3, size=n)] = 0.5
    return points * size @ rotation_z(0.7).T


def test_without_a_table_the_smallest_box_is_found() -> None:
    corners, extent = oriented_box(turned_box((0.20, 0.10, 0.02)))
    assert np.sort(extent) == pytest.approx([0.02, 0.10, 0.20], abs=0.01)
    assert np.abs(corners.mean(axis=0)).max() < 0.01


def test_the_axes_of_a_box_are_right_handed_with_the_longer_side_first() -> None:
    around = np.random.default_rng(1).uniform(-0.3, 0.3, (2000, 3)) * (1, 1, 0) - (0, 0, 0.05)
    corners, extent = oriented_box(turned_box((0.10, 0.20, 0.10)), around)
    first, second, up = corners[1] - corners[0], corners[3] - corners[0], corners[4] - corners[0]
    assert np.linalg.norm(first) > np.linalg.norm(second)
    assert np.cross(first, second) @ up > 0
    assert up == pytest.approx([0, 0, extent[2]], abs=1e-3)


def test_an_object_on_top_of_another_is_not_given_a_box_down_to_the_table() -> None:
    around = np.random.default_rng(1).uniform(-0.3, 0.3, (2000, 3)) * (1, 1, 0) - (0, 0, 0.25)
    _, extent = oriented_box(turned_box((0.10, 0.20, 0.10)), around)
    assert extent[2] == pytest.approx(0.10, abs=0.005)


@pytest.mark.parametrize("count", [10, 2000])
def test_scattered_surroundings_are_no_table(count: int) -> None:
    rng = np.random.default_rng(2)
    assert support_plane(rng.uniform(-0.3, 0.3, (count, 3)), turned_box((0.1, 0.1, 0.1))) is None


def test_points_in_one_line_still_have_a_box() -> None:
    line = np.linspace(0, 0.1, 20)[:, None] * np.array([1.0, 0.0, 0.0])
    _, extent = oriented_box(line)
    assert np.sort(extent) == pytest.approx([0, 0, 0.1], abs=2e-3)


def alone(name: str, yaw: float, size: tuple[int, int]) -> tuple[Frame, BoolArray]:
    """An image (width, height) of a turned object that stands alone, and its pixels."""
    height = load_catalogue()[name].size_m[2]
    placed = PlacedObject("thing", name, (0.45, -0.06, height / 2), yaw)
    scene = replace(generate_scene(0, n_objects=1), objects=(placed,))
    world = World(scene)
    frame = make_camera("ray", world.model, world.data, scene_camera(size), world.body_index).capture()
    assert frame.ids is not None
    return frame, frame.ids == 0


def shortfall_mm(name: str, frame: Frame, mask: BoolArray) -> FloatArray:
    """Extent less the catalogue's: longer side, shorter side, height [mm]."""
    x, y, z = load_catalogue()[name].size_m
    extent = BoundingBoxTools().box(backproject(frame.depth, frame.K), mask, float(frame.K[0, 0])).value["extent"]
    return 1000.0 * (np.asarray(extent) - (max(x, y), min(x, y), z))


@pytest.mark.parametrize(("size", "limit_mm"), [((160, 120), 3.0), ((320, 240), 3.0), ((640, 480), 2.0)])
def test_boxes_are_as_large_as_objects_whatever_the_size_of_the_image(size: tuple[int, int], limit_mm: float) -> None:
    for name in ("red box", "rice box", "sugar box"):
        for yaw in (0.0, 0.3, 0.7):
            assert np.abs(shortfall_mm(name, *alone(name, yaw, size))).max() < limit_mm, (name, yaw)


def test_depth_that_is_mixed_with_the_background_at_the_outline_does_not_stretch_a_box() -> None:
    frame, mask = alone("red box", 0.3, (640, 480))
    outline = mask & ~ndimage.binary_erosion(mask)
    mixed = np.where(outline, frame.depth + np.float32(0.05), frame.depth)
    assert np.abs(shortfall_mm("red box", replace(frame, depth=mixed), mask)).max() < 5.0


def test_another_fitter_puts_the_smallest_box_around_what_is_seen() -> None:
    frame, mask = alone("red box", 0.3, (160, 120))
    cloud, focal = backproject(frame.depth, frame.K), float(frame.K[0, 0])
    for name in ("standing", "smallest"):
        result = BoundingBoxTools(registry.make("boxes", name)).box(cloud, mask, focal)
        corners, extent = np.asarray(result.value["corners_3d"]), np.asarray(result.value["extent"])
        if name == "standing":
            stands = extent
        np.testing.assert_allclose([np.linalg.norm(corners[k] - corners[0]) for k in (1, 3, 4)], extent, atol=2e-4)
    assert np.prod(extent) < np.prod(stands)  # without what the camera does not see
    with pytest.raises(ToolError, match="must be open3d or smallest or standing"):
        registry.make("boxes", "cubes")
