"""The board as a page to print: a PDF of rectangles, whose scale no resolution can round."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np

from toolhand.tool_nodes.calibration.charuco import MODULES, CharucoBoard
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import BoolArray

PAPERS = {"a4": (297.0, 210.0), "a3": (420.0, 297.0), "a2": (594.0, 420.0), "letter": (279.4, 215.9)}
"""Sheets that a page may be, lying (width, height) [mm]."""
_POINTS = 72.0 / 25.4
"""Units of a PDF in a millimetre [-]."""
_EDGE_MM = 5.0
"""What printers leave white at the edge of a sheet [mm]."""
_TEXT_MM = 3.2
"""Height of the letters [mm]."""


def board_pdf(board: CharucoBoard, cells: BoolArray, paper: str = "a4") -> bytes:
    """A page with the board in true size, and its size written below.

    Args:
        board: The board.
        cells: Its cells, see `toolhand.tool_nodes.calibration.detection.pattern`.
        paper: Name in `PAPERS`.

    Raises:
        ToolError: INVALID_ARGUMENT where the board does not fit on the sheet.
    """
    if paper not in PAPERS:
        raise invalid(f"--paper must be one of {', '.join(PAPERS)}, got {paper[:40]!r}.")
    sheet = PAPERS[paper]
    width, height = (1000.0 * side for side in board.size_m)
    left, free = (sheet[0] - width) / 2.0, sheet[1] - height
    low = free - max((free - 2.0 * _TEXT_MM) / 2.0, _EDGE_MM)
    if left < _EDGE_MM or low < _EDGE_MM + 2.0 * _TEXT_MM:
        raise invalid(
            f"A board of {width:g} by {height:g} mm does not fit on {paper}, which is {sheet[0]:g} by {sheet[1]:g} mm.",
            "Take a larger --paper or smaller squares.",
        )
    said = (
        f"ChArUco {board}, DICT_4X4_50. Print at 100 %, not fitted to the page. Squares {1000 * board.square_m:g} mm: "
        f"the pattern must measure {width:g} x {height:g} mm."
    )
    content = ["0 g"]
    for x, y, w, h in _rectangles(cells, 1000.0 * board.square_m / MODULES):
        content.append("{:.4f} {:.4f} {:.4f} {:.4f} re".format(*_points(left + x, low + height - y - h, w, h)))
    content.append("f")
    x, y = _points(left, low - 1.8 * _TEXT_MM)
    content.append(f"BT /F1 {_TEXT_MM * _POINTS:.2f} Tf {x:.2f} {y:.2f} Td ({said}) Tj ET")
    return _document("\n".join(content).encode(), *_points(*sheet))


def _points(*millimetres: float) -> tuple[float, ...]:
    return tuple(value * _POINTS for value in millimetres)


def _rectangles(cells: BoolArray, side: float) -> Iterator[tuple[float, float, float, float]]:
    """Runs of black cells, (left, top, width, height) from the upper left [mm]; equal runs of following rows as one, so
    that no viewer shows a seam between them."""
    open_runs: dict[tuple[int, int], int] = {}
    for row in range(len(cells) + 1):
        runs = set(_runs(cells[row])) if row < len(cells) else set()
        for run in [run for run in open_runs if run not in runs]:
            first = open_runs.pop(run)
            yield run[0] * side, first * side, (run[1] - run[0]) * side, (row - first) * side
        for run in sorted(runs):
            open_runs.setdefault(run, row)


def _runs(row: BoolArray) -> Iterator[tuple[int, int]]:
    for white, group in groupby(np.arange(len(row)), key=lambda k: bool(row[k])):
        if not white:
            columns = list(group)
            yield int(columns[0]), int(columns[-1]) + 1


def _document(content: bytes, width: float, height: float) -> bytes:
    """A PDF of one page."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /ViewerPreferences << /PrintScaling /None >> >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width:.4f} {height:.4f}] /Contents 4 0 R "
        "/Resources << /Font << /F1 5 0 R >> >> >>".encode(),
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    text, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(text))
        text += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    count = len(objects) + 1
    end = b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    return text + end % (count, table, count, len(text))
