"""Clouds with known answers: whole surfaces, and an object of a scene before and after a hand has moved it a little."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from toolhand.bench.perception.truth import truth_of
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.clouds import alignment
from toolhand.tool_nodes.geometry import backproject, invert, pose, transform
from toolhand.tool_nodes.port_names import PortNames
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame

POINTS = 5000
"""Points of a whole cloud [points]: those of an object of 8 cm at 1 m."""

SLIP_M, SLIP_RAD = 0.008, np.radians(6.0)
"""Farthest that an object is moved in the hand, along and about each axis [m, rad]: closing jaws pushed 14 objects of
random scenes by 0.5 to 7.3 mm and 0.1 to 5.1 degrees."""

CARRIED_TO_M = np.array([0.40, 0.0, 0.25])
"""Where the hand holds the object up for its image, base frame [m]: in the middle of the scene camera's view."""

REACH_M = 0.02
"""How far an object may lie from where the hand should have taken it [m]: jaws of 85 mm push an object by less than
half of the room that they leave it."""

LEAST_SHARE = 0.3
"""Less of the object than this was seen again: then its pose is not known better [-]. Fingers hide a third of most
objects, and a hand that turned shows another side."""

FINGERS_M = 0.011
"""Half of the width of a finger, which hides the object behind it [m]: that of the 2F-85."""

Align = Callable[[Any, Any, float], alignment.Alignment]


def whole_cloud(seed: int) -> FloatArray:
    """The surface (N, 3) of a box, a cylinder or a lump [m], turned at random."""
    rng = np.random.default_rng(seed)
    half = rng.uniform(0.01, 0.10, 3)
    directions = rng.normal(size=(POINTS, 3))
    if seed % 3 == 0:  # a box: each direction goes on to the nearest side
        surface = directions / np.abs(directions).max(axis=1, keepdims=True)
    elif seed % 3 == 1:
        surface = directions / np.linalg.norm(directions[:, :2], axis=1, keepdims=True)
        surface[:, 2] = rng.uniform(-1.0, 1.0, POINTS)
    else:
        surface = directions / np.linalg.norm(directions, axis=1, keepdims=True) ** rng.uniform(0.5, 1.0)
    R = Rotation.random(random_state=seed).as_matrix()
    return np.asarray((surface * half) @ R.T + rng.uniform(-0.5, 0.5, 3))


def held_object(seed: int, sensor: str) -> tuple[FloatArray, FloatArray, FloatArray, Frame, FloatArray] | None:
    """An object of a random scene, as it stood and as a hand that is not drawn holds it up.

    Returns:
        Its points (N, 3) as they stood, base frame [m], partly hidden by fingers; the hand when it closed and now,
        (4, 4) each; the image of now; its true motion (4, 4) in the hand. None where it is hidden.
    """
    rng = np.random.default_rng(seed)
    station = Station(generate_scene(seed), StationConfig(ports=PortNames(sensor=sensor), seed=seed))
    truth, before = truth_of(station), station.camera.capture()
    visible = [(placed, mask) for placed, mask in truth.visible() if not placed.asset.container]
    if not visible:
        return None
    placed, mask = visible[seed % len(visible)]
    item = _seen(before, mask)
    if len(item) < alignment.FEWEST:
        return None
    state = station.world.snapshot().objects[placed.id]
    T_stood = pose(Rotation.from_quat(np.roll(state.quat_wxyz, -1)).as_matrix(), state.position_m)
    down = np.diag([1.0, -1.0, -1.0])
    T_closed = pose(down, item.mean(axis=0))
    turned = Rotation.from_rotvec([0.0, 0.0, rng.uniform(-0.8, 0.8)]).as_matrix()
    T_now = pose(turned @ down, CARRIED_TO_M)
    slip = pose(Rotation.from_rotvec(rng.uniform(-SLIP_RAD, SLIP_RAD, 3)).as_matrix(), rng.uniform(-SLIP_M, SLIP_M, 3))
    T_lies = T_now @ slip @ np.linalg.inv(T_closed) @ T_stood
    quat = np.roll(Rotation.from_matrix(T_lies[:3, :3]).as_quat(), 1)
    station.world.place_object(placed.id, T_lies[:3, 3], quat)
    after = station.camera.capture()
    behind = np.abs(transform(invert(T_now), _cloud(after))[:, 1]) < FINGERS_M
    depth = np.where(behind.reshape(after.depth.shape), np.float32(np.nan), after.depth)
    return item, T_closed, T_now, Frame(**vars(after) | {"depth": depth}), slip


def _cloud(frame: Frame) -> FloatArray:
    return np.asarray(transform(frame.T_base_camera, backproject(frame.depth, frame.K)), float)


def _seen(frame: Frame, mask: BoolArray) -> FloatArray:
    points = _cloud(frame)[mask.reshape(-1)]
    return points[np.isfinite(points).all(axis=1)]


def moved_in_hand(
    item: FloatArray,
    T_closed: FloatArray,
    T_now: FloatArray,
    frame: Frame,
    align: Align = alignment.aligned,
) -> FloatArray | None:
    """How a held object lies other than it was seen before the jaws closed.

    Args:
        item: (N, 3) points of it as they were seen, base frame [m].
        T_closed: (4, 4) pose of the robot's tip frame in the base frame when the jaws had closed.
        T_now: (4, 4) the same at the time of the image.
        frame: Image that shows it in the hand, with depth.
        align: The function that moves one cloud onto another.

    Returns:
        (4, 4) its motion in the tip frame: a point that should be at p is at T p. None where too little of it is seen.

    Raises:
        ToolError: See `align`.
    """
    expected = transform(T_now @ invert(T_closed), item[np.isfinite(item).all(axis=1)].astype(float))
    cloud = np.asarray(transform(frame.T_base_camera, backproject(frame.depth, frame.K)), float)
    cloud = cloud[np.isfinite(cloud).all(axis=1)]
    low, high = expected.min(axis=0) - REACH_M, expected.max(axis=0) + REACH_M
    cloud = cloud[((cloud >= low) & (cloud <= high)).all(axis=1)]
    if not len(cloud):
        return None
    near = cKDTree(expected).query(cloud, distance_upper_bound=REACH_M)[0]
    cloud = cloud[np.isfinite(near)]
    if len(cloud) < LEAST_SHARE * len(expected):
        return None
    found = align(expected, cloud, REACH_M)
    if found.share < LEAST_SHARE:
        return None
    return np.asarray(invert(T_now) @ found.T @ T_now)
