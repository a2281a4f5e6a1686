"""Grasps of primitives, checked against geometry that the generator never sees."""

from functools import cache
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.gen3 import GEN3, MAX_OPENING, MAX_WIDTH, fingertip_depth, pad_depth
from tests.refusals import refused
from toolhand.sim.camera.ray import RayCamera, scene_camera
from toolhand.sim.camera.sensor import make_sensor
from toolhand.tool_nodes import geometry
from toolhand.tool_nodes.grasp.chances import FEATURES
from toolhand.tool_nodes.grasp.clearance import SceneHeights
from toolhand.tool_nodes.grasp.hand import TIP_GAP
from toolhand.tool_nodes.grasp.sampling import AnalyticGraspGenerator
from toolhand.tool_nodes.grasp.top_down import TopDownGraspGenerator
from toolhand.tool_nodes.perception.heights import LEAST_POINTS
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import FloatArray, Frame, GraspSet

SegmentedObject = tuple[float, float, str]
YAWS = (0, 25, 50, 90, 115, 160)


@cache
def make_image(*objects: SegmentedObject, sensor: str = "stereo", seed: int = 0) -> Frame:
    """An image of objects at (x, y), each of them geoms that stand on z = 0; object k has id k."""
    bodies = "".join(
        f'<body name="thing{k}" pos="{x} {y} 0"><freejoint/>{geoms}</body>' for k, (x, y, geoms) in enumerate(objects)
    )
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><compiler eulerseq="XYZ"/><worldbody><geom type="box" size=".58 .7 .02" pos=".28 0 -.02"/>'
        f"{bodies}</worldbody></mujoco>"
    )
    index = {model.body(f"thing{k}").id: k for k in range(len(objects))}
    camera = make_sensor(sensor, "scene", seed)
    return RayCamera(model, mujoco.MjData(model), scene_camera(), index, seed=seed, sensor=camera).capture()


def grasp(*objects: SegmentedObject) -> tuple[GraspSet, FloatArray]:
    """Grasps of the first object, and their poses in the base frame."""
    frame = make_image(*objects)
    assert frame.ids is not None
    cloud = geometry.backproject(frame.depth, frame.K)
    grasps = AnalyticGraspGenerator().generate(cloud, (frame.ids == 0).ravel(), frame.T_base_camera)
    return grasps, frame.T_base_camera @ grasps.T_camera_gripper


def pads(T: FloatArray, width: float) -> FloatArray:
    """Middle (3,) between the pads, closed to a width, in the base frame."""
    return T[:3, 3] + pad_depth(width) * T[:3, 2]


def axis_to_closing_line(T: FloatArray, width: float, x: float, y: float) -> tuple[float, float]:
    """Horizontal offset of a vertical axis from the pads' middle: (across, along) the closing line [m]."""
    offset = np.array([x, y]) - pads(T, width)[:2]
    closing = T[:2, 0] / np.linalg.norm(T[:2, 0])
    return abs(float(offset @ [-closing[1], closing[0]])), abs(float(offset @ closing))


def lowest_fingertip(T: FloatArray, width: float) -> float:
    """Height of the lowest corner of the fingertips [m], closed to the width or open, whichever is lower."""
    corners = [
        [x, y, fingertip_depth(opening)]
        for opening in (width, MAX_OPENING)
        for x in (-opening / 2 - 0.008, opening / 2 + 0.008)
        for y in (-0.011, 0.011)
    ]
    return float(geometry.transform(T, np.array(corners))[:, 2].min())


def box(yaw: float, x: float = 0.025, y: float = 0.04, z: float = 0.04) -> str:
    return f'<geom type="box" size="{x} {y} {z}" pos="0 0 {z}" euler="0 0 {yaw}"/>'


def lying(kind: str, radius: float, half_length: float, yaw: float) -> str:
    return f'<geom type="{kind}" size="{radius} {half_length}" pos="0 0 {radius}" euler="0 90 {yaw}"/>'


def cup(radius: float = 0.033, height: float = 0.085) -> str:
    half_side = radius * np.tan(np.pi / 8)
    walls = "".join(
        f'<geom type="box" size=".002 {half_side} {height / 2}" euler="0 0 {45 * k}" '
        f'pos="{(radius - 0.002) * np.cos(k * np.pi / 4)} {(radius - 0.002) * np.sin(k * np.pi / 4)} {height / 2}"/>'
        for k in range(8)
    )
    return f'<geom type="cylinder" size="{radius - 0.002} .002" pos="0 0 .002"/>{walls}'


