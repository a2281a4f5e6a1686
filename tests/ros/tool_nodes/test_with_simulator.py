"""The tools over sim_node in lockstep against the station in process: the same scene, the same steps, equal results."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from simulation_interfaces.srv import LoadWorld, StepSimulation

from tests.ros.tool_nodes.comparing import Both
from toolhand.bench.grasp.calls import middle_of, true_ids
from toolhand.sim.perception import SimPerception
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene, named_scene, parse_scene, scene_yaml
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.catalogue import load_catalogue
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.calling import Deadlines, call
from toolhand.tool_nodes.ros.remote import RemoteCamera, remote_toolbox
from toolhand.tool_nodes.ros.remote_perception import RemotePointer
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox

MOTION = "toolhand.tool_nodes.nodes.motion_node"
MOVING = ["--ros-args", "-p", "use_sim_time:=true", "-p", "lockstep:=true", "-p", "availability_deadline_s:=30"]
NODES = str(Path(__file__).with_name("nodes_process.py"))
LONG_S = 60.0
NAMESPACES = {"sim": "/", "pixels": "/pixels"}
"""Of the tool nodes with each perception."""

DEADLINES = Deadlines(availability_s=LONG_S, response_s=LONG_S)
CLOUD = {"point_cloud": "$point_cloud", "mask": "$segmentation_mask", "focal_length_px": "$focal_length_px"}


@pytest.fixture(scope="module")
def node(start: Any, make_node: Any) -> Node:
    """Of the caller; simulator and tool nodes run."""
    start("toolhand.sim.sim_node", "--ros-args", "-p", "lockstep:=true", "-p", "scene:=example")
    for backend, namespace in NAMESPACES.items():
        common = ["-p", "use_sim_time:=true", "-p", f"perception:={backend}", "-p", "availability_deadline_s:=5"]
        start(NODES, "--ros-args", *common, "-r", f"__ns:={namespace}").expect("ready")
    node: Node = make_node("caller")
    return node


@pytest.fixture(scope="module")
def serve(node: Node) -> Callable[..., Any]:
    """Calls a service of the simulator, which must succeed."""
    clients: dict[type, Any] = {}

    def ask(kind: Any, name: str, **fields: Any) -> Any:
        if kind not in clients:
            clients[kind] = node.create_client(kind, name)
        response = call(clients[kind], kind.Request(**fields), LONG_S, LONG_S)
        assert response.result.result == response.result.RESULT_OK, response.result.error_message
        return response

    return ask


@pytest.fixture(scope="module")
def remotes(make_node: Any) -> dict[str, Toolbox]:
    return {
        backend: remote_toolbox(make_node(f"agent_{backend}", namespace=namespace), DEADLINES)
        for backend, namespace in NAMESPACES.items()
    }


def look_at_everything(both: Both, name: str) -> None:
    both("robot.capture_image")
    both("robot.get_depth_with_pointcloud")
    (point,) = both("roborefer.detect_one", obj_name=name, image_index=0).variables.values()
    both("vlm.detect_one", obj_name=f"free table left of the {name}", image_index=0)
    both("sam2.segment_from_points", points=[list(point)], image_index=0)
    both("bounding_box.compute_bbox", **CLOUD)
    both("grasp_generator.compute_grasp", **CLOUD, image_index=0)
    both("grasp_generator.compute_grasp", **CLOUD, image_index=0)
    both("depth_estimator.estimate_depth_with_pointcloud", image_index=0)
    both("grasp_generator.compute_grasp", **CLOUD, image_index=0)


@pytest.mark.parametrize("backend", ["sim", "pixels"])
def test_every_tool_gives_the_same_as_in_process_now_and_later(
    serve: Callable[..., Any], remotes: dict[str, Toolbox], backend: Any
) -> None:
    scene = load_scene(EXAMPLE_SCENE)
    serve(LoadWorld, "/load_world", resource_string=scene_yaml(scene))
    station = Station(scene, StationConfig(perception=backend))
    look_at_everything(Both(station.toolbox, remotes[backend]), "rice box")
    serve(StepSimulation, "/step_simulation", steps=25)
    station.world.step(25)
    look_at_everything(Both(station.toolbox, remotes[backend]), "coconut water")


def test_a_pick_and_place_ends_as_in_process(start: Any, serve: Callable[..., Any], make_node: Any) -> None:
    motion = start(MOTION, *MOVING)
    scene = load_scene(EXAMPLE_SCENE)
    serve(LoadWorld, "/load_world", resource_string=scene_yaml(scene))
    both = Both(Station(scene).toolbox, remote_toolbox(make_node("mover"), DEADLINES))
    both("robot.capture_image")
    both("robot.get_depth_with_pointcloud")
    (point,) = both("roborefer.detect_one", obj_name="cinnamon", image_index=0).variables.values()
    both("sam2.segment_from_point", x=point[0], y=point[1], image_index=0)
    both("grasp_generator.compute_grasp", **CLOUD, image_index=0)
    both("robot.execute_grasp", grasp_pose="$grasp_pose")
    found = both("roborefer.detect_one", obj_name="free table in front of the rice box", image_index="$captured_image")
    (place,) = found.variables.values()
    # Contact amplifies last digits: the object stands less than a millimetre beside where it stands in process.
    both.told_alike("robot.place_object_at_2d_location", placement_point_2d=list(place))
    motion.end()


def test_a_pick_in_one_call_takes_the_grasp_that_it_takes_in_process(
    start: Any, serve: Callable[..., Any], make_node: Any
) -> None:
    motion = start(MOTION, *MOVING)
    scene, suites = load_scene(EXAMPLE_SCENE), ("native",)
    serve(LoadWorld, "/load_world", resource_string=scene_yaml(scene))
    box = remote_toolbox(make_node("picker"), DEADLINES, suites=suites)
    results = []
    for toolbox in (Station(scene, StationConfig(suites=suites)).toolbox, box):
        session = Session()
        looked = toolbox.call("robot.look", {}, session).result
        picked = toolbox.call("robot.pick", {"mark": 5, "name": "can"}, session).result
        results.append((looked, picked, toolbox.call("robot.place", {"point": [0.48, 0.62]}, session).result))
    (here, ours, put_here), (there, theirs, put_there) = results
    assert there.text == here.text
    assert theirs.ok, theirs.text
    assert put_there.ok, put_there.text
    assert theirs.facts["grasped"]["called"] == "can"
    assert theirs.facts["grasped"]["opening_m"] == pytest.approx(ours.facts["grasped"]["opening_m"], abs=1e-3)
    assert put_there.facts["placed"]["wanted_m"] == pytest.approx(put_here.facts["placed"]["wanted_m"], abs=1e-3)
    assert theirs.image is not None
    assert ours.image is not None
    assert theirs.image.shape == ours.image.shape
    motion.end()


def test_a_closer_look_shows_the_same_as_in_process(start: Any, serve: Callable[..., Any], make_node: Any) -> None:
    motion = start(MOTION, *MOVING)
    scene, suites = load_scene(EXAMPLE_SCENE), ("spacetools", "wrist")
    serve(LoadWorld, "/load_world", resource_string=scene_yaml(scene))
    box = remote_toolbox(make_node("closer"), DEADLINES, suites=suites)
    local, remote = Session(), Session()
    records = []
    for toolbox, session in ((Station(scene, StationConfig(suites=suites)).toolbox, local), (box, remote)):
        toolbox.call("robot.capture_image", {}, session)
        records.append(toolbox.call("robot.look_closer", {"point": [0.48, 0.62], "image_index": 0}, session))
    here, there = (record.result for record in records)
    assert here.ok, here.text
    assert there.ok, there.text
    assert there.text.startswith("Captured 640x480 image with depth from the wrist camera; the arm is parked again.")
    ours, theirs = (session.images[-1].frame for session in (local, remote))
    assert ours is not None
    assert theirs is not None
    assert theirs.camera == "wrist"
    np.testing.assert_allclose(theirs.T_base_camera, ours.T_base_camera, atol=2e-3)
    seen = np.isfinite(ours.depth) & np.isfinite(theirs.depth)
    assert seen.mean() > 0.8
    assert float(np.median(np.abs(ours.depth[seen] - theirs.depth[seen]))) < 2e-3
    motion.end()


def test_the_skills_of_the_hand_say_the_same_as_in_process(
    start: Any, serve: Callable[..., Any], make_node: Any
) -> None:
    motion = start(MOTION, *MOVING)
    scene, suites = load_scene(EXAMPLE_SCENE), ("spacetools", "skills")
    serve(LoadWorld, "/load_world", resource_string=scene_yaml(scene))
    box = remote_toolbox(make_node("skilled"), DEADLINES, suites=suites)
    local, remote = Session(), Session()
    calls: list[tuple[str, dict[str, object]]] = [
        ("robot.capture_image", {}),
        ("robot.close_gripper", {}),
        ("robot.point_at", {"point": [0.48, 0.62], "image_index": 0, "speed": 0.8}),
        ("robot.lift", {"distance_m": 0.04}),
        ("robot.return_to_park", {}),
        ("robot.hand_over", {}),
        ("robot.lift", {"distance_m": 0.115, "speed": 1.0}),
    ]
    station = Station(scene, StationConfig(suites=suites))
    for name, arguments in calls:
        here, there = (
            toolbox.call(name, arguments, session).result
            for toolbox, session in ((station.toolbox, local), (box, remote))
        )
        assert there.text == here.text, name
        assert there.ok == here.ok
        ours, theirs = (session.seen.robot for session in (local, remote))  # type: ignore[union-attr]
        assert float(np.mean(ours != theirs)) < 0.005, "the robot is known by /tf as by the joints"
        assert bool(ours.any()) == (name == "robot.point_at" or arguments == {"distance_m": 0.04})
        if "skill" in here.facts:
            assert there.facts["skill"]["opening_m"] == pytest.approx(here.facts["skill"]["opening_m"], abs=1e-3)
            took = there.value["execution_time_s"]
            assert took == pytest.approx(here.value["execution_time_s"], abs=0.3)
    motion.end()


HIGH = load_catalogue()["tea box"].size_m[2]
STACKED = f"""
objects:
  - {{name: tea box, position: [0.48, -0.05]}}
  - {{name: toy block, position: [0.48, -0.05, {HIGH + load_catalogue()["toy block"].size_m[2] / 2}]}}
