"""Ready-made images with truth, each from a seed: what PERIA's tools are asked about."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from toolhand.sim.drawings.builder import COLOURS, Colour, ImageBuilder
from toolhand.tool_nodes.types import Frame

PLACES = ("Oakfield", "Harbour", "Old Mill", "Castle Hill", "Riverside", "Market Square", "Greenwood", "North Gate")
STREETS = ("Station Road", "Kings Avenue", "Bridge Street", "Lake View", "Chapel Lane", "Museum Quay")
GOODS = ("Coffee", "Bread", "Apples", "Butter", "Honey", "Oranges", "Sugar", "Olives")
PHONE_NUMBER, BILLBOARD_LINE = "(+237) 650 58 49 04", "WEB DESIGN - COMMUNICATION"
STOREFRONT = ("PEINTRE", "LE DANAY", "Visuel")
INK: Colour = (24, 26, 34)
"""Colour of printed text, sRGB."""


def street(seed: int = 0) -> Frame:
    """PERIA figure 12: a storefront with large letters, and a white billboard whose phone number is small print.

    2000 x 1500 px. The billboard lies in the region 700,300 to 1000,500 of 1000; its print is set in 15 px, so it
    is lost where the whole image is reduced to a network's input and legible in a crop of that region.
    """
    rng = np.random.default_rng(seed)
    image = ImageBuilder(2000, 1500, seed=seed)
    image.gradient((150, 185, 225), (225, 225, 215))
    image.clouds(5.0, 40.0)
    wall = tuple(int(v) for v in np.array((172, 128, 96)) + rng.integers(-12, 13, 3))
    image.rectangle((120, 330, 1330, 1260), wall, "storefront")  # type: ignore[arg-type]
    image.rectangle((0, 1260, 2000, 1500), (96, 96, 100), "road")
    image.rectangle((480, 860, 760, 1260), (62, 44, 36), "door")
    image.rectangle((880, 880, 1240, 1160), (70, 96, 120), "window")
    for text, board, colour, ground in (
        (STOREFRONT[0], (180, 380, 900, 520), COLOURS["white"], (176, 32, 36)),
        (STOREFRONT[1], (180, 560, 980, 700), INK, (240, 208, 60)),
        (STOREFRONT[2], (180, 740, 620, 850), (30, 60, 160), (232, 232, 226)),
    ):
        image.rectangle(board, ground, "sign")
        size = 0.72 * (board[3] - board[1])
        image.text(text, (board[0] + 40, board[3] - 0.3 * (board[3] - board[1])), size, colour)
    image.rectangle((1480, 480, 1960, 720), COLOURS["white"], "billboard")
    image.rectangle((1690, 720, 1730, 1260), (110, 110, 112), "pole")
    image.circle((1720, 545), 40, (210, 60, 50), "logo")
    image.text(BILLBOARD_LINE, (1520, 640), 15.0, (30, 60, 160))
    image.text(PHONE_NUMBER, (1600, 690), 15.0, INK)
    image.noise(3.0)
    return image.frame()


def city_map(seed: int = 0) -> Frame:
    """A map of 900 x 700 px with roads, place names, and what map OCR leaves out: numbers, a scale, symbols."""
    rng = np.random.default_rng(seed)
    image = ImageBuilder(900, 700, (238, 234, 222), seed)
    image.polygon([(0, 560), (250, 520), (420, 600), (300, 700), (0, 700)], (168, 205, 232), "water")
    image.rectangle((620, 60, 860, 200), (196, 222, 180), "park")
    for y in (130, 330, 520):
        image.path([(0, y), (450, y + float(rng.uniform(-15, 15))), (900, y)], 14.0, (255, 255, 255))
    for x in (210, 560):
        image.path([(x, 0), (x, 700)], 14.0, (252, 214, 112))
    places = list(rng.permutation(PLACES)[:5])
    for name, (x, y) in zip(places, ((40, 60), (640, 120), (260, 230), (620, 430), (40, 450)), strict=True):
        image.circle((x + 8, y + 14), 6.0, (200, 60, 50), "place")
        image.text(str(name), (x, y), 24.0, INK)
    for name, y in zip(rng.permutation(STREETS)[:2], (300, 500), strict=True):
        image.text(str(name), (300, y + 58 - 30), 18.0, (90, 90, 90))
    for x, y in ((430, 90), (760, 300), (100, 290)):
        image.text(str(rng.integers(12, 999)), (x, y), 16.0, (120, 60, 40))
    image.path([(700, 660), (800, 660)], 3.0, INK)
    image.text(f"{rng.choice([100, 200, 500])} m", (725, 650), 16.0, INK)
    image.text("+", (500, 660), 20.0, INK)
    return image.frame()


def formula(seed: int = 0) -> Frame:
    """One equation, 640 x 240 px; its LaTeX is the truth."""
    rng = np.random.default_rng(seed)
    letters = [str(c) for c in rng.permutation(list("abcdkmnpqrstuvxyz"))]
    digits = [str(d) for d in rng.integers(2, 10, 4)]
    image = ImageBuilder(640, 240, (250, 250, 246), seed)
    size, x, y = 44.0, 40.0, 135.0
    start = x

    def put(text: str, level: int = 0, gap: float = 0.0) -> None:
        nonlocal x
        scale, shift = (0.65, {1: 0.36, -1: -0.16}[level]) if level else (1.0, 0.0)
        x += gap * size
        x = image.text(text, (x, y - shift * size), scale * size, INK, kind=None)[2] + 0.06 * size

    form = seed % 3
    if form == 0:
        put(f"{letters[0]} = {digits[0]}{letters[1]}")
        put(digits[1], 1)
        put(f"+ {digits[2]}{digits[3]}", gap=0.25)
        latex = f"{letters[0]} = {digits[0]}{letters[1]}^{{{digits[1]}}} + {digits[2]}{digits[3]}"
    elif form == 1:
        put(letters[0].upper())
        put(letters[1], -1)
        put("=", gap=0.25)
        put(letters[2].upper(), gap=0.25)
        put(digits[0], -1)
        put(f"+ {digits[1]}{digits[2]}", gap=0.25)
        latex = f"{letters[0].upper()}_{{{letters[1]}}} = {letters[2].upper()}_{{{digits[0]}}} + {digits[1]}{digits[2]}"
    else:
        put(f"{letters[0]} =")
        over, under = f"{letters[1]} + {digits[0]}", f"{letters[2]} - {digits[1]}{digits[2]}"
        left = x + 0.3 * size
        above = image.text(over, (left + 4, y - 0.72 * size), 0.9 * size, INK, kind=None)
        below = image.text(under, (left + 4, y + 0.66 * size), 0.9 * size, INK, kind=None)
        x = max(above[2], below[2]) + 6
        image.path([(left, y - 0.27 * size), (x, y - 0.27 * size)], 3.0, INK)
        latex = f"{letters[0]} = \\frac{{{over}}}{{{under}}}"
    top, bottom = (y - 1.4 * size, y + 0.8 * size) if form == 2 else (y - 0.9 * size, y + 0.25 * size)
    image.span(latex, (start, top, x, bottom), "formula")
    return image.frame()


def table(seed: int = 0) -> Frame:
    """A ruled price list with a header, 640 x 360 px; its cells are the truth, row by row."""
    rng = np.random.default_rng(seed)
    image = ImageBuilder(640, 360, (252, 252, 252), seed)
    columns, top, height = (40, 250, 420, 600), 40, 46
    rows = [("Item", "Number", "Price")]
    for name in rng.permutation(GOODS)[:5]:
        rows.append((str(name), str(rng.integers(10, 99)), f"{rng.integers(1, 9)}.{rng.integers(10, 99)}"))
    image.rectangle((columns[0], top, columns[-1], top + height), (214, 224, 240))
    for number, row in enumerate(rows):
        for text, x in zip(row, columns, strict=False):
            image.text(text, (x + 14, top + (number + 1) * height - 16), 20.0, INK, kind="cell")
    bottom = top + len(rows) * height
    for x in columns:
        image.path([(x, top), (x, bottom)], 2.0, INK)
    for number in range(len(rows) + 1):
        y = top + number * height
        image.path([(columns[0], y), (columns[-1], y)], 2.0, INK)
    return image.frame()


def shapes(seed: int = 0) -> Frame:
    """Circles, squares and triangles in named colours on a plain ground, 640 x 480 px, at most one in each place."""
    rng = np.random.default_rng(seed)
    image = ImageBuilder(640, 480, (242, 242, 238), seed)
    names = [name for name in COLOURS if name not in ("white", "grey")]
    repeated = str(rng.choice(names)), str(rng.choice(["circle", "square", "triangle"]))
    for place in rng.permutation(20)[: int(rng.integers(7, 13))]:
        x, y = 64.0 + 128.0 * (place % 5), 60.0 + 120.0 * (place // 5)
        colour, shape = repeated if rng.random() < 0.4 else (str(rng.choice(names)), str(rng.choice(_SHAPES_ORDER)))
        _SHAPES[shape](image, x, y, float(rng.uniform(24, 44)), COLOURS[colour], f"{colour} {shape}")
    return image.frame()


def cubes(seed: int = 0) -> Frame:
    """PERIA figure 11: views of stacked cubes, labelled front_left, left and front, 900 x 360 px."""
    rng = np.random.default_rng(seed)
    image = ImageBuilder(900, 360, COLOURS["white"], seed)
    for view, label in enumerate(("front_left", "left", "front")):
        left = 50.0 + 290.0 * view
        for column, count in enumerate(rng.integers(1, 4, 3)):
            for level in range(int(count)):
                name = "red" if rng.random() < 0.3 else "grey"
                x, y = left + 62.0 * column, 220.0 - 62.0 * level
                image.rectangle((x, y, x + 60, y + 60), COLOURS["black"], f"{name} cube")
                image.rectangle((x + 2, y + 2, x + 58, y + 58), COLOURS[name], f"{name} cube")
        image.text(label, (left + 40, 330), 26.0, INK)
    return image.frame()


def _square(image: ImageBuilder, x: float, y: float, half: float, colour: Colour, label: str) -> None:
    image.rectangle((x - half, y - half, x + half, y + half), colour, label)


_SHAPES: Mapping[str, Callable[[ImageBuilder, float, float, float, Colour, str], None]] = {
    "circle": lambda image, x, y, half, colour, label: image.circle((x, y), half, colour, label),
    "square": _square,
    "triangle": lambda image, x, y, half, colour, label: image.triangle((x, y), 2.0 * half, colour, label),
}
_SHAPES_ORDER = list(_SHAPES)

IMAGES: Mapping[str, Callable[[int], Frame]] = {
    "street": street,
    "city_map": city_map,
    "formula": formula,
    "table": table,
    "shapes": shapes,
    "cubes": cubes,
}
"""Every ready-made image by name."""
