"""Several conversations over one robot: each has its own `$variables` and images; the robot and its tools are shared.

Every call of every conversation runs in one thread, one after the other: two motions never overlap, no image is taken
in the middle of another client's motion, and what one conversation has seen never stands for what another has seen.
"""

from __future__ import annotations

import io
import logging
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from toolhand.agent_node.context_window import Memory
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.events import OperatorTold
from toolhand.agent_node.mcp.saying import Hearer, Saying
from toolhand.agent_node.session import OperatorSession, SessionCommand, SessionSetup
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import PackedImage, SessionImage
from toolhand.tool_nodes.toolbox.scene_look import as_offered
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session, Toolbox

logger = logging.getLogger("toolhand.mcp")

WAITING = 16
"""Calls of one conversation that may wait for the robot; the one after is refused."""

PNG_BYTES = 700_000
"""Largest image that is sent as PNG: with base64 around it, clients read messages of 1 MiB."""

SENT_SIDE = 1568
"""An image that is too large for PNG is sent as JPEG, its longer side no longer than this [px]."""

_NOT_BEGUN = frozenset({ErrorCode.INVALID_ARGUMENT, ErrorCode.UNKNOWN_TOOL, ErrorCode.NOT_APPROVED})
"""A motion call that ended so has not touched the robot."""


_STOPPED = -1
"""`ToolSession.looked_after` from a stop to the next look."""

_AFTER_A_STOP = "Ask the operator whether to go on; then look again: call robot.capture_image."

_TO_ANSWER = "Ask the operator, and say their answer."


class Brake(Protocol):
    """What stops the arm, from any thread: `toolhand.sim.arm.SimArm`, `toolhand.tool_nodes.ros.controllers.RosArm`."""

    def stop(self) -> None:
        """Latch a stop; the running motion brakes at once, later ones are refused."""

    def reset_stop(self) -> None:
        """Release the latch."""


class NoBrake:
    """For a robot that never moves."""

    def stop(self) -> None:
        """Nothing moves."""

    def reset_stop(self) -> None:
        """Nothing was stopped."""


_MEMORY = Memory()
_DROPPED = PackedImage(SessionImage(np.zeros((1, 1, 3), np.uint8)))
"""Stands for an image that a session has let go."""


def let_go(session: Session) -> None:
    """Forget what is too old; no report will show the images, so that not even their pixels are kept."""
    for index in range(1, len(session.images) - _MEMORY.images):
        session.images[index] = _DROPPED
    _MEMORY.trim(session, [])


@dataclass
class ToolSession:
    """What one client has collected.

    Attributes:
        session: Variables, images, and what tools remember: the last image taken, which grasps they gave.
        waiting: Calls that have been handed in and are not over.
        looked_after: Motions of the robot that had happened when its newest image was taken; None before the first.
        stops: Motions of it that the operator has stopped; what it asked for before the last one is not run.
        spoken: Session with the policy that hears its words; None before the first.
        heard_after: Number of the arm's last stop when its last words were heard.
    """

    session: Session = field(default_factory=Session)
    waiting: int = 0
    looked_after: int | None = None
    stops: int = 0
    spoken: OperatorSession | None = None
    heard_after: int = 0


@dataclass(frozen=True)
class ToolResponse:
    """What a call gives back, ready to be sent.

    Attributes:
        text: Text that the model reads.
        image: The result's image as a PNG or JPEG file, or None.
        error: None when the call succeeded.
    """

    text: str
    image: bytes | None = None
    media_type: str = "image/png"
    error: ToolError | None = None


class _State(Enum):
    WAITING = "waiting"
    RUNNING = "running"
    OVER = "over"


class QueuedCall:
    """One call on its way through the robot's thread; made by `SharedRobot.submit`."""

    def __init__(
        self,
        conversation: ToolSession,
        name: str,
        arguments: Any,
        motion: bool,
        on_end: Callable[[], None],
        on_stage: Callable[[str], None],
        saying: Saying | None = None,
    ) -> None:
        self.saying = saying
        self.conversation = conversation
        self.name = name
        self.arguments = arguments
        self.answer = _refusal(ErrorCode.CANCELLED, "The call was given up before it began.")
        self.motion = motion
        self.asked_after = conversation.stops
        self.on_end = on_end
        self.on_stage = on_stage
        self.state = _State.WAITING
        self.cancelled = False
        self.hushes = 0


