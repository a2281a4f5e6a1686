"""The table as a finished calibration has it: by the board that lies on it, or by depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from toolhand.tool_nodes.calibration.detection import BoardCorners
from toolhand.tool_nodes.calibration.solving import HandEye
from toolhand.tool_nodes.calibration.table_plane import require_table, table_plane
from toolhand.tool_nodes.calibration.viewpoints import Arrangement
from toolhand.tool_nodes.perception.extents import outline
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import Frame

_WIDER = 1.7
"""By how much the outline of the found corners is widened to hold the whole board [-]: of 7 by 5 squares the corners
span 6 by 4, and with its margin the board is 1.6 times as high."""


def check_table(found: HandEye, said: Arrangement, frames: Sequence[Frame], seen: Sequence[BoardCorners]) -> bool:
    """Compare the table with the height that motions are planned with; False where nothing shows it.

    The board on the table shows it by itself; for a camera beside the table it is the depth of the images.

    Args:
        found: The calibration.
        said: Where board and camera were said to be.
        frames: Images of it.
        seen: Corners of the board in each.

    Raises:
        ToolError: UNAVAILABLE where they disagree, with by how much.
    """
    if found.on_hand:
        down = found.Z[:3, 2]
        middle = found.Z @ np.append(said.board.centre, 1.0)
        tilt = float(np.arccos(np.clip(-down[2], -1.0, 1.0)))
        require_table(float(middle[2]) - said.thickness_m, tilt, "the board on it")
        return True
    planes = []
    for frame, corners in zip(frames, seen, strict=True):
        try:
            planes.append(table_plane(replace(frame, T_base_camera=found.X, depth=_without_board(frame, corners))))
        except ToolError as error:
            if error.code not in (ErrorCode.NO_DEPTH, ErrorCode.IMAGE_UNUSABLE):
                raise
    if not planes:
        return False
    height = float(np.median([plane.height_m for plane in planes]))
    require_table(height, float(np.median([plane.tilt_rad for plane in planes])), "the scene camera")
    return True


def _without_board(frame: Frame, corners: BoardCorners) -> NDArray[np.float32]:
    """Depth (H, W) [m] without the board in the hand, which may be the largest level object of the image."""
    middle = corners.pixels.mean(axis=0)
    around = middle + _WIDER * (outline(corners.pixels) - middle)
    drawn = Image.new("1", frame.size)
    ImageDraw.Draw(drawn).polygon([tuple(corner) for corner in around], fill=1)
    return np.where(np.asarray(drawn, bool), np.float32(np.nan), frame.depth)
