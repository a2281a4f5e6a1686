"""The operator's side of the action run_command."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from toolhand_interfaces.action import RunCommand
from toolhand_interfaces.srv import AnswerQuestion
from vision_msgs.msg import Point2D

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.events import (
    Ask,
    CallRefused,
    CommandBegan,
    Listener,
    NoteAdded,
    OperatorAnswer,
    OperatorQuestion,
    OperatorTold,
    Thought,
    ToolAnswered,
    ToolCalled,
    nobody,
)
from toolhand.agent_node.pointed import PointedPoint
from toolhand.agent_node.ros.pointing import candidates_of, point_message
from toolhand.agent_node.runs.index import MAX_RESULT_BYTES
from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.files import read_file
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.ros.action_client import ActionClient
from toolhand.tool_nodes.ros.calling import call, run_goal
from toolhand.tool_nodes.ros.link import RosLink
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session

ACTION = "run_command"


class StepNarrator:
    """Passes on the steps of one command in order and each once, however they arrive.

    A feedback can be lost, or still be under way when the result is there. A step that comes after a missing one is
    kept until that one is heard, which is in the result at the latest.

    Args:
        listener: Called with each event, in the caller's thread.
    """

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._lock = threading.Lock()  # the result is heard by another thread than the feedback
        self._kept: dict[int, Any] = {}
        self._told = 0
        self._running: ToolCall | None = None
        self._call_began = 0.0

    def hear(self, step: Any) -> None:
        """A toolhand_interfaces/CommandStep has come, perhaps again."""
        with self._lock:
            if step.number > self._told:
                self._kept[step.number] = step
            while (following := self._kept.pop(self._told + 1, None)) is not None:
                self._tell(following)

    def end(self) -> None:
        """No more will come: pass on what was kept, though something before it is missing."""
        with self._lock:
            for number in sorted(self._kept):
                self._tell(self._kept.pop(number))

    def _tell(self, step: Any) -> None:
        self._told = step.number
        call = _call_of(step)
        if step.told:
            self._listener(OperatorTold(step.told))
        if step.sentence:
            self._listener(CommandBegan(step.sentence))
        if step.thought:
            self._listener(Thought(step.thought))
        code = ErrorCode(step.error_code) if step.error_code in set(ErrorCode) else None
        if step.refusal:
            self._listener(CallRefused(call, code, step.refusal))
        elif call is not None:
            self._running, self._call_began = call, time.monotonic()
            self._listener(ToolCalled(call))
        if step.result_text and self._running is not None:
            call, took = self._running, time.monotonic() - self._call_began
            error = None if code is None else ToolError(code, step.result_text.removeprefix(f"Error {code}: "))
            result = ToolResult(text=step.result_text, error=error)
            self._listener(ToolAnswered(CallRecord(call.name, call.arguments, result, None, self._call_began, took)))
        if step.note:
            self._listener(NoteAdded(step.note))
        if step.question:
            self._listener(question_in(step))
        if step.answer:
            self._listener(OperatorAnswer(step.answer))


class Operator:
    """Sends commands to the agent's node.

    Args:
        link: Takes part in the graph.
        listener: Called with each event.
        ask: Answers questions, in a thread of its own; with `nobody` a question ends the command, and the next words
            of the same session may answer it.
        session: Name of the dialogue that the words go on with; empty for none.

    Attributes:
        run_dir: Folder of the last command's report on the agent's machine, None without one.
        run_dirs: Folders of all commands that the last words became.
        answers: Answers to the questions of the last command.
        candidates: Objects that the question lets choose from that waits for the next words, in their order.
    """

    def __init__(self, link: RosLink, listener: Listener, ask: Ask = nobody, session: str = "") -> None:
        self._link, self._listener, self._ask, self._session = link, listener, ask, session
        self._answering = link.node.create_client(
            AnswerQuestion, f"{ACTION}/answer", callback_group=ReentrantCallbackGroup()
        )
        self.answers: list[OperatorAnswer] = []
        group = MutuallyExclusiveCallbackGroup()  # steps are passed on in the order in which they were published
        self._client = ActionClient(link.node, RunCommand, ACTION, callback_group=group)
        self._cancelled = threading.Event()
        self._answer: Any = None
        self.run_dir: Path | None = None
        self.run_dirs: list[Path] = []
        self.candidates: tuple[PointedPoint, ...] = ()

    def close(self) -> None:
        """Listen to nothing any more."""
        self._client.destroy()
        self._link.node.destroy_client(self._answering)

    def cancel(self) -> None:
        """Cancel the command that runs. May be called in a signal handler."""
        self._cancelled.set()

    def carry_out(self, text: str, pointed: Sequence[PointedPoint] = ()) -> Episode:
        """Send what the operator says and wait for its end. What the agent did in between stays in its reports.

        Args:
            pointed: Points of the scene camera's image that words such as "this one" and "here" mean, in order.
        """
        episode = Episode(text, [], [], Session())
        began = time.monotonic()
        self._answer, self.run_dir, self.run_dirs, self.answers = None, None, [], []
        self.candidates = ()
        steps = StepNarrator(self._listener)

        def on_feedback(feedback: Any) -> None:
            steps.hear(feedback.step)
            if feedback.step.question and self._ask is not nobody:
                threading.Thread(target=self._answer_question, args=(feedback.step,), daemon=True).start()

        try:
            outcome = run_goal(
                self._client,
                RunCommand.Goal(
                    text=text,
                    answers=self._ask is not nobody,
                    session=self._session,
                    pointed=[point_message(each) for each in pointed],
                ),
                ACTION,
                self._link.deadlines,
                on_feedback=on_feedback,
                cancelled=self._cancelled.is_set,
            )
        except ToolError as error:
            episode.error_code, episode.answer = error.code, str(error)
        else:
            self._answer = answer = outcome.result
            episode.success, code = answer.status.success, answer.status.error_code
            episode.answer = answer.answer or f"{answer.status.message} {answer.status.hint}".rstrip()
            episode.error_code = ErrorCode(code) if code in set(ErrorCode) else None
            self.run_dir = Path(answer.run_dir) if answer.run_dir else None
            self.run_dirs = [Path(folder) for folder in answer.run_dirs]
            self.candidates = candidates_of(answer.candidates)
            for step in answer.steps:
                steps.hear(step)
        steps.end()
        self._cancelled.clear()  # that was for these words
        episode.wall_s = time.monotonic() - began
        return episode

    def _answer_question(self, step: Any) -> None:
        """Put the question of a step, and send the answer; without one the command ends with its question."""
        try:
            answer = self._ask(question_in(step))
            request = AnswerQuestion.Request(step=step.number, session=self._session)
            if answer is not None:
                self.answers.append(answer)
                request.text = answer.text
                request.points = [] if answer.point is None else [Point2D(x=answer.point[0], y=answer.point[1])]
            deadlines = self._link.deadlines
            status = call(self._answering, request, deadlines.response_s, deadlines.availability_s).status
            if not status.success:
                self._listener(NoteAdded(f"The answer was not taken: {status.message}"))
        except ToolError as error:  # interrupted, or the agent's node is gone: the command ends by itself
            self._listener(NoteAdded(str(error)))

    def result(self) -> dict[str, Any]:
        """What the agent wrote about the last command, or as much of it as its result holds."""
        if self.run_dir is not None and (document := _read(self.run_dir / "result.json")):
            return document
        turns, calls = (0, 0) if self._answer is None else (self._answer.turns, self._answer.tool_calls)
        return {"transport": "ros", "turns": turns, "tool_calls": calls, "truth": None}


def question_in(step: Any) -> OperatorQuestion:
    """The question of a toolhand_interfaces/CommandStep; without candidates where those cannot be read."""
    try:
        return OperatorQuestion(step.question, candidates=candidates_of(step.candidates))
    except ToolError:
        return OperatorQuestion(step.question)


def _call_of(step: Any) -> ToolCall | None:
    if not step.tool_call:
        return None
    call = json.loads(step.tool_call)
    return ToolCall(call["name"], call["arguments"])


def _read(file: Path) -> dict[str, Any]:
    """A JSON object; empty where it cannot be read, e.g. because it lies on another machine."""
    try:
        document = plain_json.load(read_file(file, MAX_RESULT_BYTES, file.parent))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}
