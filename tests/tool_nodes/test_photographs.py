"""Depth, points and boxes in 3D on an image that no depth camera took, by backends that need none."""

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
from toolhand.tool_nodes.results import ErrorCode, ToolResult
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session

WIDTH, HEIGHT, FOCAL = 160, 120, 320.0
LEFT, TOP, RIGHT, BOTTOM = 100, 30, 130, 50
RED = (220, 30, 30)
NEAR = 1.0 + sum(RED) / 3 / 255
"""Depth of the red rectangle [m] as the plugged-in estimator has it; the white around it is 2 m away."""


@pytest.fixture
def plugged_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(install(tmp_path)))
    registry._entries.cache_clear()
    yield
    registry._entries.cache_clear()


@pytest.fixture
def session() -> Session:
    """A conversation about one photograph: a red rectangle on white."""
    rgb = np.full((HEIGHT, WIDTH, 3), 255, np.uint8)
    rgb[TOP:BOTTOM, LEFT:RIGHT] = RED
    return Session(images=[SessionImage(rgb)])


def _station(**ports: str) -> Station:
    return Station(
        load_scene(EXAMPLE_SCENE), StationConfig(ports=PortNames(**ports), suites=("spacetools", "peria", "last"))
    )


def _call(station: Station, session: Session, name: str, **arguments: Any) -> ToolResult:
    result = station.toolbox.call(name, arguments, session).result
    assert result.error is None, result.text
    return result


@pytest.mark.usefixtures("plugged_in")
@pytest.mark.parametrize("depth", ["dark_is_near", "sim+dark_is_near"])
def test_an_estimator_of_any_image_gives_a_photograph_depth_cloud_points_and_boxes(
    session: Session, depth: str
) -> None:
    station = _station(depth=depth)
    estimated = _call(station, session, "depth_estimator.estimate_depth", image_index=0)
    assert "160x120 image. Focal length: 320.0px" in estimated.text
    assert estimated.text.endswith("(backend: dark_is_near)")
    assert session.variables["depth_map"][TOP, LEFT] == pytest.approx(NEAR)

    _call(station, session, "depth_estimator.estimate_depth_with_pointcloud", image_index=0)
    cloud = session.variables["point_cloud"].reshape(HEIGHT, WIDTH, 3)
    corner = np.array([(LEFT - (WIDTH - 1) / 2) / FOCAL, (TOP - (HEIGHT - 1) / 2) / FOCAL, 1.0]) * NEAR
    assert cloud[TOP, LEFT] == pytest.approx(corner, abs=1e-5)

    found = _call(station, session, "Get3DPoint", img_path="image-0", text_labels=["red rectangle"])
    (place,) = found.value["places"]
    assert place["Z"] == pytest.approx(NEAR)
    assert LEFT < place["X"] / place["Z"] * FOCAL + WIDTH / 2 < RIGHT
    assert TOP < place["Y"] / place["Z"] * FOCAL + HEIGHT / 2 < BOTTOM

    at = {"x": (LEFT + RIGHT) / 2 / WIDTH, "y": (TOP + BOTTOM) / 2 / HEIGHT}
    _call(station, session, "sam2.segment_from_point", image_index=0, **at)
    box = _call(
        station,
        session,
        "bounding_box.compute_bbox",
        point_cloud="$point_cloud",
        mask="$segmentation_mask",
        focal_length_px="$focal_length_px",
    ).value
    pixel = NEAR / FOCAL
    middle = np.array([((LEFT + RIGHT) / 2 - WIDTH / 2) / FOCAL, ((TOP + BOTTOM) / 2 - HEIGHT / 2) / FOCAL, 1.0]) * NEAR
    assert sorted(box["extent"]) == pytest.approx([0.0, 20 * pixel, 30 * pixel], abs=4 * pixel)
    assert np.mean(box["corners_3d"], axis=0) == pytest.approx(middle, abs=2e-3)


@pytest.mark.usefixtures("plugged_in")
def test_where_a_depth_sensor_looked_its_depth_is_used() -> None:
    station, session = _station(depth="pixels+dark_is_near"), Session()
    _call(station, session, "robot.capture_image")
    estimated = _call(station, session, "depth_estimator.estimate_depth", image_index=0)
    assert estimated.text.endswith("(backend: pixels)")
    frame = session.images[0].require_frame()
    assert np.array_equal(session.variables["depth_map"], frame.depth, equal_nan=True)


@pytest.mark.usefixtures("plugged_in")
def test_a_pointer_of_any_image_is_asked_about_a_photograph(session: Session) -> None:
    station = _station(pointer="sim+reddest")
    found = _call(station, session, "roborefer.detect_one", obj_name="the tomato", image_index=0)
    assert session.variables["the_tomato_detection"] == (round((LEFT + 0.5) / WIDTH, 3), round((TOP + 0.5) / HEIGHT, 3))
    assert found.text.endswith("(backend: reddest)")


@pytest.mark.parametrize("perception", ["sim", "pixels"])
@pytest.mark.parametrize(
    ("tool", "arguments", "option"),
    [
        ("depth_estimator.estimate_depth", {"image_index": 0}, "--depth NAME"),
        ("depth_estimator.estimate_depth_with_pointcloud", {"image_index": 0}, "--depth NAME"),
        ("EstimateDepth", {"img_path": "image-0"}, "--depth NAME"),
        ("Get3DPoint", {"img_path": "image-0", "text_labels": ["red rectangle"]}, "--depth NAME"),
        ("roborefer.detect_one", {"image_index": 0, "obj_name": "tomato"}, "--pointer NAME"),
    ],
)
def test_where_no_backend_can_it_is_told_what_would_help(
    session: Session, perception: str, tool: str, arguments: dict[str, Any], option: str
) -> None:
    config = StationConfig(perception=perception, suites=("spacetools", "last"))
    error = Station(load_scene(EXAMPLE_SCENE), config).toolbox.call(tool, arguments, session).result.error
    assert error is not None
    assert error.code is ErrorCode.IMAGE_UNUSABLE
    assert option in error.hint
