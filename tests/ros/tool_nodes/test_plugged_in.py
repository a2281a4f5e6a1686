"""Somebody else's segmenter in the segmentation node, beside the truth's pointer in the pointing node."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.plugged_in import install
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.port_names import PortNames
from toolhand.tool_nodes.ros.calling import Deadlines
from toolhand.tool_nodes.ros.remote import remote_toolbox
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox

SUITES = ("spacetools", "peria")


@pytest.fixture(scope="module")
def toolboxes(
    tmp_path_factory: pytest.TempPathFactory, start: Any, fake_camera: Any, make_node: Any
) -> Iterator[tuple[Toolbox, Toolbox]]:
    """The tools in process, and over nodes that were started with the parameter `segmenter`."""
    folder = install(tmp_path_factory.mktemp("site"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder))
        patch.syspath_prepend(str(folder))
        registry._entries.cache_clear()
        arguments = ("-p", "perception:=sim", "-p", "segmenter:=one_colour:50", "-p", "depth:=sim+dark_is_near")
        arguments = (*arguments, "-p", "use_sim_time:=true")
        start(str(Path(__file__).with_name("nodes_process.py")), "--ros-args", *arguments).expect("ready")
        config = StationConfig(ports=PortNames(segmenter="one_colour:50", depth="sim+dark_is_near"), suites=SUITES)
        local = Station(load_scene(EXAMPLE_SCENE), config).toolbox
        remote = remote_toolbox(make_node("agent"), Deadlines(availability_s=30.0, response_s=60.0), suites=SUITES)
        yield local, remote
    registry._entries.cache_clear()


def test_it_answers_over_ros_as_it_does_in_process(toolboxes: tuple[Toolbox, Toolbox]) -> None:
    masks, texts = [], []
    for toolbox in toolboxes:
        session = Session()
        toolbox.call("robot.capture_image", {}, session)
        pointed = toolbox.call("roborefer.detect_one", {"obj_name": "red box", "image_index": 0}, session).result
        assert pointed.text.endswith("(backend: sim)")
        ((x, y),) = pointed.variables.values()
        outlined = toolbox.call("sam2.segment_from_point", {"x": x, "y": y, "image_index": 0}, session).result
        assert outlined.text.endswith("(backend: one_colour)")
        masks.append(session.variables["segmentation_mask"])
        named = toolbox.call("text_segment", {"image_index": 0, "text_prompt": "red box"}, session).result
        missing = toolbox.call("presence_check", {"image_index": 0, "text_prompt": "violin"}, session).result
        texts.append((pointed.text, outlined.text, named.text, missing.text))
    assert np.array_equal(*masks)
    assert 100 < np.count_nonzero(masks[0]) < masks[0].size / 4
    assert texts[0] == texts[1]


def test_the_node_is_shown_exactly_the_crop_and_what_was_drawn_over_it(toolboxes: tuple[Toolbox, Toolbox]) -> None:
    local, remote = toolboxes
    session = Session()
    remote.call("robot.capture_image", {}, session)
    crop = session.images[0].cropped(200, 100, 400, 250)
    drawn = crop.rgb.copy()
    drawn[40:60, 90:110] = (0, 255, 0)
    foreign = SessionImage(np.ascontiguousarray(drawn[::-1]))
    green = (drawn == (0, 255, 0)).all(axis=2)
    enlarged = crop.resized(470, 352)
    cases = (
        *((crop, None), (crop.redrawn(drawn), green), (foreign, None)),
        *((enlarged, None), (enlarged.cropped(11, 7, 200, 200), None)),
    )
    for image, expected in cases:
        found = []
        for toolbox in (local, remote):
            asked = Session(images=[image])
            result = toolbox.call("sam2.segment_from_point", {"x": 0.5, "y": 0.33, "image_index": 0}, asked).result
            assert result.ok, result.text
            found.append(asked.variables["segmentation_mask"])
        assert found[0].shape == image.rgb.shape[:2]
        assert np.array_equal(*found)
        assert expected is None or np.array_equal(found[1], expected)


def test_an_enlarged_crop_has_depth_and_words_over_ros_as_it_has_in_process(toolboxes: tuple[Toolbox, Toolbox]) -> None:
    texts, clouds = [], []
    for toolbox in toolboxes:
        session = Session()
        toolbox.call("robot.capture_image", {}, session)
        first = session.images[0].cropped(150, 170, 300, 340).resized(400, 453)
        session.images += [first, first.cropped(33, 11, 380, 400)]
        for index in (1, 2):
            deep = toolbox.call("depth_estimator.estimate_depth_with_pointcloud", {"image_index": index}, session)
            found = toolbox.call("roborefer.detect_one", {"obj_name": "coconut water", "image_index": index}, session)
            texts.append((deep.result.text, found.result.text))
            clouds.append(session.variables["point_cloud"])
    assert "Error" not in str(texts)
    assert texts[:2] == texts[2:]
    assert "400x453 depth map" in texts[0][0]
    for there, here in zip(clouds[2:], clouds[:2], strict=True):
        assert np.array_equal(there, here, equal_nan=True)


def test_a_photograph_has_depth_over_ros_as_it_has_in_process(toolboxes: tuple[Toolbox, Toolbox]) -> None:
    rgb = np.random.default_rng(2).integers(0, 256, (30, 40, 3), np.uint8)
    texts, clouds = [], []
    for toolbox in toolboxes:
        session = Session(images=[SessionImage(rgb)])
        deep = toolbox.call("depth_estimator.estimate_depth_with_pointcloud", {"image_index": 0}, session)
        texts.append(deep.result.text)
        clouds.append(session.variables["point_cloud"])
    assert texts[0] == texts[1]
    assert texts[0].endswith("(backend: dark_is_near)")
    assert np.array_equal(*clouds)
