"""Oriented 3D boxes: `bounding_box.compute_bbox` (3d_bbox in the SpaceTools appendix B.5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.spatial import ConvexHull, QhullError

from toolhand.tool_nodes.clouds.boxes import SIGNS
from toolhand.tool_nodes.geometry import intrinsics, principal_point, project
from toolhand.tool_nodes.perception.masks import dilated, eroded, window_of
from toolhand.tool_nodes.ports import BoxFitter
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.arguments import FocalLength, Mask, PointCloud
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.toolbox.toolbox import tool
from toolhand.tool_nodes.tools.spacetools.grasping import require_matching
from toolhand.tool_nodes.types import BoolArray, FloatArray

EDGES = ((0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7))
"""Pairs of corners, indices into the (8, 3) array, that an edge joins."""
_TRIM = (0.5, 99.5)
"""Percentiles of the points that the box spans: single stray points do not stretch it."""

_ON_PLANE_M = 0.005
"""Points nearer than this to a plane lie on it [m]."""
_ABOVE_PLANE_M = 0.006
"""A point this far over the support belongs to the object [m]."""

_STANDS_M = 0.04
"""An object whose lowest seen point is higher than this over the plane stands on something else [m]."""

_MIN_SUPPORT = 0.3
"""Share of the surroundings that a plane must hold to be the support."""


_STEEP = 3.0
"""A surface of the object goes back by up to this from one pixel to the next, times a pixel's side at its depth: it is
seen at 70 degrees from head on. What falls back by more at the outline is mixed with the background [-]."""

_REACH_PX = 0.1
"""How far an edge lies beyond the outermost of the pixels whose middle is on the object, as many pixels along a slanted
edge tell, and what `_TRIM` takes off [px]; measured on ray-cast boxes at 160x120, where the least error is."""

_SEEN_END_ON = 0.3
"""A direction that is seen more end on than this, over its length, is not made longer by more [-]; a round figure."""


def support_plane(around: FloatArray, points: FloatArray, seed: int = 0) -> tuple[FloatArray, float] | None:
    """The plane that an object stands on, from the cloud around it; the frame's own "down" need not be known.

    Args:
        around: (M, 3) points near the object that are not part of it [m].
        points: (N, 3) points of the object [m].
        seed: Seeds the sampling of planes.

    Returns:
        Unit normal (3,) towards the object and offset, normal @ x = offset on the plane; None where no plane holds
        enough of the surroundings or the object is not on one side of it.
    """
    if len(around) < 50:
        return None
    rng = np.random.default_rng(seed)
    sample = around[rng.choice(len(around), min(len(around), 1500), replace=False)]
    corners = sample[rng.integers(len(sample), size=(200, 3))]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normals, axis=1)
    normals = normals[length > 1e-9] / length[length > 1e-9, None]
    if not len(normals):
        return None
    offsets = (normals * corners[length > 1e-9, 0]).sum(axis=1)
    # Written out, because the threads of BLAS cost more than they save on so few numbers.
    x, y, z = sample.T
    nx, ny, nz = normals.T[:, :, None]
    distance = nx * x
    distance += ny * y
    distance += nz * z
    distance -= offsets[:, None]
    near = np.abs(distance, out=distance) < _ON_PLANE_M
    best = near[int(near.sum(axis=1).argmax())]
    if best.mean() < _MIN_SUPPORT:
        return None
    centre = sample[best].mean(axis=0)
    normal = np.linalg.svd(sample[best] - centre, full_matrices=False)[2][2]
    heights = (points - centre) @ normal
    if heights.mean() < 0:
        normal, heights = -normal, -heights
    return (normal, float(normal @ centre)) if np.percentile(heights, 5) > -2 * _ON_PLANE_M else None


def _rectangle(flat: FloatArray) -> tuple[float, FloatArray]:
    """Least area [m^2] of a rectangle around points (N, 2), and the unit direction (2,) of one of its sides."""
    try:
        hull = flat[ConvexHull(flat).vertices]
    except QhullError:  # all in one line
        hull = flat
    edges = np.roll(hull, -1, axis=0) - hull
    length = np.linalg.norm(edges, axis=1)
    u = edges[length > 1e-9] / length[length > 1e-9, None]
    if not len(u):
        return 0.0, np.array([1.0, 0.0])
    x, y = np.ascontiguousarray(flat.T)
    ux, uy = u[:, :1], u[:, 1:]
    spans = [np.diff(np.percentile(values, _TRIM, axis=1), axis=0)[0] for values in (ux * x + uy * y, ux * y - uy * x)]
    areas = spans[0] * spans[1]
    return float(areas.min()), u[int(areas.argmin())]


def _axes(points: FloatArray, up: FloatArray) -> tuple[FloatArray, float]:
    """Right-handed axes (3, 3), rows, the last one `up`, the first along the longer side; and the box's volume."""
    first = np.cross(up, np.eye(3)[int(np.abs(up).argmin())])
    first /= np.linalg.norm(first)
    plane = np.stack([first, np.cross(up, first)])
    area, direction = _rectangle(points @ plane.T)
    side = direction @ plane
    axes = np.stack([side, np.cross(up, side), up])
    spans = np.diff(np.percentile(points @ axes.T, _TRIM, axis=0), axis=0)[0]
    if spans[1] > spans[0]:
        axes = np.stack([axes[1], -axes[0], up])
    return axes, area * float(spans[2])


