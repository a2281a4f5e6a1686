"""Data that crosses the ports. SI units, radians, `T_a_b` maps b coordinates to a coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.content import content_key

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
ImagePoint = tuple[float, float]
"""Normalized (x, y) of an image: 0 to 1 from its left and from its upper edge."""

SHOWS_ROBOT_BITS = np.uint32(0x7FC0B07A)
"""Bits of the depth of a pixel that shows the robot or what it holds: NaN, so unknown to whoever measures by it, with a
payload that says why. It stays through copies, crops and messages; it is ours: cameras send NaN with a payload of 0."""


@dataclass(frozen=True)
class TextSpan:
    """Text in an image.

    Attributes:
        text: The text; LaTeX where it is a formula; empty where there is text that could not be read.
        box: (left, top, right, bottom) [px].
        score: Confidence in [0, 1] that all of it is read right.
        kind: "text", "formula", or "cell" of a table.
    """

    text: str
    box: tuple[float, float, float, float]
    score: float = 1.0
    kind: str = "text"


@dataclass(frozen=True)
class Frame:
    """One RGB-D image with its calibration.

    Attributes:
        rgb: uint8 (H, W, 3).
        depth: float32 (H, W) distance along the optical axis [m], NaN where unknown or where the robot is (`robot`).
        K: (3, 3) pinhole intrinsics [px].
        T_base_camera: (4, 4), camera axes as in OpenCV (x right, y down, z forward).
        stamp: Time of the image [s].
        camera: "scene" or "wrist".
        ids: int32 (H, W) object index in the scene, -1 elsewhere. Only simulator perception reads
            it and the two below; None on a real camera.
        labels: Name of each id; None where the names are those of the scene.
        texts: Text printed in the image, with its place; None where not known.
    """

    rgb: NDArray[np.uint8]
    depth: NDArray[np.float32]
    K: FloatArray
    T_base_camera: FloatArray
    stamp: float
    camera: str = "scene"
    ids: NDArray[np.int32] | None = None
    labels: tuple[str, ...] | None = None
    texts: tuple[TextSpan, ...] | None = None

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) [px]."""
        return self.rgb.shape[1], self.rgb.shape[0]

    @property
    def robot(self) -> BoolArray:
        """bool (H, W), where the image shows the robot or what it holds, see
        `toolhand.tool_nodes.motion.self_filter`."""
        return np.asarray(np.ascontiguousarray(self.depth).view(np.uint32) == SHOWS_ROBOT_BITS)

    @cached_property
    def key(self) -> bytes:
        """What the frame is known by elsewhere: 16 bytes of all that it holds, the same for a copy in another process.

        The content rather than camera and stamp: those of two simulations are the same. Computed once, when it is first
        asked for, and copied with the frame.
        """
        arrays = (self.rgb, self.depth, np.asarray(self.K), np.asarray(self.T_base_camera), self.ids)
        return content_key(*arrays, self.stamp, self.camera, self.labels, self.texts)


@dataclass(frozen=True)
class ObjectView:
    """One object as perception reports it; the vocabulary that words are matched against.

    Attributes:
        name: Most specific name, e.g. "coconut water".
        kind: One of the catalogue's kinds, e.g. "carton".
        colour: Main colour, e.g. "dark blue".
        synonyms: Other names of the same object.
        categories: General classes that it belongs to, e.g. ("drink", "food").
        attributes: Adjectives that apply, e.g. ("tall", "cylindrical", "plastic").
        point: Normalized image point (x, y) in [0, 1] on the object.
        position_m: (3,) centre in the base frame.
        size_m: (3,) extents along the object's own axes, z up.
        container: True if objects can be put in it.
        several: True if it may be several objects that touch and could not be separated.
        recognised: False if it is only described, and may be something that has a name of its own.
    """

    name: str
    kind: str
    colour: str
    synonyms: tuple[str, ...]
    categories: tuple[str, ...]
    attributes: tuple[str, ...]
    point: tuple[float, float]
    position_m: FloatArray
    size_m: FloatArray
    container: bool = False
    several: bool = False
    recognised: bool = True


