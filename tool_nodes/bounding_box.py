"""Oriented 3D boxes: `bounding_box.compute_bbox` (3d_bbox in the SpaceTools appendix B.5)."""

from __future__ import annotations

import numpy as np

from tool_nodes.geometry import intrinsics, project
from tool_nodes.grasping import require_matching
from tool_nodes.kinds import FocalLength, Mask, PointCloud
from tool_nodes.results import ErrorCode, ToolError, ToolResult
from tool_nodes.toolbox import tool
from tool_nodes.types import FloatArray

EDGES = ((0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7))
_SIGNS = np.array([(-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1), (-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)])


def oriented_box(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Corners (8, 3) and extent (3,) of the box along the principal axes of points (N, 3); 1 % outliers ignored."""
    centre = points.mean(axis=0)
    _, _, axes = np.linalg.svd(points - centre, full_matrices=False)
    axes[2] = np.cross(axes[0], axes[1])
    local = (points - centre) @ axes.T
    low, high = np.percentile(local, (0.5, 99.5), axis=0)
    extent = high - low
    corners = centre + ((low + high) / 2 + _SIGNS * extent / 2) @ axes
    return corners, extent


class BoundingBoxTools:
    """Boxes around masked points."""

    @tool("bounding_box.compute_bbox", aliases=["3d_bbox.compute_bbox"])
    def compute_bbox(self, point_cloud: PointCloud, mask: Mask, focal_length_px: FocalLength) -> ToolResult:
        """Compute an oriented bounding box for a masked subset of a point cloud, in the camera frame.

        Args:
            point_cloud: Variable holding the point cloud (H*W, 3) of the image.
            mask: Variable holding the segmentation mask (H, W) of the object.
            focal_length_px: Focal length in pixels.
        """
        flat = require_matching("bounding_box.compute_bbox", point_cloud, mask)
        points = np.asarray(point_cloud[flat], float)
        points = points[np.isfinite(points).all(axis=1)]
        if len(points) < 4:
            raise ToolError(ErrorCode.NO_DEPTH, f"Only {len(points)} masked points have depth; at least 4 are needed.")
        corners, extent = oriented_box(points)
        h, w = mask.shape
        normalized = project(corners, intrinsics(focal_length_px, w, h)) / np.array([w, h])
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
