"""A flat pattern of black and white cells in simulated images, such as a calibration board.

Rays have no textures. The board is cast into the image that they drew: each pixel is the mean of nine rays against
its plane, and it is hidden by what is nearer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from toolhand.sim.camera.shading import decode_rgb, encode_rgb
from toolhand.tool_nodes.geometry import invert, project, transform
from toolhand.tool_nodes.ports import Camera
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame

_RAYS = 3
"""Rays along each side of a pixel [-]."""
_INK, _PAPER, _BACK = 0.04, 0.75, 0.35
"""Light of a black cell, of a white one and the margin, and of the board's back, over full light [-]: matt print in a
lit room."""
_HIDES_M = 0.002
"""A surface that is nearer than the board by this hides it [m]; less than the board's thickness."""


@dataclass(frozen=True)
class PaintedBoard:
    """A rigid board.

    Attributes:
        cells: bool (rows, columns), true where white; x runs along the columns, y along the rows, z into the board.
        cell_m: Side of a cell [m].
        margin_m: Width of the white margin around the cells [m].
        mirrored: Whether the print is mirrored left to right.
    """

    cells: BoolArray
    cell_m: float
    margin_m: float = 0.012
    mirrored: bool = False

    @property
    def size_m(self) -> FloatArray:
        """(2,) width and height of the cells [m]."""
        return self.cell_m * np.array(self.cells.shape[::-1], float)

    def _light(self, x: NDArray[np.float32], y: NDArray[np.float32]) -> NDArray[np.float32]:
        """Light at points of the plane, arrays of any one shape [m]; NaN off the board."""
        rows, columns = self.cells.shape
        m, (width, height) = self.margin_m, self.size_m
        if self.mirrored:
            x = np.float32(width) - x
        light = np.full(x.shape, np.float32(np.nan))
        on_board = (x >= -m) & (x <= width + m) & (y >= -m) & (y <= height + m)
        scale = np.float32(1.0 / self.cell_m)
        column = np.clip(np.floor(x[on_board] * scale).astype(np.int32), -1, columns) + 1
        row = np.clip(np.floor(y[on_board] * scale).astype(np.int32), -1, rows) + 1
        padded = np.where(np.pad(self.cells, 1, constant_values=True), np.float32(_PAPER), np.float32(_INK))
        light[on_board] = padded[row, column]
        return light

    def draw(
        self, rgb: NDArray[np.uint8], depth: NDArray[np.float32], K: FloatArray, T_camera_board: FloatArray
    ) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """Colour (H, W, 3) and depth (H, W) [m] with the board in them; copies.

        Args:
            rgb, depth: The image without it; unknown depth hides nothing.
            K: (3, 3) true intrinsics [px].
            T_camera_board: (4, 4) true pose of the board.
        """
        rgb, depth = rgb.copy(), depth.copy()
        m, (width, height) = self.margin_m, self.size_m
        outer = np.array([[-m, -m, 0.0], [width + m, -m, 0.0], [width + m, height + m, 0.0], [-m, height + m, 0.0]])
        seen = transform(T_camera_board, outer)
        if not (seen[:, 2] > 0.02).all():
            return rgb, depth
        pixels = project(seen, K)
        left, top = np.maximum(np.floor(pixels.min(axis=0)).astype(int), 0)
        right, bottom = np.minimum(np.ceil(pixels.max(axis=0)).astype(int) + 1, rgb.shape[1::-1])
        if left >= right or top >= bottom:
            return rgb, depth
        offsets = (np.arange(_RAYS) - (_RAYS - 1) / 2.0) / _RAYS
        u = (np.arange(left, right)[:, None] + offsets).ravel()
        v = (np.arange(top, bottom)[:, None] + offsets).ravel()
        T_board_camera = invert(T_camera_board)
        R, eye = T_board_camera[:3, :3], T_board_camera[:3, 3]
        # directions of the rays in the board's frame: a sum of what the column and what the row gives
        along, down = (u - K[0, 2]) / K[0, 0], (v - K[1, 2]) / K[1, 1]
        by_column = (R[:, :1] * along).astype(np.float32)
        by_row = (R[:, 1:2] * down + R[:, 2:]).astype(np.float32)
        slope = by_column[2] + by_row[2][:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.float32(-eye[2]) / slope
        x, y = (np.float32(eye[k]) + z * (by_column[k] + by_row[k][:, None]) for k in (0, 1))
        light = self._light(x, y)
        if eye[2] > 0.0:  # behind it
            light[np.isfinite(light)] = _BACK
        window = np.s_[top:bottom, left:right]
        before = depth[window]
        known = np.where(np.isfinite(before), before, np.float32(np.inf)) + np.float32(_HIDES_M)
        hidden = known.repeat(_RAYS, axis=0).repeat(_RAYS, axis=1) < z
        light[hidden | ~(z > 0.0)] = np.nan
        shape = (bottom - top, _RAYS, right - left, _RAYS)
        seen = np.isfinite(light)
        covered = _mean(seen.astype(np.float32), shape)
        total = _mean(np.where(seen, light, np.float32(0.0)), shape)
        behind = decode_rgb(rgb[window].reshape(-1, 3)).reshape(*covered.shape, 3)
        mixed = total[..., None] + (1.0 - covered[..., None]) * behind
        touched = covered > 0.0
        rgb[window][touched] = encode_rgb(mixed[touched].astype(np.float32))
        centre = z.reshape(shape)[:, _RAYS // 2, :, _RAYS // 2].astype(np.float32)
        mostly = covered > 0.5
        depth[window][mostly] = centre[mostly]
        return rgb, depth


def _mean(values: NDArray[np.float32], shape: tuple[int, int, int, int]) -> NDArray[np.float32]:
    """The mean (h, w) of the rays of each pixel, of (h * _RAYS, w * _RAYS)."""
    mean: NDArray[np.float32] = values.reshape(shape).sum(axis=(1, 3)) / np.float32(_RAYS**2)
    return mean


class BoardCamera:
    """A camera whose images show a board, with blur and noise; see ports.Camera.

    Args:
        camera: Takes ideal images without the board.
        true_K: (3, 3) true intrinsics [px], whatever the frames say.
        T_base_camera, T_base_board: Called for the true poses (4, 4) at the time of an image.
        blur_px: Standard deviation of the lens's blur [px].
        noise: Standard deviation of the colours [grey levels].
        seed: Seeds the noise.
    """

    def __init__(
        self,
        camera: Camera,
        board: PaintedBoard,
        true_K: FloatArray,
        T_base_camera: Callable[[], FloatArray],
        T_base_board: Callable[[], FloatArray],
        blur_px: float = 0.0,
        noise: float = 0.0,
        seed: int = 0,
    ) -> None:
        self._camera, self.board, self._K = camera, board, true_K
        self._T_base_camera, self._T_base_board = T_base_camera, T_base_board
        self._blur_px, self._noise = blur_px, noise
        self._rng = np.random.default_rng(seed)

    def capture(self) -> Frame:
        """See ports.Camera; every image has noise of its own."""
        frame = self._camera.capture()
        T_camera_board = invert(self._T_base_camera()) @ self._T_base_board()
        rgb, depth = self.board.draw(frame.rgb, frame.depth, self._K, T_camera_board)
        values = rgb.astype(np.float32)
        if self._blur_px:
            values = ndimage.gaussian_filter(values, (self._blur_px, self._blur_px, 0.0))
        if self._noise:
            values += np.float32(self._noise) * self._rng.standard_normal(values.shape, dtype=np.float32)
        return replace(frame, rgb=np.clip(np.rint(values), 0, 255).astype(np.uint8), depth=depth)
