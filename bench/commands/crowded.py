"""Options of `toolhand bench crowded`."""

from __future__ import annotations

from dataclasses import dataclass

from toolhand.agent_node.console.options import COLOUR_AND_DEPTH, BackendOptions, Unprefixed
from toolhand.agent_node.console.terminal import AsJson
from toolhand.bench.options import BenchOptions


@dataclass(frozen=True)
class Options(BenchOptions):
    """Ask for objects that stand 0 to 20 mm from others and print what came of it with 95 % intervals.

    Attributes:
        n: Scenes; each is asked for up to five objects.
        first_seed: Seed of the first scene.
        jobs: Processes.
    """

    WORK = "toolhand.bench.crowded:BENCH"

    n: int = 60
    first_seed: int = 0
    backends: Unprefixed[BackendOptions] = COLOUR_AND_DEPTH
    jobs: int = 1
    as_json: AsJson = False
