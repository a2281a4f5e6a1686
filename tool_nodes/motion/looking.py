"""A second view of a place, from the camera at the wrist: there and back to the park position, as one motion."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import invert, look_at, pose, rotation_z
from toolhand.tool_nodes.motion.grasp_scenes import GraspScenes, levelled_obstacles
from toolhand.tool_nodes.motion.guard import recorded
from toolhand.tool_nodes.motion.moves import first_planned, may_go_on
from toolhand.tool_nodes.motion.plans import LookPlan
from toolhand.tool_nodes.motion.returning import GuardedReturns
from toolhand.tool_nodes.motion.targets import cloud_in_base
from toolhand.tool_nodes.ports import Camera
from toolhand.tool_nodes.results import ErrorCode, ToolError, unavailable
from toolhand.tool_nodes.types import CollisionScene, FloatArray, Frame, JointGoal, PoseGoal, Trajectory

_VIEWS: tuple[tuple[float, float], ...] = ((0.32, 10.0), (0.38, 10.0), (0.32, 25.0), (0.38, 25.0))
"""Distance of the camera from the place [m] and tilt from straight above [degrees], in the order in which they are
tried. The open fingers end 0.15 m before the camera of a Gen3, and stereo cameras measure no depth nearer than 0.2 m.
Near straight above least is hidden behind other objects; a camera that looks from 60 degrees above the horizon is 40
degrees away from 10 degrees on the other side."""
_SIDES = np.radians([0.0, 50.0, -50.0, 100.0, -100.0])
"""Directions to look from, as angles from the one opposite to the first camera [rad]: nearer to it nothing new is
seen."""
_EVERY = 5
"""Every fifth point tells what hides a place [-]: some 60,000 of 640x480."""
_SIGHT_M, _SURROUNDINGS_M, _FEW = 0.015, 0.04, 5
"""A place is hidden where so many points or more [-] are so near to the line of sight [m], before the last part of it
[m], which what is looked at may fill itself; round figures, about half an object wide."""
_TURNS = np.radians([0.0, 180.0, 90.0, -90.0])
"""Turns of the image about its axis [rad]: which way is up in it does not matter."""
SETTLES_S = 0.3
"""Rest before the image is taken [s]: the arm's last oscillation, and the 0.1 s by which images come late."""


class GuardedLooks(GuardedReturns):
    """Looks from the wrist; arguments and errors as of `Manipulator`."""

    _wrist: Camera | None
    _scenes: GraspScenes

    def look(self, point_base: FloatArray, frame: Frame) -> Frame:
        """Take an image of a place with the wrist camera, from the side that another image did not see, and park.

        Args:
            point_base: (3,) the place, base frame [m].
            frame: An image of now by the scene camera; obstacles are fitted to it.

        Returns:
            The image.

        Raises:
            ToolError: UNAVAILABLE where there is no wrist camera; ALREADY_HOLDING; IK_FAILED, PLAN_FAILED or
                OUT_OF_WORKSPACE before anything moved; EXECUTION_FAILED, CONTROLLER_FAULT, STOPPED; what the camera
                raises, once the arm is back.
        """
        with self.job():
            return self.run_look(self.plan_look(point_base, self._uncovered(frame)))

    @recorded("plan a look")
    def plan_look(self, point_base: FloatArray, frame: Frame) -> LookPlan:
        """The first half of `look`, before anything moves; same arguments and errors."""
        self._on_stage("planning")
        if self._wrist is None:
            raise unavailable("This robot has no camera at its wrist.", "Use the pictures of robot.capture_image.")
        if self.held is not None:
            raise ToolError(
                ErrorCode.ALREADY_HOLDING,
                "The gripper holds an object, which would hide what the camera at the wrist looks at.",
                'Place it first: an operator says "put it down".',
            )
        scene = CollisionScene(levelled_obstacles(frame), table_z=workspace.TABLE_Z)
        q = self._arm.state().q
        T_tip_camera = invert(self._kinematics.fk(q)) @ self._wrist.capture().T_base_camera

        def there_and_back(views: FloatArray) -> LookPlan:
            there = self._plan(q, PoseGoal(views @ invert(T_tip_camera)), scene)
            back = self._plan(there.q[-1], JointGoal(self.robot.park), scene)
            return LookPlan((there, back), self._kinematics.fk(there.q[-1]), scene, frame, self._gripper.max_opening)

        return first_planned(views_of(point_base, frame), there_and_back)

    def run_look(self, plan: LookPlan) -> Frame:
        """The second half of `look`: moves. The arm must be where it was when the plan was made."""
        with self.job(), self._permit(plan):
            closer = self._look_from(plan)
        self._scenes.look_also((plan.frame, closer))
        return closer

    def _look_from(self, plan: LookPlan) -> Frame:
        assert self._wrist is not None
        there, back = plan.legs
        self._last_scene = plan.scene
        self._jaws(plan.opening_m, "opening")
        self._follow(there, "the move to the view")
        self._on_stage("the look from the wrist")
        failure: ToolError | None = None
        image = plan.frame
        try:
            self._arm.rest(SETTLES_S)
            image = self._wrist.capture()
        except ToolError as error:
            failure = error
        self._come_back(back, plan.scene)
        if failure is not None:
            raise failure
        return image

    def _come_back(self, back: Trajectory, scene: CollisionScene) -> None:
        try:
            self._follow(back, "the return to the park position")
        except ToolError as error:
            if not may_go_on(error):
                raise
            self._park(scene)


def views_of(point: FloatArray, frame: Frame) -> Iterator[FloatArray]:
    """Poses T_base_camera (N, 4, 4) that look at a place, from one viewpoint after the other, the best first.

    The best are those between which and the place nothing stands that the first image shows.

    Args:
        point: (3,) the place, base frame [m].
        frame: The first image of it.
    """
    away = np.array([*(point - frame.T_base_camera[:3, 3])[:2], 0.0])
    away /= max(float(np.linalg.norm(away)), 1e-9)
    eyes = [
        point + distance * (np.sin(tilt) * (rotation_z(float(side)) @ away) + np.array([0.0, 0.0, np.cos(tilt)]))
        for distance, tilt in ((distance, np.radians(degrees)) for distance, degrees in _VIEWS)
        for side in (_SIDES if tilt > 0.0 else _SIDES[:1])
    ]
    cloud = cloud_in_base(frame)[::_EVERY].astype(float)
    hidden = [_hidden(eye, point, cloud) for eye in eyes]
    for index in np.argsort(hidden, kind="stable"):
        T = look_at(eyes[index], point)
        turned = [T @ pose(rotation_z(float(turn)), np.zeros(3)) for turn in _TURNS]
        yield np.array(turned)


def _hidden(eye: FloatArray, point: FloatArray, cloud: FloatArray) -> bool:
    """True if points (N, 3) lie in the line of sight from an eye to a point, before what surrounds the point."""
    sight = point - eye
    distance = float(np.linalg.norm(sight))
    with np.errstate(invalid="ignore"):
        along = (cloud - eye) @ (sight / distance)
        beside = np.linalg.norm(cloud - eye - along[:, None] * (sight / distance), axis=1)
        between = (beside < _SIGHT_M) & (along > 0.0) & (along < distance - _SURROUNDINGS_M)
    return int(between.sum()) >= _FEW
