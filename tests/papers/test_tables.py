"""Names, arguments and required arguments of every tool, against tables transcribed from the four papers."""

import pytest

from docs.site.paper_tables import SPACETOOLS_FIGURES, TABLES, PrintedTool
from toolhand.sim.mock.data import read_dataset
from toolhand.sim.mock.station import MockStation
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.toolbox.toolbox import Toolbox
from toolhand.tool_nodes.tools.suites import SUITES

ROWS = [(suite, printed) for suite, tools in TABLES.items() for printed in tools]
ROWS += [("spacetools", printed) for printed in SPACETOOLS_FIGURES]


@pytest.fixture(scope="module")
def toolbox() -> Toolbox:
    return Station(load_scene(EXAMPLE_SCENE), StationConfig(suites=SUITES)).toolbox


@pytest.mark.parametrize(("suite", "printed"), ROWS, ids=lambda value: getattr(value, "name", value))
def test_a_tool_has_the_papers_name_arguments_and_required_arguments(
    toolbox: Toolbox, suite: str, printed: PrintedTool
) -> None:
    spec = toolbox.find(printed.name)
    own = [argument if argument in spec.kinds else spec.renamed[argument] for argument in printed.arguments.split()]
    parameters = spec.schema()["function"]["parameters"]
    assert sorted(parameters["properties"]) == sorted(own)
    assert sorted(parameters["required"]) == sorted(set(own) - set(printed.optional.split()))
    assert spec.suite == suite


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_holds_the_papers_tools_and_no_others(toolbox: Toolbox, suite: str) -> None:
    offered = {name for name, spec in toolbox.specs.items() if spec.suite == suite}
    assert offered == {toolbox.find(printed.name).name for printed in TABLES[suite]}


def test_the_mock_robot_has_the_robots_names_and_its_own() -> None:
    mock = MockStation(read_dataset().frame(0)).toolbox
    robot = [printed for printed in TABLES["spacetools"] if printed.name.startswith("robot.")]
    assert len(robot) == 6
    for printed in robot:
        assert mock.find(printed.name) is mock.find(f"mock_{printed.name}")
        assert len(mock.find(printed.name).kinds) == len(printed.arguments.split())
