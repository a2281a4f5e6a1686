"""Shapes of the catalogue's products: a few primitive solids each, in the body frame of the item.

Body frame of an item: origin at the centre of its bounding box, z up as it stands on the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import mujoco
import numpy as np

from tool_nodes.catalogue import CatalogueItem, Rgb, load_catalogue

WALL_M = 0.004
"""Thickness of the walls and floors of bins, bowls and cups [m]."""

TRANSPARENT_ALPHA = 0.25
"""Opacity of the walls of transparent containers [-]; chosen to look at."""
PALE_RGB = (236, 240, 243)
"""The opaque rim and floor of transparent containers, 0..255."""

LABEL_GAP_M = 0.0006
"""Labels stand off the surface by this much, so that no ray hits two surfaces at once [m]."""

BOX = mujoco.mjtGeom.mjGEOM_BOX
SPHERE = mujoco.mjtGeom.mjGEOM_SPHERE
CYLINDER = mujoco.mjtGeom.mjGEOM_CYLINDER
CAPSULE = mujoco.mjtGeom.mjGEOM_CAPSULE
ELLIPSOID = mujoco.mjtGeom.mjGEOM_ELLIPSOID

# A cylinder or capsule lies along its own z; this turns z to the body's x.
_ALONG_X = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)
"""Quaternion wxyz that turns z to x."""
_UPRIGHT = (1.0, 0.0, 0.0, 0.0)
"""Quaternion wxyz that turns nothing."""

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class ShapePart:
    """One primitive solid of an item.

    Attributes:
        geom: Kind of primitive.
        size: Half sizes as MuJoCo has them (cylinder and capsule: radius, half length, 0) [m].
        pos: Centre in the body frame [m].
        rgb: Colour, 0..255.
        quat_wxyz: Rotation in the body frame.
        alpha: 1 is opaque.
        solid: False for labels and rims that are only seen, never touched.
    """

    geom: mujoco.mjtGeom
    size: Triple
    pos: Triple
    rgb: Rgb
    quat_wxyz: tuple[float, ...] = _UPRIGHT
    alpha: float = 1.0
    solid: bool = True


@cache
def item_parts(name: str) -> tuple[ShapePart, ...]:
    """The primitive solids of a catalogue item, labels last."""
    item = load_catalogue()[name]
    return tuple(_BUILDERS[item.shape](item))


def _accent(item: CatalogueItem) -> Rgb:
    return item.secondary_rgb or item.rgb


def _box_part(lower: Triple, upper: Triple, rgb: Rgb, alpha: float = 1.0, solid: bool = True) -> ShapePart:
    """A box from its lower to its upper corner."""
    (x0, y0, z0), (x1, y1, z1) = lower, upper
    size = ((x1 - x0) / 2, (y1 - y0) / 2, (z1 - z0) / 2)
    return ShapePart(BOX, size, ((x0 + x1) / 2, (y0 + y1) / 2, (z0 + z1) / 2), rgb, alpha=alpha, solid=solid)


def _disc(radius: float, lower: float, upper: float, rgb: Rgb, solid: bool = True) -> ShapePart:
    """An upright cylinder on the body's axis from one height to another."""
    return ShapePart(CYLINDER, (radius, (upper - lower) / 2, 0.0), (0.0, 0.0, (lower + upper) / 2), rgb, solid=solid)


def _box(item: CatalogueItem) -> list[ShapePart]:
    x, y, z = (side / 2 for side in item.size_m)
    parts = [_box_part((-x, -y, -z), (x, y, z), item.rgb)]
    g = LABEL_GAP_M
    if item.secondary_part == "label":
        parts.append(_box_part((-x - g, -y - g, -0.35 * z), (x + g, y + g, 0.35 * z), _accent(item), solid=False))
    elif item.secondary_part == "top":
        parts.append(_box_part((-x - g, -y - g, 0.4 * z), (x + g, y + g, z + g), _accent(item), solid=False))
    return parts


def _carton(item: CatalogueItem) -> list[ShapePart]:
    x, y, z = (side / 2 for side in item.size_m)
    cap = 0.012
    parts = [
        _box_part((-x, -y, -z), (x, y, z - cap), item.rgb),
        _disc(0.45 * min(x, y), z - cap, z, _accent(item)),
    ]
    if item.secondary_part == "label":
        g = LABEL_GAP_M
        parts.append(_box_part((-x - g, -y - g, -0.45 * z), (x + g, y + g, 0.2 * z), _accent(item), solid=False))
    return parts


