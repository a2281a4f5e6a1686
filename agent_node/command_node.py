"""ROS 2 node `agent`: carries out an operator's sentence, as the action run_command."""

from __future__ import annotations

import array
import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from numpy.typing import NDArray
from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.task import Future
from sensor_msgs.msg import CompressedImage
from std_msgs.msg import Header
from std_srvs.srv import Trigger
from toolhand_interfaces.action import RunCommand
from toolhand_interfaces.msg import CommandStep, ToolStatus

from agent_node.agent import Agent
from agent_node.conversation_settings import TURN_BUDGET, ConversationSettings
from agent_node.episode import Episode
from agent_node.events import ANSWER_DEADLINE_S, Ask, nobody
from agent_node.policies import registry
from agent_node.policies.options import PolicyOptions
from agent_node.policy import Policy, takes_answers
from agent_node.protocol import Protocol, load_protocol
from agent_node.ros.answers import AnswerDesk
from agent_node.ros.joint_log import JointLog
from agent_node.ros.progress import TurnProgress
from agent_node.ros.record import GraphRecord, as_text, safety_lines, up_command
from agent_node.runs.folder import SAFETY_FILE, encode, new_run_dir, time_now, write_atomically
from agent_node.runs.mcap.recorder import Recorder, jpeg_bytes
from agent_node.runs.write import write_run
from tool_nodes.results import ErrorCode, ToolError, invalid, unavailable
from tool_nodes.ros import parameters
from tool_nodes.ros.calling import Deadlines, call
from tool_nodes.ros.remote import remote_toolbox
from tool_nodes.ros.spinning import run_node
from tool_nodes.ros.status import failure
from tool_nodes.ros.stop_state import StopListener
from tool_nodes.stop_latch import StopLatch, StopWatch
from tool_nodes.toolbox.toolbox import Toolbox
from tool_nodes.tools.spacetools.robot import ROLES
from tool_nodes.tools.suites import parse_suites
from tool_nodes.version import version

ACTION = "run_command"
SCRIPTED = "scripted"
OPERATOR_GONE_S = 1.0
"""A command whose operator has not been seen for so long is stopped [s]."""

PICTURES_KEPT = 8
"""Pictures that a slow viewer may be behind; about 0.1 MB each."""

_PARKING_AVAILABLE_S = 1.0
"""Longest wait for the parking service to be there [s]: a graph without it has none."""

MakeToolbox = Callable[[Node, Deadlines, Callable[[], bool]], Toolbox]
MakePolicy = Callable[[str, Protocol, list[dict[str, Any]], PolicyOptions], Policy]


def robot_toolbox(
    node: Node,
    deadlines: Deadlines,
    stopped: Callable[[], bool],
    suites: Iterable[str] = ("spacetools",),
    role: str = "operator",
    stops: StopListener | None = None,
) -> Toolbox:
    """The robot's tools. An operator's arm that a stop or a fault has left in the camera's view is brought back first.

    Raises:
        ToolError: STOPPED where the arm was stopped since the command began, or is.
    """
    toolbox = remote_toolbox(node, deadlines, stopped, suites, role, stops)
    if role == "operator":
        with toolbox.job() as job:
            if job.halted:
                raise job.error
            _park(node, deadlines)
    return toolbox


def _park(node: Node, deadlines: Deadlines) -> None:
    park = node.create_client(Trigger, "return_to_park")
    try:
        answer = call(park, Trigger.Request(), deadlines.motion_s, min(deadlines.availability_s, _PARKING_AVAILABLE_S))
    except ToolError as error:
        node.get_logger().warning(f"The arm was not parked: {error}")  # the motion tools say so themselves
    else:
        if not answer.success:
            node.get_logger().warning(f"The arm was not parked: {answer.message}")


class RunningCommand:
    """One command while it is carried out: why it should stop, if it should.

    Args:
        goal: Handle of its goal.
        operators: How many listen to the feedback.
    """

    def __init__(self, goal: Any, operators: Callable[[], int]) -> None:
        self.goal = goal
        self._operators = operators
        self._seen = False
        self._last_seen = time.monotonic()

    def stop_reason(self) -> str:
        """Why it should not go on; empty where it should. Cheap enough to be polled."""
        if self.goal.is_cancel_requested:
            return "Cancelled by the operator"
        now = time.monotonic()
        if self._operators() > 0:
            self._seen, self._last_seen = True, now
        elif self._seen and now - self._last_seen > OPERATOR_GONE_S:
            return "Stopped because the operator's client has gone away"
        return ""

    def stopped(self) -> bool:
        """True once it should not go on."""
        return bool(self.stop_reason())


