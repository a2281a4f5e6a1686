"""A recorded run over its time: what was said, called and seen, and where the joints were; also of damaged files.

Packets are kept as they are and read when they are shown, so that a run of a hundred thousand steps opens at once.
"""

from __future__ import annotations

import functools
import io
import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rclpy_zenoh.interfaces import deserialize, get_class
from toolhand.agent_node.events import Event
from toolhand.agent_node.runs.mcap import RUN_FILE
from toolhand.agent_node.runs.mcap import ros_messages as ros
from toolhand.agent_node.runs.mcap.reading import EVENT_TOPICS, event_of, packed_image
from toolhand.agent_node.runs.mcap.recorder import COMMAND, OUTCOME
from toolhand.agent_node.runs.mcap.salvage import SalvagedMessage, salvage
from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.toolbox.image_files import MAX_SIDE, ImageFileError, opened

JOINTS = "/joint_states"
IMAGE_TOPICS = {
    f"{topic}{form}"
    for topic in ("/camera/scene/image", "/camera/wrist/image", "/toolhand/picture")
    for form in ("", "/compressed")
}
LONGEST_TEXT = 20_000
"""Longest text of a step that a page gets [characters]: a tool's longest answer has some thousand."""
_UNREADABLE = "unreadable"


@dataclass(frozen=True)
class ShownStep:
    """One step of a run, as text.

    Attributes:
        index: Number of the step, from 0.
        time_s: Time on the run's clock [s].
        kind: "command", "thought", "call", "result", "refusal", "note", "question", "operator", "answer", "outcome", or
            "unreadable".
        title: The tool, or the kind; one line.
        text: At most LONGEST_TEXT characters.
        failed: It is an error.
        image: Index of the image that came with it among `RunReplay.images`; None without one.
    """

    index: int
    time_s: float
    kind: str
    title: str
    text: str
    failed: bool = False
    image: int | None = None


@dataclass(frozen=True)
class ImageMark:
    """An image of a run.

    Attributes:
        time_s: Time on the run's clock [s].
        source: "scene", "wrist" or "drawing".
        number: Its number in the conversation.
    """

    time_s: float
    source: str
    number: int


@dataclass(frozen=True)
class ReplayMoment:
    """What was known at a time of a run.

    Attributes:
        time_s: The time [s].
        step: Index of the newest step that is not later; None before the first one.
        image: Index of the newest image that is not later; None before the first one.
        joints: Positions by joint name [rad], which may be NaN in a foreign file; empty where none are known yet.
    """

    time_s: float
    step: int | None
    image: int | None
    joints: Mapping[str, float]


