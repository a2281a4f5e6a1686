"""The image that is shown with a sentence: the operator's file, or what the camera sees where no tool looks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import ImageOps

from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.toolbox.image_files import LOSSLESS_OR_JPEG, ImageFileError, opened
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.scene_look import look_of

if TYPE_CHECKING:
    from toolhand.tool_nodes.ports import Camera
    from toolhand.tool_nodes.toolbox.toolbox import Tools

_FORMATS = (*LOSSLESS_OR_JPEG, "WEBP")


def picture_file(path: Path) -> SessionImage:
    """The image of a file, turned as its camera was held. Raises ToolError INVALID_ARGUMENT for what is none."""
    try:
        with opened(path, _FORMATS) as picture:
            return SessionImage(np.asarray(ImageOps.exif_transpose(picture).convert("RGB"), np.uint8))
    except ImageFileError as error:
        raise invalid(f"The picture {path} cannot be shown: {error}.", "Give a PNG, JPEG or WebP file.") from None


def first_picture(shown: SessionImage | None, camera: Camera, tools: Tools) -> Sequence[SessionImage]:
    """The images that are shown with a sentence; none where a tool can look.

    Args:
        shown: The operator's image.
        camera: Looks where no tool does.
        tools: The tools that are offered.
    """
    if shown is None and not look_of(tools.specs):
        seen = camera.capture()
        return (SessionImage(seen.rgb, seen),)
    return () if shown is None else (shown,)