class SharedRobot:
    """The robot that all conversations share.

    Args:
        toolbox: The tools of every conversation.
        brake: Stops the arm.
        spoken_to: Who hears what clients say, see `toolhand.agent_node.mcp.saying`; None where they may not speak.
    """

    def __init__(self, toolbox: Toolbox, brake: Brake | None = None, spoken_to: Hearer | None = None) -> None:
        self.toolbox = toolbox
        self.spoken_to = spoken_to
        self._brake = brake or NoBrake()
        self._motions = self._hushes = 0
        self._closed = False
        self._running: QueuedCall | None = None
        self._lock = threading.Lock()
        self._jobs: queue.SimpleQueue[QueuedCall | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="robot", daemon=True)
        self._thread.start()

    def open(self) -> ToolSession:
        """A new conversation."""
        return ToolSession()

    def submit(
        self,
        conversation: ToolSession,
        name: str,
        arguments: Any,
        on_end: Callable[[], None],
        on_stage: Callable[[str], None] = lambda stage: None,
        saying: Saying | None = None,
    ) -> QueuedCall:
        """Hand in a call; `on_end` is called once, from the robot's thread, when its `answer` is there.

        `on_stage` is called from that thread with the name of each stage of a motion that begins before. With `saying`
        the call is no tool's: words are said to the robot, which may move.
        """
        motion = saying is not None or self.toolbox.is_motion(name)
        job = QueuedCall(conversation, name, arguments, motion, on_end, on_stage, saying)
        with self._lock:
            if self._closed:
                job.answer = _refusal(ErrorCode.STOPPED, "The server is ending; the arm holds its position.")
            elif conversation.waiting >= WAITING:
                message = f"{WAITING} calls of this conversation are waiting for the robot already."
                job.answer = _refusal(ErrorCode.UNAVAILABLE, message, "Wait for their results.")
            else:
                conversation.waiting += 1
                job.hushes = self._hushes
                self._jobs.put(job)
                return job
            job.state = _State.OVER
        on_end()
        return job

    def cancel(self, job: QueuedCall) -> bool:
        """Give a call up. One that waits is not run, a motion is braked; anything else runs to its end, unheard.

        Returns:
            True if a motion was stopped, whose end should be waited for.
        """
        with self._lock:
            job.cancelled = True
            if job.state is not _State.RUNNING or not job.motion:
                return False
            self._brake.stop()
        logger.warning("%s was cancelled: the arm is braked.", job.name)
        return True

    def shut_down(self) -> None:
        """Stop the arm for good and run no further call; may be called more than once, from any thread."""
        with self._lock:
            self._closed = True
            self._brake.stop()
        self._jobs.put(None)

    def enter(self, stage: str) -> None:
        """A stage of the motion that runs begins, e.g. "the lift"; of use to a Manipulator as its `on_stage`."""
        with self._lock:
            job = self._running
        if job is not None:
            job.on_stage(stage)

    @property
    def interrupted(self) -> bool:
        """True while a call runs whose caller has gone, or after `shut_down`: time to stop asking a person."""
        with self._lock:
            return self._closed or (self._running is not None and self._running.cancelled)

    def join(self, timeout_s: float) -> bool:
        """Wait for the call that runs [s]; True if none runs any more."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            with self._lock:
                job.cancelled = job.cancelled or (job.motion and job.hushes != self._hushes)
                run = not (job.cancelled or self._closed)
                job.state = _State.RUNNING
                self._running = job
            if run:
                job.answer = self._run(job)
            with self._lock:
                job.state = _State.OVER
                self._running = None
                job.conversation.waiting -= 1
                if run and job.cancelled and job.motion and not self._closed:
                    self._brake.reset_stop()  # the latch was this cancellation's own
            job.on_end()

    def _run(self, job: QueuedCall) -> ToolResponse:
        """The answer to a call; nothing that goes wrong may end the thread."""
        conversation = job.conversation
        try:
            if job.saying is not None:
                return self._say(job, job.saying)
            if job.motion:
                self._check_motion(job)
            record = self.toolbox.call(job.name, job.arguments, conversation.session)
            self._note(job, record)
            return _answer(record)
        except ToolError as error:
            return refused(as_offered(error, self.toolbox.specs))
        except Exception as error:
            logger.exception("%.60r failed in the server", job.name)
            return _refusal(ErrorCode.INTERNAL, f"{job.name[:60]!r} failed in the server: {type(error).__name__}.")

    def _check_motion(self, job: QueuedCall) -> None:
        """Refuse a motion that is wrong, or thought out on what is no longer so. Raises ToolError."""
        conversation = job.conversation
        self.toolbox.check(job.name, job.arguments, conversation.session)
        self._check_stops(job)
        if conversation.looked_after == _STOPPED:
            raise ToolError(
                ErrorCode.STOPPED, "Not run: the operator has stopped this conversation's last motion.", _AFTER_A_STOP
            )
        if conversation.looked_after not in (None, self._motions):
            raise ToolError(
                ErrorCode.SCENE_CHANGED,
                "Another conversation has moved the robot since this one's newest picture.",
                "Look again: call robot.capture_image.",
            )

    def _check_stops(self, job: QueuedCall) -> None:
        if job.asked_after != job.conversation.stops:
            raise ToolError(
                ErrorCode.STOPPED, "Not run: it was asked for before the operator stopped the arm.", _AFTER_A_STOP
            )

    def _say(self, job: QueuedCall, saying: Saying) -> ToolResponse:
        """The answer to words. What they moved, no image of this conversation shows. Raises ToolError."""
        self._check_stops(job)
        conversation = job.conversation
        assert self.spoken_to is not None  # no call says anything elsewhere
        if conversation.spoken is None:
            to = self.spoken_to
            setup = SessionSetup(
                self.carry_out, to.robot, self._tell, lambda: self.interrupted, protocol=to.settings.protocol
            )
            conversation.spoken = to.kind.begin(setup)
        try:
            with self.toolbox.job() as watch:  # a stop ends all that was said
                if watch.stops != conversation.heard_after:
                    conversation.spoken.note_stop()
                conversation.heard_after = watch.stops
                turn = saying.hold(conversation.spoken)
        finally:
            for record in (record for episode in saying.episodes for record in episode.records if record.motion):
                error = record.result.error
                self._motions += error is None or error.code not in _NOT_BEGUN
                if error is not None and error.code is ErrorCode.STOPPED and not job.cancelled:
                    conversation.stops += 1
                    conversation.looked_after = _STOPPED
        if turn.error_code is None:
            return ToolResponse(turn.answer)
        open_question = conversation.spoken.question is not None
        return refused(ToolError(turn.error_code, turn.answer, _TO_ANSWER if open_question else saying.closed))

    def carry_out(self, command: SessionCommand) -> Episode:
        """See `toolhand.agent_node.session.CarryOut`: in the robot's thread, for the words that are being said."""
        assert self.spoken_to is not None
        return self._said.carry_out(command, self.spoken_to, lambda: self.interrupted)

    def _tell(self, line: str) -> None:
        self._said.hear(OperatorTold(line))

    @property
    def _said(self) -> Saying:
        """What is being said, in the robot's thread."""
        assert self._running is not None
        assert self._running.saying is not None
        return self._running.saying

    def hush(self) -> bool:
        """Brake what moves, whoever has asked for it, and run no motion that waits; False where nothing moves."""
        with self._lock:
            job = self._running
            if job is None or not job.motion:
                return False
            self._hushes += 1
        self.cancel(job)
        return True

    def _note(self, job: QueuedCall, record: CallRecord) -> None:
        """Keep up with who has seen which state of the table."""
        conversation, result = job.conversation, record.result
        let_go(conversation.session)
        if record.motion:
            begun = result.error is None or result.error.code not in _NOT_BEGUN
            self._motions += begun
            if begun or conversation.looked_after is None:  # it looked before it planned
                conversation.looked_after = self._motions
            if result.error is not None and result.error.code is ErrorCode.STOPPED and not job.cancelled:
                conversation.stops += 1
                conversation.looked_after = _STOPPED
        elif result.ok and self.toolbox.find(record.name).name.startswith("robot."):
            conversation.looked_after = self._motions


