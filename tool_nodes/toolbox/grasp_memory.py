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
_PADS_M = 0.15
"""The pads of a gripper are about so far before its base [m]."""
_LIKE_M = 0.015
"""Grasps whose pads are nearer than this are alike [m]: a dropped object lies about where it was ..."""
_LIKE = 0.96
"""... where the cosines of their approaches and closing directions are greater than this [-]: 16 degrees."""
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
        failed: Iterable[FloatArray] = (),
    ) -> None:
        self._failed = deque(failed, maxlen=KEPT)
        self._named = deque(named, maxlen=KEPT)
        self._pointed_at = deque(pointed_at, maxlen=KEPT)
        self._given = deque(given, maxlen=KEPT)
        self.held = held

    def fork(self) -> GraspMemory:
        """The same once more, to go on by itself."""
        return GraspMemory(self._pointed_at, self._given, self.held, self._named, self._failed)

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

    def note_failed(self, T_base_gripper: FloatArray) -> None:
        """Remember that a grasp (4, 4) in the base frame was tried and did not hold its object."""
        self._failed.append(np.array(T_base_gripper))

    def has_failed(self, T_base_gripper: FloatArray) -> bool:
        """Whether a grasp (4, 4) in the base frame is like one that has failed, whichever image either is of."""
        return any(_alike(T_base_gripper, other) for other in self._failed)

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


def _alike(one: FloatArray, other: FloatArray) -> bool:
    pads = [T[:3, 3] + _PADS_M * T[:3, 2] for T in (one, other)]
    near = float(np.linalg.norm(pads[0] - pads[1])) < _LIKE_M
    return near and float(one[:3, 2] @ other[:3, 2]) > _LIKE and abs(float(one[:3, 0] @ other[:3, 0])) > _LIKE


def _digest(mask: BoolArray) -> str:
    """Equal masks (H, W) have the same."""
    return hashlib.sha256(repr(mask.shape).encode() + np.packbits(mask).tobytes()).hexdigest()
