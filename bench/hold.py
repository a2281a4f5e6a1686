"""`toolhand bench hold`: how far a thing that the arm holds slides and turns in the jaws while the arm stands still."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from agent_node.console.options import DEFAULT_ROBOT_OPTIONS, PortOptions, RobotOptions, Unprefixed, require_at_least
from agent_node.console.terminal import AsJson, say
from bench.grasp.calls import grasp_by_tools, in_hand
from bench.stats import machine, publish
from sim.objects.sets import find_asset
from sim.scene.generator import generate_scene
from sim.station import Station, StationConfig
from sim.world import World
from tool_nodes.geometry import rotation_angle
from tool_nodes.port_names import AS_PRESET, DEFAULT_PRESET, PortNames
from tool_nodes.results import ToolError, invalid
from training.pool.parallel import run_jobs

HELD = ("red box", "honey", "tea box", "baseball", "pudding box", "milk", "banana", "teddy bear")
"""Products that are held where none is named: edges, a jar, a ball, the thinnest box, the heaviest thing, a bent and a
soft one."""
SETTLE_S = 1.0
"""After the lift, before the first look [s]: the arm has stopped swinging by then."""
LOOK_S = 1.0
"""Between two looks [s]."""
TRIES = 10
"""Scenes that are tried until one of them gives a grasp that holds."""
WITHIN_MM = 1.0
"""A thing that is held slides by less than this [mm]."""


@dataclass(frozen=True)
class HoldJob:
    """A thing that is held for some time.

    Attributes:
        item: The product.
        robot: Which robot.
        seconds: How long [s].
        clutter: Other things stand on the table.
        impratio: MuJoCo's number for the stiffness of friction, without its solver against slip; the robot's settings
            where None.
    """

    item: str
    robot: str
    seconds: float
    clutter: bool
    impratio: float | None
    ports: PortNames = AS_PRESET


@dataclass(frozen=True)
class HoldRecord:
    """What became of it.

    Attributes:
        slid_mm, turned_deg: Farthest that the thing was from where it was held, in the frame of the hand.
        at_end_mm: At the end.
        lost: It touches the gripper no more at the end.
        steps_per_s: Steps of the physics in a second of processor time; in a scene with other things it is less.
        error: Why it was not held at all; then the rest is 0.
    """

    job: HoldJob
    slid_mm: float = 0.0
    at_end_mm: float = 0.0
    turned_deg: float = 0.0
    lost: bool = False
    steps_per_s: float = 0.0
    error: str = ""


def run_one(job: HoldJob) -> HoldRecord:
    """Grasp with the tools, then let time pass."""
    error: ToolError | None = None
    for seed in range(TRIES):
        scene = generate_scene(seed, required=(job.item,), n_objects=None if job.clutter else 1)
        index, target = next((i, placed) for i, placed in enumerate(scene.objects) if placed.item == job.item)
        station = Station(scene, StationConfig(seed=seed, robot=job.robot, ports=job.ports))
        error = grasp_by_tools(station, index)
        if error is None:
            return _hold(station.world, target.id, job)
    return HoldRecord(job, error=str(error))


def _hold(world: World, thing: str, job: HoldJob) -> HoldRecord:
    if job.impratio is not None:
        world.model.opt.impratio, world.stick_iterations = job.impratio, 0
    world.step(round(SETTLE_S / world.timestep))
    start = in_hand(world, thing)
    slid, turned, used, steps = [0.0], [0.0], 0.0, round(LOOK_S / world.timestep)
    looks = round(job.seconds / LOOK_S)
    for _ in range(looks):
        began = time.process_time()
        world.step(steps)
        used += time.process_time() - began
        world.clear_log(keep=1)
        now = in_hand(world, thing)
        slid.append(1000 * float(np.linalg.norm(now[:3, 3] - start[:3, 3])))
        turned.append(float(np.degrees(rotation_angle(start[:3, :3], now[:3, :3]))))
    lost = "gripper" not in world.snapshot().objects[thing].touching
    return HoldRecord(job, max(slid), slid[-1], max(turned), lost, looks * steps / used)


def bench_hold(
    minutes: float = 20.0,
    items: tuple[str, ...] = HELD,
    robot: Unprefixed[RobotOptions] = DEFAULT_ROBOT_OPTIONS,
    ports: PortOptions = AS_PRESET,
    clutter: bool = False,
    beside: float | None = None,
    jobs: int = 1,
    as_json: AsJson = False,
) -> int:
    """Hold things up without moving and print how far they slide in the jaws; exit status 1 where one slides 1 mm.

    Args:
        minutes: Simulated time that each is held.
        items: Names of things as a scene file has them.
        clutter: Let other things stand on the table, for the speed of the physics.
        beside: Hold each thing again with this `impratio` of MuJoCo, without its solver against slip, to compare with.
        jobs: Processes.
    """
    robot.require_known()
    ports.require_known(DEFAULT_PRESET)
    require_at_least(1, jobs=jobs)
    for name, value in {"minutes": minutes, "beside": beside}.items():
        if value is not None and not 0.0 < value < np.inf:
            raise invalid(f"--{name} must be a finite number above 0, got {value}.")
    if not items:
        raise invalid("--items must name a product or more.")
    for item in items:
        find_asset(item)
    began = time.monotonic()
    settings = (None,) if beside is None else (None, beside)
    work = [
        HoldJob(item, robot.robot, 60 * minutes, clutter, impratio, ports) for item in items for impratio in settings
    ]
    say(f"{len(items)} things, each held for {minutes:g} minutes by {robot.robot}")
    records = run_jobs(run_one, work, jobs, lambda job, why: HoldRecord(job, error=why))
    document = {
        "bench": "hold",
        "machine": machine(),
        "minutes": minutes,
        "robot": robot.robot,
        "ports": vars(ports.over(DEFAULT_PRESET)),
        "rows": [_row(record) for record in records],
        "wall_s": round(time.monotonic() - began, 1),
    }
    publish(document, _report, as_json)
    own = [record for record in records if record.job.impratio is None]
    return int(any(record.error or record.lost or record.slid_mm >= WITHIN_MM for record in own))


def _row(record: HoldRecord) -> dict[str, Any]:
    row = asdict(record) | {"item": record.job.item, "impratio": record.job.impratio}
    del row["job"]
    return {key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()}


def _report(document: Mapping[str, Any]) -> str:
    lines = [f"{'':16}{'impratio':>10}{'slid, most':>13}{'at the end':>13}{'turned':>10}{'steps/s':>10}"]
    for row in document["rows"]:
        setting = "robot's" if row["impratio"] is None else f"{row['impratio']:g}"
        line = f"{row['item']:16}{setting:>10}"
        if row["error"]:
            line += f"  not held: {row['error']}"
        else:
            line += f"{row['slid_mm']:>10.3f} mm{row['at_end_mm']:>10.3f} mm{row['turned_deg']:>6.2f} deg"
            line += f"{row['steps_per_s']:>10.0f}{'  lost' if row['lost'] else ''}"
        lines.append(line)
    described = document["machine"]
    return "\n".join([*lines, f"{described['cpu']}, cores {described['cores']}; {document['wall_s']} s"])
