"""ROS 2 node `motion`: grasps and places by the robot's controllers, and the stop.

Actions execute_grasp and place, the services execute_grasp_once and place_once for callers that need only a call,
look_closer for an image by the camera at the wrist, run_skill for what else the hand can do, return_to_park for an arm
that a stop has left in the camera's view, try_motion for the first motion of an arm that was set up, /stop and
/reset_stop (`toolhand.tool_nodes.ros.stop`), /reset_fault (`toolhand.tool_nodes.ros.faults`), /approve_motion for the
operator (`toolhand.tool_nodes.ros.approving`), /get_motion_attempts for records of runs.
One motion at a time; it runs in a thread of its own.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from geometry_msgs.msg import Point
from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import Trigger
from tf2_ros import Buffer, TransformListener
from toolhand_interfaces.action import ExecuteGrasp, Place
from toolhand_interfaces.srv import ExecuteGrasp as ExecuteGraspOnce
from toolhand_interfaces.srv import GetHeld, LookCloser, RunSkill
from toolhand_interfaces.srv import Place as PlaceOnce

from toolhand.tool_nodes import registry
from toolhand.tool_nodes.calibration.start_check import StartCheck
from toolhand.tool_nodes.motion.checked_planner import checked
from toolhand.tool_nodes.motion.guard import Mode, MotionGuard
from toolhand.tool_nodes.motion.manipulation import Manipulator
from toolhand.tool_nodes.motion.planner_wrapper import InterruptedPlanning, InterruptiblePlanner, stopped_in_planning
from toolhand.tool_nodes.motion.plans import GraspPlan, PlacePlan, PlanBook
from toolhand.tool_nodes.ports import Arm, Planner
from toolhand.tool_nodes.registry import Setting
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid, unavailable
from toolhand.tool_nodes.ros import parameters
from toolhand.tool_nodes.ros.approving import ApprovalDesk, read_limits, read_token
from toolhand.tool_nodes.ros.attempts import AttemptLog
from toolhand.tool_nodes.ros.calibrated_frames import declare_calibrations
from toolhand.tool_nodes.ros.camera_parameters import declare_cameras
from toolhand.tool_nodes.ros.messages import header_of, put_frame, rgb_to_image
from toolhand.tool_nodes.ros.motion_goals import GRASP_PHASES, PLACE_PHASES, Frames, Phase, StageProgress
from toolhand.tool_nodes.ros.motion_markers import MotionMarkers
from toolhand.tool_nodes.ros.motion_parameters import MotionParameters
from toolhand.tool_nodes.ros.spinning import run_node
from toolhand.tool_nodes.ros.status import answering, failure, success
from toolhand.tool_nodes.ros.stop import StopNode
from toolhand.tool_nodes.stop_latch import HOW_TO_RESET, StopLatch, StopWatch
from toolhand.tool_nodes.types import ArmState

CLIENT_GONE_S = 1.0
"""A goal whose action has had no client for so long [s] is cancelled: it has no client left that could cancel it."""

_SYSTEM_FAILED = frozenset({ErrorCode.UNAVAILABLE, ErrorCode.TIMEOUT})
"""A server timed out; measuring once more would only delay the answer."""

BUSY = unavailable("busy: another motion is running.", "Wait for its end, or cancel it.")


@dataclass(frozen=True)
class RequestKind:
    """What can be asked for: an action and the service of the same meaning."""

    name: str
    action: Any
    service: Any
    plan: type[GraspPlan] | type[PlacePlan]
    phases: Mapping[str, Phase]


GRASP = RequestKind("execute_grasp", ExecuteGrasp, ExecuteGraspOnce, GraspPlan, GRASP_PHASES)
PLACE = RequestKind("place", Place, PlaceOnce, PlacePlan, PLACE_PHASES)


@dataclass
class QueuedMotion:
    """One request on its way to its result."""

    kind: RequestKind
    request: Any
    result: Any
    progress: StageProgress
    cancel_asked: Callable[[], bool] = lambda: False
    clients: Callable[[], int] = lambda: 1
    _gone_since_s: float | None = None

    @property
    def abandoned(self) -> bool:
        """True if no client waits for the result any more."""
        if self.clients():
            self._gone_since_s = None
        elif self._gone_since_s is None:
            self._gone_since_s = time.monotonic()
        return self._gone_since_s is not None and time.monotonic() - self._gone_since_s > CLIENT_GONE_S

    def cancelled(self) -> bool:
        """True once it should not go on."""
        return self.cancel_asked() or self.abandoned


class MotionNode(Node):
    """Serves grasps and places.

    Parameters: those of `MotionParameters` and `toolhand.tool_nodes.ros.calling.Deadlines`, `robot`, `seed` (may be set
        while
    nothing moves: all but what is held is as freshly started), what the arm adds (`ros2_control`: `gripper_action` and
    `time_step`), those of `declare_cameras` for the scene camera, `wrist.camera`, `calibration` (files of `toolhand
    calibrate`: nothing moves before a image agrees with them); for the guard those of `approving.LimitParameters`.

    Args:
        options: For `rclpy.node.Node`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__("motion", **options)
        deadlines = parameters.deadlines(self)
        self._robot = robot = parameters.robot(self)
        # The camera and the frames.
        own = parameters.read(self, MotionParameters)
        base_frame, lockstep, mode = own.base_frame, own.lockstep, own.approval
        transforms = Buffer(node=self)
        self._listener = TransformListener(transforms, self)
        self._camera = declare_cameras(self, ["scene"], transforms, deadlines.availability_s, base_frame, robot)[
            "scene"
        ]
        # Few motions look through it: it is asked from the camera node, and nothing is subscribed to here.
        self._wrist = declare_cameras(
            self, ["wrist"], transforms, deadlines.availability_s, base_frame, robot, usual="camera_node"
        )["wrist"]
        self._frames, self._markers = Frames(transforms, base_frame), MotionMarkers(self, base_frame, robot)
        # The arm and the stop.
        self._latch = StopLatch(HOW_TO_RESET)
        actions = (robot.trajectory_action, robot.gripper_action)
        self._stop = StopNode(self, self._latch, actions, own.stop_deadline_s, own.still_velocity, robot)
        self._cancelled: Callable[[], bool] = lambda: False
        self._arm: Arm = registry.make(
            "arm",
            own.arm,
            Setting(node=self, robot=robot),
            joints=self._stop.joints,
            latch=self._latch,
            deadlines=deadlines,
            lockstep=lockstep,
            still_velocity=own.still_velocity,
            cancelled=lambda: self._cancelled(),
            faults=self._stop.faults,
        )
        made = declare_calibrations(self, robot)
        cameras = {"scene": self._camera, "wrist": self._wrist}
        self._start = StartCheck(made, robot, cameras, lambda: self._arm.state().q)
        # The guard, which outlives a new seed.
        self._plan_id = ""
        self._desk = ApprovalDesk(
            self,
            read_token(self),
            own.approval_deadline_s,
            base_frame,
            lambda: self._plan_id,
            self._check_halted,
        )
        self._guard = MotionGuard(mode, self._desk, read_limits(self, robot))
        # The motions.
        planner: Planner = registry.make(
            "planner",
            own.planner,
            Setting(node=self, robot=robot, planning_s=None if lockstep else own.planning_s),
            base_frame=base_frame,
            deadlines=deadlines,
            interrupted=lambda: self._halted,
        )
        self._planner = checked(planner, robot)
        interruptible = InterruptiblePlanner(self._planner, lambda: self._halted)
        self._manipulator = Manipulator(
            self._arm, interruptible, self._camera, self._enter, self._guard, robot, self._wrist
        )
        self._busy = threading.Lock()
        self._progress: StageProgress | None = None
        about = "Seeds planning; set while nothing moves, all but what is held is as freshly started"
        parameters.seed(self, about, self._begin_anew, lambda: "a motion runs" if self._busy.locked() else "")
        self._servers = [self._serve(kind) for kind in (GRASP, PLACE)]
        self._attempts = AttemptLog(self)
        for name, work in (("return_to_park", self._park), ("try_motion", self._try_motion)):
            trigger = functools.partial(self._on_trigger, name, work)
            self.create_service(Trigger, name, trigger, callback_group=ReentrantCallbackGroup())
        self.create_service(LookCloser, "look_closer", self._on_look, callback_group=ReentrantCallbackGroup())
        self.create_service(RunSkill, "run_skill", self._on_skill, callback_group=ReentrantCallbackGroup())
        self.create_service(GetHeld, "get_held", self._on_get_held, callback_group=ReentrantCallbackGroup())
        self._desk.announce(mode is Mode.ASK)
        self._stop.start()

    def destroy_node(self) -> None:
        """End the stop's thread, then the node."""
        self._stop.close()
        self._attempts.close()
        super().destroy_node()

    def _begin_anew(self, seed: int) -> None:
        self._planner.reseed(seed)
        self._manipulator.reset(self._manipulator.held)
        self._plans = PlanBook(self._robot)

    # -- requests --------------------------------------------------------------------------------

    def _serve(self, kind: RequestKind) -> ActionServer:
        group = ReentrantCallbackGroup()
        once = functools.partial(self._on_call, kind)
        self.create_service(kind.service, f"{kind.name}_once", once, callback_group=group)
        return ActionServer(
            self,
            kind.action,
            kind.name,
            functools.partial(self._on_goal, kind),
            callback_group=group,
            cancel_callback=lambda goal: CancelResponse.ACCEPT,
        )

    async def _on_goal(self, kind: RequestKind, goal: Any) -> Any:
        result = kind.action.Result()
        feedback_topic = self.resolve_topic_name(f"{kind.name}/_action/feedback")
        job = QueuedMotion(
            kind,
            goal.request,
            result,
            StageProgress(kind.phases, kind.action.Feedback, goal.publish_feedback),
            cancel_asked=lambda: goal.is_cancel_requested,
            clients=lambda: self.count_subscribers(feedback_topic),
        )
        await self._carry_out(kind.name, result, lambda: self._move(job))
        if result.status.success:
            goal.succeed()
        elif goal.is_cancel_requested:
            goal.canceled()
        else:
            goal.abort()
        return result

    async def _on_call(self, kind: RequestKind, request: Any, response: Any) -> Any:
        job = QueuedMotion(kind, request, response, StageProgress(kind.phases, kind.action.Feedback, None))
        await self._carry_out(kind.name, response, lambda: self._move(job))
        return response

    async def _on_trigger(self, name: str, work: Callable[[], str], request: Any, response: Any) -> Any:
        outcome = SimpleNamespace(status=success(""))

        def work_and_tell() -> None:
            outcome.status = success(work())

        await self._carry_out(name, outcome, work_and_tell)
        response.success, response.message = outcome.status.success, outcome.status.message
        return response

    async def _on_look(self, request: Any, response: Any) -> Any:
        await self._carry_out("look_closer", response, lambda: self._look(request, response))
        return response

    async def _on_skill(self, request: Any, response: Any) -> Any:
        await self._carry_out("run_skill", response, lambda: self._skill(request, response))
        return response

    def _on_get_held(self, request: Any, response: Any) -> Any:
        with answering(self, response, "get_held"):
            if (newest := self._stop.joints.newest) is not None and not self._busy.locked():
                self._meet_jaws(newest.state)
            called = self._manipulator.holds()
            response.holding, response.called = called is not None, called or ""
            response.status = success("")
        return response

    async def _carry_out(self, name: str, result: Any, work: Callable[[], None]) -> None:
        """Do the work in a thread of its own, because it blocks; what goes wrong stands in the result."""
        watch = self._latch.watch()
        if not self._busy.acquire(blocking=False):
            result.status = failure(BUSY)
            return
        done = Future()
        threading.Thread(target=self._work, args=(name, result, work, watch, done), name=name, daemon=True).start()
        await done

    def _work(self, name: str, result: Any, work: Callable[[], None], watch: StopWatch, done: Future) -> None:
        with answering(self, result, name), self._latch.job(watch):
            if watch.halted:
                raise watch.error
            self._stop.faults.require_none()
            self._start.require()
            self._meet_jaws(self._arm.state())
            work()
        self._markers.tell_held(self._manipulator.held)
        status = result.status
        self.get_logger().info(f"{name}: {status.error_code or 'done'}: {status.message}")
        self._busy.release()
        done.set_result(None)
        if self.executor is not None:
            self.executor.wake()  # some versions of rclpy do not look at futures that another thread completes

    def _meet_jaws(self, state: ArmState) -> None:
        """The jaws may have been opened by another client, or closed on something by the node before this one."""
        if told := self._manipulator.meet_jaws(state):
            self.get_logger().warning(told)

    # -- motions ---------------------------------------------------------------------------------

    def _enter(self, stage: str) -> None:
        if self._progress is not None:
            self._progress.enter(stage)

    def _move(self, job: QueuedMotion) -> None:
        """Fill the result of a job. Raises ToolError, BadMessage."""
        mode, modes = job.request.approval_mode, job.kind.action.Goal
        if mode not in (modes.AUTO, modes.PLAN_ONLY, modes.ASK):
            known = f"{modes.AUTO}, {modes.PLAN_ONLY} or {modes.ASK}"
            raise invalid(f"{job.kind.name}: approval_mode must be {known}, got {mode[:80]!r}.")
        self._progress, self._cancelled = job.progress, job.cancelled
        try:
            with self._guard.at_least(Mode.ASK if mode == modes.ASK else Mode.AUTO):
                self._plan_and_run(job, plan_only=mode == modes.PLAN_ONLY)
        except ToolError as error:
            raise self._described(error, job) from error
        except InterruptedPlanning as interruption:
            stopped = ToolError(ErrorCode.STOPPED, f"A stop came during {job.progress.stage}; the arm stands still.")
            raise self._described(stopped, job) from interruption
        finally:
            self._progress, self._cancelled, self._plan_id = None, lambda: False, ""
            if mode != modes.PLAN_ONLY:
                self._markers.clear()

    @property
    def _halted(self) -> bool:
        """True once this thread's motion may not go on: a stop came since it began, or it was cancelled."""
        return self._latch.halted or self._cancelled()

    def _check_halted(self) -> None:
        """Raises InterruptedPlanning once nothing may move any more."""
        if self._halted:
            raise InterruptedPlanning

    def _park(self) -> str:
        """Bring the arm back from where it was left. Raises ToolError."""
        with stopped_in_planning():
            self._manipulator.return_to_park()
        return "The arm is at its park position."

    def _try_motion(self) -> str:
        """A short way up and back, asked about in every mode. Raises ToolError."""
        with stopped_in_planning():
            height = self._manipulator.try_motion()
        return f"The gripper was measured {1000 * height:.1f} mm higher, and came back."

    def _look(self, request: Any, response: Any) -> None:
        """Fill the answer with an image by the camera at the wrist. Raises ToolError, BadMessage."""
        with stopped_in_planning():
            frame = self._camera.capture()
            put_frame(response, self._manipulator.look(self._frames.point(request.place, frame), frame))
        response.status = success("Looked from the wrist; the arm is parked again.")

    def _skill(self, request: Any, response: Any) -> None:
        """Fill the answer with what came of a skill. Raises ToolError, BadMessage."""
        asked = self._desk.waited_s
        with stopped_in_planning():
            frame = self._camera.capture()
            outcome = self._manipulator.skill(self._frames.skill(request, frame), frame)
            took_s = max(0.0, outcome.took_s - (self._desk.waited_s - asked))
        response.execution_time, response.opening = took_s, outcome.opening_m
        response.status = success(outcome.told)

    def _plan_and_run(self, job: QueuedMotion, plan_only: bool) -> None:
        manipulator, result = self._manipulator, job.result
        before, waited_s = self._arm.state(), self._desk.waited_s
        if not plan_only and not job.request.plan_id:
            manipulator.return_to_park()
        plan = self._plan(job)
        self._markers.show(plan)
        if plan_only:
            result.status = success("The plan is ready; nothing has moved.")
            return
        result.plan_id = self._plan_id = job.progress.plan_id
        try:
            if isinstance(plan, GraspPlan):
                grasped = manipulator.run_grasp(plan)
                result.check_time = grasped.check_s
                if grasped.stood is not None:
                    x, y, z = grasped.stood.tolist()
                    result.stood = [Point(x=x, y=y, z=z)]
                text = f"Grasp executed successfully. The gripper holds an object {grasped.opening_m:.3f} m wide."
            else:
                manipulator.run_place(plan)
                text = "Object placed successfully. The gripper is open and empty."
        except ToolError as error:
            if error.code not in _SYSTEM_FAILED | {ErrorCode.NOT_APPROVED}:
                self._measure(result, before, waited_s)
            raise
        self._measure(result, before, waited_s)
        with contextlib.suppress(ToolError):
            frame = self._camera.capture()
            result.image = rgb_to_image(frame.rgb, header_of(frame))
        result.status = success(text)

    def _measure(self, result: Any, before: ArmState, waited_s: float) -> None:
        with contextlib.suppress(ToolError):  # how the motion ended says more
            after, waited_s = self._arm.state(), self._desk.waited_s - waited_s
            result.execution_time, result.opening = max(0.0, after.stamp - before.stamp - waited_s), after.opening_m

    def _plan(self, job: QueuedMotion) -> GraspPlan | PlacePlan:
        """A new plan, or the one that the request names; its id is in the job's progress and result."""
        request, manipulator = job.request, self._manipulator
        job.progress.enter("planning")
        frame, state = self._camera.capture(), self._arm.state()
        if request.plan_id:
            if request.approval_mode == job.kind.action.Goal.PLAN_ONLY:
                raise invalid("A plan_id is run with auto; plan_only makes a new plan.")
            plan = self._plans.take(request.plan_id, job.kind.plan, frame, state.q, manipulator.held)
            job.progress.plan_id = request.plan_id
            return plan
        if job.kind is GRASP:
            target = self._frames.grasp_target(request, frame)
            plan = manipulator.plan_grasp(self._frames.grasp_pose(request, frame), frame, target, request.speed or 1.0)
        else:
            plan = manipulator.plan_place(self._frames.place_point(request, frame), frame, request.speed or 1.0)
        job.progress.plan_id = job.result.plan_id = self._plans.keep(plan, frame, state.q, manipulator.held)
        return plan

    def _described(self, error: ToolError, job: QueuedMotion) -> ToolError:
        """The error as the caller reads it: which stage it was, and who ended it."""
        stage = job.progress.stage
        if error.code is ErrorCode.STOPPED and not self._latch.halted and job.cancelled():
            why = "was cancelled" if job.cancel_asked() else "was cancelled, because its client has gone away,"
            return ToolError(ErrorCode.CANCELLED, f"The motion {why} during {stage}; the arm stands still.")
        if error.code in _SYSTEM_FAILED:
            return ToolError(error.code, f"During {stage}: {error.message}", error.hint)
        return error


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    run_node(MotionNode, args)


if __name__ == "__main__":
    main()
