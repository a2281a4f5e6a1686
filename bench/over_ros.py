"""Commands and episodes over ROS 2: in the graph that runs on this domain, or in one that is started for the purpose.

Nothing here imports rclpy or zenoh before it is needed.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agent_node.agent import Listener
from agent_node.recording import write_json
from agent_node.report import complete_report
from agent_node.runs import summarize as summarize_episode
from bench.console import Interrupt, say
from bench.episode import animate, judged, summarize
from bench.replay import tell_end
from sim.scene_files import scene_yaml
from sim.scenes import Scene
from sim.station import StationConfig
from tool_nodes.extras import pip_install
from tool_nodes.results import INFRASTRUCTURE_ERRORS, ErrorCode, ToolError

if TYPE_CHECKING:
    from bench.ros_station import RosStation
    from rclpy_zenoh.launch import LaunchedGraph

Transport = Literal["process", "ros"]

READY_TIMEOUT_S = 180.0
"""Bounds the wait on an overloaded machine; on an idle one the graph takes about 6 s."""
READY_SERVICES = (
    "/run_command/_action/send_goal", "/execute_grasp/_action/send_goal", "/place/_action/send_goal",
    "/get_depth", "/detect_points", "/segment", "/estimate_depth", "/compute_grasp", "/compute_bounding_box",
    "/sim/get_truth", "/sim/mark", "/step_simulation", "/get_current_world", "/stop",
)  # fmt: skip
"""What an episode calls; the graph is ready once all of these are there."""

_LINES_ON_FAILURE = 20
_OF_THE_CLIENT = ("animation", "began", "version")
"""Options and facts that are the client's own; the rest is told by the graph, where one runs already."""


@dataclass(frozen=True)
class RosRun:
    """What became of one command.

    Attributes:
        result: The contents of `result.json`.
        interrupted: Ctrl-C cancelled it.
    """

    result: dict[str, Any]
    success: bool
    error_code: ErrorCode | None
    interrupted: bool


def run_over_ros(
    text: str,
    scene: str,
    perception: str,
    policy: str,
    seed: int,
    suite: str,
    turns: int,
    runs_dir: Path,
    animation: bool,
    listener: Listener,
    more: Mapping[str, Any],
) -> RosRun:
    """Send one sentence to the agent's node, judge what came of it, complete its report. Arguments as `toolhand run`.

    A graph that serves run_command on this domain is used as it is; else one is started, in lockstep, and ended.

    Args:
        listener: Hears every step, as of agent_node.agent.Agent.
        more: Further entries of the result; a graph that runs already tells itself what it was started with.

    Raises:
        ToolError: UNAVAILABLE where there is no graph and none can be started.
    """
    pip_client = use_client()
    from bench.ros_command import Operator
    from bench.ros_link import RosLink
    from bench.ros_station import RosStation, has_simulator

    arguments = {
        "scene": scene, "perception": perception, "policy": policy, "seed": str(seed), "suites": suite,
        "turns": str(turns), "runs_dir": str(runs_dir.absolute()), "lockstep": "true",
    }  # fmt: skip
    with contextlib.ExitStack() as stack:
        environment: Mapping[str, str] = {}
        if graph_runs(pip_client):
            say("Using the graph that runs on this domain, with the scene and perception it was started with.")
            more = {key: value for key, value in more.items() if key in _OF_THE_CLIENT}
        else:
            began = time.monotonic()
            graph = stack.enter_context(started_graph(arguments))
            environment = graph.environment
            say(f"Started a graph of {len(graph.pids())} processes in {time.monotonic() - began:.1f} s.")
        link = stack.enter_context(RosLink(environment))
        operator = Operator(link, listener)
        station = RosStation(link, StationConfig(seed=seed)) if has_simulator(link) else None
        with Interrupt(operator.cancel) as interrupt:
            outcome = None if station is None else judged(station, text, operator.carry_out)
            episode = operator.carry_out(text) if outcome is None else outcome.episode
            known = summarize_episode(episode)
            if station is not None and outcome is not None:
                known = summarize(outcome, station)
            judgement = {key: known[key] for key in ("truth", "judged_against") if key in known}
            result = known | operator.result() | judgement | dict(more)
            tell_end(result)
            if operator.run_dir is not None:
                film = animate(station, lambda: interrupt.hit) if animation and station is not None else ([], [])
                _complete(operator.run_dir, result, film)
    return RosRun(result, episode.success, episode.error_code, interrupt.hit)


