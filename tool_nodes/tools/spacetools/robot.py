"""Robot tools: `robot.*`. Poses and points are in the scene camera's frame, as its images show it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.drawing import colourize_depth
from toolhand.tool_nodes.geometry import backproject, carried, invert, project, transform
from toolhand.tool_nodes.motion.placing import STEP_TOLERANCE
from toolhand.tool_nodes.motion.targets import ray_to_base
from toolhand.tool_nodes.perception.carrying import carried_target
from toolhand.tool_nodes.perception.containers import is_cavity, seen_inside
from toolhand.tool_nodes.perception.heights import height_map
from toolhand.tool_nodes.perception.placed import standing_at
from toolhand.tool_nodes.perception.pushed import pushed
from toolhand.tool_nodes.ports import Camera, GraspAndPlace
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult, invalid, unavailable
from toolhand.tool_nodes.scene_change import changed
from toolhand.tool_nodes.stop_latch import StopWatch
from toolhand.tool_nodes.toolbox.arguments import NewestPoint2D, NewestPoint3D, Pose
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.toolbox.grasp_memory import GraspOf
from toolhand.tool_nodes.toolbox.images import SessionImage, view_of
from toolhand.tool_nodes.toolbox.toolbox import InSession, Session, tool
from toolhand.tool_nodes.tools.spacetools.depth import depth_range
from toolhand.tool_nodes.tools.spacetools.proposed import require_rigid
from toolhand.tool_nodes.types import FloatArray, Frame, SkillOutcome, SkillRequest

_LOST = frozenset({ErrorCode.OBJECT_DROPPED, ErrorCode.NOT_HOLDING})
"""After these nothing is held."""

_SHOWN_M = 0.02
"""What an image shows at the point of a place is that place if it is no farther from it [m]: what hides a place is
farther before it, and the noise of depth is less."""

UNSEEN = "Not verified: the new picture does not show the object in the container; it may be hidden in it. "
"""What a place into a container says where it was not seen to have worked; policies tell it on."""


class CameraTools:
    """Images and depth from the robot's own camera.

    Args:
        camera: The scene camera.

    Attributes:
        moves: Whether these tools move the robot.
    """

    suite = "spacetools"
    moves = False

    def __init__(self, camera: Camera) -> None:
        self._camera = camera

    def _look(self, session: Session) -> Frame:
        session.seen = self._camera.capture()
        return session.seen

    def _last_seen(self, session: Session) -> Frame:
        return session.seen if session.seen is not None else self._look(session)

    def look_closer(self, point_base: FloatArray, session: Session) -> Frame:
        """An image of a place (3,), base frame [m], by the camera at the wrist, which moves there and back.

        Raises:
            ToolError: UNAVAILABLE where there is none that could; as `ports.GraspAndPlace.look`.
        """
        raise unavailable("There is no camera at a wrist that could move.", "Use the pictures of robot.capture_image.")

    def skill(self, asked: SkillRequest, session: Session) -> SkillOutcome:
        """What the hand does beside grasping and placing.

        Raises:
            ToolError: UNAVAILABLE where nothing may move; as `ports.GraspAndPlace.skill`.
        """
        raise unavailable("These tools move no hand.", "Use those of an operator.")

    def seen_after(self, error: ToolError, session: Session) -> ToolResult:
        """What a failed motion answers: an image of now, too, where it has moved something. Raises the error."""
        raise error

    def _hand(self) -> str:
        """What is held, in a sentence and a blank; empty where nothing is, or where it is unknown."""
        return ""

    def _cloud(self, frame: Frame) -> NDArray[np.float32]:
        return backproject(frame.depth, frame.K)

    @tool("robot.capture_image", timeout_s=None, repeatable=True, example=Example({}), makes=("captured_image",))
    def capture_image(self, session: InSession) -> ToolResult:
        """Capture an RGB image from the robot's camera."""
        frame = self._look(session)
        w, h = frame.size
        return ToolResult(
            value={"image_shape": list(frame.rgb.shape), "image": frame.rgb},
            text=f"Captured {w}x{h} image from the robot camera. {self._hand()}"
            f"Use $captured_image (image, {h}x{w}x3) to reference it.",
            image=frame.rgb,
            variables={"captured_image": SessionImage(frame.rgb, frame)},
        )

    @tool(
        "robot.get_depth",
        aliases=["robot.capture_depth"],
        timeout_s=None,
        repeatable=True,
        makes=("depth_map", "focal_length_px"),
        example=Example({}),
    )
    def get_depth(self, session: InSession) -> ToolResult:
        """Get the depth map from the robot's depth sensor."""
        frame = self._look(session)
        w, h = frame.size
        focal = float(frame.K[0, 0])
        image = colourize_depth(frame.depth, bar=False)
        return ToolResult(
            value={
                "depth_map": frame.depth,
                "depth_map_visualization": image,
                "focal_length_px": focal,
                "width": w,
                "height": h,
            },
            text=f"Captured {w}x{h} depth map. Focal length: {focal:.1f}px. Depth range: {depth_range(frame.depth)}. "
            f"Use $depth_map (numpy array, {h}x{w}) and $focal_length_px (float) to reference the results.",
            image=image,
            view=view_of(frame),
            variables={"depth_map": frame.depth, "focal_length_px": focal},
        )

    @tool(
        "robot.get_depth_with_pointcloud",
        timeout_s=None,
        repeatable=True,
        makes=("depth_map", "point_cloud", "focal_length_px"),
        example=Example({}),
    )
    def get_depth_with_pointcloud(self, session: InSession) -> ToolResult:
        """Get the depth map from the robot's depth sensor and the 3D point cloud in the camera frame."""
        frame = self._look(session)
        w, h = frame.size
        focal = float(frame.K[0, 0])
        cloud = self._cloud(frame)
        return ToolResult(
            value={
                "image": frame.rgb,
                "depth_map": frame.depth,
                "point_cloud": cloud,
                "focal_length_px": focal,
                "width": w,
                "height": h,
            },
            text=f"Captured {w}x{h} depth map and {len(cloud):,} 3D points. Focal length: {focal:.1f}px. "
            f"Depth range: {depth_range(frame.depth)}. Use $depth_map (numpy array, {h}x{w}), "
            f"$point_cloud (numpy array, {len(cloud)}x3) and $focal_length_px (float) to reference the results.",
            image=colourize_depth(frame.depth, bar=False),
            view=view_of(frame),
            variables={"depth_map": frame.depth, "point_cloud": cloud, "focal_length_px": focal},
        )


