"""The tables of docs/reference/command_line.md: every command with the beginning of the summary that its help has.

`python -m docs.site.command_docs` writes them between the page's markers; `--check` only says whether they are stale,
and exits with status 1 then. A command that no other table names stands in the last one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from docs.site import blocks
from toolhand.cli.commands import COMMANDS, CliCommand, Group

ROOT = Path(__file__).parents[2]
PAGE = "docs/reference/command_line.md"
SECTIONS: Mapping[str, str] = {
    "operate": "run talk dialogue runs open replay view scene up stop robot approve console",
    "tools": "objects tools call mcp mock ros serve models engines",
    "learn": "rollouts data train",
    "check": "",
}
"""First words of the commands of each table, in their order; the last one has all others but BENCH."""
BENCH = "bench"
"""Benchmarks are listed by `toolhand bench`: a new one changes no page."""


def shown(summary: str) -> str:
    """What the page has of a summary: what stands before its first full stop, colon or semicolon."""
    return re.split(r"[.:;](?: |$)", summary)[0] + "."


def table(names: list[str]) -> str:
    """The commands that begin with these words, those of groups one by one, as a table of Markdown."""
    rows = ["| `toolhand` | |", "|---|---|"]
    for name in names:
        entry = COMMANDS[name]
        commands: Mapping[str, CliCommand | Group] = (
            {f"{name} {word}": command for word, command in entry.commands.items()}
            if isinstance(entry, Group)
            else {name: entry}
        )
        rows += [f"| `{typed}` | {shown(command.summary)} |" for typed, command in commands.items()]
    return "\n".join(rows) + "\n"


def filled(page: str) -> str:
    """The page with its tables as they are to be. Raises ToolError INVALID_ARGUMENT without a table's markers."""
    chosen = {block: [name for name in words.split() if name in COMMANDS] for block, words in SECTIONS.items()}
    listed = {name for names in chosen.values() for name in names}
    chosen["check"] = [name for name in COMMANDS if name not in {*listed, BENCH}]
    return blocks.filled(page, {block: table(names) for block, names in chosen.items()})


def main(arguments: list[str]) -> int:
    """Write the page, or check it. Exit status: 0, 1 where it is stale, 2 for unknown arguments."""
    if arguments not in ([], ["--check"]):
        print("Usage: python -m docs.site.command_docs [--check]", file=sys.stderr)
        return 2
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    fresh = filled(page)
    if not arguments:
        (ROOT / PAGE).write_text(fresh, encoding="utf-8")
    elif fresh != page:
        print(f"{PAGE} is stale; run python -m docs.site.command_docs")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
