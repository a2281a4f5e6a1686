"""The real graph in separate processes: the same results as in process, and what happens when a part of it fails."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulation_interfaces.srv import ResetSimulation

from rclpy_zenoh.launch import LaunchedGraph
from tests.ros.agent.hearing import Hearing
from tests.ros.station import ros_station
from tests.sockets import listening, only_loopback
from toolhand.agent_node.console.terminal import Interrupt
from toolhand.agent_node.events import Event, Thought, ToolAnswered, ToolCalled
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.agent_node.ros.operator import Operator
from toolhand.cli.options import DefaultText
from toolhand.cli.run_command import RunCommand
from toolhand.cli.run_over_ros import run_over_ros
from toolhand.sim.ros.graph import READY_SERVICES, READY_TIMEOUT_S, started_graph
from toolhand.sim.ros.station import RemoteWorld
from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tasks.tasks import paper_task
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.ros.link import RosLink
from toolhand.tool_nodes.version import version
from toolhand.training.env.episode import run_episode

SENTENCE = "pick up the far coconut water"
PATIENCE_S = 60.0
ABOUT = {
    "scene": "example",
    "scene_seed": 1,
    "seed": 0,
    "perception": "sim",
    "policy": "scripted",
    "protocol": "spacetools",
    "suite": "spacetools",
    "role": "operator",
    "approval": "auto",
    "transport": "ros",
    "turn_budget": 24,
    "version": version(),
}
"""What the graph tells of itself, whatever its client was started with."""
SAME_PLACE_M = 1e-4
SAME_IMAGE = 0.005
"""Share of values that may differ between two images of the same object."""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LaunchedGraph]:
    """The simulated graph in lockstep."""
    runs = tmp_path_factory.mktemp("runs")
    with started_graph({"lockstep": "true", "runs_dir": str(runs)}) as graph:
        yield graph


@pytest.fixture
def fresh_graph(tmp_path: Path) -> Iterator[LaunchedGraph]:
    """One for a test that leaves the arm where the next test's camera would see nothing else."""
    with started_graph({"lockstep": "true", "runs_dir": str(tmp_path)}) as graph:
        yield graph


@pytest.fixture
def link(graph: LaunchedGraph) -> Iterator[RosLink]:
    with RosLink(graph.environment) as link:
        yield link


class Heard:
    """Keeps what an operator hears, and does something at the first call of a tool."""

    def __init__(self, tool: str = "", then: Any = None) -> None:
        self.kinds: set[type[Event]] = set()
        self._tool, self._then = tool, then

    def __call__(self, event: Event) -> None:
        self.kinds.add(type(event))
        if self._then is not None and isinstance(event, ToolCalled) and event.call.name == self._tool:
            then, self._then = self._then, None
            then()


def test_every_process_of_the_graph_is_reached_from_this_machine_alone(graph: LaunchedGraph) -> None:
    everything = [os.getpid(), *graph.pids().values()]
    assert len(listening(everything)) >= 8  # the router and the nodes
    assert only_loopback(everything), listening(everything)


@pytest.mark.essential
def test_the_readmes_sentence_of_two_commands_is_carried_out_judged_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RCLPY_ZENOH_ROUTER", "tcp/127.0.0.1:1")  # where nobody listens: a graph must be started
    monkeypatch.setattr("toolhand.sim.animation.ANIMATION_FRAMES", 3)
    heard = Heard()
    sentence = "Pick up the cinnamon and place it in front of the rice box"
    command = RunCommand(sentence, runs_dir=tmp_path, transport="ros")
    result = run_over_ros(command, Hearing(heard), {"scene": "example"}, Interrupt())
    assert result["success"]
    assert result["truth"] == {"picked": True, "placed": True, "score": 2}
    assert {Thought, ToolCalled, ToolAnswered} <= heard.kinds
    run_dir = Path(result["run_dir"])
    assert run_dir.parent == tmp_path
    assert json.loads((run_dir / "result.json").read_text())["truth"]["placed"]
    report = (run_dir / "report.html").read_text()
    assert "Not judged" not in report
    assert "film" in report
    attempts = [json.loads(line) for line in (run_dir / "safety.jsonl").read_text().splitlines()]
    assert [attempt["outcome"] for attempt in attempts] == ["begun"]


def test_in_lockstep_an_episode_is_the_same_as_in_process() -> None:
    """What looks at pixels; rollouts over graphs are compared with the other perception, sim, where they are tested."""
    task, config = paper_task(13, 1), StationConfig(perception="pixels", seed=1)
    here = Station(task.scene, config)
    expected = run_episode(here, ScriptedPolicy(), task)
    with ros_station(task.scene, config) as there:
        outcome = run_episode(there, ScriptedPolicy(), task)
        objects = there.world.snapshot().objects
    assert [message.text for message in outcome.episode.messages] == [m.text for m in expected.episode.messages]
    assert outcome.truth == expected.truth
    # A pose crosses as a quaternion and the jaws' opening as an angle. What that rounds off, 1e-13, contacts amplify.
    for got, wanted in zip(outcome.episode.session.images, expected.episode.session.images, strict=True):
        assert (got.rgb != wanted.rgb).mean() < SAME_IMAGE
    for name, state in here.world.snapshot().objects.items():
        np.testing.assert_allclose(objects[name].position_m, state.position_m, atol=SAME_PLACE_M)


