"""The families of tools: which paper's, what drives them there, and what stands behind them here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol

from toolhand.sim.drawings.text_truth import SimTextReader
from toolhand.sim.perception import SimPerception
from toolhand.tool_nodes.grasp.sampling import AnalyticGraspGenerator
from toolhand.tool_nodes.models.table import MODELS, of_port
from toolhand.tool_nodes.perception.pixels import PixelPerception
from toolhand.tool_nodes.perception.text.rapid import RapidTextReader
from toolhand.tool_nodes.sandbox.executor import CodeExecutor
from toolhand.tool_nodes.toolbox.toolbox import ToolSpec
from toolhand.tool_nodes.tools.spacetools.mock_robot import MockRobot

_KEYS = {
    "Pointer": "pointer",
    "Detector": "detector",
    "Segmenter": "segmenter",
    "DepthEstimator": "depth",
    "TextReader": "reader",
    "GraspGenerator": "grasps",
}
"""How the ports that models stand behind are called on the command line."""


class _Named(Protocol):
    backend: str


@dataclass(frozen=True)
class Family:
    """Tools of one suite that the same object drives.

    Attributes:
        suite: Key of `toolhand.tool_nodes.tools.suites.SUITES`.
        title: Heading.
        tools: Their names, or patterns of them, in the order of the paper.
        driven_by: Model that drives them in the paper.
        ports: Whom they ask; none for functions of their arguments alone.
        backends: Classes that can stand behind the ports and name themselves in the results.
        others: Other backends for them, without a name in the results.
    """

    suite: str
    title: str
    tools: tuple[str, ...]
    driven_by: str
    ports: tuple[str, ...] = ()
    backends: tuple[type[_Named], ...] = ()
    others: str = ""

    @property
    def backend_names(self) -> tuple[str, ...]:
        """What the results can name, each once."""
        return tuple(dict.fromkeys(backend.backend for backend in self.backends))

    @property
    def models(self) -> str:
        """Adapters to real models that can stand behind the ports."""
        names = [name for port in self.ports for name in of_port(_KEYS.get(port, ""))]
        return ", ".join(f"`{name}`" for name in names) or "-"

    @property
    def behind(self) -> str:
        """What can stand behind the ports, in words."""
        names = ", ".join(f"`{name}`" for name in self.backend_names)
        return "; ".join(part for part in (self.others, names) if part) or "function"

    def rank(self, tool: ToolSpec) -> int | None:
        """Place of a tool among the patterns; None if it is of another family."""
        if tool.suite != self.suite:
            return None
        return next((i for i, pattern in enumerate(self.tools) if fnmatchcase(tool.name, pattern)), None)


_TITLES: Mapping[str, str] = {
    "spacetools": "SpaceTools",
    "peria": "PERIA",
    "evic": "E-ViC",
    "last": "LAST",
    "wrist": "Second view",
    "native": "Native",
    "clearing": "Clearing the way",
}

_SEEING: tuple[type[_Named], ...] = (SimPerception, PixelPerception)

FAMILIES: Sequence[Family] = (
    Family(
        "spacetools",
        "The robot",
        ("robot.capture_image", "robot.get_*", "robot.execute_grasp", "robot.*"),
        "robot arm with an RGB-D camera",
        ("Camera", "Planner", "Arm"),
        (MockRobot,),
        "simulated Gen3 with 2F-85 and ray camera (GL with the extra `gl`); ROS 2 controllers and topics",
    ),
    Family("spacetools", "Pointing", ("roborefer.detect_one", "roborefer.*"), "RoboRefer", ("Pointer",), _SEEING),
    Family("spacetools", "Pointing with a general VLM", ("vlm.detect_one", "vlm.*"), "Molmo", ("Pointer",), _SEEING),
    Family("spacetools", "Segmentation", ("sam2.*",), "SAM 2", ("Segmenter",), _SEEING),
    Family("spacetools", "Depth", ("depth_estimator.*",), "Depth Pro", ("DepthEstimator",), _SEEING),
    Family("spacetools", "Grasps", ("grasp_generator.*",), "GraspGen", ("GraspGenerator",), (AnalyticGraspGenerator,)),
    Family("spacetools", "3D boxes", ("bounding_box.*",), "function tool"),
    Family("spacetools", "Parts of pictures and arrays", ("vision_ops.index_at", "vision_ops.*_crop"), "function tool"),
    Family(
        "spacetools", "Code", ("code_executor.exec", "code_executor.eval"), "Python", ("CodeRunner",), (CodeExecutor,)
    ),
    Family(
        "peria",
        "Reading text",
        ("text_ocr", "text_spotting", "map_text_ocr", "formula_ocr", "table_ocr"),
        "PaddleOCR-VL-1.5",
        ("TextReader",),
        (SimTextReader, RapidTextReader),
    ),
    Family("peria", "Detection", ("grounding_dino",), "Grounding DINO base", ("Detector",), _SEEING),
    Family(
        "peria",
        "Segmentation and counting",
        ("auto_segment", "bbox_segment", "text_segment", "exemplar_segment", "concept_count", "presence_check"),
        "SAM 3.1",
        ("Segmenter",),
        _SEEING,
    ),
    Family(
        "peria",
        "Interaction",
        ("image_crop", "image_label", "draw_line", "draw_path", "bounding_box", "image_highlight"),
        "function tool",
    ),
    Family(
        "evic",
        "Visual tools",
        ("image_zoom_in", "draw_point", "draw_box", "draw_trajectory", "draw_3d_bbox"),
        "function tool",
    ),
    Family(
        "last",
        "Depth, objects and 3D points",
        ("EstimateDepth", "EstimateSize", "SegmentObjects", "CountObjects", "Get3DPoint"),
        "Grounding DINO, SAM 2, Depth Anything v2, VGGT",
        ("Detector", "Segmenter", "DepthEstimator"),
        _SEEING,
    ),
    Family("last", "Zooming", ("ZoomCrop",), "function tool"),
    Family(
        "native",
        "In one call",
        ("robot.look", "robot.pick", "robot.place", "robot.*"),
        "-",
        ("Camera", "Segmenter", "GraspGenerator", "Planner", "Arm"),
        _SEEING,
        others="simulated arm; ROS 2 controllers and topics",
    ),
    Family(
        "wrist",
        "The camera at the wrist",
        ("robot.look_closer",),
        "-",
        ("Camera", "Planner", "Arm"),
        others="simulated arm with a camera at its wrist; ROS 2 controllers and topics",
    ),
    Family(
        "clearing",
        "What is in the way",
        ("robot.what_is_in_the_way", "robot.put_aside", "robot.find_place"),
        "-",
        ("Camera", "Segmenter", "GraspGenerator", "Planner", "Arm"),
        _SEEING,
        others="simulated arm; ROS 2 controllers and topics",
    ),
    Family(
        "skills",
        "The hand",
        ("robot.open_gripper", "robot.close_gripper", "robot.*"),
        "-",
        ("Camera", "Planner", "Arm"),
        others="simulated arm; ROS 2 controllers",
    ),
)
"""In the order of docs/reference/tools.md; every tool of this project is of exactly one."""


def suite_title(suite: str) -> str:
    """How a suite is called in documents."""
    return _TITLES.get(suite, suite.replace("_", " ").capitalize())


def families_of(specs: Iterable[ToolSpec]) -> list[Family]:
    """The families of some tools, suite by suite; tools that no family lists are one of their suite's name."""
    known = list(specs)
    found = [family for family in FAMILIES if tools_of(family, known)]
    rest: dict[str, list[str]] = {}
    for spec in known:
        if all(family.rank(spec) is None for family in FAMILIES):
            rest.setdefault(spec.suite, []).append(spec.name)
    found += [Family(suite, suite_title(suite), tuple(names), "-") for suite, names in rest.items()]
    suites = list(dict.fromkeys(family.suite for family in found))
    return sorted(found, key=lambda family: suites.index(family.suite))


