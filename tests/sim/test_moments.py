"""Moments of a station: back to the beginning, or to any saved one, and everything goes on to the last bit."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from agent_node.policies.scripted.policy import ScriptedPolicy
from sim.scene.generator import generate_scene
from sim.scene.scenes import Scene
from sim.station import Station, StationConfig
from sim.tasks.place import PlaceTask
from sim.tasks.tasks import random_task
from sim.world import World
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.toolbox.toolbox import Session, Toolbox
from tool_nodes.types import Frame
from training.episode import run_episode

FAST = StationConfig(image_size=(320, 240), timestep=0.004, sleep=True)
TASK = random_task(seed=3)
assert isinstance(TASK, PlaceTask)


@pytest.fixture(scope="module")
def other() -> Scene:
    return generate_scene(5)


def pixels_of(frame: Frame) -> bytes:
    assert frame.ids is not None
    return b"".join(array.tobytes() for array in (frame.rgb, frame.depth, frame.ids, frame.T_base_camera))


def glance(station: Station) -> tuple[Any, ...]:
    """What a station shows and how its physics is, after some motion; cheap."""
    robot, world = station.robot, station.world
    first = pixels_of(station.camera.capture()), pixels_of(station.wrist_camera.capture())
    world.command_arm(robot.park + 0.1)
    world.step(60)
    touching = {name: state.touching for name, state in world.snapshot().objects.items()}
    return *first, pixels_of(station.camera.capture()), world.data.qpos.tobytes(), world.time, len(world.log), touching


def episode(station: Station, task: PlaceTask = TASK) -> tuple[Any, ...]:
    """Everything that a whole episode leaves behind."""
    outcome = run_episode(station, ScriptedPolicy(), task)
    assert outcome.truth is not None
    log = b"".join(np.float64(time).tobytes() + qpos.tobytes() for time, qpos in station.world.log)
    pictures = tuple(image.rgb.tobytes() for image in outcome.episode.session.images)
    texts = tuple(message.text for message in outcome.episode.messages)
    data = station.world.data
    return texts, pictures, log, data.qpos.tobytes(), data.qvel.tobytes(), outcome.truth


@pytest.mark.parametrize("config", [StationConfig(), replace(FAST, perception="pixels"), FAST])
def test_an_episode_after_a_reset_is_that_of_a_new_station_to_the_last_bit(config: StationConfig) -> None:
    used = Station(TASK.scene, config)
    run_episode(used, ScriptedPolicy(), TASK)
    used.arm.stop()
    used.reset(seed=4)
    assert used.config == replace(config, seed=4)
    again = episode(used)
    assert again == episode(Station(TASK.scene, replace(config, seed=4)))
    assert again[-1].success


def test_a_hundred_resets_give_what_new_stations_give() -> None:
    station = Station(TASK.scene, FAST)
    fresh = [glance(Station(TASK.scene, replace(FAST, seed=seed))) for seed in range(4)]
    assert len({first[0] for first in fresh}) == 4, "each seed has noise of its own"
    for number in range(100):
        station.reset(number % 4)
        assert glance(station) == fresh[number % 4], number


def test_a_reset_to_another_scene_shows_that_scene_and_nothing_of_the_one_before(other: Scene) -> None:
    station = Station(TASK.scene, FAST)
    glance(station)
    station.reset(7, other)
    assert station.scene is station.world.scene is other
    assert glance(station) == glance(Station(other, replace(FAST, seed=7)))
    station.reset(0, TASK.scene)
    assert episode(station) == episode(Station(TASK.scene, FAST))


def test_a_reset_brings_back_what_was_taken_from_the_table() -> None:
    station = Station(TASK.scene, FAST)
    fresh = glance(Station(TASK.scene, FAST))
    station.world.change_objects(replace(TASK.scene, objects=TASK.scene.objects[:2]))
    station.reset(0)
    assert glance(station) == fresh


@pytest.mark.parametrize("perception", ["sim", "pixels"])
def test_a_camera_sees_the_objects_that_stand_there_now(perception: str, other: Scene) -> None:
    config = replace(FAST, perception=perception)
    station = Station(TASK.scene, config)
    station.camera.capture()
    _, *kept = TASK.scene.objects
    station.world.change_objects(replace(TASK.scene, objects=tuple(reversed(kept))))
    new = Station(replace(TASK.scene, objects=tuple(reversed(kept))), config)
    new.world.set_time(station.world.time)
    seen, expected = station.camera.capture(), new.camera.capture()
    assert np.mean(np.abs(seen.rgb.astype(int) - expected.rgb)) < 0.5
    session, view = Session(), kept[-1]
    assert station.toolbox.call("robot.capture_image", {}, session).result.ok
    words = {"obj_name": view.item, "image_index": 0}
    found = station.toolbox.call("roborefer.detect_one", words, session).result
    assert found.ok, found.error
    if perception == "sim":
        assert seen.ids is not None
        assert seen.labels is not None
        (x, y), (width, height) = found.value[0], seen.size
        assert seen.labels[seen.ids[int(y * height), int(x * width)]] == view.item


# -- saved moments ---------------------------------------------------------------------------------


class _Paused(Exception):
    """The policy has come to where the moment is to be saved."""


def up_to_the_grasp(station: Station) -> Session:
    """Calls as the policy makes them, until something is held; the session that they leave."""
    session = Session()
    (target,) = TASK.target_ids
    item = next(placed.item for placed in TASK.scene.objects if placed.id == target)
    for name, arguments in (
        ("robot.capture_image", {}),
        ("robot.get_depth_with_pointcloud", {}),
        ("roborefer.detect_one", {"obj_name": item, "image_index": 0}),
    ):
        result = station.toolbox.call(name, arguments, session).result
        assert result.ok, result.error
    point = [list(result.value[0])]
    for name, arguments in (
        ("sam2.segment_from_points", {"points": point, "image_index": 0}),
        (
            "grasp_generator.compute_grasp",
            {
                "point_cloud": "$point_cloud",
                "mask": "$segmentation_mask",
                "focal_length_px": "$focal_length_px",
                "image_index": 0,
            },
        ),
        ("robot.execute_grasp", {"grasp_pose": "$grasp_pose"}),
    ):
        result = station.toolbox.call(name, arguments, session).result
        assert result.ok, (name, result.error)
    return session


def copied(session: Session) -> Session:
    return replace(
        session,
        variables=dict(session.variables),
        images=list(session.images),
        history=copy.copy(session.history),
        grasps_given=dict(session.grasps_given),
    )


def go_on(toolbox: Toolbox, station: Station, session: Session) -> tuple[Any, ...]:
    """Two more pictures and a placement, and everything that they leave behind."""
    replies = []
    for name, arguments in (
        ("robot.capture_image", {}),
        ("roborefer.detect_one", {"obj_name": "free space on the table", "image_index": len(session.images)}),
    ):
        record = toolbox.call(name, arguments, session)
        replies.append(record.result.text)
    assert record.result.ok, record.result.error
    place = {"x": record.result.value[0][0], "y": record.result.value[0][1]}
    arguments = {"point": [place["x"], place["y"]]}
    replies.append(toolbox.call("robot.place_object_at_2d_location", arguments, session).result.text)
    pictures = tuple(image.rgb.tobytes() for image in session.images)
    world = station.world
    return *replies, pictures, world.data.qpos.tobytes(), world.time, len(world.log), pixels_of(station.camera.capture())
