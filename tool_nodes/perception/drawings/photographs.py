"""Whether an image is a photograph: what is drawn is even between its edges, and what a lens sees is not.

Calibrated on 19 photographs of scikit-image and on this project's drawings, maps, tables and test images, clean, as
JPEG (quality 75), under uneven light and with noise of sigma 6 and 12. The doubtful are taken for photographs: shaded
artwork, and JPEG files of drawings that are smaller than about 400 px, whose edges the compression has frayed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from toolhand.tool_nodes.perception.drawings.segments import median_of_nine

_SIDE_PX = 640
"""A larger image is shrunk to at most this, its longer side [px]."""
_REACH_PX = 6
"""Pixels are compared with those so far to either side of them [px]: beyond what a median evens out."""
_EDGE_ZONE_PX = 8
"""Nearer to an edge than this nothing is compared [px]."""
_EDGE = (14.0, 2.0)
"""A step between neighbours is an edge from the first [grey levels] plus the second [sigmas of the noise]; after a
median filter. Steps of the raw image from `_RAW_EDGE` on are edges too."""
_RAW_EDGE = (20.0, 5.0)
"""The same before the median [grey levels], [sigmas]."""
_UNEVEN = (2.0, 1.2)
"""A difference at `_REACH_PX` that is texture or shading: the first [grey levels] plus the second [sigmas]."""
_PHOTOGRAPHED = 0.12
"""Share of uneven pixels from which an image is a photograph [-]; see `test_photographs.py` for the margin."""
_LEAST_AWAY = 0.05
"""With fewer pixels away from edges than this share, an image is drawn only if it is flat between them [-]."""
_FLAT = 0.68
"""Share of pixels without any edge beside them that such a drawing has, a chessboard say [-]."""
_FLAT_STEP = 3
"""Largest step between neighbours that is flat [grey levels]."""
_LEAST_SIDE_PX = 24
"""Smaller images show too little to tell: they are taken for drawings [px]."""


def is_photograph(rgb: NDArray[np.uint8]) -> bool:
    """True if an image (H, W, 3) is more likely a photograph than a drawing."""
    if min(rgb.shape[:2]) < _LEAST_SIDE_PX:
        return False
    away, uneven, flat = evenness(rgb)
    return flat < _FLAT if away < _LEAST_AWAY else uneven > _PHOTOGRAPHED


def evenness(rgb: NDArray[np.uint8]) -> tuple[float, float, float]:
    """What distinguishes a drawing (H, W, 3), both sides at least 24 px, from a photograph; all in [0, 1].

    Returns:
        Share of the pixels that are away from edges in the raw image; share of uneven pixels among those away from
        edges; share of all pixels that differ from no neighbour.
    """
    shrink = math.ceil(max(rgb.shape[:2]) / _SIDE_PX)
    small = rgb if shrink == 1 else np.asarray(Image.fromarray(rgb).reduce(shrink))
    planes = np.ascontiguousarray(np.moveaxis(small, 2, 0))
    once = median_of_nine(planes)
    smooth = median_of_nine(once).astype(np.int16)
    raw = _steps(planes.astype(np.int16))
    sigma = _noise(planes.astype(np.int16))
    away = ~_near(raw > _RAW_EDGE[0] + _RAW_EDGE[1] * sigma)
    compared = ~_near(_steps(once.astype(np.int16)) > _EDGE[0] + _EDGE[1] * sigma)[
        _REACH_PX:-_REACH_PX, _REACH_PX:-_REACH_PX
    ]
    reach = 2 * _REACH_PX
    across = np.abs(smooth[:, :, reach:] - smooth[:, :, :-reach]).max(axis=0)[_REACH_PX:-_REACH_PX]
    down = np.abs(smooth[:, reach:] - smooth[:, :-reach]).max(axis=0)[:, _REACH_PX:-_REACH_PX]
    uneven = (np.maximum(across, down) > _UNEVEN[0] + _UNEVEN[1] * sigma)[compared]
    share = float(uneven.mean()) if uneven.size else 1.0
    return float(away.mean()), share, float(np.mean(raw <= _FLAT_STEP))


def _steps(planes: NDArray[np.int16]) -> NDArray[np.int16]:
    """(H, W) largest difference to the left and the upper neighbour over the channels of (3, H, W) [grey levels]."""
    steps = np.zeros(planes.shape[1:], np.int16)
    steps[:, 1:] = np.abs(planes[:, :, 1:] - planes[:, :, :-1]).max(axis=0)
    steps[1:] = np.maximum(steps[1:], np.abs(planes[:, 1:] - planes[:, :-1]).max(axis=0))
    return steps


def _near(edges: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return np.asarray(ndimage.maximum_filter(edges, 2 * _EDGE_ZONE_PX + 1), bool)


def _noise(planes: NDArray[np.int16]) -> float:
    """Sigma of the noise of the noisiest of (3, H, W) [grey levels]: Immerkaer's mask (1996), with a median."""
    rows = planes[:, :-2] - 2 * planes[:, 1:-1] + planes[:, 2:]
    mask = rows[:, :, :-2] - 2 * rows[:, :, 1:-1] + rows[:, :, 2:]
    return float(np.median(np.abs(mask), axis=(1, 2)).max()) / (6.0 * 0.6745)
