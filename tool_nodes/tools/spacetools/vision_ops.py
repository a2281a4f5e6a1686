"""Image operations: `vision_ops.*` (`image_ops.*` of the SpaceTools appendix B.5)."""

from __future__ import annotations

import numpy as np

from toolhand.tool_nodes.drawing import WHITE
from toolhand.tool_nodes.perception.masks import window_of
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult, invalid
from toolhand.tool_nodes.toolbox.arguments import Data, ImageIndex, Mask, Points2D, UnitX, UnitY
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import tool

MIN_CROP_PX = 2
"""Smallest side of a crop [px]."""


class VisionOps:
    """Reading single values out of arrays, and cutting images."""

    suite = "spacetools"

    @tool(
        "vision_ops.index_at",
        aliases=["image_ops.index_at"],
        renamed={"x": "u", "y": "v"},
        example=Example(
            {"data": "$depth_map", "u": 0.349, "v": 0.545}, before=("depth_estimator.estimate_depth_with_pointcloud",)
        ),
    )
    def index_at(self, data: Data, u: UnitX, v: UnitY) -> ToolResult:
        """Get the value of an array, such as a depth map, at a normalized image point.

        Args:
            data: Variable holding an array (H, W) or (H, W, C), e.g. $depth_map, $segmentation_mask or
                $captured_image.
            u: Normalized x-coordinate in [0, 1], from the left.
            v: Normalized y-coordinate in [0, 1], from the top.
        """
        is_cloud = data.ndim == 2 and data.shape[1] == 3
        if data.ndim not in (2, 3) or not data.size or is_cloud:
            raise invalid(
                f"vision_ops.index_at: argument 'data' must have shape (H, W) or (H, W, C), got {data.shape}"
                f"{', a point cloud without rows and columns; use $depth_map' if is_cloud else ''}."
            )
        h, w = data.shape[:2]
        value = data[min(int(v * h), h - 1), min(int(u * w), w - 1)]
        shown = value.tolist()
        return ToolResult(value=shown, text=f"Pixel value at ({u:.3f}, {v:.3f}) is {shown}")

    @tool(
        "vision_ops.point_crop",
        aliases=["image_ops.point_crop"],
        makes=("cropped_image",),
        renamed={"image": "image_index"},
        example=Example({"image_index": 0, "points": [[0.3, 0.45], [0.4, 0.66]]}),
    )
    def point_crop(self, image_index: ImageIndex, points: Points2D) -> ToolResult:
        """Crop an image to the smallest box that holds all given points.

        Args:
            image_index: Index of the image to crop.
            points: List of normalized [x, y] points; they must span at least 2 pixels in width and in height.
        """
        if not len(points):
            raise invalid("vision_ops.point_crop: argument 'points' is an empty list.")
        size = image_index.size
        pixels = np.minimum((np.asarray(points, float) * size).astype(int), np.array(size) - 1)
        (left, top), (right, bottom) = pixels.min(axis=0).tolist(), (pixels.max(axis=0) + 1).tolist()
        _require_size("vision_ops.point_crop", "the points span", right - left, bottom - top)
        crop = image_index.cropped(left, top, right, bottom)
        width, height = crop.size
        return ToolResult(
            value=crop.rgb,
            text=f"Cropped the image to box ({left}, {top}, {right}, {bottom}) of {width}x{height} px around "
            f"{len(points)} point(s). Use $cropped_image (image, {height}x{width}x3) to reference it.",
            image=crop.rgb,
            variables={"cropped_image": crop},
            source=crop,
        )

    @tool(
        "vision_ops.mask_crop",
        aliases=["image_ops.mask_crop"],
        makes=("masked_crop",),
        renamed={"image": "image_index"},
        example=Example({"image_index": 0, "mask": "$segmentation_mask"}, before=("sam2.segment_from_point",)),
    )
    def mask_crop(self, image_index: ImageIndex, mask: Mask) -> ToolResult:
        """Crop an image to the tight bounding box of a mask; pixels outside the mask become white.

        Args:
            image_index: Index of the image to crop.
            mask: Variable holding the segmentation mask (H, W) of that image.
        """
        width, height = image_index.size
        if mask.shape != (height, width):
            raise invalid(
                f"vision_ops.mask_crop: argument 'mask' has shape {mask.shape}, but the image is {width}x{height}, "
                f"which needs ({height}, {width})."
            )
        if not mask.any():
            raise ToolError(
                ErrorCode.EMPTY_MASK, "vision_ops.mask_crop: the mask is empty.", "Segment an object first."
            )
        rows, columns = window_of(mask)
        box = columns.start, rows.start, columns.stop, rows.stop
        _require_size("vision_ops.mask_crop", "the mask spans", box[2] - box[0], box[3] - box[1])
        crop = _on_white(image_index.cropped(*box), mask[rows, columns])
        width, height = crop.size
        shown = ", ".join(map(str, box))
        return ToolResult(
            value=crop.rgb,
            text=f"Cropped the masked region to box ({shown}) of {width}x{height} px. The mask covers "
            f"{100.0 * mask.mean():.1f}% of the image and {100.0 * mask[rows, columns].mean():.1f}% of the crop. "
            f"Use $masked_crop (image, {height}x{width}x3) to reference it.",
            image=crop.rgb,
            variables={"masked_crop": crop},
            source=crop,
        )


def _require_size(tool_name: str, what: str, width: int, height: int) -> None:
    if min(width, height) < MIN_CROP_PX:
        raise invalid(
            f"{tool_name}: {what} {width}x{height} px, but a crop needs at least {MIN_CROP_PX}x{MIN_CROP_PX} px."
        )


def _on_white(image: SessionImage, mask: np.ndarray) -> SessionImage:
    """The image with white where the mask (H, W) is false."""
    return image.redrawn(np.where(mask[..., None], image.rgb, np.array(WHITE, np.uint8)))