@dataclass(frozen=True)
class Segmentation:
    """An object that was outlined in an image.

    Attributes:
        mask: bool (H, W).
        score: Predicted IoU with what was asked for, in [0, 1]. Where words asked for it, it may be something else: the
            predicted IoU of the outline times the probability of `Detection.score`.
        several: It may as well be two objects that touch.
    """

    mask: BoolArray
    score: float
    several: bool = False


@dataclass(frozen=True)
class Detection:
    """One object that was looked for in an image.

    Attributes:
        box: (left, top, right, bottom) [px of the image], right and bottom exclusive.
        label: Words that were searched for.
        score: Probability in [0, 1] that it is what was looked for; says nothing about how good the box is.
        point: Normalized (x, y) that is on the object for sure; None where the backend knows its box only.
    """

    box: tuple[int, int, int, int]
    label: str
    score: float
    point: tuple[float, float] | None = None


@dataclass(frozen=True)
class PointPrompt:
    """Outline the one object under normalized points (x, y) of the image."""

    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class BoxPrompt:
    """Outline the one object in a box (left, top, right, bottom) [px of the image], right and bottom exclusive."""

    box: tuple[float, float, float, float]


@dataclass(frozen=True)
class TextPrompt:
    """Outline everything that words name."""

    text: str


@dataclass(frozen=True)
class Everything:
    """Outline every object in the image."""


Prompt = PointPrompt | BoxPrompt | TextPrompt | Everything
"""What a Segmenter is asked for."""


@dataclass(frozen=True)
class GraspSet:
    """Grasps of one object, best first.

    Attributes:
        T_camera_gripper: (M, 4, 4) poses of the gripper (the robot's tip
            frame): +Z approaches, fingers close along X. OpenCV camera frame.
        widths_m: (M,) jaw opening that encloses the object.
        scores: (M,) confidence in [0, 1], descending.
        sampled: Number of candidates before the collision filter.
    """

    T_camera_gripper: FloatArray
    widths_m: FloatArray
    scores: FloatArray
    sampled: int


@dataclass(frozen=True)
class Box:
    """Oriented box: T_parent_box (4, 4) is the pose of its centre, half_extents (3,) [m]."""

    T_parent_box: FloatArray
    half_extents: FloatArray


MOST_CLOUD_POINTS = 5_000
"""Most points of a collision scene. With this many the embedded planner compiles a scene in 0.3 s and checks a
configuration in 0.8 ms on one core, instead of 0.02 s and 0.014 ms without any."""


@dataclass(frozen=True)
class CollisionScene:
    """What the planner avoids, as the camera saw it. Never the simulator's own geometry.

    Attributes:
        boxes: Obstacles, in the base frame.
        attached: The held object, boxes in the robot's tip frame.
        table_z: Height of the table top in the base frame [m].
        margin: Clearance kept from `boxes` and `points` [m].
        opening_m: Jaw opening [m]; where None, the width of what is attached, or wide open.
        yielding_m: How deep the fingers, and nothing else, may reach into `boxes` on a straight line [m]: boxes are
            larger than the objects that they cover, and loose objects yield.
        points: (N, 3) obstacles that no box was fitted to, in the base frame [m]; N up to MOST_CLOUD_POINTS.
        point_radius: Radius of the ball that each point stands for [m]; greater than 0.
    """

    boxes: tuple[Box, ...] = ()
    attached: tuple[Box, ...] = ()
    table_z: float = 0.0
    margin: float = 0.005
    opening_m: float | None = None
    yielding_m: float = 0.0
    points: FloatArray = field(default_factory=lambda: np.empty((0, 3)))
    point_radius: float = 0.01

    def without_attached(self) -> CollisionScene:
        """The same obstacles with an empty gripper, wide open, and none that yields."""
        return replace(self, attached=(), opening_m=None, yielding_m=0.0)


@dataclass(frozen=True)
class Trajectory:
    """A timed joint path.

    Attributes:
        joint_names: Names of the n joints of the robot, in the order of the columns of `q`.
        t: (N,) seconds from the start, strictly increasing, t[0] = 0.
        q: (N, n) positions [rad], continuous (no wrap between samples).
        qd: (N, n) velocities [rad/s], zero at both ends.
    """

    joint_names: tuple[str, ...]
    t: FloatArray
    q: FloatArray
    qd: FloatArray

    @property
    def duration(self) -> float:
        """[s]."""
        return float(self.t[-1])


