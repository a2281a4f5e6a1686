"""What a generated scene promises: free table on each side of an object. An oracle for the tests alone."""

from typing import cast

import numpy as np

from toolhand.sim.scene.scenes import (
    FREE_CLEARANCE,
    FREE_GAP,
    FREE_RADIUS,
    SIDES,
    Scene,
    Side,
    distances,
    footprint,
    in_cones,
    in_window,
    reachable_grid,
)
from toolhand.tool_nodes.types import FloatArray


def free_side(scene: Scene, object_id: str, side: Side) -> FloatArray | None:
    """A reachable spot of free table on one side of an object, as the scene camera sees sides.

    Args:
        scene: The scene.
        object_id: The object.
        side: "left", "right", "front" (nearer the camera) or "behind".

    Returns:
        Centre (2,) of a free disc of radius FREE_RADIUS [m], the one straightest to that side; None if there is none.
    """
    placed = scene.find(object_id)
    grid = reachable_grid(0.01)
    centre, direction = np.asarray(placed.position_m[:2]), np.asarray(SIDES[side])
    close = np.linalg.norm(grid - centre, axis=1) <= placed.asset.outer_radius + FREE_RADIUS + FREE_GAP[1]
    grid = grid[close & in_cones(grid - centre)[list(SIDES).index(side)]]
    grid = grid[in_window(distances(grid, footprint(placed)))]
    for other in scene.objects:
        if other.id != placed.id:
            grid = grid[distances(grid, footprint(other)) >= FREE_RADIUS + FREE_CLEARANCE]
    if not len(grid):
        return None
    offset = grid - centre
    straightness = offset @ direction / np.linalg.norm(offset, axis=1)
    return cast(FloatArray, grid[np.argmax(straightness)])
