"""How an object lies among others, by the simulator's truth: how much of it is seen, and whether anything rests on
it."""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray

from toolhand.sim.camera.ray_casting import OPAQUE, RayView, RayWorld
from toolhand.sim.objects.asset import least_width
from toolhand.sim.station import Station

_UNSEEN = 5
"""Group of geoms that no camera shows: of MuJoCo's groups 0 to 5, cameras show 0 to 2."""


def fits(station: Station, index: int) -> bool:
    """Whether jaws from above open as wide as an object is narrow, as it lies; indices as in `visible_share`."""
    world = station.world
    placed = world.scene.objects[index]
    R = world.data.body(placed.id).xmat.reshape(3, 3)
    return least_width(placed.asset.hull_points @ R[:2].T) <= station.robot.gripper.max_width


def visible_share(station: Station, index: int, ids: NDArray[np.int32]) -> float | None:
    """Pixels of an object that are seen, over those that the same camera would show of it without other objects and
    robot.

    Args:
        station: The station, as it was when the image was taken.
        index: Index of the object in `station.world.scene.objects`.
        ids: (H, W) indices of objects in the image of the scene camera.

    Returns:
        A share in [0, 1]; None for an object that would not be seen either, as one of clear plastic.
    """
    world = station.world
    body = world.model.body(world.scene.objects[index].id).id
    model = copy.copy(world.model)
    model.geom_group[model.body_rootid[model.geom_bodyid] != body] = _UNSEEN
    alone = RayWorld(model)
    alone.refresh(world.data)
    camera = station.scene_camera((ids.shape[1], ids.shape[0]))
    view = RayView(camera.K, camera.size)
    view.place(camera.T_base_camera)
    whole = len(alone.cast(view, OPAQUE)[0])
    # Another renderer may show a pixel at the edge that rays pass by, and the table hides one at a foot.
    return round(min(1.0, float(np.count_nonzero(ids == index)) / whole), 4) if whole else None
