"""A data set in files that appear whole or not at all: shards as they fill, and a manifest when all are there.

    DIR/data/train-00000.jsonl ...    the rows
    DIR/images/HASH.png ...           the images, where they are not inside the rows
    DIR/manifest.json                 format, rows, and each shard's rows, bytes and SHA-256; written last

A run that is killed leaves whole shards without a manifest; `read_shards` reads those too. A folder that holds anything
is refused, so nothing is ever replaced.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from toolhand.agent_node.runs.folder import write_atomically
from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.files import GIB, MIB, read_file, why
from toolhand.tool_nodes.results import ToolError, invalid, unavailable

MANIFEST = "manifest.json"
ROWS, IMAGES = "data", "images"
"""Folders of the rows and of the images."""

SHARD_ROWS = 256
"""Most rows of a shard [-]: a killed run loses some seconds of writing."""
SHARD_BYTES = 64 << 20
"""Bytes after which a shard is full; readers of Parquet hold a shard's row group in memory."""

MOST_SHARD_BYTES = GIB
"""Longest shard that is read [bytes]: one ends with the row that reaches `SHARD_BYTES`."""

_MANIFEST_BYTES = 64 * MIB
"""Longest manifest that is read [bytes]; one of ten thousand shards has two."""

_SHARD = re.compile(r"train-\d{5}\.(?:jsonl|parquet)")


@dataclass(frozen=True)
class ShardEntry:
    """One shard as the manifest has it.

    Attributes:
        file: Its name within `data/`.
        rows, bytes: How many it has.
        sha256: Digest of the file, in hexadecimal digits.
    """

    file: str
    rows: int
    bytes: int
    sha256: str


def require_empty(folder: Path) -> None:
    """Raises ToolError INVALID_ARGUMENT where a folder holds anything or is no folder; UNAVAILABLE unreadable."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            # Others' data sets have a folder of that name too, LeRobot's for one.
            rows = (folder / ROWS).iterdir() if (folder / ROWS).is_dir() else ()
            unfinished = any(_SHARD.fullmatch(file.name) for file in rows) and not (folder / MANIFEST).exists()
            what = "an unfinished data set" if unfinished else "something already"
            raise invalid(
                f"{folder} holds {what}, and nothing is replaced.", "Name a folder that does not exist yet or is empty."
            )
    except OSError as error:
        raise unavailable(f"Cannot read {folder}: {error.strerror}.") from error


class ShardWriter:
    """Writes the shards of one data set.

    Args:
        folder: Where it goes; not there yet, or empty.
        form: Name of the format, for the manifest.
        suffix: Suffix of the shards: "jsonl" or "parquet".

    Raises:
        ToolError: INVALID_ARGUMENT where the folder holds something.
    """

    def __init__(self, folder: Path, form: str, suffix: str) -> None:
        require_empty(folder)
        self.folder, self._form, self._suffix = folder, form, suffix
        self.entries: list[ShardEntry] = []

    def write(self, content: bytes, rows: int) -> None:
        """Write one shard. Raises ToolError UNAVAILABLE where it cannot be written."""
        name = f"train-{len(self.entries):05d}.{self._suffix}"
        write_atomically(self.folder / ROWS / name, content, durable=True)
        self.entries.append(ShardEntry(name, rows, len(content), hashlib.sha256(content).hexdigest()))

    def finish(self, more: Mapping[str, Any]) -> None:
        """Write the manifest, with what else is to be known of the set. Raises ToolError UNAVAILABLE."""
        document = {
            "format": self._form,
            "rows": sum(entry.rows for entry in self.entries),
            "shards": [asdict(entry) for entry in self.entries],
            **more,
        }
        write_atomically(self.folder / MANIFEST, f"{json.dumps(document, indent=2)}\n".encode(), durable=True)


@dataclass(frozen=True)
class ShardFolder:
    """The whole shards of a data set.

    Attributes:
        folder: Where it lies.
        files: The shards, in order.
        manifest: The document; empty where the run was killed before it.
    """

    folder: Path
    files: tuple[Path, ...]
    manifest: Mapping[str, Any]

    @property
    def finished(self) -> bool:
        """The manifest is there."""
        return bool(self.manifest)


def read_shards(folder: Path, on_skip: Callable[[str], None] | None = None) -> ShardFolder:
    """The shards of a data set, each checked against the manifest where there is one.

    Args:
        folder: Folder of the data set.
        on_skip: Called with a sentence for each shard that is missing or is not what was written, which is left out;
            where None, the first is an error.

    Raises:
        ToolError: INVALID_ARGUMENT where there is no data set, or for such a shard.
    """
    try:
        files = tuple(sorted(file for file in (folder / ROWS).iterdir() if _SHARD.fullmatch(file.name)))
    except OSError:
        files = ()
    if not files and not (folder / MANIFEST).exists():
        raise invalid(f"{folder} is no data set: it has no {ROWS}/train-00000 and no {MANIFEST}.")
    manifest: dict[str, Any] = {}
    if (folder / MANIFEST).exists():
        manifest = _manifest(folder / MANIFEST)
        files = tuple(_whole(folder / ROWS, manifest["shards"], on_skip))
    return ShardFolder(folder, files, manifest)


def _manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = plain_json.load(read_file(path, _MANIFEST_BYTES, path.parent))
        for entry in manifest["shards"]:
            if not _SHARD.fullmatch(entry["file"]) or not isinstance(entry["sha256"], str):
                raise ValueError(f"{str(entry['file'])[:40]!r} is no shard")
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise invalid(f"{path} is no manifest of a data set: {why(error)}.") from error
    return dict(manifest)


def _whole(folder: Path, entries: Sequence[Mapping[str, Any]], on_skip: Callable[[str], None] | None) -> Iterator[Path]:
    for entry in entries:
        path = folder / entry["file"]
        try:
            _check(path, entry)
        except ToolError as error:
            if on_skip is None:
                raise
            on_skip(str(error))
        else:
            yield path


def _check(path: Path, entry: Mapping[str, Any]) -> None:
    try:
        content = read_file(path, MOST_SHARD_BYTES, path.parents[1])
    except OSError as error:
        raise invalid(f"The shard {path} cannot be read: {error.strerror}.") from error
    if hashlib.sha256(content).hexdigest() != entry["sha256"]:
        wanted = entry.get("bytes")
        raise invalid(
            f"The shard {path} is not what was written: it has {len(content)} bytes, its manifest says {wanted}."
        )
