"""Moments of a station: back to the beginning, or to any saved one, and everything goes on to the last bit."""

import pickle
from ast import literal_eval
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.refusals import refused
from tests.stations import FAST
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tasks.place import PlaceTask
from toolhand.sim.tasks.tasks import random_task
from toolhand.sim.world import World
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.toolbox.toolbox import Session
from toolhand.tool_nodes.types import Frame
from toolhand.training.env.episode import run_episode

SEEN = replace(FAST, perception="pixels")
TASK = random_task(3, "pick_and_place")
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
    first = pixels_of(station.camera.capture())
    world.command_arm(robot.park + 0.1)
    world.step(60)
    touching = {name: state.touching for name, state in world.snapshot().objects.items()}
    return first, pixels_of(station.camera.capture()), world.data.qpos.tobytes(), world.time, len(world.log), touching


def episode(station: Station, task: PlaceTask = TASK) -> tuple[Any, ...]:
    """Everything that a whole episode leaves behind."""
    outcome = run_episode(station, ScriptedPolicy(), task)
    assert outcome.truth is not None
    log = b"".join(np.float64(time).tobytes() + qpos.tobytes() for time, qpos in station.world.log)
    images = tuple(image.rgb.tobytes() for image in outcome.episode.session.images)
    texts = tuple(message.text for message in outcome.episode.messages)
    data = station.world.data
    return texts, images, log, data.qpos.tobytes(), data.qvel.tobytes(), outcome.truth


@pytest.mark.parametrize("config", [StationConfig(image_size=(320, 240)), SEEN, FAST])
def test_an_episode_after_a_reset_is_that_of_a_new_station_to_the_last_bit(config: StationConfig) -> None:
    used = Station(TASK.scene, config)
    run_episode(used, ScriptedPolicy(), TASK)
    used.arm.stop()
    used.reset(seed=4)
    assert used.config == replace(config, seed=4)
    again = episode(used)
    assert again == episode(Station(TASK.scene, replace(config, seed=4)))
    assert again[-1].success


def test_many_resets_give_what_new_stations_give() -> None:
    station = Station(TASK.scene, FAST)
    fresh = [glance(Station(TASK.scene, replace(FAST, seed=seed))) for seed in range(4)]
    assert len({first[0] for first in fresh}) == 4, "each seed has noise of its own"
    for number in range(24):
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
    session = Session()
    assert station.toolbox.call("robot.capture_image", {}, session).result.ok
    words = {"obj_name": kept[0].item, "image_index": 0}
    found = station.toolbox.call("roborefer.detect_one", words, session).result
    assert found.ok, found.error
    if perception == "sim":
        (x, y), (width, height) = literal_eval(found.value), expected.size
        assert expected.ids is not None
        seen_item = new.scene.objects[expected.ids[int(y * height), int(x * width)]].item
        assert seen_item == kept[0].item


# -- saved moments ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def holding() -> Station:
    """A station in the middle of its episode: the object is in the hand, above the table."""
    station = Station(TASK.scene, FAST)
    toolbox, session = station.toolbox, Session()
    item = TASK.scene.find(TASK.target_ids[0]).item
    cloud = {"point_cloud": "$point_cloud", "focal_length_px": "$focal_length_px", "image_index": 0}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("robot.capture_image", {}),
        ("robot.get_depth_with_pointcloud", {}),
        ("roborefer.detect_all", {"obj_name": item, "image_index": 0}),
        ("sam2.segment_from_points", {"points": "$shampoo_detections", "image_index": 0}),
        ("grasp_generator.compute_grasp", {**cloud, "mask": "$segmentation_mask"}),
        ("robot.execute_grasp", {"grasp_pose": "$grasp_pose"}),
    ]
    for name, arguments in calls:
        result = toolbox.call(name, arguments, session).result
        assert result.ok, (name, result.error)
    return station


def put_down(station: Station) -> tuple[Any, ...]:
    """Everything that a placement leaves behind, with the images before and after."""
    frame = station.camera.capture()
    before, place = pixels_of(frame), np.linalg.inv(frame.T_base_camera) @ [0.55, 0.2, 0.0, 1.0]
    arguments = {"placement_point_3d": place[:3].tolist()}
    record = station.toolbox.call("robot.place_object_at_3d_location", arguments, Session())
    assert record.result.ok, record.result.error
    world = station.world
    touching = {name: state.touching for name, state in world.snapshot().objects.items()}
    log = b"".join(qpos.tobytes() for _, qpos in world.log)
    return before, record.result.text, world.data.qpos.tobytes(), log, pixels_of(station.camera.capture()), touching


