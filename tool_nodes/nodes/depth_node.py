"""ROS 2 node `depth`: metric depth of a picture, as the service estimate_depth."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from toolhand_interfaces.srv import EstimateDepth

from tool_nodes.ros.backends import Perception, load_perception
from tool_nodes.ros.frame_memory import FrameMemory
from tool_nodes.ros.messages import cloud_to_message, depth_to_image, header_of
from tool_nodes.ros.spinning import run_node
from tool_nodes.ros.status import answering, success, use_tool, visualization
from tool_nodes.toolbox.images import SessionImage
from tool_nodes.toolbox.toolbox import Session, Toolbox
from tool_nodes.tools.spacetools.depth import DepthTools, cloud_of
from tool_nodes.types import Frame


class DepthNode(Node):
    """Serves a DepthEstimator. Parameters: `perception`, `seed`."""

    def __init__(self) -> None:
        super().__init__("depth")
        load_perception(self, self._use)
        group = MutuallyExclusiveCallbackGroup()  # the default group stays free for parameters
        self.create_service(EstimateDepth, "estimate_depth", self._on_estimate, callback_group=group)

    def _use(self, perception: Perception) -> None:
        self._perception = perception
        self._frames = FrameMemory()

    def _on_estimate(self, request: Any, response: Any) -> Any:
        with answering(self, response, "estimate_depth"):
            frame = self._frames.take(request)
            header, picture = header_of(frame), SessionImage(frame.rgb, frame)
            depth, focal_px = self._perception.estimate(frame)
            response.depth = depth_to_image(depth, header)
            response.focal_length = float(focal_px)
            if request.with_point_cloud:
                response.point_cloud = cloud_to_message(cloud_of(depth, focal_px, picture), frame.size, header)
            response.status = success("", self._perception.backend)
            if not request.data_only:
                tool = "estimate_depth_with_pointcloud" if request.with_point_cloud else "estimate_depth"
                toolbox = Toolbox([DepthTools(_Estimated(depth, focal_px, self._perception.backend))])
                session = Session(images=[picture])
                result = use_tool(toolbox, f"depth_estimator.{tool}", {"image_index": 0}, session)
                response.visualization = visualization(result, header)
                response.status = success(result.text, result.backend)
        return response


class _Estimated:
    """A DepthEstimator that says what was estimated before."""

    def __init__(self, depth: NDArray[np.float32], focal_px: float, backend: str) -> None:
        self._answer = depth, focal_px
        self.backend = backend

    def estimate(self, frame: Frame) -> tuple[NDArray[np.float32], float]:
        """See ports.DepthEstimator."""
        return self._answer


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    run_node(DepthNode, args)


if __name__ == "__main__":
    main()
