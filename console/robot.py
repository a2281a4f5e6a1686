"""What the pages can do with a robot, and what they hear from it; nothing here knows ROS 2.

`toolhand.console.ros.GraphRobot` is one over a graph; tests have robots of their own. Subscriptions last only while
something is
shown: cameras take images, and motions wait for approval, only while somebody listens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from toolhand.agent_node.events import Ask, Event
from toolhand.agent_node.pointed import PointedPoint
from toolhand.tool_nodes.motion.approval import Decision, MotionRequest
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.types import FloatArray, Frame

Close = Callable[[], None]
"""Ends a subscription. A second call does nothing."""


@dataclass(frozen=True)
class GraphState:
    """Whether the agent of a graph can be spoken to.

    Attributes:
        reachable: The agent's node is there.
        sentence: Missing part, and what to do; empty where nothing is.
        unapproved: Why its motions cannot be approved here, and what to do; empty where they can, or need not.
    """

    reachable: bool
    sentence: str = ""
    unapproved: str = ""


@dataclass(frozen=True)
class SpokenWords:
    """What an operator says.

    Attributes:
        text: The sentence.
        session: Name of the dialogue that it goes on with.
        pointed: Points given while it was said, in order.
    """

    text: str
    session: str
    pointed: tuple[PointedPoint, ...] = ()


@dataclass(frozen=True)
class ShownImage:
    """An image that a tool has returned while a command is carried out.

    Attributes:
        name: Name of the image's file in the run's folder, e.g. "images/000.png".
        jpeg: The image as JPEG.
    """

    name: str
    jpeg: bytes


Heard = Event | ShownImage
"""What is heard while a command is carried out."""


@dataclass(frozen=True)
class SpokenOutcome:
    """How something that was said has ended.

    Attributes:
        answer: The answer to the operator.
        success: Everything that was asked for is done, or answered.
        error_code: Code of what went wrong; None where nothing did.
        run_dirs: Folders of the reports, in order, on the agent's machine.
    """

    answer: str
    success: bool
    error_code: ErrorCode | None = None
    run_dirs: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class CameraImage:
    """An image of a camera, as it comes.

    Attributes:
        camera: Name of the camera, "scene" or "wrist".
        rgb: uint8 (H, W, 3).
        stamp_ns: Its stamp by the camera's clock [ns].
        received_s: When it came, by `time.monotonic` [s].
    """

    camera: str
    rgb: NDArray[np.uint8]
    stamp_ns: int
    received_s: float


@dataclass(frozen=True, eq=False)
class JointPositions:
    """Where the joints are: names, and positions (n,) [rad, m] in their order."""

    names: tuple[str, ...]
    positions: FloatArray
    stamp_ns: int


@dataclass(frozen=True, eq=False)
class WaitingMotion:
    """A motion that waits for a person's approval, with a valid proof of its sender.

    Attributes:
        request: The request with all that will be run.
        expires_s: When the question is withdrawn, by `time.monotonic` [s].
    """

    request: MotionRequest
    expires_s: float


@dataclass(frozen=True, eq=False)
class MotionMark:
    """Something that the motion node shows of the motion that is planned.

    Attributes:
        name: "target", "gripper", "path", "place", "obstacles" or another name of its own.
        points: (N, 3) points, base frame [m]; none where it is made of lines.
        segments: (M, 2, 3) lines, base frame [m]; none where it is made of points.
    """

    name: str
    points: FloatArray
    segments: FloatArray


class Robot(Protocol):
    """A robot as the pages know it. Methods may be called in any thread, and listeners are called in any thread."""

    def state(self) -> GraphState:
        """Whether it can be spoken to; returns at once."""

    def say(self, said: SpokenWords, hear: Callable[[Heard], None], ask: Ask) -> SpokenOutcome:
        """Have something carried out, and wait for its end; one at a time. What goes wrong is in the outcome.

        Args:
            said: The words, and what was pointed at.
            hear: Called with each event as it comes.
            ask: Puts a question to the operator and waits, in a thread of its own.
        """

    def cancel(self) -> None:
        """Cancel what is carried out, if anything is. Returns at once."""

    def images(self, camera: str, hear: Callable[[CameraImage], None]) -> Close:
        """Hear every image of a camera until it is closed."""

    def frame(self, camera: str) -> Frame:
        """Take one image with depth and the pose of the camera. Raises ToolError where none comes."""

    def description(self) -> str:
        """The robot's URDF; empty where nobody has published it yet. Returns at once."""

    def joints(self, hear: Callable[[JointPositions], None]) -> Close:
        """Hear where the joints are until it is closed."""

    def marks(self, hear: Callable[[tuple[MotionMark, ...]], None]) -> Close:
        """Hear what the motion that is planned is about until it is closed; nothing once it has ended."""

    def motions(self, hear: Callable[[WaitingMotion | None], None]) -> Close:
        """Hear which motion waits for approval, None once it does not, until it is closed."""

    def decide(self, decision: Decision) -> str:
        """Answer a request for approval.

        Returns:
            Empty where the motion node has taken the answer, else one sentence that says why not.

        Raises:
            ToolError: UNAVAILABLE or TIMEOUT where the motion node has gone away.
        """

    def note_point(self, point: tuple[float, float], jpeg: bytes) -> None:
        """Remember how the scene around a point looks now, just after somebody has pointed at it. Returns at once.

        Args:
            point: Normalized (x, y) of the scene camera's image.
            jpeg: The image that was pointed at, as it was shown; empty for one that is too old to be kept.
        """

    def attend(self, present: bool) -> None:
        """Say whether an operator's page is open: without one nothing of a command is listened to. Returns at once."""

    def close(self) -> None:
        """Leave the graph."""
