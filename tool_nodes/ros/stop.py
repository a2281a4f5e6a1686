"""Stop: latched at once, passed on to the controllers, confirmed only by what the joints measure.

A stop that was not confirmed is not reset: the way out is another stop that is. Each change is published on stop_state.
It covers every goal at both controllers, whichever client sent it, and every later motion of the process that serves
it. It does not cover another client that sends a new goal to a controller afterwards, and it is no certified safety
function.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from action_msgs.srv import CancelGoal
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.task import Future
from simulation_interfaces.srv import StepSimulation
from std_msgs.msg import Header
from std_srvs.srv import Trigger
from toolhand_interfaces.msg import StopState

from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.ros.calling import require_positive
from toolhand.tool_nodes.ros.faults import FAULT_TOPIC, RESET_SERVICE, DriverFaults, FaultReset
from toolhand.tool_nodes.ros.joint_states import JointReading, JointStates
from toolhand.tool_nodes.ros.stop_state import QOS, TOPIC
from toolhand.tool_nodes.stop_latch import StopLatch

_LOOK_S = 0.02
"""How often a stop that is not confirmed yet is looked at, besides at every measurement [s]."""

_FROZEN_S = 0.3
"""Time that has not passed for so long, by the wall clock, passes only if the stop makes the steps [s]."""

_STEPS = 10
"""Physics steps that are run in lockstep while the arm brakes [-]."""

_NOT_CONFIRMED = (
    "Not reset: the last stop was not confirmed, nobody has measured the arm at rest. Stop again until one is (type "
    "`toolhand stop`, or call /stop), then reset. Where none can be, look at the arm, end the motion node and start it "
    "again."
)


@dataclass
class _Stopping:
    """A stop that is being confirmed: by what arrived after `over_s`, when nothing commanded the joints any more."""

    cancels: list[Future]
    until_s: float
    done: Future = field(default_factory=Future)
    over_s: float = math.inf
    moved_on_s: float = field(default_factory=time.monotonic)
    stamp_ns: int = -1
    frozen: bool = False


class StopNode(Node):
    """Serves /stop, /reset_stop and /reset_fault, in a thread that nothing else runs in.

    Names are resolved as the parent's, so that its namespace and remappings count.

    Args:
        parent: Node of the same process.
        latch: Set by a stop.
        actions: Names of the controllers' actions.
        deadline_s: Wall-clock seconds within which a stop must be confirmed; greater than 0.
        still_velocity: A joint of the arm that is reported to be faster is not at rest [rad/s].
        robot: The robot; the default one where None.

    Attributes:
        joints: Listener to the robot's joint states.
        faults: Listener to the faults that the driver reports.
    """

    def __init__(
        self,
        parent: Node,
        latch: StopLatch,
        actions: Sequence[str],
        deadline_s: float,
        still_velocity: float,
        robot: RobotModel | None = None,
    ) -> None:
        require_positive("stop_deadline_s", deadline_s)
        super().__init__(
            f"{parent.get_name()}_stop",
            namespace=parent.get_namespace(),
            context=parent.context,
            use_global_arguments=False,  # they would give both nodes one name
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._latch = latch
        self._deadline_s = deadline_s
        self._stoppings: list[_Stopping] = []
        self._confirmed = True
        group = ReentrantCallbackGroup()
        self._cancels = {
            name: self.create_client(
                CancelGoal, parent.resolve_service_name(f"{name}/_action/cancel_goal"), callback_group=group
            )
            for name in actions
        }
        self._step = self.create_client(
            StepSimulation, parent.resolve_service_name("step_simulation"), callback_group=group
        )
        self._stepping: Future | None = None
        # Before the joint states: a reading that shows the end of a motion is not heard before a fault of its time.
        self.faults = DriverFaults(self, parent.resolve_topic_name(FAULT_TOPIC))
        topic = parent.resolve_topic_name("joint_states")
        self.joints = JointStates(self, topic, self._on_reading, robot, still_velocity)
        # Wall-clock time, because the robot's own may stand still.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self.create_timer(_LOOK_S, self._on_timer, clock=steady, callback_group=group)
        self._timer.cancel()
        self.create_service(Trigger, parent.resolve_service_name("stop"), self._on_stop, callback_group=group)
        self.create_service(Trigger, parent.resolve_service_name("reset_stop"), self._on_reset, callback_group=group)
        self._fault_reset = FaultReset(
            self,
            parent.resolve_service_name("reset_fault"),
            parent.resolve_service_name(RESET_SERVICE),
            self.faults,
            latch,
        )
        self._states = self.create_publisher(StopState, parent.resolve_topic_name(TOPIC), QOS)
        self._publish()
        self._executor = SingleThreadedExecutor(context=parent.context)
        self._executor.add_node(self)
        self._thread = threading.Thread(target=self._spin, name="stop", daemon=True)

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def close(self) -> None:
        """End the thread and the node."""
        self._executor.shutdown(timeout_sec=1.0)
        self._thread.join(1.0)
        self.destroy_node()

    def _spin(self) -> None:
        # The context is shut down by the process's owner, which ends this too.
        with contextlib.suppress(Exception):
            self._executor.spin()

    # -- services --------------------------------------------------------------------------------

    async def _on_stop(self, request: Any, response: Any) -> Any:
        self._latch.set()
        self._confirmed = False
        ready = [client for client in self._cancels.values() if client.service_is_ready()]
        # A request without id and stamp means all goals.
        stopping = _Stopping(
            [client.call_async(CancelGoal.Request()) for client in ready], time.monotonic() + self._deadline_s
        )
        self._stoppings.append(stopping)
        self._timer.reset()
        self._publish()
        reading: JointReading | None = await stopping.done
        absent = [name for name, client in self._cancels.items() if client not in ready]
        aside = f" Nobody serves {' or '.join(absent)}, so that nothing was cancelled there." if absent else ""
        response.success = reading is not None
        if reading is None:
            why = self._why_not(stopping)
            response.message = f"The stop is latched, but it could not be confirmed that the arm stands still: {why}."
        else:
            response.message = f"Stopped: all joints were measured at rest at t = {reading.stamp_ns / 1e9:.3f} s."
        response.message += aside + " Motions are refused until a reset."
        self.get_logger().warning(response.message)
        return response

    def _on_reset(self, request: Any, response: Any) -> Any:
        response.success = self._confirmed and not self._stoppings
        if self._stoppings:
            response.message = "A stop is still being carried out; wait for its answer."
        elif not self._confirmed:
            response.message = _NOT_CONFIRMED
        elif (unrest := self.joints.unrest()) is not None and unrest.what == "moves":
            response.success = False
            response.message = f"Not reset: {unrest.why}. Stop again, and reset once the stop is confirmed."
        else:
            response.message = "Motions are allowed again." if self._latch.is_set else "No stop was latched."
            self._latch.clear()
            self._publish()
        return response

    def _publish(self) -> None:
        self._states.publish(
            StopState(
                header=Header(stamp=self.get_clock().now().to_msg()),
                stops=self._latch.stops,
                latched=self._latch.is_set,
                confirmed=self._confirmed,
            )
        )

    # -- confirmation ----------------------------------------------------------------------------

    def _on_reading(self, reading: JointReading) -> None:
        for stopping in list(self._stoppings):
            if reading.stamp_ns != stopping.stamp_ns:
                stopping.stamp_ns, stopping.moved_on_s = reading.stamp_ns, reading.received_s
            if not self._latch.quiet or not all(cancel.done() for cancel in stopping.cancels):
                stopping.over_s = math.inf
            elif stopping.over_s == math.inf:
                stopping.over_s = reading.received_s
            elif self.joints.unrest(stopping.over_s) is None:
                self._end(stopping, reading)

    def _on_timer(self) -> None:
        now = time.monotonic()
        for stopping in list(self._stoppings):
            if now >= stopping.until_s:
                self._end(stopping, None)
            else:
                stopping.frozen = stopping.frozen or now - stopping.moved_on_s > _FROZEN_S
                if stopping.frozen:
                    self._let_time_pass()

    def _end(self, stopping: _Stopping, reading: JointReading | None) -> None:
        self._stoppings.remove(stopping)
        self._confirmed = reading is not None
        if not self._stoppings:
            self._timer.cancel()
            self._publish()
        stopping.done.set_result(reading)

    def _let_time_pass(self) -> None:
        """In lockstep nothing brakes unless a client steps; a simulator whose time passes by itself refuses."""
        if self._stepping is not None and not self._stepping.done():
            return
        if self._step.service_is_ready():
            self._stepping = self._step.call_async(StepSimulation.Request(steps=_STEPS))

    def _why_not(self, stopping: _Stopping) -> str:
        reading = self.joints.newest
        silent_s = None if reading is None else time.monotonic() - reading.received_s
        if reading is None or silent_s is None:
            return self.joints.complaint or "no joint states have come yet"
        if silent_s > _FROZEN_S:
            return self.joints.complaint or f"joint states have not come for {silent_s:.1f} s"
        if not all(cancel.done() for cancel in stopping.cancels):
            return "a controller did not answer the request to cancel its goals"
        unrest = self.joints.unrest(min(stopping.over_s, stopping.until_s))
        return unrest.why if unrest is not None else "a goal is still on its way"
