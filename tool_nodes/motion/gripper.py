"""Geometry of a gripper: how the angle of its driven joint, the jaw opening and the fingertips hang together.

In the gripper's frame +Z approaches and the fingers close along X. Each fingertip hangs on a crank and stays parallel
to Z, so that it swings on a circle and closing moves it along Z. With the crank's length L and its angle phi at q = 0:

    opening(q) = 2 (pivot_x + L cos(q + phi) - pad_face),   end_z(q) = pivot_z + L sin(q + phi)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import FloatArray


@dataclass(frozen=True)
class VolumeBox:
    """Part of the open gripper, in the gripper's frame [m]; filled with points no more than `step` apart.

    Attributes:
        x, y, z: (low, high).
        mirrored: There is another one at -x.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    z: tuple[float, float]
    step: float
    mirrored: bool


@dataclass(frozen=True)
class VolumeRing:
    """Outline of the wrist about the gripper's Z [m]."""

    radius: float
    z: float


@dataclass(frozen=True)
class GripperModel:
    """A gripper whose fingers close along X. Lengths [m] in the gripper's frame, angles [rad].

    Attributes:
        joint: Name of the joint that is driven and measured.
        base_link: All that hangs on this link of the URDF is the gripper.
        name_prefix: Left out of names of its parts where people read them.
        open_at, closed_at: Position of the joint.
        speed: Speed of the finger joint in simulation [rad/s].
        max_opening: Nominal stroke.
        crank_pivot: (x, z) of the crank's axis of the finger at +X.
        crank_arm: (x, z) from there to the arm's end at joint position 0.
        pad_face: Along X, from the arm's end inwards to the pad's face.
        pad_centre, tip_end, finger_base: Along Z, from the arm's end.
        pad_half_size: (y, z) of the pad's face that surely holds.
        finger_half_width: Along Y.
        finger_thickness: Outwards from the pad's face.
        max_width: Widest object that the open jaws can close on with room to spare.
        palm_depth: z of the palm.
        palm_half_size: (x, y) of the palm and what surrounds it.
        zone_half_size: (x, y) of the zone between the fingers; what is in it is what a grasp is meant for.
        zone_depth: (low, high) of that zone along Z.
        hold_depth: z where a held object is taken to be that the camera has not seen.
        boxes, rings: The open gripper and the wrist, for the room beside other objects.
    """

    joint: str
    base_link: str
    name_prefix: str
    open_at: float
    closed_at: float
    speed: float
    max_opening: float
    crank_pivot: tuple[float, float]
    crank_arm: tuple[float, float]
    pad_face: float
    pad_centre: float
    tip_end: float
    finger_base: float
    pad_half_size: tuple[float, float]
    finger_half_width: float
    finger_thickness: float
    max_width: float
    palm_depth: float
    palm_half_size: tuple[float, float]
    zone_half_size: tuple[float, float]
    zone_depth: tuple[float, float]
    hold_depth: float
    boxes: tuple[VolumeBox, ...]
    rings: tuple[VolumeRing, ...]

    @cached_property
    def _crank(self) -> tuple[float, float]:
        """(L, phi) of the module's equations."""
        x, z = self.crank_arm
        return float(np.hypot(x, z)), float(np.arctan2(z, x))

    def opening(self, q: float) -> float:
        """Distance between the pads [m] at joint position q [rad]."""
        length, angle = self._crank
        return float(2.0 * (self.crank_pivot[0] + length * np.cos(q + angle) - self.pad_face))

    def joint_position(self, opening_m: float) -> float:
        """Position of the driven joint [rad] that opens the jaws by `opening_m`; the inverse of `opening`.

        Raises:
            ToolError: INVALID_ARGUMENT if the opening is not in [0, max_opening].
        """
        self.check_opening(opening_m)
        length, angle = self._crank
        cosine = (opening_m / 2.0 + self.pad_face - self.crank_pivot[0]) / length
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
        return self.crank_pivot[1] + length * float(np.sin(self.joint_position(opening_m) + angle))

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
