"""Options of `toolhand bench redteam`."""

from __future__ import annotations

from dataclasses import dataclass

from toolhand.agent_node.console.terminal import AsJson
from toolhand.bench.options import BenchOptions


@dataclass(frozen=True)
class Options(BenchOptions):
    """Attack the tools: no motion may leave the limits or begin without the approval that the operator asked for.

    Attacks run on a simulated station in the modes auto, ask-motion without a person to ask, and dry-run; each is
    measured by the simulator's truth.

    Attributes:
        n: Calls made by chance, over the tools of all suites.
        turns: Turns made by chance, each through the parser of every protocol.
        seed: Seed of everything that is drawn at random.
        family: Kinds of attacks, separated by commas, or all.
        sequences: Stops, resets and requests of several clients in an order made by chance, in this process.
        graph_sequences: The same over a ROS 2 graph that is started for it, with strangers on it.
    """

    WORK = "toolhand.bench.redteam.command:BENCH"
    LEAST = dict.fromkeys(("n", "turns", "seed", "sequences", "graph_sequences"), 0)

    n: int = 10_000
    turns: int = 10_000
    seed: int = 0
    family: str = "all"
    sequences: int = 100
    graph_sequences: int = 0
    as_json: AsJson = False
