"""Tool suites by name, of installed packages, and the backends that stand behind their tools.

A suite is an entry point of the group `toolhand.tools`: a class with methods marked by `@tool`, or a function that
returns a list of such objects. It is called with those attributes of `Backends`, and of
`toolhand.tool_nodes.registry.Setting`, that it has parameters for. Only the modules of suites that are chosen are
imported.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from toolhand.tool_nodes import registry
from toolhand.tool_nodes.perception.object_finder import ObjectFinder
from toolhand.tool_nodes.port_names import PORTS, PortNames
from toolhand.tool_nodes.ports import CodeRunner, DepthEstimator, Detector, Pointer, Segmenter, TextReader
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.toolbox.toolbox import Toolbox
from toolhand.tool_nodes.tools.skills.hand import ParkTools

if TYPE_CHECKING:
    from toolhand.tool_nodes.tools.spacetools.bounding_box import BoundingBoxTools
    from toolhand.tool_nodes.tools.spacetools.grasping import GraspAlternatives
    from toolhand.tool_nodes.tools.spacetools.robot import CameraTools

SUITES = ("spacetools", "peria", "evic", "last")
"""One for each paper; together they are "all"."""

POINTING = "pointing"
"""A part of SpaceTools' suite: the first pointing tool alone, all that the expert of its first stage is offered."""


@dataclass(frozen=True)
class Backends:
    """What stands behind the tools.

    Attributes:
        pointer: Points at objects by words.
        detector: Frames objects by words.
        segmenter: Outlines objects.
        depth: Estimates depth.
        reader: Reads text.
        grasps: The grasp tool; a suite leaves out what is None, as the four from here on are beside images alone.
        boxes: The 3D box tool.
        robot: The robot's own tools.
        code: Runs model-written code.
        second_pointer: Points for the tools vlm.*; the pointer where None.
    """

    pointer: Pointer
    detector: Detector
    segmenter: Segmenter
    depth: DepthEstimator
    reader: TextReader
    grasps: GraspAlternatives | None = None
    boxes: BoundingBoxTools | None = None
    robot: CameraTools | None = None
    code: CodeRunner | None = None
    second_pointer: Pointer | None = None

    @property
    def finder(self) -> ObjectFinder:
        """Detector, segmenter and depth together, for tools that want objects."""
        return ObjectFinder(self.detector, self.segmenter, self.depth)


def known_suites() -> tuple[str, ...]:
    """Every suite of an installed package: the papers' first, the others in alphabetical order."""
    names = registry.names("tool suite")
    return (*(suite for suite in SUITES if suite in names), *(name for name in names if name not in SUITES))


def parse_suites(text: str) -> tuple[str, ...]:
    """The suites that a text names, separated by commas, in the order of `known_suites`; "all" is every paper's.

    Raises:
        ToolError: INVALID_ARGUMENT for a name that is none, or that two packages offer.
    """
    named = [name.strip() for name in text.split(",")]
    for name in named:
        if name != "all":
            _require_known(name)
    chosen = {*named, *SUITES} if "all" in named else set(named)
    return tuple(suite for suite in known_suites() if suite in chosen)


def _require_known(name: str) -> None:
    try:
        registry.find("tool suite", name)
    except ToolError as error:
        hint = error.hint or "Several are separated by commas, and all is every paper's."
        raise ToolError(error.code, error.message, hint) from None


def require_installed(suites: Iterable[str], preset: str, chosen: PortNames) -> None:
    """Refuse backends that need what is not installed before any tool of the suites asks them.

    A tool that finds it missing would answer UNAVAILABLE, which takes the episode or the question out of every score.

    Args:
        suites: Names of suites; text is read by the tools of `peria` alone.
        preset: Preset of the perception ports.
        chosen: Backends of single ports instead.

    Raises:
        ToolError: UNAVAILABLE, with the command that installs it; INVALID_ARGUMENT for a name that is none.
    """
    named, reads = chosen.over(preset), "peria" in suites
    for port in PORTS:
        if port != "reader" or reads:
            for part in named.parts(port):
                registry.require_installed(port, part)


def make_toolbox(backends: Backends, suites: Iterable[str] = SUITES) -> Toolbox:
    """The tools of some suites; their modules are imported now.

    Whoever can move the arm can park it, too, and who can grasp can take aside what is in the way and find a
    place for it.

    Raises:
        ToolError: As `registry.load`; INVALID_ARGUMENT where two suites have a tool of the same name.
    """
    chosen = tuple(dict.fromkeys(suites))
    offered = {entry.name: getattr(backends, entry.name) for entry in fields(backends)} | {"finder": backends.finder}
    providers: list[object] = []
    for suite in chosen:
        if suite != POINTING or "spacetools" not in chosen:
            made = registry.make("tool suite", suite, **offered)
            providers += made if isinstance(made, list) else [made]
    robot, grasps = backends.robot, backends.grasps
    if robot is not None and robot.moves and any(each is robot for each in providers):
        if "skills" not in chosen:
            providers.append(ParkTools(robot))
        if "clearing" not in chosen and grasps is not None:
            from toolhand.tool_nodes.tools.clearing.clearing import clearing

            providers += clearing(backends.segmenter, grasps, robot, printed=False)
    try:
        return Toolbox(providers)
    except ValueError as error:
        raise invalid(f"The suites {', '.join(chosen)} cannot be offered together: {error}.") from error
