"""Points that operators have pointed at, and candidates of questions, as messages."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from toolhand_interfaces.msg import PointedAt
from vision_msgs.msg import Point2D

from toolhand.agent_node.events import Ask, OperatorQuestion
from toolhand.agent_node.memory import at_point
from toolhand.agent_node.open_question import Choice
from toolhand.agent_node.pointed import LONGEST_LABEL, MOST_POINTS, PointedPoint
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.ros.link import RosLink
from toolhand.tool_nodes.ros.messages import nanoseconds, time_message
from toolhand.tool_nodes.ros.remote import RemoteCamera
from toolhand.tool_nodes.scene_change import changed_around, looks_otherwise_around
from toolhand.tool_nodes.toolbox.image_files import ImageFileError, opened
from toolhand.tool_nodes.types import Frame

_MOST_NOTED = 2 * MOST_POINTS
"""Points whose image is kept [-]: those of a sentence that waits, and of the next; 2 MB each."""
_MOST_ASKED = 3
"""So often a point is asked for once more [-]; then the sentence ends."""
_LOOK_S = 10.0
"""Longest wait for the look after a click, by whom a sentence is said right after it [s]: a camera answers in one."""


def point_message(point: PointedPoint) -> Any:
    """The PointedAt of a point; (NaN, NaN) where it stands nowhere in an image."""
    x, y = (math.nan, math.nan) if point.point is None else point.point
    stamp = time_message(point.stamp_ns)
    return PointedAt(camera=point.camera, stamp=stamp, point=Point2D(x=x, y=y), label=point.label)


def points_of(messages: Sequence[Any]) -> tuple[PointedPoint, ...]:
    """The points of PointedAt messages.

    Raises:
        ToolError: INVALID_ARGUMENT for too many, a point outside the image, or names that are too long.
    """
    if len(messages) > MOST_POINTS:
        raise invalid(f"At most {MOST_POINTS} points go with a sentence, got {len(messages)}.")
    return tuple(
        PointedPoint((each.point.x, each.point.y), each.camera, nanoseconds(each.stamp), each.label)
        for each in messages
    )


def candidates_of(messages: Sequence[Any]) -> tuple[PointedPoint, ...]:
    """The candidates of PointedAt messages; those of an image have a point. Raises ToolError as `points_of`."""
    return tuple(
        PointedPoint(None, label=each.label) if math.isnan(each.point.x) else points_of([each])[0] for each in messages
    )


def candidate_messages(choices: Iterable[Choice]) -> list[Any]:
    """The PointedAt messages of what a question lets choose from, in the scene camera's image."""
    return [point_message(PointedPoint(each.point, label=each.words[:LONGEST_LABEL])) for each in choices]


@dataclass(eq=False)
class _Noted:
    """How the scene looked just after somebody has pointed at it.

    Attributes:
        frame: Image that was taken then; None where none came.
        stale: The scene around the point looked otherwise then than in the image that was pointed at.
    """

    looked: threading.Event = field(default_factory=threading.Event)
    frame: Frame | None = None
    stale: bool = False


class PointWatch:
    """Knows whether the scene around a point that somebody has pointed at is still the one that they saw.

    Args:
        link: Takes part in the graph.
    """

    def __init__(self, link: RosLink) -> None:
        self._camera = RemoteCamera(link.node, link.deadlines)
        self._lock = threading.Lock()
        self._noted: OrderedDict[tuple[float, float], _Noted] = OrderedDict()

    def note(self, point: tuple[float, float], jpeg: bytes) -> None:
        """Look, in a thread, how the scene is just after somebody has pointed at it. Returns at once.

        Args:
            point: Normalized (x, y) of the image.
            jpeg: The image that was pointed at; empty for one that is too old to be kept, which counts as changed.
        """
        noted = _Noted()
        with self._lock:
            self._noted[point] = noted
            self._noted.move_to_end(point)
            while len(self._noted) > _MOST_NOTED:
                self._noted.popitem(last=False)
        threading.Thread(target=self._look, args=(point, jpeg, noted), daemon=True, name="point-watch").start()

    def _look(self, point: tuple[float, float], jpeg: bytes, noted: _Noted) -> None:
        noted.stale = not jpeg
        try:
            noted.frame = self._camera.capture()
            if jpeg:
                with opened(jpeg) as image:
                    shown = np.asarray(image.convert("RGB"))
                noted.stale = looks_otherwise_around(shown, noted.frame, point)
        except ImageFileError:
            noted.stale = True  # nobody knows what was clicked
        except ToolError:
            pass  # there is nothing to compare with later; grasping proves itself what it has grasped
        finally:
            noted.looked.set()

    def changed(self, point: tuple[float, float]) -> bool:
        """Whether the scene around a noted point looks otherwise now; False where that cannot be known."""
        with self._lock:
            noted = self._noted.get(point)
        if noted is None:
            return False
        noted.looked.wait(_LOOK_S)
        if noted.stale:
            return True
        if noted.frame is None:
            return False
        try:
            return changed_around(noted.frame, self._camera.capture(), point)
        except ToolError:
            return False

    def unchanged(self, pointed: Sequence[PointedPoint], ask: Ask) -> tuple[PointedPoint, ...]:
        """Points around which the scene is as it was when they were given; others are asked for once more.

        Args:
            pointed: The points, noted or not.
            ask: Puts the question to the operator, whose point takes the place of the old one.

        Raises:
            ToolError: AMBIGUOUS with the question where no point answers it, or that one is too late as well.
        """
        return tuple(self._unchanged(each, ask) for each in pointed)

    def _unchanged(self, pointed: PointedPoint, ask: Ask) -> PointedPoint:
        for asked in range(_MOST_ASKED + 1):
            if pointed.point is None or not self.changed(pointed.point):
                return pointed
            where = at_point(pointed.point)
            question = f"The picture around {where} has changed since you pointed at it: will you point again?"
            answer = ask(OperatorQuestion(question)) if asked < _MOST_ASKED else None
            if answer is None or answer.point is None:
                break
            pointed = replace(pointed, point=answer.point, stamp_ns=0)
        raise ToolError(ErrorCode.AMBIGUOUS, question)
