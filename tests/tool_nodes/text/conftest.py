"""A reader and rendered lines for the tests of text reading."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sim.drawings.builder import Colour, PictureBuilder
from tool_nodes.perception.text import PixelTextReader
from tool_nodes.toolbox.images import SessionImage

Draw = Callable[..., SessionImage]


@pytest.fixture(scope="session")
def reader() -> PixelTextReader:
    return PixelTextReader()


@pytest.fixture(scope="session")
def draw() -> Draw:
    """Draws lines of text below each other, as a picture that has no link to any truth."""

    def lines(
        *texts: str,
        size: float = 22.0,
        ink: Colour = (20, 20, 20),
        ground: Colour = (240, 240, 240),
        blur: float = 0.0,
        noise: float = 0.0,
        width: int = 420,
    ) -> SessionImage:
        picture = PictureBuilder(width, round(size * (1.2 + 1.9 * len(texts))), ground)
        for index, text in enumerate(texts):
            picture.text(text, (16, size * (1.5 + 1.9 * index)), size, ink)
        if blur:
            picture.blur(blur)
        if noise:
            picture.noise(noise)
        return SessionImage(picture.frame().rgb)

    return lines
