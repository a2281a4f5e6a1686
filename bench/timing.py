"""Wall-clock figures of single parts: planning and images."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from toolhand.bench.stats import timing_row
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.motion.planner_wrapper import PlannerWrapper
from toolhand.tool_nodes.ports import Planner
from toolhand.tool_nodes.types import CollisionScene, FloatArray, Goal, Trajectory

CAMERA_SIZES = ((640, 480), (320, 240))
"""Sizes of images (width, height) [px] that are timed."""


class TimedPlanner(PlannerWrapper):
    """A planner that appends the time of every plan [s] to `seconds`: wall time, or that of another clock."""

    def __init__(self, planner: Planner, seconds: list[float], clock: Callable[[], float] = time.perf_counter) -> None:
        super().__init__(planner)
        self.seconds, self._clock = seconds, clock

    def plan(self, start: FloatArray, goal: Goal, scene: CollisionScene, speed: float = 1.0) -> Trajectory:
        """See ports.Planner."""
        began = self._clock()
        try:
            return super().plan(start, goal, scene, speed)
        finally:
            self.seconds.append(self._clock() - began)


def camera_rows() -> list[dict[str, Any]]:
    """RGB, depth and ids of a generated scene, one new image each time."""
    station = Station(generate_scene(0))
    rows = []
    for width, height in CAMERA_SIZES:
        camera = station.make_camera(station.scene_camera((width, height)))
        camera.capture()
        seconds = []
        for _ in range(10):
            station.world.step()
            began = time.perf_counter()
            camera.capture()
            seconds.append(time.perf_counter() - began)
        rows.append(timing_row(f"camera {width}x{height}", seconds))
    return rows
