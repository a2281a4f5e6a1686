"""Which backends a node gets, and what the simulated one says when the simulator is silent."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import Image
from std_msgs.msg import String

from tests.refusals import refused
from tests.ros.tool_nodes.fake_camera import ids_message
from toolhand.sim.ros import perception as ros_perception
from toolhand.sim.ros.perception import IDS_KEPT_S, IDS_TOPICS, LABELS_TOPIC, RosSimPerception, topics_of
from toolhand.sim.station import Station
from toolhand.tool_nodes.perception.drawings.backend import Drawings
from toolhand.tool_nodes.perception.pixels import PixelPerception
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.backends import load_backends
from toolhand.tool_nodes.ros.messages import header_of
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import Frame

_numbers = itertools.count()


@pytest.fixture
def node(make_node: Any) -> Callable[..., Node]:
    """Makes a node with parameters."""

    def make(**parameters: Any) -> Node:
        overrides = [Parameter(name, value=value) for name, value in parameters.items()]
        made: Node = make_node(f"node_{next(_numbers)}", parameter_overrides=overrides)
        return made

    return make


def test_a_preset_names_the_backends_and_a_port_another_one(node: Callable[..., Node]) -> None:
    used: list[Any] = []
    load_backends(
        node(perception="pixels", detector="drawings"), lambda *made: used.extend(made), "pointer", "detector"
    )
    pointer, detector = used
    assert isinstance(pointer, PixelPerception)
    assert isinstance(detector, Drawings)


@pytest.mark.parametrize("parameters", [{"perception": "nonsense"}, {"perception": 5}, {"pointer": "no.such:make"}])
def test_a_backend_that_does_not_exist_is_refused(node: Callable[..., Node], parameters: dict[str, Any]) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT):
        load_backends(node(**parameters), lambda pointer: None, "pointer")


def test_each_seed_that_is_set_brings_a_fresh_backend(node: Callable[..., Node]) -> None:
    used: list[Any] = []
    one = node(perception="pixels")
    load_backends(one, used.append, "pointer")
    for _ in range(2):  # the same value counts, too
        assert one.set_parameters([Parameter("seed", value=3)])[0].successful
    assert len({id(pointer) for pointer in used}) == 3
    for value in (-1, "three", True):
        outcome = one.set_parameters([Parameter("seed", value=value)])[0]
        assert not outcome.successful
        assert "0 or more" in outcome.reason
    assert not one.set_parameters([Parameter("perception", value="sim")])[0].successful
    assert len(used) == 3


def test_without_a_simulator_the_simulated_perception_is_unavailable(
    node: Callable[..., Node], station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ros_perception, "WAIT_S", 0.1)
    perception = RosSimPerception(topics_of(node()), 0)
    frame = station.camera.capture()
    for ask in (lambda: perception.points(frame, "can"), lambda: perception.depth(frame)):
        with refused(ErrorCode.UNAVAILABLE, "got no labels"):
            ask()


def test_labels_of_a_new_world_make_the_images_of_the_old_one_unknown(
    node: Callable[..., Node], station: Station, monkeypatch: pytest.MonkeyPatch, wait_until: Any
) -> None:
    monkeypatch.setattr(ros_perception, "WAIT_S", 0.2)
    publisher = node()
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    labels = publisher.create_publisher(String, LABELS_TOPIC, latched)
    ids = publisher.create_publisher(Image, IDS_TOPICS[0], 5)
    perception = RosSimPerception(topics_of(node()), 0)
    wait_until(lambda: ids.get_subscription_count() and labels.get_subscription_count(), "the perception listens")

    frame = station.camera.capture()
    assert frame.ids is not None
    items = [placed.item for placed in station.scene.objects]
    text = "[" + ", ".join(f'{{"id": "{k}", "item": "{item}"}}' for k, item in enumerate(items)) + "]"
    labels.publish(String(data=text))
    wait_until(lambda: _answers(lambda: perception.depth(frame)), "the labels are known")
    ids.publish(ids_message(frame.ids, header_of(frame)))
    wait_until(lambda: _answers(lambda: perception.points(frame, "rice box")), "the ids are known")
    expected = station.ports.pointer.point(SessionImage(frame.rgb, frame), "rice box").value
    assert perception.point(SessionImage(frame.rgb, frame), "rice box").value == expected

    labels.publish(String(data=text))
    wait_until(lambda: not _answers(lambda: perception.points(frame, "rice box")), "the ids are forgotten")
    ids.publish(ids_message(np.full_like(frame.ids, -1)[:10], header_of(frame)))
    assert not _answers(lambda: perception.points(frame, "rice box"))


def test_only_an_image_that_is_too_old_is_the_callers_affair(
    node: Callable[..., Node], station: Station, monkeypatch: pytest.MonkeyPatch, wait_until: Any
) -> None:
    monkeypatch.setattr(ros_perception, "WAIT_S", 0.2)
    ids, topics, first = node().create_publisher(Image, IDS_TOPICS[0], 20), topics_of(node()), station.camera.capture()
    wait_until(lambda: ids.get_subscription_count(), "the perception listens")

    def seen_at(k: float) -> Frame:
        return replace(first, stamp=first.stamp + k)

    def code_of(frame: Frame) -> ErrorCode | None:
        try:
            topics.with_ids(frame)
        except ToolError as error:
            return error.code
        return None

    assert code_of(seen_at(0)) is ErrorCode.UNAVAILABLE
    assert first.ids is not None
    for k in (0, 1, IDS_KEPT_S):
        ids.publish(ids_message(first.ids, header_of(seen_at(k))))
        wait_until(lambda k=k: code_of(seen_at(k)) is None, "the ids are known")
    known = topics.with_ids(seen_at(0)).ids
    assert known is not None
    assert np.array_equal(known, first.ids), "a slow policy asks of a picture of minutes ago"
    ids.publish(ids_message(first.ids, header_of(seen_at(IDS_KEPT_S + 0.5))))
    wait_until(lambda: code_of(seen_at(IDS_KEPT_S + 0.5)) is None, "the ids are known")
    assert code_of(seen_at(0)) is ErrorCode.IMAGE_UNUSABLE
    assert code_of(seen_at(IDS_KEPT_S + 1)) is ErrorCode.UNAVAILABLE


def _answers(ask: Callable[[], Any]) -> bool:
    try:
        ask()
    except ToolError:
        return False
    return True
