"""Replays the assistant turns of a recorded run, as long as everything else is as it was."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toolhand.agent_node.policy import Message, Reply
from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.files import read_file
from toolhand.tool_nodes.http_request import plain_line
from toolhand.tool_nodes.plain_json import PlainJsonError
from toolhand.tool_nodes.results import invalid, unavailable

MAX_BYTES = 16 * 2**20
"""Longest record [bytes]."""
_IMAGE = re.compile(r"images/(\d{1,9})\.\w{1,5}")
_ROLES = {"system": "the system prompt", "user": "the operator's sentence", "assistant": "the policy", "tool": "a tool"}


class Replay:
    """Replays the `trajectory.jsonl` of a run folder.

    Texts and image numbers are compared, not images: those of a real camera never come back. The scene, seed and
    options must be those of the run; a difference ends the command with a sentence that says where.

    Raises:
        ToolError: INVALID_ARGUMENT where there is no record in the folder, or a damaged one.

    Attributes:
        earlier: Utterances of the same conversation before the one that was recorded.
        sees_images: The recorded policy was shown images with the words.
    """

    def __init__(self, run_dir: Path) -> None:
        self.name = f"replay:{run_dir}"
        self._record = read_record(run_dir / "trajectory.jsonl")
        result = _result(run_dir / "result.json")
        self.earlier = tuple(str(words) for words in result.get("earlier") or ())
        self._speed = float(result.get("speed") or 1.0)
        self.sees_images = any(role == "user" and "<image " in text for role, text in self._record)

    def speed_of(self, words: str) -> float:
        """See `toolhand.agent_node.policy.speed_of`: that of the run."""
        return self._speed

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """The recorded turn.

        Raises:
            ToolError: UNAVAILABLE where the conversation is not the recorded one, or the record has no further turn.
        """
        turn = sum(message.role == "assistant" for message in conversation) + 1
        for (role, text), message in zip(self._record, conversation, strict=False):
            said = _recorded_turn(message.text)
            if (role, text) != (message.role, said):
                at = self._where(conversation, message)
                raise unavailable(
                    f"The run is no longer as it was recorded, {at}: {_difference(said, text)}.",
                    "Replay it with the run's own scene, seed and options.",
                )
        following = self._record[len(conversation) : len(conversation) + 1]
        if not following or following[0][0] != "assistant":
            raise unavailable(f"The record says nothing more at turn {turn}.")
        return Reply(following[0][1])

    @staticmethod
    def _where(conversation: Sequence[Message], message: Message) -> str:
        before = conversation[: next(i for i, other in enumerate(conversation) if other is message) + 1]
        turn = sum(other.role == "assistant" for other in before)
        who = _ROLES[message.role]
        return f"at turn {turn} ({who})" if turn else f"before the first turn ({who})"


def _result(path: Path) -> Mapping[str, Any]:
    """What is said of a run besides; empty where that is missing or damaged."""
    try:
        document = plain_json.load(read_file(path, MAX_BYTES))
    except (OSError, PlainJsonError):
        return {}
    return document if isinstance(document, Mapping) else {}


def read_record(path: Path) -> list[tuple[str, str]]:
    """(role, text) of every message of a record, an image as its marker `<image K>`.

    Raises:
        ToolError: INVALID_ARGUMENT, with what is wrong with it.
    """
    try:
        document = plain_json.load(read_file(path, MAX_BYTES), plain_json.AS_WRITTEN)
    except OSError as error:
        raise invalid(f"Cannot read {path}: {error.strerror}.") from error
    except PlainJsonError as error:
        raise invalid(f"{path} is no record of one run: it is no single JSON line.") from error
    messages = document.get("messages") if isinstance(document, Mapping) else None
    if not isinstance(messages, list) or not messages:
        raise invalid(f"{path} is no record of a run: it holds no messages.")
    try:
        return [(message["role"], "".join(map(_part, message["content"]))) for message in messages]
    except (KeyError, TypeError, ValueError) as error:
        raise invalid(f"{path} is damaged: a message has not its usual form.") from error


def _part(part: Mapping[str, Any]) -> str:
    if part["type"] == "text" and isinstance(part["text"], str):
        return str(part["text"])
    image = _IMAGE.fullmatch(part["image"])
    if image is None:
        raise ValueError("no picture of a run")
    return f"<image {int(image.group(1))}>"


def _recorded_turn(text: str) -> str:
    """The text as a file can hold it: half of a surrogate pair became a question mark."""
    return text.encode("utf-8", errors="replace").decode("utf-8")


def _difference(said: str, recorded: str) -> str:
    at = next((i for i, pair in enumerate(zip(said, recorded, strict=False)) if pair[0] != pair[1]), None)
    start = max((min(len(said), len(recorded)) if at is None else at) - 20, 0)
    now, then = (plain_line(text[start : start + 80], length=60) for text in (said, recorded))
    return f"it says {now!r} where the record says {then!r}" if now != then else "another one speaks than in the record"