def oriented_box(
    points: FloatArray, around: FloatArray | None = None, pixel: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """The box of an object that is seen from one side.

    An object that stands on a plane is given a box that stands on it too, down to the plane, with the smallest
    footprint. Where there is no such plane, it is the smallest box along one of the principal axes of what is seen.

    Args:
        points: (N, 3) points of the object [m], N >= 4.
        around: (M, 3) points near it that are not part of it [m].
        pixel: Side of a pixel at a distance of one [-], 1 / focal length in px: the object goes on for a part of a
            pixel beyond the outermost points. 0 for points that are no pixels.

    Returns:
        Corners (8, 3) [m], bottom four first, and extent (3,) [m]: longer side, shorter side, height.
    """
    plane = None if around is None else support_plane(around, points)
    if plane is not None:
        normal, offset = plane
        heights = points @ normal - offset
        solid = points[heights > _ABOVE_PLANE_M]
        points = solid if len(solid) > len(points) / 2 else points
        axes = _axes(points, normal)[0]
    else:
        principal = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2]
        axes = min((_axes(points, up) for up in principal), key=lambda found: found[1])[0]
    low, high = np.percentile(points @ axes.T, _TRIM, axis=0)
    if pixel:
        edge = _outline_reach(points, axes[:2], pixel)
        low[:2], high[:2] = low[:2] - edge, high[:2] + edge
    if plane is not None and low[2] - plane[1] < _STANDS_M:
        low[2] = plane[1]
    extent = high - low
    return ((low + high) / 2 + SIGNS * extent / 2) @ axes, extent


def _outline_reach(points: FloatArray, axes: FloatArray, pixel: float) -> FloatArray:
    """(K,) how far an object goes on beyond its outermost points (N, 3) along each axis, rows of (K, 3) [m]."""
    middle = points.mean(axis=0)
    across = axes - np.outer(axes @ middle, middle) / (middle @ middle)
    reach: FloatArray = _REACH_PX * pixel * middle[2] / np.maximum(np.linalg.norm(across, axis=1), _SEEN_END_ON)
    return reach


def _solid(mask: BoolArray, cloud: NDArray[np.floating], focal_length_px: float) -> BoolArray:
    """The mask (H, W) without pixels of its outline whose depth may be mixed with the background's.

    Those are the ones that are farther than every pixel beside them that is no outline by more than a steep surface
    would be.
    """
    kept = np.zeros_like(mask)
    if not mask.any():
        return kept
    window = window_of(mask, margin=1)
    part = mask[window]
    depth = cloud[:, 2].reshape(mask.shape)[window].astype(float)
    core = eroded(part) & np.isfinite(depth)
    inside = ndimage.maximum_filter(np.where(core, depth, -np.inf), 3)
    steep = _STEEP * depth / focal_length_px
    with np.errstate(invalid="ignore"):
        mixed = part & ~core & (depth > inside + steep)
    kept[window] = part & ~mixed
    return kept if 2 * np.count_nonzero(kept) > np.count_nonzero(mask) else mask


