"""A thing that is let go in a container is looked for: in it, beside it, or not seen at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim.scene.files import load_scene
from sim.scene.scenes import Scene
from sim.station import Station
from tool_nodes.results import ErrorCode, ToolResult
from tool_nodes.toolbox.toolbox import Session

SCENE = """
objects:
  - {name: toy block, position: [0.42, 0.12], yaw_deg: 20}
  - {name: red box, position: [0.50, -0.15]}
  - {name: black bin, position: [0.50, 0.32]}
"""
UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    path: Path = tmp_path_factory.mktemp("scene") / "bin.yaml"
    path.write_text(SCENE)
    return load_scene(path)


class Cell:
    """A station whose hand holds the toy block over the table with the bin."""

    def __init__(self, scene: Scene) -> None:
        self.station = Station(scene)
        self.session = Session()
        self.ids = {placed.item: placed.id for placed in scene.objects}
        self.call("robot.capture_image")
        self.call("robot.get_depth_with_pointcloud")
        (point,) = self.call("roborefer.detect_one", obj_name="toy block", image_index=0).variables.values()
        self.call("sam2.segment_from_point", x=point[0], y=point[1], image_index=0)
        self.call(
            "grasp_generator.compute_grasp", point_cloud="$point_cloud", mask="$segmentation_mask",
            focal_length_px="$focal_length_px", image_index=0,
        )  # fmt: skip
        self.call("robot.execute_grasp", grasp_pose="$grasp_pose")

    def call(self, name: str, **arguments: Any) -> ToolResult:
        result = self.try_to(name, **arguments)
        assert result.error is None, result.text
        return result

    def try_to(self, name: str, **arguments: Any) -> ToolResult:
        return self.station.toolbox.call(name, arguments, self.session).result

    def put(self, name: str, x: float, y: float, z: float) -> None:
        """Put a thing somewhere at once, as a hand that the robot does not see would."""
        self.station.world.place_object(self.ids[name], np.array([x, y, z]), UPRIGHT)

    def place_in_the_bin(self, at: str = "", do: Callable[[], None] = lambda: None) -> ToolResult:
        """Place; before a stage of the motion something else happens."""
        manipulator, heard = self.station.manipulator, list[str]()

        def on_stage(stage: str) -> None:
            if stage == at and at not in heard:
                do()
            heard.append(stage)

        manipulator._on_stage = on_stage
        (point,) = self.call("roborefer.detect_one", obj_name="black bin", image_index=0).variables.values()
        result = self.try_to("robot.place_object_at_2d_location", placement_point_2d=list(point))
        assert not at or at in heard, result.text
        return result


@pytest.fixture
def cell(scene: Scene) -> Cell:
    return Cell(scene)


def test_a_thing_in_the_bin_is_seen_there(cell: Cell) -> None:
    result = cell.place_in_the_bin()
    assert result.error is None, result.text
    assert "Not verified" not in result.text
    placed = result.facts["placed"]
    assert placed["verified"]
    x, y, _ = placed["found_m"]
    assert abs(x - 0.50) < 0.07
    assert abs(y - 0.32) < 0.085


def test_a_thing_that_comes_to_lie_beside_the_bin_was_dropped(cell: Cell) -> None:
    result = cell.place_in_the_bin("the retreat", lambda: cell.put("toy block", 0.45, 0.14, 0.03))
    assert result.error is not None
    assert result.error.code is ErrorCode.OBJECT_DROPPED
    assert "outside of the container" in result.error.message
    assert "x=0.4" in result.error.message


def test_a_thing_let_go_where_the_bin_was_is_not_in_it(cell: Cell) -> None:
    result = cell.place_in_the_bin("the descent", lambda: cell.put("black bin", 0.35, -0.35, 0.04))
    assert result.error is not None
    assert result.error.code is ErrorCode.OBJECT_DROPPED
    assert "no longer where it was" in result.error.message


def test_a_thing_that_is_not_seen_afterwards_is_told_as_not_verified(cell: Cell) -> None:
    result = cell.place_in_the_bin("the retreat", lambda: cell.put("toy block", -1.5, 1.5, 0.1))
    assert result.error is None, result.text
    assert "Not verified: the new picture does not show the object in the container" in result.text
    placed = result.facts["placed"]
    assert not placed["verified"]
    assert placed["found_m"] is None


def test_on_open_table_a_thing_is_verified_as_before(cell: Cell) -> None:
    result = cell.call("robot.place_object_at_3d_location", placement_point_3d=_in_camera(cell, (0.40, -0.02, 0.0)))
    assert result.facts["placed"]["verified"]
    assert "Not verified" not in result.text


def _in_camera(cell: Cell, point: tuple[float, float, float]) -> list[float]:
    T = np.linalg.inv(cell.session.images[0].require_frame().T_base_camera)
    found: list[float] = (T @ [*point, 1.0])[:3].tolist()
    return found
