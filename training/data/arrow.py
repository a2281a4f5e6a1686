"""Parquet files. The only module that imports pyarrow (extra `data`), and only when a file is read or written."""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from toolhand.tool_nodes.extras import package


def arrow() -> Any:
    """The module pyarrow. Raises ToolError UNAVAILABLE without the extra, with the command that installs it."""
    return package("pyarrow", "data", "Parquet")


def parquet() -> Any:
    """The module pyarrow.parquet. Raises as `arrow`."""
    return package("pyarrow.parquet", "data", "Parquet")


def parquet_bytes(tables: Sequence[Any]) -> bytes:
    """Tables of one schema as one Parquet file, a row group each."""
    buffer = io.BytesIO()
    with parquet().ParquetWriter(buffer, tables[0].schema, compression="snappy") as writer:
        for table in tables:
            writer.write_table(table)
    return buffer.getvalue()


WORDS, JSON, IMAGE = {"dtype": "string", "_type": "Value"}, {"_type": "Json"}, {"_type": "Image"}
"""Features of `datasets`: text, a document as JSON text, and an image as {"bytes", "path"}."""


def value(dtype: str) -> dict[str, Any]:
    """The feature of a number or truth value, such as float64 or bool."""
    return {"dtype": dtype, "_type": "Value"}


def listed(feature: Mapping[str, Any]) -> dict[str, Any]:
    """The feature of a list."""
    return {"feature": dict(feature), "_type": "List"}


def schema_of(features: Mapping[str, Mapping[str, Any]]) -> Any:
    """Columns by their features as `datasets` knows them; these stand in the metadata, where it reads them.

    Args:
        features: Feature of each column: WORDS, JSON, IMAGE, of `value` or `listed`, or a mapping of such by name.
    """
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    return arrow().schema([(name, _kind_of(feature)) for name, feature in features.items()], metadata=metadata)


def _kind_of(feature: Mapping[str, Any]) -> Any:
    pa = arrow()
    match feature.get("_type"):
        case "Value":
            return pa.type_for_alias(feature["dtype"])
        case "Json":
            return pa.json_(pa.string())
        case "Image":
            return pa.struct([("bytes", pa.binary()), ("path", pa.string())])
        case "List":
            return pa.list_(_kind_of(feature["feature"]))
    return pa.struct([(name, _kind_of(part)) for name, part in feature.items()])


def table_of(rows: Sequence[Mapping[str, Any]], schema: Any) -> Any:
    """Rows as a table of a schema (with its metadata), in which JSON types may stand anywhere.

    Args:
        rows: A value for each column; lists are never None, JSON is text.
    """
    pa = arrow()
    arrays = [_typed(pa.array([row[field.name] for row in rows], _stored(field.type)), field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


@functools.cache
def _extension() -> Any:
    return arrow().BaseExtensionType


def _stored(kind: Any) -> Any:
    """The type below a type: pyarrow makes no nested arrays of extension types from Python's lists."""
    pa = arrow()
    if pa.types.is_list(kind):
        return pa.list_(_stored(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _stored(field.type)) for field in kind])
    return kind.storage_type if isinstance(kind, _extension()) else kind


def _typed(array: Any, kind: Any) -> Any:
    pa = arrow()
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(array.offsets, _typed(array.values, kind.value_type), type=kind)
    if pa.types.is_struct(kind):
        fields = list(kind)
        return pa.StructArray.from_arrays([_typed(array.field(k), f.type) for k, f in enumerate(fields)], fields=fields)
    return pa.ExtensionArray.from_storage(kind, array) if isinstance(kind, _extension()) else array