def _around(cloud: NDArray[np.floating], mask: BoolArray, points: FloatArray) -> FloatArray:
    """Points (M, 3) of the cloud outside the mask, as near to the object as it is large, plus a hand's breadth."""
    centre = np.median(points, axis=0)
    radius = float(np.percentile(np.linalg.norm(points - centre, axis=1), 95)) + 0.08
    own = window_of(mask, margin=3)
    kept = np.ones(mask.shape, dtype=bool)
    kept[own] = ~dilated(dilated(dilated(mask[own])))
    near = np.flatnonzero(np.abs(cloud[:, 0] - np.float32(centre[0])) < radius + 1e-4)
    near = near[np.abs(cloud[near, 1] - centre[1]) < radius]
    outside = cloud[near[kept.reshape(-1)[near]]]
    return outside[np.linalg.norm(outside - centre, axis=1) < radius].astype(float)


class StandingBoxes:
    """The port BoxFitter with `oriented_box`: an object stands on what is around it."""

    backend = "standing"

    def box(
        self, points: FloatArray, around: FloatArray | None = None, pixel: float = 0.0
    ) -> tuple[FloatArray, FloatArray]:
        """See ports.BoxFitter."""
        return oriented_box(points, around, pixel)


class BoundingBoxTools:
    """Boxes around masked points.

    Args:
        fitter: The backend that puts a box around points.
    """

    suite = "spacetools"

    def __init__(self, fitter: BoxFitter | None = None) -> None:
        self._fitter = fitter or StandingBoxes()

    @tool(
        "bounding_box.compute_bbox",
        aliases=["3d_bbox.compute_bbox"],
        makes=("obb_corners_3d", "obb_corners_2d", "extent", "edges"),
        example=Example(
            {"point_cloud": "$point_cloud", "mask": "$segmentation_mask", "focal_length_px": "$focal_length_px"},
            before=("depth_estimator.estimate_depth_with_pointcloud", "sam2.segment_from_point"),
        ),
    )
    def compute_bbox(self, point_cloud: PointCloud, mask: Mask, focal_length_px: FocalLength) -> ToolResult:
        """Compute an oriented bounding box for a masked subset of a point cloud, in the camera frame.

        Args:
            point_cloud: Variable holding the point cloud (H*W, 3) of the image.
            mask: Variable holding the segmentation mask (H, W) of the object.
            focal_length_px: Focal length in pixels.
        """
        require_matching("bounding_box.compute_bbox", point_cloud, mask)
        return self.box(point_cloud, mask, focal_length_px)

    def box(self, point_cloud: NDArray[np.float32], mask: BoolArray, focal_length_px: float) -> ToolResult:
        """The result for a cloud (H*W, 3) [m] and a mask (H, W) that fit each other. Raises ToolError NO_DEPTH."""
        points = np.asarray(point_cloud[_solid(mask, point_cloud, focal_length_px).reshape(-1)], float)
        points = points[np.isfinite(points).all(axis=1)]
        if len(points) < 4:
            raise ToolError(ErrorCode.NO_DEPTH, f"Only {len(points)} masked points have depth; at least 4 are needed.")
        corners, extent = self._fitter.box(points, _around(point_cloud, mask, points), 1.0 / focal_length_px)
        h, w = mask.shape
        K = intrinsics(focal_length_px, w, h)
        K[:2, 2] = principal_point(point_cloud, (w, h), focal_length_px)
        normalized = project(corners, K) / np.array([w, h])
        corners_3d = np.round(corners, 4).tolist()
        corners_2d = np.round(normalized, 4).tolist()
        return ToolResult(
            value={"corners_3d": corners_3d, "corners_2d": corners_2d, "edges": EDGES, "extent": extent},
            text=f"Computed oriented bounding box from {len(points)} points (mask {h}x{w}). "
            f"Extent: [{', '.join(f'{e:.3f}' for e in extent)}] m. Corners 3D: {corners_3d}. Corners 2D: {corners_2d}. "
            f"Edges: {[list(e) for e in EDGES]}. Use $obb_corners_3d, $obb_corners_2d, $extent and $edges to reference "
            "them.",
            variables={
                "obb_corners_3d": corners_3d,
                "obb_corners_2d": corners_2d,
                "extent": extent,
                "edges": [list(e) for e in EDGES],
            },
        )