def assert_good(item: SegmentedObject, width: float, across: float = 0.004) -> tuple[GraspSet, FloatArray]:
    """The best grasp closes through the object's middle, on the right width, clear of the table."""
    grasps, T = grasp(item)
    best_across, best_along = axis_to_closing_line(T[0], grasps.widths_m[0], item[0], item[1])
    assert best_across < across
    assert best_along < 0.004
    assert grasps.widths_m[0] == pytest.approx(width, abs=0.004)
    tips = [lowest_fingertip(pose, width) for pose, width in zip(T, grasps.widths_m, strict=True)]
    assert min(tips) >= 0.9 * TIP_GAP
    return grasps, T


@pytest.mark.parametrize("yaw", YAWS)
def test_a_box_is_held_across_its_narrow_side(yaw: int) -> None:
    _, T = assert_good((0.45, 0.1, box(yaw)), 0.05)
    narrow = geometry.rotation_z(np.radians(yaw))[:3, 0]
    assert abs(T[0, :3, 0] @ narrow) > np.cos(np.radians(5.0))


@pytest.mark.parametrize("radius", [0.02, 0.033])
def test_an_upright_cylinder_is_held_through_its_axis(radius: float) -> None:
    item = (0.4, -0.25, f'<geom type="cylinder" size="{radius} .055" pos="0 0 .055"/>')
    assert_good(item, 2 * radius)


@pytest.mark.parametrize("yaw", YAWS)
@pytest.mark.parametrize(("kind", "radius"), [("cylinder", 0.025), ("capsule", 0.016)])
def test_a_lying_rod_is_held_across_its_middle(kind: str, radius: float, yaw: int) -> None:
    _, T = assert_good((0.5, 0.15, lying(kind, radius, 0.06, yaw)), 2 * radius, across=0.015)
    rod = geometry.rotation_z(np.radians(yaw))[:3, 0]
    assert abs(T[0, :3, 0] @ rod) < np.sin(np.radians(8.0))


@pytest.mark.parametrize("radius", [0.025, 0.034])
@pytest.mark.parametrize("place", [(0.4, 0.3), (0.6, -0.2)])
def test_a_ball_is_held_at_its_equator(radius: float, place: tuple[float, float]) -> None:
    item = (*place, f'<geom type="sphere" size="{radius}" pos="0 0 {radius}"/>')
    grasps, T = assert_good(item, 2 * radius)
    assert pads(T[0], grasps.widths_m[0])[2] == pytest.approx(max(radius, 0.0228), abs=0.003)


@pytest.mark.parametrize("yaw", YAWS)
def test_an_egg_is_held_at_its_equator_across_its_short_axis(yaw: int) -> None:
    egg = f'<geom type="ellipsoid" size=".045 .03 .03" pos="0 0 .03" euler="0 0 {yaw}"/>'
    grasps, T = assert_good((0.45, 0.0, egg), 0.06)
    assert pads(T[0], grasps.widths_m[0])[2] == pytest.approx(0.03, abs=0.003)


def test_a_cup_is_held_around_its_outside() -> None:
    _, T = assert_good((0.45, 0.2, cup()), 0.066)
    assert T[0, 2, 2] < -0.99


def test_a_low_object_is_held_with_the_fingertips_above_the_table() -> None:
    assert_good((0.45, 0.0, box(30, 0.03, 0.05, 0.009)), 0.06, across=0.02)


def test_the_palm_stays_above_a_tall_object() -> None:
    grasps, T = grasp((0.45, 0.0, box(0, 0.025, 0.03, 0.09)))
    upright = T[:, 2, 2] < -0.999
    assert upright.any()
    palm = T[upright, 2, 3] - 0.095
    assert palm.min() >= 0.18 + 0.003
    tips = [T[k, 2, 3] - fingertip_depth(grasps.widths_m[k]) for k in np.flatnonzero(upright)]
    assert min(tips) < 0.16


