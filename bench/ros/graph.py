"""What the whole graph costs a machine: time until it is ready, its idle load and memory, time to the first motion.

Part of `toolhand bench ros`; what is started is launch/sim.launch.yaml as an operator starts it, free running.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from agent_node.console.terminal import say
from agent_node.policies.scripted.policy import ScriptedPolicy
from bench.stats import timing_row
from sim.ros.graph import ros_station, started_graph
from sim.station import StationConfig
from sim.tasks.tasks import paper_task
from training.env.episode import run_episode

if TYPE_CHECKING:
    from rclpy_zenoh.launch import LaunchedGraph, Usage

SETTLE_S = 3.0
"""Time in which a started graph comes to rest before it is measured [s]."""
IDLE_S = 10.0
"""Time over which an idle graph's load is measured [s]."""
MEGABYTE = 1e6
"""Bytes of a megabyte."""


def graph_rows(starts: int = 3, commands: int = 5) -> list[dict[str, Any]]:
    """Rows: graph_ready, graph_idle (with memory of each process) and first_motion.

    Args:
        starts: How often the graph is started, 1 or more.
        commands: How many sentences are carried out, each in a graph and a scene of its own.

    Raises:
        ToolError: UNAVAILABLE where the graph does not start.
    """
    ready = []
    for number in range(starts):
        began = time.monotonic()
        with started_graph({}) as graph:
            ready.append(time.monotonic() - began)
            if number == starts - 1:
                idle = idle_row(graph)
    return [timing_row("graph_ready", ready), idle, timing_row("first_motion", first_motions(commands))]


def idle_row(graph: LaunchedGraph) -> dict[str, Any]:
    """What the idle processes take: percent of one core, megabytes."""
    time.sleep(SETTLE_S)
    before, began = {usage.label: usage for usage in graph.usage()}, time.monotonic()
    time.sleep(IDLE_S)
    after, took = graph.usage(), time.monotonic() - began
    processes = {usage.label: _process(before.get(usage.label), usage, took) for usage in after}
    totals = {key: round(sum(row[key] for row in processes.values()), 1) for key in ("cpu_percent", "pss_mb")}
    return {"name": "graph_idle", "n": 1, **totals, "processes": processes}


def _process(before: Usage | None, after: Usage, took: float) -> dict[str, float]:
    cpu_s = after.cpu_s - (before.cpu_s if before is not None else 0.0)
    return {
        "cpu_percent": round(100 * cpu_s / took, 1),
        "rss_mb": round(after.rss_bytes / MEGABYTE, 1),
        "pss_mb": round(after.pss_bytes / MEGABYTE, 1),
    }


def first_motions(commands: int) -> list[float]:
    """Wall time from the sentence to the arm's first motion [s] of the paper's pick sentences."""
    seconds = []
    for number in range(commands):
        task = paper_task(number % 7, seed=number)
        with ros_station(task.scene, StationConfig(seed=number), lockstep=False) as station:
            outcome = run_episode(station, ScriptedPolicy(), task)
        say(f"{task.text!r}: first motion after {outcome.time_to_first_motion_s} s")
        if outcome.time_to_first_motion_s is not None:
            seconds.append(outcome.time_to_first_motion_s)
    return seconds


def stopped_rows(n: int, seed: int) -> list[dict[str, Any]]:
    """Rows about stops at n random moments of a pick and place; see `bench.ros.stop`."""
    from bench.ros.stop import StopSample, measure_stops, stop_rows
    from tool_nodes.ros.link import RosLink

    done: list[StopSample] = []

    def progress(sample: StopSample) -> None:
        done.append(sample)
        say(f"stop {len(done)} of {n}: {sample}")

    with started_graph({}) as graph, RosLink(graph.environment) as link:
        return stop_rows(measure_stops(link.node, n, seed, progress))
