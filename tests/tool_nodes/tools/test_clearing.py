"""The tools that get at what lies under other objects."""

import math
from typing import Any

import numpy as np
import pytest

from tests.tool_nodes.tools.cell import Cell
from toolhand.bench.grasp.calls import middle_of, true_ids
from toolhand.sim.scene.files import parse_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.catalogue import load_catalogue
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.toolbox import printed_schemas

HIGH = load_catalogue()["tea box"].size_m[2]
SCENE = f"""
objects:
  - {{name: tea box, position: [0.48, -0.05]}}
  - {{name: toy block, position: [0.48, -0.05, {HIGH + load_catalogue()["toy block"].size_m[2] / 2}]}}
"""


@pytest.fixture(scope="module")
def kept() -> tuple[Cell, Any]:
    cell = Cell(parse_scene(SCENE, "stacked"))
    return cell, cell.save()


@pytest.fixture
def cell(kept: tuple[Cell, Any]) -> Cell:
    cell, moment = kept
    cell.restore(moment)
    return cell


def of_box(cell: Cell) -> list[float]:
    """A point of the image on the front of the lower box."""
    found = middle_of(true_ids(cell.station, cell.station.camera.capture()), 0)
    assert found is not None
    return list(found)


def test_what_lies_on_an_object_is_told_in_words_a_picture_and_facts(cell: Cell) -> None:
    result = cell.call("robot.what_is_in_the_way", point=of_box(cell))
    facts = result.facts["in_the_way"]
    assert len(facts["above"]) == 1
    x, y = facts["above"][0]
    assert result.text.startswith(f"On it lies 1 at ({x:.3f}, {y:.3f}): robot.put_aside takes the first one away.")
    assert result.image is not None
    assert not np.array_equal(result.image, cell.session.seen.rgb)
    above = cell.call("robot.what_is_in_the_way", point=[x, y])
    assert above.facts["in_the_way"]["above"] == []
    assert "Nothing lies on it" in above.text


def test_an_object_is_put_aside_where_there_is_room(cell: Cell) -> None:
    before = cell.block
    [point] = cell.call("robot.what_is_in_the_way", point=of_box(cell)).facts["in_the_way"]["above"]
    result = cell.call("robot.put_aside", point=point)
    assert result.ok, result.text
    assert result.facts["aside"] is True
    assert {"grasped", "placed"} <= set(result.facts)
    assert cell.parked
    assert math.dist(cell.block[:2], before[:2]) > 0.08
    assert cell.block[2] < before[2]
    assert cell.call("robot.what_is_in_the_way", point=of_box(cell)).facts["in_the_way"]["above"] == []


def test_what_is_held_is_put_aside_without_a_point(cell: Cell) -> None:
    assert cell.grasp().ok
    result = cell.call("robot.put_aside", point=None)
    assert result.ok, result.text
    assert not cell.holds_block
    assert cell.refusal("robot.put_aside", point=None).code is ErrorCode.NOT_HOLDING


def test_nothing_is_lifted_that_could_not_be_put_down(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **more: object) -> None:
        raise ToolError(ErrorCode.PLACE_BLOCKED, "There is no free table.")

    monkeypatch.setattr("toolhand.tool_nodes.tools.clearing.clearing.find_free_space", full)
    before = cell.block
    error = cell.refusal("robot.put_aside", point=of_box(cell))
    assert error.code is ErrorCode.PLACE_BLOCKED
    assert "nowhere to put it" in error.message
    assert cell.parked
    assert np.allclose(cell.block, before, atol=1e-4)


def test_a_point_on_the_table_is_no_object(cell: Cell) -> None:
    for name in ("robot.what_is_in_the_way", "robot.put_aside"):
        assert cell.refusal(name, point=[0.05, 0.95]).code is ErrorCode.EMPTY_MASK


def test_who_can_grasp_has_the_tools_and_no_prompt_of_a_paper_lists_them() -> None:
    scene = parse_scene(SCENE, "stacked")
    names = {"robot.what_is_in_the_way", "robot.put_aside", "robot.find_place"}
    paper = Station(scene).toolbox
    assert names <= set(paper.specs)
    assert not names & {schema["function"]["name"] for schema in printed_schemas(paper)}
    chosen = Station(scene, StationConfig(suites=("native", "clearing"))).toolbox
    assert names <= {schema["function"]["name"] for schema in printed_schemas(chosen)}
    observer = Station(scene, StationConfig(suites=("clearing",), role="observer")).toolbox
    assert set(observer.specs) == names - {"robot.put_aside"}
