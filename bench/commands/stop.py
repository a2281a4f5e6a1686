"""Options of `toolhand bench stop`."""

from __future__ import annotations

from dataclasses import dataclass

from toolhand.agent_node.console.terminal import AsJson
from toolhand.bench.options import BenchOptions


@dataclass(frozen=True)
class Options(BenchOptions):
    """Stop beside every manner of joint states; exit status 1 where motion is confirmed as rest, or rest is refused.

    Attributes:
        only: Only the manners whose name has these words in it.
        moments: Stop a pick and place on a graph at so many random moments as well.
        seed: Seeds those moments.
    """

    WORK = "toolhand.bench.ros.standing:BENCH"

    only: str = ""
    moments: int = 0
    seed: int = 0
    as_json: AsJson = False