def _can(item: CatalogueItem) -> list[ShapePart]:
    r, z = item.size_m[0] / 2, item.size_m[2] / 2
    parts = [_disc(r, -z, z, item.rgb)]
    if item.secondary_part == "lid":
        parts.append(_disc(0.9 * r, z, z + LABEL_GAP_M, _accent(item), solid=False))
    else:
        parts.append(_disc(r + LABEL_GAP_M, -0.4 * z, 0.4 * z, _accent(item), solid=False))
    return parts


def _bottle(item: CatalogueItem) -> list[ShapePart]:
    r, z = item.size_m[0] / 2, item.size_m[2] / 2
    capped = item.secondary_part == "cap"
    parts = [
        _disc(r, -z, 0.42 * z, item.rgb),
        _disc(0.78 * r, 0.42 * z, 0.58 * z, item.rgb),
        _disc(0.55 * r, 0.58 * z, 0.76 * z, item.rgb),
        _disc(0.5 * r, 0.76 * z, z, _accent(item) if capped else item.rgb),
    ]
    if not capped:
        parts.append(_disc(r + LABEL_GAP_M, -0.55 * z, 0.1 * z, _accent(item), solid=False))
    return parts


def _jar(item: CatalogueItem) -> list[ShapePart]:
    r, z = item.size_m[0] / 2, item.size_m[2] / 2
    lid = max(0.012, 0.36 * z)
    return [_disc(r, -z, z - lid, item.rgb), _disc(0.94 * r, z - lid, z, _accent(item))]


def _tube(item: CatalogueItem) -> list[ShapePart]:
    r, z = item.size_m[0] / 2, item.size_m[2] / 2
    return [_disc(r, -z, z - 0.02, item.rgb), _disc(0.97 * r, z - 0.02, z, _accent(item))]


def _round_vessel(item: CatalogueItem) -> list[ShapePart]:
    """A bowl or cup: a floor and eight walls."""
    r, z = item.size_m[0] / 2, item.size_m[2] / 2
    parts = [_disc(r - WALL_M / 2, -z, WALL_M - z, item.rgb)]
    size = (WALL_M / 2, r * float(np.tan(np.pi / 8)), z)
    for angle in np.arange(8) * np.pi / 4:
        pos = ((r - WALL_M / 2) * float(np.cos(angle)), (r - WALL_M / 2) * float(np.sin(angle)), 0.0)
        parts.append(ShapePart(BOX, size, pos, item.rgb, (np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2))))
    return parts


def _bin(item: CatalogueItem) -> list[ShapePart]:
    x, y, z = (side / 2 for side in item.size_m)
    clear = "transparent" in item.attributes
    alpha = TRANSPARENT_ALPHA if clear else 1.0
    t = WALL_M
    walls = [
        ((-x, -y, -z), (-x + t, y, z)),
        ((x - t, -y, -z), (x, y, z)),
        ((-x + t, -y, -z), (x - t, -y + t, z)),
        ((-x + t, y - t, -z), (x - t, y, z)),
    ]
    parts = [_box_part((-x + t, -y + t, -z), (x - t, y - t, t - z), PALE_RGB if clear else item.rgb)]
    parts += [_box_part(lower, upper, item.rgb, alpha=alpha) for lower, upper in walls]
    if clear:
        rim = z + LABEL_GAP_M
        parts += [
            _box_part((*lower[:2], rim - 0.005), (*upper[:2], rim), PALE_RGB, solid=False) for lower, upper in walls
        ]
    return parts


def _ball(item: CatalogueItem) -> list[ShapePart]:
    r = item.size_m[0] / 2
    parts = [ShapePart(SPHERE, (r, 0.0, 0.0), (0.0, 0.0, 0.0), item.rgb)]
    if item.secondary_part == "band":
        # A disc a little wider than the sphere at that height shows as a ring.
        parts.append(_disc(r * np.cos(0.45) + 0.001, r * np.sin(0.4), r * np.sin(0.5), _accent(item), solid=False))
    return parts


def _foot(radius: float, z: float, rgb: Rgb) -> ShapePart:
    """A flat foot under something round, so that it stands instead of rocking."""
    return _disc(radius, -z, 0.004 - z, rgb)


def _apple(item: CatalogueItem) -> list[ShapePart]:
    x, y, z = (side / 2 for side in item.size_m)
    return [
        ShapePart(ELLIPSOID, (x, y, z - 0.001), (0.0, 0.0, 0.001), item.rgb),
        _foot(0.4 * x, z, item.rgb),
        _disc(0.004, z - 0.002, z + 0.008, _accent(item), solid=False),
    ]


