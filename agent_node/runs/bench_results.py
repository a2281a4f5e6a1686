"""The file that every benchmark leaves: what was run, on what, and what came of it; written by
`toolhand.bench.results`.

runs/bench/20261120-150203-0-grasp.json
{"format": 1, "bench": "grasp", "arguments": ["--n", "20"], "began": ..., "wall_s": ..., "exit_status": 0,
 "version": ..., "machine": {...}, "out": "runs/grasp", "document": what --json prints}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.files import MIB, read_file
from toolhand.tool_nodes.plain_json import PlainJsonError
from toolhand.tool_nodes.records import Rule, record_of, without_version
from toolhand.tool_nodes.results import ToolError, invalid

FOLDER = Path("runs/bench")
"""Where the files lie, from the folder that a benchmark is started in."""
FORMAT = 1
"""Version of the file's form."""
MAX_RESULT_BYTES = 32 * MIB
"""Longest file that is read [bytes]: 2,000 attempts to grasp, of which all fail, take 1 MiB."""


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return False
    return True


@dataclass(frozen=True)
class BenchResult:
    """One run of a benchmark.

    Attributes:
        bench: Its name, as in `toolhand bench NAME`.
        arguments: Words of the command line after the name.
        began: ISO 8601 time in UTC.
        wall_s: How long it took [s].
        exit_status: 0 where it found what it should.
        version: Version of Toolhand.
        machine: Processor, cores, system and Python that it was measured on.
        out: Folder of its records, where it was given one; else empty.
        document: The document of `--json`: tables, outcomes and failures.
    """

    bench: str
    arguments: tuple[str, ...]
    began: Annotated[str, Rule("a time of ISO 8601", _is_time)]
    wall_s: float
    exit_status: int
    version: str
    machine: Mapping[str, Any]
    out: str
    document: Mapping[str, Any]

    def written(self) -> dict[str, Any]:
        """The file's content."""
        return {"format": FORMAT, **vars(self), "arguments": list(self.arguments), "document": _finite(self.document)}


def read_bench_result(path: Path) -> BenchResult:
    """The result of a file, which may have come from anywhere.

    Raises:
        ToolError: INVALID_ARGUMENT, with what is wrong with it.
    """
    try:
        document = plain_json.load(read_file(path, MAX_RESULT_BYTES, path.parent))
        return record_of(BenchResult, without_version(document, FORMAT, "format"))
    except OSError as error:
        raise invalid(f"Cannot read {path.name}: {error.strerror}.") from error
    except (PlainJsonError, ToolError) as error:
        raise invalid(f"{path.name} is no result of a benchmark: {str(error).rstrip('.')}.") from error


def _finite(value: Any) -> Any:
    """The document with None in place of NaN and infinities, which JSON has not."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value
