"""How a lying object that is held can be turned so that it stands on its end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from toolhand.tool_nodes.motion.targets import HeldObject
from toolhand.tool_nodes.types import Box, FloatArray

_STANDS = 1.2
"""An object lies where it is longer than it is high by more than this factor [-]; a round figure, for cubes and
balls."""


def stood_up(held: HeldObject) -> Iterator[HeldObject]:
    """The object as it is to be set down on either end: by a quarter turn of the hand that swings its length upright.

    Nothing for an object that stands already.
    """
    R_box, half = held.box.T_parent_box[:3, :3], np.asarray(held.box.half_extents)
    length = int(np.argmax(half[:2]))
    if half[length] <= _STANDS * half[2]:
        return
    along = held.R_base_gripper @ R_box[:, length]
    axis = np.cross(along, [0.0, 0.0, 1.0])
    for angle in (np.pi / 2, -np.pi / 2):
        R = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix() @ held.R_base_gripper
        yield _turned(held, R)


def _turned(held: HeldObject, R: FloatArray) -> HeldObject:
    """The object in a hand of another orientation R (3, 3): its box is named by the axis that is upright now."""
    T, half = held.box.T_parent_box, np.asarray(held.box.half_extents)
    upright = int(np.argmax(np.abs((R @ T[:3, :3])[2])))
    order = [(upright + 1) % 3, (upright + 2) % 3, upright]
    box = T.copy()
    box[:3, :3] = T[:3, :3][:, order]
    if (R @ box[:3, 2])[2] < 0.0:
        box[:3, 1:3] *= -1.0
    half = half[order]
    middle = box[:3, 3] - box[:3, 2] * half[2]
    return replace(held, box=Box(box, half), R_base_gripper=R, middle=middle)
