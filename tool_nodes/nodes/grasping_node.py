"""ROS 2 node `grasping`: collision-free grasps that the arm can reach, as the service compute_grasp."""

from __future__ import annotations

from typing import Any

from geometry_msgs.msg import PoseStamped
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from toolhand_interfaces.srv import ComputeGrasp

from toolhand.tool_nodes.motion.grasp_scenes import GraspScenes
from toolhand.tool_nodes.motion.planner import EmbeddedPlanner
from toolhand.tool_nodes.ports import GraspGenerator
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.ros import parameters
from toolhand.tool_nodes.ros.backends import backend_maker
from toolhand.tool_nodes.ros.frame_memory import FrameMemory
from toolhand.tool_nodes.ros.messages import header_of, image_to_mask, matrix_to_pose, message_to_cloud
from toolhand.tool_nodes.ros.spinning import run_node
from toolhand.tool_nodes.ros.status import answering, checked, success, visualization
from toolhand.tool_nodes.toolbox.arguments import NumberArgument
from toolhand.tool_nodes.tools.spacetools.grasping import GraspTools, MaskedCloud, require_matching


class GraspingNode(Node):
    """Serves a GraspGenerator and marks which of its grasps the arm can reach.

    Parameters: `robot`, `perception`, `grasps`, `seed`.
    """

    def __init__(self) -> None:
        super().__init__("grasping")
        self._robot = parameters.robot(self)
        make = backend_maker(self, "grasps", robot=self._robot)
        parameters.seed(self, "Seeds grasp sampling and inverse kinematics", lambda seed: self._use(seed, *make(seed)))
        group = MutuallyExclusiveCallbackGroup()  # the default group stays free for parameters
        self.create_service(ComputeGrasp, "compute_grasp", self._on_compute, callback_group=group)

    def _use(self, seed: int, generator: GraspGenerator) -> None:
        robot = self._robot
        scenes = GraspScenes(EmbeddedPlanner(seed, robot), robot.gripper)
        self._tools = GraspTools(generator, scenes.reachable, robot)
        self._frames = FrameMemory()

    def _on_compute(self, request: Any, response: Any) -> Any:
        with answering(self, response, "compute_grasp"):
            frame = self._frames.take(request)
            cloud, mask = message_to_cloud(request.point_cloud), image_to_mask(request.mask)
            require_matching("compute_grasp", cloud, mask)
            if mask.shape != frame.depth.shape:
                raise invalid(
                    f"compute_grasp: the mask has {mask.shape[1]}x{mask.shape[0]} pixels, but the image has "
                    f"{frame.size[0]}x{frame.size[1]}."
                )
            focal_px = checked(
                NumberArgument(0.0, exclusive_low=True), request.focal_length, "compute_grasp: focal_length"
            )
            result = self._tools.alternative(MaskedCloud(cloud, mask, focal_px, frame.rgb, frame), request.alternative)
            T, score = result.value
            header = header_of(frame)
            response.grasp = PoseStamped(header=header, pose=matrix_to_pose(T))
            response.score = float(score)
            response.visualization = visualization(result, header)
            response.status = success(result.text, result.backend)
        return response


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    run_node(GraspingNode, args)


if __name__ == "__main__":
    main()
