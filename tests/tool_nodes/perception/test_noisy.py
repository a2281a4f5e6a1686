"""Clusters of an image: noisy depth, flat objects, tables that lie askew, parts of a cluster, columns about a grasp."""

from dataclasses import replace

import numpy as np
import pytest

from toolhand.bench.perception.masks import make_images
from toolhand.bench.perception.metrics import mask_iou
from toolhand.sim.objects.sets import find_asset
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import PlacedObject, Scene
from toolhand.tool_nodes import geometry
from toolhand.tool_nodes.catalogue import load_catalogue
from toolhand.tool_nodes.geometry import intrinsics, pose
from toolhand.tool_nodes.perception.clusters import find_clusters
from toolhand.tool_nodes.perception.colours import encoded, linear, shade_and_misfit
from toolhand.tool_nodes.perception.columns import HAND_REACH, column_boxes, within_hand, without_own
from toolhand.tool_nodes.perception.division import united
from toolhand.tool_nodes.perception.extents import measure
from toolhand.tool_nodes.perception.heights import HeightMap
from toolhand.tool_nodes.perception.levelling import levelled
from toolhand.tool_nodes.perception.masks import inner_point
from toolhand.tool_nodes.perception.pixels import PixelPerception
from toolhand.tool_nodes.perception.surface import Surface, find_surface, firm_pixels
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import FloatArray, Frame, PointPrompt

# -- pixels where depth is noisy and colours are too bright: sizes, colours and containers ---------

EYE = np.array([0.5, 0.0, 1.0])


def test_points_in_the_air_behind_an_edge_are_no_part_of_a_surface() -> None:
    v, u = np.mgrid[0:30, 0:40].astype(np.float32)
    points = np.stack([0.3 + 0.002 * u, 0.002 * v, np.full_like(u, 0.1)], axis=2)
    points[:, 39, 0] += 0.05 * np.random.default_rng(0).uniform(0.2, 1.0, 30).astype(np.float32)
    mask = np.ones(u.shape, bool)
    surface = Surface(points, np.zeros(3), mask)
    firm = firm_pixels(surface, (slice(0, 30), slice(0, 40)), mask)
    assert not firm[:, 39].any()
    assert firm[1:-1, :39].all()


def test_noise_does_not_raise_a_level_top() -> None:
    rng = np.random.default_rng(0)
    x, y = (side.ravel() for side in np.mgrid[-0.04:0.04:0.001, -0.03:0.03:0.001])
    box = np.column_stack([x + 0.5, y, np.full_like(x, 0.05)])
    inside = np.hypot(x, y) < 0.029
    ball = np.column_stack([x + 0.5, y, 0.03 + np.sqrt(np.maximum(0.03**2 - x**2 - y**2, 0.0))])[inside]
    for points, height in ((box, 0.05), (ball, 0.06)):
        exact = measure(points, 0.0, EYE).size[2]
        noisy = points + np.column_stack([np.zeros((len(points), 2)), rng.normal(0.0, 0.003 * 0.9, len(points))])
        assert abs(exact - height) < 0.001
        assert abs(measure(noisy, 0.0, EYE, rough=0.003).size[2] - height) < 0.003


def test_a_colour_that_is_too_bright_for_a_channel_is_still_that_colour() -> None:
    yellow, orange = (250, 200, 40), (250, 140, 40)
    bright = np.rint(encoded(1.25 * linear(np.array([yellow], np.uint8)))).astype(np.uint8)
    assert bright.max() == 255
    shade, misfit = shade_and_misfit(bright, [yellow, orange])
    assert misfit[0, 0] < 2.0 < 8.0 < misfit[0, 1]
    assert abs(shade[0, 0] - 1.25) < 0.02


def test_a_bin_with_clear_walls_is_known_by_its_rim_and_floor() -> None:
    size = load_catalogue()["transparent bin"].size_m
    for item in ("transparent bin", "black bin"):
        placed = PlacedObject("bin", item, (0.5, 0.05, size[2] / 2), 0.3)
        scene = replace(generate_scene(0, n_objects=1), objects=(placed,))
        (view,) = PixelPerception([]).views(make_images(scene, "realsense_d435", 0)[1])
        assert view.container
        assert (view.colour == "transparent") == (item == "transparent bin")
        np.testing.assert_allclose(np.sort(view.size_m[:2]), np.sort(size[:2]), atol=0.014)


