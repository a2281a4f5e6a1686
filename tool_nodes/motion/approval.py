"""Approval of single motions by a person: what is asked, what is answered, and the hash that ties both to the arrays.

An approval names a hash over the very numbers that the arm will be given. It comes from an `Approver`, which sits
beside the operator; no tool of a policy leads to one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageDraw

from toolhand.tool_nodes.drawing import WHITE, draw_axes
from toolhand.tool_nodes.geometry import invert, project, transform
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.types import FloatArray, Frame, Trajectory

MotionStep = Trajectory | float
"""A leg of the arm, or an opening that the jaws move to [m]."""

_PATH_COLOUR = (255, 60, 200)
"""Colour of the path, sRGB."""
_GHOST_COLOUR = (70, 150, 255, 120)
"""Colour of the arm at the end, sRGB and how much it covers: that of the arm in the console's 3D view."""
_GHOST_M = 0.08
"""How wide the arm is drawn [m]: about as its links are."""
_AXIS_M = 0.05
"""Length of the drawn axes of the gripper [m]; chosen to look at."""
_MANY_PX = 4000.0
"""Nothing is drawn further away than this from the image's corner [px]."""


@dataclass(frozen=True)
class PlannedMotion:
    """One planned motion, as it would be run.

    Attributes:
        what: One sentence made of numbers only: no word of a policy or of an image gets in.
        steps: In their order; with the arm at rest between them.
        T_end: (4, 4) pose of the gripper at the grasp, at the release, or parked.
        continuation: Motion planned on the way, after the steps, within the guard's bounds.
        frame: The image that it was planned on; None where there was none.
    """

    what: str
    steps: tuple[MotionStep, ...]
    T_end: FloatArray
    continuation: str
    frame: Frame | None

    @property
    def legs(self) -> tuple[Trajectory, ...]:
        """The steps that move the arm."""
        return tuple(step for step in self.steps if isinstance(step, Trajectory))

    @property
    def duration_s(self) -> float:
        """Duration of the legs together [s]."""
        return sum(leg.duration for leg in self.legs)

    @property
    def summary(self) -> tuple[str, ...]:
        """What happens step by step, a line each."""
        return (*map(step_line, self.steps), f"then: {self.continuation}")


def step_line(step: MotionStep) -> str:
    """What happens in one step, made of its numbers."""
    if not isinstance(step, Trajectory):
        return f"the jaws move to {1000 * step:.0f} mm"
    turn = np.degrees(np.abs(step.q - step.q[0]).max())
    return f"the arm moves for {step.duration:.2f} s, no joint by more than {turn:.0f} degrees"


@dataclass(frozen=True)
class MotionRequest:
    """What a person is asked to approve.

    Attributes:
        what: One sentence.
        summary: A line for each step, and one about what follows.
        steps: In their order; with the arm at rest between them.
        T_end: (4, 4) predicted pose of the gripper at the end of the legs, base frame.
        duration_s: Duration of each leg [s].
        hash: `motion_hash` of the motion and `request_id`; an approval must name it.
        request_id: Differs from request to request, so that an approval of the same motion cannot be given twice.
        image: uint8 RGB (H, W, 3): the camera's image with the planned path of the fingertips and the gripper at
            its end; None where there is no image.
        camera: Name of the camera that took it; empty where there is none.
        stamp: Time of the image by the camera's clock [s].
    """

    what: str
    summary: tuple[str, ...]
    steps: tuple[MotionStep, ...]
    T_end: FloatArray
    duration_s: float
    hash: str
    request_id: str
    image: NDArray[np.uint8] | None
    camera: str = ""
    stamp: float = 0.0

    @property
    def legs(self) -> tuple[Trajectory, ...]:
        """The steps that move the arm."""
        return tuple(step for step in self.steps if isinstance(step, Trajectory))

    @property
    def is_true(self) -> bool:
        """Whether its hash, its duration and its summary are those of its own steps, to the last bit."""
        return (
            self.hash == hash_of(self.steps, self.T_end, self.request_id)
            and self.duration_s == sum(leg.duration for leg in self.legs)
            and self.summary[:-1] == tuple(map(step_line, self.steps))
        )


@dataclass(frozen=True)
class Decision:
    """What a person decided.

    Attributes:
        approved: Only True approves.
        reason: Why, in the person's words; may be empty.
        hash: Hash of the request that was decided on.
        by: Who decided, e.g. "terminal".
    """

    approved: bool
    reason: str
    hash: str
    by: str


class Approver(Protocol):
    """Asks a person whether a motion may run."""

    def decide(self, request: MotionRequest) -> Decision:
        """Blocks until there is a decision. Raises ToolError where the question came to nothing, e.g. STOPPED."""


class NobodyApprover:
    """Where no person can be asked, nothing is approved."""

    def decide(self, request: MotionRequest) -> Decision:
        """See `Approver`."""
        return Decision(False, "nobody can be asked here: there is no terminal or console", request.hash, "nobody")