def test_a_tool_that_is_killed_in_the_middle_is_named_and_the_next_command_works(
    graph: LaunchedGraph, link: RosLink
) -> None:
    process = graph.process("segmentation")
    killed = Operator(link, Heard("sam2.segment_from_point", lambda: process.send(signal.SIGKILL)))
    starts = process.starts
    episode = killed.carry_out(SENTENCE)
    if not episode.success:  # the call may have been over before the kill
        assert episode.error_code is ErrorCode.UNAVAILABLE
        assert "segment" in episode.answer
    assert process.starts >= starts
    graph.wait_ready(READY_TIMEOUT_S, READY_SERVICES)
    assert Operator(link, Heard()).carry_out("put it on the table").success


def test_a_graph_that_runs_is_used_as_it_is(
    graph: LaunchedGraph, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name, value in graph.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    command = RunCommand("pick up the moon", scene=DefaultText("3"), animation=False, transport="ros")
    about = {"scene": "3", "seed": 5, "approval": "dry-run", "version": version()}
    known = run_over_ros(command, Hearing(Heard()), about, Interrupt())
    assert "as it was started: scene example, robot gen3, perception sim, seed 0" in capsys.readouterr().err
    assert (known["success"], known["error_code"]) == (False, ErrorCode.NOT_RECOGNISED)
    assert not list(tmp_path.iterdir())
    run_dir = Path(known["run_dir"])
    assert not (run_dir / "safety.jsonl").exists()  # what other commands tried is in their folders
    told = json.loads((run_dir / "result.json").read_text())
    for result in (known, told):
        assert {key: result[key] for key in ABOUT} == ABOUT
        assert result["command"] == "toolhand run 'pick up the moon'"
        assert result["judged_against"]["source"] == "the robot's own reading of the sentence, not independent"
    report = (run_dir / "report.html").read_text()
    for words in ("To run it again", "toolhand run", "What was understood"):
        assert words in report


def test_a_router_that_is_killed_in_the_middle_disturbs_nobody(graph: LaunchedGraph, link: RosLink) -> None:
    link.call(ResetSimulation, "/reset_simulation", ResetSimulation.Request())
    router = graph.process("router")
    before = router.starts
    operator = Operator(link, Heard("robot.execute_grasp", lambda: router.send(signal.SIGKILL)))
    episode = operator.carry_out("Pick up the cinnamon and place it in front of the rice box")
    assert (episode.success, episode.error_code) == (True, None), episode.answer
    assert router.starts == before + 1
    graph.wait_ready(READY_TIMEOUT_S, READY_SERVICES)  # as somebody who comes new finds it
    with RosLink(graph.environment) as newcomer:
        assert Operator(newcomer, Heard()).carry_out("fold the towel").error_code is ErrorCode.NOT_UNDERSTOOD


def test_when_the_agent_dies_the_arm_stops_and_the_next_command_works(fresh_graph: LaunchedGraph) -> None:
    graph, agent = fresh_graph, fresh_graph.process("agent")

    def kill_during_the_motion() -> None:
        threading.Timer(0.5, lambda: agent.send(signal.SIGKILL)).start()

    with RosLink(graph.environment) as link:
        world = RemoteWorld(link)
        episode = Operator(link, Heard("robot.execute_grasp", kill_during_the_motion)).carry_out(SENTENCE)
        assert episode.error_code is ErrorCode.UNAVAILABLE
        assert "run_command went away" in episode.answer
        graph.wait_ready(READY_TIMEOUT_S, READY_SERVICES)
        # In lockstep time passes only while something moves. The motion notices after a second that its client is gone.
        deadline = time.monotonic() + PATIENCE_S
        before = -1.0
        while world.time != before:
            assert time.monotonic() < deadline, "the arm goes on moving"
            before = world.time
            time.sleep(2.0)
        again = Operator(link, Heard()).carry_out(SENTENCE)
        assert again.success, again.answer


def test_after_a_cancel_in_the_middle_of_a_motion_the_same_command_works(fresh_graph: LaunchedGraph) -> None:
    def cancel_during_the_motion() -> None:
        threading.Timer(0.3, operator.cancel).start()

    with RosLink(fresh_graph.environment) as link:
        operator = Operator(link, Heard("robot.execute_grasp", cancel_during_the_motion))
        episode = operator.carry_out(SENTENCE)
        assert episode.error_code is ErrorCode.CANCELLED
        assert episode.answer.startswith("Cancelled by the operator during robot.execute_grasp")
        again = Operator(link, Heard()).carry_out(SENTENCE)
        assert again.success, again.answer
