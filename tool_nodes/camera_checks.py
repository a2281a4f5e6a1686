"""What every camera's images need, whatever they come from: topics, a library, a recording or a folder."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.results import ErrorCode, ToolError, unavailable
from toolhand.tool_nodes.types import FloatArray, Frame

SHORTEST, LONGEST = 0.1, 100.0
"""Focal lengths in shares of the image's longer side: 157 degrees of view, which is a fisheye's, and half a degree, a
telescope's."""

SKEWED = 1e-6
"""Skew and other entries of K that must be 0 may be so great in shares of the focal length: rounding."""

FURTHEST_M = 100.0
"""No depth camera sees half of an image beyond this [m]: a ZED sees 40 m. In millimetres every image is like that
whose objects are more than 10 cm away."""

_NEVER_M = 1e5
"""No distance [m]: some drivers fill in the greatest float32 where there is no reading."""

_NO_READING = 65535
"""What some drivers send in 16 bits where there is no reading; others send 0."""

BLACK = 4
"""An image without any value above this, of 255, is black."""


class BadMessage(ValueError):
    """What is wrong with a message or a file of a camera, in one sentence."""


class NotRegistered(BadMessage):
    """Depth that is not of the colour image's pixels."""


def known_depth(raw: NDArray[Any], units: float, what: str, instead: str) -> NDArray[np.float32]:
    """Depth (H, W) [m] of what a sensor measured, NaN where that is no reading.

    Args:
        raw: Numbers (H, W); 0, NaN, infinities and, of 16 bits, 65535 are no readings.
        units: How many of them a metre has, greater than 0.
        what: Name of the image inside a sentence.
        instead: Advice where they cannot be metres.

    Raises:
        BadMessage: The distances can only be millimetres.
    """
    known = (raw > 0) & (raw < (_NO_READING if raw.dtype.itemsize == 2 else _NEVER_M * units))
    metres = raw.astype(np.float32, copy=False) / np.float32(units)
    depth = np.where(known | np.isnan(metres), metres, np.float32(np.nan))  # a NaN may say why, see `Frame.robot`
    require_metres(depth[known], what, instead)
    return depth


def require_metres(distances: NDArray[np.float32], what: str, instead: str) -> None:
    """Raise BadMessage where known distances (N,) can only be millimetres."""
    if distances.size and (middle := float(np.median(distances))) > FURTHEST_M:
        raise BadMessage(
            f"The {what} has a median of {middle:g} m, which no depth camera measures; it seems to be in millimetres: "
            f"{instead}."
        )


def require_pinhole(name: str, M: FloatArray, size: tuple[int, int]) -> None:
    """Raise BadMessage unless a camera with images of (width, height) can have the matrix M (3, 3), called `name`."""
    must = f"row by row it must be fx, 0, cx, 0, fy, cy, 0, 0, 1, in pixels of {size[0]}x{size[1]}"
    fx, fy, cx, cy = M[0, 0], M[1, 1], M[0, 2], M[1, 2]
    if not np.isfinite(M).all():
        raise BadMessage(f"{name} holds NaN or infinite numbers: {must}.")
    if M[2, :2].any() and not cx and not cy:
        raise BadMessage(f"{name} is transposed, its last row is {numbers_in(M[2])}: {must}.")
    if tuple(M[2]) != (0.0, 0.0, 1.0):
        raise BadMessage(f"{name} ends with the row {numbers_in(M[2])}: {must}.")
    if max(abs(M[0, 1]), abs(M[1, 0])) > SKEWED * abs(fx):
        skew = M[0, 1] or M[1, 0]
        raise BadMessage(f"{name} has a skew of {skew:g} px, which no camera here has: {must}.")
    low, high = SHORTEST * max(size), LONGEST * max(size)
    if not (low <= fx <= high and low <= fy <= high):
        raise BadMessage(
            f"{name} has focal lengths of {fx:g} and {fy:g} px, but they must be from {low:g} to "
            f"{high:g} px for a picture of {size[0]}x{size[1]}; they are in pixels, not in shares of the picture."
        )
    if not 0.5 <= fx / fy <= 2.0:
        raise BadMessage(f"{name} has focal lengths of {fx:g} and {fy:g} px, too different: {must}.")
    # Pixel 0 reaches from -0.5 to 0.5: the middle of an image one pixel wide is at 0, and no wider one's is.
    if any(abs(c - (side - 1) / 2.0) > 0.499 * side for c, side in zip((cx, cy), size, strict=True)):
        raise BadMessage(
            f"{name} has its principal point at ({cx:g}, {cy:g}), outside the picture of "
            f"{size[0]}x{size[1]} pixels: {must}."
        )


def require_usable(frame: Frame, image: str, depth: str) -> None:
    """Raise ToolError UNAVAILABLE where the image is black or taken from nowhere, NO_DEPTH where no pixel has depth.

    Args:
        frame: A new frame.
        image: Name of the image at the beginning of a sentence, e.g. "The ZED's image".
        depth: Name of the depth image inside a sentence.
    """
    if int(frame.rgb.max()) <= BLACK:
        raise unavailable(f"{image} is black.", "Is the lens covered, or the light off?")
    if (away_m := float(np.linalg.norm(frame.T_base_camera[:3, 3]))) > FURTHEST_M:
        raise unavailable(f"{image} was taken {away_m:g} m from the robot's base.", "Is its pose in metres?")
    if not (frame.depth > 0.0).any():
        raise ToolError(ErrorCode.NO_DEPTH, f"No pixel of {depth} has depth.", "Check the depth camera.")


def numbers_in(values: Iterable[float]) -> str:
    """Numbers in a sentence, e.g. "[1, 0.5]"."""
    return f"[{', '.join(f'{value:g}' for value in values)}]"
