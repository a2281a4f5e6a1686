"""`toolhand bench rollouts --station mock`: episodes on recorded frames per minute and core."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

from agent_node.console.terminal import say
from agent_node.policies.scripted.policy import ScriptedPolicy
from bench.stats import format_rows, machine, publish, rate_row, timing_row
from sim.mock.data import read_dataset
from sim.mock.tasks import recorded_pick, recorded_scene
from sim.station import StationConfig
from sim.tasks.pick import PickTask
from training.env.backends import MockPool
from training.env.environment import Environment


def measure_mock(n: int, first_seed: int, config: StationConfig, as_json: bool) -> int:
    """Let the scripted policy do n picks on the shipped frames, and print how many a minute and core gives.

    The time of an episode is processor time and has everything: the task, the station, tools, policy and judging. Every
    frame is read before the first, and one episode more is not counted.

    Args:
        n: Episodes.
        first_seed: Of the first task and station.
        config: Pictures and perception.
        as_json: One JSON document instead of text.

    Raises:
        ToolError: INVALID_ARGUMENT for pictures that the frames do not have.
    """
    dataset = read_dataset()
    environment = Environment(config, backend=MockPool(config, dataset))
    began, cpu, right, calls = time.monotonic(), [], 0, 0
    say(f"{n} picks on {dataset.n} recorded frames, seeds {first_seed}..{first_seed + n - 1}")
    for index in range(dataset.n):
        environment.open(PickTask("look", recorded_scene(dataset, index), ()), first_seed).close()
    for seed in (first_seed + n, *range(first_seed, first_seed + n)):
        started, policy = time.process_time(), ScriptedPolicy()
        with environment.open(recorded_pick(dataset, seed), seed) as session:
            while not session.done:
                session.say(policy.respond(session.messages()))
            success = session.score().truth.success
        if seed < first_seed + n:
            cpu.append(time.process_time() - started)
            right += success
            calls += session.episode.tool_calls
    document = {
        "bench": "rollouts",
        "station": "mock",
        "perception": config.perception,
        "size": list(config.image_size),
        "machine": machine(),
        "load": round(os.getloadavg()[0], 1),
        "n": n,
        "first_seed": first_seed,
        "episodes_per_min_core": round(60.0 * n / sum(cpu), 1),
        "tool_calls_per_s": round(calls / sum(cpu), 1),
        "rows": [rate_row("right grasp point", right, n), timing_row("processor time of an episode", cpu)],
        "wall_s": round(time.monotonic() - began, 1),
    }
    publish(document, _report, as_json)
    return 0


def _report(document: Mapping[str, Any]) -> str:
    width, height = document["size"]
    described = ", ".join(str(value) for value in document["machine"].values())
    return "\n".join(
        [
            f"recorded frames {width}x{height}: {document['episodes_per_min_core']} episodes/min/core, "
            f"{document['tool_calls_per_s']} tool calls/s",
            format_rows(document["rows"]),
            f"{described}; load {document['load']}; {document['wall_s']} s",
        ]
    )
