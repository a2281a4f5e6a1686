"""How likely a grasp holds: what is known about it, and a probability that was fitted to trials in physics.

`python -m toolhand.training.grasps.fit` tries grasps of generated objects in the simulator and writes `chances.json`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.grasp.clearance import MOST_INTO, HandRoom
from toolhand.tool_nodes.grasp.hand import Hand
from toolhand.tool_nodes.grasp.jaws import Grasps
from toolhand.tool_nodes.motion.gripper import GripperModel
from toolhand.tool_nodes.perception.fitted import network
from toolhand.tool_nodes.types import FloatArray

FITTED = Path(__file__).with_name("chances.json")
"""The network from features to chances, called "held"."""
_BY_CONTACT = 0.08
"""Share of a rank that the contact decides [-]: most grasps of a simple object hold, and their fitted probabilities
differ by less than the fit knows. Of 0.03, 0.05 and 0.08 the first that holds a bin straight over its rim."""
_CELL = 0.005
"""Side of the columns that an object is cut into, however unevenly it was seen [m]; a round figure."""


@dataclass(frozen=True)
class Body:
    """An object as a whole.

    Attributes:
        centre: (3,) the centroid of the columns over its footprint, at half its height, base frame [m].
        height: Above what it stands on [m].
        volume: Volume of these columns [m^3]: hollow or not, it grows with the weight.
    """

    centre: FloatArray
    height: float
    volume: float

    @classmethod
    def of(cls, shape: FloatArray, support: float) -> Body:
        """The body of points (P, 3), guessed ones too, on a support [m]."""
        cells, column = np.unique(np.floor(shape[:, :2] / _CELL).astype(np.int64), axis=0, return_inverse=True)
        top = np.full(len(cells), support)
        np.maximum.at(top, column.reshape(-1), shape[:, 2])
        weight = np.maximum(top - support, _CELL)
        xy = weight @ ((cells + 0.5) * _CELL) / weight.sum()
        highest = float(shape[:, 2].max())
        centre = np.array([*xy, (support + highest) / 2.0])
        return cls(centre, highest - support, float(weight.sum()) * _CELL**2)


@dataclass(frozen=True)
class Surroundings:
    """What is about the gripper at grasps, and about the object.

    Attributes:
        room: The gripper's room.
        hidden: Share (N,) of the gripper that is in space that nobody saw [-].
        between: Share (N,) of the space between the open fingers that other objects fill [-].
        beneath: Share of the strip about the object in which others are higher than it [-].
    """

    room: HandRoom
    hidden: FloatArray
    between: FloatArray
    beneath: float


def contact_quality(grasps: Grasps, gripper: GripperModel) -> FloatArray:
    """A rough order (N,) of grasps by their contact alone, in [0, 1], to choose which are looked at more closely."""
    quality = (
        np.exp(-((grasps.slope / 0.45) ** 2))
        * np.exp(-((np.hypot(grasps.lever, 0.6 * grasps.above) / 0.05) ** 2))
        * (1.0 - 0.35 * (grasps.width / gripper.max_opening) ** 2)
        * np.clip(grasps.overlap / 0.012, 0.2, 1.0)
    )
    return np.where(grasps.usable, quality, 0.0)


FEATURES = (
    "slope", "steep", "lever", "torque", "above", "under", "width", "overlap", "little overlap", "patch",
    "little patch", "face", "little face", "corner", "seen", "tight", "tilt", "level", "into", "touching", "crowded",
    "hidden", "between", "beneath", "volume", "height",
)  # fmt: skip
"""What is known about a grasp, each scaled to about 0..1."""


def features(grasps: Grasps, tilt: FloatArray, about: Surroundings, body: Body, hand: Hand) -> FloatArray:
    """(N, F + 1) numbers as FEATURES names them, and the quality of the contact, less where tilted, in [0, 1].

    Args:
        grasps: Grasps that can be used.
        tilt: (N,) angle between the approach and straight down [rad].
        about: Surroundings of the gripper.
        body: The object.
        hand: The gripper.
    """
    half_width, half_height = hand.gripper.pad_half_size
    overlap, patch = grasps.overlap / (2.0 * half_height), grasps.patch / (2.0 * half_width)
    face = grasps.face / (2.0 * half_height)
    lever, volume = grasps.lever / 0.05, np.cbrt(body.volume) / 0.08
    gap = (hand.max_opening - grasps.free_width) / 2.0
    columns = (
        np.minimum(grasps.slope, 1.5),
        np.clip(grasps.slope - 0.3, 0.0, 1.0),
        lever,
        lever * volume**3,
        np.maximum(grasps.above, 0.0) / 0.05,
        np.maximum(-grasps.above, 0.0) / 0.05,
        grasps.width / hand.max_opening,
        overlap,
        np.clip(1.0 - overlap / 0.3, 0.0, 1.0),
        patch,
        np.clip(1.0 - patch / 0.4, 0.0, 1.0),
        face,
        np.clip(1.0 - face / 0.2, 0.0, 1.0),
        np.clip(1.0 - np.sqrt(np.maximum(patch * face, 0.0)) / 0.3, 0.0, 1.0),
        grasps.seen,
        np.clip(1.0 - gap / 0.008, 0.0, 1.0),
        1.0 - np.cos(tilt),
        np.maximum(np.sin(tilt) - 0.7, 0.0) / 0.3,
        np.minimum(about.room.into / MOST_INTO, 1.0),
        np.minimum(about.room.touching / 0.2, 1.0),
        about.room.crowded,
        about.hidden,
        np.minimum(about.between / 0.3, 1.0),
        np.full(len(tilt), min(about.beneath / 0.5, 1.0)),
        np.full(len(tilt), volume),
        np.full(len(tilt), body.height / 0.1),
    )
    from_above = np.where(tilt > 0.01, 0.85 * np.cos(tilt / 1.5) ** 2, 1.0)
    return np.column_stack([*columns, contact_quality(grasps, hand.gripper) * from_above])


def probabilities(found: FloatArray) -> FloatArray:
    """Probability (N,) that each grasp holds, from its features (N, F + 1)."""
    return network("held", FITTED)(found[:, :-1].astype(np.float32)).astype(float)


def ranked(found: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    """Rows (N,) of features, the likeliest grasp first, and scores (N,) that do not rise from one to the next.

    Of grasps about as likely the one with the better contact comes first; it counts for up to `_BY_CONTACT`.
    """
    likely = probabilities(found)
    order = np.argsort(-likely * (1.0 - _BY_CONTACT * (1.0 - found[:, -1])), kind="stable")
    return order, np.minimum.accumulate(likely[order])
