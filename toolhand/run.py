"""`toolhand run`: one sentence, carried out, judged and reported."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from agent_node.console.narration import Narrator, say_missing
from agent_node.console.options import PackagePath, Perception, PolicySpec, PortOptions, ProtocolName, RobotName, Suite
from agent_node.console.terminal import (
    INTERRUPTED,
    AsJson,
    Interrupt,
    chosen_by_the_user,
    emit,
    exit_status_of,
)
from agent_node.policies.options import ModelSettings, PolicyOptions
from sim.ros.graph import Transport
from tool_nodes.port_names import AS_PRESET, DEFAULT_PRESET
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.version import version
from toolhand import options as stations
from toolhand.options import (
    DEFAULT_ROBOT,
    DefaultNumber,
    DefaultText,
    SceneName,
    Seed,
    ToolboxRole,
    typed,
)
from toolhand.repeating import command_line, recorded

if TYPE_CHECKING:
    from agent_node.runs.folder import Unwritten

Approval = Annotated[
    Literal["auto", "ask-motion", "dry-run"],
    tyro.conf.arg(
        help='"auto" moves within the limits, "ask-motion" shows each planned motion and asks at this terminal, '
        '"dry-run" plans and moves nothing; it ends with 0 where the first motion is planned and within the limits.'
    ),
]

RUNS_DIR = Path("runs")
"""Where the folder of a run is made, unless another place is given."""

OF_A_GRAPH = ("scene", "perception", "policy", "protocol", "seed", "suite", "turns", "robot")
"""Options that a graph was started with: what is typed here must be what it has."""

_DEFAULT_MODEL = ModelSettings()


def run(
    text: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TEXT")],
    scene: SceneName = DefaultText("example"),
    perception: Perception = DefaultText(DEFAULT_PRESET),
    ports: PortOptions = AS_PRESET,
    policy: PolicySpec = DefaultText("scripted"),
    protocol: ProtocolName = DefaultText("spacetools"),
    seed: Seed = DefaultNumber(0),
    suite: Suite = DefaultText("spacetools"),
    role: ToolboxRole = "operator",
    approval: Approval = "auto",
    turns: int = DefaultNumber(24),
    runs_dir: Path = RUNS_DIR,
    animation: bool = True,
    record_depth: bool = False,
    transport: Transport = "process",
    own_graph: bool = False,
    robot: RobotName = DefaultText(DEFAULT_ROBOT),
    package_path: PackagePath = "",
    model: ModelSettings = _DEFAULT_MODEL,
    as_json: AsJson = False,
) -> int:
    """Carry out one sentence on the simulated robot and write a report.

    The run's folder holds report.html, result.json, trajectory.jsonl, the pictures, run.mcap, and
    safety.jsonl with every attempt to move. Ctrl-C stops the arm.

    Args:
        text: What the robot should do, e.g. "pick up the far coconut water".
        turns: Assistant turns before the command fails with TURN_BUDGET; 1 or more.
        runs_dir: Where the folder of the run is made.
        animation: Render the motion for the report.
        record_depth: Keep the depth of camera pictures in run.mcap; in process.
        transport: "process" has the tools in this process; "ros" sends the sentence to the agent's node, of the graph
            that runs on this ROS domain or of one that is started with the scene and ended again. A graph that runs
            with another scene, robot or perception than you name here is left alone.
        own_graph: With the transport ros, start a graph in any case, on a router and a domain of its own.
    """
    given = dict(locals())  # all options: what is added to them is recorded too
    from agent_node.console.approve import TerminalApprover
    from agent_node.conversation_settings import ConversationSettings
    from agent_node.policies.registry import make_policy
    from agent_node.protocol import load_protocol
    from agent_node.runs.folder import SAFETY_FILE, Unwritten, new_run_dir, time_now, write_json, write_trajectory
    from agent_node.runs.mcap.recorder import Recorder
    from agent_node.runs.report import write_report
    from sim.animation import animate
    from tool_nodes.motion.guard import Mode, MotionGuard
    from tool_nodes.motion.limits import MotionLimits
    from tool_nodes.motion.packages import use_packages
    from tool_nodes.motion.robot_model import load_robot
    from tool_nodes.tools.suites import parse_suites
    from training.env.episode import run_episode, summarize
    from training.env.goal_from_text import task_from_text
    from training.env.recorded import motion_log, truth_log

    if own_graph and transport != "ros":
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "--own-graph is for --transport ros.")
    if record_depth and transport == "ros":
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "--record-depth is for --transport process.")
    if turns < 1:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"turns must be 1 or more, got {turns}.")
    form, narrator = load_protocol(protocol), Narrator(as_json)
    if policy == "scripted" and "spacetools" not in parse_suites(suite):
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT, "The scripted policy calls SpaceTools' tools: the suite must hold them."
        )
    about = recorded(given) | {"began": time_now(), "version": version(), "command": command_line(run, given)}
    use_packages(package_path)
    if transport == "ros":
        from toolhand.run_over_ros import run_over_ros

        if (policy, protocol, role, approval) != ("scripted", "spacetools", "operator", "auto"):
            raise ToolError(
                ErrorCode.INVALID_ARGUMENT,
                "Over ROS the agent's node has its own policy, protocol and role, the motion node its approval.",
                "Start the graph with policy:=..., protocol:=..., role:=... and approval:=... and leave them out here.",
            )
        stations.named_scene(scene)
        ports.require_known(perception)
        load_robot(robot)
        chosen = typed({name: given[name] for name in OF_A_GRAPH}) | {"ports": ports.chosen}
        asked = chosen if runs_dir == RUNS_DIR else chosen | {"runs_dir": str(runs_dir)}
        over_ros = run_over_ros(
            text, scene, perception, ports, policy, seed, suite, turns, runs_dir, animation, narrator, about, robot,
            None if own_graph else asked,
        )  # fmt: skip
        if as_json:
            emit(over_ros.result)
        return INTERRUPTED if over_ros.interrupted else exit_status_of(over_ros.result)
    hit: list[Interrupt] = []

    def stopped() -> bool:
        return bool(hit) and hit[0].hit

    limits = MotionLimits(robot=load_robot(robot))
    guard = MotionGuard(Mode(approval), TerminalApprover(interrupted=stopped), limits)
    station = stations.named_station(
        scene, perception, seed, suite=suite, guard=guard, role=role, ports=ports, robot=robot
    )
    options = PolicyOptions(**asdict(model), seed=seed, turns=turns, stopped=stopped)
    decides = make_policy(policy, form, station.toolbox.schemas(), options)
    with chosen_by_the_user():
        run_dir = new_run_dir(runs_dir)
    recorder = Recorder(text, lambda: station.world.time, narrator.hear, depth=record_depth)
    result, missing = None, Unwritten()
    try:
        with _attempts_logged(run_dir / SAFETY_FILE, missing), Interrupt(station.arm.stop) as interrupt:
            hit.append(interrupt)
            narrator.header(text, about)
            guard.begin_command()
            outcome = run_episode(
                station, decides, task_from_text(text, station),
                ConversationSettings(turns, form), stopped=stopped, listener=recorder.hear,
            )  # fmt: skip
            episode = outcome.episode
            result = summarize(outcome, station) | about | {"run_dir": str(run_dir)}
            narrator.summary(result)
            # The outcome first, and each file by itself: what is left of a disk may hold one and not the other.
            with missing.noted():
                write_json(run_dir / "result.json", result)
            with missing.noted():
                write_trajectory(run_dir, episode, station.toolbox.schemas())
            frames, times = animate(station, cancelled=stopped) if animation else ([], [])
            with missing.noted():
                write_report(run_dir / "report.html", episode, result, frames, times)
                narrator.line(f"  report: {run_dir / 'report.html'}")
    finally:
        if recorder.heard:  # also of a run that a second Ctrl-C has ended
            with missing.noted():
                recorder.write(run_dir, motion_log(station), result, truth=truth_log(station))
        say_missing(missing.reasons)
        with contextlib.suppress(OSError):
            run_dir.rmdir()  # which only an empty folder allows: nothing is left of a run that never began
    if as_json:
        emit(missing.beside(result))
    return INTERRUPTED if interrupt.hit else exit_status_of(result)


class _LinesOfAttempts(logging.FileHandler):
    """Tells once that it cannot write, and lets the motion go on that it writes about."""

    def __init__(self, file: Path, missing: Unwritten) -> None:
        super().__init__(file, encoding="utf-8", delay=True)
        self._missing, self._failed = missing, False

    def emit(self, record: logging.LogRecord) -> None:
        if not self._failed:
            with self._told():
                super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            super().handleError(record)
            return
        with self._told():
            raise error

    def close(self) -> None:
        with self._told():
            super().close()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if not self._failed:
                self._missing.reasons.append(f"Cannot write {self.baseFilename}: {error.strerror}.")
            self._failed = True


@contextlib.contextmanager
def _attempts_logged(file: Path, missing: Unwritten) -> Iterator[None]:
    """Every attempt to move becomes a line of a file, which is there only if there was one."""
    from tool_nodes.motion.guard import LOG

    handler = _LinesOfAttempts(file, missing)
    handler.addFilter(logging.Filter(LOG.name))  # others speak of other things, and not in JSON
    log = logging.getLogger("toolhand")
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
        handler.close()
