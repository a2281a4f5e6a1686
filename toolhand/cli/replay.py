"""`toolhand replay`: a recorded run once more, at the terminal or in the simulator; and its narration."""

from __future__ import annotations

import functools
import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from toolhand.agent_node.console.narration import Narrator
from toolhand.agent_node.console.terminal import AsJson, Interrupt, emit, exit_status_of
from toolhand.agent_node.conversation_settings import TURN_BUDGET, ConversationSettings
from toolhand.agent_node.events import Ask, Listener, OperatorAnswer
from toolhand.agent_node.runs.index import RESULT_FILE, read_result
from toolhand.agent_node.runs.mcap import RUN_FILE
from toolhand.tool_nodes.port_names import PORTS, PortNames
from toolhand.tool_nodes.results import ErrorCode, invalid
from toolhand.tool_nodes.robot_names import DEFAULT_ROBOT

if TYPE_CHECKING:
    from toolhand.agent_node.episode import Episode
    from toolhand.agent_node.runs.mcap.reading import RecordedStep

MAX_SPEED = 1000.0
"""Largest factor of `--speed` [-]."""

_ROBOT = re.compile(r"[a-z0-9_]+")
"""A robot that is named, and no folder."""

_LONGEST_SLEEP_S = 0.2
"""So that Ctrl-C is heard."""


def replay(
    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")],
    speed: float | None = None,
    again: bool = False,
    trusted: bool = False,
    as_json: AsJson = False,
) -> int:
    """Print a recorded run once more, as `toolhand run` printed it, with the same result.

    Args:
        run: Folder of the run, or its run.mcap.
        speed: How much faster than the run's own time, e.g. 2; all at once where it is not given.
        again: Carry it out once more in the simulator with the recorded words, and compare what comes of it.
        trusted: With --again: the run is your own, and the models, servers and folders that it names are used.
    """
    if speed is not None and not (math.isfinite(speed) and 0.0 < speed <= MAX_SPEED):
        raise invalid(f"speed must be above 0, at most {MAX_SPEED:.0f}, got {speed}.")
    record = load(run)
    if again:
        return _again(record, as_json, trusted)
    narrator = Narrator(as_json)
    narrator.header(record.task, record.result or {})
    play(record, narrator.hear, speed)
    if record.result is None:
        narrator.line("\nThe run was interrupted here, and has no result.")
        if as_json:
            emit({"task": record.task, "success": False, "error_code": ErrorCode.STOPPED, "answer": "Interrupted."})
        return 1
    narrator.summary(record.result)
    report = record.folder / "report.html"
    if report.is_file():
        narrator.line(f"  report: {report}")
    if as_json:
        emit(record.result)
    return exit_status_of(record.result)


@dataclass(frozen=True)
class ReplayedRun:
    """A recorded run.

    Attributes:
        folder: Where its files lie.
        result: Its result.json; what the recording says of it where there is none; None after an interruption.
        steps: Events in the order in which they happened.
    """

    folder: Path
    task: str
    result: Mapping[str, Any] | None
    steps: tuple[RecordedStep, ...]


def load(run: Path) -> ReplayedRun:
    """Read a run, and check that its files are whole and belong together.

    Args:
        run: Its folder, or its run.mcap.

    Raises:
        ToolError: INVALID_ARGUMENT, with what is wrong with it.
    """
    from toolhand.agent_node.runs.mcap.reading import read_run

    if not run.exists():
        raise invalid(f"There is no run {run}.", "`toolhand runs` lists the runs.")
    folder = run if run.is_dir() else run.parent
    recorded = read_run(folder / RUN_FILE if run.is_dir() else run)
    result = recorded.result
    if (folder / RESULT_FILE).is_file():
        written = read_result(folder / RESULT_FILE)
        if written.get("task") != recorded.task or _differences(result or written, written, ("truth",)):
            raise invalid(f"{folder / RESULT_FILE} and the recording are not of the same run.")
        result = written
    return ReplayedRun(folder, recorded.task, result, recorded.steps)


def play(
    record: ReplayedRun, listener: Listener, speed: float | None = None, sleep: Callable[[float], None] = time.sleep
) -> None:
    """Let a listener hear the steps of a run.

    Args:
        record: The run.
        listener: Hears each event.
        speed: How much faster than the run's own time; None waits for nothing.
        sleep: Function that waits a number of seconds.
    """
    before = record.steps[0].time_s if record.steps else 0.0
    for step in record.steps:
        if speed is not None:
            for pause in _pauses((step.time_s - before) / speed):
                sleep(pause)
        before = step.time_s
        listener(step.event)


def _pauses(seconds: float) -> Iterator[float]:
    while seconds > 0.0:
        yield min(seconds, _LONGEST_SLEEP_S)
        seconds -= _LONGEST_SLEEP_S