class CommandNode(Node):
    """Serves RunCommand, one command at a time; a second one is answered "busy" at once.

    Parameters: `policy`, `protocol`, `suites`, `role`, `runs_dir`, `turns`, `answer_deadline_s`,
    `availability_deadline_s`, `response_deadline_s`, `motion_deadline_s`.

    Args:
        make_toolbox: Makes the tools of a command, from a node of its own, deadlines and a function that says whether
            it is stopped; those of `robot_toolbox` where None.
        make_policy: Makes the policy of a command; `agent_node.policies.registry.make_policy` where None.
        options: For `rclpy.node.Node`.
    """

    def __init__(
        self, make_toolbox: MakeToolbox | None = None, make_policy: MakePolicy | None = None, **options: Any
    ) -> None:
        super().__init__("agent", **options)
        self._robot = parameters.robot(self)
        suites = parse_suites(parameters.text(self, "suites", "spacetools", "Whose tools: a suite, several, or all"))
        role = parameters.choice(self, "role", "operator", ROLES, "An observer has no tool that moves the robot")
        # An observer moves nothing that could be stopped, and may look while nothing moves.
        stops = StopListener(self) if role == "operator" else None
        self._latch = StopLatch() if stops is None else stops.latch
        self._make_toolbox = make_toolbox or functools.partial(robot_toolbox, suites=suites, role=role, stops=stops)
        self._make_policy = make_policy or registry.make_policy
        self._policy = parameters.text(self, "policy", "scripted", f"Who decides: {', '.join(registry.FORMS)}")
        if make_policy is None:
            registry.require_form(self._policy)
        self._protocol = load_protocol(parameters.text(self, "protocol", "spacetools", "How the policy writes"))
        self._runs_dir = Path(parameters.text(self, "runs_dir", "runs", "Folder that reports are written to"))
        self._turns = parameters.count(self, "turns", TURN_BUDGET, "Turns before a command fails; 1 or more")
        if self._turns < 1:
            raise invalid("Parameter turns must be 1 or more, got 0.")
        self._deadlines = parameters.deadlines(self)
        self._started_with = {
            "protocol": self._protocol.name,
            "suite": ",".join(suites),
            "role": role,
            "turn_budget": self._turns,
            "transport": "ros",
            "version": version(),
        }
        self._others = GraphRecord(self)
        waits_s = parameters.seconds(self, "answer_deadline_s", ANSWER_DEADLINE_S, "A question waits")
        self._answers = AnswerDesk(self, waits_s)
        self._working = threading.Lock()
        self._server = ActionServer(
            self,
            RunCommand,
            ACTION,
            self._execute,
            callback_group=ReentrantCallbackGroup(),
            cancel_callback=lambda goal: CancelResponse.ACCEPT,
        )
        self._steps: list[CommandStep] = []
        self._pictures = self.create_publisher(CompressedImage, f"{ACTION}/pictures", QoSProfile(depth=PICTURES_KEPT))
        self._feedback_topic = self.resolve_topic_name(f"{ACTION}/_action/feedback")

    async def _execute(self, goal: Any) -> Any:
        """Run the command in a thread of its own: it blocks, and callbacks must not."""
        watch = self._latch.watch()
        if not self._working.acquire(blocking=False):
            self.get_logger().warning(f"Refused, busy with another command: {goal.request.text[:200]!r}")
            goal.abort()
            busy = unavailable("busy: another command is being carried out.", "Wait for its end, or cancel it.")
            return RunCommand.Result(status=failure(busy))
        done = Future()
        threading.Thread(target=self._work, args=(goal, watch, done), daemon=True).start()
        return await done

    def _work(self, goal: Any, watch: StopWatch, done: Future) -> None:
        try:
            with self._latch.job(watch):
                result = self._carry_out(goal, watch)
        except ToolError as error:
            result = RunCommand.Result(status=failure(error))
            goal.abort()
        except Exception as error:
            self.get_logger().error(f"A command failed inside: {type(error).__name__}: {error}")
            inside = ToolError(ErrorCode.INTERNAL, f"The agent failed inside: {type(error).__name__}: {error}.")
            result = RunCommand.Result(status=failure(inside))
            goal.abort()
        result.steps, self._steps = self._steps, []
        self._working.release()
        done.set_result(result)
        if self.executor is not None:
            self.executor.wake()  # some versions of rclpy do not look at futures that another thread completes

    def _carry_out(self, goal: Any, watch: StopWatch) -> Any:
        """The result of a command; ends its goal. Raises ToolError where it cannot begin, or leave a report."""
        request = goal.request
        mode = request.mode or self._policy
        # A client that may send commands may not choose where pictures are sent.
        if mode not in (self._policy, SCRIPTED):
            allowed = " or ".join(sorted({self._policy, SCRIPTED}))
            raise invalid(f"mode must be {allowed}, got {mode[:80]!r}.")
        if watch.halted:
            raise watch.error
        run_dir = new_run_dir(self._runs_dir)
        about = self._started_with | {"policy": mode, "began": time_now()}
        attempted = self._others.attempts()
        command = RunningCommand(goal, lambda: self.count_subscribers(self._feedback_topic))
        protocol = self._protocol
        self.get_logger().info(f"Begins: {request.text[:200]!r}")
        # A fresh node, so that no command inherits anything from the one before, and nothing is left of its clients.
        executor = self.executor
        assert executor is not None  # it has called us
        node = rclpy.create_node(
            f"{self.get_name()}_tools",
            namespace=self.get_namespace(),
            context=self.context,
            use_global_arguments=False,
            start_parameter_services=False,
            enable_rosout=False,
        )
        executor.add_node(node)
        try:
            joints = JointLog(node, self._now, robot=self._robot)
            toolbox = self._make_toolbox(node, self._deadlines, command.stopped)
            options = PolicyOptions(turns=self._turns, stopped=lambda: watch.halted or command.stopped())
            policy = self._make_policy(mode, protocol, toolbox.schemas(), options)
            progress = TurnProgress(policy, functools.partial(self._tell, goal))
            recorder = Recorder(request.text, self._now, progress.hear)
            settings = ConversationSettings(self._turns, protocol)
            ask: Ask = nobody
            if request.answers and takes_answers(policy):
                ask = lambda question: self._answers.wait(progress.published, options.stopped)  # noqa: E731
            agent = Agent(progress, toolbox, settings, options.stopped, recorder.hear, ask)
            episode = agent.run(request.text)
            _tell_why_it_stopped(episode, command.stop_reason())
        except ToolError:  # nothing is left of a command that could not begin
            with contextlib.suppress(OSError):
                run_dir.rmdir()
            raise
        finally:
            executor.remove_node(node)
            node.destroy_node()
        lines = safety_lines(attempted, self._others.attempts())
        about |= self._others.settings()
        about["command"] = up_command(request.text, about)
        missing = write_run(run_dir, episode, toolbox, about, recorder, joints.motion())
        with missing.noted():
            if lines:
                write_atomically(run_dir / SAFETY_FILE, encode(as_text(lines)))
        for reason in missing.reasons:
            self.get_logger().warning(reason)
        self.get_logger().info(f"Ends: {episode.error_code or 'done'}: {episode.answer[:200]}")
        self._end(goal, episode)
        return RunCommand.Result(
            status=_status(episode),
            answer=episode.answer,
            turns=len(episode.turns),
            tool_calls=episode.tool_calls,
            run_dir=str(run_dir.absolute()),
        )

    def _tell(self, goal: Any, step: CommandStep, picture: NDArray[np.uint8] | None) -> None:
        """Publish a step for the operator, and its picture for viewers."""
        self._steps.append(step)
        if picture is not None and self._pictures.get_subscription_count():
            header = Header(stamp=self.get_clock().now().to_msg(), frame_id=step.picture)
            data = array.array("B", jpeg_bytes(picture))
            self._pictures.publish(CompressedImage(header=header, format="jpeg", data=data))
        goal.publish_feedback(RunCommand.Feedback(step=step))

    def _now(self) -> float:
        """Time of the node [s]: simulated where /clock is used."""
        return self.get_clock().now().nanoseconds / 1e9

    @staticmethod
    def _end(goal: Any, episode: Episode) -> None:
        if episode.success:
            goal.succeed()
        elif goal.is_cancel_requested:
            goal.canceled()
        else:
            goal.abort()


def _tell_why_it_stopped(episode: Episode, reason: str) -> None:
    """A command that was cut short ends CANCELLED; its answer names what it was doing."""
    if not reason or episode.success:
        return
    records = [record for turn in episode.turns for record in turn.calls]
    error = records[-1].result.error if records else None
    cut_short = error is not None and error.code in (ErrorCode.CANCELLED, ErrorCode.STOPPED)
    during = f" during {records[-1].name}: {error}" if cut_short else " between two steps; the arm holds its position."
    episode.error_code, episode.answer = ErrorCode.CANCELLED, f"{reason}{during}"


def _status(episode: Episode) -> ToolStatus:
    code = "" if episode.error_code is None else str(episode.error_code)
    return ToolStatus(success=episode.success, error_code=code, message=episode.answer)


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    run_node(CommandNode, args)


if __name__ == "__main__":
    main()
