"""ROS 2 node `depth`: metric depth of an image, as the service estimate_depth."""

from __future__ import annotations

from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from toolhand_interfaces.srv import EstimateDepth

from toolhand.tool_nodes.perception.prompts import depth_by
from toolhand.tool_nodes.ports import DepthEstimator
from toolhand.tool_nodes.ros.backends import load_backends
from toolhand.tool_nodes.ros.frame_memory import FrameMemory
from toolhand.tool_nodes.ros.images import header_for, take_image
from toolhand.tool_nodes.ros.messages import cloud_to_message, depth_to_image
from toolhand.tool_nodes.ros.spinning import run_node
from toolhand.tool_nodes.ros.status import answering, success, visualization
from toolhand.tool_nodes.tools.spacetools.depth import cloud_of, cloud_result, depth_result


class DepthNode(Node):
    """Serves a DepthEstimator. Parameters: `perception`, `depth`, `seed`."""

    def __init__(self) -> None:
        super().__init__("depth")
        load_backends(self, self._use, "depth")
        group = MutuallyExclusiveCallbackGroup()  # the default group stays free for parameters
        self.create_service(EstimateDepth, "estimate_depth", self._on_estimate, callback_group=group)

    def _use(self, estimator: DepthEstimator) -> None:
        self._estimator = estimator
        self._frames = FrameMemory()

    def _on_estimate(self, request: Any, response: Any) -> Any:
        with answering(self, response, "estimate_depth"):
            image = take_image(request, self._frames)
            header = header_for(image)
            answer = depth_by(self._estimator, image)
            depth, focal_px = answer.value
            response.depth = depth_to_image(depth, header)
            response.focal_length = float(focal_px)
            if request.with_point_cloud:
                response.point_cloud = cloud_to_message(cloud_of(depth, focal_px, image), image.size, header)
            response.status = success("", answer.backend)
            if not request.data_only:
                result = cloud_result(answer, image) if request.with_point_cloud else depth_result(answer)
                response.visualization = visualization(result, header)
                response.status = success(result.text, result.backend)
        return response


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    run_node(DepthNode, args)


if __name__ == "__main__":
    main()