def test_neighbours_five_centimetres_away_are_not_touched() -> None:
    target = (0.45, 0.0, box(0, 0.025, 0.025, 0.04))
    neighbours = [(0.45 + dx, dy, box(0, 0.025, 0.025, 0.05)) for dx, dy in ((0.1, 0), (-0.1, 0), (0, 0.1), (0, -0.1))]
    grasps, T = grasp(target, *neighbours)
    alone, _ = grasp(target)
    assert len(grasps.scores) < len(alone.scores)
    # Points on a finger: its inner face, its back and its outer knuckle, down to the open tips.
    x, y, z = np.meshgrid([0.0425, 0.058, 0.075], [-0.011, 0.0, 0.011], np.linspace(0.06, 0.149, 12), indexing="ij")
    finger = np.column_stack([x.ravel(), y.ravel(), z.ravel()])
    finger = finger[(finger[:, 0] < 0.06) | (finger[:, 2] < 0.105)]
    hand = np.vstack([finger, finger * [-1.0, 1.0, 1.0]])
    for pose in T:
        for back in (0.0, 0.04, 0.08):
            points = geometry.transform(pose, hand - [0.0, 0.0, back])
            for nx, ny, _ in neighbours:
                inside = (np.abs(points - [nx, ny, 0.05]) < [0.022, 0.022, 0.047]).all(axis=1)
                assert not inside.any()


def test_open_jaws_never_cut_into_the_object() -> None:
    item = (0.45, 0.0, box(0, 0.035, 0.035, 0.04))
    grasps, T = grasp(item)
    _, y, z = np.meshgrid([0.0], [-0.011, 0.0, 0.011], np.linspace(-0.0, 0.02, 5), indexing="ij")
    assert len(T) > 0
    for pose, width in zip(T, grasps.widths_m, strict=True):
        tip = pad_depth(MAX_OPENING)
        for side in (-1.0, 1.0):
            face = np.column_stack([np.full(y.size, side * 0.0425), y.ravel(), tip + z.ravel()])
            points = geometry.transform(pose, face)
            assert not (np.abs(points - [0.45, 0.0, 0.04]) < [0.0345, 0.0345, 0.0395]).all(axis=1).any()
        assert width <= MAX_WIDTH


def test_grasps_are_sorted_rigid_and_many() -> None:
    grasps, T = grasp((0.45, 0.1, box(20)))
    assert 200 <= grasps.sampled <= 1000
    assert np.all(np.diff(grasps.scores) <= 0.0)
    assert np.all((grasps.scores >= 0.0) & (grasps.scores <= 1.0))
    assert grasps.scores[0] > 0.6
    assert grasps.T_camera_gripper.shape == (len(grasps.scores), 4, 4)
    R = T[:, :3, :3]
    assert np.allclose(R @ R.transpose(0, 2, 1), np.eye(3), atol=1e-5)
    assert np.allclose(np.linalg.det(R), 1.0, atol=1e-5)
    assert np.all(T[:, 2, 2] < 0.1)


def test_tilted_grasps_come_after_the_upright_ones_they_resemble() -> None:
    _, T = grasp((0.45, 0.1, '<geom type="cylinder" size=".025 .05" pos="0 0 .05"/>'))
    tilt = np.degrees(np.arccos(np.clip(-T[:, 2, 2], -1.0, 1.0)))
    assert tilt[0] < 1.0
    assert np.sum(tilt > 10.0) > 10


def test_the_same_input_gives_the_same_bytes() -> None:
    one, _ = grasp((0.45, 0.1, box(20)))
    other, _ = grasp((0.45, 0.1, box(20)))
    assert one.T_camera_gripper.tobytes() == other.T_camera_gripper.tobytes()
    assert one.scores.tobytes() == other.scores.tobytes()
    assert one.widths_m.tobytes() == other.widths_m.tobytes()


@pytest.mark.parametrize(
    ("join", "pixels", "off_m"),
    [
        pytest.param(np.logical_or, 3, 0.004, id="spills over onto the table"),
        pytest.param(np.logical_and, 2, 0.007, id="misses the rim"),
    ],
)
def test_a_mask_that_is_a_little_off_does_no_harm(join: np.ufunc, pixels: int, off_m: float) -> None:
    frame = make_image((0.45, 0.1, box(20)))
    assert frame.ids is not None
    mask = frame.ids == 0
    for _ in range(pixels):
        mask = join.reduce([mask, *(np.roll(mask, step, axis) for step in (1, -1) for axis in (0, 1))])
    cloud = geometry.backproject(frame.depth, frame.K)
    grasps = AnalyticGraspGenerator().generate(cloud, mask, frame.T_base_camera)
    assert grasps.widths_m[0] == pytest.approx(0.05, abs=off_m)
    assert len(grasps.scores) > 50


