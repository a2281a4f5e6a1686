"""The robot in its own images: no obstacle, no object, and nothing that hides silently."""

from typing import Any

import mujoco
import numpy as np
import pytest
from scipy import ndimage

from tests.gen3 import NAMED_STATES, pad_depth
from toolhand.sim.scene.files import parse_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.geometry import pose
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.motion.self_filter import RobotPose, shape_of, without_robot
from toolhand.tool_nodes.perception.obstacles import fit_obstacles
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.toolbox import Session
from toolhand.tool_nodes.types import (
    CollisionScene,
    Frame,
    JointGoal,
    MotionOutcome,
    MotionStatus,
    PoseGoal,
    Trajectory,
)

SCENE = parse_scene(
    "objects:\n  - {name: toy block, position: [0.45, -0.25]}\n  - {name: milk, position: [0.5, 0.2]}\n"
)
DOWN = np.diag([1.0, -1.0, -1.0])
PLACES = [(0.45, 0.05, 0.20), (0.50, -0.08, 0.17), (0.35, 0.25, 0.25)]
"""Where the hand stands in the image, and hides neither of the objects altogether [m]."""
ABOVE_MILK = (0.5, 0.2, 0.33)


def bring(station: Station, xyz: tuple[float, float, float], scene: CollisionScene | None = None) -> None:
    goal = PoseGoal(pose(DOWN, xyz)[None])
    way = station.planner.plan(station.arm.state().q, goal, scene or CollisionScene())
    assert station.arm.follow(way).status is MotionStatus.SUCCEEDED


@pytest.fixture(scope="module")
def stations() -> dict[str, Station]:
    return {name: Station(SCENE, StationConfig(perception=name)) for name in ("sim", "pixels")}


@pytest.fixture
def station(stations: dict[str, Station]) -> Station:
    stations["pixels"].reset(seed=0)
    return stations["pixels"]


def test_an_image_of_a_parked_arm_is_the_cameras_own(station: Station) -> None:
    assert station.camera.capture().depth is station._alive_cameras()[0].capture().depth
    assert not station.camera.capture().robot.any()


@pytest.mark.parametrize("xyz", PLACES)
def test_what_shows_the_arm_has_no_depth_and_all_else_stays(station: Station, xyz: tuple[float, float, float]) -> None:
    parked = station.camera.capture()
    bring(station, xyz)
    taken, frame = station._alive_cameras()[0].capture(), station.camera.capture()
    with np.errstate(invalid="ignore"):
        arm = np.abs(taken.depth - parked.depth) > 0.02
    assert arm.mean() > 0.02
    assert not (arm & ~frame.robot).any(), "each pixel that the arm has changed is the robot's"
    assert frame.robot.mean() < arm.mean() + 0.03, "but for a rim"
    assert np.isnan(frame.depth[frame.robot]).all()
    np.testing.assert_array_equal(frame.depth[~frame.robot], taken.depth[~frame.robot])
    assert frame.rgb is taken.rgb
    assert frame is station.camera.capture(), "the same picture is the same frame"
    boxes, before = fit_obstacles(frame), fit_obstacles(parked)
    assert [box.T_parent_box[:2, 3] for box in boxes] == [
        pytest.approx(b.T_parent_box[:2, 3], abs=0.02) for b in before
    ]


@pytest.mark.parametrize("perception", ["sim", "pixels"])
def test_objects_beside_and_below_the_arm_are_found_and_segmented_by_every_backend(
    stations: dict[str, Station], perception: str
) -> None:
    station = stations[perception]
    station.reset(seed=0)
    bring(station, ABOVE_MILK)
    session = Session()
    station.toolbox.call("robot.capture_image", {}, session)
    for name in ("milk", "toy block"):
        found = station.toolbox.call("roborefer.detect_one", {"obj_name": name, "image_index": 0}, session)
        assert found.result.ok, found.result.text
        ((x, y),) = found.result.facts["points"]
        cut = station.toolbox.call("sam2.segment_from_point", {"x": x, "y": y, "image_index": 0}, session)
        assert cut.result.ok, cut.result.text
        arm = ndimage.binary_erosion(session.seen.robot, iterations=10)  # type: ignore[union-attr]
        mask = session.variables["segmentation_mask"]
        assert np.count_nonzero(mask & arm) < 0.02 * np.count_nonzero(mask), "but for what is seen between the fingers"


