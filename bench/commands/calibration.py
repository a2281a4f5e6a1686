"""Options of `toolhand bench calibration`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from toolhand.agent_node.console.terminal import AsJson
from toolhand.bench.options import BenchOptions


@dataclass(frozen=True)
class Options(BenchOptions):
    """Calibrate a simulated camera with known truth: error, stated deviation, refusals, and picks by the result.

    Attributes:
        camera: The camera at the wrist, the one beside the table, or both.
        seeds: Calibrations of each.
        first_seed: Seed of the first.
        poses: Poses of each calibration.
        picks: Scenes in which an object is picked by the true scene camera and by the calibrated one.
        jobs: Processes.
    """

    WORK = "toolhand.bench.calibration.command:BENCH"

    camera: Annotated[tuple[Literal["wrist", "scene"], ...], tyro.conf.arg(metavar="wrist|scene")] = ("wrist", "scene")
    seeds: int = 50
    first_seed: int = 0
    poses: int = 15
    picks: int = 0
    jobs: int = 1
    as_json: AsJson = False
