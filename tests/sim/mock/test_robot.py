"""The mock robot: recorded images, motions that always succeed and say that they are simulated."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from toolhand.sim.mock.data import MockFrame, read_dataset
from toolhand.sim.mock.station import MockStation, StillCamera
from toolhand.sim.station import StationConfig
from toolhand.tool_nodes.geometry import backproject
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session, Toolbox
from toolhand.tool_nodes.tools.spacetools.mock_robot import MockRobot
from toolhand.tool_nodes.tools.spacetools.robot import RobotTools

POSE = np.array([[1, 0, 0, 0.0], [0, -1, 0, 0.1], [0, 0, -1, 0.9], [0, 0, 0, 1]]).tolist()
MOTIONS: list[tuple[str, dict[str, Any], str]] = [
    ("execute_grasp", {"grasp_pose": POSE}, "Grasp executed successfully"),
    (
        "place_object_at_2d_location",
        {"point_2d": [0.25, 0.7]},
        "Object placed successfully at image point (0.250, 0.700)",
    ),
    ("place_object_at_3d_location", {"point_3d": [0.1, 0, 1]}, "Object placed successfully at (0.100, 0.000, 1.000) m"),
]
NAMES = ("capture_image", "get_depth", "get_depth_with_pointcloud", *(name for name, _, _ in MOTIONS))


@cache
def recorded() -> MockFrame:
    return read_dataset().frame(3)


@cache
def robot() -> Toolbox:
    return Toolbox([MockRobot(StillCamera(recorded().frame))])


def call(name: str, toolbox: Toolbox | None = None, **arguments: Any) -> tuple[CallRecord, Session]:
    session = Session()
    return (toolbox or robot()).call(name, arguments, session), session


def test_it_has_the_six_tools_of_the_real_robot_under_both_names() -> None:
    assert set(robot().specs) == {f"robot.{name}" for name in NAMES}
    for name in NAMES:
        spec = robot().find(f"mock_robot.{name}")
        assert spec is robot().specs[f"robot.{name}"]
        assert spec.suite == "spacetools"
        assert not spec.motion


@pytest.mark.parametrize("name", NAMES)
def test_its_arguments_are_those_of_the_real_robot(name: str) -> None:
    real = Toolbox([RobotTools(StillCamera(recorded().frame), manipulator=None)]).specs[f"robot.{name}"]
    own = robot().specs[f"robot.{name}"]
    assert own.kinds == real.kinds
    assert own.renamed == real.renamed
    assert own.required == real.required
    assert own.argument_docs.keys() == real.argument_docs.keys()


@pytest.mark.parametrize(("name", "arguments", "text"), MOTIONS)
def test_a_valid_motion_succeeds_and_says_that_it_is_simulated(name: str, arguments: dict[str, Any], text: str) -> None:
    record, session = call(f"mock_robot.{name}", **arguments)
    assert record.result.text == f"{text} in 0.00 s (simulated: no robot moved). (backend: mock)"
    assert record.result.value == {"success": True, "execution_time_s": 0.0}
    assert record.result.image is None
    assert not session.variables


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("execute_grasp", {"grasp_pose": (2 * np.eye(4)).tolist()}, "must be a rigid 4x4 pose"),
        ("execute_grasp", {"grasp_pose": [[1, 2], [3, 4]]}, "must be a pose (4, 4)"),
        ("execute_grasp", {}, "argument 'grasp_pose' is missing"),
        ("place_object_at_2d_location", {"point_2d": [0.5, 1.5]}, "between 0 and 1"),
        ("place_object_at_3d_location", {"point_3d": [0, float("nan"), 1]}, "NaN or infinite"),
    ],
)
def test_a_motion_with_wrong_arguments_does_not_succeed(name: str, arguments: dict[str, Any], sentence: str) -> None:
    error = call(f"mock_robot.{name}", **arguments)[0].result.error
    assert error is not None
    assert error.code is ErrorCode.INVALID_ARGUMENT
    assert sentence in error.message


def test_images_and_depth_are_the_recorded_ones() -> None:
    record, session = call("mock_robot.capture_image")
    assert record.result.text.startswith("Captured 640x480 image from the robot camera.")
    assert record.result.text.endswith("(backend: mock)")
    assert np.array_equal(session.images[0].rgb, recorded().frame.rgb)
    assert session.images[0].frame is recorded().frame
    _, session = call("mock_robot.get_depth")
    assert np.array_equal(session.variables["depth_map"], recorded().frame.depth, equal_nan=True)
    assert session.variables["focal_length_px"] == 660.0


def test_the_cloud_is_the_recorded_one_or_the_back_projected_depth() -> None:
    _, session = call("mock_robot.get_depth_with_pointcloud")
    expected = backproject(recorded().frame.depth, recorded().frame.K)
    assert np.array_equal(session.variables["point_cloud"], expected, equal_nan=True)
    cloud = np.ones((640 * 480, 3), np.float32)
    with_cloud = Toolbox([MockRobot(StillCamera(recorded().frame), cloud)])
    assert call("robot.get_depth_with_pointcloud", with_cloud)[1].variables["point_cloud"] is cloud


@pytest.mark.parametrize("perception", ["sim", "pixels"])
def test_a_mock_station_answers_from_looking_to_placing(perception: Any) -> None:
    station, session = MockStation(recorded(), StationConfig(perception=perception)), Session()

    def do(name: str, **arguments: Any) -> str:
        result = station.toolbox.call(name, arguments, session).result
        assert result.ok, result.text
        return result.text

    do("robot.capture_image")
    do("robot.get_depth_with_pointcloud")
    found = do("roborefer.detect_one", obj_name="cracker box", image_index=0)
    assert found.endswith(f"(backend: {perception})")
    x, y = session.variables["cracker_box_detection"]
    frame = recorded().frame
    assert frame.labels is not None
    assert frame.ids is not None
    assert frame.labels[frame.ids[int(y * 480), int(x * 640)]] == "cracker box"
    do("sam2.segment_from_point", x=x, y=y, image_index=0)
    do(
        "grasp_generator.compute_grasp",
        point_cloud="$point_cloud",
        mask="$segmentation_mask",
        focal_length_px="$focal_length_px",
        image_index=0,
    )
    assert "no robot moved" in do("robot.execute_grasp", grasp_pose="$grasp_pose")
    assert "no robot moved" in do("robot.place_object_at_2d_location", placement_point_2d=[0.5, 0.5])


def test_pixels_get_no_truth_and_sim_needs_it() -> None:
    seen = MockStation(recorded(), StationConfig(perception="pixels")).camera.capture()
    assert seen.ids is None
    assert seen.labels is None
    bare = replace(recorded(), frame=replace(recorded().frame, ids=None, labels=None))
    with pytest.raises(ToolError, match="recorded without") as error:
        MockStation(bare)
    assert "'pixels'" in error.value.hint
    with pytest.raises(ToolError, match="There is no perception 'eyes': it must be pixels or served or sim"):
        MockStation(bare, StationConfig(perception="eyes"))


def test_an_observer_has_no_tool_that_would_move_even_a_robot_that_is_none() -> None:
    observer = MockStation(recorded(), StationConfig(role="observer")).toolbox.specs
    operator = MockStation(recorded(), StationConfig()).toolbox.specs
    only_his = {f"robot.{name}" for name, _, _ in MOTIONS} | {"robot.return_to_park"}
    only_his |= {"robot.put_aside", "robot.what_is_in_the_way", "robot.find_place"}
    assert set(operator) - set(observer) == only_his
    assert "robot.capture_image" in observer
