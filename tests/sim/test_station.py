"""The station: which backend stands behind each port, and what is refused."""

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.port_names import PortNames
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.toolbox import Session
from toolhand.tool_nodes.tools.suites import SUITES
from toolhand.training.env.episode import run_episode
from toolhand.training.env.goal_from_text import task_from_text


@pytest.fixture(scope="module")
def scene() -> Scene:
    return generate_scene(11)


def test_every_released_tool_is_offered(scene: Scene) -> None:
    assert set(Station(scene).toolbox.specs) >= {
        "bounding_box.compute_bbox",
        "depth_estimator.estimate_depth",
        "depth_estimator.estimate_depth_with_pointcloud",
        "grasp_generator.compute_grasp",
        "roborefer.detect_all",
        "roborefer.detect_one",
        "robot.capture_image",
        "robot.execute_grasp",
        "robot.get_depth",
        "robot.get_depth_with_pointcloud",
        "robot.place_object_at_2d_location",
        "robot.place_object_at_3d_location",
        "sam2.segment_from_point",
        "sam2.segment_from_points",
        "vision_ops.index_at",
        "vlm.detect_all",
        "vlm.detect_one",
    }


def test_exactly_the_tools_that_move_the_robot_are_motions(scene: Scene) -> None:
    specs = Station(scene).toolbox.specs
    assert {name for name, spec in specs.items() if spec.motion} == {
        "robot.execute_grasp",
        "robot.put_aside",
        "robot.place_object_at_2d_location",
        "robot.place_object_at_3d_location",
        "robot.return_to_park",
    }


def test_pixel_perception_gets_images_without_the_simulators_ids(scene: Scene) -> None:
    sim, pixels = Station(scene), Station(scene, StationConfig(perception="pixels"))
    assert (sim.ports.pointer.backend, pixels.ports.pointer.backend) == ("sim", "pixels")
    assert sim.camera.capture().ids is not None
    first = pixels.camera.capture()
    assert first.ids is None
    assert pixels.camera.capture() is first


def test_the_same_seed_gives_the_same_image_and_depth(scene: Scene) -> None:
    first, second = (Station(scene, StationConfig(seed=5)).camera.capture() for _ in range(2))
    assert first.rgb.tobytes() == second.rgb.tobytes()
    assert first.depth.tobytes() == second.depth.tobytes()


def test_the_calibration_follows_the_jitter_of_the_scene(scene: Scene) -> None:
    other = generate_scene(12)
    here, there = Station(scene).scene_camera(), Station(other).scene_camera()
    moved = here.T_base_camera[:3, 3] - there.T_base_camera[:3, 3]
    assert moved == pytest.approx(np.subtract(scene.camera_jitter_m, other.camera_jitter_m))
    assert here.T_base_camera[:3, :3] @ here.T_base_camera[:3, :3].T == pytest.approx(np.eye(3))
    assert Station(scene).camera.capture().T_base_camera == pytest.approx(here.T_base_camera)


def test_time_stands_still_while_the_tools_only_look(scene: Scene) -> None:
    station, session = Station(scene), Session()
    start, qpos = station.world.time, station.world.data.qpos.copy()
    calls: list[tuple[str, dict[str, Any]]] = [
        ("robot.capture_image", {}),
        ("robot.get_depth", {}),
        ("robot.get_depth_with_pointcloud", {}),
        ("roborefer.detect_all", {"obj_name": scene.objects[0].item, "image_index": 0}),
        ("depth_estimator.estimate_depth_with_pointcloud", {"image_index": 0}),
    ]
    for name, arguments in calls:
        assert station.toolbox.call(name, arguments, session).result.ok, name
    assert station.world.time == start
    assert np.array_equal(station.world.data.qpos, qpos)


def test_the_planner_can_be_wrapped(scene: Scene) -> None:
    seen: list[object] = []

    def wrap(planner: Any) -> Any:
        seen.append(planner)
        return planner

    station = Station(scene, wrap_planner=wrap)
    assert seen == [station.planner]


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"perception": "magic"}, "There is no perception 'magic': it must be pixels or served or sim."),
        ({"renderer": "pinhole"}, "There is no renderer 'pinhole'"),
        ({"ports": PortNames(sensor="eye")}, "There is no sensor 'eye': it must be azure_kinect or clean or hard"),
        (
            {"ports": PortNames(planner="stars")},
            "There is no planner 'stars': it must be curobo or embedded or moveit or moveit_py.",
        ),
        ({"seed": -1}, "The seed must be 0 or greater, got -1."),
    ],
)
def test_a_backend_that_does_not_exist_is_refused_with_those_that_do(
    scene: Scene, config: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ToolError) as caught:
        Station(scene, StationConfig(**config))
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert sentence in caught.value.message


def test_an_observers_station_has_no_tool_that_moves_the_robot(scene: Scene) -> None:
    toolbox = Station(scene, StationConfig(suites=SUITES, role="observer")).toolbox
    assert not [name for name, spec in toolbox.specs.items() if spec.motion]
    assert "robot.capture_image" in toolbox.specs
    assert toolbox.call("robot.execute_grasp", {"grasp_pose": np.eye(4).tolist()}, Session()).result.error is not None


@pytest.mark.parametrize("perception", ["sim", "pixels"])
def test_a_station_is_gone_with_the_last_that_holds_it(perception: str) -> None:
    """Its world and images are tens of MB that Python's garbage collector does not count."""
    gc.collect()
    gc.disable()
    try:
        station = Station(load_scene(EXAMPLE_SCENE), StationConfig(perception=perception))
        outcome = run_episode(station, ScriptedPolicy(), task_from_text("pick up the far coconut water", station))
        assert outcome.episode.success
        parts = [
            weakref.ref(part) for part in (station, station.world, station.ports.pointer, station.camera.capture())
        ]
        del station, outcome
        assert [part() for part in parts] == [None] * len(parts)
    finally:
        gc.enable()


def test_a_program_calls_tools_in_the_stations_own_session(scene: Scene) -> None:
    station = Station(scene)
    assert station.call("robot.capture_image").image is not None
    with pytest.raises(ToolError) as refused:
        station.call("roborefer.detect_one", obj_name="unicorn", image_index=0)
    assert refused.value.code == "OBJECT_NOT_FOUND"
    assert len(station.session.images) == 1, "what was collected before is still there"
    station.reset(seed=0)
    assert not station.session.images
