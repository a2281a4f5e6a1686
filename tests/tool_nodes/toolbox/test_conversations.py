"""One toolbox, many conversations: what a tool remembers of one is nothing to another."""

import numpy as np
import pytest

from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session, Toolbox

CLOUD = {"point_cloud": "$point_cloud", "mask": "$segmentation_mask", "focal_length_px": "$focal_length_px"}


@pytest.fixture(scope="module")
def station() -> Station:
    return Station(load_scene(EXAMPLE_SCENE))


def ready(toolbox: Toolbox) -> Session:
    """A conversation that has looked, and outlined the red box."""
    session = Session()
    for name in ("robot.capture_image", "robot.get_depth_with_pointcloud"):
        toolbox.call(name, {}, session)
    found = toolbox.call("roborefer.detect_one", {"obj_name": "red box", "image_index": 0}, session).result
    ((x, y),) = found.variables.values()
    toolbox.call("sam2.segment_from_point", {"x": x, "y": y, "image_index": 0}, session)
    return session


def grasp(toolbox: Toolbox, session: Session) -> np.ndarray:
    record: CallRecord = toolbox.call("grasp_generator.compute_grasp", {**CLOUD, "image_index": 0}, session)
    assert record.result.ok, record.result.text
    pose: np.ndarray = record.result.variables["grasp_pose"]
    return pose


def test_grasps_are_counted_for_each_conversation(station: Station) -> None:
    one, other = ready(station.toolbox), ready(station.toolbox)
    first, again, second = (grasp(station.toolbox, session) for session in (one, other, one))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, second)
    assert np.array_equal(grasp(station.toolbox, other), second)


def test_a_conversation_places_by_what_it_has_seen_itself(station: Station) -> None:
    toolbox = station.toolbox
    one, other = Session(), Session()
    toolbox.call("robot.capture_image", {}, one)
    seen = one.seen
    assert seen is not None
    station.world.step()
    toolbox.call("robot.capture_image", {}, other)
    assert one.seen is seen
    assert other.seen is not None
    assert other.seen.stamp > seen.stamp
