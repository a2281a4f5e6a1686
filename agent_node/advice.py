"""What a model is told beside its protocol's own words: how the tools that it has are used, how to ask, how to give up.

The sentences are data (advice.yaml), and each stands only where the tools are offered that it speaks of.
"""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolhand.tool_nodes.plain_yaml import load

if TYPE_CHECKING:
    from toolhand.tool_nodes.motion.robot_model import RobotModel
    from toolhand.tool_nodes.toolbox.toolbox import Tools

MOVES_NOTHING = "No tool here moves the robot"
"""Begins the sentence about tools that all only look."""


@dataclass(frozen=True)
class _Sentence:
    text: str
    needs: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    beside_papers: bool = False

    def fits(self, names: frozenset[str]) -> bool:
        return (not self.needs or _offered(names, self.needs)) and not _offered(names, self.lacks)


def advice(names: Iterable[str], of_a_paper: bool) -> str:
    """The sentences for tools of these names, in one paragraph.

    Args:
        names: Names of the tools that are offered.
        of_a_paper: They follow a paper's prompt, which says how to call and to answer.
    """
    offered = frozenset(names)
    return " ".join(each.text for each in _sentences() if each.fits(offered) and (each.beside_papers or not of_a_paper))


def about_the_robot(robot: RobotModel, tools: Tools) -> str:
    """What a model has to know of the arm before it moves it, in one sentence, or that it cannot."""
    if not any(tools.is_motion(name) for name in tools.specs):
        return f"{MOVES_NOTHING}: answer in words, and say so where something is to be moved."
    low, high = robot.reach.radius
    widest = 1000 * robot.gripper.max_width
    return f"The gripper takes what is up to {widest:.0f} mm wide, {low:g} to {high:g} m from the arm's base."


def _offered(names: frozenset[str], patterns: Iterable[str]) -> bool:
    return any(fnmatch.filter(names, pattern) for pattern in patterns)


@functools.cache
def _sentences() -> tuple[_Sentence, ...]:
    entries = load(Path(__file__).with_name("advice.yaml").read_bytes())
    lists = ({key: tuple(entry.get(key, ())) for key in ("needs", "lacks")} for entry in entries)
    return tuple(_Sentence(**entry | own) for entry, own in zip(entries, lists, strict=True))
