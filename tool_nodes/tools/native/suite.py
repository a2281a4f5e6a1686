"""The native suite: look, pick and place in one call each, and what clears up after them. No paper has these tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from toolhand.tool_nodes.ports import Segmenter
from toolhand.tool_nodes.toolbox.toolbox import ToolSpec, specs_of
from toolhand.tool_nodes.tools.native.looking import LookTool
from toolhand.tool_nodes.tools.native.picking import PickAndPlaceTools
from toolhand.tool_nodes.tools.skills.hand import HandTools
from toolhand.tool_nodes.tools.spacetools.grasping import GraspAlternatives
from toolhand.tool_nodes.tools.spacetools.robot import CameraTools
from toolhand.tool_nodes.tools.wrist.looking import WristTools

NAMES: Mapping[str, str] = {
    "robot.return_to_park": "robot.park",
    "robot.open_gripper": "robot.release",
    "robot.look_closer": "robot.look_closer",
}
"""Tools of other suites that are offered here too, and by which of their names."""


class OfOtherSuites:
    """Tools of other providers under this suite: the same functions, some by another of their names.

    Args:
        providers: Objects with tools.
        names: Which tools, and what they are called here.
    """

    def __init__(self, providers: Iterable[object], names: Mapping[str, str]) -> None:
        self._providers = tuple(providers)
        self._names = names

    def tool_specs(self) -> list[ToolSpec]:
        """See `specs_of`."""
        found = [spec for provider in self._providers for spec in specs_of(provider) if spec.name in self._names]
        return [self._called(spec, self._names[spec.name]) for spec in found]

    def _called(self, spec: ToolSpec, name: str) -> ToolSpec:
        aliases = tuple(other for other in (spec.name, *spec.aliases) if other != name)
        return replace(spec, name=name, aliases=aliases, suite=PickAndPlaceTools.suite, printed=True)


def native(segmenter: Segmenter, grasps: GraspAlternatives | None, robot: CameraTools | None) -> list[object]:
    """The providers of the suite: none without a robot, and the look alone for whom nothing may move."""
    if robot is None:
        return []
    look = LookTool(segmenter, robot)
    if not robot.moves or grasps is None:
        return [look]
    others = OfOtherSuites([HandTools(robot), WristTools(robot)], NAMES)
    return [look, PickAndPlaceTools(segmenter, grasps, robot), others]