def _complete(run_dir: Path, result: Mapping[str, Any], film: Any) -> None:
    """Add truth and film to what the agent has written; its folder may lie on another machine."""
    report = run_dir / "report.html"
    if not report.is_file():
        say(f"  report on the agent's machine: {report}")
        return
    write_json(run_dir / "result.json", result)
    complete_report(report, result, *film)
    say(f"  report: {os.path.relpath(report)}")


@contextlib.contextmanager
def ros_station(scene: Scene, config: StationConfig, lockstep: bool = True) -> Iterator[RosStation]:
    """A station over a graph of its own that ends with the block.

    Args:
        scene: What stands on the table.
        config: Perception and seed.
        lockstep: False lets simulated time pass as the wall clock's.

    Raises:
        ToolError: UNAVAILABLE where the graph does not start.
    """
    use_client()
    from bench.ros_link import RosLink
    from bench.ros_station import RosStation

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scene.yaml"
        file.write_text(scene_yaml(scene), encoding="utf-8")
        arguments = {
            "scene": str(file), "perception": config.perception, "seed": str(config.seed),
            "lockstep": str(lockstep).lower(), "runs_dir": folder,
        }  # fmt: skip
        with started_graph(arguments) as graph, RosLink(graph.environment) as link:
            yield RosStation(link, config)


@contextlib.contextmanager
def started_graph(arguments: Mapping[str, str]) -> Iterator[LaunchedGraph]:
    """The simulated graph with a router of its own, ready, until the block ends.

    Args:
        arguments: Of launch/sim.launch.yaml.

    Raises:
        ToolError: UNAVAILABLE where it does not start; what its nodes wrote last is shown.
    """
    if not use_client():
        raise ToolError(
            ErrorCode.UNAVAILABLE, "No graph runs on this domain.",
            "Start one with `ros2 launch toolhand_bringup sim.launch.yaml`.",
        )  # fmt: skip
    from rclpy_zenoh.launch import LaunchError, launch
    from rclpy_zenoh.launch.packages import share_folder

    lines: deque[str] = deque(maxlen=_LINES_ON_FAILURE)
    try:
        file = share_folder("toolhand_bringup") / "launch" / "sim.launch.yaml"
        domain = 1 + os.getpid() % 200
        with launch(file, arguments, domain=domain, router_port=0, sink=lines.append) as graph:
            graph.wait_ready(READY_TIMEOUT_S, READY_SERVICES)
            try:
                yield graph
            except ToolError as error:
                if error.code in INFRASTRUCTURE_ERRORS:
                    say("\n".join(lines))
                raise
    except LaunchError as error:
        say("\n".join(lines))
        raise ToolError(ErrorCode.UNAVAILABLE, str(error)) from error


def graph_runs(pip_client: bool) -> bool:
    """True if a graph on this domain serves run_command. Raises ToolError INVALID_ARGUMENT for a bad environment."""
    from bench.ros_link import RosLink

    if pip_client:
        from rclpy_zenoh.launch import router_answers
        from rclpy_zenoh.wire import SessionError, SessionOptions

        try:
            router = SessionOptions.from_environment().router
        except SessionError as error:
            raise ToolError(ErrorCode.INVALID_ARGUMENT, str(error)) from error
        if router is None or not router_answers(router):
            return False
    with RosLink({"RCLPY_ZENOH_CLIENT": "1"}) as link:  # who only looks is no peer of the nodes
        return link.offers(READY_SERVICES[0])


def use_client() -> bool:
    """Make rclpy importable. True for the client that needs no ROS 2. Raises ToolError UNAVAILABLE."""
    try:
        from rclpy_zenoh.overlay import install

        pip_client = install()
        import_module("zenoh" if pip_client else "rclpy")
    except ImportError as error:
        raise ToolError(
            ErrorCode.UNAVAILABLE,
            f"The ROS 2 client cannot be loaded: {error}.",
            f"Install it with: {pip_install('eclipse-zenoh xxhash')}",
        ) from error
    return pip_client
