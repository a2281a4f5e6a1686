"""A robot without a graph: what it does is said by the words of a sentence, so that a test needs no other channel."""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tests.guarded import KINEMATICS, PARK, RecordingArm, permitted, turned
from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.events import (
    Ask,
    CallRefused,
    CommandBegan,
    NoteAdded,
    OperatorQuestion,
    OperatorTold,
    Thought,
    ToolAnswered,
    ToolCalled,
)
from toolhand.agent_node.pointed import LONGEST_LABEL, PointedPoint
from toolhand.console.robot import (
    CameraImage,
    Close,
    GraphState,
    Heard,
    JointPositions,
    MotionMark,
    ShownImage,
    SpokenOutcome,
    SpokenWords,
    WaitingMotion,
)
from toolhand.tool_nodes.geometry import look_at
from toolhand.tool_nodes.motion.approval import Decision, MotionRequest, PlannedMotion, hash_of
from toolhand.tool_nodes.motion.guard import GuardedArm, Mode, MotionGuard
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.toolbox import CallRecord
from toolhand.tool_nodes.types import Frame, Trajectory

SIZE = 640, 480
"""Width and height of its cameras' images [px]."""
CANDIDATES = (
    PointedPoint((0.25, 0.5), label="the left one"),
    PointedPoint((0.75, 0.5), label="the right one"),
)
"""Objects that its question lets choose from."""


