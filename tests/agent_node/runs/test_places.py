"""The place that a command has asked for is drawn in its report, and stands in its result as data."""

import json
from collections.abc import Sequence
from pathlib import Path

from toolhand.agent_node.agent import Agent
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.runs.write import write_run
from toolhand.sim.scene.files import parse_scene
from toolhand.sim.station import Station, StationConfig

SCENE = "objects: [{name: red box, position: [0.50, -0.15]}]"


BOX = {"name": "red box", "points": [[0.345, 0.47]]}


class Looks:
    """A policy that looks, finds objects and places, and answers."""

    name = "looks"

    def __init__(self) -> None:
        self._calls = iter(
            [
                ("robot.capture_image", {}),
                ("roborefer.detect_all", {"obj_name": "red box", "image_index": 0}),
                ("robot.find_place", {"place": {"relation": "right_of", "references": [BOX]}}),
                ("robot.find_place", {"place": {"relation": "left_of"}}),
            ]
        )

    def respond(self, conversation: Sequence[Message]) -> Reply:
        for name, arguments in self._calls:
            return Reply(f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>")
        return Reply("<answer>Seen.</answer>")


def test_the_place_that_was_asked_for_is_drawn_and_kept_as_data(tmp_path: Path) -> None:
    station = Station(parse_scene(SCENE), StationConfig())
    episode = Agent(Looks(), station.toolbox).run("look where there is room")
    write_run(tmp_path, episode, station.toolbox, {})
    (place,) = json.loads((tmp_path / "result.json").read_text())["places"]
    assert (place["words"], place["image"]) == ("to the right of the red box", "images/002.jpg")
    (outline,) = place["outlines"]
    (box,) = episode.records[1].result.facts["points"]
    assert min(x for x, _ in outline) > box[0]
    assert min(x for x, _ in outline) < place["point"][0] < max(x for x, _ in outline)
    report = (tmp_path / "report.html").read_text()
    assert "The place that was asked for" in report
    assert 'class="area" fill-rule="evenodd" d="M' in report
    assert f"({place['point'][0]:.3f}, {place['point'][1]:.3f})" in report


def test_a_command_without_a_place_has_none(tmp_path: Path) -> None:
    station = Station(parse_scene(SCENE), StationConfig())
    policy = Looks()
    policy._calls = iter([("robot.capture_image", {})])
    write_run(tmp_path, Agent(policy, station.toolbox).run("look"), station.toolbox, {})
    assert "places" not in json.loads((tmp_path / "result.json").read_text())
    assert "The place that was asked for" not in (tmp_path / "report.html").read_text()
