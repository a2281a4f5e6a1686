"""The run folder: one folder a command, whose files appear complete or not at all."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from toolhand.agent_node.episode import Episode
from toolhand.agent_node.policy import Message, Reply
from toolhand.tool_nodes.files import write_whole
from toolhand.tool_nodes.results import ErrorCode, ToolError, unavailable

JPEG_QUALITY = 85
"""Quality of the images of a run, of 100: that of `run.mcap`. A PNG of a camera's noise is ten times as long."""
SAFETY_FILE = "safety.jsonl"
"""Every attempt to move of a run, a line of JSON each, in its folder; absent where there was none."""


RUN_NAME = re.compile(r"(\d{8}-\d{6})-\d{1,9}")
"""Name of a run's folder: the UTC time, and a counter."""
_IMAGE = re.compile(r"\d{3,9}\.jpg")
"""Name of an image of a run."""
_FILES = frozenset({"result.json", "trajectory.jsonl", "report.html", "run.mcap", "metadata.yaml"})
_FILES |= {"foxglove_layout.json", SAFETY_FILE}
"""Files of a run."""
_UNFINISHED = re.compile(r"\.[\w.-]+\.[0-9a-f]{32}\.part")
"""Files that were being written when the process was killed."""


def time_now() -> str:
    """The time in UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def new_run_dir(root: Path) -> Path:
    """Make a folder for one run, named by the UTC time and a counter, e.g. `20261120-150203-0`.

    Runs that start in the same second get different folders, also from different processes.

    Raises:
        ToolError: UNAVAILABLE when the folder cannot be made.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    try:
        root.mkdir(parents=True, exist_ok=True)
        # After those of this second, also where older ones have been deleted: names say which run is the newest.
        taken = [
            int(path.name.rpartition("-")[2])
            for path in root.iterdir()
            if RUN_NAME.fullmatch(path.name) and path.name.startswith(stamp)
        ]
        for counter in itertools.count(max(taken, default=-1) + 1):
            path = root / f"{stamp}-{counter}"
            try:
                path.mkdir()
            except FileExistsError:
                continue
            return path
    except OSError as error:
        raise _cannot_write(root, error) from error
    raise AssertionError("the counter has no end")


def clear_empty(folder: Path) -> None:
    """Remove a folder in which nothing was written; leave any other."""
    with contextlib.suppress(OSError):
        folder.rmdir()


def keep_newest(root: Path, number: int) -> None:
    """Delete all but the newest run folders of a folder, and nothing that is none.

    A folder is a run's by its name and by what lies in it: files and folders of a run alone. Links are never followed.

    Args:
        number: How many stay, unfinished ones included; 0 keeps all.
    """
    if number < 1:
        return
    named = [path for path in root.iterdir() if RUN_NAME.fullmatch(path.name) and not path.is_symlink()]
    for path in sorted((path for path in named if path.is_dir()), key=_age)[:-number]:
        if _holds_only_a_run(path):
            shutil.rmtree(path, ignore_errors=True)


def _age(path: Path) -> tuple[str, int]:
    stamp, _, counter = path.name.rpartition("-")
    return stamp, int(counter)


def _holds_only_a_run(folder: Path) -> bool:
    for path in folder.iterdir():
        if path.is_symlink():
            return False
        if path.is_dir():
            images = path.name == "images" and all(_IMAGE.fullmatch(file.name) for file in path.iterdir())
            if not images and not (path.name.isdecimal() and _holds_only_a_run(path)):
                return False
        elif path.name not in _FILES and not _UNFINISHED.fullmatch(path.name):
            return False
    return True


def write_atomically(path: Path, content: bytes, durable: bool = False) -> None:
    """Write a file as `toolhand.tool_nodes.files.write_whole` does.

    Raises:
        ToolError: UNAVAILABLE when the file cannot be written.
    """
    try:
        write_whole(path, content, durable)
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> ToolError:
    reason = error.strerror or type(error).__name__
    return unavailable(f"Cannot write {path}: {reason}.", "Check the folder and its free space.")