class RunReplay:
    """A recording, opened to be shown. Nothing in it is trusted.

    Args:
        path: The run.mcap, or the folder that has one.

    Attributes:
        problem: Fault of the file, one sentence; empty where it is whole.
        images: In the order of their times.
        begin_s, end_s: First and last time [s].

    Raises:
        ToolError: INVALID_ARGUMENT for what is no MCAP file, or holds nothing that can be shown.
    """

    def __init__(self, path: Path) -> None:
        self.path = path / RUN_FILE if path.is_dir() else path
        found = salvage(self.path, EVENT_TOPICS | IMAGE_TOPICS | {JOINTS})
        self.problem = found.problem
        by_time = sorted(found.messages, key=lambda message: message.time_ns)
        self._steps = sorted((m for m in by_time if m.topic in EVENT_TOPICS), key=lambda message: message.sequence)
        self._step_times = _not_decreasing([message.time_ns for message in self._steps])
        self._images = [message for message in by_time if message.topic in IMAGE_TOPICS]
        self._joints = [message for message in by_time if message.topic == JOINTS]
        if not (self._steps or self._images or self._joints):
            raise invalid(self.problem or f"The recording {self.path.name} holds nothing of a run that can be shown.")
        self._joint_times = [message.time_ns for message in self._joints]
        self._image_times = [message.time_ns for message in self._images]
        self.images = tuple(ImageMark(m.time_ns / 1e9, _source(m.topic), m.sequence) for m in self._images)
        self._numbered = {(m.topic, m.sequence): index for index, m in enumerate(self._images)}
        times = [times[index] for times in self._all_times if times for index in (0, -1)]
        self.begin_s, self.end_s = min(times) / 1e9, max(times) / 1e9

    @property
    def _all_times(self) -> tuple[Sequence[int], ...]:
        return self._step_times, self._image_times, self._joint_times

    def __len__(self) -> int:
        return len(self._steps)

    def steps(self, first: int = 0, count: int = 100) -> list[ShownStep]:
        """Some of the steps, in order."""
        first = max(0, first)
        return [self.step(index) for index in range(first, min(len(self), first + max(0, count)))]

    def step(self, index: int) -> ShownStep:
        """A step. Raises IndexError where there is none."""
        message = self._steps[index]
        time_s = message.time_ns / 1e9
        try:
            text = _string(message)
            if message.topic in (COMMAND, OUTCOME):
                return _document_step(index, time_s, message.topic.rpartition("/")[2], text)
            return self._event_step(index, time_s, *self._event(message, text))
        except Exception as error:  # whatever a parser of foreign bytes may raise
            why = f"This step cannot be read: {error}."[:LONGEST_TEXT]
            return ShownStep(index, time_s, _UNREADABLE, "cannot be read", why, failed=True)

    def event(self, index: int) -> Event | None:
        """The event of a step; None for the command, the outcome and what cannot be read."""
        message = self._steps[index]
        if message.topic in (COMMAND, OUTCOME):
            return None
        try:
            return self._event(message, _string(message))[0]
        except Exception:  # whatever a parser of foreign bytes may raise
            return None

    def packet(self, index: int) -> tuple[str, bytes]:
        """(topic, CDR packet) of a step, as it is in the file."""
        message = self._steps[index]
        return message.topic, message.data

    @functools.cached_property
    def command(self) -> str:
        """The operator's sentence; empty where the recording does not say."""
        try:
            document = plain_json.load(_string(self._steps[0])) if self._steps else None
        except ValueError:
            document = None
        said = document.get("task") if isinstance(document, dict) else None
        return said if isinstance(said, str) else ""

    def moment(self, time_s: float) -> ReplayMoment:
        """What was known at a time, which is kept within the run's."""
        now = min(max(time_s, self.begin_s), self.end_s) if time_s == time_s else self.begin_s
        step, image, joint = (bisect_right(times, round(now * 1e9)) - 1 for times in self._all_times)
        return ReplayMoment(
            now,
            None if step < 0 else step,
            None if image < 0 else image,
            {} if joint < 0 else _joints(self._joints[joint]),
        )

    def image(self, index: int) -> tuple[str, bytes]:
        """(media type, file) of an image, as a browser shows it: JPEG or PNG of a bounded size.

        Raises:
            ToolError: INVALID_ARGUMENT where there is none, or it is damaged or too large.
        """
        if not 0 <= index < len(self._images):
            raise invalid(f"The recording has no picture {index}.")
        message = self._images[index]
        try:
            data, shape = packed_image(message.data, message.topic.endswith("/compressed"))
            if shape is not None:
                return "image/png", _png(data, shape)
            with opened(data) as image:
                return f"image/{(image.format or '').lower()}", data
        except ImageFileError as error:
            raise invalid(f"Picture {index} of the recording cannot be shown: {error}.") from error
        except Exception as error:  # whatever a parser of foreign bytes may raise
            raise invalid(f"Picture {index} of the recording cannot be shown: it is damaged.") from error

    def _event(self, message: SalvagedMessage, text: str) -> tuple[Event, int | None]:
        """The event, and the index of its image."""
        shown: set[tuple[str, int]] = set()
        event = event_of(message.topic, text, message.time_ns / 1e9, iter(()), shown)
        return event, next((self._numbered[mark] for mark in shown if mark in self._numbered), None)

    @staticmethod
    def _event_step(index: int, time_s: float, event: Event, image: int | None) -> ShownStep:
        title = event.verb or event.kind if event.of_call is None else event.of_call.name
        text = f"{event.code}: {event.words}" if event.kind == "result" and event.failed else event.words
        return ShownStep(index, time_s, event.kind, _line(title), text[:LONGEST_TEXT], event.failed, image)


def _document_step(index: int, time_s: float, kind: str, text: str) -> ShownStep:
    document = plain_json.load(text, plain_json.AS_WRITTEN)
    if kind == "command" and isinstance(document, dict) and isinstance(document.get("task"), str):
        return ShownStep(index, time_s, kind, "the operator says", document["task"][:LONGEST_TEXT])
    failed = isinstance(document, dict) and document.get("success") is False
    return ShownStep(index, time_s, kind, kind, as_json(document)[:LONGEST_TEXT], failed)


def as_json(document: Any) -> str:
    """A document of a recording as text, in any case."""
    try:
        return json.dumps(document, ensure_ascii=False, sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError):
        return str(type(document).__name__)


def _line(text: str) -> str:
    return " ".join(text[:200].split()) or "-"


def _string(message: SalvagedMessage) -> str:
    return str(deserialize(message.data, get_class(ros.STRING)).data)


def _joints(message: SalvagedMessage) -> dict[str, float]:
    try:
        state = deserialize(message.data, get_class(ros.JOINT_STATE))
        return {str(name): float(at) for name, at in zip(state.name, state.position, strict=False)}
    except Exception:  # whatever a parser of foreign bytes may raise
        return {}


def _not_decreasing(times: Sequence[int]) -> list[int]:
    """Times of steps in their order; a foreign file's may go back."""
    found: list[int] = []
    for time in times:
        found.append(max(time, found[-1]) if found else time)
    return found


def _source(topic: str) -> str:
    return topic.split("/")[2] if topic.startswith("/camera/") else "drawing"


def _png(data: bytes, shape: tuple[int, int, int]) -> bytes:
    from PIL import Image

    height, width, _ = shape
    if not (0 < height <= MAX_SIDE and 0 < width <= MAX_SIDE):
        raise ImageFileError(f"it is {width}x{height}, and a side may have {MAX_SIDE} px")
    if len(data) != height * width * 3:
        raise ImageFileError("its size is not what it says")
    buffer = io.BytesIO()
    Image.frombuffer("RGB", (width, height), data).save(buffer, format="PNG", compress_level=1)
    return buffer.getvalue()
