"""Geometry of a gripper: how the angle of its driven joint, the jaw opening and the fingertips hang together.

In the gripper's frame +Z approaches and the fingers close along X. Each fingertip hangs on a crank and stays parallel
to Z, so that it swings on a circle and closing moves it along Z. With the crank's length L and its angle phi at q = 0:

    opening(q) = 2 (pivot_x + L cos(q + phi) - pad_face),   end_z(q) = pivot_z + L sin(q + phi)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from annotated_types import Interval, Len

from toolhand.tool_nodes.records import Rule
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import FloatArray

Positive = Annotated[float, Interval(gt=0.0)]
Label = Annotated[str, Rule("a text that is not empty", bool)]
Pair = tuple[float, float]
PositivePair = tuple[Positive, Positive]
LowHigh = Annotated[Pair, Rule("a list of two finite numbers, the lower one first", lambda pair: pair[0] <= pair[1])]


@dataclass(frozen=True)
class VolumeBox:
    """Part of the open gripper, in the gripper's frame [m]; filled with points no more than `step` apart.

    Attributes:
        x, y, z: (low, high).
        mirrored: There is another one at -x.
    """

    x: LowHigh
    y: LowHigh
    z: LowHigh
    step: Positive
    mirrored: bool


@dataclass(frozen=True)
class VolumeRing:
    """Outline of the wrist about the gripper's Z [m]."""

    radius: Positive
    z: float


@dataclass(frozen=True)
class GripperVolume:
    """The open gripper and the wrist, for the room beside other objects."""

    boxes: Annotated[tuple[VolumeBox, ...], Len(1)]
    rings: Annotated[tuple[VolumeRing, ...], Len(1)]


@dataclass(frozen=True)
class FingerCrank:
    """What the finger at +X hangs on: (x, z) of its axis, and from there to the arm's end at joint position 0 [m]."""

    pivot: Pair
    arm: Pair


@dataclass(frozen=True)
class Palm:
    """z of the palm, and (x, y) of it and what surrounds it [m]."""

    depth: float
    half_size: PositivePair


@dataclass(frozen=True)
class GraspZone:
    """Zone between the fingers: (x, y), and (low, high) along Z [m]; what is in it is what a grasp is meant for."""

    half_size: PositivePair
    depth: LowHigh


@dataclass(frozen=True)
class GripperModel:
    """A gripper whose fingers close along X, as robot.yaml has it. Lengths [m] in the gripper's frame, angles [rad].

    Attributes:
        joint: Name of the joint that is driven and measured.
        base_link: All that hangs on this link of the URDF is the gripper.
        name_prefix: Left out of names of its parts where people read them.
        closing: Position of the joint where open, and where closed.
        speed: Speed of the finger joint in simulation [rad/s].
        max_opening: Nominal stroke.
        crank: Joint that carries each fingertip.
        pad_face: Along X, from the arm's end inwards to the pad's face.
        pad_centre, tip_end, finger_base: Along Z, from the arm's end.
        pad_half_size: (y, z) of the pad's face that surely holds.
        finger_half_width: Along Y.
        finger_thickness: Outwards from the pad's face.
        max_width: Widest object that the open jaws can close on with room to spare.
        palm: The palm.
        grasp_zone: Zone between the fingers.
        hold_depth: z where a held object is taken to be that the camera has not seen.
        volume: The open gripper and the wrist.
    """

    joint: Label
    base_link: Label
    name_prefix: str
    closing: LowHigh
    speed: Positive
    max_opening: Positive
    crank: FingerCrank
    pad_face: float
    pad_centre: float
    tip_end: float
    finger_base: float
    pad_half_size: PositivePair
    finger_half_width: Positive
    finger_thickness: Positive
    max_width: Positive
    palm: Palm
    grasp_zone: GraspZone
    hold_depth: float
    volume: GripperVolume

    @property
    def open_at(self) -> float:
        """Position of the joint where the jaws are open."""
        return self.closing[0]

    @property
    def closed_at(self) -> float:
        """Position of the joint where they are closed."""
        return self.closing[1]

    @cached_property
    def _crank(self) -> tuple[float, float]:
        """(L, phi) of the module's equations."""
        x, z = self.crank.arm
        return float(np.hypot(x, z)), float(np.arctan2(z, x))

    def opening(self, q: float) -> float:
        """Distance between the pads [m] at joint position q [rad]."""
        length, angle = self._crank
        return float(2.0 * (self.crank.pivot[0] + length * np.cos(q + angle) - self.pad_face))

    def joint_position(self, opening_m: float) -> float:
        """Position of the driven joint [rad] that opens the jaws by `opening_m`; the inverse of `opening`.

        Raises:
            ToolError: INVALID_ARGUMENT if the opening is not in [0, max_opening].
        """
        self.check_opening(opening_m)
        length, angle = self._crank
        cosine = (opening_m / 2.0 + self.pad_face - self.crank.pivot[0]) / length
        q = float(np.arccos(min(max(cosine, -1.0), 1.0))) - angle
        return min(max(q, self.open_at), self.closed_at)

    def check_opening(self, opening_m: float) -> None:
        """Raises ToolError INVALID_ARGUMENT if the jaws cannot open by `opening_m`."""
        if not -1e-9 <= opening_m <= self.max_opening + 1e-9:
            raise invalid(f"The jaw opening must be between 0 and {self.max_opening} m, got {opening_m}.")

    def clipped(self, opening_m: float) -> float:
        """The nearest opening that the jaws have [m]."""
        return min(max(float(opening_m), 0.0), self.max_opening)

    def _end_z(self, opening_m: float) -> float:
        length, angle = self._crank
        return self.crank.pivot[1] + length * float(np.sin(self.joint_position(opening_m) + angle))

    def fingertip_depth(self, opening_m: float) -> float:
        """Distance along +Z from the gripper's origin to the end of the fingers [m]."""
        return self._end_z(opening_m) + self.tip_end

    def pad_depth(self, opening_m: float) -> float:
        """Distance along +Z from the gripper's origin to the centre of the pads [m]."""
        return self._end_z(opening_m) + self.pad_centre

    def points(self, opening_m: float) -> FloatArray:
        """Five points that draw the gripper, in its frame [m].

        Args:
            opening_m: Jaw opening in [0, max_opening].

        Returns:
            (5, 3): grasp centre between the pads, left finger base, right finger base, left tip, right tip.
            The left finger is on +X; finger points lie on the inner faces.

        Raises:
            ToolError: INVALID_ARGUMENT if the opening is out of range.
        """
        end_z = self._end_z(opening_m)
        half = opening_m / 2.0
        base, tip = end_z + self.finger_base, end_z + self.tip_end
        fingers = [[half, 0.0, base], [-half, 0.0, base], [half, 0.0, tip], [-half, 0.0, tip]]
        return np.array([[0.0, 0.0, end_z + self.pad_centre], *fingers])

    def tips(self, opening_m: float) -> FloatArray:
        """(2, 3) ends of the fingers in the gripper's frame [m], for the opening that is nearest to `opening_m`."""
        return self.points(self.clipped(opening_m))[3:]
