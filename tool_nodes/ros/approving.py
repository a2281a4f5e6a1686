"""Approval over ROS: a question on a topic, and a service whose caller must prove to know the operator's token.

Who has only tools has neither. The token lies in a file that only its user can read, and goes to no topic, service, log
or parameter that other nodes could read; see `proofs`.
"""

from __future__ import annotations

import secrets
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Header
from toolhand_interfaces.msg import MotionRequest as MotionRequestMessage
from toolhand_interfaces.srv import ApproveMotion

from toolhand.tool_nodes.motion.approval import Decision, MotionRequest
from toolhand.tool_nodes.motion.guard import record
from toolhand.tool_nodes.motion.limits import MotionLimits
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.records import Before
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros import parameters, proofs
from toolhand.tool_nodes.ros.motion_requests import request_message
from toolhand.tool_nodes.ros.parameters import Count
from toolhand.tool_nodes.ros.status import failure, success

_LOOK_S = 0.02
"""Time between two looks at whether an answer came [s]."""
_SHOWN = 200
"""Characters of a reason that are kept."""


def _listed(value: Any) -> Any:
    """An array of ROS as a list."""
    return value if isinstance(value, str) or not isinstance(value, Sequence) else list(value)


_Corner = Annotated[tuple[float, float, float], Before(_listed)]


@dataclass(frozen=True)
class LimitParameters:
    """Parameters of the guard; by default the robot's own limits.

    Attributes:
        speed_limit: Share of the arm's speed that is used, from 0.01 to 1.
        workspace_low: Corner x, y, z for the fingertips [m].
        workspace_high: The opposite corner [m].
        motions_per_minute: Motions within a minute; 0 for any number.
    """

    speed_limit: float = 1.0
    workspace_low: _Corner = (0.0, 0.0, 0.0)
    workspace_high: _Corner = (0.0, 0.0, 0.0)
    motions_per_minute: Count = 0


def read_token(node: Node) -> proofs.OperatorToken:
    """The operator's token, of the file that the parameter approval_token_file names where it names one; else made up.

    Raises:
        ToolError: INVALID_ARGUMENT as of `proofs.read_token`.
    """
    path = parameters.one(node, "approval_token_file", "", "File with the operator's token; empty: this user's own")
    try:
        found = proofs.operators_token(Path(path) if path else None)
    except ToolError as error:
        raise ToolError(error.code, f"Parameter approval_token_file: {error.message}", error.hint) from error
    if found.token:
        return found
    made_up = secrets.token_hex(16)  # this user has no folder to keep one in
    return proofs.OperatorToken(made_up, made_up)


def read_limits(node: Node, robot: RobotModel) -> MotionLimits:
    """What the parameters speed_limit, motions_per_minute, workspace_low and workspace_high set.

    Raises:
        ToolError: INVALID_ARGUMENT.
    """
    default = MotionLimits(robot=robot)
    usual = {"speed_limit": default.speed, "workspace_low": list(default.low), "workspace_high": list(default.high)}
    own = parameters.read(node, LimitParameters, defaults=usual)
    return MotionLimits(
        own.workspace_low, own.workspace_high, own.speed_limit, None, own.motions_per_minute or None, robot
    )


class ApprovalDesk:
    """The Approver over ROS; see `toolhand.tool_nodes.motion.approval.Approver`.

    Args:
        node: Gets the topic motion_request and the service approve_motion.
        token: Its holder is the operator.
        deadline_s: How long a question waits, by the wall clock; greater than 0.
        frame_id: Frame of the end pose.
        plan_id: Plan of the goal that asks.
        check: Polled while waiting; raises what ends the wait, for a stop or a cancel.

    Attributes:
        waited_s: How long persons were waited for so far, by the node's clock [s]: no motion takes that long.
    """

    def __init__(
        self,
        node: Node,
        token: proofs.OperatorToken,
        deadline_s: float,
        frame_id: str,
        plan_id: Callable[[], str],
        check: Callable[[], None],
    ) -> None:
        self._node = node
        self._source = token.source
        self._proofs = proofs.Proofs(token.token)
        self._deadline_s = deadline_s
        self._frame_id = frame_id
        self._plan_id = plan_id
        self._check = check
        self.waited_s = 0.0
        self._lock = threading.Lock()
        self._asked: str | None = None
        self._decision: Decision | None = None
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._topic = node.resolve_topic_name("motion_request")
        self._publisher = node.create_publisher(MotionRequestMessage, self._topic, latched)
        node.create_service(ApproveMotion, "approve_motion", self._on_approve, callback_group=ReentrantCallbackGroup())

    def announce(self, asks: bool) -> None:
        """Say on standard error where the token is.

        Args:
            asks: Every motion waits for a person. Those who listen hear at once that nothing waits yet, and from the
                proof whether their token is this one.
        """
        print(f"approval token for toolhand approve: {self._source}", file=sys.stderr, flush=True)
        if asks:
            self._publish(MotionRequestMessage(header=self._header()))

    def decide(self, request: MotionRequest) -> Decision:
        """See `Approver`; refused at once where the topic has no subscriber, and at the deadline."""
        if not self._node.count_subscribers(self._topic):
            return Decision(False, f"nobody listens to {self._topic}, so nobody can be asked", request.hash, "nobody")
        began = self._node.get_clock().now()
        with self._lock:
            self._asked, self._decision = request.hash, None
        self._publish(request_message(request, self._plan_id(), self._deadline_s, self._header()))
        try:
            return self._wait(request)
        finally:
            with self._lock:
                self._asked = None
            self.waited_s += max(0.0, (self._node.get_clock().now() - began).nanoseconds / 1e9)
            self._publish(MotionRequestMessage(header=self._header()))

    def _wait(self, request: MotionRequest) -> Decision:
        until_s = time.monotonic() + self._deadline_s
        while time.monotonic() < until_s:
            self._check()
            with self._lock:
                if self._decision is not None:
                    return self._decision
            time.sleep(_LOOK_S)
        return Decision(False, f"nobody answered within {self._deadline_s:g} s", request.hash, "nobody")

    def _header(self) -> Header:
        return Header(stamp=self._node.get_clock().now().to_msg(), frame_id=self._frame_id)

    def _publish(self, message: Any) -> None:
        message.proof = self._proofs.of_request(message)
        self._publisher.publish(message)

    def _on_approve(self, request: Any, response: Any) -> Any:
        known = proofs.same(request.proof, self._proofs.of_answer(request.hash, request.approve, request.reason))
        why = self._take(request) if known else "The answer is not the operator's; nothing was approved."
        record("answered" if not why else "refused", what="approve_motion", hash=request.hash[:64], reason=why)
        if why:
            self._node.get_logger().warning(f"approve_motion: {why}")
            response.status = failure(ToolError(ErrorCode.NOT_APPROVED, why))
        else:
            response.status = success("The answer was taken.")
        if known:  # or anybody could have one made
            response.proof = self._proofs.of_receipt(request.proof, response.status.success)
        return response

    def _take(self, request: Any) -> str:
        """Take an answer of the operator's, or say why not."""
        with self._lock:
            if self._asked is None:
                return "No motion waits for an approval; nothing was approved."
            if self._decision is not None:
                return "The motion that waited has its answer already; nothing was approved."
            if request.hash != self._asked:
                return "The hash is not that of the motion that waits; nothing was approved."
            self._decision = Decision(bool(request.approve), request.reason[:_SHOWN], request.hash, "approve_motion")
        return ""