"""


def test_the_upper_object_is_told_and_put_aside_as_in_process(
    start: Any, serve: Callable[..., Any], make_node: Any
) -> None:
    motion = start(MOTION, *MOVING)
    scene, suites = parse_scene(STACKED, "stacked"), ("spacetools", "clearing")
    serve(LoadWorld, "/load_world", resource_string=scene_yaml(scene))
    station = Station(scene, StationConfig(suites=suites))
    point = middle_of(true_ids(station, station.camera.capture()), 0)
    assert point is not None
    found = []
    for toolbox in (station.toolbox, remote_toolbox(make_node("clearing"), DEADLINES, suites=suites)):
        session = Session()

        def told(name: str, toolbox: Toolbox = toolbox, session: Session = session, **arguments: Any) -> Any:
            result = toolbox.call(name, arguments, session).result
            assert result.ok, result.text
            return result.facts

        told("robot.capture_image")
        [above] = told("robot.what_is_in_the_way", point=list(point))["in_the_way"]["above"]
        put = told("robot.put_aside", point=above)
        assert put["aside"] is True
        assert told("robot.what_is_in_the_way", point=list(point))["in_the_way"]["above"] == []
        found.append((above, put["placed"]["wanted"]))
    (above, stands), (above_there, stands_there) = found
    np.testing.assert_allclose(above_there, above, atol=0.01)
    np.testing.assert_allclose(stands_there, stands, atol=0.02)
    motion.end()


def test_another_world_with_the_same_stamps_is_not_taken_for_the_old_one(
    serve: Callable[..., Any], make_node: Any
) -> None:
    box = remote_toolbox(make_node("changing"), DEADLINES)
    for name in ("3", "4", "3", "4"):
        scene = named_scene(name)
        serve(LoadWorld, "/load_world", resource_string=scene_yaml(scene))
        station = Station(scene)
        both = Both(station.toolbox, box)
        both("robot.capture_image")
        both("roborefer.detect_all", obj_name=load_catalogue()[scene.objects[0].item].name, image_index=0)


@pytest.fixture(scope="module")
def set_parameter(node: Node, wait_until: Any) -> Callable[[str, str, Any], None]:
    """Sets a parameter of another node."""
    clients: dict[str, AsyncParameterClient] = {}

    def change(remote: str, name: str, value: Any) -> None:
        if remote not in clients:
            clients[remote] = AsyncParameterClient(node, remote)
            assert clients[remote].wait_for_services(LONG_S)
        done = clients[remote].set_parameters([Parameter(name, value=value)])
        wait_until(done.done, f"{remote} has set {name}")
        assert done.result().results[0].successful, done.result().results[0].reason

    return change


def asked_again(ask: Callable[[], Any], attempts: int = 5) -> Any:
    """Its answer; as the refusal's hint says, a new image is taken where the ids of the last one did not come."""
    for _ in range(attempts - 1):
        try:
            return ask()
        except ToolError as error:
            if error.code is not ErrorCode.UNAVAILABLE:
                raise
    return ask()


