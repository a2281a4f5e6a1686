"""The interfaces behind which a backend can be replaced without touching a tool.

A perception port has one job and takes an image: exactly the pixels that are shown, a crop's too. The camera frame
behind them, with depth, calibration and the window of it that the image shows, is `SessionImage.frame` where there is
one; a backend that needs it asks with `require_frame`. How a backend is found by its name:
`toolhand.tool_nodes.registry`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.stop_latch import StopWatch
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import (
    ArmState,
    BoolArray,
    CollisionScene,
    Detection,
    FloatArray,
    Frame,
    Goal,
    Grasped,
    GraspSet,
    GraspTarget,
    GripperOutcome,
    MotionOutcome,
    Prompt,
    Segmentation,
    SkillOutcome,
    SkillRequest,
    TextSpan,
    Trajectory,
)

T = TypeVar("T", covariant=True)


class Camera(Protocol):
    """A calibrated RGB-D camera."""

    def capture(self) -> Frame:
        """One image; the same stamp gives the same frame."""


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What a backend answered, and which one it was, e.g. "pixels"."""

    value: T
    backend: str


class Seeded(Protocol):
    """A backend whose answers depend on a seed; one that is served is given it with each request."""

    def seeded(self, seed: int) -> Any:
        """The same backend with another seed; what is dear in it is shared."""


class Batched(Protocol):
    """What a backend has beside its port's one method where several requests cost less together."""

    def batch(self, requests: Sequence[tuple[Any, ...]]) -> list[Any]:
        """What the port's method gives for each tuple of its arguments, or the ToolError of that request alone."""


class Perceiving(Protocol):
    """What every backend says of itself."""

    @property
    def backend(self) -> str:
        """Its name as far as it is known before an answer, e.g. "pixels"; empty where the backend is elsewhere."""


class Pointer(Perceiving, Protocol):
    """Finds objects by words."""

    def point(self, image: SessionImage, text: str) -> Answer[list[tuple[float, float]]]:
        """Normalized (x, y) of every match in the image, best first; free space can be named too.

        Raises:
            ToolError: OBJECT_NOT_FOUND, naming what can be seen, only where that is known; NOT_RECOGNISED where the
                words, the image or an object in it are beyond the backend; IMAGE_UNUSABLE where an image lacks what
                the backend needs.
        """


class Detector(Perceiving, Protocol):
    """Frames objects that words name."""

    def detect(self, image: SessionImage, text: str) -> Answer[list[Detection]]:
        """Every object of that name in the image, best first.

        Raises:
            ToolError: OBJECT_NOT_FOUND, naming what can be seen, only where that is known; NOT_RECOGNISED where the
                words, the image or an object in it are beyond the backend; IMAGE_UNUSABLE where an image lacks what
                the backend needs.
        """


class Segmenter(Perceiving, Protocol):
    """Outlines objects."""

    @property
    def takes(self) -> frozenset[type[Prompt]]:
        """The prompts that it can be given; it is never given another one."""

    def segment(self, image: SessionImage, prompt: Prompt) -> Answer[list[Segmentation]]:
        """Masks (H, W) of the image, best first: of one object, of everything that words name, or of everything.

        Raises:
            ToolError: EMPTY_MASK where nothing is under points or in a box; for words OBJECT_NOT_FOUND or
                NOT_RECOGNISED and IMAGE_UNUSABLE, as a Detector.
        """


class DepthEstimator(Perceiving, Protocol):
    """Metric depth of an image."""

    def estimate(self, image: SessionImage) -> Answer[tuple[NDArray[np.float32], float]]:
        """(depth (H, W) of the image's pixels [m], NaN where unknown; focal length [px]).

        Raises:
            ToolError: IMAGE_UNUSABLE for an image that lacks what the backend needs.
        """


class TextReader(Perceiving, Protocol):
    """Reads what is printed in an image."""

    def read(self, image: SessionImage) -> Answer[list[TextSpan]]:
        """Texts in reading order, boxes in px of the image; nothing where there is none.

        What was found and could not be read is there too, with an empty text.

        Raises:
            ToolError: IMAGE_UNUSABLE for an image whose texts the backend cannot know; UNAVAILABLE where it is not
                installed.
        """


class CodeRunner(Perceiving, Protocol):
    """Runs model-written Python where it can do no harm."""

    def run(self, code: str, mode: str, variables: Mapping[str, Any], timeout_s: float | None = None) -> Any:
        """The outcome of statements (mode "exec") or of an expression ("eval"). Raises ToolError."""


