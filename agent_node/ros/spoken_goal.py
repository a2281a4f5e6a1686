"""What an operator says to the agent's node, while it is carried out: any number of commands, one after the other."""

from __future__ import annotations

import array
import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import CompressedImage
from std_msgs.msg import Header
from toolhand_interfaces.action import RunCommand
from toolhand_interfaces.msg import CommandStep

from toolhand.agent_node.advice import about_the_robot
from toolhand.agent_node.agent import Agent
from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.events import Ask, OperatorAnswer, nobody
from toolhand.agent_node.memory import RobotMemory
from toolhand.agent_node.open_question import OpenQuestion
from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policy import Policy, takes_answers
from toolhand.agent_node.protocol import Protocol
from toolhand.agent_node.ros.answers import AnswerDesk
from toolhand.agent_node.ros.joint_log import JointLog
from toolhand.agent_node.ros.pointing import candidate_messages, points_of
from toolhand.agent_node.ros.progress import TurnProgress
from toolhand.agent_node.ros.record import GraphRecord, again_command, as_text, safety_lines
from toolhand.agent_node.runs.folder import (
    SAFETY_FILE,
    Unwritten,
    clear_empty,
    encode,
    jpeg_bytes,
    time_now,
    write_atomically,
)
from toolhand.agent_node.runs.mcap.recorder import Recorder
from toolhand.agent_node.runs.sentence import SentenceFolder, with_words
from toolhand.agent_node.runs.write import write_run
from toolhand.agent_node.session import SessionCommand, SessionKind, SessionTurn
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.calling import Deadlines
from toolhand.tool_nodes.stop_latch import StopWatch
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox

OPERATOR_GONE_S = 1.0
"""A command whose operator has not been seen for so long is stopped [s]."""

MakeToolbox = Callable[[Node, Deadlines, Callable[[], bool]], Toolbox]
Where = tuple[Node, Deadlines, Callable[[], bool]]
MakeOtherToolbox = Callable[[Where, tuple[str, ...], bool], Toolbox]
MakePolicy = Callable[[str, Protocol, list[dict[str, Any]], PolicyOptions], Policy]


@dataclass(frozen=True)
class CommandSetup:
    """What all commands of a node share.

    Attributes:
        node: The agent's node.
        make_toolbox: Makes the tools of the session's own policy, from a node, deadlines and a function that says
            whether the command is stopped.
        make_other_toolbox: The same of other suites, with the arm parked first or not.
        policy: Name of the node's own policy.
        session_kind: Gives the session of a policy by its name.
        protocol: How the policy writes.
        turns: Turns before a command fails.
        deadlines: How long other nodes are waited for.
        runs_dir: Folder of the reports.
        keep_runs: How many of the newest runs stay there; 0 keeps all.
        about: Entries of every `result.json`.
        others: Facts of the other nodes.
        answers: Where answers of operators come in.
        images: Shows what the tools return.
    """

    node: Node
    robot: RobotModel
    make_toolbox: MakeToolbox
    make_other_toolbox: MakeOtherToolbox
    policy: str
    make_policy: MakePolicy
    session_kind: Callable[[str], SessionKind]
    protocol: Protocol
    turns: int
    deadlines: Deadlines
    runs_dir: Path
    keep_runs: int
    about: Mapping[str, Any]
    others: GraphRecord
    answers: AnswerDesk
    images: Publisher

    def now(self) -> float:
        """Time of the node [s]: simulated where /clock is used."""
        return float(self.node.get_clock().now().nanoseconds / 1e9)


class RunningCommand:
    """One goal while it is carried out: why it should stop, if it should.

    Args:
        operators: How many listen to the feedback.
        said_stop: Is set once an operator has said in another goal that it should stop.
    """

    def __init__(self, goal: Any, operators: Callable[[], int], said_stop: threading.Event) -> None:
        self.goal, self._said_stop = goal, said_stop
        self._operators = operators
        self._seen = False
        self._last_seen = time.monotonic()

    def stop_reason(self) -> str:
        """Why it should not go on; empty where it should. Cheap enough to be polled."""
        if self.goal.is_cancel_requested:
            return "Cancelled by the operator"
        if self._said_stop.is_set():
            return "Stopped because an operator said so"
        now = time.monotonic()
        if self._operators() > 0:
            self._seen, self._last_seen = True, now
        elif self._seen and now - self._last_seen > OPERATOR_GONE_S:
            return "Stopped because the operator's client has gone away"
        return ""

    def stopped(self) -> bool:
        """True once it should not go on."""
        return bool(self.stop_reason())