def test_setting_the_seed_makes_a_fresh_perception(
    make_node: Any, serve: Callable[..., Any], set_parameter: Callable[..., None]
) -> None:
    scene = load_scene(EXAMPLE_SCENE)
    serve(LoadWorld, "/load_world", resource_string=scene_yaml(scene))
    node = make_node("seeding")
    camera, remote = RemoteCamera(node, DEADLINES), RemotePointer(node, DEADLINES)
    frame = Station(scene).camera.capture()

    def point() -> Any:
        camera.capture()  # has the ids of this image sent; on a busy machine they may come too late for one question
        return remote.point(SessionImage(frame.rgb, frame), "rice box")

    for seed in (7, 0):
        set_parameter("/pointing", "seed", seed)
        local = SimPerception(scene, seed=seed).points(frame, "rice box")
        answer = asked_again(point)
        np.testing.assert_allclose(answer.value, local, atol=6e-4)  # given with three digits
        assert answer.backend == "sim"


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        ("camera_black", ErrorCode.UNAVAILABLE, "is black"),
        ("camera_nan_depth", ErrorCode.NO_DEPTH, "has depth"),
        ("camera_wrong_encoding", ErrorCode.UNAVAILABLE, "yuv422"),
        ("camera_no_info", ErrorCode.UNAVAILABLE, "nothing came on /zed/zed_node/rgb/color/rect/camera_info"),
        ("camera_stale", ErrorCode.UNAVAILABLE, "s older than the request"),
    ],
)
def test_a_fault_of_the_camera_is_told_and_forgotten_when_it_ends(
    make_node: Any,
    serve: Callable[..., Any],
    set_parameter: Callable[..., None],
    wait_until: Any,
    fault: str,
    code: ErrorCode,
    words: str,
) -> None:
    camera = RemoteCamera(make_node(f"looks_at_{fault}"), DEADLINES)
    camera.capture()
    set_parameter("/sim", "fault", fault)
    serve(StepSimulation, "/step_simulation", steps=25)
    told: list[ToolError] = []

    def refused() -> bool:
        try:
            camera.capture()
        except ToolError as error:
            told.append(error)
        return bool(told)

    if fault == "camera_stale":
        # The camera's node learns the time by a topic: until that comes, the image of before is not stale to it.
        wait_until(refused, f"{fault} is told")
    else:
        assert refused()
    set_parameter("/sim", "fault", "")
    assert told[0].code is code
    assert words in told[0].message
    assert camera.capture().size == (640, 480)


def test_the_wrist_camera_gives_its_pose_and_millimetres(make_node: Any, serve: Callable[..., Any]) -> None:
    scene = load_scene(EXAMPLE_SCENE)
    serve(LoadWorld, "/load_world", resource_string=scene_yaml(scene))
    remote = RemoteCamera(make_node("wrist_looker"), DEADLINES, "wrist").capture()
    local = Station(scene).wrist_camera.capture()
    assert remote.camera == "wrist"
    assert np.array_equal(remote.rgb, local.rgb)
    np.testing.assert_allclose(remote.T_base_camera, local.T_base_camera, atol=1e-9)
    np.testing.assert_allclose(remote.depth, local.depth, atol=5.1e-4)  # sent in whole millimetres