class BoxFitter(Protocol):
    """Puts a box around what is seen of an object."""

    backend: str

    def box(
        self, points: FloatArray, around: FloatArray | None = None, pixel: float = 0.0
    ) -> tuple[FloatArray, FloatArray]:
        """The box of some points.

        Args:
            points: (N, 3) points of the object [m], finite, N >= 4.
            around: (M, 3) points near it that are not part of it [m]; None where they are not known.
            pixel: Side of a pixel at a distance of one [-]; 0 for points that are no pixels.

        Returns:
            Corners (8, 3) [m] in the order of `toolhand.tool_nodes.clouds.boxes.SIGNS`, and extent (3,) [m].
        """


class GraspGenerator(Perceiving, Protocol):
    """Proposes grasps for a masked subset of a cloud."""

    def generate(self, cloud: NDArray[np.float32], mask: BoolArray, T_base_camera: FloatArray) -> GraspSet:
        """Collision-free grasps for cloud (H*W, 3) in the camera frame where mask (H*W,) is true.

        Raises:
            ToolError: NO_GRASP when no candidate is free of collision.
        """


class Planner(Protocol):
    """Plans timed, collision-free joint motion."""

    def plan(self, start: FloatArray, goal: Goal, scene: CollisionScene, speed: float = 1.0) -> Trajectory:
        """A trajectory from start (n,) to goal.

        Raises:
            ToolError: IK_FAILED, OUT_OF_WORKSPACE or PLAN_FAILED.
        """

    def reachable(self, T_base_gripper: FloatArray, scene: CollisionScene, back: FloatArray | None = None) -> bool:
        """True if some arm configuration free of collision reaches the pose (4, 4).

        With `back` (3,), base frame [m], the arm must also come there in a straight line from the pose moved by it.
        """

    def reseed(self, seed: int) -> None:
        """Answer from now on as a new planner with this seed would; nothing to do where nothing is random."""


class Arm(Protocol):
    """An arm with a gripper."""

    def state(self) -> ArmState:
        """The measured state."""

    def follow(self, trajectory: Trajectory) -> MotionOutcome:
        """Run a trajectory to its end, or report why not."""

    def move_gripper(self, opening_m: float) -> GripperOutcome:
        """Move the jaws to an opening [m] from 0 to the gripper's widest and report what was measured."""

    def rest(self, seconds: float) -> MotionOutcome:
        """Let time of the robot pass [s] with the last commands; it ends early where it is stopped."""

    def stop(self) -> None:
        """Latch a stop: brake now, refuse motion until `reset_stop`."""

    def reset_stop(self) -> None:
        """Release the latch; a job that was stopped does not go on."""

    def job(self) -> AbstractContextManager[StopWatch]:
        """Within it, the motions of this thread belong together: a stop ends them all, whatever is reset meanwhile."""


class GraspAndPlace(Protocol):
    """What the robot's hand can do as a whole: `toolhand.tool_nodes.motion.manipulation.Manipulator`, or one
    elsewhere."""

    def grasp(
        self, T_base_gripper: FloatArray, frame: Frame, target: GraspTarget | None = None, speed: float = 1.0
    ) -> Grasped:
        """Grasp at a pose (4, 4), lift, carry away, and look whether it is the target, where one is named.

        Args:
            T_base_gripper: The pose, base frame.
            frame: The image that it comes from.
            target: The object to be grasped, in that image.
            speed: Share of the allowed speed, in (0, 1].

        Raises:
            ToolError: Also GRIPPER_EMPTY, OBJECT_DROPPED, and WRONG_OBJECT where something else, or more, is held.
        """

    def place(self, point_base: FloatArray, frame: Frame, speed: float = 1.0) -> None:
        """Set the held object down at a point (3,) of the base frame [m], at a share of the allowed speed.

        Raises:
            ToolError: As a motion.
        """

    def look(self, point_base: FloatArray, frame: Frame) -> Frame:
        """An image of a place (3,), base frame [m], by the camera at the wrist, which goes there and back.

        Args:
            point_base: The place.
            frame: An image of now by the scene camera.

        Raises:
            ToolError: UNAVAILABLE where there is no such camera; ALREADY_HOLDING; as a motion.
        """

    def skill(self, asked: SkillRequest, frame: Frame) -> SkillOutcome:
        """Open, close, lift, point and whatever else the hand can do beside grasping and placing.

        Args:
            asked: Which skill, and what it is about.
            frame: An image of now by the scene camera.

        Raises:
            ToolError: INVALID_ARGUMENT for what no skill does; as a motion.
        """

    def holds(self) -> str | None:
        """The words that what is held was pointed at by, "" where there were none; None where nothing is held.

        Raises:
            ToolError: UNAVAILABLE, TIMEOUT where who knows it is elsewhere.
        """

    def job(self) -> AbstractContextManager[StopWatch]:
        """See `Arm.job`: what is decided and moved within it belongs together."""
