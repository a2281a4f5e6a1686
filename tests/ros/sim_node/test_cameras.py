"""The cameras' topics: rendered for listeners only, one image per stamp, the same as in process."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image
from simulation_interfaces.srv import LoadWorld, StepSimulation
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from tests.gen3 import GEN3
from tests.ros.sim_node.graph import Graph
from tests.ros.sim_node.test_state import LATCHED
from toolhand.sim.camera.ray import StampedCamera, jittered, make_camera, scene_camera, wrist_camera
from toolhand.sim.ros.perception import IDS_DEPTH, IDS_TOPICS
from toolhand.sim.scene.files import named_scene
from toolhand.sim.world import World
from toolhand.tool_nodes.camera_names import ZED as ZED_NAMES
from toolhand.tool_nodes.ros.messages import image_to_depth, image_to_rgb, info_to_intrinsics, nanoseconds
from toolhand.tool_nodes.types import Frame

ZED = "/zed/zed_node"
SIZE = (160, 120)


class Images:
    """What comes on the topics of one camera."""

    def __init__(self, graph: Graph, image: str, info: str, depth: str, ids: str) -> None:
        best = QoSProfile(depth=5)
        self.graph = graph
        self.info = graph.hear(CameraInfo, info, best)
        self.depth = graph.hear(Image, depth, best)
        self.ids = graph.hear(Image, ids, best)
        self.image = graph.hear(Image, image, best)

    def at(self, stamp: int) -> tuple[Image, CameraInfo, Image, Image]:
        """Image, calibration, depth and ids of one stamp."""

        def complete() -> Any:
            found = [
                next((m for m in messages if nanoseconds(m.header.stamp) == stamp), None)
                for messages in (self.image, self.info, self.depth, self.ids)
            ]
            return None if None in found else found

        return self.graph.wait(complete)


def scene_images(graph: Graph) -> Images:
    return Images(
        graph,
        f"{ZED}/rgb/color/rect/image",
        f"{ZED}/rgb/color/rect/camera_info",
        f"{ZED}/depth/depth_registered",
        "/sim/scene_camera/instance_ids",
    )


def wrist_images(graph: Graph) -> Images:
    return Images(
        graph,
        "/camera/color/image_raw",
        "/camera/depth_registered/camera_info",
        "/camera/depth_registered/image_rect",
        "/sim/wrist_camera/instance_ids",
    )


def test_ids_are_kept_for_a_reader_that_is_late(lockstep: Graph) -> None:
    depths = [
        found.qos_profile.depth for topic in IDS_TOPICS for found in lockstep.sim.get_publishers_info_by_topic(topic)
    ]
    assert depths == [IDS_DEPTH, IDS_DEPTH]


def now(graph: Graph) -> int:
    return round(graph.sim.physics.world.time * 1e9)


@pytest.fixture
def renders(monkeypatch: pytest.MonkeyPatch) -> list[Frame]:
    """Every image that is rendered."""
    made: list[Frame] = []
    capture = StampedCamera.capture

    def counted(self: StampedCamera) -> Frame:
        frame = capture(self)
        if not any(frame is known for known in made):
            made.append(frame)
        return frame

    monkeypatch.setattr(StampedCamera, "capture", counted)
    return made


def in_process(name: str, seed: int = 0) -> tuple[World, Any]:
    world = World(named_scene("example"))
    model = jittered(scene_camera(SIZE), world.scene) if name == "scene" else wrist_camera(GEN3, SIZE)
    lamp = np.asarray(world.scene.light_position_m)
    return world, make_camera("ray", world.model, world.data, model, world.body_index, seed=seed, lamp_position=lamp)


@pytest.mark.parametrize("name", ["scene", "wrist"])
def test_images_are_those_of_the_process_to_the_last_bit(start: Callable[..., Graph], name: str) -> None:
    graph = start(lockstep=True, seed=3)
    images = scene_images(graph) if name == "scene" else wrist_images(graph)
    world, camera = in_process(name, seed=3)
    for _ in range(2):
        frame = camera.capture()
        image, info, depth, ids = images.at(round(world.time * 1e9))
        assert np.array_equal(image_to_rgb(image), frame.rgb)
        assert np.array_equal(info_to_intrinsics(info, SIZE), frame.K)
        assert np.array_equal(np.frombuffer(ids.data, "<i4").reshape(SIZE[::-1]), frame.ids)
        assert ids.encoding == "32SC1"
        if name == "scene":
            assert depth.encoding == "32FC1"
            assert np.array_equal(image_to_depth(depth), frame.depth, equal_nan=True)
        else:
            assert depth.encoding == "16UC1"
            assert np.nanmax(np.abs(image_to_depth(depth) - frame.depth)) <= 0.00051
        assert {m.header.frame_id for m in (image, info, depth, ids)} == {image.header.frame_id}
        world.step(5)
        graph.call(StepSimulation, "/step_simulation", steps=5)


def test_an_old_zed_can_be_stood_for(start: Callable[..., Graph]) -> None:
    graph = start(lockstep=True, zed_names="old")
    old = ZED_NAMES["old"]
    images = Images(graph, old.topics.image, old.topics.camera_info, old.topics.depth, "/sim/scene_camera/instance_ids")
    frames = graph.hear(TFMessage, "/tf_static", LATCHED)
    assert {message.header.frame_id for message in images.at(now(graph))} == {old.optical_frame}
    graph.wait(lambda: frames)
    assert old.optical_frame in {transform.child_frame_id for transform in frames[0].transforms}


def test_ids_are_numbers_of_the_labels(lockstep: Graph) -> None:
    images, labels = scene_images(lockstep), lockstep.hear(String, "/sim/labels", LATCHED)
    ids = images.at(now(lockstep))[3]
    lockstep.wait(lambda: labels)
    objects = lockstep.sim.physics.world.scene.objects
    assert labels[0].data.count('"id"') == len(objects)
    assert set(np.frombuffer(ids.data, "<i4")) <= set(range(-1, len(objects)))
    assert labels[0].data.index(objects[0].id) < labels[0].data.index(objects[1].id)


def test_nothing_is_rendered_for_nobody(lockstep: Graph, renders: list[Frame]) -> None:
    ids = lockstep.hear(Image, "/sim/scene_camera/instance_ids")
    info = lockstep.hear(CameraInfo, f"{ZED}/rgb/color/rect/camera_info")
    time.sleep(0.3)
    assert not renders
    assert not ids
    assert not info


def test_while_time_stands_still_an_image_is_sent_again_and_not_rendered_again(
    lockstep: Graph, renders: list[Frame]
) -> None:
    first = lockstep.hear(Image, f"{ZED}/rgb/color/rect/image")
    lockstep.wait(lambda: len(first) > 1)
    later = lockstep.hear(Image, f"{ZED}/depth/depth_registered")
    lockstep.wait(lambda: later)
    assert nanoseconds(later[0].header.stamp) == nanoseconds(first[0].header.stamp)
    assert len(renders) == 1


def test_steps_make_the_next_image_new(lockstep: Graph, renders: list[Frame]) -> None:
    images = scene_images(lockstep)
    images.at(now(lockstep))
    lockstep.call(StepSimulation, "/step_simulation", steps=3)
    images.at(now(lockstep))
    assert len(renders) == 2


def test_free_running_images_follow_the_clock(playing: Graph) -> None:
    images = scene_images(playing)
    playing.wait(lambda: len(images.image) > 3)
    stamps = [nanoseconds(m.header.stamp) for m in images.image]
    assert stamps == sorted(set(stamps))


def test_time_goes_on_while_an_image_is_rendered(playing: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    clocks, world = playing.hear(Clock, "/clock"), playing.sim.physics.world
    capture = StampedCamera.capture

    def slow(self: StampedCamera) -> Frame:
        begin, heard = world.time, len(clocks)
        playing.wait(lambda: world.time > begin + 0.2 and len(clocks) > heard + 5)
        return capture(self)

    monkeypatch.setattr(StampedCamera, "capture", slow)
    images = scene_images(playing)
    playing.wait(lambda: images.image)
    assert nanoseconds(images.image[0].header.stamp) < nanoseconds(clocks[-1].clock) - 100_000_000


def test_after_load_world_the_noise_begins_anew(lockstep: Graph, renders: list[Frame]) -> None:
    images = scene_images(lockstep)
    images.at(now(lockstep))
    lockstep.call(LoadWorld, "/load_world", uri="example")
    lockstep.wait(lambda: len(renders) == 2)
    assert np.array_equal(renders[0].depth, renders[1].depth, equal_nan=True)


def test_black_images(start: Callable[..., Graph]) -> None:
    graph = start(lockstep=True, fault="camera_black")
    image, _, depth, _ = scene_images(graph).at(now(graph))
    assert not np.any(image.data)
    assert np.isfinite(image_to_depth(depth)).any()


def test_depth_without_a_number(start: Callable[..., Graph]) -> None:
    graph = start(lockstep=True, fault="camera_nan_depth")
    depth = scene_images(graph).at(now(graph))[2]
    assert np.isnan(image_to_depth(depth)).all()


def test_a_stale_camera_sends_its_old_image(lockstep: Graph) -> None:
    images = scene_images(lockstep)
    old = now(lockstep)
    images.at(old)
    lockstep.set_parameter("fault", "camera_stale")
    lockstep.call(StepSimulation, "/step_simulation", steps=20)
    count = len(images.image)
    lockstep.wait(lambda: len(images.image) > count + 2)
    assert {nanoseconds(m.header.stamp) for m in images.image} == {old}
    lockstep.set_parameter("fault", "")
    images.at(now(lockstep))


def test_an_encoding_that_nobody_reads(start: Callable[..., Graph]) -> None:
    graph = start(lockstep=True, fault="camera_wrong_encoding")
    assert scene_images(graph).at(now(graph))[0].encoding == "yuv422"


def test_a_camera_without_camera_info(start: Callable[..., Graph]) -> None:
    graph = start(lockstep=True, fault="camera_no_info")
    images = scene_images(graph)
    graph.wait(lambda: len(images.image) > 2)
    assert not images.info
