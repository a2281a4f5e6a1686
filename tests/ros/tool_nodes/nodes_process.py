"""All tool nodes but motion and agent in one process; prints "ready" once they spin.

Arguments for single nodes work as usual, e.g. `--ros-args -p perception:=pixels -r __ns:=/pixels`.
"""

import rclpy
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor

from toolhand.tool_nodes.nodes.bounding_box_node import BoundingBoxNode
from toolhand.tool_nodes.nodes.camera_node import CameraNode
from toolhand.tool_nodes.nodes.depth_node import DepthNode
from toolhand.tool_nodes.nodes.grasping_node import GraspingNode
from toolhand.tool_nodes.nodes.pointing_node import PointingNode
from toolhand.tool_nodes.nodes.segmentation_node import SegmentationNode

rclpy.init()
executor = MultiThreadedExecutor(num_threads=8)
for make in (CameraNode, PointingNode, SegmentationNode, DepthNode, BoundingBoxNode, GraspingNode):
    executor.add_node(make())
print("ready", flush=True)
try:
    executor.spin()
except (KeyboardInterrupt, ExternalShutdownException):
    pass
finally:
    rclpy.try_shutdown()
