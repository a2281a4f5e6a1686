"""ROS 2 node `bounding_box`: oriented boxes around masked points, as the service compute_bounding_box."""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import Point, Vector3
from rclpy.node import Node
from toolhand_interfaces.srv import ComputeBoundingBox
from vision_msgs.msg import Point2D

from toolhand.tool_nodes import registry
from toolhand.tool_nodes.port_names import DEFAULT_BOXES
from toolhand.tool_nodes.ros import parameters
from toolhand.tool_nodes.ros.messages import image_to_mask, message_to_cloud
from toolhand.tool_nodes.ros.spinning import run_node
from toolhand.tool_nodes.ros.status import answering, success, use_tool
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox
from toolhand.tool_nodes.tools.spacetools.bounding_box import BoundingBoxTools


class BoundingBoxNode(Node):
    """Serves the box around an object; its parameter `boxes` names what puts it there. It has no memory."""

    def __init__(self) -> None:
        super().__init__("bounding_box")
        name = (
            parameters.one(self, "boxes", "", "What puts boxes around objects; empty: the usual one") or DEFAULT_BOXES
        )
        self._toolbox = Toolbox([BoundingBoxTools(registry.make("boxes", name))])
        self.create_service(ComputeBoundingBox, "compute_bounding_box", self._on_compute)

    def _on_compute(self, request: Any, response: Any) -> Any:
        with answering(self, response, "compute_bounding_box"):
            session = Session({"cloud": message_to_cloud(request.point_cloud), "mask": image_to_mask(request.mask)})
            arguments = {"point_cloud": "$cloud", "mask": "$mask", "focal_length_px": request.focal_length}
            result = use_tool(self._toolbox, "bounding_box.compute_bbox", arguments, session)
            box = result.value
            response.corners = [Point(x=x, y=y, z=z) for x, y, z in box["corners_3d"]]
            response.corners_2d = [Point2D(x=x, y=y) for x, y in box["corners_2d"]]
            response.edges = np.array(box["edges"], np.uint8).reshape(-1).tolist()
            response.extent = Vector3(**dict(zip("xyz", map(float, box["extent"]), strict=True)))
            response.status = success(result.text)
        return response


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    run_node(BoundingBoxNode, args)


if __name__ == "__main__":
    main()