class Unwritten:
    """What could not be written about a finished command, whose outcome is reported all the same."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """Go on after what is in it when a file cannot be written, on a full disk for example."""
        try:
            yield
        except ToolError as error:
            if error.code is not ErrorCode.UNAVAILABLE:
                raise
            self.reasons.append(str(error))
        except OSError as error:
            self.reasons.append(f"Cannot write {error.filename or 'the report'}: {error.strerror}.")

    def beside(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """The result, with a `warning` where something is missing of its report."""
        return {**result, "warning": " ".join(self.reasons)} if self.reasons else dict(result)


def encode(text: str) -> bytes:
    """UTF-8. Half of a surrogate pair, which JSON can spell but UTF-8 cannot, becomes a question mark."""
    return text.encode("utf-8", errors="replace")


def write_json(path: Path, document: Any) -> None:
    """Write a document as indented JSON, atomically. Arrays become lists, NumPy scalars become numbers.

    Raises:
        ToolError: INTERNAL when the document holds NaN, an infinity or something without a JSON form;
            UNAVAILABLE when the file cannot be written.
    """
    try:
        text = json.dumps(_plain(document), indent=2, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError(
            ErrorCode.INTERNAL,
            f"{path.name} can only hold text, finite numbers, true, false, null, lists and objects: {error}.",
        ) from error
    write_atomically(path, encode(text + "\n"))


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return encode(value).decode()
    if isinstance(value, Mapping):
        return {_plain(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return str(value) if isinstance(value, Path) else value


def image_path(index: int) -> str:
    """Where an image of the conversation lies in the run folder."""
    return f"images/{index:03d}.jpg"


def jpeg_bytes(rgb: NDArray[np.uint8]) -> bytes:
    """An image (H, W, 3) as JPEG of JPEG_QUALITY."""
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, format="JPEG", quality=JPEG_QUALITY)
    return buffer.getvalue()


def write_trajectory(run_dir: Path, episode: Episode, schemas: Sequence[Mapping[str, Any]]) -> None:
    """Write `trajectory.jsonl` and its images: one line in the chat format of training tools.

    The line is {"messages": [{"role", "content": [part, ...]}], "tools": schemas, "images": [path, ...]}. A
    part is {"type": "text", "text"} or {"type": "image", "image": path}; paths are relative to the folder
    and listed in the order of their parts. Images are written first, so no line names a missing one. An assistant's
    message has "token_ids" and "logprobs" besides where the policy gave them; see `toolhand.agent_node.policy.Reply`.

    Args:
        episode: The finished command.
        schemas: JSON schemas of the tools that were offered.

    Raises:
        ToolError: UNAVAILABLE when a file cannot be written.
    """
    for index, image in enumerate(episode.session.images):
        write_atomically(run_dir / image_path(index), jpeg_bytes(image.rgb))
    earlier = sum(message.role == "assistant" for message in episode.messages) - len(episode.turns)
    replies = iter([Reply("")] * earlier + [turn.reply for turn in episode.turns])  # of commands before: see theirs
    messages: list[dict[str, Any]] = [
        {"role": message.role, "content": _content(message)}
        | (_sampled(next(replies)) if message.role == "assistant" else {})
        for message in episode.messages
    ]
    images = [part["image"] for message in messages for part in message["content"] if part["type"] == "image"]
    # All ASCII: unescaped line separators of Unicode would break the line for some readers.
    line = json.dumps(_plain({"messages": messages, "tools": schemas, "images": images}), allow_nan=False)
    write_atomically(run_dir / "trajectory.jsonl", encode(line + "\n"))


def _sampled(reply: Reply) -> dict[str, list[Any]]:
    """What is known of a reply's tokens, where anything is."""
    known: dict[str, list[Any]] = {"token_ids": list(reply.token_ids), "logprobs": list(reply.logprobs)}
    return {name: values for name, values in known.items() if values}


def _content(message: Message) -> list[dict[str, str]]:
    """The message's parts; only the last marker is the agent's, as `render_response` puts it there."""
    image_index = message.image_index
    marker = f"<image {image_index}>"
    if image_index is None or marker not in message.text:
        return [{"type": "text", "text": message.text}]
    before, _, after = message.text.rpartition(marker)
    return [
        {"type": "text", "text": before},
        {"type": "image", "image": image_path(image_index)},
        {"type": "text", "text": after},
    ]
