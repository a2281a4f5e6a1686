"""A drawing with known shapes, a simulated table, and conversations about them."""

import json
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.perception.object_finder import ObjectFinder
from toolhand.tool_nodes.results import ToolError, ToolResult
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox
from toolhand.tool_nodes.tools.peria.interaction import PeriaInteractionTools
from toolhand.tool_nodes.tools.peria.perception import PeriaPerceptionTools

SHAPES = {  # name: (left, top, right, bottom) [px] of a 640x480 image
    "red circle": (40, 40, 140, 140),
    "blue square": (200, 50, 280, 130),
    "green triangle": (330, 50, 460, 140),
    "yellow ring": (500, 40, 600, 140),
    "orange rectangle": (40, 200, 180, 260),
    "purple ellipse": (220, 200, 300, 260),
    "black line": (330, 200, 460, 280),
    "red star": (490, 190, 590, 280),
    "grey circle": (40, 320, 180, 460),
    "dark blue square": (90, 360, 140, 410),
    "red rectangle": (480, 340, 600, 440),
}
DOTS = [(240 + 40 * k, 360, 260 + 40 * k, 380) for k in range(5)]


def draw_shapes(background: tuple[int, int, int] = (255, 255, 255)) -> NDArray[np.uint8]:
    """uint8 (480, 640, 3): `SHAPES` and five green dots, with smooth outlines."""
    k = 3
    image = Image.new("RGB", (640 * k, 480 * k), background)
    draw = ImageDraw.Draw(image)

    def at(*numbers: float) -> list[float]:
        return [k * v for v in numbers]

    draw.ellipse(at(*SHAPES["red circle"]), fill=(220, 30, 30))
    draw.rectangle(at(*SHAPES["blue square"]), fill=(30, 60, 220))
    draw.polygon(at(380, 140, 330, 50, 460, 60), fill=(20, 160, 60))
    draw.ellipse(at(*SHAPES["yellow ring"]), fill=(240, 200, 30))
    draw.ellipse(at(530, 70, 570, 110), fill=background)
    draw.rectangle(at(*SHAPES["orange rectangle"]), fill=(240, 140, 20), outline=(0, 0, 0), width=2 * k)
    draw.ellipse(at(*SHAPES["purple ellipse"]), fill=(150, 40, 180))
    draw.line(at(330, 200, 460, 280), fill=(0, 0, 0), width=3 * k)
    turns = [(50.0 if n % 2 == 0 else 22.0, math.pi * n / 5 - math.pi / 2) for n in range(10)]
    draw.polygon([v * k for r, a in turns for v in (540 + r * math.cos(a), 240 + r * math.sin(a))], fill=(220, 30, 30))
    draw.ellipse(at(*SHAPES["grey circle"]), fill=(120, 120, 120))
    draw.rectangle(at(*SHAPES["dark blue square"]), fill=(20, 30, 110))
    draw.rectangle(at(*SHAPES["red rectangle"]), outline=(220, 30, 30), width=3 * k)
    for dot in DOTS:
        draw.ellipse(at(*dot), fill=(20, 160, 60))
    return np.asarray(image.resize((640, 480), Image.Resampling.LANCZOS))


@pytest.fixture(scope="session")
def shapes() -> dict[str, tuple[int, int, int, int]]:
    """Where each shape of the drawing is [px]."""
    return SHAPES


@pytest.fixture(scope="session")
def dots() -> list[tuple[int, int, int, int]]:
    """Where the five green dots of the drawing are [px], from left to right."""
    return DOTS


@pytest.fixture(scope="session")
def drawing() -> NDArray[np.uint8]:
    """The drawing (480, 640, 3)."""
    return draw_shapes()


class Conversation:
    """A conversation that has one image: image 0."""

    def __init__(self, toolbox: Toolbox, image: SessionImage) -> None:
        self.toolbox = toolbox
        self.session = Session(images=[image])

    def do(self, name: str, image_index: int = 0, **arguments: Any) -> ToolResult:
        """The result of a call that succeeds."""
        result = self.toolbox.call(name, {"image_index": image_index, **arguments}, self.session).result
        assert result.ok, result.text
        return result

    def ask(self, name: str, image_index: int = 0, **arguments: Any) -> dict[str, Any]:
        """The JSON object that a perception tool answers with."""
        result = self.do(name, image_index, **arguments)
        head, body = result.text.split("\n")
        assert head == "Tool executed successfully."
        assert result.image is None
        assert not result.variables
        assert body.startswith("Result: {")
        assert body.endswith(f"}} (backend: {result.backend})")
        answer = json.loads(body.removeprefix("Result: ").removesuffix(f" (backend: {result.backend})"))
        assert {key: value for key, value in result.value.items() if key != "masks"} == answer
        return answer

    def refusal(self, name: str, image_index: int = 0, **arguments: Any) -> ToolError:
        """The error of a call that must fail: one sentence, and no new image."""
        images = len(self.session.images)
        error = self.toolbox.call(name, {"image_index": image_index, **arguments}, self.session).result.error
        assert error is not None
        assert "\n" not in str(error)
        assert len(str(error)) < 400
        assert len(self.session.images) == images
        return error

    @property
    def newest(self) -> SessionImage:
        """The last image."""
        return self.session.images[-1]


@pytest.fixture(scope="session", params=["sim", "pixels"])
def station(request: pytest.FixtureRequest) -> Station:
    return Station(load_scene(EXAMPLE_SCENE), StationConfig(perception=request.param))


@pytest.fixture(scope="session")
def pixel_station() -> Station:
    return Station(load_scene(EXAMPLE_SCENE), StationConfig(perception="pixels"))


def _toolbox(station: Station) -> Toolbox:
    finder = ObjectFinder(station.ports.detector, station.ports.segmenter, station.ports.depth)
    return Toolbox([PeriaInteractionTools(), PeriaPerceptionTools(finder)])


@pytest.fixture
def table(station: Station) -> Conversation:
    """About an image of the example scene, with each backend."""
    frame = station.camera.capture()
    return Conversation(_toolbox(station), SessionImage(frame.rgb, frame))


@pytest.fixture
def sheet(pixel_station: Station, drawing: NDArray[np.uint8]) -> Conversation:
    """About the drawing."""
    return Conversation(_toolbox(pixel_station), SessionImage(drawing))


@pytest.fixture
def sheet_of(pixel_station: Station) -> Any:
    """Makes a conversation about an image (H, W, 3)."""
    toolbox = _toolbox(pixel_station)
    return lambda rgb: Conversation(toolbox, SessionImage(rgb))
