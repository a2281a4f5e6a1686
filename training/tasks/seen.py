"""What the scene camera sees of a scene, by the scene's own solids: the truth of every question about an image.

No perception has a part in it: ids are those of the rendered image, poses and meshes those of the scene.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from toolhand.sim.camera.ray import jittered, object_of_geom, scene_camera
from toolhand.sim.camera.ray_casting import OPAQUE, RayView, RayWorld
from toolhand.sim.scene.scenes import PlacedObject, Scene
from toolhand.tool_nodes.geometry import invert, pose, project, transform
from toolhand.tool_nodes.types import BoolArray, FloatArray
from toolhand.training.rewards.shapes import area, convex_hull

TRUTH_SIZE = (320, 240)
"""(width, height) of the image that truth is read from [px]: a cheap one, whose ids are those of larger ones."""
LEAST_PIXELS = 90
"""Fewest visible pixels of an object that is asked about [px of TRUTH_SIZE]."""
LEAST_SEEN = 0.9
"""Share of an object's outline that must be visible for a question about it [-]: a hidden corner makes its box and its
middle a matter of opinion."""


class SeenScene:
    """A scene as the scene camera sees it before anything moves; the robot is out of view then.

    Attributes:
        ids: int (H, W), index of the object that each pixel shows, -1 where none; the image has TRUTH_SIZE.
        depth: float (H, W), along the optical axis [m], infinite where no object is.
        T_base_camera: (4, 4) true pose of the camera.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        camera = jittered(scene_camera(TRUTH_SIZE), scene)
        self._K, self.T_base_camera = camera.K, camera.T_base_camera
        spec = mujoco.MjSpec()
        for index, placed in enumerate(scene.objects):
            placed.add_to(spec, index)
        model = spec.compile()
        data = mujoco.MjData(model)
        world = RayWorld(model)
        world.refresh(data)
        view = RayView(camera.K, TRUTH_SIZE)
        view.place(camera.T_base_camera)
        width, height = TRUTH_SIZE
        geom, depth = np.full(width * height, -1), np.full(width * height, np.inf)
        pixels, hits = world.cast(view, OPAQUE)
        geom[pixels], depth[pixels] = hits.geom, hits.depth
        bodies = {model.body(placed.id).id: index for index, placed in enumerate(scene.objects)}
        self.ids: NDArray[np.int32] = object_of_geom(model, bodies)[geom].reshape(height, width)
        self.depth = depth.reshape(height, width)

    def project(self, points: FloatArray) -> FloatArray:
        """Normalized image points (N, 2) of points (N, 3) in the base frame [m]."""
        # Pixel (u, v) is the middle of its square, which begins at u / width.
        return (project(transform(invert(self.T_base_camera), points), self._K) + 0.5) / TRUTH_SIZE

    def mask(self, placed: PlacedObject) -> BoolArray:
        """(H, W), where the image shows an object."""
        return np.asarray(self.ids == self.scene.objects.index(placed))

    def region(self, placed: PlacedObject) -> FloatArray:
        """Normalized image points (K, 2): the hull of the visible pixels of an object, their whole squares."""
        rows, columns = np.nonzero(self.mask(placed))
        corners = np.concatenate([np.column_stack([columns + dx, rows + dy]) for dx in (0, 1) for dy in (0, 1)])
        return np.asarray(convex_hull(corners / TRUTH_SIZE), np.float64)

    def box(self, placed: PlacedObject) -> FloatArray:
        """(x1, y1, x2, y2) around the visible pixels of an object, normalized."""
        region = self.region(placed)
        return np.concatenate([region.min(axis=0), region.max(axis=0)])

    def clear(self, placed: PlacedObject) -> bool:
        """Whether an object is large enough in the image, whole, and not hidden, so that it may be asked about."""
        if placed.asset.colour == "transparent" or int(self.mask(placed).sum()) < LEAST_PIXELS:
            return False
        outline = self.project(surface_points(placed))
        inside = bool(((outline > 0.01) & (outline < 0.99)).all())
        return inside and area(self.region(placed)) >= LEAST_SEEN * area(convex_hull(outline))

    def distance(self, placed: PlacedObject) -> float:
        """Of an object's middle from the camera, along the optical axis [m]."""
        return float(transform(invert(self.T_base_camera), np.array([placed.position_m]))[0, 2])

    def nearest(self, placed: PlacedObject) -> float:
        """Of the nearest visible part of an object from the camera, along the optical axis [m]."""
        return float(self.depth[self.mask(placed)].min())


def T_base_object(placed: PlacedObject) -> FloatArray:
    """(4, 4) true pose of an object before anything moves."""
    return pose(placed.rotation, placed.position_m)


def surface_points(placed: PlacedObject) -> FloatArray:
    """(K, 3) points of the object's mesh whose hull is the object's, base frame [m]."""
    return transform(T_base_object(placed), placed.asset.hull_points)


def corners(placed: PlacedObject) -> FloatArray:
    """(8, 3) corners of the box around an object along its own axes, base frame [m]."""
    signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return transform(T_base_object(placed), signs * extents(placed) / 2)


def extents(placed: PlacedObject) -> FloatArray:
    """(3,) of an object's mesh along its own axes, z up [m]."""
    points = placed.asset.hull_points
    return np.asarray(points.max(axis=0) - points.min(axis=0))
