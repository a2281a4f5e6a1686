"""The true state of what stands on the table at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from toolhand.tool_nodes.types import FloatArray


@dataclass(frozen=True)
class ObjectState:
    """True state of one object.

    Attributes:
        position_m: (3,) body origin, base frame [m].
        quat_wxyz: (4,) rotation, base frame.
        velocity: (6,) linear [m/s], then angular [rad/s].
        touching: Names of everything that it touches: ids of objects, "table", "gripper", "arm".
    """

    id: str
    position_m: FloatArray
    quat_wxyz: FloatArray
    velocity: FloatArray
    touching: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Snapshot:
    """All objects at one time [s]."""

    time: float
    objects: Mapping[str, ObjectState]
