"""Every tool gives the same result in process and over services: text, image, variables."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.ros.tool_nodes.comparing import Both
from toolhand.sim.station import Station
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.ros.calling import Deadlines
from toolhand.tool_nodes.ros.remote import remote_toolbox
from toolhand.tool_nodes.toolbox.toolbox import Toolbox

CLOUD = {"point_cloud": "$point_cloud", "mask": "$segmentation_mask", "focal_length_px": "$focal_length_px"}
BACKENDS = ("sim", "pixels")


@pytest.fixture(scope="module")
def nodes(start: Callable[..., Any], fake_camera: Any) -> None:
    script = __file__.replace("test_parity.py", "nodes_process.py")
    for backend in BACKENDS:
        arguments = ["-p", f"perception:={backend}", "-p", "use_sim_time:=true", "-r", f"__ns:=/{backend}"]
        start(script, "--ros-args", *arguments).expect("ready")


@pytest.fixture(scope="module", params=BACKENDS)
def toolboxes(request: pytest.FixtureRequest, nodes: None, make_node: Any) -> tuple[Toolbox, Toolbox]:
    stations = {"sim": "station", "pixels": "pixel_station"}
    local: Station = request.getfixturevalue(stations[request.param])
    node = make_node(f"agent_{request.param}", namespace=f"/{request.param}")
    return local.toolbox, remote_toolbox(node, Deadlines(availability_s=30.0, response_s=60.0))


@pytest.fixture
def both(toolboxes: tuple[Toolbox, Toolbox]) -> Both:
    return Both(*toolboxes)


def test_the_toolbox_offers_the_same_tools(toolboxes: tuple[Toolbox, Toolbox]) -> None:
    local, remote = toolboxes
    assert remote.schemas() == local.schemas()


def test_images_and_depth(both: Both) -> None:
    both("robot.capture_image")
    both("robot.get_depth")
    both("robot.get_depth_with_pointcloud")
    both("vision_ops.index_at", data="$depth_map", u=0.5, v=0.5)
    both("depth_estimator.estimate_depth", image_index=0)
    both("depth_estimator.estimate_depth_with_pointcloud", image_index=0)


def test_pointing_and_its_refusals(both: Both) -> None:
    both("robot.capture_image")
    both("roborefer.detect_one", obj_name="rice box", image_index=0)
    both("roborefer.detect_all", obj_name="coconut water", image_index=0)
    both("vlm.detect_one", obj_name="free table left of the rice box", image_index=0)
    assert both.refused("vlm.detect_all", obj_name="purple elephant", image_index=0) is ErrorCode.NOT_RECOGNISED
    assert both.refused("vlm.detect_one", obj_name="", image_index=0) is ErrorCode.INVALID_ARGUMENT


def test_from_a_point_to_a_mask_a_box_and_grasps(both: Both) -> None:
    both("robot.capture_image")
    both("robot.get_depth_with_pointcloud")
    (point,) = both("roborefer.detect_one", obj_name="coconut water", image_index=0).variables.values()
    both("sam2.segment_from_points", points=[list(point)], image_index=0)
    both("sam2.segment_from_point", x=point[0], y=point[1], image_index=0)
    both("bounding_box.compute_bbox", **CLOUD)
    for _ in range(3):  # each time the next one
        both("grasp_generator.compute_grasp", **CLOUD, image_index=0)
    both("depth_estimator.estimate_depth_with_pointcloud", image_index=0)
    both("grasp_generator.compute_grasp", **CLOUD, image_index=0)
    assert both.refused("sam2.segment_from_point", x=0.01, y=0.99, image_index=0) is ErrorCode.EMPTY_MASK
