"""The suite that gets at what lies under other objects: what is in the way of one, and taking one aside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np

from toolhand.tool_nodes.drawing import draw_marks, draw_outline
from toolhand.tool_nodes.geometry import pixel
from toolhand.tool_nodes.language.places import FreeSpaceRequest
from toolhand.tool_nodes.perception.extents import rectangle
from toolhand.tool_nodes.perception.free_inside import corners
from toolhand.tool_nodes.perception.free_space import find_free_space
from toolhand.tool_nodes.perception.masks import inner_point
from toolhand.tool_nodes.perception.prompts import Outlines
from toolhand.tool_nodes.perception.support import Lie, lie_of
from toolhand.tool_nodes.perception.surface import find_surface
from toolhand.tool_nodes.ports import Segmenter
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.stop_latch import StopLatch, StopWatch
from toolhand.tool_nodes.toolbox.arguments import NewestPoint2D, NewestPoint2DOrNone
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import InSession, Session, tool
from toolhand.tool_nodes.tools.clearing.placing import FindPlaceTool
from toolhand.tool_nodes.tools.native.picking import Name
from toolhand.tool_nodes.tools.spacetools.grasping import GraspAlternatives
from toolhand.tool_nodes.tools.spacetools.outcomes import also_moved
from toolhand.tool_nodes.tools.spacetools.robot import CameraTools
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame, GraspTarget

_SAME_SHARE = 0.5
"""A segment of which more than this share is the object's is a part of it [-]; a round figure."""
_ASIDE = (
    FreeSpaceRequest("anywhere"),
    *(FreeSpaceRequest("region", region=side, extent="side") for side in ("left", "right", "front", "back")),
)
"""Where something is put that is in the way, in the order in which it is tried."""
_FINGER_M = 0.04
"""Room that is left beside what was put aside [m]: for the open jaws that let go of it."""
_HALF_M = 0.05
"""Half the length of what is held and not known [m]: of an object of middle size."""
_NO_WAY = frozenset(
    {
        ErrorCode.PLACE_BLOCKED,
        ErrorCode.OUT_OF_WORKSPACE,
        ErrorCode.NO_DEPTH,
        ErrorCode.IK_FAILED,
        ErrorCode.PLAN_FAILED,
    }
)
"""Errors of a place before anything moved, after which another place may do."""

_Item = tuple[Frame, BoolArray]
"""An object: an image and its pixels (H, W) there."""


class InTheWayTool:
    """What is in the way of an object, by the image alone.

    The fact `in_the_way`: `seen`, share of the object that is seen; `above`, normalized points of what lies on it, the
    one to take away first in front; `beside`, the same of what leaves no room for a finger, the nearest first.

    Args:
        segmenter: Outlines objects.
        robot: The robot's own tools, which look.
        printed: Whether prompts list the tools.
    """

    suite = "clearing"

    def __init__(self, segmenter: Segmenter, robot: CameraTools, printed: bool = True) -> None:
        self.printed = printed
        self._segmenter = segmenter
        self._robot = robot

    @tool(
        "robot.what_is_in_the_way",
        timeout_s=None,
        example=Example({"point": [0.349, 0.545]}, before=("robot.capture_image",)),
    )
    def what_is_in_the_way(self, point: NewestPoint2D, session: InSession) -> ToolResult:
        """What lies on an object or leaves no room for the fingers beside it, and how much of it is seen.

        Args:
            point: Normalized [x, y] on the object, in the newest scene image.
        """
        frame = self._robot.last_seen(session)
        plain = SessionImage(frame.rgb, frame)
        outlines = Outlines(self._segmenter, plain)
        target, others = _apart(outlines, frame, point)
        masks = [target, *others]
        lie = lie_of(frame, masks, 0)
        facts = lie.facts(masks)
        blocking, points = [masks[k] for k in (*lie.above, *lie.beside)], [*facts["above"], *facts["beside"]]
        rgb = draw_outline(draw_marks(frame.rgb, blocking, points), target)
        told = _told(lie, facts["above"], facts["beside"])
        return ToolResult(facts, told, rgb, source=plain, backend=outlines.backend, facts={"in_the_way": facts})


def _apart(outlines: Outlines, frame: Frame, point: FloatArray) -> tuple[BoolArray, list[BoolArray]]:
    """The object at a normalized point and the other ones of an image, a mask (H, W) each."""
    everything = outlines.everything()
    x, y = float(point[0]), float(point[1])
    u, v = pixel((x, y), frame.size)
    at_point = [mask for mask in everything if mask[v, u]]
    target = min(at_point, key=np.count_nonzero) if at_point else outlines.at((x, y))
    return target, [mask for mask in everything if np.mean(target[mask]) < _SAME_SHARE]


def _told(lie: Lie, above: Sequence[Sequence[float]], beside: Sequence[Sequence[float]]) -> str:
    """How an object lies, in words; the numbers are those of the image."""

    def these(points: Sequence[Sequence[float]], first: int) -> str:
        return " and ".join(f"{n} at ({x:.3f}, {y:.3f})" for n, (x, y) in enumerate(points, first))

    seen = f"About {100 * lie.seen:.0f} % of it is seen."
    if not above and not beside:
        return f"Nothing lies on it, and there is room for the fingers beside it. {seen}"
    lies = f"On it lies {these(above, 1)}: robot.put_aside takes the first one away. " if above else ""
    stands = f"Beside it no finger has room for {these(beside, 1 + len(above))}. " if beside else ""
    return f"{lies}{stands}{seen}"