def test_a_bin_and_what_stands_in_it_are_two_objects_to_a_noisy_camera() -> None:
    height = load_catalogue()["tomato soup"].size_m[2]
    bin_ = PlacedObject("bin", "black bin", (0.5, 0.05, load_catalogue()["black bin"].size_m[2] / 2), 0.3)
    can = PlacedObject("can", "tomato soup", (0.5, 0.05, 0.005 + height / 2), 0.0)
    for objects, items in (((bin_,), 1), ((bin_, can), 2)):
        scene = replace(generate_scene(0, n_objects=1), objects=objects)
        views = PixelPerception().views(make_images(scene, "realsense_d435", 0)[1])
        assert len(views) == items, [view.name for view in views]
        assert sum(view.container for view in views) == 1


# -- objects thinner than the noise of one pixel's depth are seen by colour and mean height; shadows are not


SENSORS = ("clean", "stereo", "realsense_d435")


def scene_with(seed: int, *items: str) -> Scene:
    """Objects on a table whose colour and light come from a seed."""
    heights = [find_asset(item).size_m[2] for item in items]
    objects = [
        PlacedObject(f"thing_{k}", item, (0.48, 0.16 * k - 0.08, height / 2), 0.4)
        for k, (item, height) in enumerate(zip(items, heights, strict=True))
    ]
    return replace(generate_scene(seed, n_objects=1), objects=tuple(objects))


@pytest.mark.parametrize("sensor", SENSORS)
@pytest.mark.parametrize("item", ["generated/card-5021", "generated/lid-5005"])
def test_a_point_on_what_is_5_mm_thick_for_the_most_part_gives_its_outline(item: str, sensor: str) -> None:
    true, frame = make_images(scene_with(5021, item), sensor, 1)
    assert true.ids is not None
    own = true.ids == 0
    found = PixelPerception().segment(SessionImage(frame.rgb, frame), PointPrompt([inner_point(own)])).value
    assert mask_iou(found[0].mask, own) > 0.75


@pytest.mark.parametrize("sensor", [*SENSORS, "zed2", "hard"])
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_nothing_is_seen_on_an_empty_table(seed: int, sensor: str) -> None:
    assert PixelPerception().masks(make_images(scene_with(seed), sensor, seed)[1]) == []


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_a_shadow_is_no_object(seed: int) -> None:
    true, frame = make_images(scene_with(seed, "red box", "mustard"), "realsense_d435", seed)
    assert true.ids is not None
    for found in PixelPerception().masks(frame):
        assert np.count_nonzero(found.mask & (true.ids >= 0)) > 0.5 * np.count_nonzero(found.mask)


# -- A table that an image's calibration lets lie askew is brought to its height ------------------


def table(noise: float, height: float, slope: tuple[float, float], seed: int = 0) -> FloatArray:
    """Points (N, 3) of a table askew, and of an object on it."""
    rng = np.random.default_rng(seed)
    xy = rng.uniform(-0.3, 0.3, (8000, 2)) + np.array([0.45, 0.0])
    z = height + (xy - [0.45, 0.0]) @ np.array(slope) + rng.normal(0.0, noise, len(xy))
    z[np.hypot(xy[:, 0] - 0.45, xy[:, 1]) < 0.05] += 0.06
    return np.column_stack([xy, z])


@pytest.mark.parametrize("noise", [0.0005, 0.003])
@pytest.mark.parametrize(("height", "slope"), [(0.0, (0.0, 0.0)), (0.005, (0.004, -0.006)), (-0.004, (-0.008, 0.0))])
def test_the_table_comes_to_its_height_and_its_noise_is_known(
    noise: float, height: float, slope: tuple[float, float]
) -> None:
    points = table(noise, height, slope).astype(np.float32)
    found = levelled(points, np.zeros(len(points), dtype=bool), np.array([0.45, 0.0]))
    assert found.noise == pytest.approx(noise, rel=0.25)
    straight = geometry.transform(found.T, table(0.0, height, slope))
    on_table = straight[:, 2] < 0.03
    assert np.abs(straight[on_table, 2]).max() < 0.0007
    R = found.T[:3, :3]
    assert np.allclose(R @ R.T, np.eye(3), atol=1e-12)


