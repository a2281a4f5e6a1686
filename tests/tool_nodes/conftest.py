"""A robot over the table of a module, before and after a grasp that is made once."""

import pytest

from tests.tool_nodes.tools.cell import Cell
from toolhand.sim.scene.files import parse_scene
from toolhand.sim.station import StationState
from toolhand.tool_nodes.toolbox.toolbox import Session


@pytest.fixture
def cell(request: pytest.FixtureRequest) -> Cell:
    """The module's SCENE, with the tools of its SUITES."""
    return new_cell(request)


def new_cell(request: pytest.FixtureRequest) -> Cell:
    return Cell(parse_scene(request.module.SCENE), getattr(request.module, "SUITES", ("spacetools",)))


@pytest.fixture(scope="module")
def grasped(request: pytest.FixtureRequest) -> tuple[StationState, Session]:
    cell = new_cell(request)
    assert cell.grasp().ok
    return cell.save()


@pytest.fixture
def holding(request: pytest.FixtureRequest, grasped: tuple[StationState, Session]) -> Cell:
    """Its hand holds the toy block."""
    cell = new_cell(request)
    cell.restore(grasped)
    return cell
