"""Options of `toolhand bench usd`."""

from __future__ import annotations

from dataclasses import dataclass

from agent_node.console.options import DEFAULT_ROBOT_OPTIONS, RobotOptions, Unprefixed, require_at_least
from agent_node.console.terminal import AsJson
from bench.options import Options as Common


@dataclass(frozen=True)
class Options(Common):
    """Export scenes to USD, check them with OpenUSD's validators and read them back; exit status 1 where one is wrong.

    Attributes:
        n: Scenes: random tables and clutter of generated things in turn.
        postures: Postures of the robot in which the links are compared.
        jobs: Processes.
    """

    WORK = "bench.usd:BENCH"

    n: int = 100
    postures: int = 50
    robot: Unprefixed[RobotOptions] = DEFAULT_ROBOT_OPTIONS
    jobs: int = 1
    as_json: AsJson = False

    def check(self) -> None:
        self.robot.require_known()
        require_at_least(1, n=self.n, postures=self.postures, jobs=self.jobs)
