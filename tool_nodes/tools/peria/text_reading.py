"""PERIA's five OCR tools (appendix C.1 and table 7), over whichever backend stands behind the TextReader port.

The paper drives them by PaddleOCR-VL and prints the form of their answers in figure 12:
`Tool executed successfully.\\nResult: {"task": "ocr", "text": "..."}`. That is the whole answer where all was read and
is sure. Else further keys say what is not, and are there only then: `uncertain`, the texts in which a character may be
wrong; `unread`, how many parts look like text and could not be read. What each tool adds is said with it.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from toolhand.tool_nodes.perception.text.layout import TextBox, crossing, formulas, is_prose, not_latex, read_table
from toolhand.tool_nodes.perception.text.rulings import Rulings, find_rulings, has_ink
from toolhand.tool_nodes.ports import TextReader
from toolhand.tool_nodes.results import ToolResult
from toolhand.tool_nodes.toolbox.arguments import ImageIndex
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import tool
from toolhand.tool_nodes.tools.peria.boxes import boxed
from toolhand.tool_nodes.tools.peria.interaction import SUCCESS
from toolhand.tool_nodes.types import TextSpan

SURE = 0.9
"""Score from which a text is not called uncertain [-]. Chosen by the 865 lines of `toolhand bench perception --text
--first-seed 9000 --scenes 4`: it calls 29 of 49 wrong lines uncertain, and 60 of 816 right ones (0.8: 19 and 45)."""

_SCALE_WORDS = frozenset(
    ("m", "km", "cm", "mm", "ft", "mi", "yd", "mile", "miles", "meter", "meters", "metre", "metres", "feet", "scale")
)
"""Words that stand at the scale of a map: "200 m", "0 1 2 km", "Scale 1:50 000"."""
_LIKE_SCALE = 0.75
"""Likeness of a word beside numbers to "scale" from which it is that word misread [-]; a round figure."""


class TextTools:
    """Reading text. What is too small for the reader in the whole image can be read in a crop of it (figure 12)."""

    suite = "peria"

    def __init__(self, reader: TextReader) -> None:
        self._reader = reader

    @tool("text_ocr", example=Example({"image_index": 0}, image="street"))
    def text_ocr(self, image_index: ImageIndex) -> ToolResult:
        """Extract the visible text of an image, such as document text, signs, labels and natural scene text.

        Args:
            image_index: Index of the image to read.
        """
        found = self._reader.read(image_index)
        return _result("ocr", {"text": _lines(found.value)}, found.value, found.backend)

    @tool("text_spotting", example=Example({"image_index": 0}, image="street"))
    def text_spotting(self, image_index: ImageIndex) -> ToolResult:
        """Detect and recognize text with localization: each text with its bounding box, for station names, road
        labels or map annotations.

        Args:
            image_index: Index of the image to read.
        """
        found = self._reader.read(image_index)
        items = [  # the text of what could not be read is null
            {"text": span.text or None, "bbox": boxed(*span.box, image_index.size), "score": span.score}
            for span in found.value
        ]
        return _result("spotting", {"items": items}, found.value, found.backend)

    @tool("map_text_ocr", example=Example({"image_index": 0}, image="city_map"))
    def map_text_ocr(self, image_index: ImageIndex) -> ToolResult:
        """Extract map-related text: place names, road names, station names and landmarks, without pure numbers, scale
        markers and isolated symbols.

        Args:
            image_index: Index of the image to read.
        """
        found = self._reader.read(image_index)
        kept = [span for span in found.value if not span.text or not is_map_noise(span.text)]
        return _result("ocr", {"text": _lines(kept)}, kept, found.backend)

    @tool("formula_ocr", example=Example({"image_index": 0}, image="formula"))
    def formula_ocr(self, image_index: ImageIndex) -> ToolResult:
        """Recognize mathematical expressions and equations in an image as LaTeX.

        Args:
            image_index: Index of the image to read.
        """
        found = self._reader.read(image_index)
        read = [span for span in found.value if span.text]
        prose = [span.text for span in read if span.kind != "formula" and is_prose(span.text)]
        mathematics = [span for span in read if span.kind == "formula" or not is_prose(span.text)]
        text = "\n".join(formulas(mathematics, find_rulings(image_index.rgb).bars))
        # What stands beside the formulas and is none, and signs that are left as they were read.
        more = {"text": text, **_not_empty(not_formula=prose, not_latex=not_latex(text))}
        unsure = [span for span in found.value if span.text not in prose]
        return _result("formula", more, unsure, found.backend)

    @tool("table_ocr", example=Example({"image_index": 0}, image="ruled_table"))
    def table_ocr(self, image_index: ImageIndex) -> ToolResult:
        """Recognize the structure of a table in an image: its rows and columns with the text of each cell.

        Args:
            image_index: Index of the image to read.
        """
        rulings = find_rulings(image_index.rgb)
        found = self._reader.read(image_index)
        spans = self._apart(image_index, found.value, rulings)
        table = read_table(spans, rulings, partial(has_ink, image_index.rgb))
        note = "There are neither ruled lines nor columns: each row is a line of text." if table.is_lines_only else ""
        more = {"rows": table.rows, **_not_empty(outside=table.outside, note=note)}
        silent = sum(cell is None for row in table.rows for cell in row)
        unread = max(silent, sum(not span.text for span in spans))
        return _result("table", more, spans, found.backend, unread)

    def _apart(self, image: SessionImage, spans: Sequence[TextSpan], rulings: Rulings) -> list[TextSpan]:
        """The texts of a table; cells whose texts were taken for one line are read each on its own."""
        cells = crossing(spans, rulings)
        whole = [span for span in spans if not any(_is_within(span, cell) for cell in cells)]
        for left, top, right, bottom in cells:
            corner = round(left), round(top)
            part = image.cropped(*corner, round(right), round(bottom))
            whole += [replace(span, box=_moved(span.box, *corner)) for span in self._reader.read(part).value]
        return whole


def _is_within(span: TextSpan, cell: TextBox) -> bool:
    """True for a text of which a part lies in a cell."""
    left, top, right, bottom = span.box
    return cell[1] <= (top + bottom) / 2.0 < cell[3] and left < cell[2] and cell[0] < right


def _moved(box: TextBox, x: int, y: int) -> TextBox:
    return box[0] + x, box[1] + y, box[2] + x, box[3] + y


def _lines(spans: Iterable[TextSpan]) -> str:
    return "\n".join(span.text for span in spans if span.text)


def _not_empty(**notes: Any) -> dict[str, Any]:
    """Those notes that say something."""
    return {name: note for name, note in notes.items() if note}


def _result(
    task: str, answer: dict[str, Any], spans: Sequence[TextSpan], backend: str, unread: int | None = None
) -> ToolResult:
    """What was read, and what of it is uncertain or unread; unread counts the empty texts where None."""
    uncertain = [span.text for span in spans if span.text and span.score < SURE]
    if unread is None:
        unread = sum(not span.text for span in spans)
    value = {"task": task, **answer, **_not_empty(uncertain=uncertain, unread=unread)}
    text = f"{SUCCESS}\nResult: {json.dumps(value, ensure_ascii=False)}"
    return ToolResult(value=value, text=text, backend=backend)


def is_map_noise(text: str) -> bool:
    """True for what map OCR should leave out: pure numbers, scale markers and isolated symbols (PERIA C.1).

    A name has a word: two letters or more with no digit among them, so that "2o0 m" and "A00" are none, however they
    were misread. Beside numbers, the words of a scale are none.
    """
    words = [word for word in re.findall(r"\w+", text) if len(word) >= 2 and word.isalpha()]
    if any(c.isdigit() for c in text):
        words = [word for word in words if not _is_of_a_scale(word.lower())]
    return not words


def _is_of_a_scale(word: str) -> bool:
    return word in _SCALE_WORDS or difflib.SequenceMatcher(None, word, "scale").ratio() >= _LIKE_SCALE
