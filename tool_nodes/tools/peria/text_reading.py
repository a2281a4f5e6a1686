"""PERIA's five OCR tools (appendix C.1 and table 7), over whichever backend stands behind the TextReader port.

The paper drives them by PaddleOCR-VL and prints the form of their answers in figure 12:
`Tool executed successfully.\\nResult: {"task": "ocr", "text": "..."}`.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tool_nodes.perception.text.layout import formulas, table_rows
from tool_nodes.perception.text.rulings import find_rulings
from tool_nodes.ports import Answer, TextReader
from tool_nodes.results import ToolResult
from tool_nodes.toolbox.arguments import ImageIndex
from tool_nodes.toolbox.toolbox import tool
from tool_nodes.tools.peria.boxes import boxed
from tool_nodes.tools.peria.interaction import SUCCESS
from tool_nodes.types import TextSpan

_SCALE_MARKER = re.compile(
    r"(?:scale\b)?[\s\d.,:/]*\d[\s\d.,:/]*(?:m|km|cm|mm|ft|mi|yd|miles?|meters?|metres?|feet)?\.?", re.IGNORECASE
)
"""What stands at the scale of a map: "200 m", "0 1 2 km", "Scale 1:50 000"."""


class TextTools:
    """Reading text. What is too small for the reader in the whole picture can be read in a crop of it (figure 12)."""

    suite = "peria"

    def __init__(self, reader: TextReader) -> None:
        self._reader = reader

    @tool("text_ocr")
    def text_ocr(self, image_index: ImageIndex) -> ToolResult:
        """Extract the visible text of an image, such as document text, signs, labels and natural scene text.

        Args:
            image_index: Index of the image to read.
        """
        return _text(self._reader.read(image_index))

    @tool("text_spotting")
    def text_spotting(self, image_index: ImageIndex) -> ToolResult:
        """Detect and recognize text with localization: each text with its bounding box, for station names, road
        labels or map annotations.

        Args:
            image_index: Index of the image to read.
        """
        found = self._reader.read(image_index)
        items = [{"text": span.text, "bbox": boxed(*span.box, image_index.size)} for span in found.value]
        return _result({"task": "spotting", "items": items}, found.backend)

    @tool("map_text_ocr")
    def map_text_ocr(self, image_index: ImageIndex) -> ToolResult:
        """Extract map-related text: place names, road names, station names and landmarks, without pure numbers, scale
        markers and isolated symbols.

        Args:
            image_index: Index of the image to read.
        """
        found = self._reader.read(image_index)
        return _text(Answer([span for span in found.value if not is_map_noise(span.text)], found.backend))

    @tool("formula_ocr")
    def formula_ocr(self, image_index: ImageIndex) -> ToolResult:
        """Recognize mathematical expressions and equations in an image as LaTeX.

        Args:
            image_index: Index of the image to read.
        """
        found = self._reader.read(image_index)
        bars = find_rulings(image_index.rgb).bars
        return _result({"task": "formula", "text": "\n".join(formulas(found.value, bars))}, found.backend)

    @tool("table_ocr")
    def table_ocr(self, image_index: ImageIndex) -> ToolResult:
        """Recognize the structure of a table in an image: its rows and columns with the text of each cell.

        Args:
            image_index: Index of the image to read.
        """
        found = self._reader.read(image_index)
        rows = table_rows(found.value, find_rulings(image_index.rgb))
        return _result({"task": "table", "rows": rows}, found.backend)


def _text(found: Answer[list[TextSpan]]) -> ToolResult:
    return _result({"task": "ocr", "text": "\n".join(span.text for span in found.value)}, found.backend)


def _result(value: dict[str, Any], backend: str) -> ToolResult:
    text = f"{SUCCESS}\nResult: {json.dumps(value, ensure_ascii=False)}"
    return ToolResult(value=value, text=text, backend=backend)


def is_map_noise(text: str) -> bool:
    """True for what map OCR should leave out: pure numbers, scale markers and isolated symbols (PERIA C.1)."""
    words = re.findall(r"[^\W\d_]+", text)
    return not words or bool(_SCALE_MARKER.fullmatch(text.strip())) or sum(map(len, words)) < 2
