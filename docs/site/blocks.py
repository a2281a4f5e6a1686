"""What of a page is made from code or from runs: all that stands between `<!-- NAME:begin -->` and `<!-- NAME:end -->`.

The rest of a page is written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from toolhand.tool_nodes.results import invalid

BLOCK = re.compile(r"(<!-- (?P<name>\w+):begin -->\n).*?(<!-- (?P=name):end -->\n)", re.DOTALL)


def filled(page: str, blocks: Mapping[str, str]) -> str:
    """The page with every block between its markers.

    Raises:
        ToolError: INVALID_ARGUMENT: the page's markers are not those of the blocks, each once.
    """
    found = [match["name"] for match in BLOCK.finditer(page)]
    if sorted(found) != sorted(blocks):
        raise invalid(f"The page has the blocks {', '.join(found) or 'none'}; it needs {', '.join(blocks)}.")
    return BLOCK.sub(lambda match: match[1] + blocks[match["name"]] + match[3], page)


def by_hand(page: str) -> str:
    """The page without its blocks."""
    return BLOCK.sub("", page)