class MotionStatus(StrEnum):
    """How a motion of the arm or the gripper ended."""

    SUCCEEDED = "SUCCEEDED"
    STOPPED = "STOPPED"
    FAILED = "FAILED"


@dataclass(frozen=True)
class MotionOutcome:
    """Outcome of a trajectory: final joint error [rad] and how long it took [s].

    `faulty` where the arm did not do what its controller says that it did: what it will do next is unknown. `held_up`
    where an arm that failed was measured at rest beside its own path: something was in its way, and it can be moved
    from there; an arm that strayed, or of which that is not known, gets no further command.
    """

    status: MotionStatus
    message: str = ""
    max_error_rad: float = 0.0
    duration: float = 0.0
    faulty: bool = False
    held_up: bool = False


@dataclass(frozen=True)
class GripperOutcome:
    """Outcome of a gripper command: measured jaw opening [m]; stalled = something is in between."""

    status: MotionStatus
    opening_m: float
    stalled: bool
    message: str = ""


@dataclass(frozen=True)
class ArmState:
    """q, qd: (n,) [rad], [rad/s]; opening_m: jaw opening [m]; stamp [s]."""

    q: FloatArray
    qd: FloatArray
    opening_m: float
    stamp: float


MOST_POINTS = 64
"""Most points that say what a grasp is meant for [-]."""


@dataclass(frozen=True, eq=False)
class GraspTarget:
    """What a grasp is meant for, as the image shows it that the grasp was chosen in.

    Attributes:
        mask: bool (H, W), true on the object.
        points: Normalized (x, y) that were pointed at, all on it, at most MOST_POINTS; none where no tool pointed.
        called: The words that gave the first of them, such as "red box"; "" where there were none.
    """

    mask: BoolArray
    points: tuple[tuple[float, float], ...] = ()
    called: str = ""


@dataclass(frozen=True)
class Grasped:
    """What is held after a grasp.

    Attributes:
        opening_m: Measured opening of the jaws [m].
        check_s: Time of the robot that it took to be sure [s].
        stood: (3,) middle of the base of what is held, where it stood before, base frame [m]; None where no image
            says what was lifted.
    """

    opening_m: float
    check_s: float
    stood: FloatArray | None = None


SkillName = Literal["open_gripper", "close_gripper", "park", "lift", "point_at", "hand_over", "stand_upright"]
"""What the hand can do beside grasping and placing."""


@dataclass(frozen=True)
class SkillRequest:
    """What is asked of the hand beside grasping and placing.

    Attributes:
        name: Which skill.
        point: (3,) the place that it is about, base frame [m]; None where it is about none.
        distance_m: How far up a lift goes [m]; 0 elsewhere.
        speed: Share of the allowed speed of all its motions, from 0.01 to 1 [-].
    """

    name: SkillName
    point: FloatArray | None = None
    distance_m: float = 0.0
    speed: float = 1.0


@dataclass(frozen=True)
class SkillOutcome:
    """What came of a skill.

    Attributes:
        told: One or two sentences for the operator.
        opening_m: Measured opening of the jaws at the end [m].
        took_s: Time of the robot that it took [s].
    """

    told: str
    opening_m: float
    took_s: float


@dataclass(frozen=True)
class PoseGoal:
    """Reach any one of T_base_gripper (M, 4, 4), poses of the robot's tip frame; first is preferred."""

    T_base_gripper: FloatArray
    position_tolerance: float = 5e-4
    rotation_tolerance: float = 5e-3


@dataclass(frozen=True)
class LinearGoal:
    """Move the robot's tip frame on a straight line to T_base_gripper (4, 4)."""

    T_base_gripper: FloatArray


@dataclass(frozen=True)
class JointGoal:
    """Reach q (n,) [rad]; continuous joints may arrive at any whole turn."""

    q: FloatArray


Goal = PoseGoal | LinearGoal | JointGoal
