"""What conversations send: which tool is called, with which images and words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from toolhand.bench.commands.serving import ABOUT
from toolhand.bench.serving.tools import BUSY, PIXELS, QUICK
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import Frame

LOOKS = 4
"""Calls about an image before there is a new one [-]: about what a pick and place asks after each motion."""

SMALL, RGB, RGBD = (8, 8), (480, 640), (720, 1280)
"""(height, width) of the images [px]."""

PointCall = tuple[SessionImage, str]


@dataclass(frozen=True)
class Payload:
    """One kind of call.

    Attributes:
        name: Name on the command line.
        tool: Backend that is asked.
        calls: Function from the number of a conversation to its endless calls.
    """

    name: str
    tool: str
    about: str
    calls: Callable[[int], Iterator[PointCall]]


def _images(shape: tuple[int, int]) -> Callable[[int], Iterator[PointCall]]:
    """Images without depth: each has other pixels, as nothing else tells them apart."""

    def calls(conversation: int) -> Iterator[PointCall]:
        rgb = np.random.default_rng(conversation).integers(0, 255, (*shape, 3), np.uint8)
        while True:
            rgb = rgb + np.uint8(1)
            image = SessionImage(rgb)
            for look in range(LOOKS):
                yield image, f"object {look}"

    return calls


def _frames(conversation: int) -> Iterator[PointCall]:
    """RGB-D; each is an image of its own by its time, and its pixels are read anew for its key."""
    rng = np.random.default_rng(conversation)
    rgb = rng.integers(0, 255, (*RGBD, 3), np.uint8)
    K = np.array([[900.0, 0.0, 640.0], [0.0, 900.0, 360.0], [0.0, 0.0, 1.0]])
    frame = Frame(rgb, rng.random(RGBD, np.float32), K, np.eye(4), 0.0)
    yield from _of_frames(frame, tuple(f"object {look}" for look in range(LOOKS)))


def _scenes() -> Callable[[int], Iterator[PointCall]]:
    """The scene camera's image of a generated scene, and the names of what stands there."""
    station = Station(generate_scene(0), StationConfig())
    frame = station.camera.capture()
    names = tuple(dict.fromkeys(item.item for item in station.scene.objects))

    def calls(conversation: int) -> Iterator[PointCall]:
        yield from _of_frames(replace(frame, stamp=1000.0 * conversation), names)

    return calls


def _of_frames(frame: Frame, words: tuple[str, ...]) -> Iterator[PointCall]:
    while True:
        frame = replace(frame, stamp=frame.stamp + 1.0)
        image = SessionImage(frame.rgb, frame)
        for look in range(LOOKS):
            yield image, words[look % len(words)]


def make_payload(name: str) -> Payload:
    """A payload of `ABOUT` by its name."""
    make: Mapping[str, tuple[str, Callable[[], Callable[[int], Iterator[PointCall]]]]] = {
        "small": (QUICK, lambda: _images(SMALL)),
        "rgb": (QUICK, lambda: _images(RGB)),
        "rgbd": (QUICK, lambda: _frames),
        "busy": (BUSY, lambda: _images(SMALL)),
        "pixels": (PIXELS, _scenes),
    }
    tool, calls = make[name]
    return Payload(name, tool, ABOUT[name], calls())