def refusal(*objects: SegmentedObject) -> ToolError:
    with pytest.raises(ToolError) as caught:
        grasp(*objects)
    return caught.value


def test_a_bin_is_held_by_the_rim_of_one_wall_with_a_finger_inside() -> None:
    walls = "".join(
        f'<geom type="box" size="{sx} {sy} .04" pos="{x} {y} .04"/>'
        for x, y, sx, sy in (
            (0.07, 0, 0.002, 0.08),
            (-0.07, 0, 0.002, 0.08),
            (0, 0.08, 0.07, 0.002),
            (0, -0.08, 0.07, 0.002),
        )
    )
    floor = '<geom type="box" size=".07 .08 .002" pos="0 0 .002"/>'
    grasps, T = grasp((0.5, 0.0, walls + floor))
    x, y, z = pads(T[0], grasps.widths_m[0]) - [0.5, 0.0, 0.0]
    along_x = abs(abs(x) - 0.07) < 0.004 and abs(T[0, 0, 0]) > np.cos(np.radians(15.0))
    along_y = abs(abs(y) - 0.08) < 0.004 and abs(T[0, 1, 0]) > np.cos(np.radians(15.0))
    assert along_x or along_y
    assert 0.04 < z < 0.085
    assert grasps.widths_m[0] < 0.01


def test_an_object_that_is_too_wide_is_refused_with_its_width() -> None:
    error = refusal((0.45, 0.0, box(0, 0.06, 0.06, 0.03)))
    assert error.code is ErrorCode.NO_GRASP
    assert f"up to {1000 * MAX_WIDTH:.0f} mm wide" in error.message
    width = float(error.message.split(" mm wide")[0].split()[-1])
    assert width == pytest.approx(120.0, abs=8.0)


def test_an_object_that_is_too_flat_is_refused() -> None:
    error = refusal((0.45, 0.0, box(0, 0.03, 0.03, 0.0015)))
    assert error.code is ErrorCode.NO_GRASP
    assert "above the table" in error.message


def test_an_object_that_is_hemmed_in_is_refused_because_of_its_neighbours() -> None:
    along_y, along_x = box(0, 0.015, 0.07, 0.06), box(0, 0.035, 0.015, 0.06)
    walls = [(0.505, 0.0, along_y), (0.395, 0.0, along_y), (0.45, 0.055, along_x), (0.45, -0.055, along_x)]
    error = refusal((0.45, 0.0, box(0, 0.03, 0.03, 0.04)), *walls)
    assert error.code is ErrorCode.NO_GRASP
    assert "collides with a neighbour" in error.message


def test_an_empty_mask_is_refused() -> None:
    frame = make_image((0.45, 0.1, box(20)))
    cloud = geometry.backproject(frame.depth, frame.K)
    with refused(ErrorCode.EMPTY_MASK, "empty"):
        AnalyticGraspGenerator().generate(cloud, np.zeros(len(cloud), dtype=bool), frame.T_base_camera)


@pytest.mark.parametrize("unknown", [np.nan, np.inf])
def test_an_object_without_depth_is_refused(unknown: float) -> None:
    frame = make_image((0.45, 0.1, box(20)))
    assert frame.ids is not None
    cloud = geometry.backproject(frame.depth, frame.K).copy()
    mask = (frame.ids == 0).ravel()
    cloud[mask] = unknown
    with refused(ErrorCode.NO_DEPTH, "No depth"):
        AnalyticGraspGenerator().generate(cloud, mask, frame.T_base_camera)


@pytest.mark.parametrize("make", [AnalyticGraspGenerator, TopDownGraspGenerator])
@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("unknown", [np.nan, np.inf, -np.inf])
def test_points_that_are_not_finite_are_as_if_unseen(make: Any, axis: int, unknown: float) -> None:
    frame = make_image((0.45, 0.1, box(20)))
    assert frame.ids is not None
    mask, rng = (frame.ids == 0).ravel(), np.random.default_rng(0)
    cloud = geometry.backproject(frame.depth, frame.K)
    some = rng.choice(np.flatnonzero(mask), 40), rng.choice(len(cloud), 400)
    unseen, broken = cloud.copy(), cloud.copy()
    for rows in some:
        unseen[rows] = np.nan
        broken[rows, axis] = unknown
    wanted, found = (make().generate(given, mask, frame.T_base_camera) for given in (unseen, broken))
    np.testing.assert_array_equal(found.T_camera_gripper, wanted.T_camera_gripper)
    np.testing.assert_array_equal(found.scores, wanted.scores)


