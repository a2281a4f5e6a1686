"""Forms that objects of primitive solids can have: boxes, bottles, bears; `shaped` makes an object of one.

Body frame: origin at the centre of the bounding box, z up as it stands on the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from toolhand.sim.objects.asset import Cavity, Contact, Triple
from toolhand.sim.objects.primitives import BOX, CAPSULE, CYLINDER, ELLIPSOID, SPHERE, PrimitiveAsset, ShapePart
from toolhand.tool_nodes.catalogue import Rgb
from toolhand.tool_nodes.perception.colours import name_colour
from toolhand.tool_nodes.results import invalid

WALL_M = 0.004
"""Thickness of the walls and floors of bins, bowls and cups [m]."""

TRANSPARENT_ALPHA = 0.25
"""Opacity of the walls of transparent containers [-]; chosen to look at."""
PALE_RGB = (236, 240, 243)
"""The opaque rim and floor of transparent containers, 0..255."""

LABEL_GAP_M = 0.0006
"""Labels stand off the surface by this much, so that no ray hits two surfaces at once [m]."""

# A cylinder or capsule lies along its own z; this turns z to the body's x.
_ALONG_X = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)
"""Quaternion wxyz that turns z to x."""

_CONTAINERS = ("bin", "bowl")
_HOLLOW = (*_CONTAINERS, "cup")
_ROLLING = ("apple", "ball", "flashlight", "lemon", "pear")


@dataclass(frozen=True)
class Form:
    """What a form is built from.

    Attributes:
        size_m: Extents (x, y, z) as it stands on the table [m].
        rgb: Main colour, 0..255, in even light.
        part: Which part has another colour ("cap", "label", "lid", ...), or None.
        part_rgb: Colour of that part, 0..255, or None.
        clear: True for transparent walls.
    """

    size_m: Triple
    rgb: Rgb
    part: str | None = None
    part_rgb: Rgb | None = None
    clear: bool = False


def shaped(
    name: str,
    shape: str,
    size_m: Triple,
    mass_kg: float,
    rgb: Rgb,
    part: str | None = None,
    part_rgb: Rgb | None = None,
    soft: bool = False,
    clear: bool = False,
    **words: Any,
) -> PrimitiveAsset:
    """An object of a named form.

    Args:
        name: Name, e.g. "coconut water".
        shape: Name of its form, a key of `SHAPES`.
        size_m: Extents (x, y, z) as it stands on the table [m].
        mass_kg: Mass [kg].
        rgb: Main colour, 0..255, in even light.
        part: Which part has another colour; which ones a form has stands in its function.
        part_rgb: Colour of that part, 0..255.
        soft: True for what gives way, such as plush.
        clear: True for transparent walls.
        words: Further fields of `Description`; its kind is the form, and its colour that of `rgb`, where left out.

    Raises:
        ToolError: INVALID_ARGUMENT for an unknown form, or sizes or a mass that nothing has.
    """
    if shape not in SHAPES:
        raise invalid(f"The shape of {name!r} must be one of {', '.join(SHAPES)}, not {shape!r}.")
    x, y, z = (side / 2 for side in size_m)
    # Rolling friction stops what is round, which would else leave the table.
    rolls = shape in _ROLLING
    friction = (0.7, 0.005, 0.001) if rolls else (0.8 if soft else 0.7, 0.005, 0.0001)
    contact = Contact(friction, 6 if rolls else 4, (0.03, 1.0) if soft else (0.02, 1.0))
    return PrimitiveAsset(
        name=name,
        size_m=size_m,
        mass_kg=mass_kg,
        contact=contact,
        cavity=Cavity((x - WALL_M, y - WALL_M), shape != "bin", WALL_M - z, z) if shape in _HOLLOW else None,
        graspable=shape not in _CONTAINERS,
        upright=shape != "ball",
        shape=shape,
        parts=tuple(SHAPES[shape](Form(size_m, rgb, part, part_rgb, clear))),
        **{"kind": shape, "colour": name_colour(rgb)} | words | {"container": shape in _CONTAINERS},
    )


def _accent(form: Form) -> Rgb:
    return form.part_rgb or form.rgb


def _box_part(lower: Triple, upper: Triple, rgb: Rgb, alpha: float = 1.0, solid: bool = True) -> ShapePart:
    """A box from its lower to its upper corner."""
    (x0, y0, z0), (x1, y1, z1) = lower, upper
    size = ((x1 - x0) / 2, (y1 - y0) / 2, (z1 - z0) / 2)
    return ShapePart(BOX, size, ((x0 + x1) / 2, (y0 + y1) / 2, (z0 + z1) / 2), rgb, alpha=alpha, solid=solid)


def _disc(radius: float, lower: float, upper: float, rgb: Rgb, solid: bool = True) -> ShapePart:
    """An upright cylinder on the body's axis from one height to another."""
    return ShapePart(CYLINDER, (radius, (upper - lower) / 2, 0.0), (0.0, 0.0, (lower + upper) / 2), rgb, solid=solid)


