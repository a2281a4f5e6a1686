"""Lettering of drawn images: Pillow's bundled font, with the accented letters that it lacks put together.

Lengths are in em (the font size) unless said otherwise; the baseline is y = 0 and up is positive in `em` metrics.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

PLAIN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!\"#$%&'()*+,-./:;<=>?@[\\]_{|}~°±·"
"""Characters that the bundled font has, without accented letters."""

MARKS = {
    "´": dict(zip("áéóúýÁÉÍÓÚÝ", "aeouyAEIOUY", strict=True)),
    "`": dict(zip("àèòùÀÈÌÒÙ", "aeouAEIOU", strict=True)),
    "^": dict(zip("âêîôûÂÊÎÔÛ", "aeıouAEIOU", strict=True)),
    "..": dict(zip("äëïöüÄËÏÖÜ", "aeıouAEIOU", strict=True)),
    "~": dict(zip("ãñõÃÑÕ", "anoANO", strict=True)),
    ",": dict(zip("çÇ", "cC", strict=True)),
}
"""Mark, and which letter becomes which letter under it."""

ACCENTED = {letter: (base, mark) for mark, letters in MARKS.items() for letter, base in letters.items()}
CHARACTERS = PLAIN + "".join(ACCENTED)
"""Every character that can be drawn."""

CAPITAL_EM, X_HEIGHT_EM = 0.71, 0.55
"""Heights of capitals and of small letters without ascender, of Pillow's bundled font [em]."""
_ACCENT_GAP_EM = 0.05
"""Gap between a letter and the accent that is set over it [em]; a round figure."""


@lru_cache(maxsize=64)
def font(size: int) -> ImageFont.FreeTypeFont:
    """The bundled font at a size in [1, 2000] px, laid out the same way on every machine."""
    loaded = ImageFont.load_default(size=size)
    if not isinstance(loaded, ImageFont.FreeTypeFont):
        raise RuntimeError("Pillow was built without FreeType, which drawing text needs")
    return loaded.font_variant(layout_engine=ImageFont.Layout.BASIC)


def plain_text(text: str) -> str:
    """The text with every accented letter replaced by its base, dotless i by i."""
    return "".join(ACCENTED.get(c, (c, ""))[0] for c in text).replace("ı", "i")


def draw_text(text: str, size: int) -> tuple[NDArray[np.float32], float, float]:
    """Draw one line as Pillow does, hinted to whole pixels.

    Args:
        text: Characters of `CHARACTERS` and blanks.
        size: Font size [px].

    Returns:
        Coverage in [0, 1] (h, w), and x and y of the origin of the baseline in it [px].
    """
    face, base = font(size), plain_text(text)
    margin = size // 2 + 1
    width, height = int(face.getlength(base)) + 2 * margin + size, 2 * size + 2 * margin
    baseline = margin + round(1.2 * size)
    image = Image.new("L", (width, height), 0)
    draw = ImageDraw.Draw(image)
    draw.text((margin, baseline), base, font=face, fill=255, anchor="ls")
    for index, character in enumerate(text):
        if character in ACCENTED:
            letter, mark = ACCENTED[character]
            left = margin + face.getlength(base[:index])
            _draw_mark(draw, letter, mark, left, baseline, size)
    return np.asarray(image, np.float32) / 255.0, float(margin), float(baseline)


def draw_smooth_text(text: str, size: float) -> tuple[NDArray[np.float32], float, float]:
    """Draw one line at any size, coverage averaged over pixels as a camera sees it, without hinting. As `draw_text`."""
    oversampling = max(1, min(8, round(96 / size)))
    large = max(1, round(size * oversampling))
    ink, x, y = draw_text(text, large)
    height, width = (max(1, round(n * size / large)) for n in ink.shape)
    shrunk = Image.fromarray(ink).resize((width, height), Image.Resampling.BOX)
    return np.asarray(shrunk, np.float32), x * width / ink.shape[1], y * height / ink.shape[0]


def _draw_mark(draw: ImageDraw.ImageDraw, letter: str, mark: str, left: float, baseline: int, size: int) -> None:
    """Put a mark over a letter that has been drawn from left on, or under it."""
    x0, y0, x1, _ = _ink_box("i" if letter == "ı" else letter, size)
    if letter == "ı":  # rub out the dot
        y0 = -round(X_HEIGHT_EM * size)
        draw.rectangle((left + x0, baseline - size, left + x1, baseline + y0 - 1), fill=0)
    mark_left, mark_top, mark_right, mark_bottom = _ink_box(mark, size)
    x = left + (x0 + x1 - mark_left - mark_right) / 2.0
    y = -0.02 * size - mark_top if mark == "," else y0 - _ACCENT_GAP_EM * size - mark_bottom
    draw.text((round(x), round(baseline + y)), mark, font=font(size), fill=255, anchor="ls")


@lru_cache(maxsize=1024)
def _ink_box(text: str, size: int) -> tuple[int, int, int, int]:
    """Left, top, right, bottom of the ink about the origin of the baseline [px]."""
    sheet = Image.new("L", (4 * size + 4, 4 * size + 4))
    middle = 2 * size + 2
    ImageDraw.Draw(sheet).text((middle, middle), text, font=font(size), fill=255, anchor="ls")
    left, top, right, bottom = sheet.point(lambda value: 255 * (value > 127)).getbbox() or (middle,) * 4
    return left - middle, top - middle, right - middle, bottom - middle