def _pear(item: CatalogueItem) -> list[ShapePart]:
    r, z = item.size_m[0] / 2, item.size_m[2] / 2
    return [
        ShapePart(SPHERE, (r, 0.0, 0.0), (0.0, 0.0, r - z + 0.001), item.rgb),
        ShapePart(ELLIPSOID, (0.62 * r, 0.62 * r, 0.9 * r), (0.0, 0.0, z - 0.9 * r), item.rgb),
        _foot(0.4 * r, z, item.rgb),
        _disc(0.003, z - 0.002, z + 0.008, _accent(item), solid=False),
    ]


def _lemon(item: CatalogueItem) -> list[ShapePart]:
    x, y, z = (side / 2 for side in item.size_m)
    foot = _box_part((-0.35 * x, -0.35 * y, -z), (0.35 * x, 0.35 * y, 0.004 - z), item.rgb)
    return [
        ShapePart(ELLIPSOID, (0.75 * x, y, z - 0.001), (0.0, 0.0, 0.001), item.rgb),
        ShapePart(CAPSULE, (0.25 * x, 0.75 * x, 0.0), (0.0, 0.0, 0.0), item.rgb, _ALONG_X),
        foot,
    ]


def _banana(item: CatalogueItem) -> list[ShapePart]:
    """Three capsules flat on the table: the middle lies along x, the ends bend towards +y."""
    x, y, z = (side / 2 for side in item.size_m)
    middle = 0.35 * x
    reach_x, reach_y = x - z - middle, 2 * (y - z)
    half, bend = np.hypot(reach_x, reach_y) / 2, float(np.arctan2(reach_y, reach_x))
    parts = [ShapePart(CAPSULE, (z, middle, 0.0), (0.0, z - y, 0.0), item.rgb, _ALONG_X)]
    for side in (1.0, -1.0):
        pos = (side * (middle + reach_x / 2), z - y + reach_y / 2, 0.0)
        # Turn about z first, then lay the capsule's z along x.
        turn = np.zeros(4)
        mujoco.mju_mulQuat(turn, np.array([np.cos(bend / 2), 0, 0, side * np.sin(bend / 2)]), np.array(_ALONG_X))
        parts.append(ShapePart(CAPSULE, (z, half, 0.0), pos, item.rgb, tuple(turn)))
        tip = (side * (x - z), y - z, 0.0)
        parts.append(ShapePart(SPHERE, (z + LABEL_GAP_M, 0.0, 0.0), tip, _accent(item), solid=False))
    return parts


def _hot_dog(item: CatalogueItem) -> list[ShapePart]:
    x, y, z = (side / 2 for side in item.size_m)
    bun = y / 2 + 0.001
    sausage = 0.012
    parts = [
        ShapePart(CAPSULE, (bun, x - bun - 0.006, 0.0), (0.0, side * (y - bun), bun - z), item.rgb, _ALONG_X)
        for side in (1.0, -1.0)
    ]
    return [*parts, ShapePart(CAPSULE, (sausage, x - sausage, 0.0), (0.0, 0.0, z - sausage), _accent(item), _ALONG_X)]


def _bear(item: CatalogueItem) -> list[ShapePart]:
    x, y, z = (side / 2 for side in item.size_m)
    body_top, head = 0.15 * z, 0.42 * z
    face = (0.5 * head, 0.6 * head, 0.5 * head)
    parts = [
        _disc(0.9 * x, -z, body_top, item.rgb),
        _box_part((-x, -0.4 * y, -z), (x, 0.4 * y, -0.8 * z), item.rgb),
        ShapePart(SPHERE, (head, 0.0, 0.0), (0.0, 0.0, body_top + 0.75 * head), item.rgb),
        ShapePart(ELLIPSOID, face, (x - face[0], 0.0, body_top + 0.65 * head), _accent(item)),
    ]
    ear, arm = 0.17 * z, 0.2 * y
    for side in (1.0, -1.0):
        parts.append(ShapePart(SPHERE, (ear, 0.0, 0.0), (0.0, side * 0.75 * head, z - ear), item.rgb))
        parts.append(ShapePart(SPHERE, (arm, 0.0, 0.0), (0.3 * x, side * (y - arm), -0.2 * z), item.rgb))
    return parts


