"""What the simulator knows of an image, and what answers about it must agree with. Only benchmarks read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from toolhand.sim.camera.ray import make_camera
from toolhand.sim.camera.sensor import ideal
from toolhand.sim.perception import MIN_VISIBLE_PX
from toolhand.sim.scene.scenes import PlacedObject, Scene, convex_outline, distances
from toolhand.sim.snapshot import ObjectState
from toolhand.sim.station import Station
from toolhand.sim.tasks.predicates import Relation, relation_fault
from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import backproject, invert, matrix_from_quat_wxyz, pixel, pose, transform
from toolhand.tool_nodes.types import BoolArray, Box, FloatArray, Frame

CLEARANCE_M = 0.03
"""Free table has nothing within this distance: room for an object 6 cm wide [m]."""

_ON_TABLE_M = 0.01
"""Largest height of a point that counts as on the table [m]."""
_PROBE = "toy block"
"""What is imagined at a free place to see on which side of the reference it would stand."""


@dataclass(frozen=True)
class ImageTruth:
    """What the simulator knows of one image.

    Attributes:
        states: Where it stands, by id.
        frame: The image, with object ids.
        depth: (H, W) depth without noise [m], NaN beyond the sensor's range.
    """

    scene: Scene
    states: Mapping[str, ObjectState]
    frame: Frame
    depth: NDArray[np.float32]

    def visible(self) -> list[tuple[PlacedObject, BoolArray]]:
        """The objects with enough visible pixels, and those pixels (H, W)."""
        assert self.frame.ids is not None
        least = MIN_VISIBLE_PX * (self.frame.K[0, 0] / workspace.SCENE_CAMERA_FOCAL_PX) ** 2
        masks = [(placed, self.frame.ids == index) for index, placed in enumerate(self.scene.objects)]
        return [(placed, mask) for placed, mask in masks if np.count_nonzero(mask) >= least]

    def outline(self, placed: PlacedObject) -> FloatArray:
        """(K, 2) footprint of an object where it stands, base frame [m]."""
        state = self.states[placed.id]
        points = placed.asset.hull_points @ matrix_from_quat_wxyz(state.quat_wxyz).T + state.position_m
        return convex_outline(points[:, :2])


def truth_of(station: Station) -> ImageTruth:
    """What the simulator knows of the station's present image."""
    world, lamp = station.world, np.asarray(station.scene.light_position_m)
    clean = make_camera(
        station.config.renderer,
        world.model,
        world.data,
        station.scene_camera(),
        world.body_index,
        lamp_position=lamp,
        sensor=ideal(),
    ).capture()
    return ImageTruth(station.scene, world.snapshot().objects, clean, clean.depth)


def true_box(truth: ImageTruth, frame: Frame, placed: PlacedObject, like: Box) -> Box:
    """An object's true box in the camera frame. What is round has no yaw of its own: it is given that of `like`."""
    state = truth.states[placed.id]
    T_base_object = pose(matrix_from_quat_wxyz(state.quat_wxyz), state.position_m)
    half = np.asarray(placed.asset.size_m) / 2
    round_outline = bool({"round", "cylindrical"} & set(placed.asset.attributes))
    if round_outline and half[0] == half[1]:
        # A ball has no upright either: wherever it rolled, its box stands on the table.
        up = np.array([0.0, 0.0, 1.0]) if not placed.asset.upright else T_base_object[:3, 2]
        along = frame.T_base_camera[:3, :3] @ like.T_parent_box[:3, 0]
        along = along - (along @ up) * up
        if np.linalg.norm(along) > 1e-6:
            along /= np.linalg.norm(along)
            T_base_object[:3, :3] = np.stack([along, np.cross(up, along), up], axis=1)
    return Box(invert(frame.T_base_camera) @ T_base_object, half)


def _on_table(truth: ImageTruth, point: tuple[float, float]) -> FloatArray:
    """(3,) what the image truly shows at a normalized point, base frame [m]."""
    u, v = pixel(point, truth.frame.size)
    cloud = backproject(truth.depth[v : v + 1, u : u + 1], _shifted(truth.frame.K, u, v))
    return transform(truth.frame.T_base_camera, cloud.reshape(1, 3).astype(float))[0]


def _shifted(K: FloatArray, u: int, v: int) -> FloatArray:
    """Intrinsics of the part of an image that begins at pixel (u, v)."""
    shifted = K.copy()
    shifted[:2, 2] -= u, v
    return shifted


def place_fault(truth: ImageTruth, point: tuple[float, float]) -> str | None:
    """Why a normalized point (x, y) is not on free table with `CLEARANCE_M` around it, None if it is."""
    where = _on_table(truth, point)
    (x0, x1), (y0, y1) = workspace.TABLE_X, workspace.TABLE_Y
    if not (x0 <= where[0] <= x1 and y0 <= where[1] <= y1 and abs(where[2] - workspace.TABLE_Z) <= _ON_TABLE_M):
        return "it is not on the table"
    for placed in truth.scene.objects:
        distance = float(distances(where[None, :2], truth.outline(placed))[0])
        if distance < CLEARANCE_M:
            return f"only {100 * distance:.1f} cm from {placed.id}"
    return None


def side_fault(truth: ImageTruth, point: tuple[float, float], side: Relation, reference: PlacedObject) -> str | None:
    """Why something small at a point would not stand on a side of the reference by the rules of the tasks, or None."""
    x, y, _ = _on_table(truth, point)
    probe = PlacedObject("it", _PROBE, (x, y, workspace.TABLE_Z), 0.0)
    centre = np.array([x, y, workspace.TABLE_Z + probe.asset.size_m[2] / 2])
    states = {**truth.states, "it": ObjectState("it", centre, np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(6))}
    scene = replace(truth.scene, objects=(*truth.scene.objects, probe))
    return relation_fault(side, "it", [reference.id], scene, states, truth.frame.T_base_camera)
