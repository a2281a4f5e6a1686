"""Collections of rollouts, browsed a page at a time: groups, rewards, and the conversation of each rollout.

The files are those of `toolhand.training.rollouts`; nothing of them is trusted, and a line that is no record is passed
over with a sentence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolhand.console.history.curves import SHARDS
from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.files import MIB, open_file, read_file
from toolhand.tool_nodes.plain_json import PlainJsonError
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.toolbox.image_files import ImageFileError, opened

GROUPS_OF_A_PAGE = 20
"""Groups of a page: each is a file of some hundred kilobytes."""
MOST_ROLLOUTS = 256
"""Rollouts of a group that are read: eight to sixteen are usual."""
LONGEST_TEXT = 20_000
"""Longest text of a message that a page gets [characters]."""
_LINE_BYTES = 16 * MIB
"""Longest line, as `toolhand.training.rollouts.collection` reads it [bytes]."""
_HASH = re.compile(r"[0-9a-f]{64}")
_SHARD = re.compile(r"\d{5,9}\.jsonl")


@dataclass(frozen=True)
class RolloutMessage:
    """One message of a conversation.

    Attributes:
        role: "system", "user", "assistant" or "tool", or another word in a foreign file.
        text: At most LONGEST_TEXT characters.
        image: Hash of the image that came with it; empty without one.
    """

    role: str
    text: str
    image: str = ""


@dataclass(frozen=True)
class RolloutEntry:
    """One rollout of a group.

    Attributes:
        id: Its name, e.g. "00012-003".
        text: The operator's sentence.
        reward: Sum of the reward's terms; None where it is no number.
        terms: The reward's terms.
        done: The simulator found everything that was asked for.
        ended: Error code; empty where it ended with an answer.
        answer: Answer of the policy.
        turns, calls: How many there were.
        messages: The whole conversation.
    """

    id: str
    text: str
    reward: float | None
    terms: Mapping[str, float]
    done: bool
    ended: str
    answer: str
    turns: int
    calls: int
    messages: Sequence[RolloutMessage]


@dataclass(frozen=True)
class RolloutGroup:
    """A group of rollouts of one task.

    Attributes:
        name: Name of its file without the suffix, e.g. "00012".
        rollouts: In order.
        problem: Part that cannot be read, one sentence; empty where all could.
    """

    name: str
    rollouts: Sequence[RolloutEntry]
    problem: str = ""

    @property
    def text(self) -> str:
        """The operator's sentence."""
        return self.rollouts[0].text if self.rollouts else ""

    @property
    def rewards(self) -> list[float]:
        """The rewards that are numbers."""
        return [rollout.reward for rollout in self.rollouts if rollout.reward is not None]


def group_names(folder: Path) -> list[str]:
    """The groups of a collection, in order. Raises ToolError INVALID_ARGUMENT where it cannot be read."""
    try:
        return sorted(path.stem for path in (folder / SHARDS).iterdir() if _SHARD.fullmatch(path.name))
    except OSError as error:
        raise invalid(f"Cannot read the rollouts of {folder.name}: {error.strerror}.") from error


def read_group(folder: Path, name: str) -> RolloutGroup:
    """A group of a collection.

    Raises:
        ToolError: INVALID_ARGUMENT for a name of none, and where the file is gone.
    """
    if not _SHARD.fullmatch(f"{name}.jsonl"):
        raise invalid(f"The group {name[:40]!r} is no number of five digits or more.")
    rollouts: list[RolloutEntry] = []
    bad = 0
    try:
        with open_file(folder / SHARDS / f"{name}.jsonl", folder) as file:
            while len(rollouts) + bad < MOST_ROLLOUTS and (line := file.readline(_LINE_BYTES + 1)):
                entry = _entry(line, folder) if len(line) <= _LINE_BYTES else None
                if entry is None:
                    bad += 1
                else:
                    rollouts.append(entry)
    except OSError as error:
        raise invalid(f"Cannot read the group {name}: {error.strerror}.") from error
    problem = f"{bad} lines of the group {name} are no records of rollouts." if bad else ""
    return RolloutGroup(name, rollouts, problem)


def rollout_image(folder: Path, name: str) -> bytes:
    """The PNG file of an image of a collection.

    Raises:
        ToolError: INVALID_ARGUMENT for what is no hash, and where there is no such image of a bounded size.
    """
    if not _HASH.fullmatch(name):
        raise invalid(f"{name[:20]!r} is no name of a picture.")
    path = folder / "pictures" / name[:2] / f"{name}.png"
    try:
        data = read_file(path, 64 * MIB, folder)
        with opened(data, ("PNG",)):
            return data
    except (ImageFileError, OSError) as error:
        raise invalid(f"The picture {name[:12]} cannot be shown: {getattr(error, 'strerror', '') or error}.") from error


def _entry(line: bytes, folder: Path) -> RolloutEntry | None:
    """The rollout of a line; None where it is none."""
    try:
        document = plain_json.load(line, plain_json.AS_WRITTEN)
    except PlainJsonError:
        return None
    if not isinstance(document, dict) or not isinstance(document.get("id"), str):
        return None
    turns = [turn for turn in _list(document.get("turns")) if isinstance(turn, dict)]
    terms = document.get("terms")
    truth = document.get("truth")
    return RolloutEntry(
        id=document["id"][:40],
        text=_text(document.get("text"), folder),
        reward=_number(document.get("total")),
        terms={
            str(name)[:60]: number
            for name, value in (terms.items() if isinstance(terms, dict) else ())
            if (number := _number(value)) is not None
        },
        done=isinstance(truth, dict) and truth.get("success") is True,
        ended=str(document.get("error_code") or "")[:60],
        answer=_text(document.get("answer"), folder),
        turns=len(turns),
        calls=sum(len(_list(turn.get("calls"))) for turn in turns),
        messages=[_message(m, folder) for m in _list(document.get("messages")) if isinstance(m, dict)],
    )


def _message(document: Mapping[str, Any], folder: Path) -> RolloutMessage:
    image = document.get("image")
    named = image if isinstance(image, str) and _HASH.fullmatch(image) else ""
    return RolloutMessage(str(document.get("role", ""))[:20], _text(document.get("text"), folder), named)


def _text(value: Any, folder: Path) -> str:
    """A text, also one that is kept apart by its hash."""
    if isinstance(value, dict):
        name = value.get("sha256")
        if not isinstance(name, str) or not _HASH.fullmatch(name):
            return ""
        try:
            with open_file(folder / "texts" / f"{name}.txt", folder) as file:
                return file.read(4 * LONGEST_TEXT).decode("utf-8", "replace")[:LONGEST_TEXT]
        except OSError as error:
            return f"(The text {name[:12]} cannot be read: {error.strerror}.)"
    return value[:LONGEST_TEXT] if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: Any) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15
    return float(value) if number and math.isfinite(value) else None
