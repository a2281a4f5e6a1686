"""A pick and place that is played over ROS again and again, in a world of its own, for what is done to it meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from action_msgs.msg import GoalStatus, GoalStatusArray
from geometry_msgs.msg import Point, PointStamped, PoseStamped
from rcl_interfaces.srv import SetParameters
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from simulation_interfaces.srv import LoadWorld, ResetSimulation
from std_msgs.msg import Header
from toolhand_interfaces.action import ExecuteGrasp, Place

from toolhand.sim.scene.files import parse_scene, scene_yaml
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.results import ErrorCode, ToolError, unavailable
from toolhand.tool_nodes.ros.action_client import ActionClient
from toolhand.tool_nodes.ros.calling import call
from toolhand.tool_nodes.ros.joint_states import JointReading, JointStates
from toolhand.tool_nodes.ros.messages import BASE_FRAME, matrix_to_pose
from toolhand.tool_nodes.toolbox.toolbox import Session
from toolhand.tool_nodes.types import FloatArray

SCENE = """
objects:
  - {name: toy block, position: [0.42, 0.12], yaw_deg: 20}
  - {name: red box, position: [0.50, -0.15]}
"""
PLACE = (0.40, -0.02, 0.0)
"""Free place on the table, base frame [m]."""

PATIENCE_S = 60.0
"""Longest wait for the graph [s]."""
_ACTIVE = (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING)


def easy_grasp(scene: Scene) -> FloatArray:
    """A grasp (4, 4) of the toy block in the base frame, as the tools find it in process."""
    station, session = Station(scene), Session()

    def use(name: str, **arguments: Any) -> Any:
        return station.toolbox.call(name, arguments, session).result

    use("robot.capture_image")
    use("robot.get_depth_with_pointcloud")
    (point,) = use("roborefer.detect_one", obj_name="toy block", image_index=0).variables.values()
    use("sam2.segment_from_point", x=point[0], y=point[1], image_index=0)
    found = use(
        "grasp_generator.compute_grasp",
        point_cloud="$point_cloud",
        mask="$segmentation_mask",
        focal_length_px="$focal_length_px",
        image_index=0,
    )
    T: FloatArray = station.camera.capture().T_base_camera @ found.variables["grasp_pose"]
    return T


class PickAndPlace:
    """The toy block is grasped, and placed elsewhere.

    Args:
        node: Spun by an executor in another thread.

    Attributes:
        grasp_goal, place_goal: Goals of the motion node for the two halves.
        readings: All joint states since `begin`.
        accepted: Ids of the goals that the controllers have accepted.
        active: How many goals of each controller are on their way.
        poll_s: Time between two looks at a condition, by the wall clock [s]: short against what is measured so.

    Raises:
        ToolError: UNAVAILABLE where the graph does not answer or has no simulator.
    """

    poll_s = 0.001

    def __init__(self, node: Node) -> None:
        self._node = node
        self._group = ReentrantCallbackGroup()
        self._clients: dict[str, Any] = {}
        self.readings: list[JointReading] = []
        self._joints = JointStates(node, "joint_states", self.readings.append)
        self.accepted: set[bytes] = set()
        self.active: dict[str, int] = {}
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        for name in (self._joints.robot.trajectory_action, self._joints.robot.gripper_action):
            topic = f"{name}/_action/status"
            node.create_subscription(GoalStatusArray, topic, self._status_of(name), latched, callback_group=self._group)
        self.grasps = ActionClient(node, ExecuteGrasp, "execute_grasp", callback_group=self._group)
        self.places = ActionClient(node, Place, "place", callback_group=self._group)
        scene = parse_scene(SCENE)
        pose = PoseStamped(header=Header(frame_id=BASE_FRAME), pose=matrix_to_pose(easy_grasp(scene)))
        self.grasp_goal = ExecuteGrasp.Goal(grasp=pose, approval_mode=ExecuteGrasp.Goal.AUTO)
        x, y, z = PLACE
        point = PointStamped(header=Header(frame_id=BASE_FRAME), point=Point(x=x, y=y, z=z))
        self.place_goal = Place.Goal(target=Place.Goal.POINT_3D, point_3d=point, approval_mode=Place.Goal.AUTO)
        answer = self.call(LoadWorld, "load_world", resource_string=scene_yaml(scene))
        if answer.result.result != 1:
            raise unavailable(f"The world could not be loaded: {answer.result.error_message}")

    def begin(self) -> None:
        """Load the world anew; the motion node is as freshly started."""
        self.call(ResetSimulation, "reset_simulation")
        self.set("motion", "seed", 0)
        self.readings.clear()
        self.wait(lambda: len(self.readings) > 0)

    def _status_of(self, name: str) -> Callable[[Any], None]:
        def note(message: Any) -> None:
            self.active[name] = sum(entry.status in _ACTIVE for entry in message.status_list)
            self.accepted.update(bytes(entry.goal_info.goal_id.uuid) for entry in message.status_list)

        return note

    def newest(self) -> JointReading:
        """The newest joint state. Raises ToolError UNAVAILABLE."""
        newest = self._joints.newest
        if newest is None:
            raise unavailable("No joint states have come from the simulator.")
        return newest

    def now(self) -> float:
        """Time of the robot [s]."""
        return self.newest().stamp_ns / 1e9

    def call(self, kind: Any, name: str, **fields: Any) -> Any:
        """The answer of a service. Raises ToolError."""
        if name not in self._clients:
            self._clients[name] = self._node.create_client(kind, name, callback_group=self._group)
        return call(self._clients[name], kind.Request(**fields), PATIENCE_S, PATIENCE_S)

    def set(self, node: str, name: str, value: Any) -> None:
        """Set a parameter. Raises ToolError UNAVAILABLE where the node refuses."""
        parameters = [Parameter(name, value=value).to_parameter_msg()]
        result = self.call(SetParameters, f"{node}/set_parameters", parameters=parameters).results[0]
        if not result.successful:
            raise unavailable(f"{node} refused {name}: {result.reason}")

    def send(self, client: ActionClient, goal: Any) -> SentGoal:
        """A goal that is accepted. Raises ToolError."""
        if not client.wait_for_server(timeout_sec=PATIENCE_S):
            raise unavailable("The motion node does not serve its actions.")
        sent = SentGoal(client, goal)
        self.wait(lambda: sent.accepted)
        return sent

    def end(self, goal: SentGoal) -> Any:
        """The result of a goal. Raises ToolError TIMEOUT."""
        self.wait(lambda: goal.ended)
        return goal.result

    def wait(self, condition: Callable[[], bool]) -> None:
        """Until a condition holds. Raises ToolError TIMEOUT."""
        end = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > end:
                raise ToolError(ErrorCode.TIMEOUT, f"The graph did not go on within {PATIENCE_S:g} s.")
            time.sleep(self.poll_s)


class SentGoal:
    """A goal on its way."""

    def __init__(self, client: ActionClient, goal: Any) -> None:
        self.phase = ""
        self._future: Any = None
        client.send_goal_async(goal, feedback_callback=self._on_feedback).add_done_callback(self._on_answer)

    def _on_feedback(self, message: Any) -> None:
        self.phase = message.feedback.phase

    def _on_answer(self, sent: Any) -> None:
        self._future = sent.result().get_result_async()

    @property
    def accepted(self) -> bool:
        """The server has taken it."""
        return self._future is not None

    @property
    def ended(self) -> bool:
        """The result is there."""
        return self._future is not None and bool(self._future.done())

    @property
    def result(self) -> Any:
        """The action's result."""
        return self._future.result().result
