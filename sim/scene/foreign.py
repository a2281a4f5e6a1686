"""Scenes of things that no catalogue knows: packed side by side, or dropped on a heap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sim.objects.asset import ObjectAsset
from sim.objects.convex import ConvexAsset
from sim.objects.foreign import ForeignLayout, drawn, foreign_name
from sim.scene.generator import generate_scene
from sim.scene.scenes import PlacedObject, Scene, convex_outline, gap, triple
from tool_nodes.types import FloatArray

if TYPE_CHECKING:
    from sim.world import World

_WIDEST_GAP_M = 0.015
"""Between neighbours of a packed scene [m]: less than a finger is thick."""
_STEP_M = 0.002
"""By which a thing is moved away until it finds room [m]."""
_SCATTER_M = 0.02
"""Farthest that a thing is dropped from the middle of the heap, along x and y [m]: less than half a thing."""
_FALL_S = 0.6
"""Time between one drop and the next [s]: a fall of 10 cm takes 0.14 s, the rest is rolling."""
_REST_S = 1.5
"""Time after which everything lies still [s], by the test of it."""
_ROOM_M = 0.13
"""Room for one thing that waits to be dropped [m]: more than the largest is wide."""
_WAITING_X = 0.65
"""Where it waits, base frame [m]."""


def foreign_scene(seed: int, layout: ForeignLayout) -> Scene:
    """Five things of random shape; `settle` lets them come to rest. The same seed gives the same scene."""
    things, rng = drawn(seed, layout)
    places = (_packed if layout == "packed" else _waiting)(things, rng)
    objects = tuple(
        PlacedObject(f"thing_{k}", f"foreign/{foreign_name(seed, layout, k)}", triple(position), yaw)
        for k, (position, yaw) in enumerate(places)
    )
    around = generate_scene(seed, n_objects=1)
    return Scene(
        seed,
        objects,
        around.light_position_m,
        around.camera_jitter_m,
        around.camera_jitter_rad,
        around.table_rgb,
        f"{layout} {seed}",
    )


def settle(world: World) -> None:
    """Drop what is to lie on a heap, and let everything in a world come to rest, before a robot sees it."""
    scene = world.scene
    if scene.name.startswith("pile"):
        rng = np.random.default_rng([scene.seed, 0xF1])
        centre = np.array([rng.uniform(0.43, 0.51), rng.uniform(-0.12, 0.12)])
        top = 0.0
        for placed in scene.objects:
            at = centre + rng.uniform(-_SCATTER_M, _SCATTER_M, 2)
            radius = _radius(placed.asset)
            world.place_object(placed.id, np.array([*at, top + radius]), np.array([1.0, 0.0, 0.0, 0.0]))
            world.step(round(_FALL_S / world.timestep))
            fallen = world.snapshot().objects[placed.id].position_m
            if np.hypot(*(fallen[:2] - centre)) < _ROOM_M / 2:
                top = max(top, float(fallen[2]) + radius)
    world.step(round(_REST_S / world.timestep))
    world.clear_log()


def _radius(thing: ObjectAsset) -> float:
    """Radius of the ball about the body's origin that holds a thing [m]."""
    return float(np.linalg.norm(thing.hull_points, axis=1).max())


Places = list[tuple[FloatArray, float]]


def _packed(things: Sequence[ConvexAsset], rng: np.random.Generator) -> Places:
    """(position (3,) [m], yaw [rad]) of each thing, standing side by side about a point within reach."""
    centre = np.array([rng.uniform(0.42, 0.52), rng.uniform(-0.15, 0.15)])
    places: Places = []
    outlines: list[FloatArray] = []
    for thing in things:
        yaw, away = rng.uniform(-math.pi, math.pi, 2)
        c, s = math.cos(yaw), math.sin(yaw)
        own = convex_outline(np.vstack(thing.parts)[:, :2] @ np.array([[c, s], [-s, c]])) + centre
        least = max(float(rng.uniform(-_WIDEST_GAP_M / 2, _WIDEST_GAP_M)), 5e-4)
        step = _STEP_M * np.array([math.cos(away), math.sin(away)])
        moved = np.zeros(2)
        while any(gap(own + moved, other) < least for other in outlines):
            moved = moved + step
        outlines.append(own + moved)
        places.append((np.array([*(centre + moved), thing.size_m[2] / 2 + 1e-3]), float(yaw)))
    return places


def _waiting(things: Sequence[ConvexAsset], rng: np.random.Generator) -> Places:
    """As `_packed`, each by itself, before they are dropped."""
    spread = (np.arange(len(things)) - (len(things) - 1) / 2) * _ROOM_M
    return [(np.array([_WAITING_X, y, _radius(thing)]), 0.0) for y, thing in zip(spread, things, strict=True)]