def _answer(record: CallRecord) -> ToolResponse:
    result = record.result
    if result.image is None:
        return ToolResponse(result.text, error=result.error)
    text = f"{result.text} This picture has the image_index {record.image_index}.".lstrip()
    return ToolResponse(text, *encoded(result.image), result.error)


def encoded(rgb: NDArray[np.uint8]) -> tuple[bytes, str]:
    """An image (H, W, 3) as a file that clients can read, and the file's media type."""
    image, buffer = Image.fromarray(rgb), io.BytesIO()
    image.save(buffer, format="PNG", compress_level=1)
    if buffer.tell() <= PNG_BYTES:
        return buffer.getvalue(), "image/png"
    image.thumbnail((SENT_SIDE, SENT_SIDE))
    for quality in (90, 60, 30):
        buffer = io.BytesIO()
        image.save(buffer, format="JPEG", quality=quality)
        if buffer.tell() <= PNG_BYTES:
            break
    return buffer.getvalue(), "image/jpeg"


def _refusal(code: ErrorCode, message: str, hint: str = "") -> ToolResponse:
    return refused(ToolError(code, message, hint))


def refused(error: ToolError) -> ToolResponse:
    """The answer to a call that is not run, or has failed."""
    return ToolResponse(f"Error {error.code}: {error}", error=error)
