"""`toolhand bench perception --text`: lines in other people's typefaces, read from pixels, against the truth."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from scipy import ndimage

from toolhand.bench.commands.perception import Options
from toolhand.bench.frame import Benchmark, Document
from toolhand.bench.perception.metrics import format_means, mean_row
from toolhand.bench.perception.truth import truth_of
from toolhand.bench.stats import machine, rate_row, timing_row
from toolhand.sim.drawings.samples import PLACES, STREETS, city_map
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.perception.masks import window_of
from toolhand.tool_nodes.ports import TextReader
from toolhand.tool_nodes.results import unavailable
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.tools.peria.text_reading import SURE
from toolhand.tool_nodes.types import TextSpan

MIN_FACES = 8
"""Typefaces without which nothing is measured: what reads one is not yet a reader."""
GROUPS = ("fonts_ttf", "fonts_otf")
"""Entry points by which packages of fonts say where their files are: {name: path}."""
OWN_FACE = "Pillow"
"""The typeface that Pillow brings along."""
WEIGHTS = ("", "Regular")
"""Names after a family's name under which one of its files is used, in this order."""
SIZES_PX = (10, 12, 16, 20, 28, 40)
"""Font sizes of level print [px]."""
ANGLES_DEG = (90, 180, 5, -5)
"""Angles of turned print, anticlockwise [degrees]."""
NOISES = (10, 20, 30)
"""Standard deviations of noise [grey levels]."""
OTHER_SIZES_PX = (16, 28)
"""Font sizes of turned and of noisy print [px]."""
LABEL_PX = (14, 20)
"""Font sizes of what is written on products, least and most [px]."""
LINES = 5
"""Lines of a page."""

INK, PAPER = (24, 26, 34), (244, 243, 238)
"""Colours of print and page, sRGB."""


@dataclass(frozen=True)
class WrittenLine:
    """A line that was printed: what it says, and its box (left, top, right, bottom) [px]."""

    text: str
    box: tuple[float, float, float, float]


@dataclass(frozen=True)
class Page:
    """An image (H, W, 3) with the truth about it.

    Attributes:
        kind: Which rows of the report it belongs to.
        rgb: Image to read.
        lines: Printed lines, before the page was turned.
        angle_deg: By how much it was turned afterwards, anticlockwise.
        flat_size: Width and height before it was turned [px].
    """

    kind: tuple[str, ...]
    rgb: NDArray[np.uint8]
    lines: tuple[WrittenLine, ...]
    angle_deg: float = 0.0
    flat_size: tuple[int, int] = (0, 0)


@dataclass
class Tally:
    """What came of the pages of a kind: errors per character and page, and how often each object was so."""

    errors: list[list[float]] = field(default_factory=list)
    found: list[bool] = field(default_factory=list)
    exact_if_sure: list[bool] = field(default_factory=list)
    exact_if_unsure: list[bool] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    invented: int = 0


def faces() -> dict[str, str]:
    """Typefaces by name and the file of each; Pillow's own has none.

    Raises:
        ToolError: UNAVAILABLE where there are fewer than `MIN_FACES`.
    """
    found = {OWN_FACE: ""}
    for group in GROUPS:
        for entry in metadata.entry_points(group=group):
            files: Mapping[str, str] = entry.load()
            family = min(files, key=len).removesuffix("Bold").removesuffix("Light").removesuffix("-")
            found |= {family + weight: files[family + weight] for weight in WEIGHTS if family + weight in files}
    if len(found) < MIN_FACES:
        raise unavailable(
            f"Measuring text needs {MIN_FACES} typefaces, and there are {len(found)}: {', '.join(found)}.",
            "Install packages of fonts, such as font-roboto and font-lato, with pip.",
        )
    return found


def some_lines(rng: np.random.Generator, n: int) -> list[str]:
    """Names, prices, codes, telephone numbers and addresses."""

    def number(digits: int) -> str:
        return "".join(str(d) for d in rng.integers(0, 10, digits))

    def name() -> str:
        return str(rng.choice([*PLACES, *STREETS]))

    makers = (
        lambda: f"Platform {rng.integers(1, 20)} to {name()}",
        lambda: f"Invoice No. {number(4)}{rng.choice(list('ABCDEFGH'))}{number(1)}",
        lambda: f"(+{number(3)}) {number(3)} {number(2)} {number(2)} {number(2)}",
        lambda: f"{name()} {rng.integers(1, 300)}",
        lambda: f"{rng.integers(1, 90)}.{number(2)} EUR",
        lambda: f"{name()}, {number(5)} {name()}",
        lambda: f"Open {rng.integers(6, 11)}:{rng.integers(10, 59)} - {rng.integers(16, 23)}:{rng.integers(10, 59)}",
    )
    return [makers[int(k)]() for k in rng.integers(0, len(makers), n)]