def _box(form: Form) -> list[ShapePart]:
    x, y, z = (side / 2 for side in form.size_m)
    parts = [_box_part((-x, -y, -z), (x, y, z), form.rgb)]
    g = LABEL_GAP_M
    if form.part == "label":
        parts.append(_box_part((-x - g, -y - g, -0.35 * z), (x + g, y + g, 0.35 * z), _accent(form), solid=False))
    elif form.part == "top":
        parts.append(_box_part((-x - g, -y - g, 0.4 * z), (x + g, y + g, z + g), _accent(form), solid=False))
    return parts


def _carton(form: Form) -> list[ShapePart]:
    x, y, z = (side / 2 for side in form.size_m)
    cap = 0.012
    parts = [
        _box_part((-x, -y, -z), (x, y, z - cap), form.rgb),
        _disc(0.45 * min(x, y), z - cap, z, _accent(form)),
    ]
    if form.part == "label":
        g = LABEL_GAP_M
        parts.append(_box_part((-x - g, -y - g, -0.45 * z), (x + g, y + g, 0.2 * z), _accent(form), solid=False))
    return parts


def _can(form: Form) -> list[ShapePart]:
    r, z = form.size_m[0] / 2, form.size_m[2] / 2
    parts = [_disc(r, -z, z, form.rgb)]
    if form.part == "lid":
        parts.append(_disc(0.9 * r, z, z + LABEL_GAP_M, _accent(form), solid=False))
    else:
        parts.append(_disc(r + LABEL_GAP_M, -0.4 * z, 0.4 * z, _accent(form), solid=False))
    return parts


def _bottle(form: Form) -> list[ShapePart]:
    r, z = form.size_m[0] / 2, form.size_m[2] / 2
    capped = form.part == "cap"
    parts = [
        _disc(r, -z, 0.42 * z, form.rgb),
        _disc(0.78 * r, 0.42 * z, 0.58 * z, form.rgb),
        _disc(0.55 * r, 0.58 * z, 0.76 * z, form.rgb),
        _disc(0.5 * r, 0.76 * z, z, _accent(form) if capped else form.rgb),
    ]
    if not capped:
        parts.append(_disc(r + LABEL_GAP_M, -0.55 * z, 0.1 * z, _accent(form), solid=False))
    return parts


def _jar(form: Form) -> list[ShapePart]:
    r, z = form.size_m[0] / 2, form.size_m[2] / 2
    lid = max(0.012, 0.36 * z)
    return [_disc(r, -z, z - lid, form.rgb), _disc(0.94 * r, z - lid, z, _accent(form))]


def _tube(form: Form) -> list[ShapePart]:
    r, z = form.size_m[0] / 2, form.size_m[2] / 2
    return [_disc(r, -z, z - 0.02, form.rgb), _disc(0.97 * r, z - 0.02, z, _accent(form))]


def _round_vessel(form: Form) -> list[ShapePart]:
    """A bowl or cup: a floor and eight walls."""
    r, z = form.size_m[0] / 2, form.size_m[2] / 2
    parts = [_disc(r - WALL_M / 2, -z, WALL_M - z, form.rgb)]
    size = (WALL_M / 2, r * float(np.tan(np.pi / 8)), z)
    for angle in np.arange(8) * np.pi / 4:
        pos = ((r - WALL_M / 2) * float(np.cos(angle)), (r - WALL_M / 2) * float(np.sin(angle)), 0.0)
        parts.append(ShapePart(BOX, size, pos, form.rgb, (np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2))))
    return parts


def _bin(form: Form) -> list[ShapePart]:
    x, y, z = (side / 2 for side in form.size_m)
    alpha = TRANSPARENT_ALPHA if form.clear else 1.0
    t = WALL_M
    walls = [
        ((-x, -y, -z), (-x + t, y, z)),
        ((x - t, -y, -z), (x, y, z)),
        ((-x + t, -y, -z), (x - t, -y + t, z)),
        ((-x + t, y - t, -z), (x - t, y, z)),
    ]
    parts = [_box_part((-x + t, -y + t, -z), (x - t, y - t, t - z), PALE_RGB if form.clear else form.rgb)]
    parts += [_box_part(lower, upper, form.rgb, alpha=alpha) for lower, upper in walls]
    if form.clear:
        rim = z + LABEL_GAP_M
        parts += [
            _box_part((*lower[:2], rim - 0.005), (*upper[:2], rim), PALE_RGB, solid=False) for lower, upper in walls
        ]
    return parts


