"""`toolhand run --transport ros`: in the graph that runs on this domain, or in one that is started for the purpose.

Nothing here imports rclpy or zenoh before it is needed.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolhand.agent_node.console.ask import operator_at_terminal
from toolhand.agent_node.console.narration import Narrator, say_missing
from toolhand.agent_node.console.terminal import Interrupt, say, terminal_session
from toolhand.agent_node.episode import summarize as summarize_episode
from toolhand.agent_node.events import Ask, Listener, nobody
from toolhand.agent_node.runs.folder import Unwritten, write_json
from toolhand.agent_node.runs.report import complete_report
from toolhand.cli import options as stations
from toolhand.cli.run_command import RunCommand
from toolhand.sim.animation import animate
from toolhand.sim.objects.chosen import absolute_sets
from toolhand.sim.ros.graph import started_graph
from toolhand.sim.station import StationConfig
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.results import unavailable
from toolhand.tool_nodes.ros.client import graph_runs, use_client
from toolhand.training.env.episode import summarize
from toolhand.training.env.goal_from_text import judged_sentence

if TYPE_CHECKING:
    from toolhand.agent_node.ros.operator import Operator
    from toolhand.tool_nodes.ros.link import RosLink

_OF_THE_CLIENT = ("animation", "began", "version")
"""Options and facts that are the client's own; the rest comes from the graph, where one runs already."""


@dataclass(frozen=True)
class FoundGraph:
    """A graph that takes commands.

    Attributes:
        link: This process's place in it.
        joined: It ran before.
        simulated: It has the facts of Toolhand's own simulator, and they are wanted.
    """

    link: RosLink
    joined: bool
    simulated: bool


@contextlib.contextmanager
def found_graph(command: RunCommand) -> Iterator[FoundGraph]:
    """The graph that runs on this domain, or one that is started in lockstep and ended with the block.

    Args:
        command: The options.

    Raises:
        ToolError: UNAVAILABLE where there is no graph and none can be started; INVALID_ARGUMENT where one runs that is
            not what was asked for.
    """
    stations.named_scene(command.scene, command.objects)
    command.ports.require_known(command.perception)
    load_robot(command.robot)
    asked = command.asked_of_a_graph
    pip_client = use_client()
    from toolhand.sim.ros.running import RunningGraph, domain
    from toolhand.sim.ros.station import has_simulator
    from toolhand.tool_nodes.ros.link import RosLink

    arguments = {
        "scene": command.scene,
        "objects": absolute_sets(command.objects),
        "perception": command.perception,
        "policy": command.policy,
        "seed": str(command.seed),
        "suites": command.suites,
        "turns": str(command.turns),
        "runs_dir": str(command.runs_dir.absolute()),
        "lockstep": "true",
        "robot": command.robot,
        **command.ports.chosen,
    }
    with contextlib.ExitStack() as stack:
        environment: Mapping[str, str] = {}
        joined = asked is not None and graph_runs(pip_client)
        if not joined and command.simulator != "toolhand":
            raise unavailable(
                f"No graph runs on ROS domain {domain()}, and none with {command.simulator} is started from here.",
                "Start the simulator, then `toolhand up isaac`.",
            )
        if not joined:
            began = time.monotonic()
            graph = stack.enter_context(started_graph(arguments))
            environment = graph.environment
            say(f"Started a graph of {len(graph.pids())} processes in {time.monotonic() - began:.1f} s.")
        link = stack.enter_context(RosLink(environment))
        simulated = not command.judged_by_entities and has_simulator(link)
        if joined:
            running = RunningGraph(link, simulated)
            running.require(asked or {})
            say(f"Using the graph that runs on ROS domain {domain()}, as it was started: {running}.")
        yield FoundGraph(link, joined, simulated)


def run_over_ros(
    command: RunCommand, narrator: Narrator, about: Mapping[str, Any], interrupt: Interrupt
) -> dict[str, Any]:
    """Send the sentence of a command to the agent's node, judge what came of it, complete its report; its result.

    A graph that serves run_command on this domain is used as it is; else one is started, in lockstep, and ended.

    Args:
        command: The options.
        narrator: Reporter of every event and of the end.
        about: Further entries of the result; a graph that runs already reports its own.
        interrupt: Is bound to the command, which it cancels.

    Raises:
        ToolError: UNAVAILABLE where there is no graph and none can be started; INVALID_ARGUMENT where one runs that is
            not what was asked for.
    """
    scene = stations.named_scene(command.scene, command.objects)
    robot = load_robot(command.robot)
    with contextlib.ExitStack() as stack:
        graph = stack.enter_context(found_graph(command))
        from toolhand.agent_node.ros.operator import Operator
        from toolhand.sim.ros.entity_world import followed_world
        from toolhand.sim.ros.station import RosStation

        link = graph.link
        if graph.joined:
            about = {key: value for key, value in about.items() if key in _OF_THE_CLIENT}
        operator = Operator(link, narrator.hear, operator_at_terminal(interrupted=interrupt.is_hit), terminal_session())
        station = RosStation(link, StationConfig(seed=command.seed)) if graph.simulated else None
        if command.judged_by_entities:
            world = followed_world(link, command.simulator, scene, robot)
            stack.callback(world.close)
            station = RosStation(link, StationConfig(seed=command.seed), world)
        with interrupt:
            interrupt.bind(operator.cancel)
            outcome = None
            if station is not None:
                outcome = judged_sentence(station, lambda: operator.carry_out(command.text), lambda _: operator.answers)
            episode = operator.carry_out(command.text) if outcome is None else outcome.episode
            known = summarize_episode(episode)
            if station is not None and outcome is not None:
                known = summarize(outcome, station)
            judgement = {key: known[key] for key in ("truth", "judged_against") if key in known}
            result = known | operator.result() | judgement | dict(about)
            narrator.summary(result)
            for folder in sorted({*operator.run_dirs} - {operator.run_dir}):  # one folder may hold several commands
                narrator.line(f"  report: {os.path.relpath(folder / 'report.html')}")
            if operator.run_dir is not None:
                film = animate(station, interrupt.is_hit) if command.animation and station is not None else ([], [])
                missing = Unwritten()
                with missing.noted():
                    _complete(operator.run_dir, result, film, narrator)
                say_missing(missing.reasons)
                result = missing.beside(result)
    return result


@contextlib.contextmanager
def operator_of_a_graph(command: RunCommand, listener: Listener, ask: Ask = nobody) -> Iterator[Operator]:
    """Somebody who speaks to a graph for as long as the block lasts, in the dialogue of this terminal or process.

    Args:
        command: The options; their sentence is not said.
        listener: Hears every event.
        ask: Answers questions while they wait; with `nobody` the next words do.

    Raises:
        ToolError: As `found_graph`.
    """
    with found_graph(command) as graph:
        from toolhand.agent_node.ros.operator import Operator

        session = terminal_session() or f"{socket.gethostname()}:{os.getpid()}"
        yield Operator(graph.link, listener, ask, session)


def _complete(run_dir: Path, result: Mapping[str, Any], film: Any, narrator: Narrator) -> None:
    """Add truth and film to what the agent has written; its folder may lie on another machine."""
    report = run_dir / "report.html"
    if not report.is_file():
        narrator.line(f"  report on the agent's machine: {report}")
        return
    write_json(run_dir / "result.json", result)
    complete_report(report, result, *film)
    narrator.line(f"  report: {os.path.relpath(report)}")
