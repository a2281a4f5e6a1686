"""An object that is let go in a container is looked for: in it, beside it, or not seen at all."""

from collections.abc import Callable

from tests.tool_nodes.tools.cell import Cell
from toolhand.tool_nodes.results import ErrorCode, ToolResult

SCENE = """
objects:
  - {name: toy block, position: [0.42, 0.12], yaw_deg: 20}
  - {name: red box, position: [0.50, -0.15]}
  - {name: wrench, position: [0.40, -0.30]}
  - {name: black bin, position: [0.50, 0.32]}
"""


def place_in_the_bin(cell: Cell, at: str = "", do: Callable[[], None] = lambda: None) -> ToolResult:
    """Place; before a stage of the motion something else happens."""
    heard: list[str] = []

    def on_stage(stage: str) -> None:
        if stage == at and at not in heard:
            do()
        heard.append(stage)

    cell.station.manipulator._on_stage = on_stage
    (point,) = cell.call("roborefer.detect_one", obj_name="black bin", image_index=0).variables.values()
    result: ToolResult = cell.call("robot.place_object_at_2d_location", placement_point_2d=list(point))
    assert not at or at in heard, result.text
    return result


def test_an_object_in_the_bin_is_seen_there(holding: Cell) -> None:
    result = place_in_the_bin(holding)
    assert result.error is None, result.text
    assert "Not verified" not in result.text
    placed = result.facts["placed"]
    assert placed["verified"]
    x, y, _ = placed["found_m"]
    assert abs(x - 0.50) < 0.07
    assert abs(y - 0.32) < 0.085


def test_an_object_that_comes_to_lie_beside_the_bin_was_dropped(holding: Cell) -> None:
    result = place_in_the_bin(holding, "the retreat", lambda: holding.put("toy block", 0.45, 0.14, 0.03))
    assert result.error is not None
    assert result.error.code is ErrorCode.OBJECT_DROPPED
    assert "outside of the container" in result.error.message
    assert "x=0.4" in result.error.message


def test_an_object_that_comes_to_lie_across_the_rim_is_not_in_the_bin(holding: Cell) -> None:
    def lay_across() -> None:
        holding.put("toy block", -1.5, 1.5, 0.1)
        holding.put("wrench", 0.50, 0.32, 0.096)

    result = place_in_the_bin(holding, "the retreat", lay_across)
    assert result.error is not None
    assert result.error.code is ErrorCode.OBJECT_DROPPED
    assert "across the rim" in result.error.message


def test_an_object_let_go_where_the_bin_was_is_not_in_it(holding: Cell) -> None:
    result = place_in_the_bin(holding, "the descent", lambda: holding.put("black bin", 0.35, -0.35, 0.04))
    assert result.error is not None
    assert result.error.code is ErrorCode.OBJECT_DROPPED
    assert "no longer where it was" in result.error.message


def test_an_object_that_is_not_seen_afterwards_is_told_as_not_verified(holding: Cell) -> None:
    result = place_in_the_bin(holding, "the retreat", lambda: holding.put("toy block", -1.5, 1.5, 0.1))
    assert result.error is None, result.text
    assert "Not verified: the new picture does not show the object in the container" in result.text
    placed = result.facts["placed"]
    assert not placed["verified"]
    assert placed["found_m"] is None
