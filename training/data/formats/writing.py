"""What the formats have in common: rollouts in, rows of one format out, images before the rows that name them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from toolhand.agent_node.runs.folder import write_atomically
from toolhand.tool_nodes.files import read_file
from toolhand.tool_nodes.results import INFRASTRUCTURE_ERRORS, ToolError, invalid
from toolhand.tool_nodes.toolbox.image_files import MAX_FILE_BYTES, ImageFileError, opened
from toolhand.training.data.formats.conversation import ChatExample, Layout, example_of
from toolhand.training.data.formats.shards import IMAGES, SHARD_BYTES, SHARD_ROWS, ShardWriter
from toolhand.training.rollouts.images import hash_of
from toolhand.training.rollouts.record import RolloutRecord

Row = Any
"""A row as its format packs it."""


def checked_png(content: bytes, name: str) -> bytes:
    """The bytes of a PNG file that shows the image of a hash. Raises ToolError INVALID_ARGUMENT for any other."""
    try:
        with opened(content, ("PNG",)) as image:
            right = hash_of(np.asarray(image.convert("RGB"))) == name
    except ImageFileError as error:
        raise invalid(f"The picture {name[:12]} cannot be read: {error}.") from error
    if not right:
        raise invalid(f"The picture {name[:12]} is not what it was.")
    return content


def json_text(document: Any) -> str:
    """A document as a line of ASCII. Raises ToolError INVALID_ARGUMENT for what JSON cannot hold."""
    try:
        return json.dumps(document, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise invalid(f"It holds something that JSON cannot: {error}.") from error


class ImageFolder(Protocol):
    """Has images as files."""

    def path(self, name: str) -> Path:
        """See `toolhand.training.rollouts.images.ImageStore`."""


class ImageCopies:
    """The images of a data set.

    Args:
        folder: Folder of the data set: images go into `images/` there, by their hash.
    """

    def __init__(self, store: ImageFolder, folder: Path) -> None:
        self._store, self._folder = store, folder
        self.copied: set[str] = set()

    def png(self, name: str) -> bytes:
        """The file of an image. Raises ToolError INVALID_ARGUMENT where it is missing or damaged."""
        path = self._store.path(name)
        try:
            content = read_file(path, MAX_FILE_BYTES)
        except OSError as error:
            raise invalid(f"The picture {name[:12]} is missing: {error.strerror}.") from error
        return checked_png(content, name)

    def file(self, name: str) -> str:
        """Copy an image, once; its path relative to the data set. Raises as `png`; UNAVAILABLE on a full disk."""
        path = f"{IMAGES}/{name}.png"
        if name not in self.copied:
            write_atomically(self._folder / path, self.png(name), durable=True)
            self.copied.add(name)
        return path


class RowFormat(Protocol):
    """One way to write rows."""

    name: str
    suffix: str

    def row(self, example: ChatExample, images: ImageCopies) -> tuple[Row, int]:
        """A row, and about how many bytes it takes. Raises ToolError INVALID_ARGUMENT for what it cannot hold."""

    def packed(self, rows: list[Row]) -> bytes:
        """A shard."""

    def beside(self, folder: Path) -> None:
        """Write what belongs beside the shards, before the manifest; nothing by default."""


class JsonLines(RowFormat):
    """Rows as lines of JSON."""

    suffix = "jsonl"

    def document(self, example: ChatExample, images: ImageCopies) -> dict[str, Any]:
        """The row. Raises as `RowFormat.row`."""
        raise NotImplementedError

    def row(self, example: ChatExample, images: ImageCopies) -> tuple[bytes, int]:
        """See `RowFormat`."""
        line = f"{json_text(self.document(example, images))}\n".encode("ascii")
        return line, len(line)

    def packed(self, rows: list[bytes]) -> bytes:
        """See `RowFormat`."""
        return b"".join(rows)


@dataclass
class WrittenSet:
    """What was written.

    Attributes:
        rows, shards, images, bytes: How many; an image that many rows show counts once where it is a file.
        skipped: A sentence for each rollout that could not be written.
    """

    folder: Path
    form: str
    layout: str
    rows: int = 0
    shards: int = 0
    images: int = 0
    bytes: int = 0
    skipped: list[str] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """The same as a JSON document."""
        names = ("form", "layout", "rows", "shards", "images", "bytes", "skipped")
        return {"folder": str(self.folder), **{name: getattr(self, name) for name in names}}

    def __str__(self) -> str:
        skipped = f", {len(self.skipped)} skipped" if self.skipped else ""
        return (
            f"{self.folder}: {self.rows} rows ({self.form}, layout {self.layout}) in {self.shards} shards, "
            f"{self.images} pictures, {self.bytes / 1e6:.1f} MB{skipped}"
        )


def write_set(
    records: Iterable[RolloutRecord],
    store: ImageFolder,
    folder: Path,
    form: RowFormat,
    layout: Layout = "calls",
    on_skip: Callable[[str], None] | None = None,
    shard_rows: int = SHARD_ROWS,
) -> WrittenSet:
    """Write rollouts as a data set.

    Args:
        records: Read one after the other, never held together.
        folder: Where it goes; not there yet, or empty.
        layout: See `toolhand.training.data.formats.conversation`.
        on_skip: Called with a sentence for each rollout that is left out; where None, the first such ends the writing.
        shard_rows: Rows of a shard; fewer where they are large.

    Raises:
        ToolError: INVALID_ARGUMENT where the folder holds something, and for a rollout that cannot be written
            without `on_skip`; UNAVAILABLE where the disk is full: the shards before it are whole.
    """
    writer = ShardWriter(folder, form.name, form.suffix)
    written, images = WrittenSet(folder, form.name, layout), ImageCopies(store, folder)
    rows: list[Row] = []
    size = shown = 0

    def flush() -> None:
        nonlocal size
        if rows:
            writer.write(form.packed(rows), len(rows))
            rows.clear()
            size = 0

    for record in records:
        try:
            example = example_of(record, layout)
            row, took = form.row(example, images)
        except ToolError as error:
            if on_skip is None or error.code in INFRASTRUCTURE_ERRORS:
                raise
            written.skipped.append(f"Rollout {record.id} is left out: {error}")
            on_skip(written.skipped[-1])
            continue
        rows.append(row)
        size += took
        shown += len(example.images)
        if len(rows) >= shard_rows or size >= SHARD_BYTES:
            flush()
    flush()
    form.beside(folder)
    written.images = len(images.copied) or shown
    writer.finish({"layout": layout, "images": written.images, "skipped": written.skipped})
    written.rows = sum(entry.rows for entry in writer.entries)
    written.shards, written.bytes = len(writer.entries), sum(entry.bytes for entry in writer.entries)
    return written
