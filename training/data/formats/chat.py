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

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple

from toolhand.agent_node.policies.chat import NativeCall
from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.files import read_file
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.toolbox.image_files import MAX_FILE_BYTES
from toolhand.training.data.arrow import (
    IMAGE,
    JSON,
    WORDS,
    listed,
    parquet_bytes,
    read_parquet,
    schema_of,
    table_of,
    value,
)
from toolhand.training.data.formats.conversation import ChatEntry, ChatExample, ChatPart, ImagePart
from toolhand.training.data.formats.shards import IMAGES, MOST_SHARD_BYTES, read_shards
from toolhand.training.data.formats.writing import ImageCopies, JsonLines, RowFormat, checked_png, json_text

OnSkip = Callable[[str], None] | None
"""Called with why a row or a rollout was left out; None where the first such is an error."""


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


# -- reading ---------------------------------------------------------------------------------------


class ChatRow(NamedTuple):
    """A row as it was read.

    Attributes:
        example: The conversation.
        images: PNG files of `example.images`, in order.
    """

    example: ChatExample
    images: tuple[bytes, ...]


def read_chat(folder: Path, on_skip: OnSkip = None) -> Iterator[ChatRow]:
    """Read what `write_set` wrote as ChatJsonl or ChatParquet; of a killed run its whole shards.

    Args:
        folder: Folder of the data set.
        on_skip: Called with a sentence for each bad row or shard, with its file and row, and the rest is read on;
            where None, the first is an error.

    Raises:
        ToolError: INVALID_ARGUMENT where there is no such data set or something of it is bad, in one sentence.
    """
    shards = read_shards(folder, on_skip)
    for file in shards.files:
        rows = _parquet_rows(file) if file.suffix == ".parquet" else _lines(file)
        number = 0
        try:
            for number, row in enumerate(rows, 1):
                try:
                    yield _row(row, folder)
                except (ValueError, LookupError, TypeError, AttributeError, RecursionError, ToolError) as error:
                    if on_skip is None:
                        raise _bad(file, number, error) from error
                    on_skip(str(_bad(file, number, error)))
        except ToolError as error:
            if on_skip is None or number:
                raise
            on_skip(str(error))


def _bad(file: Path, number: int, error: Exception) -> ToolError:
    reason = f"it has no {error}" if isinstance(error, LookupError) else str(error).rstrip(".")
    return invalid(f"{file}, row {number}, is no chat: {reason}.")


def _lines(file: Path) -> Iterator[Any]:
    try:
        lines = read_file(file, MOST_SHARD_BYTES, file.parents[1]).splitlines()
    except OSError as error:
        raise invalid(f"The shard {file} cannot be read: {error.strerror}.") from error
    yield from lines


def _parquet_rows(file: Path) -> Iterator[Any]:
    names = ("id", "messages", "tools", "images", "about")
    yield from read_parquet(file, names).to_pylist()


def _row(row: Any, folder: Path) -> ChatRow:
    if isinstance(row, bytes):
        document = plain_json.load(row, plain_json.AS_WRITTEN)
        names = [_hash_in(path) for path in document["images"]]
        files = [_png_file(folder / IMAGES / f"{name}.png") for name in names]
    else:
        document = row | {
            "tools": [plain_json.load(tool) for tool in row["tools"]],
            "about": plain_json.load(row["about"]),
        }
        names = [_hash_in(image["path"]) for image in row["images"]]
        files = [image["bytes"] for image in row["images"]]
    left = iter(names)
    entries = tuple(_entry(message, left) for message in document["messages"])
    if next(left, None) is not None:
        raise ValueError("it has more images than parts of type image")
    example = ChatExample(str(document["id"]), entries, tuple(document["tools"]), dict(document["about"]))
    return ChatRow(example, tuple(checked_png(file, name) for file, name in zip(files, names, strict=True)))


def _hash_in(path: Any) -> str:
    name = PurePosixPath(str(path)).name
    if not name.endswith(".png"):
        raise ValueError(f"{str(path)[:80]!r} is no picture of the data set")
    return name.removesuffix(".png")


def _png_file(path: Path) -> bytes:
    try:
        return read_file(path, MAX_FILE_BYTES, path.parents[1])
    except OSError as error:
        raise ValueError(f"its picture {path.name[:12]} cannot be read ({error.strerror})") from error


def _entry(message: Mapping[str, Any], images: Iterator[str]) -> ChatEntry:
    if message["role"] not in ("system", "user", "assistant", "tool"):
        raise ValueError(f"there is no role {str(message['role'])[:20]!r}")
    return ChatEntry(
        message["role"],
        tuple(_part(part, images) for part in message["content"]),
        tuple(_call(call) for call in message.get("tool_calls") or ()),
        message.get("tool_call_id") or "",
        message.get("name") or "",
        bool(message["sampled"]),
    )


def _part(part: Mapping[str, Any], images: Iterator[str]) -> ChatPart:
    kind: Literal["text", "image"] = part["type"]
    if kind == "image":
        name = next(images, None)
        if name is None:
            raise ValueError("it has fewer images than parts of type image")
        return ImagePart(name)
    if kind != "text" or not isinstance(part["text"], str):
        raise ValueError(f"a part of a message is text or image, not {str(kind)[:20]!r}")
    return part["text"]


def _call(call: Any) -> NativeCall:
    document = plain_json.load(call, plain_json.AS_WRITTEN) if isinstance(call, str) else call
    return NativeCall(document["id"], document["function"]["name"], document["function"]["arguments"])
