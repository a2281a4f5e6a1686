"""ROS 2 node `agent`: carries out what operators say, each in a session of their own, as the action run_command."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Interval
from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.task import Future
from sensor_msgs.msg import CompressedImage
from std_srvs.srv import Trigger
from toolhand_interfaces.action import RunCommand
from toolhand_interfaces.msg import ToolStatus

from toolhand.agent_node.conversation_settings import TURN_BUDGET
from toolhand.agent_node.events import ANSWER_DEADLINE_S
from toolhand.agent_node.memory import RobotMemory
from toolhand.agent_node.memory_file import MemoryFile
from toolhand.agent_node.policies import registry
from toolhand.agent_node.protocol import OWN
from toolhand.agent_node.ros.answers import AnswerDesk
from toolhand.agent_node.ros.pointing import candidate_messages, points_of
from toolhand.agent_node.ros.record import GraphRecord
from toolhand.agent_node.ros.spoken_goal import (
    CommandSetup,
    MakeOtherToolbox,
    MakePolicy,
    MakeToolbox,
    RunningCommand,
    SpokenGoal,
)
from toolhand.agent_node.session import OperatorSession, SessionKind, SessionSetup, say_and_ask
from toolhand.agent_node.session_kinds import session_of
from toolhand.agent_node.sessions import OperatorSessions
from toolhand.tool_nodes.language.stopping import is_stop
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid, unavailable
from toolhand.tool_nodes.ros import parameters
from toolhand.tool_nodes.ros.calling import Deadlines, call
from toolhand.tool_nodes.ros.parameters import Count, NonEmpty, Seconds, one_of
from toolhand.tool_nodes.ros.remote import remote_toolbox
from toolhand.tool_nodes.ros.spinning import run_node
from toolhand.tool_nodes.ros.status import failure, success
from toolhand.tool_nodes.ros.stop_state import StopListener
from toolhand.tool_nodes.stop_latch import StopLatch, StopWatch
from toolhand.tool_nodes.toolbox.toolbox import Toolbox
from toolhand.tool_nodes.tools.spacetools.robot import ROLES
from toolhand.tool_nodes.tools.suites import parse_suites
from toolhand.tool_nodes.version import version

ACTION = "run_command"
SCRIPTED = "scripted"
HUSHED = "I begin nothing further of it."
"""Answer to "stop" and "wait" while another goal is carried out."""

IMAGES_KEPT = 8
"""Images that a slow viewer may be behind; about 0.1 MB each."""

_PARKING_AVAILABLE_S = 1.0
"""Longest wait for the parking service to be there [s]: a graph without it has none."""


def robot_toolbox(
    node: Node,
    deadlines: Deadlines,
    stopped: Callable[[], bool],
    suites: Iterable[str] = ("spacetools",),
    role: str = "operator",
    stops: StopListener | None = None,
    park: bool = True,
) -> Toolbox:
    """The robot's tools.

    Args:
        node: Gets their clients.
        deadlines: How long other nodes are waited for.
        stopped: Polled during a motion; True cancels it.
        suites: Names of the suites of tools that are offered.
        role: "operator", or "observer" without tools that move the arm.
        stops: Knows the stop of the motion node.
        park: An operator's arm that a stop or a fault has left in the camera's view is brought back first.

    Raises:
        ToolError: STOPPED where the arm was stopped since the command began, or is.
    """
    toolbox = remote_toolbox(node, deadlines, stopped, suites, role, stops)
    if role == "operator" and park:
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


@dataclass(frozen=True)
class CommandParameters:
    """Parameters of the agent's node.

    Attributes:
        suites: Suites of the tools: one, several, or all; own: those of a model's protocol.
        role: An observer has no tool that moves the robot: observer or operator.
        policy: Who decides, in the form of the option --policy.
        protocol: How the policy writes; own: as it was taught.
        advice: A model is told how to use its tools, how to ask and how to give up.
        runs_dir: Folder that reports are written to.
        keep_runs: Newest runs that are kept there; 0 keeps all.
        turns: Turns before a command fails; 1 or more.
        answer_deadline_s: How long a question waits [s].
    """

    suites: NonEmpty = OWN
    role: Annotated[str, one_of(ROLES)] = "operator"
    policy: NonEmpty = "scripted"
    protocol: NonEmpty = OWN
    advice: bool = True
    runs_dir: NonEmpty = "runs"
    keep_runs: Count = 0
    turns: Annotated[int, Interval(ge=1)] = TURN_BUDGET
    answer_deadline_s: Seconds = ANSWER_DEADLINE_S


class CommandNode(Node):
    """Serves RunCommand, one goal at a time; a second one is answered "busy" at once, unless it says "stop" or "wait".

    Parameters: those of `CommandParameters` and `toolhand.tool_nodes.ros.calling.Deadlines`, and `robot`.

    Args:
        make_toolbox: Makes the tools of a command, from a node of its own, deadlines and a function that says whether
            it is stopped; those of `robot_toolbox` where None.
        make_policy: Makes the policy of a command; `toolhand.agent_node.policies.registry.make_policy` where None.
        session_kind: Gives the session of a policy by its name.
        options: For `rclpy.node.Node`.
    """

    def __init__(
        self,
        make_toolbox: MakeToolbox | None = None,
        make_policy: MakePolicy | None = None,
        session_kind: Callable[[str], SessionKind] = session_of,
        **options: Any,
    ) -> None:
        super().__init__("agent", **options)
        robot = parameters.robot(self)
        own = parameters.read(self, CommandParameters)
        role, turns = own.role, own.turns
        # An observer moves nothing that could be stopped, and may look while nothing moves.
        stops = StopListener(self) if role == "operator" else None
        self._latch = StopLatch() if stops is None else stops.latch
        make_tools = functools.partial(robot_toolbox, role=role, stops=stops)
        self._policy = own.policy
        if make_policy is None:
            registry.require_form(self._policy)
        protocol = registry.protocol_of(self._policy, own.protocol, own.advice)
        suites = parse_suites(registry.suites_of(self._policy, protocol, own.suites))
        parameters.told(self, "protocol_written", protocol.name, "The protocol of the policy")
        parameters.told(self, "suites_offered", ",".join(suites), "The suites that the policy is offered")
        deadlines = parameters.deadlines(self)
        about = {
            "protocol": protocol.name,
            "suite": ",".join(suites),
            "role": role,
            "turn_budget": turns,
            "transport": "ros",
            "version": version(),
        }
        self._setup = CommandSetup(
            self,
            robot,
            make_toolbox or functools.partial(make_tools, suites=suites),
            # What is asked for by rules alone begins where the arm is.
            _of_suites(make_tools) if make_toolbox is None else lambda where, suites, park: make_toolbox(*where),
            self._policy,
            make_policy or registry.make_policy,
            session_kind,
            protocol,
            turns,
            deadlines,
            Path(own.runs_dir),
            own.keep_runs,
            about,
            GraphRecord(self),
            AnswerDesk(self, own.answer_deadline_s),
            self.create_publisher(CompressedImage, f"{ACTION}/pictures", QoSProfile(depth=IMAGES_KEPT)),
        )
        self._sessions = OperatorSessions(self._begin, Path(own.runs_dir))
        self._spoken: SpokenGoal | None = None
        self._said_stop = threading.Event()
        self._stops: dict[str, int] = {}
        self._working = threading.Lock()
        self._server = ActionServer(
            self,
            RunCommand,
            ACTION,
            self._execute,
            callback_group=ReentrantCallbackGroup(),
            cancel_callback=lambda goal: CancelResponse.ACCEPT,
        )
        self._feedback_topic = self.resolve_topic_name(f"{ACTION}/_action/feedback")

    async def _execute(self, goal: Any) -> Any:
        """Run the command in a thread of its own: it blocks, and callbacks must not."""
        watch = self._latch.watch()
        if not self._working.acquire(blocking=False):
            if is_stop(goal.request.text):
                self._said_stop.set()
                goal.succeed()
                return RunCommand.Result(status=success(HUSHED), answer=HUSHED)
            self.get_logger().warning(f"Refused, busy with another command: {goal.request.text[:200]!r}")
            goal.abort()
            busy = unavailable("busy: another command is being carried out.", "Wait for its end, or cancel it.")
            return RunCommand.Result(status=failure(busy))
        self._said_stop.clear()
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
        spoken, self._spoken = self._spoken, None
        if spoken is not None:
            spoken.complete(result)
        self._working.release()
        done.set_result(result)
        if self.executor is not None:
            self.executor.wake()  # some versions of rclpy do not look at futures that another thread completes

    def _carry_out(self, goal: Any, watch: StopWatch) -> Any:
        """The result of what was said; ends its goal. Raises ToolError where nothing can begin, or leave a report."""
        request = goal.request
        mode = request.mode or self._policy
        # A client that may send commands may not choose where images are sent.
        if mode not in (self._policy, SCRIPTED):
            allowed = " or ".join(sorted({self._policy, SCRIPTED}))
            raise invalid(f"mode must be {allowed}, got {mode[:80]!r}.")
        if watch.halted:
            raise watch.error
        pointed = points_of(request.pointed)
        session, forgotten = self._sessions.of(request.session, mode)
        if forgotten:
            self._stops.pop(forgotten, None)
            self.get_logger().info(f"Forgets the session {forgotten!r}, which was silent longest.")
        running = RunningCommand(goal, lambda: self.count_subscribers(self._feedback_topic), self._said_stop)
        self._spoken = spoken = SpokenGoal(self._setup, mode, watch, running, self._sessions.robot)
        self.get_logger().info(f"Begins: {request.text[:200]!r}")
        if self._latch.stops != self._stops.get(request.session, self._latch.stops):
            session.note_stop()  # after the last words
        self._stops[request.session] = self._latch.stops
        turn = (
            say_and_ask(session, request.text, spoken.ask, pointed)
            if spoken.asks
            else session.say(request.text, pointed)
        )
        spoken.end(turn)
        self._end(goal, turn.success)
        code = "" if turn.error_code is None else str(turn.error_code)
        answer = f"{turn.answer} {spoken.told}".rstrip()
        self.get_logger().info(f"Has answered: {answer[:200]!r}")
        candidates = () if turn.question is None or spoken.unanswered else turn.question.candidates
        return RunCommand.Result(
            status=ToolStatus(success=turn.success, error_code=code, message=answer),
            answer=answer,
            candidates=candidate_messages(candidates),
        )

    def _begin(
        self, policy: str, robot: RobotMemory, kept: tuple[MemoryFile, ...], path: Path | None
    ) -> OperatorSession:
        """A session whose commands belong to the goal that is carried out when it speaks."""
        return self._setup.session_kind(policy).begin(
            SessionSetup(
                lambda command: self._now.carry_out(command),
                robot,
                lambda line: self._now.tell(line),
                lambda: self._now.stopped(),
                kept,
                path,
                self._setup.protocol,
            )
        )

    @property
    def _now(self) -> SpokenGoal:
        assert self._spoken is not None  # sessions speak within `_carry_out`
        return self._spoken

    def destroy_node(self) -> Any:
        """See `rclpy.node.Node`. What was said is forgotten."""
        self._sessions.close()
        return super().destroy_node()

    @staticmethod
    def _end(goal: Any, success: bool) -> None:
        if success:
            goal.succeed()
        elif goal.is_cancel_requested:
            goal.canceled()
        else:
            goal.abort()


def _of_suites(make_tools: Callable[..., Toolbox]) -> MakeOtherToolbox:
    return lambda where, suites, park: make_tools(*where, suites=suites, park=park)


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    run_node(CommandNode, args)


if __name__ == "__main__":
    main()
