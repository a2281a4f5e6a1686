"""Corners of the board in images, by OpenCV (extra `calibrate`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.calibration.charuco import MODULES, CharucoBoard
from toolhand.tool_nodes.extras import package
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import BoolArray, FloatArray

FEWEST_CORNERS = 8
"""Corners that an image must show [-]: a pose has six unknowns, four corners determine it, and twice as many show
whether they fit."""

_DARK, _BRIGHT = 40.0, 215.0
"""Mean grey level below and above which exposure is named as the likely cause that no board was found [0..255]."""


@dataclass(frozen=True)
class BoardCorners:
    """Corners of the board that one image shows.

    Attributes:
        ids: (k,) indices into `CharucoBoard.corners`.
        pixels: (k, 2) where they are [px]; a whole number is the middle of a pixel.
    """

    ids: NDArray[np.intp]
    pixels: FloatArray


def opencv() -> Any:
    """OpenCV. Raises ToolError UNAVAILABLE without it."""
    return package("cv2", "calibrate", "Calibrating a camera")


@cache
def _detector(board: CharucoBoard) -> tuple[Any, Any]:
    aruco = opencv().aruco
    dictionary = aruco.getPredefinedDictionary(aruco.DICT_4X4_50)
    sizes = MODULES, MODULES - 2
    drawn = aruco.CharucoBoard((board.columns, board.rows), *map(float, sizes), dictionary)
    return drawn, aruco.CharucoDetector(drawn)


def pattern(board: CharucoBoard) -> BoolArray:
    """The cells of the board, bool (rows * MODULES, columns * MODULES), true where white; row by row from its origin.

    Raises:
        ToolError: UNAVAILABLE without OpenCV.
    """
    drawn, _ = _detector(board)
    size = board.columns * MODULES, board.rows * MODULES
    image: BoolArray = np.asarray(drawn.generateImage(size, marginSize=0, borderBits=1)) > 127
    return image


def find_corners(rgb: NDArray[np.uint8], board: CharucoBoard) -> BoardCorners:
    """The board's corners in an image (H, W, 3), to a fraction of a pixel.

    Raises:
        ToolError: IMAGE_UNUSABLE where it shows too few of them, with the likely cause and what to do;
            UNAVAILABLE without OpenCV.
    """
    _, detector = _detector(board)
    cv2 = opencv()
    grey = cv2.cvtColor(np.ascontiguousarray(rgb), cv2.COLOR_RGB2GRAY)
    found, ids, _, markers = detector.detectBoard(grey)
    k = 0 if ids is None else len(ids)
    if k < FEWEST_CORNERS:
        raise _unusable(grey, board, k, 0 if markers is None else len(markers))
    order = np.argsort(ids.ravel())
    return BoardCorners(ids.ravel()[order].astype(np.intp), found.reshape(-1, 2)[order].astype(float))


def _unusable(grey: NDArray[np.uint8], board: CharucoBoard, corners: int, markers: int) -> ToolError:
    """Why an image shows too few corners, as far as it tells."""
    total = (board.columns - 1) * (board.rows - 1)
    _, detector = _detector(board)
    _, mirrored, _, _ = detector.detectBoard(np.ascontiguousarray(grey[:, ::-1]))
    if mirrored is not None and len(mirrored) >= FEWEST_CORNERS:
        return ToolError(
            ErrorCode.IMAGE_UNUSABLE,
            "The board is mirrored: its markers are found once the picture is flipped.",
            "Print the board without mirroring, look at its printed side, and switch off flipping in the camera.",
        )
    if corners or markers > 2:
        return ToolError(
            ErrorCode.IMAGE_UNUSABLE,
            f"The picture shows {corners} of the board's {total} corners; it must show {FEWEST_CORNERS}.",
            f"Bring the whole board into the picture and nothing before it, and check that it is a {board}.",
        )
    mean = float(grey.mean())
    if not _DARK <= mean <= _BRIGHT:
        return ToolError(
            ErrorCode.IMAGE_UNUSABLE,
            f"The picture is too {'dark' if mean < _DARK else 'bright'} to show a board: its mean grey level is "
            f"{mean:.0f} of 255.",
            "Change the light or the exposure.",
        )
    return ToolError(
        ErrorCode.IMAGE_UNUSABLE,
        "The picture shows no board: no marker of it is to be seen.",
        f"Bring the whole board, a {board}, into the picture, in focus and at rest, its printed side to the camera.",
    )
