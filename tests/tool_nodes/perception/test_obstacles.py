"""Height map and obstacle boxes against scenes whose geometry is known."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from tests.refusals import refused
from toolhand.sim.camera.ray import RayCamera, scene_camera
from toolhand.sim.camera.sensor import SensorNoise
from toolhand.tool_nodes import geometry, workspace
from toolhand.tool_nodes.perception.heights import SeenTable, height_map, on_surface
from toolhand.tool_nodes.perception.obstacles import INFLATION, MAX_BOXES, PADDING_DEPTH, fit_obstacles
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.types import BoolArray, Box, FloatArray, Frame

BOX = '<geom type="box" size=".03 .045 .06" pos="0 0 .06" euler="0 0 {yaw}"/>'
BALL = '<geom type="sphere" size=".035" pos="0 0 .035"/>'


def make_image(*objects: tuple[float, float, str], noise: float = 0.0005) -> Frame:
    """An image of objects at (x, y), each of them geoms that stand on z = 0; object k has id k."""
    bodies = "".join(
        f'<body name="thing{k}" pos="{x} {y} 0"><freejoint/>{geoms}</body>' for k, (x, y, geoms) in enumerate(objects)
    )
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><compiler eulerseq="XYZ"/><worldbody><geom type="box" size=".58 .7 .02" pos=".28 0 -.02"/>'
        f"{bodies}</worldbody></mujoco>"
    )
    index = {model.body(f"thing{k}").id: k for k in range(len(objects))}
    return RayCamera(model, mujoco.MjData(model), scene_camera(), index, sensor=SensorNoise(noise)).capture()


def bin_geoms(width: float = 0.20, length: float = 0.28, height: float = 0.08) -> str:
    wall, floor = 0.004, '<geom type="box" size="{} {} .002" pos="0 0 .002"/>'
    sides = [(s * width / 2, 0.0, wall / 2, length / 2) for s in (-1, 1)]
    sides += [(0.0, s * length / 2, width / 2, wall / 2) for s in (-1, 1)]
    walls = "".join(
        f'<geom type="box" size="{a} {b} {height / 2}" pos="{x} {y} {height / 2}"/>' for x, y, a, b in sides
    )
    return floor.format(width / 2, length / 2) + walls


def inside_any(points: FloatArray, boxes: tuple[Box, ...]) -> BoolArray:
    """True (N,) for points (N, 3) inside at least one box."""
    inside = np.zeros(len(points), dtype=bool)
    for box in boxes:
        local = geometry.transform(geometry.invert(box.T_parent_box), points)
        inside |= (np.abs(local) <= box.half_extents + 1e-9).all(axis=1)
    return inside


def cloud_of(frame: Frame, item: int) -> FloatArray:
    assert frame.ids is not None
    cloud = geometry.transform(frame.T_base_camera, geometry.backproject(frame.depth, frame.K))
    return cloud[(frame.ids == item).ravel()].astype(float)


def height_of(frame: Frame) -> FloatArray:
    """Height (H, W) of what each pixel shows [m]."""
    cloud = geometry.transform(frame.T_base_camera, geometry.backproject(frame.depth, frame.K))
    return cloud[:, 2].reshape(frame.depth.shape).astype(float)


def test_an_empty_table_has_no_obstacles() -> None:
    frame = make_image()
    assert fit_obstacles(frame) == ()
    heights = height_map(frame).heights
    assert np.nanmax(heights) == 0.0
    assert np.mean(np.isnan(heights)) < 0.5


@pytest.mark.parametrize("yaw", [0, 20, 45, 70])
def test_a_box_becomes_one_upright_box_with_its_yaw(yaw: int) -> None:
    boxes = fit_obstacles(make_image((0.45, 0.05, BOX.format(yaw=yaw))))
    largest = max(boxes, key=lambda box: float(box.half_extents.prod()))
    assert len(boxes) <= 2
    assert np.allclose(largest.T_parent_box[:2, 3], [0.45, 0.05], atol=0.008)
    assert largest.half_extents[2] * 2.0 == pytest.approx(0.12 + INFLATION, abs=0.004)
    footprint = np.sort(largest.half_extents[:2])
    assert np.all(footprint >= [0.030, 0.045])
    assert np.all(footprint <= np.array([0.030, 0.045]) + INFLATION + PADDING_DEPTH)
    assert largest.T_parent_box[2, 3] - largest.half_extents[2] == pytest.approx(workspace.TABLE_Z)
    turn = geometry.rotation_angle(largest.T_parent_box[:3, :3], geometry.rotation_z(np.radians(yaw)))
    assert min(turn % (np.pi / 2), -turn % (np.pi / 2)) < np.radians(4.0)


def test_every_seen_point_above_the_table_is_inside_a_box() -> None:
    objects = [(0.4, 0.2, BALL), (0.5, -0.1, BOX.format(yaw=30)), (0.35, -0.25, bin_geoms()), (0.6, 0.2, BALL)]
    frame = make_image(*objects, noise=0.0)
    boxes = fit_obstacles(frame)
    assert 0 < len(boxes) <= MAX_BOXES
    for item in range(len(objects)):
        points = cloud_of(frame, item)
        points = points[points[:, 2] > 0.010]
        assert inside_any(points, boxes).mean() > 0.995


def test_the_unseen_back_of_a_ball_is_covered() -> None:
    boxes = fit_obstacles(make_image((0.45, 0.0, BALL)))
    directions = np.random.default_rng(0).normal(size=(500, 3))
    surface = 0.035 * directions / np.linalg.norm(directions, axis=1, keepdims=True) + [0.45, 0.0, 0.035]
    assert inside_any(surface, boxes).mean() > 0.99


def test_the_inside_of_a_bin_stays_free() -> None:
    boxes = fit_obstacles(make_image((0.45, 0.0, bin_geoms())))
    x, y, z = np.meshgrid(np.linspace(-0.05, 0.05, 6), np.linspace(-0.09, 0.09, 8), [0.02, 0.05, 0.07])
    inner = np.column_stack([x.ravel() + 0.45, y.ravel(), z.ravel()])
    assert not inside_any(inner, boxes).any()
    rim = np.array([[0.55, 0.0, 0.075], [0.35, 0.0, 0.075], [0.45, 0.14, 0.075], [0.45, -0.14, 0.075]])
    assert inside_any(rim, boxes).all()


def test_free_table_is_not_covered() -> None:
    boxes = fit_obstacles(make_image((0.45, 0.0, BOX.format(yaw=0)), (0.45, 0.2, BOX.format(yaw=0))))
    between = np.column_stack([np.full(5, 0.45), np.full(5, 0.1), np.linspace(0.02, 0.12, 5)])
    in_front = np.array([[0.55, 0.0, 0.01], [0.45, -0.1, 0.01]])
    assert not inside_any(np.vstack([between, in_front]), boxes).any()


def test_space_hidden_behind_a_tall_object_is_covered_close_behind_it() -> None:
    boxes = fit_obstacles(make_image((0.5, 0.0, BOX.format(yaw=0))))
    assert inside_any(np.array([[0.47 - 0.6 * PADDING_DEPTH, 0.0, 0.05]]), boxes).all()
    assert not inside_any(np.array([[0.47 - 3.0 * PADDING_DEPTH - 0.02, 0.0, 0.05]]), boxes).any()


def test_ignored_pixels_leave_no_obstacle() -> None:
    frame = make_image((0.45, 0.0, BOX.format(yaw=0)), (0.5, 0.25, BALL))
    assert frame.ids is not None
    boxes = fit_obstacles(frame, ignore=frame.ids == 0)
    assert boxes
    assert all(np.hypot(*(box.T_parent_box[:2, 3] - [0.5, 0.25])) < 0.06 for box in boxes)


def test_the_robot_above_the_table_is_no_obstacle() -> None:
    frame = make_image((0.45, 0.0, '<geom type="sphere" size=".05" pos="0 0 .45"/>'))
    assert fit_obstacles(frame) == ()


def test_a_crowded_table_stays_within_the_budget_of_boxes() -> None:
    objects = [(0.32 + 0.16 * (k // 3), -0.28 + 0.28 * (k % 3), bin_geoms(0.10, 0.22, 0.06)) for k in range(9)]
    assert 30 < len(fit_obstacles(make_image(*objects))) <= MAX_BOXES


def test_the_height_map_knows_tops_table_and_what_is_unseen() -> None:
    heights = height_map(make_image((0.45, 0.0, BOX.format(yaw=0)), noise=0.0))
    assert heights.cell == 0.01
    assert heights.heights.shape == (70, 120)
    assert heights.support_height([0.45, 0.0], 0.02) == pytest.approx(0.12, abs=0.001)
    assert heights.support_height([0.45, 0.2], 0.05) == 0.0
    assert heights.support_height([0.45, 0.2], 1e-6) == 0.0
    assert np.isnan(heights.support_height([0.39, 0.0], 0.005))
    xs, ys = heights.centres()
    assert xs[0] == pytest.approx(workspace.TABLE_X[0] + 0.005)
    assert ys[-1] == pytest.approx(workspace.TABLE_Y[1] - 0.005)


def test_a_finer_height_map_has_smaller_cells() -> None:
    frame = make_image((0.45, 0.0, BOX.format(yaw=0)))
    assert SeenTable(frame, 0.005).heights().heights.shape == (140, 240)


def test_the_same_image_gives_the_same_boxes() -> None:
    frame = make_image((0.4, 0.2, BALL), (0.35, -0.25, bin_geoms()))
    first, second = fit_obstacles(frame), fit_obstacles(frame)
    assert first
    for one, other in zip(first, second, strict=True):
        assert one.T_parent_box.tobytes() == other.T_parent_box.tobytes()
        assert one.half_extents.tobytes() == other.half_extents.tobytes()


def test_an_image_without_depth_is_refused() -> None:
    frame = make_image()
    blind = replace(frame, depth=np.full_like(frame.depth, np.nan))
    with refused(ErrorCode.NO_DEPTH, "no depth"):
        fit_obstacles(blind)


def test_a_mask_of_another_shape_is_refused() -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, r"\(480, 640\).*\(3, 3\)"):
        fit_obstacles(make_image(), ignore=np.zeros((3, 3), dtype=bool))


def test_a_pixel_that_flies_between_two_surfaces_is_no_obstacle() -> None:
    frame = make_image((0.5, 0.0, BOX.format(yaw=0)))
    depth = frame.depth.copy()
    at = np.flatnonzero(~np.isnan(depth) & (height_of(frame) < 0.004))[::997]
    depth.ravel()[at] -= 0.05
    assert on_surface(frame.depth, at).mean() > 0.95
    assert not on_surface(depth, at).any()
    flying = replace(frame, depth=depth)
    assert len(fit_obstacles(flying)) == len(fit_obstacles(frame)) == 1


def test_what_lies_about_an_object_leaves_the_hand_its_gaps_however_much_of_the_table_flickers() -> None:
    heap = [(0.30 + 0.16 * i, -0.3 + 0.15 * j, BOX.format(yaw=10 * j)) for i in range(3) for j in range(5)]
    frame = make_image(*heap)
    depth = frame.depth.copy()
    free = np.argwhere(height_of(frame) < 0.004)
    rng = np.random.default_rng(0)
    for row, column in free[rng.integers(0, len(free), 150)]:
        depth[row : row + 6, column : column + 6] -= 0.012
    target = cloud_of(frame, 7)
    assert frame.ids is not None
    boxes = fit_obstacles(replace(frame, depth=depth), ignore=frame.ids == 7, about=target)
    beside = np.array([[0.46 + 0.08, 0.0, 0.06], [0.46, 0.07, 0.06]])
    assert not inside_any(beside, boxes).any()
    for k in (2, 6, 8, 12):
        assert inside_any(cloud_of(frame, k), boxes).mean() > 0.97
