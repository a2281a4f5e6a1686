"""Depth tools: `depth_estimator.*`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.drawing import colourize_depth
from toolhand.tool_nodes.geometry import backproject
from toolhand.tool_nodes.perception.prompts import depth_by
from toolhand.tool_nodes.ports import Answer, DepthEstimator
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.arguments import ImageIndex
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import tool

DepthAndFocal = tuple[NDArray[np.float32], float]
"""Depth (H, W) [m], and the focal length [px]."""


def depth_range(depth: NDArray[np.float32]) -> str:
    """Text such as "0.61m to 1.40m (mean: 0.98m)" of a depth map (H, W) [m]. Raises ToolError NO_DEPTH."""
    known = depth[np.isfinite(depth)]
    if not known.size:
        raise ToolError(ErrorCode.NO_DEPTH, "The depth map holds no valid depth.", "Check the depth camera.")
    return f"{known.min():.2f}m to {known.max():.2f}m (mean: {known.mean():.2f}m)"


def shown_depth(depth: NDArray[np.float32], bar: bool) -> dict[str, Any]:
    """The image of a result, depth (H, W) [m] as colours, which no tool can look for objects in."""
    rgb = colourize_depth(depth, bar=bar)
    return {"image": rgb, "source": SessionImage(rgb, shows="depth")}


def cloud_of(depth: NDArray[np.float32], focal_px: float, image: SessionImage) -> NDArray[np.float32]:
    """The points (H*W, 3) [m] of an image's depth map (H, W) [m], in the frame of the camera that took it."""
    return backproject(depth, image.intrinsics(focal_px))


class DepthTools:
    """Metric depth by Depth Pro, or by whichever backend stands behind the DepthEstimator port."""

    suite = "spacetools"

    def __init__(self, estimator: DepthEstimator) -> None:
        self._estimator = estimator

    @tool(
        "depth_estimator.estimate_depth",
        renamed={"image": "image_index"},
        makes=("depth_map", "focal_length_px"),
        example=Example({"image_index": 0}),
    )
    def estimate_depth(self, image_index: ImageIndex) -> ToolResult:
        """Estimate metric depth of an image.

        Args:
            image_index: Index of the image.
        """
        return depth_result(depth_by(self._estimator, image_index))

    @tool(
        "depth_estimator.estimate_depth_with_pointcloud",
        renamed={"image": "image_index"},
        makes=("depth_map", "point_cloud", "focal_length_px"),
        example=Example({"image_index": 0}),
    )
    def estimate_depth_with_pointcloud(self, image_index: ImageIndex) -> ToolResult:
        """Estimate metric depth of an image and the 3D point cloud in camera coordinates.

        Args:
            image_index: Index of the image.
        """
        return cloud_result(depth_by(self._estimator, image_index), image_index)


def depth_result(answer: Answer[DepthAndFocal]) -> ToolResult:
    """What the estimate of an image's depth is to the one who called the tool. Raises ToolError NO_DEPTH."""
    depth, focal = answer.value
    h, w = depth.shape
    return ToolResult(
        value={"depth_map": depth, "focal_length_px": focal, "width": w, "height": h},
        text=f"Estimated depth map for {w}x{h} image. Focal length: {focal:.1f}px. "
        f"Depth range: {depth_range(depth)}. Use $depth_map (numpy array, {h}x{w}) to reference the depth data and "
        "$focal_length_px (float) to reference the focal length.",
        **shown_depth(depth, bar=True),
        variables={"depth_map": depth, "focal_length_px": focal},
        backend=answer.backend,
    )


def cloud_result(answer: Answer[DepthAndFocal], image: SessionImage) -> ToolResult:
    """The same with the points (H*W, 3) of the image."""
    depth, focal = answer.value
    h, w = depth.shape
    cloud = cloud_of(depth, focal, image)
    return ToolResult(
        value={"depth_map": depth, "point_cloud": cloud, "focal_length_px": focal, "width": w, "height": h},
        text=f"Generated {w}x{h} depth map and {len(cloud):,} 3D points. "
        f"Depth range in point cloud: {depth_range(depth)}. Use $depth_map (numpy array, {h}x{w}), "
        f"$point_cloud (numpy array, {len(cloud)}x3) and $focal_length_px (float) to reference the results.",
        **shown_depth(depth, bar=True),
        variables={"depth_map": depth, "point_cloud": cloud, "focal_length_px": focal},
        backend=answer.backend,
    )