def test_what_is_no_table_is_left_alone() -> None:
    points = table(0.001, 0.012, (0.03, 0.0)).astype(np.float32)
    assert np.array_equal(levelled(points, np.zeros(len(points), dtype=bool), np.zeros(2)).T, np.eye(4))
    few = points[:200]
    assert np.array_equal(levelled(few, np.zeros(len(few), dtype=bool), np.zeros(2)).T, np.eye(4))


# -- parts of a cluster are measured by what is known of them, however little that is --------------


def test_a_part_of_three_points_that_lie_low_is_measured() -> None:
    depth = np.ones((240, 320), np.float32)
    depth[100:130, 140:180] = 0.95
    rgb = np.full((240, 320, 3), 120, np.uint8)
    T = pose(np.diag([1.0, -1.0, -1.0]), (0.5, 0.0, 1.0))
    frame = Frame(rgb, depth, intrinsics(330.0, 320, 240), T, 0.0)
    surface = find_surface(frame)
    (cluster,) = find_clusters(frame, surface)
    mask = np.zeros_like(cluster.mask)
    mask[90, 150:153] = True
    low = united(surface, T[:3, 3], [replace(cluster, mask=mask)])
    assert low.mask.sum() == 3
    assert low.extents.size[2] < 0.01


# -- what stands about an object to be grasped: upright boxes of cells, which leave gaps open --------


CELL = 0.005


def grid(heights: np.ndarray) -> HeightMap:
    return HeightMap(0.2, -0.1, CELL, heights)


def covered(boxes: tuple, heights: HeightMap) -> np.ndarray:
    """Height (nx, ny) up to which boxes cover the middles of the cells [m]."""
    xs, ys = heights.centres()
    top = np.zeros(heights.heights.shape)
    for box in boxes:
        x, y, z = box.T_parent_box[:3, 3]
        a, b, c = box.half_extents
        over = (np.abs(xs - x) < a)[:, None] & (np.abs(ys - y) < b)[None, :]
        top[over] = np.maximum(top[over], z + c)
    return top


def test_boxes_cover_every_column_and_nothing_beside_them() -> None:
    rng = np.random.default_rng(0)
    columns = np.where(rng.random((40, 30)) < 0.6, rng.uniform(0.01, 0.2, (40, 30)), 0.0)
    columns[10:20, 5:25] = 0.071
    top = covered(column_boxes(columns, grid(columns)), grid(columns))
    assert ((top > 0) == (columns > 0)).all()
    assert (top >= columns - 1e-9).all()
    assert (top - columns).max() < 0.01


def test_a_level_block_is_one_box_to_the_edge_of_the_map() -> None:
    columns = np.zeros((40, 30))
    columns[35:, 10:] = 0.05
    assert len(column_boxes(columns, grid(columns))) == 1
    assert column_boxes(np.zeros((40, 30)), grid(columns)) == ()


def test_a_gap_of_one_cell_between_two_objects_stays_open() -> None:
    columns = np.zeros((40, 30))
    columns[10:20], columns[21:30] = 0.05, 0.055
    top = covered(column_boxes(columns, grid(columns)), grid(columns))
    assert not top[20].any()


def test_the_rim_of_the_object_itself_is_no_obstacle_but_a_higher_neighbour_that_touches_it_is() -> None:
    item = np.array([[0.2 + CELL * i, -0.1 + CELL * j, 0.05] for i in range(10, 15) for j in range(10, 15)])
    item[:, :2] += CELL / 2
    columns = np.zeros((40, 30))
    columns[9, 10:15] = 0.048
    columns[15, 10:15] = 0.09
    columns[16, 10:15] = 0.048
    left = without_own(grid(columns), columns, item)
    assert not left[9].any()
    assert (left[15, 10:15] == 0.09).all()
    assert (left[16, 10:15] == 0.048).all()


def test_cells_count_as_near_as_far_as_the_hand_reaches() -> None:
    near = within_hand(grid(np.zeros((140, 240))), np.array([[0.5, 0.0, 0.1], [0.52, 0.0, 0.1]]))
    xs, ys = grid(np.zeros((140, 240))).centres()
    assert not near[xs > 0.52 + HAND_REACH].any()
    assert near[np.abs(xs - 0.51) < 0.1][:, np.abs(ys) < 0.1].all()