@pytest.mark.parametrize("seed", [0, 9])
def test_a_saved_moment_with_an_object_in_the_hand_goes_on_the_same_in_any_station(holding: Station, seed: int) -> None:
    state = holding.save()
    sent = pickle.dumps(state)
    expected = put_down(holding)
    assert len(sent) < 250_000
    other = Station(TASK.scene, replace(FAST, seed=seed))
    glance(other)
    for moment in (state, pickle.loads(sent), state):
        other.restore(moment)
        assert put_down(other) == expected
    holding.restore(state)
    assert put_down(holding) == expected
    holding.restore(state)


def test_saving_changes_nothing() -> None:
    saved, alone = Station(TASK.scene, FAST), Station(TASK.scene, FAST)
    saved.save()
    assert glance(saved) == glance(alone)
    saved.save()
    assert episode(saved) == episode(alone)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"image_size": (640, 480)}, "another image_size: (640, 480), but this one has (320, 240)"),
        ({"timestep": 0.002}, "another timestep: 0.002"),
        ({"sleep": False}, "another sleep: False"),
        ({"robot": "jaco2_j2s7s300"}, "another robot: 'jaco2_j2s7s300', but this one has 'gen3'"),
    ],
)
def test_a_state_of_another_station_is_refused_in_one_sentence(change: dict[str, Any], sentence: str) -> None:
    station = Station(TASK.scene, FAST)
    before = glance(station)
    with refused(ErrorCode.INVALID_ARGUMENT) as caught:
        station.restore(replace(station.save(), config=replace(FAST, **change)))
    assert sentence in str(caught.value)
    station.reset(0)
    assert glance(station) == before


def test_a_state_of_another_scene_is_refused_and_nothing_has_changed(other: Scene) -> None:
    station, foreign = Station(TASK.scene, FAST), Station(other, FAST)
    qpos = station.world.data.qpos.copy()
    with refused(ErrorCode.INVALID_ARGUMENT, 'another scene: "scene 5", where this world has "task 3"'):
        station.restore(foreign.save())
    assert np.array_equal(station.world.data.qpos, qpos)


# -- sleep, time step, size ------------------------------------------------------------------------


def test_what_sleeps_still_touches_what_it_stands_on_for_whoever_asks() -> None:
    awake, asleep = World(TASK.scene), World(TASK.scene, sleep=True)
    for world in (awake, asleep):
        world.step(200)
    assert (asleep.data.tree_asleep >= 0).any(), "something sleeps, or this shows nothing"
    qpos = asleep.data.qpos.copy()
    for name, state in asleep.snapshot().objects.items():
        assert state.touching == awake.snapshot().objects[name].touching == {"table"}
    assert np.array_equal(asleep.data.qpos, qpos)
    assert [state.touching for state in asleep.hold(0.2)[-1].objects.values()] == [{"table"}] * len(TASK.scene.objects)


def test_looking_at_the_truth_of_a_sleeping_world_leaves_it_as_it_is() -> None:
    seen, unseen = (World(TASK.scene, sleep=True) for _ in range(2))
    for world in (seen, unseen):
        world.command_arm(world.robot.park + 0.2)
        for _ in range(5):
            world.step(30)
            if world is seen:
                world.snapshot()
    assert seen.data.qpos.tobytes() == unseen.data.qpos.tobytes()


def test_a_sleeping_object_that_is_lifted_falls() -> None:
    world = World(TASK.scene, sleep=True)
    world.step(200)
    name = TASK.scene.objects[0].id
    state = world.snapshot().objects[name]
    world.place_object(name, state.position_m + np.array([0.0, 0.0, 0.2]), state.quat_wxyz)
    world.step(500)
    assert world.snapshot().objects[name].position_m[2] < state.position_m[2] + 0.05


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"timestep": 0.01}, "The time step must be one of 0.001, 0.002, 0.004 s, got 0.01."),
        ({"timestep": 0.0}, "must be one of"),
        ({"image_size": (32, 24)}, "A picture's width and height must be 64 to 4096 px, got 32x24."),
        ({"image_size": (320.0, 240.0)}, "must be 64 to 4096 px, got 320.0x240.0"),
        ({"image_size": (320,)}, "must be 64 to 4096 px, got 320."),
    ],
)
def test_a_size_or_time_step_that_is_not_allowed_is_refused_with_those_that_are(
    config: dict[str, Any], sentence: str
) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT) as caught:
        Station(TASK.scene, StationConfig(**config))
    assert sentence in caught.value.message


def test_the_size_and_the_time_step_are_those_of_the_configuration() -> None:
    station = Station(TASK.scene, FAST)
    assert station.camera.capture().size == station.wrist_camera.capture().size == (320, 240)
    assert station.scene_camera().size == (320, 240)
    assert station.world.timestep == 0.004
    plain = Station(TASK.scene)
    assert (plain.world.timestep, plain.camera.capture().size) == (0.002, (640, 480))