def test_what_stands_before_the_arm_stays() -> None:
    robot = load_robot()
    shape, at = shape_of(robot), RobotPose(robot.park, 0.0)
    camera = Station(SCENE).camera.capture()
    eye = pose(np.array([[0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]), (1.5, 0.0, 0.4))  # looks at the robot
    far, near = (Frame(camera.rgb, np.full((480, 640), depth, np.float32), camera.K, eye, 0.0) for depth in (3.0, 0.3))
    behind, before = shape.seen(far, at), shape.seen(near, at)
    assert behind is not None
    assert before is not None
    assert behind.mean() > 0.02
    assert not before.any()
    assert without_robot(near, before) is near


def test_what_is_held_is_the_robots_too(station: Station) -> None:
    T = pose(DOWN, (0.5, 0.2, 0.14 + pad_depth(0.07)))
    station.manipulator.grasp(T, station.camera.capture())
    carried = CollisionScene(attached=(station.manipulator.held.box,))  # type: ignore[union-attr]
    bring(station, (0.45, -0.05, 0.32), carried)
    frame, taken = station.camera.capture(), station._alive_cameras()[0].capture()
    state = station.arm.state()
    alone = without_robot(taken, shape_of(station.robot).seen(taken, RobotPose(state.q, state.opening_m)))
    near = [float(np.hypot(*(box.T_parent_box[:2, 3] - (0.45, -0.05)))) for box in fit_obstacles(frame)]
    assert min(near) > 0.15, "nothing stands where the hand holds the milk"
    shown = [float(np.hypot(*(box.T_parent_box[:2, 3] - (0.45, -0.05)))) for box in fit_obstacles(alone)]
    assert min(shown) < 0.1, "which the hand alone does not cover"


@pytest.mark.parametrize("opening", [0.085, 0.0])
def test_an_image_from_the_wrist_has_no_depth_of_the_fingers(station: Station, opening: float) -> None:
    station.arm.move_gripper(opening)
    taken, frame = station._alive_cameras()[1].capture(), station.wrist_camera.capture()
    assert 0.01 < frame.robot.mean() < 0.15
    assert float(np.nanmin(taken.depth)) < 0.25 < float(np.nanmin(frame.depth))


@pytest.mark.parametrize("name", ["gen3", "jaco2_j2s7s300"])
def test_the_angle_of_a_joint_is_that_of_its_links(name: str) -> None:
    robot = load_robot(name)
    shape, rng = shape_of(robot), np.random.default_rng(0)
    model, data = shape._model, mujoco.MjData(shape._model)
    for _ in range(5):
        q = rng.uniform(*robot.sampled_range)
        data.qpos[: robot.dof] = q
        mujoco.mj_kinematics(model, data)
        for joint, angle in zip(robot.arm_joints, q, strict=True):
            place = shape.joints[joint]
            parent, child = (data.body(link).xmat.reshape(3, 3) for link in (place.parent, place.child))
            off = place.angle(parent.T @ child) - angle
            assert abs((off + np.pi) % (2 * np.pi) - np.pi) < 1e-9


def test_where_nothing_is_found_the_error_says_how_much_of_the_image_the_arm_covers(station: Station) -> None:
    bring(station, (0.5, 0.2, 0.27), CollisionScene())
    session, tools = Session(), station.toolbox
    tools.call("robot.capture_image", {}, session)
    v, u = np.argwhere(session.seen.robot).mean(axis=0)  # type: ignore[union-attr]
    on_arm = {"x": (u + 0.5) / 640, "y": (v + 0.5) / 480, "image_index": 0}
    calls: list[tuple[str, dict[str, Any], ErrorCode]] = [
        ("sam2.segment_from_point", on_arm, ErrorCode.EMPTY_MASK),
        ("roborefer.detect_one", {"obj_name": "banana", "image_index": 0}, ErrorCode.NOT_RECOGNISED),
    ]
    for name, arguments, code in calls:
        error = tools.call(name, arguments, session).result.error
        assert error is not None
        assert error.code is code
        assert "The arm covers" in error.hint
        assert "robot.return_to_park" in error.hint
    assert tools.call("robot.return_to_park", {}, session).result.ok
    error = tools.call("roborefer.detect_one", {"obj_name": "banana", "image_index": 1}, session).result.error
    assert error is not None
    assert "The arm covers" not in error.hint


def test_a_grasp_by_an_image_that_shows_the_arm_parks_it_first_and_plans_by_what_it_hid(station: Station) -> None:
    bring(station, (0.45, -0.05, 0.25))
    frame = station.camera.capture()
    T = pose(DOWN, (0.45, -0.25, 0.025 + pad_depth(0.046)))
    with pytest.raises(ToolError, match="hides a part of the picture") as refused:
        station.manipulator.plan_grasp(T, frame)
    assert refused.value.code is ErrorCode.PLAN_FAILED
    station.manipulator.grasp(T, frame)
    assert station.manipulator.held is not None


def test_after_a_missed_motion_above_the_milk_the_answer_shows_the_table_and_the_next_motions_work(
    station: Station,
) -> None:
    session, tools = Session(), station.toolbox

    def call(name: str, **arguments: Any) -> Any:
        return tools.call(name, arguments, session)

    def grasp(index: int, item: str) -> Any:
        ((x, y),) = call("roborefer.detect_one", obj_name=item, image_index=index).result.facts["points"]
        call("robot.get_depth_with_pointcloud")
        assert call("sam2.segment_from_point", x=x, y=y, image_index=index).result.ok
        cloud = {"point_cloud": "$point_cloud", "mask": "$segmentation_mask", "focal_length_px": "$focal_length_px"}
        assert call("grasp_generator.compute_grasp", **cloud, image_index=index).result.ok
        return call("robot.execute_grasp", grasp_pose="$grasp_pose")

    follow, legs = station.arm.follow, list[Trajectory]()

    def meet(trajectory: Trajectory) -> MotionOutcome:
        legs.append(trajectory)
        outcome = follow(trajectory)
        missed = MotionOutcome(MotionStatus.FAILED, "the goal was missed by 0.057 rad", held_up=True)
        return missed if len(legs) == 2 else outcome

    station.arm.follow = meet  # type: ignore[method-assign]
    try:
        call("robot.capture_image")
        failed = grasp(0, "milk")
        assert failed.result.error.code is ErrorCode.EXECUTION_FAILED
        assert "backed out and is parked" in failed.result.text
        assert failed.image_index is not None, "the answer has a picture of now"
        assert not session.seen.robot.any()  # type: ignore[union-attr]
        assert np.abs(station.arm.state().q - NAMED_STATES["Park"]).max() < 0.01
        again = grasp(failed.image_index, "milk")
        assert again.result.ok, again.result.text
        legs.clear()  # the next placement misses its place
        point = call("roborefer.detect_one", obj_name="free table left of the toy block", image_index=again.image_index)
        ((x, y),) = point.result.facts["points"]
        missed = call("robot.place_object_at_2d_location", placement_point_2d=[x, y])
        assert missed.result.error.code is ErrorCode.EXECUTION_FAILED
        placed = call("robot.place_object_at_2d_location", placement_point_2d=[x, y])
        assert placed.result.ok, placed.result.text
    finally:
        del station.arm.follow


def test_a_way_from_where_a_missed_motion_has_left_the_arm_is_planned_by_its_own_image(station: Station) -> None:
    bring(station, (0.45, 0.0, 0.15))
    scene = CollisionScene(fit_obstacles(station.camera.capture()))
    for goal in (JointGoal(station.robot.park), PoseGoal(pose(DOWN, (0.40, -0.05, 0.2))[None])):
        assert station.planner.plan(station.arm.state().q, goal, scene).duration > 0.0