def _bunny(item: CatalogueItem) -> list[ShapePart]:
    x, y, z = (side / 2 for side in item.size_m)
    body_top, head = -0.2 * z, 0.3 * z
    parts = [
        _disc(min(x, y), -z, body_top, item.rgb),
        _box_part((-x * 0.7, -y, -z), (x * 0.7, y, -0.8 * z), item.rgb),
        ShapePart(SPHERE, (head, 0.0, 0.0), (0.0, 0.0, body_top + 0.8 * head), item.rgb),
        ShapePart(SPHERE, (0.5 * head, 0.0, 0.0), (0.65 * head, 0.0, body_top + 0.7 * head), _accent(item)),
    ]
    ear, ear_base = 0.1 * z, body_top + 1.4 * head
    for side in (1.0, -1.0):
        pos = (0.0, side * 0.55 * head, (ear_base + z) / 2)
        parts.append(ShapePart(CAPSULE, (ear, (z - ear_base) / 2 - ear, 0.0), pos, item.rgb))
    return parts


def _pony(item: CatalogueItem) -> list[ShapePart]:
    """Head towards +x."""
    x, y, z = (side / 2 for side in item.size_m)
    leg = 0.14 * x
    back = 0.2 * z
    parts = [
        _box_part((-0.85 * x, -0.8 * y, -0.3 * z), (0.6 * x, 0.8 * y, back), item.rgb),
        _box_part((0.3 * x, -0.5 * y, back), (0.6 * x, 0.5 * y, 0.9 * z), item.rgb),
        _box_part((0.3 * x, -0.6 * y, 0.45 * z), (x, 0.6 * y, 0.9 * z), item.rgb),
        _box_part((0.15 * x, -0.3 * y, back), (0.3 * x, 0.3 * y, z), _accent(item)),
        _box_part((-x, -0.25 * y, -0.5 * z), (-0.85 * x, 0.25 * y, back), _accent(item)),
    ]
    for front in (-0.85 * x, 0.6 * x - 2 * leg):
        for side in (-1.0, 1.0):
            inner, outer = sorted((0.35 * y * side, y * side))
            parts.append(_box_part((front, inner, -z), (front + 2 * leg, outer, -0.3 * z), item.rgb))
    return parts


def _car(item: CatalogueItem) -> list[ShapePart]:
    x, y, z = (side / 2 for side in item.size_m)
    parts = [
        _box_part((-x, -y, -z), (x, y, 0.1 * z), item.rgb),
        _box_part((-0.6 * x, -0.85 * y, 0.1 * z), (0.35 * x, 0.85 * y, z), _accent(item)),
    ]
    wheel, across = 0.45 * z, (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)
    for at in (-0.6 * x, 0.6 * x):
        pos = (at, 0.0, wheel - z)
        parts.append(ShapePart(CYLINDER, (wheel, y + LABEL_GAP_M, 0.0), pos, (30, 30, 30), across, solid=False))
    return parts


def _screwdriver(item: CatalogueItem) -> list[ShapePart]:
    x, y, z = (side / 2 for side in item.size_m)
    shaft = 0.004
    return [
        _box_part((-x, -y, -z), (0.1 * x, y, z), item.rgb),
        ShapePart(CYLINDER, (shaft, 0.45 * x, 0.0), (0.55 * x, 0.0, 0.0), _accent(item), _ALONG_X),
    ]


def _wrench(item: CatalogueItem) -> list[ShapePart]:
    x, y, z = (side / 2 for side in item.size_m)
    return [
        _box_part((-x, -0.5 * y, -z), (0.65 * x, 0.5 * y, z), item.rgb),
        _box_part((0.65 * x, -y, -z), (x, y, z), item.rgb),
    ]


def _flashlight(item: CatalogueItem) -> list[ShapePart]:
    x, _, r = (side / 2 for side in item.size_m)
    return [
        ShapePart(CYLINDER, (r, 0.7 * x, 0.0), (-0.3 * x, 0.0, 0.0), item.rgb, _ALONG_X),
        ShapePart(CYLINDER, (r, 0.3 * x, 0.0), (0.7 * x, 0.0, 0.0), _accent(item), _ALONG_X),
    ]


_BUILDERS: dict[str, Callable[[CatalogueItem], list[ShapePart]]] = {
    "apple": _apple,
    "ball": _ball,
    "banana": _banana,
    "bear": _bear,
    "bin": _bin,
    "bottle": _bottle,
    "bowl": _round_vessel,
    "box": _box,
    "bunny": _bunny,
    "can": _can,
    "car": _car,
    "carton": _carton,
    "cup": _round_vessel,
    "flashlight": _flashlight,
    "hot_dog": _hot_dog,
    "jar": _jar,
    "lemon": _lemon,
    "pear": _pear,
    "pony": _pony,
    "screwdriver": _screwdriver,
    "tube": _tube,
    "wrench": _wrench,
}