def _again(record: ReplayedRun, as_json: bool, trusted: bool = False) -> int:
    """Carry out the run with the recorded words, and compare; exit status 0 if the same came of it."""
    from toolhand.agent_node.advice import about_the_robot
    from toolhand.agent_node.agent import Agent
    from toolhand.agent_node.console.approve import TerminalApprover
    from toolhand.agent_node.memory import RobotMemory
    from toolhand.agent_node.policies.registry import protocol_of
    from toolhand.agent_node.policies.replay import Replay
    from toolhand.agent_node.session import POLICY_SESSION, PolicySession, SessionCommand, SessionSetup
    from toolhand.agent_node.session_kinds import session_of
    from toolhand.cli import options as stations
    from toolhand.cli.first_picture import first_picture, picture_file
    from toolhand.tool_nodes.motion.guard import Mode, MotionGuard
    from toolhand.tool_nodes.motion.limits import MotionLimits
    from toolhand.tool_nodes.motion.robot_model import load_robot
    from toolhand.training.env.episode import summarize
    from toolhand.training.env.goal_from_text import judged_sentence

    if record.result is None:
        raise invalid("The run was interrupted: there is nothing to compare with.")
    about = _simulated(record.result)
    if not trusted:
        _require_at_home(about)
    spec = str(record.result.get("policy", "scripted"))
    written = protocol_of(spec, about["protocol"], bool(record.result.get("advice")))
    interrupt = Interrupt()
    # What the operator had to approve then has to be approved now: the record of an approval is none.
    limits = MotionLimits(robot=load_robot(about["robot"]))
    guard = MotionGuard(Mode(about["approval"]), TerminalApprover(interrupted=interrupt.is_hit), limits)
    station = stations.named_station(
        about["scene"],
        about["perception"],
        about["seed"],
        suite=about["suite"],
        guard=guard,
        role=about["role"],
        ports=about["ports"],
        robot=about["robot"],
        objects=about["objects"],
    )
    narrator = Narrator(as_json)
    narrator.header(record.task, record.result)
    with interrupt:
        interrupt.bind(station.arm.stop)
        protocol = replace(written, robot=about_the_robot(station.robot, station.toolbox))
        settings = ConversationSettings(about["budget"], protocol)
        policy, ask, kind, robot = Replay(record.folder), _answers_of(record), session_of(spec), RobotMemory()
        toolbox = kind.tools(station.toolbox, robot, True)
        picture = record.result.get("picture")
        images = first_picture(picture_file(Path(picture)) if picture else None, station.camera, toolbox)

        def carry_out(command: SessionCommand) -> Episode:
            how = command.settings(settings)
            shown = images if command.look else ()
            return command.run(Agent(policy, toolbox, how, interrupt.is_hit, narrator.hear, ask, shown))

        session = PolicySession(SessionSetup(carry_out, robot))

        def hear(words: str) -> Episode:
            if kind is not POLICY_SESSION:
                return carry_out(SessionCommand(words))
            station.manipulator.return_to_park()
            guard.begin_command()
            return session.say(words).episodes[0]

        for words in policy.earlier:
            judged_sentence(station, functools.partial(hear, words))
            station.world.clear_log()
        outcome = judged_sentence(station, lambda: hear(record.task))
    now = {**record.result, **summarize(outcome, station)}
    narrator.summary(now)
    different = _differences(record.result, now)
    narrator.line(f"  {'the same as recorded' if not different else 'not as recorded: ' + '; '.join(different)}")
    if as_json:
        emit({**now, "same": not different, "differences": different})
    return 1 if different else 0


def _answers_of(record: ReplayedRun) -> Ask:
    """The operator of a recorded run: gives the answers that were given then, in their order."""
    said = iter([step.event for step in record.steps if isinstance(step.event, OperatorAnswer)])
    return lambda question: next(said, None)


def _simulated(result: Mapping[str, Any]) -> dict[str, Any]:
    """What a run was started with. Raises ToolError INVALID_ARGUMENT for a real arm's."""
    from toolhand.tool_nodes.motion.guard import Mode
    from toolhand.tool_nodes.tools.spacetools.robot import ROLES

    about = {
        "scene": result.get("scene"),
        "perception": result.get("perception"),
        "seed": result.get("seed"),
        "suite": result.get("suite", "spacetools"),
        "budget": result.get("turn_budget", TURN_BUDGET),
        "protocol": result.get("protocol", "spacetools"),
        "approval": result.get("approval", "auto"),
        "role": result.get("role", "operator"),
        "robot": result.get("robot", DEFAULT_ROBOT),
        "objects": result.get("objects", ""),
    }
    numbers = ("seed", "budget")
    wrong = [key for key, value in about.items() if type(value) is not (int if key in numbers else str)]
    allowed = {"approval": list(Mode), "role": ROLES}
    wrong = wrong or [key for key, values in allowed.items() if about[key] not in values]
    ports = result.get("ports", {})
    if wrong or not about["perception"] or not isinstance(ports, Mapping) or not set(ports) <= set(PORTS):
        raise invalid(
            "Only a run in the simulator of this process can be carried out again.",
            f"Its result.json does not say: {', '.join(wrong) or 'the perception'}.",
        )
    about["ports"] = PortNames(**{port: str(name) for port, name in ports.items()})
    about["ports"].require_known(about["perception"])
    return about


def _require_at_home(about: Mapping[str, Any]) -> None:
    """Refuse what a file of another person may not decide: which server is asked, and which weights are fetched.

    Raises:
        ToolError: INVALID_ARGUMENT.
    """
    ports = {port: getattr(about["ports"], port) for port in PORTS}
    named = [
        f"the {port} {name!r}"
        for port, name in {**ports, "perception": about["perception"]}.items()
        if any(part.partition(":")[2] or part.startswith("served") for part in name.split("+"))
    ]
    if about["robot"] != DEFAULT_ROBOT and not _ROBOT.fullmatch(about["robot"]):
        named.append(f"the robot {about['robot'][:60]!r}")
    if about["objects"]:
        named.append(f"the object sets {about['objects'][:60]!r}")
    if named:
        raise invalid(
            f"The record names {' and '.join(named)[:300]}, which may lead anywhere.",
            "Add --trusted if the run is your own.",
        )


def _differences(recorded: Mapping[str, Any], now: Mapping[str, Any], but: tuple[str, ...] = ()) -> list[str]:
    """What both say and say differently, without what differs between any two runs of a seed."""
    from toolhand.agent_node.runs.mcap.recorder import VOLATILE

    return [
        f"{key} is {json.dumps(now[key])}, was {json.dumps(value)}"
        for key, value in recorded.items()
        if key in now and key not in (*VOLATILE, *but) and now[key] != value
    ]
