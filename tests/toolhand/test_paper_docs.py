"""docs/reference/papers.md: the tables are what the code says, and a difference is seen."""

import re
from pathlib import Path
from typing import Annotated

import pytest

from docs.site import paper_docs
from docs.site.blocks import filled
from docs.site.paper_docs import ROOT, make_blocks, protocol_table, tool_table
from docs.site.paper_tables import PrintedTool
from toolhand.agent_node.protocol import load_protocol
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.arguments import NumberArgument
from toolhand.tool_nodes.toolbox.toolbox import Toolbox, tool

Number = Annotated[float, NumberArgument()]
PAGE = (ROOT / paper_docs.PAGE).read_text(encoding="utf-8")


class Tools:
    suite = "evic"

    @tool("look.at", aliases=("look",), renamed={"x": "u"})
    def look(self, *, u: Number, size: Number = 1.0) -> ToolResult:
        """Look."""
        return ToolResult(text="Seen.")


def test_the_tables_of_the_page_are_what_the_code_says() -> None:
    assert filled(PAGE, make_blocks()) == PAGE, "run python -m docs.site.paper_docs"


@pytest.mark.parametrize(
    ("printed", "differs"),
    [
        (PrintedTool("look.at", "u size", "size"), ""),
        (PrintedTool("look", "u size", "size"), "the name"),
        (PrintedTool("look.at", "x size", "size"), "`x` is `u`"),
        (PrintedTool("look.at", "u"), "`size` is ours"),
        (PrintedTool("look.at", "u size"), "`size` is optional here"),
        (PrintedTool("look.at", "u size", "u size"), "`u` is required here"),
        (PrintedTool("look.at", "u size colour", "size"), "`colour` is missing"),
    ],
)
def test_every_kind_of_difference_is_told(printed: PrintedTool, differs: str) -> None:
    table = tool_table([printed], Toolbox([Tools()]))
    if differs:
        assert table.splitlines()[-1].endswith(f"| `look.at(u, size)` | {differs} |")
    else:
        assert table == "As printed: `look.at`.\n"


def test_a_printed_tool_that_nothing_answers_to_is_an_error() -> None:
    with pytest.raises(ToolError) as caught:
        tool_table([PrintedTool("grasp")], Toolbox([Tools()]))
    assert caught.value.code is ErrorCode.UNKNOWN_TOOL


def test_a_protocol_is_told_in_one_row() -> None:
    row = protocol_table([load_protocol("evic")]).splitlines()[-1]
    assert row == r"| E-ViC | free text | `<tool_call>` with JSON | `\boxed{}` | one; later ones are ignored | 5 |"


def test_a_page_without_the_right_markers_is_refused() -> None:
    page = "<!-- a:begin -->\nold\n<!-- a:end -->\n"
    assert filled(page, {"a": "new\n"}) == page.replace("old", "new")
    with pytest.raises(ToolError, match="has the blocks a; it needs a, b"):
        filled(page, {"a": "", "b": ""})


def test_the_command_says_that_the_page_is_stale_and_then_writes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / paper_docs.PAGE
    file.parent.mkdir(parents=True)
    file.write_text("<!-- a:begin -->\n<!-- a:end -->\n")
    monkeypatch.setattr(paper_docs, "ROOT", tmp_path)
    monkeypatch.setattr(paper_docs, "make_blocks", lambda: {"a": "new\n"})
    assert paper_docs.main(["--check"]) == 1
    assert capsys.readouterr().out == "docs/reference/papers.md is stale; run python -m docs.site.paper_docs\n"
    assert "new" not in file.read_text()
    assert paper_docs.main([]) == paper_docs.main(["--check"]) == 0
    assert paper_docs.main(["--wrong"]) == 2


def test_every_row_of_the_page_has_three_cells_and_says_what_is_here() -> None:
    rows = [
        line
        for line in re.sub(r"<!-- protocols:begin.*?end -->", "", PAGE, flags=re.DOTALL).splitlines()
        if line[:1] == "|"
    ]
    assert len(rows) > 40
    for row in rows:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert len(cells) == 3, row
        assert all(cells[:2]), row
