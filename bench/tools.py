"""`toolhand bench tools`: how long each tool takes that does not move the robot, on pictures that no cache knows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from agent_node.console.options import SensorName, Size, Suite, parse_size
from agent_node.console.terminal import AsJson, say
from bench.stats import format_rows, machine, publish, timing_row
from sim.camera.ray import CameraModel
from sim.scene.files import EXAMPLE_SCENE, load_scene
from sim.station import Station, StationConfig
from sim.tool_examples import TABLE, example_of, example_picture, set_up
from tool_nodes import workspace
from tool_nodes.port_names import DEFAULT_SENSOR, PortNames, presets, require_sensor
from tool_nodes.results import ErrorCode, ToolError, invalid
from tool_nodes.tools.suites import parse_suites

_WARM_UP = 2
"""First calls of each tool that are not counted [-]."""


@dataclass
class Timings:
    """What was measured, as it comes.

    Attributes:
        rows: One for each tool, and for each perception and size of picture that make a difference to it.
        failures: Examples that gave an error instead of a time.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    failures: list[dict[str, str]] = field(default_factory=list)


class SizedStation(Station):
    """The station of the example scene, its scene camera with pictures of a given size (width, height) [px]."""

    def __init__(self, config: StationConfig, size: Size) -> None:
        self._size = size
        super().__init__(load_scene(EXAMPLE_SCENE), config)

    def scene_camera(self, size: Size | None = None) -> CameraModel:
        """See Station."""
        return super().scene_camera(self._size if size is None else size)


def parse_sizes(text: str) -> list[Size]:
    """Sizes such as "640x480,1280x720". Raises ToolError INVALID_ARGUMENT."""
    return [parse_size(part) for part in text.split(",")]


def time_tools(
    names: Sequence[str], sizes: Sequence[Size], suites: Sequence[str], n: int, sensor: str = DEFAULT_SENSOR
) -> Timings:
    """Time the examples of tools, n calls each, for every perception and size that make a difference.

    Drawn pictures have a size of their own, and what asks no perception takes the same time with each.
    """
    timings = Timings()
    seen_by: dict[str, bool] = {}
    for size in sizes:
        for perception in presets():
            say(f"{size[0]}x{size[1]}, {perception}")
            station = SizedStation(StationConfig(perception, PortNames(sensor=sensor), suites=tuple(suites)), size)
            for name in names:
                drawn = example_of(station.toolbox.find(name)).picture != TABLE
                again = perception != presets()[0] and not seen_by.get(name, False)
                if again or (drawn and size != sizes[0]):
                    continue
                seen_by[name] = _time_one(timings, name, station, perception, n)
    return timings


def _time_one(timings: Timings, name: str, station: Station, perception: str, n: int) -> bool:
    """Time one tool; True if a perception answered, so that another one may take another time."""
    calls: list[tuple[float, float]] = []
    try:
        for k in range(n + _WARM_UP):
            took, backend, size = _call(name, station)
            if k >= _WARM_UP:
                calls.append(took)
    except ToolError as error:
        fault = {"tool": name, "perception": perception, "error": f"{error.code}: {error}"}
        timings.failures.append(fault)
        return error.code is ErrorCode.UNAVAILABLE
    by_perception = backend == perception
    if not by_perception and backend in presets():
        return True  # another preset's backend answered: timed there
    shown = f"{name} [{perception}]" if by_perception else name
    shown += "" if size == workspace.IMAGE_SIZE else f" {size[0]}x{size[1]}"
    seconds, cpu_s = zip(*calls, strict=True)
    more = {"tool": name, "size": f"{size[0]}x{size[1]}"} | ({"perception": perception} if by_perception else {})
    timings.rows.append(timing_row(shown, seconds, cpu_p50_ms=round(1000 * float(np.median(cpu_s)), 1), **more))
    return by_perception


def _call(name: str, station: Station) -> tuple[tuple[float, float], str, Size]:
    """One call: its (wall, processor) time [s], the backend that answered, the size of the picture.

    Processor time is that of this process; it is less disturbed by other work on the machine.

    Raises:
        ToolError: If the tool, or one before it, gives an error.
    """
    example = example_of(station.toolbox.find(name))
    picture = example_picture(example.picture, station.camera)
    session = set_up(example, picture, station.toolbox)
    if not example.arguments:
        station.world.step()  # for the robot's own camera, which gives the same picture until something changes
    began = time.process_time()
    record = station.toolbox.call(name, example.arguments, session)
    cpu_s = time.process_time() - began
    if record.result.error is not None:
        raise record.result.error
    return (record.wall_s, cpu_s), record.result.backend, picture.size


def bench_tools(
    n: int = 30,
    suite: Suite = "all",
    size: str = "640x480,1280x720",
    sensor: SensorName = DEFAULT_SENSOR,
    as_json: AsJson = False,
) -> int:
    """Time every tool that does not move the robot, each call on a fresh picture.

    Args:
        n: Calls of each.
        size: Sizes of the camera's pictures, e.g. 640x480 or 640x480,1280x720.
    """
    if n < 1:
        raise invalid(f"n must be 1 or more, got {n}.")
    require_sensor(sensor)
    sizes, suites = parse_sizes(size), parse_suites(suite)
    began = time.monotonic()
    specs = SizedStation(StationConfig(suites=suites), sizes[0]).toolbox.specs
    moving = sorted(name for name, spec in specs.items() if spec.motion)
    # The calls that an example needs may be of another suite.
    needed = {before for spec in specs.values() for before in example_of(spec).before}
    offered = suites if needed <= set(specs) else parse_suites("all")
    timings = time_tools([name for name in sorted(specs) if name not in moving], sizes, offered, n, sensor)
    document = {
        "bench": "tools",
        "sensor": sensor,
        "machine": machine(),
        "seeds": [],
        "rows": timings.rows,
        "skipped": {"moves the robot": moving},
        "failures": timings.failures,
        "wall_s": round(time.monotonic() - began, 1),
    }
    publish(document, _report, as_json)
    return 0


def _report(document: Mapping[str, Any]) -> str:
    lines = [format_rows(document["rows"])]
    lines += [f"failed: {fault['tool']} [{fault['perception']}]: {fault['error']}" for fault in document["failures"]]
    lines += [f"skipped, {why}: {', '.join(names)}" for why, names in document["skipped"].items() if names]
    return "\n".join([*lines, f"{document['machine']['cpu']}; {document['wall_s']} s"])
