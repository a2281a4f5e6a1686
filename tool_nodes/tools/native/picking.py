"""`robot.pick` and `robot.place`: what the tools of SpaceTools do one by one, by those same tools, in one call.

A pick outlines the object, computes a grasp, looks at what came of both, executes it, and shows it. A grasp that failed
and left the object where it was is followed by the next one, each after a new look; after whatever a person ended, or
where something has moved, there is none. A place goes where the ray of a point meets something, or on or into a mark.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.drawing import draw_fingers, draw_outline, side_by_side
from toolhand.tool_nodes.geometry import invert, pixel, project, transform
from toolhand.tool_nodes.motion.placing import STEP_TOLERANCE
from toolhand.tool_nodes.motion.targets import cloud_in_base, shown_at
from toolhand.tool_nodes.perception.containers import is_cavity
from toolhand.tool_nodes.perception.free_inside import corners, inside
from toolhand.tool_nodes.perception.heights import height_map
from toolhand.tool_nodes.perception.masks import inner_point, window_of
from toolhand.tool_nodes.perception.prompts import segment_by
from toolhand.tool_nodes.perception.surface import find_surface
from toolhand.tool_nodes.ports import Segmenter
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult, invalid
from toolhand.tool_nodes.scene_change import changed_around, same_view, what_became_of
from toolhand.tool_nodes.stop_latch import StopLatch, StopWatch
from toolhand.tool_nodes.toolbox.arguments import (
    CountOrNone,
    ImageIndexOrNone,
    NewestBoxOrNone,
    NewestMaskOrNone,
    NewestPoint2DOrNone,
    TextArgument,
)
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.toolbox.grasp_memory import GraspOf
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import InSession, Session, tool
from toolhand.tool_nodes.tools.skills.hand import Speed
from toolhand.tool_nodes.tools.spacetools.grasping import GraspAlternatives
from toolhand.tool_nodes.tools.spacetools.outcomes import also_moved
from toolhand.tool_nodes.tools.spacetools.robot import GRASP_FAILED, UNSEEN, CameraTools, captured
from toolhand.tool_nodes.tools.spacetools.segmentation import Sam2Tools
from toolhand.tool_nodes.types import BoolArray, BoxPrompt, FloatArray, Frame, GraspTarget

_AGAIN = GRASP_FAILED - {ErrorCode.WRONG_OBJECT}
"""After these another grasp may do, where the object still stands as it did; what else was lifted is held."""
MOST_TRIES = 3
"""Grasps that one pick executes at the most [-]; a round figure."""
LEAST_CONFIDENCE = 0.1
"""A grasp must be likelier to succeed than this [-]: less is a mask or a place that should be looked at first."""
_SEVERAL_SHARE = 0.3
"""A mask that holds more than this share of each of several marks is no single object [-]."""
_AROUND_OBJECT = 0.8
"""The image of a pick shows so much around the object, as a share of its size [-]."""
_LEAST_CROP_PX = 48
"""Half the side of that image, at the least [px]."""
PANEL_PX = 240
"""Height of the images that a pick shows beside each other [px]."""

Name = Annotated[str, TextArgument(least=0)]


@dataclass(frozen=True, eq=False)
class _Wanted:
    """An object to pick: its mask (H, W) and points on it, the newest frame, and how it is called."""

    frame: Frame
    mask: BoolArray
    points: tuple[tuple[float, float], ...]
    name: str

    @property
    def said(self) -> str:
        """It, in words."""
        return f"the {self.name}" if self.name else f"the object at ({self.points[0][0]:.3f}, {self.points[0][1]:.3f})"


class PickAndPlaceTools:
    """Picks and places over the tools that segment, compute grasps and move.

    The fact `grasped` of a pick is that of `robot.RobotTools`, with `called`, the name that was given.

    Args:
        segmenter: Outlines objects.
        grasps: The grasp tool.
        robot: The robot's own tools.
    """

    suite = "native"

    def __init__(self, segmenter: Segmenter, grasps: GraspAlternatives, robot: CameraTools) -> None:
        self._segmenter = segmenter
        self._sam2 = Sam2Tools(segmenter)
        self._grasps = grasps
        self._robot = robot
        # The robot's own, if it moves: a stop ends the call between its steps, too.
        self.job: Callable[[], AbstractContextManager[StopWatch]] = getattr(robot, "job", StopLatch().job)

    @tool(
        "robot.pick",
        motion=True,
        timeout_s=None,
        makes=("captured_image",),
        example=Example({"point": [0.349, 0.545], "name": "carton"}),
    )
    def pick(
        self,
        session: InSession,
        point: NewestPoint2DOrNone = None,
        box: NewestBoxOrNone = None,
        mark: CountOrNone = None,
        mask: NewestMaskOrNone = None,
        name: Name = "",
        image_index: ImageIndexOrNone = None,
        speed: Speed = 1.0,
    ) -> ToolResult:
        """Pick up one object, given in exactly one way, and hold it: segments it, grasps, tries again, checks.

        Args:
            point: [x, y] on it, shares of the image.
            box: [left, top, right, bottom] around it, likewise.
            mark: Its number in the newest robot.look.
            mask: Its $segmentation_mask.
            name: What you call it.
            image_index: Image of point or box: the newest scene image if left out, or one of robot.look_closer.
            speed: Share of the allowed speed.
        """
        ways = {"point": point, "box": box, "mark": mark, "mask": mask}
        given = [key for key, value in ways.items() if value is not None]
        if len(given) != 1:
            raise invalid(
                f"robot.pick takes exactly one of point, box, mark and mask, got {' and '.join(given) or 'none'}."
            )
        frame = self._robot.last_seen(session)
        if (
            image_index is not None
            and image_index.require_frame().camera != frame.camera
            and mark is None
            and mask is None
        ):
            frame = image_index.require_frame()
        outlined = self._outlined(frame, session, point, box, mark, mask)
        wanted = _Wanted(frame, outlined.mask, outlined.points, name)
        self._require_single(wanted, session)
        session.grasps.note_outline(outlined)
        if name:
            session.grasps.note_names(name, wanted.points[:1])
        with session.at_speed(speed):
            return self._picked(wanted, session)

    def _outlined(
        self,
        frame: Frame,
        session: Session,
        point: FloatArray | None,
        box: FloatArray | None,
        mark: int | None,
        mask: BoolArray | None,
    ) -> GraspTarget:
        image = SessionImage(frame.rgb, frame)
        if point is not None:
            x, y = (float(value) for value in point)
            found = self._sam2.segment_from_point(x, y, image).outlined
            assert found is not None
            return found
        if mark is not None:
            return self._marked(mark, frame, session)
        if mask is not None:
            if mask.shape != frame.depth.shape or not mask.any():
                raise invalid("robot.pick: argument 'mask' must hold pixels of the whole newest scene picture.")
            return GraspTarget(mask, (inner_point(mask),))
        assert box is not None
        if not (box[0] < box[2] and box[1] < box[3]):
            raise invalid("robot.pick: argument 'box' must have left < right and top < bottom.")
        w, h = frame.size
        left, top, right, bottom = (float(v) for v in box * (w, h, w, h))
        outline = segment_by(self._segmenter, image, BoxPrompt((left, top, right, bottom))).value[0].mask
        return GraspTarget(outline, (inner_point(outline),))

    def _marked(self, mark: int, frame: Frame, session: Session) -> GraspTarget:
        if session.marks is None:
            raise invalid("There are no marks yet.", "Call robot.look first.")
        return session.marks.find(mark, frame)

    def _require_single(self, wanted: _Wanted, session: Session) -> None:
        """Raises ToolError AMBIGUOUS where a mask holds several marks of the same scene."""
        marks = session.marks
        if marks is None or marks.frame is not wanted.frame:
            return
        held = [n for n, each in enumerate(marks.objects, 1) if np.mean(wanted.mask[each.mask]) > _SEVERAL_SHARE]
        if len(held) > 1:
            listed = " and ".join(str(number) for number in held)
            raise ToolError(ErrorCode.AMBIGUOUS, f"What is outlined there holds the marks {listed}.", "Pick by mark.")

    def _picked(self, wanted: _Wanted, session: Session) -> ToolResult:
        failed: ToolResult | None = None
        for tries in range(1, MOST_TRIES + 1):
            try:
                grasp = self._grasp_of(wanted, session)
            except ToolError as error:
                if failed is None:
                    raise
                return _failed(failed, tries - 1, f"No other grasp is left: {error.message}")
            result = self._executed(grasp.variables["grasp_pose"], session)
            if result.error is None:
                return self._shown(wanted, grasp, result, session)
            failed = result
            if result.error.code not in _AGAIN or self._robot.hand():
                break
            after = self._robot.look(session)
            failed = ToolResult(error=result.error, image=after.rgb, variables=captured(after))
            if not same_view(wanted.frame, after):  # by the other camera, of a moment before
                break
            if changed_around(wanted.frame, after, wanted.points[0]):
                return _failed(failed, tries, "It does not stand as it did.")
            wanted = _Wanted(after, wanted.mask, wanted.points, wanted.name)
        assert failed is not None
        return _failed(failed, tries)

    def _grasp_of(self, wanted: _Wanted, session: Session) -> ToolResult:
        """The next grasp, drawn over the object. Raises ToolError, also NO_GRASP for one that will hardly succeed."""
        with self.job() as watch:
            if watch.halted:
                raise watch.error
        frame = wanted.frame
        image = SessionImage(frame.rgb, frame)
        grasp = self._grasps.compute_grasp(self._robot.cloud(frame), wanted.mask, float(frame.K[0, 0]), image, session)
        if grasp.error is not None:
            raise grasp.error
        _, confidence = grasp.value
        if confidence < LEAST_CONFIDENCE:
            raise ToolError(
                ErrorCode.NO_GRASP,
                f"The best grasp of {wanted.said} succeeds in {100 * confidence:.0f} of 100 cases: not tried.",
                "Give a better mask or point, move a neighbour away, or see it from robot.look_closer.",
            )
        return grasp

    def _executed(self, T: FloatArray, session: Session) -> ToolResult:
        try:
            return self._robot.execute_grasp(T, session)
        except ToolError as error:
            return ToolResult(error=error)

    def _shown(self, wanted: _Wanted, grasp: ToolResult, result: ToolResult, session: Session) -> ToolResult:
        """The result of a grasp as that of the pick: its steps in one image, and what comes next."""
        after = self._robot.last_seen(session)
        held = self._robot.in_hand()
        part = _part_around(wanted.mask)
        facts = dict(result.facts)
        grasped = facts.get("grasped", {})
        before = self._drawn(wanted, grasp.variables["grasp_pose"], grasped.get("opening_m", 0.0))
        same = after.rgb[part] if same_view(wanted.frame, after) else after.rgb
        panels = [before[part], same, *([] if held is None else [held.rgb])]
        if grasped:
            facts["grasped"] = {**grasped, "called": wanted.name}
        wide = f"It is {100 * grasped['opening_m']:.1f} cm wide between the jaws" if grasped else result.text
        called = f', which you call "{wanted.name}"' if wanted.name else ""
        wrist = "" if held is None else ", the wrist camera's picture now"
        return ToolResult(
            value=result.value,
            text=f"Picked what was at ({wanted.points[0][0]:.3f}, {wanted.points[0][1]:.3f}){called}. {wide}. "
            f"{also_moved(grasped.get('pushed', ()))}Pictures: outline and grasp before, the scene now{wrist}. "
            "Next: robot.place(point) puts it down; points are those of the scene picture.",
            image=side_by_side(panels, PANEL_PX),
            variables=captured(after),
            backend=result.backend,
            facts=facts,
        )

    def _drawn(self, wanted: _Wanted, T: FloatArray, opening_m: float) -> NDArray[np.uint8]:
        """The image of an object with its outline, and the fingers of a grasp (4, 4) closed on it."""
        gripper = self._robot.model().gripper
        points = np.vstack([gripper.points(gripper.clipped(opening_m)), np.zeros((1, 3))])
        px = project(transform(T, points), wanted.frame.K)
        return draw_fingers(draw_outline(wanted.frame.rgb, wanted.mask), px[:5], px[5])

    @tool(
        "robot.place",
        motion=True,
        timeout_s=None,
        makes=("captured_image",),
        example=Example({"point": [0.48, 0.62]}, before=("robot.pick",)),
    )
    def place(
        self, session: InSession, point: NewestPoint2DOrNone = None, mark: CountOrNone = None, speed: Speed = 1.0
    ) -> ToolResult:
        """Put down what is held at exactly one of point and mark: on what is seen there, or on or into that object.

        Args:
            point: [x, y], shares of the newest scene image.
            mark: Number of what it goes on or into, in the newest robot.look.
            speed: Share of the allowed speed.
        """
        if (point is None) == (mark is None):
            raise invalid(
                f"robot.place takes exactly one of point and mark, got {'none' if point is None else 'both'}."
            )
        frame = self._robot.last_seen(session)
        with session.at_speed(speed):
            if point is not None:
                result = self._robot.place_object_at_2d_location(point, session)
            else:
                assert mark is not None
                target = _room_at(frame, self._marked(mark, frame, session).mask, mark, session.grasps.held)
                in_camera = transform(invert(frame.T_base_camera), target[None])[0]
                result = self._robot.place_object_at_3d_location(in_camera, session)
        placed = result.facts.get("placed")
        if result.error is not None or placed is None:
            return result
        x, y = placed["found"] or placed["wanted"]
        unseen = "" if placed["verified"] else UNSEEN
        text = (
            f"It stands {self._on_what(placed, frame, mark, session)}, with its base at ({x:.3f}, {y:.3f}). "
            f"The gripper is open and empty. {unseen}{also_moved(placed['pushed'])}"
        )
        return ToolResult(result.value, text.rstrip(), result.image, result.variables, facts=result.facts)

    def _on_what(self, placed: dict[str, Any], frame: Frame, mark: int | None, session: Session) -> str:
        """In or on what something was placed, by its mark where that is known in the image before."""
        at, marks = np.array(placed["wanted_m"]), session.marks
        if mark is None and marks is not None and same_view(marks.frame, frame):
            found = marks.at(*pixel(shown_at(frame, at), frame.size))
            still = found and not what_became_of(marks.objects[found - 1].mask, marks.frame, frame)
            mark = found if still else None
        if is_cavity(height_map(frame), at):
            return "in the container" + f" of mark {mark}" * bool(mark)
        height = at[2] - workspace.TABLE_Z
        if height <= STEP_TOLERANCE:
            return "on the table"
        return "on the object" + f" of mark {mark}" * bool(mark) + f", {100 * height:.0f} cm above the table"


def _failed(result: ToolResult, tries: int, why: str = "") -> ToolResult:
    """A failed grasp as the result of a pick: how many were tried, and why there is no other one."""
    error = result.error
    assert error is not None
    tried = f"{tries} grasps were tried." if tries > 1 else ""
    message = " ".join(part for part in (error.message, tried, why) if part)
    return ToolResult(error=error.reworded(message), image=result.image, variables=result.variables)


def _part_around(mask: BoolArray) -> tuple[slice, slice]:
    """A square part of an image about a mask (H, W), as far as the image reaches."""
    rows, columns = window_of(mask)
    half = max(int((0.5 + _AROUND_OBJECT) * max(rows.stop - rows.start, columns.stop - columns.start)), _LEAST_CROP_PX)
    half = min(half, min(mask.shape) // 2)
    starts = [
        min(max((side.start + side.stop) // 2 - half, 0), length - 2 * half)
        for side, length in zip((rows, columns), mask.shape, strict=True)
    ]
    return slice(starts[0], starts[0] + 2 * half), slice(starts[1], starts[1] + 2 * half)


def _room_at(frame: Frame, mask: BoolArray, number: int, held: GraspOf | None) -> FloatArray:
    """Where something put on or into an object comes to rest (3,), base frame [m].

    Args:
        frame: The image.
        mask: The object (H, W).
        number: Its mark.
        held: The object in the hand as it was when it was grasped; None where that is not known.

    Raises:
        ToolError: PLACE_BLOCKED where a container has no room left; NO_DEPTH.
    """
    surface, called = find_surface(frame), f"object of mark {number}"
    try:
        inside(surface, mask, called, "", frame, None, None)
    except ToolError as error:
        if error.code is not ErrorCode.PLACE_BLOCKED:
            raise
    else:
        item = None if held is None else corners(find_surface(held.frame), held.target.mask)
        return inside(surface, mask, called, "", frame, item, None)
    points: NDArray[np.float32] = cloud_in_base(frame)[mask.reshape(-1)]
    points = points[np.isfinite(points).all(axis=1)]
    low, high = np.percentile(points[:, :2], (2, 98), axis=0)
    middle = (low + high) / 2.0
    seen = height_map(frame).support_height(middle, 0.01)
    return np.array([*middle, float(np.percentile(points[:, 2], 98)) if np.isnan(seen) else seen])