def _ball(form: Form) -> list[ShapePart]:
    r = form.size_m[0] / 2
    parts = [ShapePart(SPHERE, (r, 0.0, 0.0), (0.0, 0.0, 0.0), form.rgb)]
    if form.part == "band":
        # A disc a little wider than the sphere at that height shows as a ring.
        parts.append(_disc(r * np.cos(0.45) + 0.001, r * np.sin(0.4), r * np.sin(0.5), _accent(form), solid=False))
    return parts


def _foot(radius: float, z: float, rgb: Rgb) -> ShapePart:
    """A flat foot under something round, so that it stands instead of rocking."""
    return _disc(radius, -z, 0.004 - z, rgb)


def _apple(form: Form) -> list[ShapePart]:
    x, y, z = (side / 2 for side in form.size_m)
    return [
        ShapePart(ELLIPSOID, (x, y, z - 0.001), (0.0, 0.0, 0.001), form.rgb),
        _foot(0.4 * x, z, form.rgb),
        _disc(0.004, z - 0.002, z + 0.008, _accent(form), solid=False),
    ]


def _pear(form: Form) -> list[ShapePart]:
    r, z = form.size_m[0] / 2, form.size_m[2] / 2
    return [
        ShapePart(SPHERE, (r, 0.0, 0.0), (0.0, 0.0, r - z + 0.001), form.rgb),
        ShapePart(ELLIPSOID, (0.62 * r, 0.62 * r, 0.9 * r), (0.0, 0.0, z - 0.9 * r), form.rgb),
        _foot(0.4 * r, z, form.rgb),
        _disc(0.003, z - 0.002, z + 0.008, _accent(form), solid=False),
    ]


def _lemon(form: Form) -> list[ShapePart]:
    x, y, z = (side / 2 for side in form.size_m)
    foot = _box_part((-0.35 * x, -0.35 * y, -z), (0.35 * x, 0.35 * y, 0.004 - z), form.rgb)
    return [
        ShapePart(ELLIPSOID, (0.75 * x, y, z - 0.001), (0.0, 0.0, 0.001), form.rgb),
        ShapePart(CAPSULE, (0.25 * x, 0.75 * x, 0.0), (0.0, 0.0, 0.0), form.rgb, _ALONG_X),
        foot,
    ]


def _banana(form: Form) -> list[ShapePart]:
    """Three capsules flat on the table: the middle lies along x, the ends bend towards +y."""
    x, y, z = (side / 2 for side in form.size_m)
    middle = 0.35 * x
    reach_x, reach_y = x - z - middle, 2 * (y - z)
    half, bend = np.hypot(reach_x, reach_y) / 2, float(np.arctan2(reach_y, reach_x))
    parts = [ShapePart(CAPSULE, (z, middle, 0.0), (0.0, z - y, 0.0), form.rgb, _ALONG_X)]
    for side in (1.0, -1.0):
        pos = (side * (middle + reach_x / 2), z - y + reach_y / 2, 0.0)
        # Turn about z first, then lay the capsule's z along x.
        turn = np.zeros(4)
        mujoco.mju_mulQuat(turn, np.array([np.cos(bend / 2), 0, 0, side * np.sin(bend / 2)]), np.array(_ALONG_X))
        parts.append(ShapePart(CAPSULE, (z, half, 0.0), pos, form.rgb, tuple(turn)))
        tip = (side * (x - z), y - z, 0.0)
        parts.append(ShapePart(SPHERE, (z + LABEL_GAP_M, 0.0, 0.0), tip, _accent(form), solid=False))
    return parts


def _hot_dog(form: Form) -> list[ShapePart]:
    x, y, z = (side / 2 for side in form.size_m)
    bun = y / 2 + 0.001
    sausage = 0.012
    parts = [
        ShapePart(CAPSULE, (bun, x - bun - 0.006, 0.0), (0.0, side * (y - bun), bun - z), form.rgb, _ALONG_X)
        for side in (1.0, -1.0)
    ]
    return [*parts, ShapePart(CAPSULE, (sausage, x - sausage, 0.0), (0.0, 0.0, z - sausage), _accent(form), _ALONG_X)]


def _bear(form: Form) -> list[ShapePart]:
    x, y, z = (side / 2 for side in form.size_m)
    body_top, head = 0.15 * z, 0.42 * z
    face = (0.5 * head, 0.6 * head, 0.5 * head)
    parts = [
        _disc(0.9 * x, -z, body_top, form.rgb),
        _box_part((-x, -0.4 * y, -z), (x, 0.4 * y, -0.8 * z), form.rgb),
        ShapePart(SPHERE, (head, 0.0, 0.0), (0.0, 0.0, body_top + 0.75 * head), form.rgb),
        ShapePart(ELLIPSOID, face, (x - face[0], 0.0, body_top + 0.65 * head), _accent(form)),
    ]
    ear, arm = 0.17 * z, 0.2 * y
    for side in (1.0, -1.0):
        parts.append(ShapePart(SPHERE, (ear, 0.0, 0.0), (0.0, side * 0.75 * head, z - ear), form.rgb))
        parts.append(ShapePart(SPHERE, (arm, 0.0, 0.0), (0.3 * x, side * (y - arm), -0.2 * z), form.rgb))
    return parts


