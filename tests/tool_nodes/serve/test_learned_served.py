"""The learned pointer is served with batches: the same points as in process, to the last bit."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sim.scene.generator import generate_scene
from sim.station import Station, StationConfig
from tool_nodes import registry
from tool_nodes.perception.learned.backend import LearnedPerception
from tool_nodes.perception.learned.entries import LearnedPointing
from tool_nodes.registry import Setting
from tool_nodes.results import ToolError
from tool_nodes.serve.config import SERVE, ServedEntry
from tool_nodes.serve.requests import PortRequest
from tool_nodes.serve.runner import Runner
from tool_nodes.toolbox.images import SessionImage
from tool_nodes.types import Frame

FRAMES = 6
"""More than a FrameCache keeps."""


def requests() -> list[tuple[SessionImage, str]]:
    """Several phrases about several frames, in turns; one phrase is nothing that anybody has learned."""
    station = Station(generate_scene(0), StationConfig(image_size=(320, 240)))
    frame = station.camera.capture()
    images = []
    for k in range(FRAMES):
        darker = frame.rgb.copy()
        darker[: 20 * k] //= 2
        other = replace(frame, rgb=darker, stamp=float(k))
        images.append(SessionImage(other.rgb, other))
    items = list(dict.fromkeys(thing.item for thing in station.scene.objects))[:2]
    return [(image, text) for text in (*items, "zorblax") for image in images]


def alone(pointer: LearnedPerception, asked: Sequence[tuple[SessionImage, str]]) -> list[Any]:
    def one(image: SessionImage, text: str) -> Any:
        try:
            return pointer.point(image, text)
        except ToolError as error:
            return error

    return [one(*each) for each in asked]


def told(answers: Sequence[Any]) -> list[Any]:
    return [(one.code, str(one)) if isinstance(one, ToolError) else (one.value, one.backend) for one in answers]


def test_batches_are_answered_as_single_requests_are_and_each_frame_is_looked_at_once() -> None:
    asked = requests()
    looks: list[float] = []

    class Counting(LearnedPerception):
        def __init__(self) -> None:
            super().__init__()
            look = self._pointer._look

            def counted(frame: Frame) -> Any:
                looks.append(frame.stamp)
                return look(frame)

            self._pointer._seen._compute = lambda: counted

    expected = told(alone(LearnedPerception(), asked))
    assert told(LearnedPointing(Counting()).batch(asked)) == expected
    assert sorted(looks) == [float(k) for k in range(FRAMES)]
    assert len({str(each) for each in expected}) > 2
    assert [code for code, _ in expected[-FRAMES:]] == ["NOT_RECOGNISED"] * FRAMES


def test_the_pointer_that_is_served_by_name_takes_batches_and_answers_as_in_process() -> None:
    asked = requests()
    backend = registry.make("pointer", "learned", Setting())
    assert isinstance(backend, LearnedPointing)
    runner = Runner(ServedEntry("pointer", "pointer", "learned", SERVE, batch=len(asked)), backend, lambda refs: [])
    answers = runner.work([PortRequest(each, time.time() + 600.0) for each in asked])
    assert told(answers) == told(alone(LearnedPerception(), asked))


def test_a_picture_without_a_frame_has_its_own_error() -> None:
    frame: Frame | None = requests()[0][0].frame
    assert frame is not None
    asked = [(SessionImage(frame.rgb), "cup"), *requests()[:1]]
    first, second = LearnedPointing(LearnedPerception()).batch(asked)
    assert isinstance(first, ToolError)
    assert told([second]) == told(alone(LearnedPerception(), asked[1:]))
