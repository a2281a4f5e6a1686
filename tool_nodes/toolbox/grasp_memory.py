"""What a conversation knows of its grasps: what each is for, and what is held."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame, GraspTarget

KEPT = 16
"""Grasps and masks of a conversation, the newest, of which it is known what they are for [-]."""
SAME_POINT = 2e-3
"""Normalized points that are no further apart are one, written with fewer digits [-]; a round figure."""
SAME_POSE = 2e-3
"""Poses whose entries differ by no more than this are one grasp, written with fewer digits [-, m]; a round figure."""


@dataclass(frozen=True, eq=False)
class GraspOf:
    """A grasp that was given: its pose (4, 4) in the camera frame, the frame that it is of, and what it is for."""

    T_camera_gripper: FloatArray
    frame: Frame
    target: GraspTarget


class GraspMemory:
    """No policy says what a grasp is for: it is known from the mask that it was computed for, and where that was
    pointed at. What tools give of both is noted here, and looked up by the one that executes a grasp.

    Attributes:
        held: The object that was grasped last and not put down since, as the image before showed it; None where
            nothing is held or it is not known what.
    """

    def __init__(
        self,
        pointed_at: Iterable[tuple[str, tuple[tuple[float, float], ...]]] = (),
        given: Iterable[GraspOf] = (),
        held: GraspOf | None = None,
        named: Iterable[tuple[str, tuple[tuple[float, float], ...]]] = (),
    ) -> None:
        self._named = deque(named, maxlen=KEPT)
        self._pointed_at = deque(pointed_at, maxlen=KEPT)
        self._given = deque(given, maxlen=KEPT)
        self.held = held

    def fork(self) -> GraspMemory:
        """The same once more, to go on by itself."""
        return GraspMemory(self._pointed_at, self._given, self.held, self._named)

    def note_names(self, called: str, points: Iterable[tuple[float, float]]) -> None:
        """Remember what words some normalized points were given for."""
        self._named.append((called, tuple(points)))

    def note_outline(self, outlined: GraspTarget) -> None:
        """Remember where a mask was pointed at."""
        self._pointed_at.append((_digest(outlined.mask), outlined.points))

    def note_grasp(self, T_camera_gripper: FloatArray, frame: Frame, mask: BoolArray) -> None:
        """Remember that a grasp (4, 4) of a frame is of what a mask (H, W) outlines."""
        digest = _digest(mask)
        points = next((points for known, points in reversed(self._pointed_at) if known == digest), ())
        target = GraspTarget(mask, points, self._called(points))
        self._given.append(GraspOf(np.array(T_camera_gripper), frame, target))

    def _called(self, points: tuple[tuple[float, float], ...]) -> str:
        """The newest words that gave the first of some points; "" where none did."""
        first = np.array(points[:1])
        near = (called for called, given in reversed(self._named) if len(first) and _has(given, first[0]))
        return next(near, "")

    def find(self, T_camera_gripper: FloatArray) -> GraspOf | None:
        """The newest grasp that was given with a pose (4, 4); None for another one."""
        given = reversed(self._given)
        return next(
            (grasp for grasp in given if np.allclose(grasp.T_camera_gripper, T_camera_gripper, atol=SAME_POSE)), None
        )


def _has(points: tuple[tuple[float, float], ...], point: FloatArray) -> bool:
    return any(float(np.hypot(*(np.array(other) - point))) < SAME_POINT for other in points)


def _digest(mask: BoolArray) -> str:
    """Equal masks (H, W) have the same."""
    return hashlib.sha256(repr(mask.shape).encode() + np.packbits(mask).tobytes()).hexdigest()