def _bunny(form: Form) -> list[ShapePart]:
    x, y, z = (side / 2 for side in form.size_m)
    body_top, head = -0.2 * z, 0.3 * z
    parts = [
        _disc(min(x, y), -z, body_top, form.rgb),
        _box_part((-x * 0.7, -y, -z), (x * 0.7, y, -0.8 * z), form.rgb),
        ShapePart(SPHERE, (head, 0.0, 0.0), (0.0, 0.0, body_top + 0.8 * head), form.rgb),
        ShapePart(SPHERE, (0.5 * head, 0.0, 0.0), (0.65 * head, 0.0, body_top + 0.7 * head), _accent(form)),
    ]
    ear, ear_base = 0.1 * z, body_top + 1.4 * head
    for side in (1.0, -1.0):
        pos = (0.0, side * 0.55 * head, (ear_base + z) / 2)
        parts.append(ShapePart(CAPSULE, (ear, (z - ear_base) / 2 - ear, 0.0), pos, form.rgb))
    return parts


def _pony(form: Form) -> list[ShapePart]:
    """Head towards +x."""
    x, y, z = (side / 2 for side in form.size_m)
    leg = 0.14 * x
    back = 0.2 * z
    parts = [
        _box_part((-0.85 * x, -0.8 * y, -0.3 * z), (0.6 * x, 0.8 * y, back), form.rgb),
        _box_part((0.3 * x, -0.5 * y, back), (0.6 * x, 0.5 * y, 0.9 * z), form.rgb),
        _box_part((0.3 * x, -0.6 * y, 0.45 * z), (x, 0.6 * y, 0.9 * z), form.rgb),
        _box_part((0.15 * x, -0.3 * y, back), (0.3 * x, 0.3 * y, z), _accent(form)),
        _box_part((-x, -0.25 * y, -0.5 * z), (-0.85 * x, 0.25 * y, back), _accent(form)),
    ]
    for front in (-0.85 * x, 0.6 * x - 2 * leg):
        for side in (-1.0, 1.0):
            inner, outer = sorted((0.35 * y * side, y * side))
            parts.append(_box_part((front, inner, -z), (front + 2 * leg, outer, -0.3 * z), form.rgb))
    return parts


def _car(form: Form) -> list[ShapePart]:
    x, y, z = (side / 2 for side in form.size_m)
    parts = [
        _box_part((-x, -y, -z), (x, y, 0.1 * z), form.rgb),
        _box_part((-0.6 * x, -0.85 * y, 0.1 * z), (0.35 * x, 0.85 * y, z), _accent(form)),
    ]
    wheel, across = 0.45 * z, (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)
    for at in (-0.6 * x, 0.6 * x):
        pos = (at, 0.0, wheel - z)
        parts.append(ShapePart(CYLINDER, (wheel, y + LABEL_GAP_M, 0.0), pos, (30, 30, 30), across, solid=False))
    return parts


def _screwdriver(form: Form) -> list[ShapePart]:
    x, y, z = (side / 2 for side in form.size_m)
    shaft = 0.004
    return [
        _box_part((-x, -y, -z), (0.1 * x, y, z), form.rgb),
        ShapePart(CYLINDER, (shaft, 0.45 * x, 0.0), (0.55 * x, 0.0, 0.0), _accent(form), _ALONG_X),
    ]


def _wrench(form: Form) -> list[ShapePart]:
    x, y, z = (side / 2 for side in form.size_m)
    return [
        _box_part((-x, -0.5 * y, -z), (0.65 * x, 0.5 * y, z), form.rgb),
        _box_part((0.65 * x, -y, -z), (x, y, z), form.rgb),
    ]


def _flashlight(form: Form) -> list[ShapePart]:
    x, _, r = (side / 2 for side in form.size_m)
    return [
        ShapePart(CYLINDER, (r, 0.7 * x, 0.0), (-0.3 * x, 0.0, 0.0), form.rgb, _ALONG_X),
        ShapePart(CYLINDER, (r, 0.3 * x, 0.0), (0.7 * x, 0.0, 0.0), _accent(form), _ALONG_X),
    ]


SHAPES: dict[str, Callable[[Form], list[ShapePart]]] = {
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
"""Functions that build a form, by its name."""
