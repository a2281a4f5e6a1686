"""Options of `toolhand bench perception`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from toolhand.agent_node.console.options import ImageSize, SensorName
from toolhand.agent_node.console.terminal import AsJson
from toolhand.bench.options import BenchOptions
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.port_names import DEFAULT_SENSOR, require_sensor


@dataclass(frozen=True)
class Options(BenchOptions):
    """Compare every perception with the simulator's truth: pointing, masks, boxes, depth, counts, free space and
    scores.

    Attributes:
        scenes: Random scenes.
        first_seed: Seed of the first scene.
        perception: Only this one of them.
        jobs: Processes.
        plot: Where to write an image of how reliable the scores are (PNG).
        text: Measure the reading of text instead, in one process.
        reader: Reader of text, with --text.
        size: Width and height of the images; 4:3 keeps the field of view.
        masks: Measure masks of unknown objects instead, in scenes of these kinds, separated by commas: apart, crowd,
            single, packed, touching, pile, bin, shelf, stacked, lying.
        objects: Object set of the clutter, with --masks.
        known: With --masks, products of the catalogue are known as such.
    """

    WORK = "toolhand.bench.perception.report:BENCH"

    scenes: int = 200
    first_seed: int = 0
    perception: str = ""
    jobs: int = 1
    plot: Path | None = None
    text: bool = False
    reader: str = "rapidocr"
    size: ImageSize = (640, 480)
    sensor: SensorName = DEFAULT_SENSOR
    masks: str = ""
    objects: str = "generated"
    known: bool = False
    as_json: AsJson = False

    def check(self) -> None:
        super().check()
        if self.perception:
            registry.find("perception", self.perception)
        require_sensor(self.sensor)