class RobotTools(CameraTools):
    """Perception and manipulation on the robot itself.

    A grasp leaves the fact `grasped`: `opening_m`, the jaws that hold the object; `check_s`, time of the robot that it
    took to be sure; `seen`, true where an image was looked at too, because it is known what the grasp was for;
    `stood_m`, the middle of its base where it stood before, [x, y, z] in the base frame [m]: put there, it is back; and
    `stood`, that place as a normalized point of the image after the grasp. Each is None where it is not known: the
    place may be hidden in the image. Grasps and placements have `pushed`: normalized points at which the image
    afterwards shows other objects to stand than before.

    A placement leaves the fact `placed`: `wanted_m`, where the object should stand, and `found_m`, where the image
    after it shows the middle of what is new (None if it shows nothing new there), both [x, y, z] in the base frame [m];
    the same as normalized points `wanted` and `found` of that image, on the height where it should stand; `shown`,
    the point that shows its middle, half way up (None as `found`); `off_mm`, their horizontal distance; and
    `verified`, false where the image does not show the object in the container that it was let go in. Not to
    see it anywhere else is an error.

    Args:
        camera: The scene camera.
        manipulator: Grasps and places.
        clock: Time that motions are reported in [s]; simulated time in lockstep.
    """

    moves = True

    def __init__(self, camera: Camera, manipulator: GraspAndPlace, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(camera)
        self._manipulator = manipulator
        self._clock = clock

    def job(self) -> AbstractContextManager[StopWatch]:
        """See `Toolbox.job`."""
        return self._manipulator.job()

    def look_closer(self, point_base: FloatArray, session: Session) -> Frame:
        """See `CameraTools`; the scene camera looks before and after."""
        seen = self._manipulator.look(point_base, self._look(session))
        self._look(session)
        return seen

    def skill(self, asked: SkillRequest, session: Session) -> SkillOutcome:
        """See `CameraTools`; the scene camera looks before and after."""
        outcome = self._manipulator.skill(asked, self._look(session))
        if asked.name in ("open_gripper", "hand_over", "stand_upright") and self._manipulator.holds() is None:
            session.grasps.held = None
        self._look(session)
        return outcome

    def seen_after(self, error: ToolError, session: Session) -> ToolResult:
        """See `CameraTools`."""
        if error.code is not ErrorCode.EXECUTION_FAILED:
            raise error
        try:
            after = self._look(session)
        except ToolError:  # how the motion ended says more
            raise error from None
        return ToolResult(error=error, image=after.rgb, variables={"captured_image": SessionImage(after.rgb, after)})

    def _hand(self) -> str:
        try:
            called = self._manipulator.holds()
        except ToolError:  # an image is worth having without the motion node
            return ""
        if called is None:
            return ""
        known = f" that was grasped as '{called}'" if called else ""
        return f"The gripper holds an object{known}. "

    @tool(
        "robot.execute_grasp",
        motion=True,
        timeout_s=None,
        makes=("captured_image",),
        example=Example(
            {"grasp_pose": "$grasp_pose"},
            before=(
                "depth_estimator.estimate_depth_with_pointcloud",
                "sam2.segment_from_point",
                "grasp_generator.compute_grasp",
            ),
        ),
    )
    def execute_grasp(self, grasp_pose: Pose, session: InSession) -> ToolResult:
        """Grasp by moving the gripper to a pose via a pre-grasp point, closing it, and lifting.

        Args:
            grasp_pose: 4x4 pose of the gripper's base in the camera frame (OpenCV), approach along +Z,
                fingers closing along X; usually $grasp_pose.
            session: The conversation, which knows what the pose was computed for. Of a pose that it was not given, or
                that belongs to a picture of before something moved, only the jaws can tell whether it was lifted.
        """
        frame = self._last_seen(session)
        known = session.grasps.find(grasp_pose)
        T_frame_gripper, known = _in_frame(require_rigid(grasp_pose), known, frame)
        T = carried(frame.T_base_camera @ T_frame_gripper)
        started = self._clock()
        target = None if known is None else known.target
        try:
            grasped = self._manipulator.grasp(T, frame, target, session.speed)
        except ToolError as error:
            return self.seen_after(error, session)
        elapsed, session.grasps.held = self._clock() - started, known
        after = self._look(session)
        w, h = after.size
        moved = [] if known is None else pushed(known.frame, after, known.target.mask)
        return ToolResult(
            value={"success": True, "execution_time_s": elapsed, "image": after.rgb},
            text=f"Grasp executed successfully in {elapsed:.2f} s{_slowly(session)}. The gripper holds an object "
            f"{grasped.opening_m:.3f} m wide. {_also_moved(moved)}"
            f"Use $captured_image (image, {h}x{w}x3) to reference the view after the grasp.",
            image=after.rgb,
            variables={"captured_image": SessionImage(after.rgb, after)},
            facts={
                "grasped": {
                    "opening_m": round(grasped.opening_m, 4),
                    "check_s": round(grasped.check_s, 3),
                    "seen": known is not None,
                    "pushed": moved,
                    **_stood(grasped.stood, after),
                }
            },
        )

    @tool(
        "robot.place_object_at_2d_location",
        motion=True,
        timeout_s=None,
        makes=("captured_image",),
        renamed={"point_2d": "placement_point_2d"},
        example=Example(
            {"placement_point_2d": [0.48, 0.62]},
            before=(
                "depth_estimator.estimate_depth_with_pointcloud",
                "sam2.segment_from_point",
                "grasp_generator.compute_grasp",
                "robot.execute_grasp",
            ),
        ),
    )
    def place_object_at_2d_location(self, placement_point_2d: NewestPoint2D, session: InSession) -> ToolResult:
        """Place the held object at a point of the newest image; the 3D location is found by shooting a ray.

        Args:
            placement_point_2d: Normalized [x, y] image point where the object should be placed.
        """
        frame = self._last_seen(session)
        return self._place(ray_to_base(frame, placement_point_2d), frame, session)

    @tool(
        "robot.place_object_at_3d_location",
        motion=True,
        timeout_s=None,
        makes=("captured_image",),
        renamed={"point_3d": "placement_point_3d"},
        example=Example(
            {"placement_point_3d": [-0.02, 0.14, 0.93]},
            before=(
                "depth_estimator.estimate_depth_with_pointcloud",
                "sam2.segment_from_point",
                "grasp_generator.compute_grasp",
                "robot.execute_grasp",
            ),
        ),
    )
    def place_object_at_3d_location(self, placement_point_3d: NewestPoint3D, session: InSession) -> ToolResult:
        """Place the held object at a 3D point in the camera frame and open the gripper.

        Args:
            placement_point_3d: [x, y, z] in metres in the camera frame (OpenCV).
        """
        frame = self._last_seen(session)
        point = transform(frame.T_base_camera, np.asarray(placement_point_3d, float)[None])[0]
        return self._place(point, frame, session)

    def _place(self, point_base: FloatArray, frame: Frame, session: Session) -> ToolResult:
        started = self._clock()
        try:
            self._manipulator.place(point_base, frame, session.speed)
        except ToolError as error:
            session.grasps.held = None if error.code in _LOST else session.grasps.held
            return self.seen_after(error, session)
        session.grasps.held = None
        elapsed = self._clock() - started
        after = self._look(session)
        w, h = after.size
        placed = _placed(point_base, frame, after)
        unseen = "" if placed["verified"] else UNSEEN
        height = float(point_base[2]) - workspace.TABLE_Z
        raised = f"It stands {height:.2f} m above the table. " if height > STEP_TOLERANCE else ""
        return ToolResult(
            value={"success": True, "execution_time_s": elapsed, "image": after.rgb},
            text=f"Object placed successfully in {elapsed:.2f} s{_slowly(session)}. The gripper is open and empty. "
            f"{raised}{unseen}{_also_moved(placed['pushed'])}"
            f"Use $captured_image (image, {h}x{w}x3) to reference the view after the placement.",
            image=after.rgb,
            variables={"captured_image": SessionImage(after.rgb, after)},
            facts={"placed": placed},
        )


def _slowly(session: Session) -> str:
    """At which speed a motion was, where it was not the whole allowed one."""
    return "" if session.speed == 1.0 else f" at {session.speed:g} of the allowed speed"


def _also_moved(points: Sequence[tuple[float, float]]) -> str:
    """What a result says of other objects that were moved; "" where none were."""
    listed = " and ".join(f"({u:.2f}, {v:.2f})" for u, v in points)
    return f"Something else was moved, too: see {listed}. " if points else ""


def _in_frame(T: FloatArray, known: GraspOf | None, frame: Frame) -> tuple[FloatArray, GraspOf | None]:
    """A grasp (4, 4) and what is known of it, in an image of the scene camera; None where that is not known any more.

    Args:
        T: Pose of the gripper, in the frame of the camera that the grasp was computed for.
        known: Grasp that was given with this pose; None where none was, and the pose is of the scene camera.
        frame: Newest image of the scene camera.
    """
    if known is None or known.frame is frame:
        return T, known
    if known.frame.camera == frame.camera:
        return T, None if changed(known.frame, frame) else known
    T = carried(invert(frame.T_base_camera) @ known.frame.T_base_camera @ T)
    target = carried_target(known.frame, known.target, frame)
    return T, None if target is None else GraspOf(T, frame, target)


def _stood(middle: FloatArray | None, after: Frame) -> dict[str, Any]:
    """Where what is held stood, of the fact `grasped`, see `RobotTools`."""
    if middle is None:
        return {"stood_m": None, "stood": None}
    u, v = spot = (project(transform(invert(after.T_base_camera), middle[None]), after.K)[0] + 0.5) / after.size
    shown: list[float] | None = [round(float(u), 4), round(float(v), 4)]
    try:
        inside = bool(((spot >= 0.0) & (spot <= 1.0)).all())
        if not inside or np.linalg.norm(ray_to_base(after, spot) - middle) > _SHOWN_M:
            shown = None
    except ToolError:  # no depth is measured there
        shown = None
    return {"stood_m": [round(float(value), 4) for value in middle], "stood": shown}


def _placed(wanted: FloatArray, before: Frame, after: Frame) -> dict[str, Any]:
    """The fact `placed`, see `RobotTools`."""
    into = False
    try:
        into = is_cavity(height_map(before), wanted)
        found = (seen_inside if into else standing_at)(before, after, wanted)
    except ToolError:  # a camera without depth, or an object that has rolled away since the manipulator looked
        found = None

    def spot(xy: FloatArray, above_m: float = 0.0) -> list[float]:
        ground = np.array([[*xy[:2], wanted[2] + above_m]])
        u, v = project(transform(invert(after.T_base_camera), ground), after.K)[0] / after.size
        return [round(float(u), 4), round(float(v), 4)]

    return {
        "verified": found is not None or not into,
        "pushed": pushed(before, after, placed_m=wanted),
        "wanted_m": [round(float(v), 4) for v in wanted],
        "wanted": spot(wanted),
        "found_m": None if found is None else [round(float(v), 4) for v in found],
        "found": None if found is None else spot(found),
        "shown": None if found is None else spot(found, max(0.0, float(found[2] - wanted[2])) / 2),
        "off_mm": None if found is None else round(1000 * float(np.hypot(*(found - wanted)[:2])), 1),
    }


ROLES = ("observer", "operator")
"""Who may have which of the robot's own tools: an observer's cannot move anything, an operator's are all of them."""


def robot_tools(
    role: str, camera: Camera, manipulator: GraspAndPlace, clock: Callable[[], float] = time.monotonic
) -> CameraTools:
    """The robot's tools for a role, as `suites.Backends.robot`; arguments as of `RobotTools`.

    An observer's toolbox does not hold a motion tool that could be refused: it has none, under any name.

    Raises:
        ToolError: INVALID_ARGUMENT for a role that is none.
    """
    if role == "observer":
        return CameraTools(camera)
    if role == "operator":
        return RobotTools(camera, manipulator, clock)
    raise invalid(f"The role must be {' or '.join(ROLES)}, got {role[:60]!r}.")
