"""Image operations: `vision_ops.*`."""

from __future__ import annotations

from tool_nodes.kinds import Data, Unit
from tool_nodes.results import ErrorCode, ToolError, ToolResult
from tool_nodes.toolbox import tool


class VisionOps:
    """Reading single values out of arrays."""

    @tool("vision_ops.index_at", aliases=["image_ops.index_at"], renamed={"x": "u", "y": "v"})
    def index_at(self, data: Data, u: Unit, v: Unit) -> ToolResult:
        """Get the value of an array, such as a depth map, at a normalized image point.

        Args:
            data: Variable holding an array (H, W) or (H, W, C), e.g. $depth_map, $segmentation_mask or
                $captured_image.
            u: Normalized x-coordinate in [0, 1], from the left.
            v: Normalized y-coordinate in [0, 1], from the top.
        """
        is_cloud = data.ndim == 2 and data.shape[1] == 3
        if data.ndim not in (2, 3) or not data.size or is_cloud:
            raise ToolError(
                ErrorCode.INVALID_ARGUMENT,
                f"vision_ops.index_at: argument 'data' must have shape (H, W) or (H, W, C), got {data.shape}"
                f"{', a point cloud without rows and columns; use $depth_map' if is_cloud else ''}.",
            )
        h, w = data.shape[:2]
        value = data[min(int(v * h), h - 1), min(int(u * w), w - 1)]
        shown = value.tolist()
        return ToolResult(value=shown, text=f"Pixel value at ({u:.3f}, {v:.3f}) is {shown}")
