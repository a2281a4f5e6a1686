"""The toolbox of the four papers: which tools there are, and what stands behind them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tool_nodes import registry
from tool_nodes.perception.object_finder import ObjectFinder
from tool_nodes.port_names import PORTS, PortNames
from tool_nodes.ports import CodeRunner, DepthEstimator, Detector, Pointer, Segmenter, TextReader
from tool_nodes.results import invalid
from tool_nodes.sandbox.executor import CodeTools
from tool_nodes.toolbox.toolbox import Toolbox
from tool_nodes.tools.evic.visual_tools import EvicTools
from tool_nodes.tools.last.tools import SkillTools
from tool_nodes.tools.peria.interaction import PeriaInteractionTools
from tool_nodes.tools.peria.perception import PeriaPerceptionTools
from tool_nodes.tools.peria.text_reading import TextTools
from tool_nodes.tools.spacetools.bounding_box import BoundingBoxTools
from tool_nodes.tools.spacetools.depth import DepthTools
from tool_nodes.tools.spacetools.grasping import GraspAlternatives
from tool_nodes.tools.spacetools.pointing import RoboReferTools, VlmTools
from tool_nodes.tools.spacetools.robot import CameraTools
from tool_nodes.tools.spacetools.segmentation import Sam2Tools
from tool_nodes.tools.spacetools.vision_ops import VisionOps

SUITES = ("spacetools", "peria", "evic", "last")
"""One for each paper."""

POINTING = "pointing"
"""A part of SpaceTools' suite: the first pointing tool alone, all that the expert of its first stage is offered."""


@dataclass(frozen=True)
class Backends:
    """What stands behind the tools.

    Attributes:
        pointer: Points at things by words.
        detector: Frames things by words.
        segmenter: Outlines things.
        depth: Estimates depth.
        reader: Reads text.
        grasps: The grasp tool.
        boxes: The 3D box tool.
        robot: The robot's own tools.
        code: Runs model-written code.
        evic: E-ViC's tools, which take the colours of their trajectories.
        second_pointer: Points for the tools vlm.*; the pointer where None.
    """

    pointer: Pointer
    detector: Detector
    segmenter: Segmenter
    depth: DepthEstimator
    reader: TextReader
    grasps: GraspAlternatives
    boxes: BoundingBoxTools
    robot: CameraTools
    code: CodeRunner
    evic: EvicTools = field(default_factory=EvicTools)
    second_pointer: Pointer | None = None


def parse_suites(text: str) -> tuple[str, ...]:
    """The suites that a text names, separated by commas, in their own order; "all" is every paper's.

    Raises:
        ToolError: INVALID_ARGUMENT for a name that is none.
    """
    names = [name.strip() for name in text.split(",")]
    known = (*SUITES, POINTING)
    unknown = [name for name in names if name not in (*known, "all")]
    if unknown:
        raise invalid(
            f"There is no tool suite {unknown[0][:60]!r}: give all, or one or more of {', '.join(known)} separated by "
            "commas."
        )
    return SUITES if "all" in names else tuple(suite for suite in known if suite in names)


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
    """The tools of some suites."""
    chosen = frozenset(suites)
    providers: list[object] = []
    if "spacetools" in chosen:
        providers += _spacetools(backends)
    elif POINTING in chosen:
        providers.append(RoboReferTools(backends.pointer))
    finder = ObjectFinder(backends.detector, backends.segmenter, backends.depth)
    if "peria" in chosen:
        providers += [TextTools(backends.reader), PeriaPerceptionTools(finder), PeriaInteractionTools()]
    if "evic" in chosen:
        providers.append(backends.evic)
    if "last" in chosen:
        providers.append(SkillTools(finder))
    return Toolbox(providers)


def _spacetools(backends: Backends) -> Sequence[object]:
    return [
        RoboReferTools(backends.pointer),
        VlmTools(backends.second_pointer or backends.pointer),
        Sam2Tools(backends.segmenter),
        DepthTools(backends.depth),
        backends.grasps,
        backends.boxes,
        VisionOps(),
        backends.robot,
        CodeTools(backends.code),
    ]
