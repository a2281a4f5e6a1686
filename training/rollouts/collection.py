"""A folder of rollouts: `shards/*.jsonl`, a record a line, beside the images and long texts that they share.

DIR/plan.json                what was to be collected, see `toolhand.training.rollouts.plan`; absent without a plan
DIR/shards/00012.jsonl       the rollouts of a group, in order; each shard appears whole
DIR/pictures/, DIR/texts/    see `toolhand.training.rollouts.images`

for record in read_rollouts(Path("rollouts")):
    ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from toolhand.agent_node.runs.folder import write_atomically
from toolhand.tool_nodes.files import GIB, MIB, open_file
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.training.rollouts.images import ImageStore
from toolhand.training.rollouts.record import RolloutRecord

SHARDS = "shards"
"""Folder of the records within a collection."""

BadRow = Callable[[ToolError], None]
"""Called with a line that is no record: one sentence with its file and line."""

_SHARD_BYTES = 8 * GIB
"""Longest file of records that is read [bytes]: one has a group of rollouts."""

_LINE_BYTES = 16 * MIB
"""A line of more bytes is no record, far above what a model writes in an episode, and in memory some twenty times as
long."""


def read_rollouts(folder: Path, bad_row: BadRow | None = None) -> Iterator[RolloutRecord]:
    """The rollouts of a collection, shard by shard.

    Args:
        bad_row: Called for each row that is no record, which is then passed over; where None, the first one ends it.

    Raises:
        ToolError: INVALID_ARGUMENT for a folder that is none, and for a bad row without `bad_row`.
    """
    for path in shard_paths(folder):
        yield from read_shard(path, ImageStore(folder), bad_row)


def shard_paths(folder: Path) -> list[Path]:
    """The shards of a collection, in order. Raises ToolError INVALID_ARGUMENT where it has no folder of them."""
    shards = folder / SHARDS
    if not shards.is_dir():
        raise invalid(f"{folder} is no folder of rollouts: it has no {SHARDS}/.")
    return sorted(shards.glob("*.jsonl"))


def read_shard(path: Path, store: ImageStore, bad_row: BadRow | None = None) -> Iterator[RolloutRecord]:
    """The rollouts of one file; arguments and errors as of `read_rollouts`."""
    try:
        with open_file(path, store.folder, _SHARD_BYTES) as file:
            number = 0
            while line := file.readline(_LINE_BYTES + 1):
                number += 1
                try:
                    if len(line) > _LINE_BYTES:
                        _skip(file)
                        raise invalid(f"it is longer than {_LINE_BYTES // MIB} MiB")
                    if not line.endswith(b"\n"):
                        raise invalid("it is cut off")
                    record = RolloutRecord.from_json(line, store)
                except ToolError as error:
                    message = f"{path}, line {number}: {error.message.rstrip('.')}."
                    problem = invalid(message)
                    if bad_row is None:
                        raise problem from error
                    bad_row(problem)
                else:
                    yield record
    except OSError as error:
        raise invalid(f"Cannot read {path}: {error.strerror}.") from error


def _skip(file: BinaryIO) -> None:
    """To the end of a line that is too long."""
    while (part := file.readline(MIB)) and not part.endswith(b"\n"):
        pass


def write_shard(folder: Path, number: int, lines: Sequence[str]) -> Path:
    """Write a shard, whole or not at all, in place of one of the same number.

    Args:
        number: Number of the shard, 0 or more.
        lines: Lines made by `RolloutRecord.to_json`, with the collection's own store.

    Raises:
        ToolError: UNAVAILABLE where it cannot be written.
    """
    path = shard_path(folder, number)
    write_atomically(path, "".join(f"{line}\n" for line in lines).encode())
    return path


def shard_path(folder: Path, number: int) -> Path:
    """Where a shard lies."""
    return folder / SHARDS / f"{number:05d}.jsonl"
