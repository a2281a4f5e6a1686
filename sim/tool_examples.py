"""The example calls of tools, run on their images: for the page of tools and for tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

from toolhand.sim.drawings import samples
from toolhand.tool_nodes.ports import Camera
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session, Toolbox, ToolSpec
from toolhand.tool_nodes.types import Frame

TABLE = "table"
"""The image of the example scene."""

DRAWN: Mapping[str, Callable[[int], Frame]] = {
    "street": samples.street,
    "city_map": samples.city_map,
    "formula": samples.formula,
    "ruled_table": samples.table,
    "shapes": samples.shapes,
}
"""Images without depth, from a seed, by name."""


@cache
def _drawn(name: str) -> Frame:
    return DRAWN[name](0)


def example_of(spec: ToolSpec) -> Example:
    """The example of a tool. Raises ToolError UNKNOWN_TOOL where it has none."""
    if spec.example is None:
        raise ToolError(ErrorCode.UNKNOWN_TOOL, f"There is no example of {spec.name[:60]!r}.")
    return spec.example


def example_image(name: str, camera: Camera) -> SessionImage:
    """An image by name, as an object that no cache has seen."""
    frame = _drawn(name) if name in DRAWN else camera.capture()
    frame = replace(frame, rgb=frame.rgb.copy(), depth=frame.depth.copy())
    return SessionImage(frame.rgb, frame)


def set_up(example: Example, image: SessionImage, toolbox: Toolbox) -> Session:
    """A conversation with an image, after the calls that an example needs. Raises ToolError if one of them fails."""
    session = Session(images=[image])
    for name in example.before:
        error = toolbox.call(name, example_of(toolbox.find(name)).arguments, session).result.error
        if error is not None:
            raise error
    return session


def run_example(name: str, toolbox: Toolbox, camera: Camera) -> tuple[CallRecord, Session]:
    """Run the example of a tool in a conversation of its own.

    Raises:
        ToolError: UNKNOWN_TOOL for no tool, or one that has no example; that of a call before which failed.
    """
    example = example_of(toolbox.find(name))
    session = set_up(example, example_image(example.image, camera), toolbox)
    return toolbox.call(name, example.arguments, session), session