def write(page: Image.Image, text: str, at: tuple[float, float], face: str, size: int, ink: Any = INK) -> WrittenLine:
    """Print a line with its top left corner at a place [px]; face is a file, empty for Pillow's own."""
    font = ImageFont.truetype(face, size) if face else ImageFont.load_default(size=size)
    pen = ImageDraw.Draw(page)
    pen.text(at, text, font=font, fill=ink)
    return WrittenLine(text, pen.textbbox(at, text, font=font))


def page_of(
    kind: tuple[str, ...], face: str, size: int, seed: Sequence[int], angle_deg: float = 0.0, noise: float = 0.0
) -> Page:
    """A page of lines in one typeface, turned and with noise."""
    rng = np.random.default_rng(seed)
    texts = some_lines(rng, LINES)
    sheet = Image.new(
        "RGB", (round(0.62 * size * max(map(len, texts))) + 4 * size, round((1.9 * LINES + 3) * size)), PAPER
    )
    lines = tuple(write(sheet, text, (2 * size, (1.5 + 1.9 * k) * size), face, size) for k, text in enumerate(texts))
    turned = sheet.rotate(angle_deg, expand=True, fillcolor=PAPER, resample=Image.Resampling.BICUBIC)
    noisy = np.asarray(turned) + rng.normal(0.0, noise, (turned.height, turned.width, 3))
    return Page(kind, np.clip(np.rint(noisy), 0, 255).astype(np.uint8), lines, angle_deg, sheet.size)


def pages(scenes: int, first_seed: int) -> Iterator[Page]:
    """Every page that is read, in a fixed order."""
    known = faces()
    for number, (name, face) in enumerate(known.items()):
        for size in SIZES_PX:
            large = ("level, 16 px and more",) if size >= 16 else ()
            yield page_of((f"level, {size} px", *large, f"{name}, level"), face, size, (first_seed, number, size))
        for size in OTHER_SIZES_PX:
            for angle in ANGLES_DEG:
                yield page_of((f"turned by {angle} degrees",), face, size, (first_seed, number, size), angle)
            for noise in NOISES:
                yield page_of((f"noise of {noise}",), face, size, (first_seed, number, size), noise=noise)
    for seed in range(first_seed, first_seed + scenes):
        yield map_page(seed)
        yield products_page(seed, list(known.values()))


def map_page(seed: int) -> Page:
    """A map with names, numbers and a scale."""
    frame = city_map(seed)
    spans = [span for span in frame.texts or () if span.text != "+"]
    return Page(("maps",), frame.rgb, tuple(WrittenLine(span.text, span.box) for span in spans))


