"""Draws images whose truth is known: shapes, signs and text on a ground, as a camera without depth would see them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from scipy import ndimage

from toolhand.sim.drawings.lettering import draw_smooth_text
from toolhand.tool_nodes.types import BoolArray, Frame, TextSpan

Colour = tuple[int, int, int]
COLOURS: dict[str, Colour] = {
    "red": (205, 38, 38),
    "green": (40, 150, 60),
    "blue": (40, 80, 200),
    "yellow": (240, 205, 40),
    "orange": (240, 130, 30),
    "purple": (130, 60, 170),
    "black": (25, 25, 28),
    "white": (245, 245, 245),
    "grey": (140, 140, 140),
}
"""Colours by name, sRGB."""
_OVERSAMPLING = 4
"""Shapes are drawn this many times larger and reduced, for smooth edges."""


class ImageBuilder:
    """An image under construction. Everything drawn later covers what is there; lengths in px, x right, y down.

    Args:
        width, height: Size of the image, 1 or more.
        ground: Its colour before anything is drawn.
        seed: Seeds the noise.
    """

    def __init__(self, width: int, height: int, ground: Colour = COLOURS["white"], seed: int = 0) -> None:
        self._rgb = np.empty((height, width, 3), np.float32)
        self._rgb[:] = ground
        self._ids = np.full((height, width), -1, np.int32)
        self._labels: list[str] = []
        self._texts: list[TextSpan] = []
        self._seed = seed
        self._rng = np.random.default_rng(seed)

    @property
    def size(self) -> tuple[int, int]:
        """(width, height)."""
        return self._rgb.shape[1], self._rgb.shape[0]

    def gradient(self, top_left: Colour, bottom_right: Colour) -> None:
        """Cover everything with an even change of colour."""
        width, height = self.size
        y, x = np.mgrid[0 : 1 : height * 1j, 0 : 1 : width * 1j]
        share = ((x + y) / 2.0)[..., None].astype(np.float32)
        self._rgb[:] = np.array(top_left, np.float32) * (1 - share) + np.array(bottom_right, np.float32) * share

    def clouds(self, strength: float, grain_px: float) -> None:
        """Make what is there lighter and darker in soft patches: standard deviation [grey levels], patch size."""
        noise = ndimage.gaussian_filter(self._rng.standard_normal(self._rgb.shape[:2], np.float32), grain_px)
        self._rgb += (strength / max(float(noise.std()), 1e-9) * noise)[..., None]

    def rectangle(self, box: Sequence[float], colour: Colour, label: str = "") -> None:
        """An upright rectangle (left, top, right, bottom). A label makes it an object with truth, here and below."""
        left, top, right, bottom = box
        self.polygon([(left, top), (right, top), (right, bottom), (left, bottom)], colour, label)

    def triangle(self, centre: tuple[float, float], side: float, colour: Colour, label: str = "") -> None:
        """An upright triangle with equal sides."""
        x, y = centre
        high = side * 3**0.5 / 2.0
        corners = [(x - side / 2, y + high / 3), (x + side / 2, y + high / 3), (x, y - 2 * high / 3)]
        self.polygon(corners, colour, label)

    def polygon(self, corners: Sequence[tuple[float, float]], colour: Colour, label: str = "") -> None:
        """A filled polygon."""
        self._paint(corners, lambda pen, points: pen.polygon(points, fill=255), colour, label)

    def circle(self, centre: tuple[float, float], radius: float, colour: Colour, label: str = "") -> None:
        """A filled circle."""
        x, y = centre
        corners = [(x - radius, y - radius), (x + radius, y + radius)]
        self._paint(corners, lambda pen, points: pen.ellipse(points, fill=255), colour, label)

    def path(self, points: Sequence[tuple[float, float]], width: float, colour: Colour) -> None:
        """A line through points, such as a road or a ruling."""
        for (x0, y0), (x1, y1) in pairwise(points):
            length = max(float(np.hypot(x1 - x0, y1 - y0)), 1e-9)
            dx, dy = (y0 - y1) / length * width / 2, (x1 - x0) / length * width / 2
            self.polygon([(x0 + dx, y0 + dy), (x1 + dx, y1 + dy), (x1 - dx, y1 - dy), (x0 - dx, y0 - dy)], colour)

    def text(
        self,
        text: str,
        origin: tuple[float, float],
        size: float,
        colour: Colour = COLOURS["black"],
        kind: str | None = "text",
    ) -> tuple[float, float, float, float]:
        """Write one line; kind None leaves it out of the truth, for parts of something that is added with `span`.

        Args:
            text: Characters of `toolhand.sim.drawings.lettering.CHARACTERS` and blanks.
            origin: Left end of the baseline.
            size: Font size; capitals are 0.71 of it high.
            kind: Kind of text, see `TextSpan`.

        Returns:
            Box of the ink (left, top, right, bottom).
        """
        ink, x, y = draw_smooth_text(text, size)
        left, top = round(origin[0] - x), round(origin[1] - y)
        rows, columns = np.flatnonzero(ink.max(axis=1) > 0.25), np.flatnonzero(ink.max(axis=0) > 0.25)
        box = (left + columns[0], top + rows[0], left + columns[-1] + 1, top + rows[-1] + 1)
        self._blend(ink, left, top, colour)
        if kind is not None:
            self.span(text, box, kind)
        return tuple(float(v) for v in box)  # type: ignore[return-value]

    def span(self, text: str, box: Sequence[float], kind: str = "text") -> None:
        """Add a text to the truth without drawing it."""
        left, top, right, bottom = (float(v) for v in box)
        self._texts.append(TextSpan(text, (left, top, right, bottom), 1.0, kind))

    def blur(self, sigma: float) -> None:
        """Soften everything drawn so far, as a lens does."""
        self._rgb = ndimage.gaussian_filter(self._rgb, (sigma, sigma, 0))

    def noise(self, sigma: float) -> None:
        """Add sensor noise of a standard deviation in grey levels."""
        self._rgb += self._rng.normal(0.0, sigma, self._rgb.shape).astype(np.float32)

    def frame(self) -> Frame:
        """The image with its truth; no depth, and a pinhole camera whose focal length is the image's width."""
        width, height = self.size
        return Frame(
            rgb=np.clip(np.rint(self._rgb), 0, 255).astype(np.uint8),
            depth=np.full((height, width), np.nan, np.float32),
            K=np.array([[width, 0, (width - 1) / 2], [0, width, (height - 1) / 2], [0, 0, 1]], float),
            T_base_camera=np.eye(4),
            stamp=float(self._seed),
            ids=self._ids.copy(),
            labels=tuple(self._labels),
            texts=tuple(self._texts),
        )

    def _paint(self, corners: Sequence[tuple[float, float]], draw: object, colour: Colour, label: str) -> None:
        xy = np.asarray(corners, float)
        left, top = np.floor(xy.min(axis=0)).astype(int) - 1
        right, bottom = np.ceil(xy.max(axis=0)).astype(int) + 1
        sheet = Image.new("L", ((right - left) * _OVERSAMPLING, (bottom - top) * _OVERSAMPLING))
        points = [tuple(p) for p in (xy - (left, top)) * _OVERSAMPLING]
        draw(ImageDraw.Draw(sheet), points)  # type: ignore[operator]
        shrunk = np.asarray(sheet.reduce(_OVERSAMPLING), np.float32) / 255.0
        covered = self._blend(shrunk, left, top, colour)
        if label:
            self._ids[covered] = len(self._labels)
            self._labels.append(label)

    def _blend(self, ink: NDArray[np.float32], left: int, top: int, colour: Colour) -> BoolArray:
        """Lay colour over the image; returns where at least half of a pixel is covered."""
        width, height = self.size
        covered = np.zeros((height, width), bool)
        x0, y0 = max(left, 0), max(top, 0)
        x1, y1 = min(left + ink.shape[1], width), min(top + ink.shape[0], height)
        if x0 < x1 and y0 < y1:
            part = ink[y0 - top : y1 - top, x0 - left : x1 - left]
            target = self._rgb[y0:y1, x0:x1]
            target += part[..., None] * (np.array(colour, np.float32) - target)
            covered[y0:y1, x0:x1] = part >= 0.5
            self._ids[covered] = -1
        return covered
