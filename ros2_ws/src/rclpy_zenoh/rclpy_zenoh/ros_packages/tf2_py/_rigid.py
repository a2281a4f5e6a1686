"""Rigid transforms: a rotation as a unit quaternion (x, y, z, w), then a translation (x, y, z) in metres."""

from __future__ import annotations

import math
from typing import NamedTuple

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]


class Rigid(NamedTuple):
    """Turns coordinates of a child frame into those of its parent."""

    rotation: Quaternion
    translation: Vector

    def apply(self, point: Vector) -> Vector:
        """The point in the parent's coordinates."""
        x, y, z = rotate(self.rotation, point)
        tx, ty, tz = self.translation
        return (x + tx, y + ty, z + tz)

    def inverse(self) -> Rigid:
        """Turns coordinates of the parent into those of the child."""
        rotation = conjugate(self.rotation)
        x, y, z = rotate(rotation, self.translation)
        return Rigid(rotation, (-x, -y, -z))

    def __matmul__(self, inner: Rigid) -> Rigid:
        """First `inner`, then this one."""
        return Rigid(multiply(self.rotation, inner.rotation), self.apply(inner.translation))


IDENTITY = Rigid((0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0))


def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """The rotation `b`, then `a`."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by + ay * bw + az * bx - ax * bz,
        aw * bz + az * bw + ax * by - ay * bx,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def conjugate(q: Quaternion) -> Quaternion:
    """The opposite rotation."""
    return (-q[0], -q[1], -q[2], q[3])


def rotate(q: Quaternion, v: Vector) -> Vector:
    """The vector, rotated: v + 2w (u x v) + 2u x (u x v), with u the vector part of q."""
    qx, qy, qz, qw = q
    vx, vy, vz = v
    tx, ty, tz = 2 * (qy * vz - qz * vy), 2 * (qz * vx - qx * vz), 2 * (qx * vy - qy * vx)
    return (
        vx + qw * tx + qy * tz - qz * ty,
        vy + qw * ty + qz * tx - qx * tz,
        vz + qw * tz + qx * ty - qy * tx,
    )


def normalize(q: Quaternion) -> Quaternion:
    """The unit quaternion of the same direction."""
    length = math.sqrt(sum(part * part for part in q))
    x, y, z, w = q
    return (x / length, y / length, z / length, w / length)


def slerp(a: Quaternion, b: Quaternion, ratio: float) -> Quaternion:
    """The rotation between two, along the shorter way, at an even speed; `ratio` 0 gives a, 1 gives b."""
    dot = sum(p * q for p, q in zip(a, b, strict=True))
    sign = -1.0 if dot < 0 else 1.0
    angle = math.acos(min(1.0, abs(dot)))
    if angle < 1e-6:  # the sine of so small an angle is the angle
        weight_a, weight_b = 1.0 - ratio, ratio
    else:
        weight_a = math.sin((1.0 - ratio) * angle) / math.sin(angle)
        weight_b = math.sin(ratio * angle) / math.sin(angle)
    x, y, z, w = (weight_a * p + sign * weight_b * q for p, q in zip(a, b, strict=True))
    return normalize((x, y, z, w))


def interpolate(a: Rigid, b: Rigid, ratio: float) -> Rigid:
    """The transform between two: the translation on a straight line, the rotation by `slerp`."""
    x, y, z = (p + (q - p) * ratio for p, q in zip(a.translation, b.translation, strict=True))
    return Rigid(slerp(a.rotation, b.rotation, ratio), (x, y, z))