def motion_hash(motion: PlannedMotion, request_id: str = "") -> str:
    """SHA-256, in hex, over everything that an approval of a motion covers; see `hash_of`."""
    return hash_of(motion.steps, motion.T_end, request_id)


def hash_of(steps: Iterable[MotionStep], T_end: FloatArray, request_id: str) -> str:
    """SHA-256, in hex, over the steps of a motion, its end pose and the name of the request.

    Joint names, times, positions and velocities of each leg and the jaw openings as little-endian float64, in their
    order, and the end pose. Names are quoted and every array is preceded by its shape, so that no two motions give the
    same bytes.
    """
    digest = hashlib.sha256(repr(request_id).encode())
    for step in steps:
        _feed(digest.update, step)
    _array(digest.update, T_end)
    return digest.hexdigest()


def step_hash(step: MotionStep) -> bytes:
    """SHA-256 over one step."""
    digest = hashlib.sha256()
    _feed(digest.update, step)
    return digest.digest()


def _feed(update: Callable[[bytes], None], step: MotionStep) -> None:
    if not isinstance(step, Trajectory):
        update(b"jaws")
        _array(update, step)
        return
    update(b"leg" + repr(tuple(step.joint_names)).encode())
    for array in (step.t, step.q, step.qd):
        _array(update, array)


def _array(update: Callable[[bytes], None], values: ArrayLike) -> None:
    array = np.ascontiguousarray(values, dtype="<f8")
    update(repr(np.shape(values)).encode() + array.tobytes())


def make_request(motion: PlannedMotion, request_id: str, kinematics: Kinematics) -> MotionRequest:
    """The question about a motion."""
    frame = motion.frame
    image = None if frame is None else overlay(motion, frame, kinematics)
    return MotionRequest(
        what=motion.what,
        summary=motion.summary,
        steps=motion.steps,
        T_end=motion.T_end,
        duration_s=motion.duration_s,
        hash=motion_hash(motion, request_id),
        request_id=request_id,
        image=image,
        camera="" if frame is None else frame.camera,
        stamp=0.0 if frame is None else frame.stamp,
    )


def overlay(motion: PlannedMotion, frame: Frame, kinematics: Kinematics) -> NDArray[np.uint8]:
    """The frame's image with the arm and the gripper at the end, and the fingertips' path to it; a new array."""
    opening = next((step for step in motion.steps if not isinstance(step, Trajectory)), 0.0)
    points = kinematics.robot.gripper.points(float(opening))
    T_camera_base = invert(frame.T_base_camera)
    tip = points[3:].mean(axis=0)
    path = np.array([transform(kinematics.fk(q), tip) for leg in motion.legs for q in leg.q[::4]])
    image = _with_ghost(motion, frame, kinematics)
    draw = ImageDraw.Draw(image)
    drawn: list[tuple[float, float]] = []
    for u, v in project(transform(T_camera_base, path), frame.K):
        if np.isfinite((u, v)).all() and max(abs(u), abs(v)) < _MANY_PX:
            drawn.append((float(u), float(v)))
            continue
        _line(draw, drawn)
        drawn = []
    _line(draw, drawn)
    corners = np.vstack([np.zeros(3), _AXIS_M * np.eye(3), points])
    pixels = project(transform(T_camera_base, transform(motion.T_end, corners)), frame.K)
    shown: NDArray[np.uint8] = np.asarray(image)
    if np.isfinite(pixels).all() and np.abs(pixels).max() < _MANY_PX:
        shown = draw_axes(shown, pixels[0], pixels[1:4], pixels[4:])
    return shown


def _with_ghost(motion: PlannedMotion, frame: Frame, kinematics: Kinematics) -> Image.Image:
    """The frame's image with the arm as it stands at the end, see-through: a line along its links."""
    image = Image.fromarray(frame.rgb)
    if not motion.legs:
        return image
    links = transform(invert(frame.T_base_camera), kinematics.links(motion.legs[-1].q[-1]))
    layer = Image.new("RGBA", image.size)
    draw = ImageDraw.Draw(layer)
    pixels = project(links, frame.K)
    for k in range(len(links) - 1):
        ends = pixels[k : k + 2]
        if (links[k : k + 2, 2] > 0.0).all() and np.isfinite(ends).all() and np.abs(ends).max() < _MANY_PX:
            width = round(_GHOST_M * frame.K[0, 0] / links[k : k + 2, 2].mean())
            draw.line([(float(u), float(v)) for u, v in ends], fill=_GHOST_COLOUR, width=max(1, width))
    image.paste(layer, mask=layer.getchannel("A"))
    return image


def _line(draw: ImageDraw.ImageDraw, points: list[tuple[float, float]]) -> None:
    if len(points) > 1:
        draw.line(points, fill=WHITE, width=5)
        draw.line(points, fill=_PATH_COLOUR, width=3)
