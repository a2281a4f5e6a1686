"""Geometry of the Robotiq 2F-85: how the knuckle angle, the jaw opening and the fingertips hang together.

The gripper frame is `robotiq_85_base_link`, which is `end_effector_link`: +Z approaches, fingers close
along X. Each fingertip stays parallel to Z and swings on a circle, so that closing moves it forward:

    opening(q) = 2 (x_0 + a cos q - b sin q - p),   tip_joint_z(q) = z_0 + a sin q + b cos q
"""

from __future__ import annotations

import numpy as np

from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import FloatArray

KNUCKLE_RANGE = (0.0, 0.8)
"""Open and closed position of the driven knuckle [rad]."""

MAX_OPENING = 0.085
"""Nominal stroke [m]."""

_KNUCKLE_X = 0.03060114
_KNUCKLE_Z = 0.05490452
_CRANK_X = 0.03152616 + 0.00563134
_CRANK_Z = -0.00376347 + 0.04718515
_PAD_FACE = 0.02533
_PAD_CENTRE = 0.03225
_TIP_END = 0.0510
_FINGER_BASE = -0.0060
_CRANK_LENGTH = float(np.hypot(_CRANK_X, _CRANK_Z))
_CRANK_ANGLE = float(np.arctan2(_CRANK_Z, _CRANK_X))


def opening_from_knuckle(q: float) -> float:
    """Distance between the pads [m] at knuckle angle q [rad]; 0.0849 at 0, 0 at 0.8."""
    return float(2.0 * (_KNUCKLE_X + _CRANK_LENGTH * np.cos(q + _CRANK_ANGLE) - _PAD_FACE))


def knuckle_from_opening(opening_m: float) -> float:
    """Knuckle angle [rad] in [0, 0.8] that opens the jaws by `opening_m`; the inverse of `opening_from_knuckle`.

    Raises:
        ToolError: INVALID_ARGUMENT if the opening is not in [0, 0.085] m.
    """
    if not -1e-9 <= opening_m <= MAX_OPENING + 1e-9:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT, f"The jaw opening must be between 0 and {MAX_OPENING} m, got {opening_m}."
        )
    cosine = (opening_m / 2.0 + _PAD_FACE - _KNUCKLE_X) / _CRANK_LENGTH
    return float(np.clip(np.arccos(cosine) - _CRANK_ANGLE, *KNUCKLE_RANGE))


def _tip_joint_z(opening_m: float) -> float:
    return _KNUCKLE_Z + _CRANK_LENGTH * float(np.sin(knuckle_from_opening(opening_m) + _CRANK_ANGLE))


def fingertip_depth(opening_m: float) -> float:
    """Distance along +Z from the gripper's origin to the end of the fingers [m]; 0.149 open, 0.163 closed."""
    return _tip_joint_z(opening_m) + _TIP_END


def pad_depth(opening_m: float) -> float:
    """Distance along +Z from the gripper's origin to the centre of the pads [m]; 0.131 open, 0.144 closed."""
    return _tip_joint_z(opening_m) + _PAD_CENTRE


def gripper_points(opening_m: float) -> FloatArray:
    """Five points that draw the gripper, in the gripper frame [m].

    Args:
        opening_m: Jaw opening in [0, 0.085] m.

    Returns:
        (5, 3): grasp centre between the pads, left finger base, right finger base, left tip, right tip.
        The left finger is on +X; finger points lie on the inner faces.

    Raises:
        ToolError: INVALID_ARGUMENT if the opening is out of range.
    """
    joint_z = _tip_joint_z(opening_m)
    half = opening_m / 2.0
    base, tip = joint_z + _FINGER_BASE, joint_z + _TIP_END
    return np.array(
        [[0.0, 0.0, joint_z + _PAD_CENTRE], [half, 0.0, base], [-half, 0.0, base], [half, 0.0, tip], [-half, 0.0, tip]]
    )
