"""A station with the example scene, and a conversation about it."""

import pytest

from tests.tool_nodes.tools.looking import Table
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station


@pytest.fixture(scope="module")
def station() -> Station:
    return Station(load_scene(EXAMPLE_SCENE))


@pytest.fixture
def table(station: Station) -> Table:
    return Table(station)
