"""A server to be waited for, killed, stopped and restarted: what it does is written in each request.

capture_image: `camera` is "ok", "fail", "unreadable", or seconds after which it answers; the answer tells the request.
place: `plan_id` is "ok", "fail", "refuse", "late" (accepts after 1 s) or "long" (until it is cancelled).
It prints what it does, one line each.
"""

import threading
import time
from typing import Any

import rclpy
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.node import Node
from toolhand_interfaces.action import Place
from toolhand_interfaces.srv import CaptureImage, GetDepth

from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.status import answering, failure, success

REFUSAL = ToolError(ErrorCode.PLACE_BLOCKED, "There is something in the way.", "Choose another place.")


def say(line: str) -> None:
    print(line, flush=True)


class Server(Node):
    def __init__(self) -> None:
        super().__init__("tool_server")
        group = ReentrantCallbackGroup()
        self.create_service(CaptureImage, "capture_image", self.capture, callback_group=group)
        self.create_service(GetDepth, "get_depth", self.nothing, callback_group=group)
        self.server = ActionServer(
            self,
            Place,
            "place",
            execute_callback=self.place,
            goal_callback=self.take_goal,
            cancel_callback=lambda goal: CancelResponse.ACCEPT,
            callback_group=group,
        )

    def capture(self, request: Any, response: Any) -> Any:
        say(f"got {request.camera}")
        with answering(self, response, "capture_image"):
            if request.camera == "fail":
                raise REFUSAL
            if request.camera not in ("ok", "unreadable"):
                time.sleep(float(request.camera))
            response.status = success(request.camera)
        return response

    def nothing(self, request: Any, response: Any) -> Any:
        response.status = success("an answer without a picture")
        return response

    def take_goal(self, goal: Any) -> GoalResponse:
        say(f"goal {goal.plan_id}")
        if goal.plan_id == "late":
            time.sleep(1.0)
        return GoalResponse.REJECT if goal.plan_id == "refuse" else GoalResponse.ACCEPT

    def place(self, goal: Any) -> Any:
        kind = goal.request.plan_id
        result = Place.Result(status=success("placed"), execution_time=1.5)
        goal.publish_feedback(Place.Feedback(phase=Place.Feedback.CARRYING, progress=0.5))
        if kind == "fail":
            result.status = failure(REFUSAL)
            goal.abort()
        elif kind in ("late", "long"):
            while not goal.is_cancel_requested:
                threading.Event().wait(0.01)
            say(f"cancelled {kind}")
            result.status = failure(ToolError(ErrorCode.CANCELLED, "The motion was cancelled."))
            goal.canceled()
        else:
            goal.succeed()
        return result


rclpy.init()
executor = MultiThreadedExecutor(num_threads=8)
executor.add_node(Server())
say("ready")
try:
    executor.spin()
except (KeyboardInterrupt, ExternalShutdownException):
    pass
finally:
    rclpy.try_shutdown()
