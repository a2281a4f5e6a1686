"""How deep the pads and tips of a gripper are at each opening, and how deep they can go."""

from __future__ import annotations

import numpy as np

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.motion.gripper import GripperModel
from toolhand.tool_nodes.types import FloatArray

TIP_GAP = 0.001
"""Least gap between a fingertip and the table [m]: fingers that come 3 mm lower press on it and still hold what they
close on, those that stay 3 mm higher miss a card."""

_LEVEL = 0.05
"""Approaches whose downward share is less than this are level [-]: the table does not bound their depth."""


class Hand:
    """A gripper, tabulated over its openings.

    Args:
        gripper: Its geometry.
    """

    def __init__(self, gripper: GripperModel) -> None:
        self.gripper = gripper
        self.max_opening = gripper.max_opening
        self._openings = np.linspace(0.0, gripper.max_opening, 35)
        self._pad_depths = np.array([gripper.pad_depth(opening) for opening in self._openings])
        self.tip_beyond_pad = gripper.fingertip_depth(self.max_opening) - gripper.pad_depth(self.max_opening)

    def pad_depth(self, opening: FloatArray) -> FloatArray:
        """Distance (N,) along +Z from the gripper's origin to the centre of the pads at openings (N,) [m]."""
        return np.interp(opening, self._openings, self._pad_depths)

    def table_limit(self, R: FloatArray, anchor: FloatArray, width: FloatArray) -> FloatArray:
        """Greatest depth of the pads beyond anchors along the approach at which no fingertip comes near the table.

        The fingertips are lowest either closed on the object, when they have moved forward, or open
        and tilted, when they are farther out.

        Args:
            R: (N, 3, 3) orientations.
            anchor: (N, 3) points that the depth is measured from, base frame [m].
            width: (N,) jaw opening at contact [m].

        Returns:
            (N,) [m]; infinite for approaches that do not lead down.
        """
        up = R[:, 2]
        across = np.abs(up[:, 1]) * self.gripper.finger_half_width
        back = self.pad_depth(width) - self._pad_depths[-1]
        limits = []
        for half, behind in ((width / 2.0, 0.0), (np.full(len(R), self.max_opening / 2.0), back)):
            sideways = np.abs(up[:, 0]) * (half + self.gripper.finger_thickness)
            room = anchor[:, 2] - workspace.TABLE_Z - TIP_GAP - sideways - across
            with np.errstate(divide="ignore", invalid="ignore"):
                limits.append(np.where(up[:, 2] < -_LEVEL, room / -up[:, 2], np.inf) - self.tip_beyond_pad + behind)
        return np.minimum(*limits)

    def lowest_tip(self, T_base_gripper: FloatArray, width: FloatArray) -> FloatArray:
        """Height (N,) of the lowest corner of the fingertips at poses (N, 4, 4) [m], open or closed on a width (N,)."""
        up = T_base_gripper[:, 2, :3]
        lowest = np.full(len(width), np.inf)
        for opening in (width, np.full(len(width), self.max_opening)):
            tip = self.pad_depth(opening) + self.tip_beyond_pad
            outside = opening / 2.0 + self.gripper.finger_thickness
            sideways = np.abs(up[:, 0]) * outside + np.abs(up[:, 1]) * self.gripper.finger_half_width
            lowest = np.minimum(lowest, T_base_gripper[:, 2, 3] + up[:, 2] * tip - sideways)
        return lowest