def _grid() -> np.ndarray:
    rows, columns = np.mgrid[: SIZE[1], : SIZE[0]]
    shades = np.stack([columns * 255 // SIZE[0], rows * 255 // SIZE[1], np.full_like(rows, 96)], axis=-1)
    shades[(rows % 40 == 0) | (columns % 40 == 0)] = 240
    return shades.astype(np.uint8)


_GRID = _grid()


def make_image(number: int = 0) -> np.ndarray:
    """An image (H, W, 3) with a grid of 40 px, which differs with its number."""
    shades = _GRID.copy()
    shades[10:20, 10 + number % 600 : 20 + number % 600] = (255, 40, 40)
    return shades


def jpeg(number: int = 0) -> bytes:
    """The same as JPEG."""
    out = io.BytesIO()
    Image.fromarray(make_image(number)).save(out, "jpeg")
    return out.getvalue()


class _Desk:
    """The Approver of a robot."""

    def __init__(self, robot: FakeRobot) -> None:
        self._robot = robot

    def decide(self, request: MotionRequest) -> Decision:
        return self._robot.decide_motion(request)


class FakeRobot:
    """Does what the first word of a sentence says: "pick", "ask", "wait", "fail", "move", "flood", "echo", "blind" or
    "see".

    After any other word it only answers.

    Args:
        log: File that gets a line of JSON for everything that was asked of it; None for none.
        rate_hz: Images of a camera while somebody listens.

    Attributes:
        said: What was said, in order.
        decisions: Decisions on motions, in order.
        listening: How many listen to each stream.
        waiting: The motion that waits for approval.
        reachable: Its graph is there.
        asked: Requests for approval, in order.
        deadline_s: How long it waits for an answer to one.
        blind: Its cameras send nothing.
        marked: What it says of the motion that is planned.
    """

    def __init__(self, log: Path | None = None, rate_hz: float = 10.0) -> None:
        self.said: list[SpokenWords] = []
        self.decisions: list[Decision] = []
        self.listening: dict[str, int] = {}
        self.waiting: WaitingMotion | None = None
        self.reachable = True
        self.asked: list[MotionRequest] = []
        self.deadline_s = 60.0
        self.blind = False
        self.marked: tuple[MotionMark, ...] = ()
        self._moves = 0
        self._decision: Decision | None = None
        self._hear_motion: list[Callable[[WaitingMotion | None], None]] = []
        self._log, self._rate_hz = log, rate_hz
        self._cancelled = threading.Event()
        self._lock = threading.Lock()

    def state(self) -> GraphState:
        if self.reachable:
            return GraphState(True)
        return GraphState(False, "No agent is found on this ROS domain. Start it: toolhand up.")

    def say(self, said: SpokenWords, hear: Callable[[Heard], None], ask: Ask) -> SpokenOutcome:
        self.said.append(said)
        self._note("said", text=said.text, session=said.session, points=[[*each.point] for each in said.pointed])
        self._cancelled.clear()
        first = said.text.split()[0].lower() if said.text.split() else ""
        match first:
            case "pick" | "put":
                return self._carry_out(said, hear)
            case "ask":
                hear(OperatorTold("My plan: 1. pick up the can; 2. put it in the bowl."))
                answer = ask(
                    OperatorQuestion(
                        "Which can do you mean: 1. the left one or 2. the right one?", candidates=CANDIDATES
                    )
                )
                if answer is None:
                    return SpokenOutcome("Nobody answered.", False, ErrorCode.AMBIGUOUS)
                self._note("answer", words=answer.words)
                return SpokenOutcome(f"Answered: {answer.words}", True)
            case "wait":
                while not self._cancelled.wait(0.05):
                    pass
                return SpokenOutcome("Cancelled by the operator.", False, ErrorCode.CANCELLED)
            case "fail":
                return SpokenOutcome(f"Nothing like that is here: {said.text}", False, ErrorCode.OBJECT_NOT_FOUND)
            case "move" | "not":
                return self._move(said)
            case "echo":
                return self._echo(said.text.partition(" ")[2], hear, ask)
            case "blind" | "see":
                self.blind = first == "blind"
            case "flood":
                for k in range(200):
                    hear(Thought(f"thought {k} at {time.time():.6f}"))
                    time.sleep(0.02)
        return SpokenOutcome(f"I have heard: {said.text}", True)

    def _echo(self, words: str, hear: Callable[[Heard], None], ask: Ask) -> SpokenOutcome:
        """Some words wherever a policy, a tool or the name of an object may have them."""
        call = ToolCall(words, {words: words})
        hear(OperatorTold(words))
        hear(CommandBegan(words))
        hear(Thought(words))
        hear(ToolCalled(call))
        hear(ToolAnswered(CallRecord(words, {words: words}, ToolResult(text=words), 0, 0.0, 0.2)))
        hear(ShownImage(words, jpeg()))
        hear(CallRefused(call, ErrorCode.SCENE_CHANGED, words))
        hear(NoteAdded(words))
        label = words[:LONGEST_LABEL]
        ask(OperatorQuestion(words, candidates=tuple(replace(each, label=label) for each in CANDIDATES)))
        return SpokenOutcome(words, False, ErrorCode.OBJECT_NOT_FOUND, run_dirs=(words.replace("/", "_"),))

    def _carry_out(self, said: SpokenWords, hear: Callable[[Heard], None]) -> SpokenOutcome:
        hear(Thought("I look for it first."))
        call = ToolCall("robot.capture_image", {"camera": "scene"})
        hear(ToolCalled(call))
        hear(
            ToolAnswered(CallRecord(call.name, call.arguments, ToolResult(text="A picture of 640x480."), 0, 0.0, 0.21))
        )
        hear(ShownImage("images/000.png", jpeg()))
        hear(
            CallRefused(
                ToolCall("robot.execute_grasp", {"grasp": "$g"}), ErrorCode.SCENE_CHANGED, "The scene has changed."
            )
        )
        hear(NoteAdded("Look again before you grasp."))
        return SpokenOutcome(f"Done: {said.text}", True, run_dirs=("runs/20260101-000000",))

    def _move(self, said: SpokenWords) -> SpokenOutcome:
        """A motion that needs an approval, before the guard of the product and an arm that notes what it does."""
        self._moves += 1
        arm = RecordingArm()
        guard = MotionGuard(Mode.ASK, _Desk(self))
        angle = 0.2 + 0.001 * self._moves
        at = f" at ({said.pointed[0].point[0]:.3f}, {said.pointed[0].point[1]:.3f})" if said.pointed else ""
        motion = PlannedMotion(
            f"Grasp number {self._moves}{at}",
            (0.085, turned(angle), 0.0),
            KINEMATICS.fk(PARK + angle * np.eye(7)[0]),
            "straight up by 8 cm",
            self.frame("scene"),
        )
        try:
            with permitted(guard, motion):
                guarded = GuardedArm(arm, guard)
                for step in motion.steps:
                    if isinstance(step, Trajectory):
                        guarded.follow(step)
                    else:
                        guarded.move_gripper(step)
        except ToolError as error:
            self._note("not run", number=self._moves, code=str(error.code), message=error.message)
            return SpokenOutcome(str(error), False, error.code)
        ran = (arm.openings[0], *arm.followed, *arm.openings[1:])
        request = self.asked[-1]
        self._note("ran", number=self._moves, hash=hash_of(ran, request.T_end, request.request_id))
        return SpokenOutcome(f"Done: {said.text}", True)

    def decide_motion(self, request: MotionRequest) -> Decision:
        """Ask for an approval as the motion node does: until it is answered, cancelled, or late."""
        self.asked.append(request)
        self._decision = None
        until_s = time.monotonic() + self.deadline_s
        self.ask_approval(WaitingMotion(request, until_s))
        try:
            while time.monotonic() < until_s:
                if self._cancelled.wait(0.01):
                    raise ToolError(ErrorCode.CANCELLED, "The operator has cancelled.")
                if self._decision is not None:
                    return self._decision
            return Decision(False, f"nobody answered within {self.deadline_s:g} s", request.hash, "nobody")
        finally:
            self.ask_approval(None)

    def cancel(self) -> None:
        self._note("cancel")
        self._cancelled.set()

    def images(self, camera: str, hear: Callable[[CameraImage], None]) -> Close:
        def show(number: int) -> None:
            if not self.blind:
                hear(CameraImage(camera, make_image(number), time.time_ns(), time.monotonic()))

        return self._stream(f"pictures/{camera}", show)

    def frame(self, camera: str) -> Frame:
        depth = np.full((SIZE[1], SIZE[0]), 0.8, np.float32)
        depth[200:280, 280:360] = 0.7
        K = np.array([[600.0, 0.0, 320.0], [0.0, 600.0, 240.0], [0.0, 0.0, 1.0]])
        T = look_at((0.45, 0.0, 0.8), (0.45, 0.001, 0.0))
        return Frame(make_image(), depth, K, T, time.time(), camera)

    def description(self) -> str:
        return load_robot().urdf_text()

    def joints(self, hear: Callable[[JointPositions], None]) -> Close:
        names = tuple(f"joint_{k}" for k in range(1, 8))

        def show(number: int) -> None:
            hear(JointPositions(names, 0.3 * np.sin(number / 10 + np.arange(7.0)), time.time_ns()))

        return self._stream("joints", show)

    def motions(self, hear: Callable[[WaitingMotion | None], None]) -> Close:
        self._count("motions", 1)
        self._hear_motion.append(hear)
        hear(self.waiting)

        def close() -> None:
            if hear in self._hear_motion:
                self._hear_motion.remove(hear)
                self._count("motions", -1)

        return close

    def ask_approval(self, motion: WaitingMotion | None) -> None:
        """Publish a motion that waits, or that none does."""
        self.waiting = motion
        for hear in tuple(self._hear_motion):
            hear(motion)

    def decide(self, decision: Decision) -> str:
        with self._lock:
            if self.waiting is None or self._decision is not None:
                refusal = "No motion waits for an approval; nothing was approved."
            elif decision.hash != self.waiting.request.hash:
                refusal = "The hash is not that of the motion that waits; nothing was approved."
            else:
                refusal, self._decision = "", decision
                self.decisions.append(decision)
        self._note("decide", approved=decision.approved, reason=decision.reason, hash=decision.hash, refusal=refusal)
        return refusal

    def marks(self, hear: Callable[[tuple[MotionMark, ...]], None]) -> Close:
        self._count("marks", 1)
        hear(self.marked)
        return lambda: self._count("marks", -1)

    def note_point(self, point: tuple[float, float], jpeg: bytes) -> None:
        self._note("point", point=[*point], jpeg=len(jpeg))

    def attend(self, present: bool) -> None:
        self._note("attend", present=present)

    def close(self) -> None:
        self._cancelled.set()

    # -- the tests' side ------------------------------------------------------------------------

    def _stream(self, name: str, show: Callable[[int], None]) -> Close:
        ended = threading.Event()
        self._count(name, 1)

        def run() -> None:
            number, due_s = 0, time.monotonic()
            while not ended.is_set():
                show(number)
                number += 1
                due_s += 1.0 / self._rate_hz
                ended.wait(max(0.0, due_s - time.monotonic()))

        threading.Thread(target=run, daemon=True).start()

        def close() -> None:
            if not ended.is_set():
                ended.set()
                self._count(name, -1)

        return close

    def _count(self, name: str, change: int) -> None:
        with self._lock:
            self.listening[name] = self.listening.get(name, 0) + change
        self._note("listening", **self.listening)

    def _note(self, what: str, **more: Any) -> None:
        if self._log is not None:
            with self._lock, self._log.open("a", encoding="utf-8") as out:
                out.write(json.dumps({"what": what, "at": time.time(), **more}) + "\n")
