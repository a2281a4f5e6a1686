"""Rows of the files that public sets are kept in: JSON, JSONL, TSV, Parquet, TFRecord; nothing is downloaded.

Each reader gives (row, its number from 1), a `RowError` in the place of what cannot be read. After a damage that
hides where the next row begins, as in a truncated file, the error comes last.
"""

from __future__ import annotations

import csv
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tool_nodes import plain_json
from tool_nodes.files import GIB, open_file, read_file, read_lines, require_regular
from tool_nodes.plain_json import PlainJsonError
from training.data.arrow import arrow, parquet
from training.data.sets.question import RowError

ReadRow = tuple[int, Mapping[str, Any] | RowError]
"""The number of a row from 1, and its fields or what is wrong with it."""

MOST_FIELD_CHARACTERS = 1 << 26
"""Longest field of a TSV file [characters], several times a picture in base64."""
MOST_JSON_BYTES = 2 * GIB
"""Longest JSON file that is one list [bytes], above that of any set that is read here."""
ROWS_AT_ONCE = 16
"""Rows of a Parquet file that are in memory at once [-]: each may hold pictures of megabytes."""


def json_rows(file: Path) -> Iterator[ReadRow]:
    """The objects of a JSON file that is one list."""
    try:
        rows = plain_json.load(read_file(file, MOST_JSON_BYTES))
    except PlainJsonError as error:
        yield 0, RowError(f"it is no JSON ({_first_line(error)})")
        return
    if not isinstance(rows, list):
        yield 0, RowError("it must be a list of objects")
        return
    for number, row in enumerate(rows, start=1):
        yield number, row if isinstance(row, dict) else RowError("it is no JSON object")


def jsonl_rows(file: Path) -> Iterator[ReadRow]:
    """The objects of a file with one in each line; empty lines are left out."""
    for number, line in enumerate(read_lines(file, MOST_FIELD_CHARACTERS), start=1):
        if not line.strip():
            continue
        try:
            row = plain_json.load(line)
        except PlainJsonError as error:
            yield number, RowError(f"it is no JSON ({_first_line(error)})")
            continue
        yield number, row if isinstance(row, dict) else RowError("it is no JSON object")


def tsv_rows(file: Path) -> Iterator[ReadRow]:
    """The rows of a file with tabs between its fields, whose first line has their names."""
    csv.field_size_limit(MOST_FIELD_CHARACTERS)
    rows = csv.reader((line.decode() for line in read_lines(file, MOST_FIELD_CHARACTERS)), delimiter="\t")
    number, names = 0, None
    try:
        for number, row in enumerate(rows):
            if names is None:
                names = row
            elif len(row) != len(names):
                yield number, RowError(f"it has {len(row)} fields where the first line names {len(names)}")
            else:
                yield number, dict(zip(names, row, strict=True))
    except (csv.Error, UnicodeDecodeError) as error:
        yield number + 1, RowError(f"it cannot be read ({_first_line(error)}), and what follows it neither")


def parquet_rows(file: Path) -> Iterator[ReadRow]:
    """The rows of a Parquet file. Raises ToolError UNAVAILABLE without the extra `data`."""
    pa, number = arrow(), 0
    try:
        require_regular(file)
        with parquet().ParquetFile(file) as table:
            for batch in table.iter_batches(batch_size=ROWS_AT_ONCE):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except (pa.ArrowException, OSError, ValueError) as error:
        yield number + 1, RowError(f"it cannot be read ({_first_line(error)}), and what follows it neither")


def tfrecord_rows(file: Path) -> Iterator[ReadRow]:
    """The `tf.train.Example`s of a TFRecord file, each feature a list of bytes or of whole numbers.

    A record is its length (uint64, little endian), a checksum of that, the record, and a checksum of it. Checksums are
    not looked at: a damaged record fails as protobuf.
    """
    with open_file(file) as data:
        size, number = file.stat().st_size, 0
        while data.tell() < size:
            number += 1
            head = data.read(12)
            length = struct.unpack("<Q", head[:8])[0] if len(head) == 12 else size
            if data.tell() + length + 4 > size:
                yield number, RowError("the file ends within it")
                return
            if not length:  # as in a file of nothing but zeros, however long
                yield number, RowError("it is empty, and what follows it is not read")
                return
            record = data.read(length)
            data.seek(4, 1)
            try:
                yield number, _example(record)
            except (IndexError, ValueError, UnicodeDecodeError):
                yield number, RowError("it is no tf.train.Example")


ROWS_OF: Mapping[str, Callable[[Path], Iterator[ReadRow]]] = {
    ".json": json_rows,
    ".jsonl": jsonl_rows,
    ".tsv": tsv_rows,
    ".parquet": parquet_rows,
    ".tfrecord": tfrecord_rows,
}
"""Readers by the ending of a file."""


def rows_of(file: Path, ending: str | None = None) -> Iterator[ReadRow]:
    """The rows of a file, one error where it cannot be read at all.

    Args:
        file: The file.
        ending: Which reader of `ROWS_OF`; that of the file's own ending where None.
    """
    try:
        yield from ROWS_OF[ending or file.suffix](file)
    except OSError as error:
        yield 0, RowError(f"the file cannot be read ({error.strerror or type(error).__name__})")


def _example(record: bytes) -> dict[str, list[Any]]:
    """Example{features=1: Features{feature=1: map<string, Feature{bytes_list=1, float_list=2, int64_list=3}>}}."""
    features: dict[str, list[Any]] = {}
    for _, part in _parts(record, 1):
        for _, entry in _parts(part, 1):
            pair = dict(_parts(entry))
            name = bytes(pair[1]).decode() if 1 in pair else ""
            values: list[Any] = []
            for tag, chosen in _parts(pair.get(2, b"")):
                for _, value in _parts(chosen, 1):
                    if tag == 1:
                        values.append(bytes(value))
                    elif tag == 3:
                        values += [value] if isinstance(value, int) else _varints(value)
            features[name] = values
    return features


def _parts(message: bytes, only: int | None = None) -> Iterator[tuple[int, Any]]:
    """(number, value) of the fields of a protobuf message: bytes, or an integer."""
    place = 0
    value: Any
    while place < len(message):
        key, place = _varint(message, place)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, place = _varint(message, place)
        elif wire == 2:
            length, place = _varint(message, place)
            if place + length > len(message):
                raise ValueError("a field ends after its message")
            value, place = message[place : place + length], place + length
        elif wire in (1, 5):
            value, place = b"", place + (8 if wire == 1 else 4)
        else:
            raise ValueError("no such type")
        if only is None or number == only:
            yield number, value


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise ValueError("too long a number")


def _varints(packed: bytes) -> list[int]:
    values, place = [], 0
    while place < len(packed):
        value, place = _varint(packed, place)
        values.append(value)
    return values


def _first_line(error: BaseException) -> str:
    words = " ".join(str(error).split()) or type(error).__name__
    return words[:120].rstrip(".")
