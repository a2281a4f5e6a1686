"""Questions about small print, which is legible only in a crop of its place."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from toolhand.sim.drawings.builder import COLOURS, ImageBuilder
from toolhand.sim.drawings.samples import INK
from toolhand.tool_nodes.catalogue import load_catalogue
from toolhand.tool_nodes.types import Frame
from toolhand.training.rewards import evic, peria
from toolhand.training.tasks.answers import words
from toolhand.training.tasks.drawn import drawn_products
from toolhand.training.tasks.maps import NO_TABLE
from toolhand.training.tasks.question import Marking, QuestionTask, Truth, worded
from toolhand.training.tasks.splits import Split, products_of, split_of_layout

SHELF_SIZE = (1800, 1200)
"""(width, height) of the image of a shelf [px]: a reader that looks at 1024 px sees its small print at 8 px."""
PRINT, NAME = 14.0, 46.0
"""Font sizes of the small print and of a product's name [px]."""
CELLS = (3, 2)
"""Packages that find room across and down [-]."""
LETTERS = "ACEHKLMNPRTXY"
"""First letter of a lot number: those that are not taken for a digit."""


@dataclass(frozen=True)
class Shelf:
    """A shelf with packages.

    Attributes:
        packages: Name, lot number, cell, ground colour, and which of three places the small print has.
        seed: Seed of the noise.
    """

    packages: tuple[tuple[str, str, int, tuple[int, int, int], int], ...]
    seed: int

    def frame(self) -> Frame:
        """The image, with what it shows and what is printed on it."""
        width, height = SHELF_SIZE
        image = ImageBuilder(width, height, (226, 220, 208), self.seed)
        for row in range(CELLS[1]):
            image.rectangle((0, (row + 0.96) * height / 2, width, (row + 1) * height / 2), (150, 120, 92))
        for name, lot, cell, ground, place in self.packages:
            left, top = (cell % CELLS[0] + 0.08) * width / 3, (cell // CELLS[0] + 0.08) * height / 2
            right, bottom = left + 0.84 * width / 3, top + 0.88 * height / 2
            image.rectangle((left, top, right, bottom), ground, name)
            image.rectangle((left + 20, top + 60, right - 20, top + 140), COLOURS["white"], name)
            image.text(name, (left + 36, top + 116), NAME, INK)
            y = bottom - 30 - 110 * place
            image.rectangle((left + 20, y - 26, left + 300, y + 14), COLOURS["white"], name)
            image.text(f"LOT {lot}", (left + 32, y), PRINT, INK)
        image.noise(1.5)
        return image.frame()


def _terms(answer: str, truth: Truth) -> dict[str, float]:
    return {"peria.answer": peria.answers_match(answer, truth), "evic.choice": evic.choice(answer, truth)}


PRINTED = Marking(
    words, _terms, lambda terms: terms["peria.answer"] == 1.0, "the lot number", ("peria.answer", "evic.choice")
)


def make_small_print(rng: np.random.Generator, seed: int, split: Split) -> QuestionTask | None:
    """Read the lot number of one of several packages."""
    (asked,) = drawn_products(rng, split, 1)
    common = [name for name in products_of("train") if name != asked]
    names = [asked, *(common[k] for k in rng.permutation(len(common))[: int(rng.integers(2, 5))])]
    cells = [int(cell) for cell in rng.permutation(CELLS[0] * CELLS[1])[: len(names)]]
    catalogue = load_catalogue()
    packages = []
    for name, cell in zip(names, cells, strict=True):
        letter = LETTERS[int(rng.integers(len(LETTERS)))]
        lot = f"{letter}{rng.integers(2, 10)}-{rng.integers(1000, 10000)}"
        packages.append((name, lot, cell, catalogue[name].rgb, int(rng.integers(3))))
    layout = tuple(1 + packages[cells.index(k)][4] if k in cells else 0 for k in range(CELLS[0] * CELLS[1]))
    if split_of_layout(layout) != split:
        return None
    shelf = Shelf(tuple(packages), int(rng.integers(2**31)))
    text = worded(rng, "small_print", split, a=asked)
    return QuestionTask(
        "small_print",
        seed,
        split,
        text,
        NO_TABLE,
        packages[0][1],
        (asked,),
        layout,
        PRINTED,
        partial(Shelf.frame, shelf),
    )
