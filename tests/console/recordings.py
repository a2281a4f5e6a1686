"""Recordings of made-up runs, as the agent's recorder writes them."""

import itertools
import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.events import CommandEnded, Event, Thought, ToolAnswered, ToolCalled
from toolhand.agent_node.runs.mcap.recorder import MotionLog, Recorder
from toolhand.tool_nodes.drawing import RGB
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.toolbox import CallRecord

TASK = "pick up the red box"
_NUMBERS = itertools.count()
"""Numbers of images."""


LOOKED = np.full((24, 32, 3), 90, np.uint8)


def gigantic_png() -> bytes:
    """A PNG of a few bytes that says it has 60,000 x 60,000 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0")) + chunk(b"IEND", b"")


def called(
    name: str, arguments: Mapping[str, Any], text: str, code: ErrorCode | None = None, image: RGB = LOOKED
) -> list[Event]:
    """A call and its result; an image comes with the results of "look"."""
    error = None if code is None else ToolError(code, text)
    looks = name == "look"
    result = ToolResult(text=text, image=image if looks else None, error=error)
    record = CallRecord(name, dict(arguments), result, next(_NUMBERS) if looks else None, 0.0, 0.1)
    return [ToolCalled(ToolCall(name, dict(arguments))), ToolAnswered(record)]


def picked(grasp: str = "top", failed: bool = False) -> list[Event]:
    """The events of a run in three turns."""
    code = ErrorCode.NO_GRASP if failed else None
    said = "No grasp was found." if failed else "Grasped."
    return [
        Thought("I look first."),
        *called("look", {"camera": "scene"}, "A picture of 1 red box."),
        Thought("Now I grasp it."),
        *called("grasp", {"target": "red box", "approach": grasp}, said, code),
        Thought("That is all."),
        CommandEnded(said, code),
    ]


def record(folder: Path, events: Sequence[Event] | None = None, task: str = TASK, **result: Any) -> Path:
    """Write a run's folder with run.mcap, result.json and a report; a step takes half a second."""
    folder.mkdir(parents=True, exist_ok=True)
    events = picked() if events is None else events
    now = iter(np.arange(0.0, len(events) + 2, 0.5))
    recorder = Recorder(task, lambda: float(next(now)))
    for event in events:
        recorder.hear(event)
    names = [f"joint_{k}" for k in range(1, 8)]
    times = np.arange(0.0, 0.5 * len(events), 0.1)
    motion = MotionLog(times, names, times[:, None] * np.ones(7), None, load_robot())
    about = {
        "task": task,
        "answer": "Grasped.",
        "success": True,
        "error_code": None,
        "turns": 3,
        "tool_calls": 2,
        "wall_s": 1.5,
        "policy": "scripted",
        "scene": "example",
        "perception": "sim",
        "seed": 0,
        **result,
    }
    recorder.write(folder, motion, about)
    (folder / "result.json").write_text(json.dumps(about))
    (folder / "report.html").write_text(f"<!DOCTYPE html><title>Report</title><p>{folder.name}</p>")
    return folder