class SpokenGoal:
    """What one goal asks for. Each of its commands has a node of its own, so that none inherits anything from the one
    before, and nothing is left of its clients.

    Args:
        setup: Settings that all commands share.
        mode: Name of the session's own policy.
        watch: Notes every stop since the goal came.
        running: The goal, and why it should stop.

    Attributes:
        steps: Every step so far.
        episodes: The commands that have ended.
        unanswered: The last question got no answer and is closed.
        told: Sentence about that for the operator; empty where they have closed it themselves.
    """

    def __init__(
        self, setup: CommandSetup, mode: str, watch: StopWatch, running: RunningCommand, robot: RobotMemory
    ) -> None:
        self.steps: list[CommandStep] = []
        self.episodes: list[Episode] = []
        self.run_dirs: list[Path] = []
        self.unanswered, self.told = False, ""
        self.mode, self.running = mode, running
        self._setup, self._watch, self._robot = setup, watch, robot
        self._kind = setup.session_kind(mode)
        self._request = running.goal.request
        self._sentence = SentenceFolder(setup.runs_dir, self._request.text, setup.keep_runs)
        self._about: dict[str, Any] = {}

    def carry_out(self, command: SessionCommand) -> Episode:
        """One command, reported; see `toolhand.agent_node.session.CarryOut`.

        Raises:
            ToolError: What keeps it from beginning, and UNAVAILABLE where no folder can be made for its report.
        """
        setup, on_the_way = self._setup, command.on_the_way
        sentence, policy = command.sentence, command.policy
        run_dir = self._sentence.begin(on_the_way)
        about = {
            **setup.about,
            **self._pointed(),
            **command.record,
            "policy": self.mode if policy is None else policy.name,
            "began": time_now(),
        }
        attempted = setup.others.attempts()
        try:
            with self._tools_node() as node:
                joints = JointLog(node, setup.now, robot=setup.robot)
                where = (node, setup.deadlines, self.running.stopped)
                if command.suites:
                    toolbox = setup.make_other_toolbox(where, command.suites, False)
                elif self.mode != setup.policy:  # its rules know these tools
                    toolbox = setup.make_other_toolbox(where, ("spacetools",), True)
                else:
                    toolbox = self._kind.tools(setup.make_toolbox(*where), self._robot, True)
                options = PolicyOptions(turns=setup.turns, stopped=self.stopped)
                protocol = replace(setup.protocol, robot=about_the_robot(setup.robot, toolbox))
                chosen = policy or setup.make_policy(self.mode, protocol, toolbox.schemas(protocol.native), options)
                number = len(self.episodes) + 1
                tell = _tell_nobody if on_the_way else self._publish
                progress = TurnProgress(chosen, tell, number, len(self.steps))
                if number > 1 or sentence != self._request.text:
                    progress.begin(sentence)
                recorder = Recorder(sentence, setup.now, progress.hear)
                episode = command.run(self._agent(command, protocol, progress, toolbox, recorder))
        except ToolError as error:  # nothing is left of a command that could not begin
            clear_empty(run_dir)
            if error.code is not ErrorCode.STOPPED:
                raise
            return Episode(sentence, [], [], Session(), answer=str(error), error_code=error.code)
        _tell_why_it_stopped(episode, self.running.stop_reason())
        lines = safety_lines(attempted, setup.others.attempts())
        about |= setup.others.settings()
        about["command"] = again_command(sentence, about)
        self._about = about

        def write(folder: Path) -> None:
            self.episodes.append(episode)
            self.run_dirs.append(folder)
            entries = with_words(about, self._request.text, sentence)
            missing = write_run(folder, episode, toolbox, entries, recorder, joints.motion())
            with missing.noted():
                if lines:
                    write_atomically(folder / SAFETY_FILE, encode(as_text(lines)))
            self._warn(missing)

        still = not any(record.motion for record in episode.records)
        self._sentence.keep(run_dir, write, on_the_way and still)
        setup.node.get_logger().info(f"Ends: {episode.error_code or 'done'}: {episode.answer[:200]}")
        return episode

    def end(self, turn: SessionTurn) -> None:
        """Have the folder say what came of all that was said."""
        missing = Unwritten()
        with missing.noted():
            again = again_command(self._request.text, self._about)
            self._sentence.end(turn.answer, turn.success, turn.error_code, again)
        self._warn(missing)

    def _warn(self, missing: Unwritten) -> None:
        for reason in missing.reasons:
            self._setup.node.get_logger().warning(reason)
            self._send(CommandStep(note=f"The report is not whole: {reason}"))

    def complete(self, result: Any) -> None:
        """Fill in what the RunCommand.Result of the goal says of its commands, however it ended."""
        result.steps = self.steps
        result.turns = sum(len(episode.turns) for episode in self.episodes)
        result.tool_calls = sum(episode.tool_calls for episode in self.episodes)
        result.run_dirs = [str(folder.absolute()) for folder in self.run_dirs]
        self._sentence.close()
        result.run_dir = "" if self._sentence.path is None or not self.run_dirs else str(self._sentence.path.absolute())

    def _pointed(self) -> dict[str, Any]:
        """What was pointed at, as an entry of the result of a command; none where nothing was."""
        points = points_of(self._request.pointed)
        return {"pointed": [dataclasses.asdict(each) for each in points]} if points else {}

    @contextlib.contextmanager
    def _tools_node(self) -> Iterator[Node]:
        node = self._setup.node
        executor = node.executor
        assert executor is not None  # it has called us
        made = rclpy.create_node(
            f"{node.get_name()}_tools",
            namespace=node.get_namespace(),
            context=node.context,
            use_global_arguments=False,
            start_parameter_services=False,
            enable_rosout=False,
        )
        executor.add_node(made)
        try:
            yield made
        finally:
            executor.remove_node(made)
            made.destroy_node()

    def _agent(
        self, command: SessionCommand, protocol: Protocol, progress: TurnProgress, toolbox: Toolbox, recorder: Recorder
    ) -> Agent:
        settings = command.settings(ConversationSettings(self._setup.turns, protocol))
        ask: Ask = nobody
        if self.asks and command.asks and takes_answers(progress):
            ask = lambda question: self._answer()  # noqa: E731
        return Agent(progress, toolbox, settings, self.stopped, recorder.hear, ask)

    def stopped(self) -> bool:
        """It should not go on: the arm was stopped since it came, or its operator wants no more of it."""
        return self._watch.halted or self.running.stopped()

    @property
    def asks(self) -> bool:
        """Answers are waited for."""
        return bool(self._request.answers)

    def ask(self, question: OpenQuestion) -> str | None:
        """See `AskOperator`: put a question of the session, as a step; None also where it was put in vain before."""
        if self.unanswered or self.stopped():
            return None
        self._send(CommandStep(question=question.text, candidates=candidate_messages(question.candidates)))
        answer = self._answer()
        if answer is None:
            return None
        self._send(CommandStep(answer=answer.words))
        return answer.words

    def tell(self, line: str) -> None:
        """Tell the operator something between two commands, as a step."""
        self._send(CommandStep(told=line))

    def _send(self, step: CommandStep) -> None:
        step.number, step.command = len(self.steps) + 1, len(self.episodes)
        self._publish(step, None)

    def _answer(self) -> OperatorAnswer | None:
        """The answer of this goal's own session to the question published last; None without one in time."""
        desk = self._setup.answers
        answer, too_late = desk.wait(self.stopped)
        self.unanswered = answer is None
        self.told = f"Nobody answered within {desk.deadline_s:g} s; the question is closed." if too_late else ""
        return answer

    def _publish(self, step: CommandStep, image: NDArray[np.uint8] | None) -> None:
        """Publish a step for the operator, and its image for viewers."""
        self.steps.append(step)
        if step.question and self.asks:
            self._setup.answers.expect(step.number, self._request.session)
        images = self._setup.images
        if image is not None and images.get_subscription_count():
            header = Header(stamp=self._setup.node.get_clock().now().to_msg(), frame_id=step.image)
            data = array.array("B", jpeg_bytes(image))
            images.publish(CompressedImage(header=header, format="jpeg", data=data))
        self.running.goal.publish_feedback(RunCommand.Feedback(step=step))


def _tell_nobody(step: CommandStep, image: NDArray[np.uint8] | None) -> None:
    """The steps of what is done on the way to a command are none of the operator's."""


def _tell_why_it_stopped(episode: Episode, reason: str) -> None:
    """A command that was cut short ends CANCELLED; its answer names what it was doing."""
    if not reason or episode.success:
        return
    records = [record for turn in episode.turns for record in turn.calls]
    error = records[-1].result.error if records else None
    cut_short = error is not None and error.code in (ErrorCode.CANCELLED, ErrorCode.STOPPED)
    during = f" during {records[-1].name}: {error}" if cut_short else " between two steps; the arm holds its position."
    episode.error_code, episode.answer = ErrorCode.CANCELLED, f"{reason}{during}"