def tools_of(family: Family, specs: Iterable[ToolSpec]) -> list[ToolSpec]:
    """The family's tools among others, in its order."""
    ranked = [(rank, spec.name, spec) for spec in specs if (rank := family.rank(spec)) is not None]
    return [spec for _, _, spec in sorted(ranked, key=lambda item: item[:2])]


_MODELS_LEAD = """\
## Real models

Adapters in `tool_nodes/models/`, one file each: `--pointer qwen_vl:WEIGHTS --segmenter sam2:WEIGHTS`. WEIGHTS is a
folder or a name of the hub, with `?device=cuda&dtype=bfloat16&batch=8` where needed; models behind a server are
`NAME:MODEL@URL`. The extra `models` brings torch and transformers. Only safetensors are read; pickled, cut or foreign
weights are refused. Memory is that of the weights alone.

All are tested with random weights of their architecture (loading, shapes, batches, coordinates) or with a fake server;
none with its real weights, on a GPU, or with the real server.

| name | port | model | licence of the weights | memory |
|---|---|---|---|---|
"""
_MODELS_END = """
VGGT is left out: transformers has no class for it. Points that a language model writes may be the same whatever it is
asked: where two phrases give the same ones in an image, the result says so. A model's server is sent the key in the
environment variable TOOLHAND_MODELS_KEY, over https or to this very machine.
"""


def model_table() -> str:
    """The section of docs/reference/tools.md about adapters to real models."""
    rows = [
        f"| `{model.name}` | {model.port} | {model.title} | {model.licence} | {model.memory} |\n" for model in MODELS
    ]
    return _MODELS_LEAD + "".join(rows) + _MODELS_END


def tool_matrix(specs: Iterable[ToolSpec]) -> str:
    """Suite x tool x backend as a Markdown table, one row for each family; the tools are links to their headings."""
    known = list(specs)
    rows = [
        "| suite | tools | driven by, in the paper | backends here | real models |",
        "|---|---|---|---|---|",
    ]
    for family in families_of(known):
        suite = suite_title(family.suite)
        where, names = f"[{suite}](#{anchor(suite)})", _linked(tools_of(family, known))
        rows.append(f"| {' | '.join((where, names, family.driven_by, family.behind, family.models))} |")
    return "\n".join(rows) + "\n"


def heading(spec: ToolSpec) -> str:
    """The heading of a tool's section."""
    return f"`{spec.name}({', '.join(spec.kinds)})`"


def anchor(title: str) -> str:
    """The link target that a Markdown page makes of a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _linked(specs: Sequence[ToolSpec]) -> str:
    """Links to tools, with a prefix that is written once: `a.b`, `c` for a.b and a.c."""
    shown = []
    before = ""
    for spec in specs:
        prefix, dot, rest = spec.name.rpartition(".")
        shown.append(f"[`{rest if dot and prefix == before else spec.name}`](#{anchor(heading(spec))})")
        before = prefix
    return ", ".join(shown)
