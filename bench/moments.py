"""What rollouts rest on: workers that stay small, fast resets, groups from one moment that are bit-equal."""

from __future__ import annotations

import gc
import hashlib
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from agent_node.console.terminal import say
from agent_node.policies.scripted.policy import ScriptedPolicy
from agent_node.policy import Reply
from bench.stats import machine, publish
from sim.station import Station, StationConfig
from sim.tasks.tasks import random_task
from training.env.environment import Environment, SavedEpisode

GROUP = 8
"""Rollouts that start from one moment; as in the recipes."""

_RESETS = 40
"""Resets that are timed, of either kind; chosen by hand."""
_EVERY = 50
"""Episodes between two looks at the memory; chosen by hand."""


@dataclass(frozen=True)
class Checks:
    """What is checked of one configuration, and with how much."""

    config: StationConfig
    first_seed: int
    episodes: int
    groups: int


def bench_moments(checks: Checks, as_json: bool) -> int:
    """Measure memory over many episodes, times of resets, and groups that start from one moment.

    Returns:
        1 where some rollout of a group differs from the others, else 0.
    """
    began = time.monotonic()
    groups = {"groups": checks.groups, "rollouts": GROUP, "different": different_groups(checks)}
    document = {
        "bench": "rollouts",
        "perception": checks.config.perception,
        "machine": machine(),
        "first_seed": checks.first_seed,
        "memory": memory_of(checks) if checks.episodes else None,
        "resets": reset_times(checks) if checks.groups else None,
        "groups": groups if checks.groups else None,
        "wall_s": round(time.monotonic() - began, 1),
    }
    publish(document, _report, as_json)
    return 1 if groups["different"] else 0


def resident_mb() -> float:
    """Memory of this process now [MB]; NaN where the system does not tell."""
    if sys.platform != "linux":
        return float("nan")
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) / 1024


def memory_of(checks: Checks) -> dict[str, Any]:
    """Memory after so many episodes on one station, the garbage collector off."""
    environment = Environment(checks.config)
    curve = {}
    gc.collect()
    gc.disable()
    try:
        for number in range(1, checks.episodes + 1):
            seed = checks.first_seed + number - 1
            _play(environment, seed, ScriptedPolicy())
            if number in (1, checks.episodes) or number % _EVERY == 0:
                curve[number] = round(resident_mb(), 1)
                say(f"{number} of {checks.episodes} episodes, {curve[number]} MB")
        return {"mb_after_episodes": curve, "left_to_the_collector": gc.collect()}
    finally:
        gc.enable()


def _play(environment: Environment, seed: int, policy: ScriptedPolicy, save_at: int | None = None) -> Any:
    """One episode: its replies from the saved moment on and that moment; None where it is over before."""
    observation = environment.reset(random_task(seed, "pick_and_place"), seed)
    moment: SavedEpisode | None = None
    replies: list[Reply] = []
    done = False
    while not done:
        if len(replies) == save_at:
            moment = environment.save()
        replies.append(policy.respond(observation))
        observation, _, done = environment.step(replies[-1])
    return None if moment is None or save_at is None else (moment, replies[save_at:])


def _left_behind(environment: Environment) -> str:
    """A hash of all that an episode said, saw and moved, and of its score."""
    episode, score, world = environment.episode, environment.score, environment.save().station.world
    found = hashlib.sha256(repr([message.text for message in episode.messages]).encode())
    for image in episode.session.images:
        found.update(image.rgb.tobytes())
    for at, positions in world.log:
        found.update(np.float64(at).tobytes() + positions.tobytes())
    found.update(repr((score, world.contact_log)).encode())
    return found.hexdigest()


def different_groups(checks: Checks) -> list[int]:
    """Seeds of the groups whose rollouts are not all alike, though each has the same replies."""
    first, second = Environment(checks.config), Environment(checks.config)
    found = []
    for seed in range(checks.first_seed, checks.first_seed + checks.groups):
        played = _play(first, seed, ScriptedPolicy(), save_at=3)
        hashes = {_left_behind(first)}
        if played is not None:
            moment, replies = played
            for rollout in range(GROUP):
                environment = (first, second)[rollout % 2]
                environment.restore(moment)
                for reply in replies:
                    environment.step(reply)
                hashes.add(_left_behind(environment))
        if played is None or len(hashes) > 1:
            found.append(seed)
    return found


def reset_times(checks: Checks) -> dict[str, Any]:
    """CPU time of a reset to the same scene and to another [ms], with the first picture after it."""
    scenes = [random_task(checks.first_seed + k, "pick_and_place").scene for k in range(2)]
    station = Station(scenes[0], checks.config)
    times: dict[str, list[float]] = {"same_scene": [], "first_picture": [], "another_scene": []}
    for number in range(_RESETS):
        station.world.step(100)
        began = time.process_time()
        station.reset(number)
        times["same_scene"].append(time.process_time() - began)
        station.camera.capture()
        times["first_picture"].append(time.process_time() - began - times["same_scene"][-1])
    for number in range(_RESETS):
        began = time.process_time()
        station.reset(number, scenes[(number + 1) % 2])
        times["another_scene"].append(time.process_time() - began)
    return {
        name: {f"p{share}_ms": round(1000 * float(np.percentile(taken, share)), 2) for share in (50, 95)}
        for name, taken in times.items()
    }


def _report(document: Mapping[str, Any]) -> str:
    lines = []
    if document["memory"] is not None:
        curve = ", ".join(f"{mb} MB after {n}" for n, mb in document["memory"]["mb_after_episodes"].items())
        lines.append(
            f"memory without the collector: {curve}; {document['memory']['left_to_the_collector']} objects left"
        )
    if document["resets"] is not None:
        lines += [f"{name}: p50 {row['p50_ms']} ms, p95 {row['p95_ms']} ms" for name, row in document["resets"].items()]
    if document["groups"] is not None:
        row = document["groups"]
        alike = row["groups"] - len(row["different"])
        lines.append(f"groups of {row['rollouts']} from one moment, bit-equal: {alike} of {row['groups']}")
    return "\n".join([*lines, f"{document['wall_s']} s"])
