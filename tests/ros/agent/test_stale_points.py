"""A click on an object that has moved since the image was taken, over the simulated graph: it is asked for again."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from simulation_interfaces.msg import EntityState
from simulation_interfaces.srv import SetEntityState

from rclpy_zenoh.launch import LaunchedGraph
from toolhand.agent_node.events import OperatorAnswer, OperatorQuestion
from toolhand.agent_node.pointed import PointedPoint
from toolhand.agent_node.runs.folder import jpeg_bytes
from toolhand.console.robot import SpokenWords
from toolhand.console.ros import GraphRobot
from toolhand.sim.ros.graph import started_graph
from toolhand.sim.ros.station import RemoteWorld
from toolhand.tool_nodes.geometry import invert, project, transform
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.ros.calling import Deadlines
from toolhand.tool_nodes.ros.link import RosLink
from toolhand.tool_nodes.ros.remote import RemoteCamera

PATIENCE_S = 120.0
"""A bound against hanging, not a promise [s]."""
OBJECT = "cinnamon_1"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LaunchedGraph]:
    """The simulated graph in lockstep: time passes only while the arm moves."""
    with started_graph({"lockstep": "true", "runs_dir": str(tmp_path_factory.mktemp("runs"))}) as graph:
        yield graph


class Table:
    """The table of the graph: its object moved, its image taken, its clock read."""

    def __init__(self, link: RosLink) -> None:
        self._link = link
        self._world = RemoteWorld(link)
        self._camera = RemoteCamera(link.node, Deadlines(availability_s=PATIENCE_S))

    @property
    def time(self) -> float:
        return self._world.time

    def height(self) -> float:
        return float(self._world.snapshot().objects[OBJECT].position_m[2])

    def shift(self, by_y: float) -> None:
        x, y, z = (float(value) for value in self._world.snapshot().objects[OBJECT].position_m)
        state = EntityState()
        place, state.pose.orientation.w = state.pose.position, 1.0
        place.x, place.y, place.z = x, y + by_y, z
        answer = self._link.call(
            SetEntityState, "/set_entity_state", SetEntityState.Request(entity=OBJECT, state=state)
        )
        assert answer.result.result == answer.result.RESULT_OK, answer.result.error_message

    def image(self) -> tuple[tuple[float, float], bytes]:
        """The point of the image where the object is, and the image."""
        frame = self._camera.capture()
        middle = self._world.snapshot().objects[OBJECT].position_m
        (pixel,) = project(transform(invert(frame.T_base_camera), middle[None]), frame.K)
        x, y = pixel / frame.size
        return (float(x), float(y)), jpeg_bytes(frame.rgb)


@pytest.fixture
def table(graph: LaunchedGraph) -> Iterator[Table]:
    with RosLink(graph.environment) as link:
        yield Table(link)


@pytest.fixture
def robot(graph: LaunchedGraph, monkeypatch: pytest.MonkeyPatch) -> Iterator[GraphRobot]:
    """The graph as the pages know it."""
    for name, value in graph.environment.items():
        monkeypatch.setenv(name, value)
    robot = GraphRobot()
    until(lambda: robot.state().reachable)
    yield robot
    robot.close()


def until(true: Callable[[], Any]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def looked() -> bool:
    """No look after a click is under way."""
    return not any(thread.name == "point-watch" for thread in threading.enumerate())


def said(point: tuple[float, float]) -> SpokenWords:
    return SpokenWords("pick up this one", "stale", (PointedPoint(point, label="1"),))


def test_a_click_on_an_old_image_is_asked_for_again_and_nothing_moves(robot: GraphRobot, table: Table) -> None:
    point, old = table.image()
    table.shift(0.1)
    began = table.time
    asked: list[OperatorQuestion] = []
    for shown in (old, b""):
        asked.clear()
        robot.note_point(point, shown)
        outcome = robot.say(said(point), lambda heard: None, asked.append)
        assert (outcome.success, outcome.error_code) == (False, ErrorCode.AMBIGUOUS)
        assert f"({point[0]:.3f}, {point[1]:.3f}) has changed since you pointed at it" in outcome.answer
        assert [question.text for question in asked] == [outcome.answer]
        assert (outcome.run_dirs, table.time) == ((), began), "nothing was begun"
    table.shift(-0.1)


def test_an_object_that_moves_after_the_click_is_pointed_at_again_and_is_picked(
    robot: GraphRobot, table: Table
) -> None:
    point, shown = table.image()
    robot.note_point(point, shown)
    until(looked)
    table.shift(0.1)
    asked: list[float] = []

    def point_again(question: OperatorQuestion) -> OperatorAnswer:
        asked.append(table.time)
        again, image = table.image()
        robot.note_point(again, image)
        return OperatorAnswer(point=again)

    began, height = table.time, table.height()
    outcome = robot.say(said(point), lambda heard: None, point_again)
    assert asked == [began], "asked once, before anything moved"
    assert outcome.success, outcome.answer
    assert table.height() > height + 0.02, "the thing that was pointed at last is lifted"
