"""Table and objects in the recording of a run: what the robot saw, what was true, and depth where it is asked for."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.highlevel import AnyReader

from rclpy_zenoh.interfaces import deserialize, get_class
from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.agent_node.runs.mcap.recorder import Recorder
from toolhand.agent_node.runs.mcap.ros_messages import MARKER_ARRAY
from toolhand.agent_node.runs.mcap.scene_markers import truth_markers
from toolhand.sim.objects.convex import ConvexAsset
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import PlacedObject
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import invert, transform
from toolhand.tool_nodes.types import Box
from toolhand.training.env.episode import run_episode
from toolhand.training.env.goal_from_text import task_from_text
from toolhand.training.env.recorded import motion_log, truth_log

SENTENCE = "pick up the red box"


@pytest.fixture(scope="module")
def station() -> Station:
    return Station(generate_scene(3), StationConfig(image_size=(320, 240)))


@pytest.fixture(scope="module")
def before(station: Station) -> dict[str, Any]:
    """Where objects stood at first."""
    return {name: state.position_m.copy() for name, state in station.world.snapshot().objects.items()}


@pytest.fixture(scope="module")
def messages(
    station: Station, before: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[Any]]:
    """Of a recorded pick, by topic, as rosbags reads them."""
    folder = tmp_path_factory.mktemp("run")
    recorder = Recorder(SENTENCE, lambda: station.world.time, depth=True)
    outcome = run_episode(station, ScriptedPolicy(), task_from_text(SENTENCE, station), listener=recorder.hear)
    assert outcome.episode.success
    recorder.write(folder, motion_log(station), {}, truth=truth_log(station))
    return by_topic(folder)


def by_topic(folder: Path) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    with AnyReader([folder]) as bag:
        for connection, _, raw in bag.messages():
            found.setdefault(connection.topic, []).append(bag.deserialize(raw, connection.msgtype))
    return found


def box_of(marker: Any) -> Box:
    from scipy.spatial.transform import Rotation

    at, turn = marker.pose.position, marker.pose.orientation
    T = np.eye(4)
    T[:3, :3] = Rotation.from_quat([turn.w, turn.x, turn.y, turn.z], scalar_first=True).as_matrix()
    T[:3, 3] = at.x, at.y, at.z
    return Box(T, np.array([marker.scale.x, marker.scale.y, marker.scale.z]) / 2)


def holds(box: Box, point: np.ndarray) -> bool:
    return bool((np.abs(transform(invert(box.T_parent_box), point[None])[0]) <= box.half_extents + 1e-6).all())


def test_every_object_lies_in_a_box_that_was_seen_and_the_table_under_it(
    messages: dict[str, list[Any]], before: dict[str, Any]
) -> None:
    first = messages["/toolhand/seen"][0].markers
    assert first[0].action == 3, "what an earlier picture showed is taken away"
    assert {marker.header.frame_id for marker in first} == {"base_link"}
    (table,) = (box_of(marker) for marker in first if marker.ns == "table")
    assert table.T_parent_box[2, 3] + table.half_extents[2] == pytest.approx(workspace.TABLE_Z)
    boxes = [box_of(marker) for marker in first if marker.ns == "objects"]
    around = [np.array([dx, dy, 0.0]) for dx in (-0.03, 0.0, 0.03) for dy in (-0.03, 0.0, 0.03)]
    for name, place in before.items():  # a hollow object has its walls in boxes, and its middle free
        assert any(holds(box, place + offset) for box in boxes for offset in around), name


def test_a_box_has_the_colour_of_its_pixels(messages: dict[str, list[Any]], before: dict[str, Any]) -> None:
    seen = [marker for marker in messages["/toolhand/seen"][0].markers if marker.ns == "objects"]
    (red,) = (marker for marker in seen if holds(box_of(marker), before["red_box_1"]))
    assert red.color.r > 1.5 * max(red.color.g, red.color.b)


def test_the_truth_is_all_there_at_first_and_later_what_has_moved(
    messages: dict[str, list[Any]], before: dict[str, Any], station: Station
) -> None:
    truth = messages["/sim/truth"]
    names = {marker.ns for marker in truth[0].markers}
    assert names == {"table", *before}
    assert len(truth[-1].markers) < len(truth[0].markers) / 2
    heights = [m.pose.position.z for message in truth for m in message.markers if m.ns == "red_box_1"]
    held = station.world.snapshot().objects["red_box_1"].position_m
    assert heights[0] == pytest.approx(before["red_box_1"][2], abs=0.002)
    assert heights[-1] == pytest.approx(held[2], abs=0.002)
    assert heights[-1] - heights[0] > 0.1


def test_what_was_lifted_is_in_no_box_of_the_image_after_the_lift(
    messages: dict[str, list[Any]], before: dict[str, Any]
) -> None:
    last = [box_of(marker) for marker in messages["/toolhand/seen"][-1].markers if marker.ns == "objects"]
    assert not any(holds(box, before["red_box_1"]) for box in last)
    assert any(holds(box, before["baseball_1"]) for box in last)


def test_depth_is_millimetres_with_zero_for_unknown(messages: dict[str, list[Any]], station: Station) -> None:
    depth = messages["/camera/scene/depth"][0]
    assert (depth.encoding, depth.width, depth.height, depth.step) == ("16UC1", 320, 240, 640)
    read = np.asarray(depth.data).view("<u2").reshape(240, 320)
    assert 300 < np.median(read[read > 0]) < 2000
    assert (read == 0).mean() < 0.5


def test_without_asking_there_is_no_depth_and_without_a_simulator_no_truth(station: Station, tmp_path: Path) -> None:
    recorder = Recorder("look", lambda: station.world.time)
    run_episode(
        station,
        ScriptedPolicy(),
        task_from_text("look", station),
        listener=recorder.hear,
        settings=ConversationSettings(turn_budget=2),
    )
    recorder.write(tmp_path, None, None)
    assert not {"/camera/scene/depth", "/sim/truth"} & set(by_topic(tmp_path))


def test_an_object_made_of_convex_solids_is_recorded_as_their_triangles() -> None:
    corners = np.array([[x, y, z] for x in (-0.03, 0.03) for y in (-0.02, 0.02) for z in (-0.01, 0.01)])
    block = ConvexAsset(
        name="block",
        kind="block",
        colour="red",
        size_m=(0.06, 0.04, 0.02),
        mass_kg=0.1,
        parts=(corners,),
        rgb=(1, 0, 0),
    )
    placed = PlacedObject("block_1", "red box", (0.5, 0.0, 0.01), 0.3)
    scene = replace(generate_scene(3), objects=(placed,))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PlacedObject, "asset", property(lambda self: block))
        log = truth_log(Station(scene, StationConfig(image_size=(320, 240))))
    (shape,) = (shape for shape in log.shapes if shape.name == "block_1")
    assert shape.kind == "triangles"
    assert shape.rgba == pytest.approx((1, 0, 0, 1))
    triangles = np.array(shape.corners).reshape(-1, 3, 3)
    assert sorted(np.ptp(triangles.reshape(-1, 3), axis=0)) == pytest.approx((0.02, 0.04, 0.06), abs=1e-6)
    volume = np.einsum("ij,ij->i", triangles[:, 0], np.cross(triangles[:, 1], triangles[:, 2])).sum() / 6
    assert volume == pytest.approx(0.06 * 0.04 * 0.02), "closed, and every triangle looks outwards"
    (_, message), *_ = truth_markers(log, "base_link")
    (marker,) = (m for m in deserialize(message, get_class(MARKER_ARRAY)).markers if m.ns == "block_1")
    assert (marker.type, len(marker.points)) == (11, 3 * len(triangles))
