"""What lies on an object is told and taken aside over the graph as in this process."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ros.station import ros_station
from toolhand.bench.grasp.calls import middle_of, true_ids
from toolhand.sim.scene.files import parse_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.catalogue import load_catalogue
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox

HIGH = load_catalogue()["tea box"].size_m[2]
SCENE = f"""
objects:
  - {{name: tea box, position: [0.48, -0.05]}}
  - {{name: toy block, position: [0.48, -0.05, {HIGH + load_catalogue()["toy block"].size_m[2] / 2}]}}
"""


def cleared(toolbox: Toolbox, point: tuple[float, float]) -> tuple[Any, Any]:
    """What is told to lie on the object at a point, and where that was put."""
    session = Session()

    def call(name: str, **arguments: object) -> Any:
        result = toolbox.call(name, arguments, session).result
        assert result.ok, result.text
        return result

    call("robot.capture_image")
    [above] = call("robot.what_is_in_the_way", point=list(point)).facts["in_the_way"]["above"]
    facts = call("robot.put_aside", point=above).facts
    assert facts["aside"] is True
    assert call("robot.what_is_in_the_way", point=list(point)).facts["in_the_way"]["above"] == []
    return above, facts["placed"]["wanted"]


def test_the_upper_object_is_told_and_put_aside_over_the_graph_as_in_process() -> None:
    scene = parse_scene(SCENE, "stacked")
    config = StationConfig(suites=("spacetools", "clearing"))
    station = Station(scene, config)
    point = middle_of(true_ids(station, station.camera.capture()), 0)
    assert point is not None
    above, stands = cleared(station.toolbox, point)
    with ros_station(scene, config) as remote:
        found, put = cleared(remote.toolbox, point)
    np.testing.assert_allclose(found, above, atol=0.01)
    np.testing.assert_allclose(put, stands, atol=0.02)
