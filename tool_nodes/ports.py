"""The interfaces behind which a backend can be replaced without touching a tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tool_nodes.motion.stop_latch import StopWatch
from tool_nodes.toolbox.images import SessionImage
from tool_nodes.types import (
    ArmState,
    BoolArray,
    CollisionScene,
    FloatArray,
    Frame,
    Goal,
    GraspSet,
    GripperOutcome,
    MotionOutcome,
    Segmentation,
    TextSpan,
    Trajectory,
)


class Camera(Protocol):
    """A calibrated RGB-D camera."""

    def capture(self) -> Frame:
        """One picture; the same stamp gives the same frame."""


class Perceiving(Protocol):
    """What every perception port tells of itself."""

    @property
    def backend(self) -> str:
        """Name of the backend, e.g. "pixels"; callers are told who answered."""


class Pointer(Perceiving, Protocol):
    """Finds things by words."""

    def points(self, frame: Frame, text: str) -> list[tuple[float, float]]:
        """Normalized (x, y) of every match, best first.

        Raises:
            ToolError: OBJECT_NOT_FOUND, naming what can be seen.
        """


class Segmenter(Perceiving, Protocol):
    """Outlines objects."""

    def segment(self, frame: Frame, points: Sequence[tuple[float, float]]) -> list[Segmentation]:
        """Masks of the object under one or more points, best first. Raises ToolError EMPTY_MASK where there is none."""

    def segment_all(self, frame: Frame) -> list[Segmentation]:
        """Every object, best first."""


class DepthEstimator(Perceiving, Protocol):
    """Metric depth of a picture."""

    def estimate(self, frame: Frame) -> tuple[NDArray[np.float32], float]:
        """(depth (H, W) [m], focal length [px])."""


class TextReader(Perceiving, Protocol):
    """Reads what is printed in a picture."""

    def read(self, picture: SessionImage) -> list[TextSpan]:
        """Texts in reading order, boxes in px of the picture; nothing where there is none."""


class CodeRunner(Perceiving, Protocol):
    """Runs model-written Python where it can do no harm."""

    def run(self, code: str, mode: str, variables: Mapping[str, Any], timeout_s: float | None = None) -> Any:
        """The outcome of statements (mode "exec") or of an expression ("eval"). Raises ToolError."""


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

    def reachable(self, T_base_gripper: FloatArray, scene: CollisionScene) -> bool:
        """True if some arm configuration free of collision reaches the pose (4, 4)."""


class Arm(Protocol):
    """An arm with a gripper."""

    def state(self) -> ArmState:
        """The measured state."""

    def follow(self, trajectory: Trajectory) -> MotionOutcome:
        """Run a trajectory to its end, or report why not."""

    def move_gripper(self, opening_m: float) -> GripperOutcome:
        """Move the jaws to an opening [m] from 0 to the gripper's widest and report what was measured."""

    def stop(self) -> None:
        """Latch a stop: brake now, refuse motion until `reset_stop`."""

    def reset_stop(self) -> None:
        """Release the latch; a job that was stopped does not go on."""

    def job(self) -> AbstractContextManager[StopWatch]:
        """Within it, the motions of this thread belong together: a stop ends them all, whatever is reset meanwhile."""


class GraspAndPlace(Protocol):
    """What the robot's hand can do as a whole: `tool_nodes.motion.manipulation.Manipulator`, or one elsewhere."""

    def grasp(self, T_base_gripper: FloatArray, frame: Frame) -> float:
        """Grasp at a pose (4, 4), lift and carry away; returns the jaw opening [m]. Raises ToolError."""

    def place(self, point_base: FloatArray, frame: Frame) -> None:
        """Set the held object down at a point (3,) of the base frame [m]. Raises ToolError."""

    def job(self) -> AbstractContextManager[StopWatch]:
        """See `Arm.job`: what is decided and moved within it belongs together."""
