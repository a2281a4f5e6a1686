"""The suite of the camera at the wrist: a closer look, and a grasp from what it showed."""

import pickle

import numpy as np
import pytest

from tests.stations import BLOCK_AND_BOX
from tests.tool_nodes.tools.looking import Table
from toolhand.sim.mock.data import MockFrame
from toolhand.sim.mock.station import MockStation
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.geometry import transform
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session

SUITES = ("spacetools", "wrist")
BLOCK = np.array([0.45, 0.0, 0.02])


def look(table: Table) -> CallRecord:
    (point,) = table.do("roborefer.detect_one", obj_name="toy block", image_index=0).result.facts["points"]
    return table.do("robot.look_closer", point=list(point), image_index=0)


def grasp(table: Table, index: int, point: list[float]) -> CallRecord:
    table.do("sam2.segment_from_point", x=point[0], y=point[1], image_index=index)
    table.do(
        "grasp_generator.compute_grasp",
        point_cloud="$point_cloud",
        mask="$segmentation_mask",
        focal_length_px="$focal_length_px",
        image_index=index,
    )
    return table.do("robot.execute_grasp", grasp_pose="$grasp_pose")


@pytest.mark.parametrize("perception", ["sim", "pixels"])
def test_an_object_is_grasped_by_the_closer_image_and_the_first_camera_proves_it(perception: str) -> None:
    table = Table(Station(BLOCK_AND_BOX, StationConfig(perception=perception, suites=SUITES)))
    looked = look(table)
    assert looked.image_index is not None
    assert looked.view is not None
    assert looked.view.camera == "wrist"
    x, y = looked.result.value["point"]
    w, h = table.session.images[looked.image_index].size
    cloud = transform(looked.view.T_base_camera, looked.result.value["point_cloud"])
    at = cloud[int(y * h) * w + int(x * w)]
    assert float(np.linalg.norm(at - BLOCK)) < 0.05
    record = grasp(table, looked.image_index, [x, y])
    assert record.result.facts["grasped"]["seen"]
    assert table.session.images[-1].frame is not None
    assert table.session.images[-1].frame.camera == "scene"


def test_a_saved_moment_after_a_look_goes_on_as_it_would_have() -> None:
    config = StationConfig(perception="pixels", suites=SUITES)
    table = Table(Station(BLOCK_AND_BOX, config))
    looked = look(table)
    assert looked.image_index is not None
    state, session = pickle.loads(pickle.dumps((table.station.save(), table.session)))
    twin = Table(Station(BLOCK_AND_BOX, config))
    twin.station.restore(state)
    twin.session = session
    point = looked.result.value["point"]
    first, second = (grasp(each, looked.image_index, point).result for each in (table, twin))
    assert first.text == second.text
    assert first.facts == second.facts


def test_of_an_object_that_was_moved_since_only_the_jaws_prove_the_grasp() -> None:
    table = Table(Station(BLOCK_AND_BOX, StationConfig(suites=SUITES)))
    looked = look(table)
    assert looked.image_index is not None
    station = table.station
    placed = station.scene.objects[0]
    station.world.place_object(placed.id, np.array([0.45, 0.2, 0.03]), np.array([1.0, 0.0, 0.0, 0.0]))
    table.do("robot.capture_image")
    x, y = looked.result.value["point"]
    table.do("sam2.segment_from_point", x=x, y=y, image_index=looked.image_index)
    table.do(
        "grasp_generator.compute_grasp",
        point_cloud=looked.result.value["point_cloud"],
        mask="$segmentation_mask",
        focal_length_px="$focal_length_px",
        image_index=looked.image_index,
    )
    error = table.call("robot.execute_grasp", grasp_pose="$grasp_pose").result.error
    assert error is not None
    assert error.code is ErrorCode.GRIPPER_EMPTY


def test_an_observer_is_not_offered_it() -> None:
    assert (
        "robot.look_closer" not in Station(BLOCK_AND_BOX, StationConfig(suites=SUITES, role="observer")).toolbox.specs
    )
    assert "robot.look_closer" not in Station(BLOCK_AND_BOX).toolbox.specs


def test_a_recording_says_that_it_has_no_camera_that_could_move() -> None:
    frame = Station(load_scene(EXAMPLE_SCENE), StationConfig(perception="sim")).camera.capture()
    toolbox = MockStation(MockFrame(frame, None), StationConfig(suites=SUITES)).toolbox
    session = Session()
    toolbox.call("robot.capture_image", {}, session)
    result = toolbox.call("robot.look_closer", {"point": [0.5, 0.5], "image_index": 0}, session).result
    assert result.error is not None
    assert result.error.code is ErrorCode.UNAVAILABLE
    assert "no camera at a wrist" in result.error.message
