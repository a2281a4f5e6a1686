"""Where grasps are looked for: orientations of the gripper, and points of the object that the pads close about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from toolhand.tool_nodes import geometry
from toolhand.tool_nodes.perception.shape_completion import tightest_yaw
from toolhand.tool_nodes.types import BoolArray, FloatArray

_YAWS = 24
"""Even orientations of the jaws over half a turn, 7.5 degrees apart."""
_TILTS = np.radians([12.0, 24.0, 40.0, 58.0])
"""Angles between the approach and straight down [rad]: as far as the wrist clears the table beside low objects."""
_LEAN = np.radians([12.0, 24.0])
"""Angles by which the closing line leans [rad]: for faces that are not upright."""
_LONG = 0.04
"""An object longer than this is tried beside its middle, too [m]; twice the width of a finger."""
_TALL = 0.07
"""An object higher than this is tried from its sides, too [m]: the wrist beside it keeps clear of the table."""
_SIDES = np.radians([0.0, 25.0, -25.0, 50.0, -50.0, 75.0, -75.0])
"""Level approaches, as angles from straight away from the robot [rad]: those that an arm on the table can take."""
_SEEDS = 28
"""Seen points whose faces are tried one by one [-]."""
_FACE_RADIUS = 0.010
"""Points within this of a seed make its face [m]: three times the noise of a stereo camera at 0.9 m."""
_LEAST_FACE = 6
"""Fewer points are no face [-]."""
_UPRIGHT = 0.6
"""Faces whose normal has a greater vertical share than this cannot be held from above [-]: 37 degrees."""


@dataclass(frozen=True)
class Candidates:
    """What is tried.

    Attributes:
        R: (N, 3, 3) orientations in the base frame.
        anchor: (N, 3) points that the pads close about, unless palm or table are in the way [m].
        lift: (N,) retreat from the deepest pose [m].
        tilt: (N,) angle between the approach and straight down [rad].
        on_face: (N,) True where the anchor lies on a face, whose opposite one is to be found along -X.
        central: (N,) True straight down on the object's middle.
    """

    R: FloatArray
    anchor: FloatArray
    lift: FloatArray
    tilt: FloatArray
    on_face: BoolArray
    central: BoolArray

    def __len__(self) -> int:
        return len(self.R)


class _Collected:
    """Candidates one by one."""

    def __init__(self) -> None:
        self._rows: list[tuple[FloatArray, FloatArray, float, bool, bool]] = []

    def add(
        self, R: FloatArray, anchor: FloatArray, lift: float = 0.0, on_face: bool = False, central: bool = False
    ) -> None:
        self._rows.append((R, anchor, lift, on_face, central))

    def all(self) -> Candidates:
        R, anchor, lift, on_face, central = (np.array(column) for column in zip(*self._rows, strict=True))
        tilt = np.arccos(np.clip(-R[:, 2, 2], -1.0, 1.0))
        return Candidates(R, anchor, lift, tilt, on_face, central)


def candidates(
    shape: NDArray[np.float32], seen: NDArray[np.float32], centre: FloatArray, height: float, phase: float
) -> Candidates:
    """All that is tried on one object.

    Args:
        shape: (P, 3) its points, guessed ones too, base frame [m].
        seen: (Q, 3) its seen points [m].
        centre: (3,) its middle [m].
        height: Its height above what it stands on [m].
        phase: Turn of the sweep of closing directions [rad].
    """
    found = _Collected()
    _sweep(found, shape[:, :2].astype(float), centre, phase)
    if height > _TALL:
        _from_the_side(found, centre, height)
    _faces(found, seen.astype(float))
    return found.all()


def _sweep(found: _Collected, xy: FloatArray, centre: FloatArray, phase: float) -> None:
    """About the middle, from above and tilted; the footprint's own directions join the even sweep."""
    own = tightest_yaw(xy)
    yaws = np.concatenate([[own, own + np.pi / 2.0], phase + np.arange(_YAWS) * np.pi / _YAWS])
    for number, yaw in enumerate(yaws):
        down = geometry.rotation_z(yaw) @ np.diag([1.0, -1.0, -1.0])
        for lift in (0.0, 0.008, 0.016):
            found.add(down, centre, lift, central=lift == 0.0)
        length = float(np.ptp(xy @ down[:2, 1]))
        if length > _LONG:
            for share in (-0.3, -0.15, 0.15, 0.3):
                found.add(down, centre + share * length * down[:, 1])
        if number < 2 or number % 3 == 0:
            for sign in (-1.0, 1.0):
                for angle in _TILTS:
                    found.add(down @ _rotation_x(sign * angle), centre)
                for angle in _LEAN:
                    found.add(down @ _rotation_y(sign * angle), centre)


def _from_the_side(found: _Collected, centre: FloatArray, height: float) -> None:
    """Level approaches to a tall object, closing level, about its middle and above it."""
    away = np.arctan2(centre[1], centre[0])
    for turn in _SIDES:
        approach = np.array([np.cos(away + turn), np.sin(away + turn), 0.0])
        closing = np.array([-approach[1], approach[0], 0.0])
        R = np.column_stack([closing, np.cross(approach, closing), approach])
        for share in (0.0, 0.25):
            found.add(R, centre + np.array([0.0, 0.0, share * height]))


def _faces(found: _Collected, seen: FloatArray) -> None:
    """Seen faces, spread over the object: the jaws close along their normals; rims, handles and parts are among
    them."""
    seeds = _spread(seen, _SEEDS)
    tree = cKDTree(seen)
    for seed in seeds:
        face = seen[tree.query_ball_point(seen[seed], _FACE_RADIUS)]
        if len(face) < _LEAST_FACE:
            continue
        middle = face.mean(axis=0)
        normal = np.linalg.eigh(np.cov((face - middle).T))[1][:, 0]
        if abs(normal[2]) > _UPRIGHT:
            continue
        # Of the two signs the one that points out of the object, as seen from its middle; the jaws find the other face.
        if normal @ (middle - seen.mean(axis=0)) < 0.0:
            normal = -normal
        for out in (normal, -normal):
            level = np.array([out[0], out[1], 0.0])
            level /= np.linalg.norm(level)
            R = np.array([[level[0], level[1], 0.0], [level[1], -level[0], 0.0], [0.0, 0.0, -1.0]])
            found.add(R, middle, on_face=True)
            if out is normal:
                for angle in (-_TILTS[1], _TILTS[1]):
                    found.add(R @ _rotation_x(angle), middle, on_face=True)


def _spread(points: FloatArray, count: int) -> NDArray[np.intp]:
    """Indices of at most `count` points, each as far from those before it as can be."""
    chosen = [int(np.argmax(points[:, 2]))]
    away = np.linalg.norm(points - points[chosen[0]], axis=1)
    while len(chosen) < min(count, len(points)):
        chosen.append(int(np.argmax(away)))
        away = np.minimum(away, np.linalg.norm(points - points[chosen[-1]], axis=1))
    return np.array(chosen)


def _rotation_x(angle: float) -> FloatArray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def _rotation_y(angle: float) -> FloatArray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
