"""A reader, and lines printed in typefaces of other people, for the tests of text reading."""

from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from toolhand.tool_nodes.perception.text.rapid import RapidTextReader
from toolhand.tool_nodes.toolbox.images import SessionImage

Print = Callable[..., SessionImage]


@pytest.fixture(scope="session")
def reader() -> RapidTextReader:
    return RapidTextReader()


def face(name: str, size: int) -> Any:
    """A typeface of a package of fonts, or Pillow's own."""
    if name == "Aileron":
        return ImageFont.load_default(size=size)
    for entry in metadata.entry_points(group="fonts_ttf"):
        if name in (files := entry.load()):
            return ImageFont.truetype(files[name], size)
    raise LookupError(name)


@pytest.fixture(scope="session")
def printed() -> Print:
    """Prints lines below each other, as an image that has no link to any truth."""

    def lines(
        *texts: str,
        font: str = "Roboto",
        size: int = 20,
        ink: tuple[int, int, int] = (20, 20, 20),
        ground: tuple[int, int, int] = (240, 240, 240),
        turned: float = 0.0,
        noise: float = 0.0,
        margin: int | None = None,
    ) -> SessionImage:
        letters, beside = face(font, size), 2 * size if margin is None else margin
        width = round(max(letters.getlength(text) for text in texts)) + 2 * beside
        page = Image.new("RGB", (width, round(1.9 * size * len(texts)) + 2 * beside), ground)
        for number, text in enumerate(texts):
            ImageDraw.Draw(page).text((beside, beside + 1.9 * size * number), text, font=letters, fill=ink)
        page = page.rotate(turned, expand=True, fillcolor=ground, resample=Image.Resampling.BICUBIC)
        pixels = np.asarray(page) + np.random.default_rng(0).normal(0.0, noise, (page.height, page.width, 3))
        return SessionImage(np.clip(np.rint(pixels), 0, 255).astype(np.uint8))

    return lines
