"""`toolhand tools` and `toolhand call`: the toolbox from the terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from agent_node.console.options import Perception, PortOptions
from agent_node.console.terminal import (
    INTERRUPTED,
    AsJson,
    Interrupt,
    emit,
    exit_status,
    plain,
    save_png,
    say,
)
from tool_nodes.port_names import AS_PRESET, DEFAULT_PRESET, PortNames
from tool_nodes.results import ErrorCode, ToolError
from toolhand.options import PngFile, SceneName, Seed, Suite, named_station

if TYPE_CHECKING:
    from sim.mock.station import MockStation
    from sim.station import Station
    from tool_nodes.toolbox.images import SessionImage

StationChoice = Annotated[
    Literal["sim", "mock"],
    tyro.conf.arg(name="station", help='"sim" is the simulated robot; "mock" shows recorded frames and moves nothing.'),
]


def tools(suite: Suite = "spacetools", robot: StationChoice = "sim", as_json: AsJson = False) -> int:
    """List the tools and their arguments; with --json, their schemas in the function-calling form."""
    toolbox = _station("example", DEFAULT_PRESET, 0, suite, robot, None).toolbox
    if as_json:
        emit(toolbox.schemas())
        return 0
    for name in sorted(toolbox.specs):
        spec = toolbox.specs[name]
        print(f"{name}({', '.join(spec.kinds)}){'  [moves the robot]' if spec.motion else ''}\n    {spec.description}")
    return 0


def call(
    tool: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TOOL")],
    arguments: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[JSON]")] = "{}",
    scene: SceneName = "example",
    perception: Perception = DEFAULT_PRESET,
    ports: PortOptions = AS_PRESET,
    seed: Seed = 0,
    suite: Suite = "all",
    robot: StationChoice = "sim",
    data: Path | None = None,
    frame: int = 0,
    picture: Path | None = None,
    image: PngFile = None,
    as_json: AsJson = False,
) -> int:
    """Call one tool on a fresh scene. Image 0 is a picture of it; $depth_map, $point_cloud and $focal_length_px exist.

    Args:
        tool: Name of the tool, e.g. roborefer.detect_all; `toolhand tools --suite all` lists them.
        arguments: Its arguments as a JSON object, e.g. '{"obj_name": "can", "image_index": 0}'.
        data: Data set of the mock robot; the shipped one where it is left out.
        frame: Which frame of the data set.
        picture: A picture file to look at; it becomes image 0 instead of the scene's picture.
    """
    from sim.mock.station import MockStation
    from tool_nodes.toolbox.arguments import describe
    from tool_nodes.toolbox.toolbox import Session, Toolbox
    from tool_nodes.tools.spacetools.robot import CameraTools

    try:
        parsed = json.loads(arguments)
    except (ValueError, RecursionError) as error:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"The arguments are not a JSON object: {error}.") from error
    station, session = _station(scene, perception, seed, suite, robot, data, frame, ports), Session()
    station.toolbox.find(tool)
    with Interrupt(lambda: None if isinstance(station, MockStation) else station.arm.stop()) as interrupt:
        if picture is not None:
            session.images.append(_foreign(picture))
        else:
            looking = Toolbox([CameraTools(station.camera)])
            for name in ("robot.capture_image", "robot.get_depth_with_pointcloud"):
                looking.call(name, {}, session)
        record = station.toolbox.call(tool, parsed, session)
    result = record.result
    if image is not None and result.image is not None:
        save_png(image, result.image)
    elif image is not None:
        say(f"{tool} returned no picture; {image} was not written.")
    if as_json:
        emit(
            {
                "tool": tool,
                "success": result.ok,
                "text": result.text,
                "variables": {name: describe(value) for name, value in result.variables.items()},
                "error_code": result.error.code if result.error else None,
                "wall_s": round(record.wall_s, 4),
            }
        )
    elif result.ok:
        print(plain(result.text))
    else:
        say(plain(result.text))
    return INTERRUPTED if interrupt.hit else exit_status(result.error.code if result.error else None, result.ok)


def _station(
    scene: str,
    perception: str,
    seed: int,
    suite: str,
    robot: str,
    data: Path | None,
    frame: int = 0,
    ports: PortNames = AS_PRESET,
) -> Station | MockStation:
    if robot == "sim":
        if data is not None or frame:
            raise ToolError(
                ErrorCode.INVALID_ARGUMENT,
                "--data and --frame belong to the mock robot.",
                "Give --station mock with them.",
            )
        return named_station(scene, perception, seed, suite=suite, ports=ports)
    if scene != "example":
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "The mock robot has no scenes.", "Give --frame and --data.")
    from sim.mock.data import SHIPPED, read_dataset
    from sim.mock.station import MockStation
    from sim.station import StationConfig
    from tool_nodes.tools.suites import parse_suites

    config = StationConfig(perception=perception, ports=ports, seed=seed, suites=parse_suites(suite))
    return MockStation(read_dataset(data or SHIPPED).frame(frame), config)


def _foreign(path: Path) -> SessionImage:
    """A picture file as a picture of a conversation: upright, its first frame, on white where it is transparent.

    Raises:
        ToolError: INVALID_ARGUMENT for what is no picture, is larger than a conversation takes, or has more than 8 bits
            a channel, which would be cut off.
    """
    import numpy as np
    from PIL import Image, ImageOps

    from tool_nodes.toolbox.images import SessionImage
    from tool_nodes.toolbox.limits import CallLimits
    from tool_nodes.toolbox.picture_files import USUAL, PictureFileError, opened

    def refused(why: object) -> ToolError:
        return ToolError(ErrorCode.INVALID_ARGUMENT, f"Cannot read the picture {str(path)[:200]!r}: {why}.")

    try:
        with opened(path, USUAL, CallLimits().picture_side) as picture:
            if picture.mode.startswith(("I", "F")):
                raise PictureFileError(f"its pixels have more than 8 bits a channel (mode {picture.mode})")
            upright = ImageOps.exif_transpose(picture).convert("RGBA")
    except PictureFileError as error:
        raise refused(error) from error
    ground = Image.new("RGBA", upright.size, "white")
    return SessionImage(np.asarray(Image.alpha_composite(ground, upright).convert("RGB")))
