"""Robot tools: `robot.*`. Poses and points are in the scene camera's frame, as its images show it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import backproject, carried, transform
from toolhand.tool_nodes.motion.placing import STEP_TOLERANCE
from toolhand.tool_nodes.motion.robot_model import RobotModel, load_robot
from toolhand.tool_nodes.motion.targets import ray_to_base
from toolhand.tool_nodes.perception.pushed import pushed
from toolhand.tool_nodes.ports import Camera, GraspAndPlace
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult, invalid, unavailable
from toolhand.tool_nodes.stop_latch import StopWatch
from toolhand.tool_nodes.toolbox.arguments import NewestPoint2D, NewestPoint3D, Pose
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.toolbox.images import SessionImage, view_of
from toolhand.tool_nodes.toolbox.toolbox import InSession, Session, tool
from toolhand.tool_nodes.tools.spacetools.depth import depth_range, shown_depth
from toolhand.tool_nodes.tools.spacetools.in_image import out_of_reach
from toolhand.tool_nodes.tools.spacetools.outcomes import also_moved, in_frame, placed_at, slowly, stood_at
from toolhand.tool_nodes.tools.spacetools.proposed import require_rigid
from toolhand.tool_nodes.types import FloatArray, Frame, SkillOutcome, SkillRequest

HAS_MOVED = frozenset(
    {
        ErrorCode.EXECUTION_FAILED,
        ErrorCode.CONTROLLER_FAULT,
        ErrorCode.GRIPPER_EMPTY,
        ErrorCode.OBJECT_DROPPED,
        ErrorCode.WRONG_OBJECT,
    }
)
"""Failures of a motion that had begun, after which the scene may look otherwise; one that a person ended shows none."""
GRASP_FAILED = HAS_MOVED - {ErrorCode.CONTROLLER_FAULT} | {
    ErrorCode.IK_FAILED,
    ErrorCode.PLAN_FAILED,
    ErrorCode.OUT_OF_WORKSPACE,
}
"""Failures that are a grasp's own: another one of the same object may succeed."""
GRASPED = (
    "depth_estimator.estimate_depth_with_pointcloud",
    "sam2.segment_from_point",
    "grasp_generator.compute_grasp",
    "robot.execute_grasp",
)
"""Calls after which an object is held, after a look."""
_LOST = frozenset({ErrorCode.OBJECT_DROPPED, ErrorCode.NOT_HOLDING})
"""After these nothing is held."""

UNSEEN = "Not verified: the new picture does not show the object in the container; it may be hidden in it. "
"""What a place into a container says where it was not seen to have worked; policies tell it on."""


def captured(frame: Frame) -> dict[str, SessionImage]:
    """The `$variable` of an image that the robot has taken."""
    return {"captured_image": SessionImage(frame.rgb, frame)}


