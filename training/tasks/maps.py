"""Questions about a drawn metro map: the way a line takes between two stations, and the stations between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from toolhand.sim.drawings.builder import COLOURS, ImageBuilder
from toolhand.sim.drawings.samples import INK
from toolhand.sim.scene.scenes import Scene
from toolhand.tool_nodes.types import FloatArray, Frame
from toolhand.training.rewards import evic, peria
from toolhand.training.tasks.answers import rows, words
from toolhand.training.tasks.question import Marking, QuestionTask, Truth, worded
from toolhand.training.tasks.splits import Split, split_of_layout

MAP_SIZE = (900, 700)
"""(width, height) of a map [px]; its names are set in 20 px, so that they can be read in the whole image."""
LETTERING = 20.0
"""Font size of names [px]."""
COLUMNS = 6
"""Places for a station along a line; a line has four to six stations [-]."""
LINES = ("red", "blue", "green", "purple", "orange")
"""Colours of lines; a map has three of them."""
BANDS = 3
"""Lines of a map: each runs in a band of its own, across the map or down it [-]."""
RIGHT_NDTW = 0.3
"""NDTW up to which a route is right [image widths]: the strictest of PERIA's table 9, where its reward is 1."""

PLACES: dict[Split, tuple[str, ...]] = {
    "train": (
        "Oakfield", "Harbour", "Old Mill", "Castle Hill", "Riverside", "Market", "Greenwood", "North Gate", "Abbey",
        "Bridge End", "Canal", "Dockside", "Eastway", "Fairview", "Garden", "Highgate", "Ironside", "Kingsway",
        "Lakeside", "Museum", "Newtown", "Orchard",
    ),
    "validation": (
        "Parkland", "Queensbury", "Redhill", "Stadium", "Temple", "Upton", "Victoria", "Westgate", "Yardley", "Zoo",
        "Ashford", "Belmont", "Cedars", "Downs", "Elmwood", "Foundry", "Grange", "Heathway",
    ),
    "test": (
        "Ivybridge", "Junction", "Kelham", "Longacre", "Meadows", "Norwood", "Observatory", "Priory", "Quayside",
        "Rosedale", "Southport", "Tollgate", "Underhill", "Vineyard", "Waterloo", "Airfield", "Barnes", "Crescent",
    ),
}  # fmt: skip
"""Names of stations, each of one split alone."""

NO_TABLE = Scene(0, (), (0.5, 0.0, 1.8), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.6, 0.6, 0.6), "nothing on the table")
"""The table of a question about a drawing."""


@dataclass(frozen=True)
class MetroMap:
    """Lines of a map: colour, names of its stations in order, and where they are, (x, y) normalized."""

    lines: tuple[tuple[str, tuple[str, ...], tuple[tuple[float, float], ...]], ...]
    seed: int

    def frame(self) -> Frame:
        """The map as an image, with what it shows and what is printed on it."""
        width, height = MAP_SIZE
        image = ImageBuilder(width, height, (246, 244, 236), self.seed)
        for colour, _, stops in self.lines:
            image.path([(x * width, y * height) for x, y in stops], 10.0, COLOURS[colour])
        for colour, names, stops in self.lines:
            for name, (x, y) in zip(names, stops, strict=True):
                image.circle((x * width, y * height), 13.0, COLOURS["black"])
                image.circle((x * width, y * height), 10.0, COLOURS[colour], f"{colour} circle")
                image.text(name, (x * width - 4.5 * len(name), y * height - 24.0), LETTERING, INK)
        return image.frame()


def _route_terms(answer: FloatArray, truth: Truth) -> dict[str, float]:
    return {
        "peria.path": peria.path_reward(peria.ndtw(answer, truth)),
        "evic.trajectory": evic.trajectory(answer, truth),
    }


ROUTE = Marking(
    lambda answer: rows(answer, 2),
    _route_terms,
    lambda terms: terms["peria.path"] == 1.0,
    f"along the line (NDTW {RIGHT_NDTW:g} or less)",
    ("peria.path", "evic.trajectory"),
)
NAMES = Marking(
    words,
    lambda answer, truth: {"peria.answer": peria.answers_match(answer, truth)},
    lambda terms: terms["peria.answer"] == 1.0,
    "those stations and no other",
    ("peria.answer",),
)


def _make(rng: np.random.Generator, seed: int, split: Split, kind: str) -> QuestionTask | None:
    drawn, layout = draw_map(rng, split)
    if split_of_layout(layout) != split:
        return None
    colour, names, stops = drawn.lines[int(rng.integers(len(drawn.lines)))]
    # Three stations apart at least, so that something lies between them, in either direction.
    first = int(rng.integers(len(names) - 2))
    last = int(rng.integers(first + 2, len(names)))
    chosen = list(range(first, last + 1))
    if rng.integers(2):
        chosen.reverse()
    route, between = tuple(stops[k] for k in chosen), ", ".join(names[k] for k in chosen[1:-1])
    asked = (names[chosen[0]], names[chosen[-1]])
    text = worded(rng, kind, split, line=colour, a=asked[0], b=asked[1])
    marking, truth = (ROUTE, route) if kind == "map_route" else (NAMES, between)
    return QuestionTask(
        kind, seed, split, text, NO_TABLE, truth, asked, layout, marking, partial(MetroMap.frame, drawn)
    )


make_route = partial(_make, kind="map_route")
"""Trace a line from one station to another."""
make_stations = partial(_make, kind="map_stations")
"""Name the stations between two."""


def draw_map(rng: np.random.Generator, split: Split) -> tuple[MetroMap, tuple[int, ...]]:
    """A map of three lines that do not meet, and its layout: which places along each line have a station."""
    names = [PLACES[split][k] for k in rng.permutation(len(PLACES[split]))]
    colours = [LINES[k] for k in rng.permutation(len(LINES))[:BANDS]]
    across = bool(rng.integers(2))
    lines, layout = [], [int(across)]
    for band, colour in enumerate(colours):
        places = sorted(int(k) for k in rng.permutation(COLUMNS)[: int(rng.integers(4, COLUMNS + 1))])
        layout += [int(k in places) for k in range(COLUMNS)]
        along = (np.array(places) + 0.5 + rng.uniform(-0.15, 0.15, len(places))) / COLUMNS
        aside = (band + 0.5 + rng.uniform(-0.28, 0.28, len(places))) / BANDS
        # A name is set above its stop: room for it at the top.
        points = np.column_stack([along, aside] if across else [aside, along]) * (0.9, 0.88) + (0.05, 0.09)
        stops = tuple((round(float(x), 4), round(float(y), 4)) for x, y in points)
        lines.append((colour, tuple(names[: len(places)]), stops))
        names = names[len(places) :]
    return MetroMap(tuple(lines), int(rng.integers(2**31))), tuple(layout)
