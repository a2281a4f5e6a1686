"""`toolhand tools` and `toolhand call`: the toolbox from the terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from toolhand.agent_node.console.options import Suite, Unprefixed
from toolhand.agent_node.console.terminal import (
    INTERRUPTED,
    AsJson,
    Interrupt,
    emit,
    exit_status,
    plain,
    save_png,
    say,
)
from toolhand.cli.options import WITH_ALL_TOOLS, PngFile, StationChoice, StationOptions
from toolhand.tool_nodes.results import ToolError, invalid

if TYPE_CHECKING:
    from toolhand.tool_nodes.toolbox.images import SessionImage


def tools(suite: Suite = "spacetools", station: StationChoice = "sim", as_json: AsJson = False) -> int:
    """List the tools and their arguments; with --json, their schemas in the function-calling form."""
    toolbox = StationOptions(suite=suite, station=station).make().toolbox
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
    options: Unprefixed[StationOptions] = WITH_ALL_TOOLS,
    picture: Path | None = None,
    image: PngFile = None,
    as_json: AsJson = False,
) -> int:
    """Call one tool on a fresh scene. Image 0 is an image of it; $depth_map, $point_cloud and $focal_length_px exist.

    Args:
        tool: Name of the tool, e.g. roborefer.detect_all; `toolhand tools --suite all` lists them.
        arguments: Its arguments as a JSON object, e.g. '{"obj_name": "can", "image_index": 0}'.
        image: An image file to look at; it becomes image 0 instead of the scene's image.
    """
    from toolhand.sim.mock.station import MockStation
    from toolhand.tool_nodes.toolbox.arguments import describe
    from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox
    from toolhand.tool_nodes.tools.spacetools.robot import CameraTools

    try:
        parsed = json.loads(arguments)
    except (ValueError, RecursionError) as error:
        raise invalid(f"The arguments are not a JSON object: {error}.") from error
    station, session = options.make(), Session()
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


def _foreign(path: Path) -> SessionImage:
    """An image file as an image of a conversation: upright, its first frame, on white where it is transparent.

    Raises:
        ToolError: INVALID_ARGUMENT for what is no image, is larger than a conversation takes, or has more than 8 bits
            a channel, which would be cut off.
    """
    import numpy as np
    from PIL import Image, ImageOps

    from toolhand.tool_nodes.toolbox.image_files import USUAL, ImageFileError, opened
    from toolhand.tool_nodes.toolbox.images import SessionImage
    from toolhand.tool_nodes.toolbox.limits import CallLimits

    def refused(why: object) -> ToolError:
        return invalid(f"Cannot read the picture {str(path)[:200]!r}: {why}.")

    try:
        with opened(path, USUAL, CallLimits().image_side) as image:
            if image.mode.startswith(("I", "F")):
                raise ImageFileError(f"its pixels have more than 8 bits a channel (mode {image.mode})")
            upright = ImageOps.exif_transpose(image).convert("RGBA")
    except ImageFileError as error:
        raise refused(error) from error
    ground = Image.new("RGBA", upright.size, "white")
    return SessionImage(np.asarray(Image.alpha_composite(ground, upright).convert("RGB")))
