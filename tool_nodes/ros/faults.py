"""What the driver itself says of the arm: faults, and controllers that do not run.

ros2_kortex ignores every command while its arm is in fault, and its controllers say success all the same. It publishes
the fault on `fault_controller/internal_fault`. Nothing of this project repairs a fault by itself: `reset_fault` is for
a person, who has looked at the arm. Drivers without that topic are judged by what the joints measure alone.
"""

from __future__ import annotations

from typing import Any

from controller_manager_msgs.srv import ListControllers
from example_interfaces.msg import Bool
from example_interfaces.srv import Trigger as DriverTrigger
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.task import Future
from std_srvs.srv import Trigger

from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.action_client import server_is_there
from toolhand.tool_nodes.ros.calling import Deadlines, call
from toolhand.tool_nodes.stop_latch import StopLatch

FAULT_TOPIC = "fault_controller/internal_fault"
"""Topic of example_interfaces/Bool that the driver publishes."""
RESET_SERVICE = "fault_controller/reset_fault"
"""Service of example_interfaces/Trigger that repairs the driver's fault; it brakes the arm first."""
LIST_SERVICE = "controller_manager/list_controllers"
"""Service of the controller_manager."""

HOW_TO_RESET_FAULT = (
    "Look at the arm and at what is in its way; then a person types `toolhand stop --reset-fault`, or calls "
    "/reset_fault."
)
_IN_FAULT = "its driver reports that it is in fault, or that somebody else has taken it, and ignores commands"

RESET_S = 10.0
"""The driver's reset may take so long, by the wall clock [s]: the original waits for its hardware without a deadline,
and a person should read why nothing comes."""
_CLEARED_S = 2.0
"""After its reset the driver may report the fault for so long [s]."""


class DriverFaults:
    """Hears whether the driver reports a fault.

    Args:
        node: Listens; None where nothing is to be heard.
        topic: Topic of example_interfaces/Bool.

    Attributes:
        count: How many faults have begun so far.
    """

    def __init__(self, node: Node | None = None, topic: str = FAULT_TOPIC) -> None:
        self.count = 0
        self._present: bool | None = None
        self._waiting: list[Future] = []
        if node is not None:
            profile = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
            group = MutuallyExclusiveCallbackGroup()
            node.create_subscription(Bool, topic, self._on_fault, profile, callback_group=group)

    @property
    def present(self) -> bool:
        """True while the driver reports a fault; False also where it reports nothing."""
        return bool(self._present)

    def require_none(self) -> None:
        """Raises ToolError CONTROLLER_FAULT while the driver reports a fault."""
        if self.present:
            message = f"The arm cannot be moved: {_IN_FAULT}. Nothing has moved."
            raise ToolError(ErrorCode.CONTROLLER_FAULT, message, HOW_TO_RESET_FAULT)

    def watch(self) -> FaultWatch:
        """Notes the faults so far."""
        return FaultWatch(self)

    def repaired(self) -> Future:
        """Done once the driver reports that there is no fault."""
        done = Future()
        self._waiting.append(done)
        return done

    def _on_fault(self, message: Any) -> None:
        if message.data and not self._present:
            self.count += 1
        self._present = bool(message.data)
        if not self._present:
            waiting, self._waiting = self._waiting, []
            for done in waiting:
                done.set_result(None)


class FaultWatch:
    """Whether there was a fault since this was made, or is one.

    Args:
        faults: Hears them.
    """

    def __init__(self, faults: DriverFaults) -> None:
        self._faults = faults
        self._count = faults.count

    @property
    def came(self) -> bool:
        """True where there was or is a fault, however soon it went."""
        return self._faults.present or self._faults.count != self._count

    @property
    def why(self) -> str:
        """What the fault means, as part of a sentence; "" without one."""
        return f"{_IN_FAULT} ({HOW_TO_RESET_FAULT.rstrip('.')})" if self.came else ""


class ControllerStates:
    """Asks the controller_manager, where there is one, which controllers run.

    Args:
        node: Gets the client.
        deadlines: How long to wait, by the wall clock.
    """

    def __init__(self, node: Node, deadlines: Deadlines) -> None:
        self._client = node.create_client(ListControllers, LIST_SERVICE, callback_group=ReentrantCallbackGroup())
        self._deadlines = deadlines

    def why_not(self, action: str) -> str:
        """Why the controller of an action does not run, as part of a sentence; "" where it does, or nobody knows."""
        if not server_is_there(self._client.service_is_ready):
            return ""
        try:
            request = ListControllers.Request()
            answer = call(self._client, request, self._deadlines.availability_s, self._deadlines.availability_s)
        except ToolError:  # how the goal ended says enough
            return ""
        name = action.strip("/").rpartition("/")[0]
        states = {controller.name: str(controller.state) for controller in answer.controller}
        state = states.get(name.rpartition("/")[2])
        if state in (None, "active"):
            return ""
        return (
            f"its controller {name} is {state}, so that it carries nothing out (activate it, for instance with ros2 "
            f"control switch_controllers --activate {name}, or start the driver anew)"
        )


class FaultReset:
    """Serves /reset_fault, for a person: the driver brakes the arm and forgets its fault.

    Args:
        node: Serves, in a thread that nothing else runs in.
        name: Name of the service.
        driver: Name of the driver's service.
        faults: Tell whether the fault is gone.
        latch: Knows whether a motion is on its way.
    """

    def __init__(self, node: Node, name: str, driver: str, faults: DriverFaults, latch: StopLatch) -> None:
        self._node = node
        self._faults = faults
        self._latch = latch
        self._group = ReentrantCallbackGroup()
        self._driver = node.create_client(DriverTrigger, driver, callback_group=self._group)
        node.create_service(Trigger, name, self._on_reset, callback_group=self._group)

    async def _on_reset(self, request: Any, response: Any) -> Any:
        response.success = False
        if not self._latch.quiet:
            response.message = "A motion is on its way: wait for its end, or stop it."
            return response
        if not self._driver.service_is_ready():
            response.message = (
                f"Nobody serves {self._driver.srv_name}: the driver has no fault controller, or does not run."
            )
            return response
        was = self._faults.present
        asked = self._driver.call_async(DriverTrigger.Request())
        answer = await self._in_time(asked, RESET_S)
        if answer is None:
            self._driver.remove_pending_request(asked)
            response.message = (
                f"The driver has not answered the reset within {RESET_S:g} s; it waits for its hardware. Look at the "
                "arm and its cables; where it stays like this, switch the arm off and on."
            )
        elif not answer.success:
            response.message = f"The driver could not reset its fault. {answer.message}".rstrip()
        elif self._faults.present and not await self._gone():
            response.message = (
                "The driver has carried out the reset, and reports a fault again: its cause is still there."
            )
        else:
            response.success = True
            response.message = "The driver reports no fault any more." if was else "The driver had reported no fault."
        self._node.get_logger().warning(response.message)
        return response

    async def _gone(self) -> bool:
        await self._in_time(self._faults.repaired(), _CLEARED_S)
        return not self._faults.present

    async def _in_time(self, work: Future, seconds: float) -> Any:
        """The result of a future; None if it takes longer, by the wall clock."""
        done = Future()
        clock = Clock(clock_type=ClockType.STEADY_TIME)

        def finish(result: Any) -> None:
            if not done.done():
                done.set_result(result)

        timer = self._node.create_timer(seconds, lambda: finish(None), clock=clock, callback_group=self._group)
        work.add_done_callback(lambda future: finish(future.result()))
        try:
            return await done
        finally:
            self._node.destroy_timer(timer)