@pytest.mark.parametrize(
    ("cloud", "mask", "pose", "said"),
    [
        ((10, 2), 10, (4, 4), r"\(H\*W, 3\)"),
        ((10, 3), 9, (4, 4), r"one value per point"),
        ((10, 3), 10, (3, 4), r"\(4, 4\)"),
    ],
)
def test_wrong_shapes_are_refused(cloud: tuple[int, ...], mask: int, pose: tuple[int, ...], said: str) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, said):
        AnalyticGraspGenerator().generate(np.ones(cloud, dtype=np.float32), np.ones(mask, dtype=bool), np.ones(pose))


@pytest.mark.parametrize("seed", range(3))
def test_noise_of_the_table_takes_no_room_from_the_hand(seed: int) -> None:
    def proposed(sensor: str) -> FloatArray:
        frame = make_image((0.5, 0.1, box(0)), sensor=sensor, seed=seed)
        assert frame.ids is not None
        cloud = geometry.backproject(frame.depth, frame.K)
        return AnalyticGraspGenerator().propose(cloud, (frame.ids == 0).ravel(), frame.T_base_camera).features

    quiet, noisy = (proposed(sensor) for sensor in ("clean", "realsense_d435"))
    assert len(noisy) > 0.75 * len(quiet)
    assert noisy[:, FEATURES.index("crowded")].mean() < 0.01


def test_what_stands_beside_an_object_takes_room_and_points_between_two_surfaces_do_not() -> None:
    frame = make_image((0.5, 0.0, box(0)), (0.57, 0.0, box(0)))
    assert frame.ids is not None
    mask = (frame.ids == 0).ravel()

    def number(depth: NDArray[np.float32]) -> int:
        cloud = geometry.backproject(depth, frame.K)
        return len(AnalyticGraspGenerator().propose(cloud, mask, frame.T_base_camera).width)

    alone = np.where(frame.ids == 1, np.float32(np.nan), frame.depth)
    flying = alone.copy()
    flying.ravel()[np.flatnonzero(~mask & np.isfinite(flying.ravel()))[::7]] -= np.float32(0.05)
    assert number(frame.depth) < 0.6 * number(alone)
    assert number(flying) == number(alone)


def test_what_lies_on_an_object_or_between_the_fingers_is_known() -> None:
    def known(*objects: SegmentedObject) -> tuple[float, float]:
        frame = make_image((0.5, 0.0, box(0)), *objects)
        assert frame.ids is not None
        cloud = geometry.backproject(frame.depth, frame.K)
        found = AnalyticGraspGenerator().propose(cloud, (frame.ids == 0).ravel(), frame.T_base_camera).features
        return found[:, FEATURES.index("beneath")][0], found[:, FEATURES.index("between")].max()

    assert known() == (0.0, 0.0)
    upon, _ = known((0.5, 0.02, '<geom type="box" size=".012 .012 .02" pos="0 0 .09"/>'))
    assert upon > 0.1
    _, beside = known((0.5, 0.04, '<geom type="box" size=".01 .01 .03" pos="0 0 .03"/>'))
    assert beside > 0.1


def test_points_on_the_very_edge_of_the_checked_region_are_handled() -> None:
    rng = np.random.default_rng(0)
    edge = np.nextafter(np.float32(0.32), np.float32(0.0))
    high = geometry.pose(np.diag([1.0, -1.0, -1.0]), [0.5, 0.0, 1.0])[None]
    for middle in rng.uniform(0.2, 0.8, (200, 2)).astype(np.float32):
        shape = np.array([[*middle, 0.01]], dtype=np.float32)
        points = np.array([[*(middle + edge), 0.1], [*(middle - edge), 0.1]], dtype=np.float32)
        points = np.repeat(points, LEAST_POINTS, axis=0)  # fewer in a cell would be noise
        scene = SceneHeights(points, np.zeros(len(points), dtype=bool), shape, GEN3.gripper)
        clear, roomy = scene.clear(high, np.array([False]))
        assert clear.all()
        assert roomy[0] == 1.0
