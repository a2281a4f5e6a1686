"""A data set in files that appear whole or not at all: shards as they fill, and a manifest when all are there.

    DIR/data/train-00000.jsonl ...    the rows
    DIR/images/HASH.png ...           the images, where they are not inside the rows
    DIR/manifest.json                 format, rows, and each shard's rows, bytes and SHA-256; written last

A run that is killed leaves whole shards without a manifest. A folder that holds anything is refused, so nothing is ever
replaced.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from toolhand.agent_node.runs import claims
from toolhand.agent_node.runs.folder import write_atomically
from toolhand.tool_nodes.results import ErrorCode, ToolError

MANIFEST = "manifest.json"
ROWS, IMAGES = "data", "images"
"""Folders of the rows and of the images."""

SHARD_ROWS = 256
"""Most rows of a shard [-]: a killed run loses some seconds of writing."""
SHARD_BYTES = 64 << 20
"""Bytes after which a shard is full; readers of Parquet hold a shard's row group in memory."""

_SHARD = re.compile(r"train-\d{5}\.(?:jsonl|parquet)")


@dataclass(frozen=True)
class ShardEntry:
    """One shard as the manifest has it.

    Attributes:
        file: Its name within `data/`.
        sha256: Digest of the file, in hexadecimal digits.
    """

    file: str
    rows: int
    bytes: int
    sha256: str


def require_empty(folder: Path) -> None:
    """As `claims.require_empty`; the error names an unfinished data set."""
    try:
        claims.require_empty(folder)
    except ToolError as error:
        # Others' data sets have a folder of that name too, LeRobot's for one.
        shards = any(_SHARD.fullmatch(file.name) for file in (folder / ROWS).glob("*"))
        if error.code is ErrorCode.INVALID_ARGUMENT and shards and not (folder / MANIFEST).exists():
            raise error.reworded(f"{folder} holds an unfinished data set, and nothing is replaced.") from None
        raise


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
