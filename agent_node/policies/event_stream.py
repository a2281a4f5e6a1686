"""Server-sent events as servers really send them, and why one is none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from toolhand.tool_nodes.http_request import Fault

LONGEST_FIELD = 6
"""So much of an answer says whether it is a stream [bytes]: "event:" and "retry:" are the longest fields."""
_IS_STREAM = re.compile(rb"(?:data|event|id|retry)?:")
_LINE_END = re.compile(rb"\r\n|\n|\r")


def is_stream(start: bytes) -> bool:
    """Whether an answer that begins so is a stream of events."""
    return _IS_STREAM.match(start) is not None


def stream_data(chunks: Iterable[bytes], longest: int) -> Iterator[str]:
    """The data of each server-sent event (WHATWG HTML, section 9.2), and of streams that leave out what ends one.

    Lines end with LF, CR or both. An event's data may stand in several lines, and is given on once it is a JSON object,
    or at an empty line; what begins as none is given on at once.

    Args:
        chunks: The stream's bytes as they come.
        longest: Longest event [bytes].

    Raises:
        Fault: An event that is too long, or is no UTF-8.
    """
    data = ""
    for line in _lines(chunks, longest):
        if line.startswith(b"data:"):
            try:
                data = f"{data}\n{line[5:].strip().decode()}".lstrip()
            except UnicodeDecodeError:
                raise Fault("sent text that is not UTF-8") from None
            if len(data) > longest:
                raise _too_long(longest)
            if data.startswith("{") and not _is_json(data):
                continue
        elif line or not data:
            continue
        yield data
        data = ""


def _lines(chunks: Iterable[bytes], longest: int) -> Iterator[bytes]:
    """Lines of a stream without their ends, an unfinished last one too."""
    pending, after_cr = b"", False
    for chunk in chunks:
        if after_cr:
            chunk = chunk.removeprefix(b"\n")
        after_cr = chunk.endswith(b"\r") if chunk else after_cr
        *lines, pending = _LINE_END.split(pending + chunk)
        if len(pending) > longest:
            raise _too_long(longest)
        yield from lines
    yield pending


def _too_long(longest: int) -> Fault:
    return Fault(f"sent an event of more than {longest // 2**20} MiB")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