class CameraTools:
    """Images and depth from the robot's own camera.

    Args:
        camera: The scene camera.
        model: The robot; the default one where None.

    Attributes:
        moves: Whether these tools move the robot.
    """

    suite = "spacetools"
    moves = False

    def __init__(self, camera: Camera, model: RobotModel | None = None) -> None:
        self._camera = camera
        self._model = model

    def model(self) -> RobotModel:
        """The robot."""
        return self._model or load_robot()

    def look(self, session: Session) -> Frame:
        """A new image of the scene camera, which is the newest of the conversation now."""
        session.seen = self._camera.capture()
        return session.seen

    def last_seen(self, session: Session) -> Frame:
        """The newest image of the conversation; a new one where there is none."""
        return session.seen if session.seen is not None else self.look(session)

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

    def hand(self) -> str:
        """What is held, in a sentence and a blank; empty where nothing is, or where it is unknown."""
        return ""

    def in_hand(self) -> Frame | None:
        """An image of now by the camera at the wrist; None where there is none that could."""
        return None

    def execute_grasp(self, grasp_pose: Pose, session: InSession) -> ToolResult:
        """Grasp at a pose. Raises ToolError UNAVAILABLE where nothing may move."""
        raise unavailable("These tools move no hand.", "Use those of an operator.")

    def place_object_at_2d_location(self, placement_point_2d: NewestPoint2D, session: InSession) -> ToolResult:
        """Put down what is held, at a point of the newest image. Raises ToolError as `execute_grasp`."""
        raise unavailable("These tools move no hand.", "Use those of an operator.")

    def place_object_at_3d_location(self, placement_point_3d: NewestPoint3D, session: InSession) -> ToolResult:
        """The same at a point of the camera's frame [m]. Raises ToolError as `execute_grasp`."""
        raise unavailable("These tools move no hand.", "Use those of an operator.")

    def cloud(self, frame: Frame) -> NDArray[np.float32]:
        """The points (H*W, 3) of an image, in the frame of its camera [m]."""
        return backproject(frame.depth, frame.K)

    @tool("robot.capture_image", timeout_s=None, repeatable=True, example=Example({}), makes=("captured_image",))
    def capture_image(self, session: InSession) -> ToolResult:
        """Capture an RGB image from the robot's camera."""
        frame = self.look(session)
        w, h = frame.size
        return ToolResult(
            value={"image_shape": list(frame.rgb.shape), "image": frame.rgb},
            text=f"Captured {w}x{h} image from the robot camera. {self.hand()}"
            f"Use $captured_image (image, {h}x{w}x3) to reference it.",
            image=frame.rgb,
            variables=captured(frame),
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
        frame = self.look(session)
        w, h = frame.size
        focal = float(frame.K[0, 0])
        shown = shown_depth(frame.depth, bar=False)
        return ToolResult(
            value={
                "depth_map": frame.depth,
                "depth_map_visualization": shown["image"],
                "focal_length_px": focal,
                "width": w,
                "height": h,
            },
            text=f"Captured {w}x{h} depth map. Focal length: {focal:.1f}px. Depth range: {depth_range(frame.depth)}. "
            f"Use $depth_map (numpy array, {h}x{w}) and $focal_length_px (float) to reference the results.",
            **shown,
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
        frame = self.look(session)
        w, h = frame.size
        focal = float(frame.K[0, 0])
        cloud = self.cloud(frame)
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
            **shown_depth(frame.depth, bar=False),
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
        model: The robot; the default one where None.
        wrist: The camera at the wrist; None where there is none.
    """

    moves = True

    def __init__(
        self,
        camera: Camera,
        manipulator: GraspAndPlace,
        clock: Callable[[], float] = time.monotonic,
        model: RobotModel | None = None,
        wrist: Camera | None = None,
    ) -> None:
        super().__init__(camera, model)
        self._manipulator = manipulator
        self._clock = clock
        self._wrist = wrist

    def job(self) -> AbstractContextManager[StopWatch]:
        """See `Toolbox.job`."""
        return self._manipulator.job()

    def look_closer(self, point_base: FloatArray, session: Session) -> Frame:
        """See `CameraTools`; the scene camera looks before and after."""
        seen = self._manipulator.look(point_base, self.look(session))
        self.look(session)
        return seen

    def skill(self, asked: SkillRequest, session: Session) -> SkillOutcome:
        """See `CameraTools`; the scene camera looks before and after."""
        outcome = self._manipulator.skill(asked, self.look(session))
        if asked.name in ("open_gripper", "hand_over", "stand_upright") and self._manipulator.holds() is None:
            session.grasps.held = None
        self.look(session)
        return outcome

    def seen_after(self, error: ToolError, session: Session) -> ToolResult:
        """See `CameraTools`."""
        if error.code not in HAS_MOVED:
            raise error
        try:
            after = self.look(session)
        except ToolError:  # how the motion ended says more
            raise error from None
        return ToolResult(error=error, image=after.rgb, variables=captured(after))

    def hand(self) -> str:
        """See `CameraTools`."""
        try:
            called = self._manipulator.holds()
        except ToolError:  # an image is worth having without the motion node
            return ""
        if called is None:
            return ""
        known = f" that was grasped as '{called}'" if called else ""
        return f"The gripper holds an object{known}. "

    def in_hand(self) -> Frame | None:
        """See `CameraTools`."""
        try:
            return None if self._wrist is None else self._wrist.capture()
        except ToolError:  # a graph need not have one
            return None

    @tool(
        "robot.execute_grasp",
        motion=True,
        timeout_s=None,
        makes=("captured_image",),
        example=Example(
            {"grasp_pose": "$grasp_pose"},
            before=GRASPED[:-1],
        ),
    )
    def execute_grasp(self, grasp_pose: Pose, session: InSession) -> ToolResult:
        """Grasp by moving the gripper to a pose via a pre-grasp point, closing it, and lifting.

        Args:
            grasp_pose: 4x4 pose of the gripper's base in the camera frame (OpenCV), approach along +Z,
                fingers closing along X; usually $grasp_pose.
            session: The conversation, which knows what the pose was computed for. Of a pose that it was not given, or
                that belongs to an image of before something moved, only the jaws can tell whether it was lifted.
        """
        frame = self.last_seen(session)
        known = session.grasps.find(grasp_pose)
        T_frame_gripper, known = in_frame(require_rigid(grasp_pose), known, frame)
        T = carried(frame.T_base_camera @ T_frame_gripper)
        started = self._clock()
        target = None if known is None else known.target
        try:
            grasped = self._manipulator.grasp(T, frame, target, session.speed)
        except ToolError as error:
            if error.code in GRASP_FAILED:
                session.grasps.note_failed(T)
            pads = T[:3, 3] + self.model().gripper.hold_depth * T[:3, 2]
            return self.seen_after(out_of_reach(error, pads, frame), session)
        elapsed, session.grasps.held = self._clock() - started, known
        after = self.look(session)
        w, h = after.size
        moved = [] if known is None else pushed(known.frame, after, known.target.mask)
        return ToolResult(
            value={"success": True, "execution_time_s": elapsed, "image": after.rgb},
            text=f"Grasp executed successfully in {elapsed:.2f} s{slowly(session)}. The gripper holds an object "
            f"{grasped.opening_m:.3f} m wide. {also_moved(moved)}"
            f"Use $captured_image (image, {h}x{w}x3) to reference the view after the grasp.",
            image=after.rgb,
            variables=captured(after),
            facts={
                "grasped": {
                    "opening_m": round(grasped.opening_m, 4),
                    "check_s": round(grasped.check_s, 3),
                    "seen": known is not None,
                    "pushed": moved,
                    **stood_at(grasped.stood, after),
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
            before=GRASPED,
        ),
    )
    def place_object_at_2d_location(self, placement_point_2d: NewestPoint2D, session: InSession) -> ToolResult:
        """Place the held object at a point of the newest image; the 3D location is found by shooting a ray.

        Args:
            placement_point_2d: Normalized [x, y] image point where the object should be placed.
        """
        frame = self.last_seen(session)
        return self._place(ray_to_base(frame, placement_point_2d), frame, session)

    @tool(
        "robot.place_object_at_3d_location",
        motion=True,
        timeout_s=None,
        makes=("captured_image",),
        renamed={"point_3d": "placement_point_3d"},
        example=Example(
            {"placement_point_3d": [-0.02, 0.14, 0.93]},
            before=GRASPED,
        ),
    )
    def place_object_at_3d_location(self, placement_point_3d: NewestPoint3D, session: InSession) -> ToolResult:
        """Place the held object at a 3D point in the camera frame and open the gripper.

        Args:
            placement_point_3d: [x, y, z] in metres in the camera frame (OpenCV).
        """
        frame = self.last_seen(session)
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
        after = self.look(session)
        w, h = after.size
        placed = placed_at(point_base, frame, after)
        unseen = "" if placed["verified"] else UNSEEN
        height = float(point_base[2]) - workspace.TABLE_Z
        raised = f"It stands {height:.2f} m above the table. " if height > STEP_TOLERANCE else ""
        return ToolResult(
            value={"success": True, "execution_time_s": elapsed, "image": after.rgb},
            text=f"Object placed successfully in {elapsed:.2f} s{slowly(session)}. The gripper is open and empty. "
            f"{raised}{unseen}{also_moved(placed['pushed'])}"
            f"Use $captured_image (image, {h}x{w}x3) to reference the view after the placement.",
            image=after.rgb,
            variables=captured(after),
            facts={"placed": placed},
        )


ROLES = ("observer", "operator")
"""Who may have which of the robot's own tools: an observer's cannot move anything, an operator's are all of them."""


def robot_tools(
    role: str,
    camera: Camera,
    manipulator: GraspAndPlace,
    clock: Callable[[], float] = time.monotonic,
    model: RobotModel | None = None,
    wrist: Camera | None = None,
) -> CameraTools:
    """The robot's tools for a role, as `suites.Backends.robot`; arguments as of `RobotTools`.

    An observer's toolbox does not hold a motion tool that could be refused: it has none, under any name.

    Raises:
        ToolError: INVALID_ARGUMENT for a role that is none.
    """
    if role == "observer":
        return CameraTools(camera, model)
    if role == "operator":
        return RobotTools(camera, manipulator, clock, model, wrist)
    raise invalid(f"The role must be {' or '.join(ROLES)}, got {role[:60]!r}.")