def products_page(seed: int, files: Sequence[str]) -> Page:
    """A camera's image of a random scene with a label stuck on each object that has room for one."""
    rng = np.random.default_rng(seed)
    station = Station(generate_scene(seed), StationConfig(seed=seed))
    image = Image.fromarray(station.camera.capture().rgb)
    lines = []
    for placed, mask in truth_of(station).visible():
        size = int(rng.integers(*LABEL_PX))
        text, face = placed.asset.kind, str(rng.choice(np.array(files, object)))
        blank = Image.new("RGB", (400, 60), PAPER)
        left, top, right, bottom = write(blank, text, (size // 2, size // 4), face, size).box
        label = blank.crop((0, 0, round(right + size // 2), round(bottom + size // 2)))
        rows, columns = window_of(ndimage.binary_fill_holes(mask))
        if columns.stop - columns.start < label.width or rows.stop - rows.start < label.height:
            continue
        x = (columns.start + columns.stop - label.width) // 2
        y = (rows.start + rows.stop - label.height) // 2
        image.paste(label, (x, y))
        lines.append(WrittenLine(text, (x + left, y + top, x + right, y + bottom)))
    noisy = np.asarray(image) + rng.normal(0.0, 3.0, (image.height, image.width, 3))
    return Page(("labels on products",), np.clip(np.rint(noisy), 0, 255).astype(np.uint8), tuple(lines))


def distance(a: str, b: str) -> int:
    """Characters that must be put in, taken out or exchanged to make one text of another."""
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, start=1):
        last, row[0] = row[0], i
        for j, right in enumerate(b, start=1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (left != right))
    return row[-1]


def measure(reader: TextReader, page: Page, tallies: dict[str, Tally]) -> list[dict[str, Any]]:
    """Read a page and note what came of it, in the tally of each of its kinds; returns what was wrong."""
    began = time.perf_counter()
    spans = reader.read(SessionImage(page.rgb)).value
    seconds = time.perf_counter() - began
    belonging: dict[int, list[TextSpan]] = {k: [] for k in range(len(page.lines))}
    invented = 0
    for span in spans:
        x, y = _on_the_flat_page(span, page)
        k = next((k for k, line in enumerate(page.lines) if _holds(line, x, y)), None)
        if k is None:
            invented += bool(span.text)
        else:
            belonging[k].append(span)
    wrong, errors = [], []
    kinds = [tallies.setdefault(kind, Tally()) for kind in page.kind]
    for line, parts in zip(page.lines, belonging.values(), strict=True):
        said = " ".join(span.text for span in parts if span.text)
        errors += [distance(said, line.text) / len(line.text)] * len(line.text)
        is_sure = bool(said) and min(span.score for span in parts) >= SURE and all(span.text for span in parts)
        for tally in kinds:
            tally.found.append(bool(parts))
        if said:  # once, for these are counted over all kinds
            (kinds[0].exact_if_sure if is_sure else kinds[0].exact_if_unsure).append(said == line.text)
        if said != line.text:
            wrong.append({"page": page.kind[0], "printed": line.text, "read": said, "sure": is_sure})
    for tally in kinds:
        tally.errors.append(errors)
        tally.seconds.append(seconds)
        tally.invented += invented
    return wrong


def _holds(line: WrittenLine, x: float, y: float) -> bool:
    left, top, right, bottom = line.box
    slack = 0.3 * (bottom - top)
    return left - slack <= x <= right + slack and top - slack <= y <= bottom + slack


def _on_the_flat_page(span: TextSpan, page: Page) -> tuple[float, float]:
    """The middle of a text where it was before the page was turned [px]."""
    left, top, right, bottom = span.box
    x, y = (left + right) / 2.0, (top + bottom) / 2.0
    if not page.angle_deg:
        return x, y
    height, width = page.rgb.shape[:2]
    c, s = math.cos(math.radians(page.angle_deg)), math.sin(math.radians(page.angle_deg))
    x, y = x - width / 2.0, y - height / 2.0
    return c * x - s * y + page.flat_size[0] / 2.0, s * x + c * y + page.flat_size[1] / 2.0


def rows_of(tallies: Mapping[str, Tally]) -> list[dict[str, Any]]:
    """For each kind of page: errors with their interval over pages, then the rates, then the times."""
    rows = [mean_row(f"characters wrong, {kind}", tally.errors) for kind, tally in tallies.items()]
    rows += [rate_row(f"found, {kind}", sum(tally.found), len(tally.found)) for kind, tally in tallies.items()]
    for name, lines in (
        ("exact where sure", [hit for tally in tallies.values() for hit in tally.exact_if_sure]),
        ("exact where uncertain", [hit for tally in tallies.values() for hit in tally.exact_if_unsure]),
    ):
        rows.append(rate_row(name, sum(lines), len(lines)))
    rows += [timing_row(f"a picture, {kind}", tally.seconds) for kind, tally in tallies.items()]
    return rows


class TextBench(Benchmark[Options, Page, dict[str, Any]]):
    """`toolhand bench perception --text`, in one process."""

    name = "text"

    def title(self, options: Options) -> str:
        last = options.first_seed + options.scenes - 1
        return f"{options.scenes} scenes, seeds {options.first_seed}..{last}, typefaces {', '.join(faces())}"

    def document(self, options: Options, records: Sequence[dict[str, Any]]) -> dict[str, Any]:
        reader: TextReader = registry.make("reader", options.reader)
        reader.read(SessionImage(np.zeros((32, 32, 3), np.uint8)))  # loads what it needs
        tallies: dict[str, Tally] = {}
        all_pages = pages(options.scenes, options.first_seed)
        failures = [fault for page in all_pages for fault in measure(reader, page, tallies)]
        return {
            "machine": machine(),
            "seeds": list(range(options.first_seed, options.first_seed + options.scenes)),
            "typefaces": list(faces()),
            "reader": reader.backend,
            "rows": rows_of(tallies),
            "invented": {kind: tally.invented for kind, tally in tallies.items() if tally.invented},
            "unscored": 0,
            "failures": failures,
        }

    def lines(self, document: Document) -> str:
        means = format_means([row for row in document["rows"] if "mean" in row])
        invented = [f"texts where none is, {kind}: {n}" for kind, n in document["invented"].items()]
        return "\n".join([means, *invented, super().lines(document)])

    def failure_line(self, failure: Mapping[str, Any]) -> str:
        return f"{failure['page']}: {failure['printed']!r} read as {failure['read']!r}{', sure' * failure['sure']}"


TEXT = TextBench()
