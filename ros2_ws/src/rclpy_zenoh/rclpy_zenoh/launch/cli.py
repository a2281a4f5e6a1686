"""`toolhand up FILE [NAME:=VALUE ...]`, also `python -m rclpy_zenoh.launch`: run a launch file until Ctrl-C."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
import threading
from pathlib import Path
from types import FrameType

from rclpy_zenoh.launch.errors import LaunchError
from rclpy_zenoh.launch.graph import LaunchedGraph, launch
from rclpy_zenoh.launch.keys import HELP, stop_keys
from rclpy_zenoh.launch.plan import Argument, declared_arguments
from rclpy_zenoh.launch.process import Usage
from rclpy_zenoh.wire import SessionOptions

BAD_INPUT = 2
DEFAULT_SCENE = "example"
"""Of launch/sim.launch.yaml."""
READY_TIMEOUT_S = 180.0
_WAKE_S = 0.1


def main(argv: list[str] | None = None) -> int:
    """Run the command line. Returns the exit status: 0, 1 where a process failed, 2 for wrong input."""
    parser = _parser()
    given = parser.parse_args(argv)
    try:
        if given.show_args:
            print("\n".join(map(_describe, declared_arguments(given.file))))
            return 0
        arguments = dict(_assignment(text) for text in given.arguments)
        _say(f"Starting {given.file} ...")
        graph = launch(given.file, arguments, domain=given.domain, router_port=given.router_port, sink=_say)
    except LaunchError as error:
        _say(str(error))
        return BAD_INPUT
    return _run(graph, given.usage, arguments.get("scene", DEFAULT_SCENE))


def _parser() -> argparse.ArgumentParser:
    description = f"Start the nodes of a launch file; Ctrl-C ends them. At a terminal: {HELP}"
    parser = argparse.ArgumentParser(prog="toolhand up", description=description)
    parser.add_argument("file", type=Path, help="launch file in ROS 2's YAML frontend, e.g. launch/sim.launch.yaml")
    parser.add_argument("arguments", nargs="*", metavar="NAME:=VALUE", help="arguments that the file declares")
    parser.add_argument("--domain", type=int, help="ROS domain; otherwise that of ROS_DOMAIN_ID, or 0")
    parser.add_argument("--router-port", type=int, help="port of the router; 0 for a router of its own on a free port")
    parser.add_argument("-s", "--show-args", action="store_true", help="list the arguments of the file")
    parser.add_argument("--usage", action="store_true", help="once it is ready, list the memory of each process")
    return parser


def _run(graph: LaunchedGraph, usage: bool, scene: str) -> int:
    """Serve until the graph ends, or a signal asks for it; a second signal hurries the end. Keys stop the arm."""
    asked = threading.Event()

    def on_signal(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            graph.hurry()
        asked.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)
    end = None
    with stop_keys(graph.domain, graph.endpoint, _say) as keys:
        watcher = threading.Thread(target=_announce, args=(graph, usage, scene, keys.listening), daemon=True)
        watcher.start()
        while end is None and not asked.is_set():
            end = graph.wait(_WAKE_S)
    if end is not None:
        _say(f"{end.reason[0].upper()}{end.reason[1:]}.")
    graph.close()
    watcher.join()
    return end.status if end is not None else 0


def _announce(graph: LaunchedGraph, usage: bool, scene: str, keys: bool) -> None:
    _say(f"Started {len(graph.labels)} processes: {', '.join(graph.labels)}.")
    try:
        seconds = graph.wait_ready(READY_TIMEOUT_S, on_missing=_tell_missing)
    except LaunchError as error:
        if not graph.closing:
            _say(str(error))
        return
    _say(f"Ready after {seconds:.1f} s: domain {graph.domain}, router {graph.endpoint}. Ctrl-C ends it.")
    _say("In another terminal:\n" + "\n".join(f"    {line}" for line in next_steps(graph, scene)))
    if keys:
        _say(f"In this one: {HELP}")
    if usage:
        _say(usage_table(graph.usage()))


def _tell_missing(missing: list[str]) -> None:
    _say(f"Waiting for {', '.join(what.removeprefix('the node ') for what in missing)}.")


def next_steps(graph: LaunchedGraph, scene: str) -> list[str]:
    """Command lines, for another shell, that do something with a graph that is ready.

    Args:
        graph: Where its domain or router are not those of a shell without settings, they are set in each line.
        scene: The launch file's argument of that name, for graphs with an agent.
    """
    usual = SessionOptions()
    chosen = {"ROS_DOMAIN_ID": (graph.domain, usual.domain), "RCLPY_ZENOH_ROUTER": (graph.endpoint, usual.router)}
    settings = "".join(f"{name}={value} " for name, (value, default) in chosen.items() if value != default)
    steps = [f"{settings}toolhand ros node list"]
    if "agent" in graph.labels:
        thing = "red box" if scene == DEFAULT_SCENE else "..."
        steps.insert(0, f"toolhand scene {shlex.quote(scene)}    # what stands on the table")
        steps.insert(1, f'{settings}toolhand run "pick up the {thing}" --transport ros')
    return steps


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
