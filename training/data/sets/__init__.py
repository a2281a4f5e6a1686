"""Public sets that the four papers are measured on, in their own layouts, from a local folder.

    reader = load_set("refspatial", folder, split="location")
    for question in reader:
        print(question.text, mark(question, "(0.4, 0.5)"))
    print(reader.skipped, reader.problems)

Nothing is downloaded. `SETS` is a plain dict that a program may add its own to. docs/reference/data.md has the table.
"""

from __future__ import annotations

from pathlib import Path

from tool_nodes.results import invalid
from training.data.sets.public_set import PublicSet, QuestionReader
from training.data.sets.table import TABLE

SETS: dict[str, PublicSet] = {each.name: each for each in TABLE}
"""Every set by its name."""


def set_named(name: str) -> PublicSet:
    """The set of this name. Raises ToolError INVALID_ARGUMENT for an unknown one, with all names."""
    if name not in SETS:
        raise invalid(f'There is no public set "{name}", only {", ".join(sorted(SETS))}.')
    return SETS[name]


def load_set(
    name: str, path: Path, split: str | None = None, strict: bool = False, most: int | None = None
) -> QuestionReader:
    """The questions of a set that lies in a folder, read one after the other as they are asked for.

    Args:
        name: A name of `SETS`.
        path: The folder that its publisher's files are in.
        split: One of its splits; every one that is there where None.
        strict: Stop at the first bad row, instead of leaving it out and counting it.
        most: Number of questions to read, from the first; all of them where None.

    Raises:
        ToolError: INVALID_ARGUMENT for an unknown set or split, and where its files are not there.
    """
    return QuestionReader(set_named(name), path, split, strict, most)
