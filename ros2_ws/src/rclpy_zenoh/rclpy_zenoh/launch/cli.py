"""`python -m rclpy_zenoh.launch FILE [NAME:=VALUE ...]`: run a launch file until Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from rclpy_zenoh.launch.errors import LaunchError
from rclpy_zenoh.launch.graph import LaunchedGraph, launch
from rclpy_zenoh.launch.keys import ServiceKeys, service_keys
from rclpy_zenoh.launch.plan import Argument, declared_arguments
from rclpy_zenoh.launch.process import Usage
from rclpy_zenoh.wire import SessionOptions

BAD_INPUT = 2
READY_TIMEOUT_S = 180.0
_WAKE_S = 0.1


NextSteps = Callable[[LaunchedGraph, str, Mapping[str, str]], list[str]]
"""Command lines that do something with a graph that is ready.

It is given the graph, what a line for it begins with (see `shell_settings`), and the arguments of the launch file.
"""


def _look_around(graph: LaunchedGraph, settings: str, arguments: Mapping[str, str]) -> list[str]:
    return [f"{settings}python -m rclpy_zenoh.cli node list"]


@dataclass(frozen=True)
class Launcher:
    """What a project that offers this command line under a name of its own adds to it.

    Attributes:
        prog: Its name in help texts.
        example: A launch file, for the help text.
        named: Launch files that can be given by a name.
        keys: Keys of the terminal that call services of the graph.
        next_steps: Commands that the output proposes for another shell.
    """

    prog: str = "python -m rclpy_zenoh.launch"
    example: str = "robot.launch.yaml"
    named: Mapping[str, Path] = field(default_factory=dict)
    keys: ServiceKeys = field(default_factory=ServiceKeys)
    next_steps: NextSteps = _look_around


def main(argv: list[str] | None = None, launcher: Launcher = Launcher()) -> int:
    """Run the command line. Returns the exit status: 0, 1 where a process failed, 2 for wrong input."""
    parser = _parser(launcher)
    given = parser.parse_args(argv)
    file = launcher.named.get(given.file, Path(given.file))
    try:
        if not given.file:
            names = f", {', '.join(launcher.named)}, or the path of one" if launcher.named else ", by its path"
            raise LaunchError(f"Name a launch file{names}.")
        if launcher.named and not file.is_file():
            names = ", ".join(launcher.named)
            raise LaunchError(f"There is no launch file {given.file!r}: give the path of one, or a name: {names}.")
        if given.show_args:
            print("\n".join(map(_describe, declared_arguments(file))))
            return 0
        arguments = dict(_assignment(text) for text in given.arguments)
        _say(f"Starting {file} ...")
        graph = launch(
            file, arguments, domain=given.domain, router_port=given.router_port, sink=_say, forked=given.forked
        )
    except LaunchError as error:
        _say(str(error))
        return BAD_INPUT
    return _run(graph, given.usage, launcher, arguments)


def _parser(launcher: Launcher) -> argparse.ArgumentParser:
    keys = f" At a terminal: {launcher.keys.help}" if launcher.keys.help else ""
    description = f"Start the nodes of a launch file; Ctrl-C ends them.{keys}"
    parser = argparse.ArgumentParser(prog=launcher.prog, description=description)
    names = f"; or {', '.join(launcher.named)}" if launcher.named else ""
    parser.add_argument(
        "file", nargs="?", default="", help=f"launch file in ROS 2's YAML frontend, e.g. {launcher.example}{names}"
    )
    parser.add_argument("arguments", nargs="*", metavar="NAME:=VALUE", help="arguments that the file declares")
    parser.add_argument("--domain", type=int, help="ROS domain; otherwise that of ROS_DOMAIN_ID, or 0")
    parser.add_argument("--router-port", type=int, help="port of the router; 0 for a router of its own on a free port")
    parser.add_argument("-s", "--show-args", action="store_true", help="list the arguments of the file")
    parser.add_argument(
        "--no-fork",
        dest="forked",
        action="store_false",
        help="start every node as a Python of its own; else nodes are forked from one that has imported their modules",
    )
    parser.add_argument("--usage", action="store_true", help="once it is ready, list the memory of each process")
    return parser


def _run(graph: LaunchedGraph, usage: bool, launcher: Launcher, arguments: Mapping[str, str]) -> int:
    """Serve until the graph ends, or a signal asks for it; a second signal hurries the end. Keys call services."""
    asked = threading.Event()

    def on_signal(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            graph.hurry()
        asked.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)
    end = None
    with service_keys(launcher.keys, graph.domain, graph.endpoint, _say) as keys:
        steps = launcher.next_steps(graph, shell_settings(graph), arguments)
        help_of_keys = launcher.keys.help if keys.listening else ""
        watcher = threading.Thread(target=_announce, args=(graph, usage, steps, help_of_keys), daemon=True)
        watcher.start()
        while end is None and not asked.is_set():
            end = graph.wait(_WAKE_S)
    if end is not None:
        _say(f"{end.reason[0].upper()}{end.reason[1:]}.")
    graph.close()
    watcher.join()
    return end.status if end is not None else 0


def _announce(graph: LaunchedGraph, usage: bool, steps: list[str], help_of_keys: str) -> None:
    _say(f"Started {len(graph.labels)} processes: {', '.join(graph.labels)}.")
    try:
        seconds = graph.wait_ready(READY_TIMEOUT_S, on_missing=_tell_missing)
    except LaunchError as error:
        if not graph.closing and graph.wait(0.0) is None:  # else the end of the graph says why
            _say(str(error))
        return
    for sentence in graph.without_effect():
        _say(f"Warning: {sentence}")
    _say(f"Ready after {seconds:.1f} s: domain {graph.domain}, router {graph.endpoint}. Ctrl-C ends it.")
    _say("In another terminal:\n" + "\n".join(f"    {step}" for step in steps))
    if help_of_keys:
        _say(f"In this one: {help_of_keys}")
    if usage:
        _say(usage_table(graph.usage()))


def _tell_missing(missing: list[str]) -> None:
    _say(f"Waiting for {', '.join(what.removeprefix('the node ') for what in missing)}.")


def shell_settings(graph: LaunchedGraph) -> str:
    """What a command line for this graph begins with, where its domain or router are not those of a bare shell."""
    usual = SessionOptions()
    chosen = {"ROS_DOMAIN_ID": (graph.domain, usual.domain), "RCLPY_ZENOH_ROUTER": (graph.endpoint, usual.router)}
    return "".join(f"{name}={value} " for name, (value, default) in chosen.items() if value != default)


def usage_table(rows: list[Usage]) -> str:
    """Memory and processor time of processes as text."""
    lines = [f"{'process':16}{'pid':>8}{'RSS MB':>9}{'PSS MB':>9}{'CPU s':>8}"]
    for row in rows:
        rss, pss = row.rss_bytes / 1e6, row.pss_bytes / 1e6
        lines.append(f"{row.label:16}{row.pid:>8}{rss:>9.1f}{pss:>9.1f}{row.cpu_s:>8.2f}")
    return "\n".join(lines)


def _assignment(text: str) -> tuple[str, str]:
    name, assigned, value = text.partition(":=")
    if not assigned or not name:
        raise LaunchError(f"Arguments are written NAME:=VALUE, not '{text}'.")
    return name, value


def _describe(argument: Argument) -> str:
    default = "must be given" if argument.default is None else f"default '{argument.default}'"
    choices = f"; one of {', '.join(argument.choices)}" if argument.choices else ""
    return f"{argument.name}: {argument.description or 'no description'} ({default}{choices})"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