class ClearingTools(InTheWayTool):
    """Takes what is in the way aside, one object at a time.

    An object that was put aside leaves the facts `grasped` and `placed`, see `robot.RobotTools`, and `aside`, true.

    Args:
        segmenter, robot, printed: See `InTheWayTool`.
        grasps: The grasp tool.
    """

    def __init__(
        self, segmenter: Segmenter, grasps: GraspAlternatives, robot: CameraTools, printed: bool = True
    ) -> None:
        super().__init__(segmenter, robot, printed)
        self._grasps = grasps
        # The robot's own, if it moves: a stop ends the call between its steps, too.
        self.job: Callable[[], AbstractContextManager[StopWatch]] = getattr(robot, "job", StopLatch().job)

    @tool(
        "robot.put_aside",
        motion=True,
        timeout_s=None,
        makes=("captured_image",),
        example=Example({"point": [0.349, 0.545]}, before=("robot.capture_image",)),
    )
    def put_aside(self, session: InSession, point: NewestPoint2DOrNone, name: Name = "") -> ToolResult:
        """Take one object that is in the way to a free place of the table, by one grasp, and look again.

        Whatever comes up by the grasp is put down where there is room.

        Args:
            point: Normalized [x, y] on the object, in the newest scene image; null for what the gripper holds.
            name: What you call it.
        """
        frame = self._robot.last_seen(session)
        if point is None:
            held = session.grasps.held
            return self._put_down(None if held is None else (held.frame, held.target.mask), ToolResult(), session)
        mask, _ = _apart(Outlines(self._segmenter, SessionImage(frame.rgb, frame)), frame, point)
        self._free_places(frame, (frame, mask))  # nothing is lifted that could not be put down
        lifted = self._lifted(frame, mask, name, session)
        if lifted.error is not None and lifted.error.code is not ErrorCode.WRONG_OBJECT:
            return lifted
        return self._put_down((frame, mask), lifted, session)

    def _lifted(self, frame: Frame, mask: BoolArray, name: str, session: Session) -> ToolResult:
        image, points = SessionImage(frame.rgb, frame), (inner_point(mask),)
        session.grasps.note_outline(GraspTarget(mask, points))
        if name:
            session.grasps.note_names(name, points)
        grasp = self._grasps.compute_grasp(self._robot.cloud(frame), mask, float(frame.K[0, 0]), image, session)
        if grasp.error is not None:
            return grasp
        lifted = self._robot.execute_grasp(grasp.variables["grasp_pose"], session)
        if not name or lifted.error is not None:
            return lifted
        return replace(lifted, facts={"grasped": {**lifted.facts["grasped"], "called": name}})

    def _put_down(self, item: _Item | None, lifted: ToolResult, session: Session) -> ToolResult:
        """Put what is held on the first free place that the arm can reach. Raises ToolError."""
        frame = self._robot.last_seen(session)
        failed: ToolError | None = None
        for place in self._free_places(frame, item):
            try:
                placed = self._robot.place_object_at_2d_location(np.array(place), session)
            except ToolError as error:
                if error.code not in _NO_WAY:
                    raise
                failed = error
                continue
            if placed.error is None:
                return _aside(lifted, placed)
            if placed.error.code is not ErrorCode.EXECUTION_FAILED or not self._robot.hand():
                return placed
            failed = placed.error  # it reaches lower than was seen, which is known now
        assert failed is not None
        raise failed.reworded(f"It is held, and no free place was found for it: {failed.message}")

    def _free_places(self, frame: Frame, item: _Item | None) -> list[tuple[float, float]]:
        """Normalized points of free places of an image for an object, which another image may show.

        Raises:
            ToolError: PLACE_BLOCKED or OUT_OF_WORKSPACE where there is none.
        """
        edge = np.empty((0, 2)) if item is None else corners(find_surface(item[0]), item[1])
        half = float(rectangle(edge)[1].max()) / 2.0 if len(edge) > 2 else _HALF_M
        own = item[1] if item is not None and item[0] is frame and len(edge) else None
        found = list[tuple[float, float]]()
        failed: ToolError | None = None
        for request in _ASIDE:
            try:
                found.append(find_free_space(frame, request, [], half + _FINGER_M, item=own))
            except ToolError as error:
                if error.code not in _NO_WAY:
                    raise
                failed = failed or error
        if not found:
            assert failed is not None
            raise failed.reworded(f"There is nowhere to put it: {failed.message}", "Make room on the table.")
        return found


def _aside(lifted: ToolResult, placed: ToolResult) -> ToolResult:
    """The results of a grasp and a placement as that of both."""
    facts: dict[str, Any] = {**lifted.facts, **placed.facts, "aside": True}
    grasped, at = lifted.facts.get("grasped", {}), placed.facts.get("placed", {})
    where = at.get("found") or at.get("wanted")
    other = f"{lifted.error.message} " if lifted.error is not None else ""
    moved = also_moved([*grasped.get("pushed", ()), *at.get("pushed", ())])
    stands = f": it stands with its base at ({where[0]:.3f}, {where[1]:.3f})" if where else ""
    text = f"{other}Put aside{stands}. The gripper is open and empty. {moved}"
    return replace(placed, text=text.rstrip(), facts=facts)


def clearing(
    segmenter: Segmenter, grasps: GraspAlternatives | None, robot: CameraTools | None, printed: bool = True
) -> list[object]:
    """The providers of the suite: none without a robot, and what only looks for whom nothing may move.

    Args:
        segmenter, grasps, robot: Backends and tools that they call.
        printed: Whether prompts list the tools.
    """
    if robot is None:
        return []
    if not robot.moves or grasps is None:
        return [InTheWayTool(segmenter, robot), FindPlaceTool(segmenter, robot, printed)]
    return [ClearingTools(segmenter, grasps, robot, printed), FindPlaceTool(segmenter, robot, printed)]
