"""Chat data: JSONL with images as files, or Parquet with the images inside, as TRL and `datasets` take them.

A row, the same in both:

    {"id", "messages": [{"role", "content": [{"type": "text", "text"} | {"type": "image"}, ...],
                         "tool_calls": [{"id", "type": "function", "function": {"name", "arguments"}}, ...],
                         "tool_call_id", "name", "sampled"}, ...],
     "tools": [schema, ...], "images": [image, ...], "total", "success", "about": {...}}

The k-th part of type "image" is the k-th of `images`: a path relative to the folder in JSONL, {"bytes", "path"} in
Parquet. `sampled` is true where an assistant's turn is to be learned. Parquet has every key in every message, empty
where it has no meaning, and the type Json of `datasets` for calls, tools and `about`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolhand.training.data.arrow import (
    IMAGE,
    JSON,
    WORDS,
    listed,
    parquet_bytes,
    schema_of,
    table_of,
    value,
)
from toolhand.training.data.formats.conversation import ChatEntry, ChatExample
from toolhand.training.data.formats.writing import ImageCopies, JsonLines, RowFormat, json_text


class ChatJsonl(JsonLines):
    """Rows as lines of JSON."""

    name = "chat-jsonl"

    def document(self, example: ChatExample, images: ImageCopies) -> dict[str, Any]:
        """See `JsonLines`."""
        return _document(example) | {"images": [images.file(name) for name in example.images]}


class ChatParquet(RowFormat):
    """Rows as Parquet."""

    name, suffix = "chat-parquet", "parquet"

    def __init__(self) -> None:
        self._schema = _schema()

    def row(self, example: ChatExample, images: ImageCopies) -> tuple[dict[str, Any], int]:
        """See `RowFormat`."""
        document = _document(example)
        row = document | {
            "messages": [_column(message) for message in document["messages"]],
            "tools": [json_text(tool) for tool in document["tools"]],
            "images": [{"bytes": images.png(name), "path": f"{name}.png"} for name in example.images],
            "about": json_text(document["about"]),
        }
        return row, sum(len(image["bytes"]) for image in row["images"]) + len(str(row["messages"]))

    def packed(self, rows: list[dict[str, Any]]) -> bytes:
        """See `RowFormat`."""
        return parquet_bytes([table_of(rows, self._schema)])


# -- rows ------------------------------------------------------------------------------------------


def _document(example: ChatExample) -> dict[str, Any]:
    return {
        "id": example.id,
        "messages": [_message(entry) for entry in example.entries],
        "tools": [dict(tool) for tool in example.tools],
        "total": float(example.about["total"]),
        "success": bool(example.about["success"]),
        "about": dict(example.about),
    }


def _message(entry: ChatEntry) -> dict[str, Any]:
    message: dict[str, Any] = {
        "role": entry.role,
        "content": [
            {"type": "text", "text": part} if isinstance(part, str) else {"type": "image"} for part in entry.parts
        ],
        "sampled": entry.sampled,
    }
    if entry.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": dict(call.arguments)}}
            for call in entry.calls
        ]
    if entry.call_id:
        message |= {"tool_call_id": entry.call_id, "name": entry.name}
    return message


def _column(message: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "role": message["role"],
        "content": [{"type": part["type"], "text": part.get("text")} for part in message["content"]],
        "tool_calls": [json_text(call) for call in message.get("tool_calls", ())],
        "tool_call_id": message.get("tool_call_id"),
        "name": message.get("name"),
        "sampled": message["sampled"],
    }


def _schema() -> Any:
    """The columns."""
    message = {
        "role": WORDS,
        "content": listed({"type": WORDS, "text": WORDS}),
        "tool_calls": listed(JSON),
        "tool_call_id": WORDS,
        "name": WORDS,
        "sampled": value("bool"),
    }
    return schema_of(
        {
            "id": WORDS,
            "messages": listed(message),
            "tools": listed(JSON),
            "images": listed(IMAGE),
            "total": value("float64"),
            "success": value("bool"),
            "about": JSON,
        }
    )
