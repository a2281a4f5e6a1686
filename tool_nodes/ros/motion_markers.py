"""What the motion node is about to do, as standard markers: for RViz, Foxglove and the console alike.

Latched on /toolhand/markers from the moment that a grasp or a placement is planned until it has ended; a plan that is
only made stays until the next. Everything is in the base frame, and each namespace can be switched off in a viewer:
`obstacles` (boxes), `obstacle_points`, `target` (points of the object), `gripper` (the hand at the grasp or the
release), `path` (the point between the fingertips) and `place` (the area that the object will stand on).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Vector3
from numpy.typing import ArrayLike
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from toolhand.tool_nodes.geometry import pose, transform
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.plans import GraspPlan, PlacePlan
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.motion.targets import HeldObject
from toolhand.tool_nodes.ros.messages import matrix_to_pose
from toolhand.tool_nodes.ros.robot_pose import HeldPublisher
from toolhand.tool_nodes.types import Box, FloatArray, Trajectory

TOPIC = "toolhand/markers"
QOS = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

MOST_POINTS = 500
"""Points of the object, and of obstacles that no box was fitted to, each [-]: they show its outline in 20 kB."""
_PATH_STEP = 8
"""Samples of a leg between two points of the path [-]: legs have 100 a second."""
_LINE_M, _POINT_M = 0.006, 0.004
"""Width of lines and points [m]; chosen to look at."""
_PLACE_M = 0.004
"""Height of the area of a place as it is drawn [m]; chosen to look at."""

ORANGE, GREEN, YELLOW = (1.0, 0.55, 0.0), (0.15, 0.85, 0.45), (1.0, 0.78, 0.0)
"""Colours of obstacles, the object and the gripper: red, green and blue in [0, 1], chosen to differ in lightness
too."""
MAGENTA, BLUE = (1.0, 0.24, 0.78), (0.16, 0.55, 1.0)
"""Colours of the path and the place, likewise."""
FINGERS = ((0, 1), (0, 2), (1, 3), (2, 4))
"""Lines of the drawn gripper, between the points of `GripperModel.points`."""


class MotionMarkers:
    """Publishes the markers of one plan at a time.

    Args:
        node: Gets the publisher.
        base_frame: Name of the base frame.
        robot: The robot that moves.
    """

    def __init__(self, node: Node, base_frame: str, robot: RobotModel) -> None:
        self._node, self._base_frame, self._kinematics = node, base_frame, Kinematics(robot)
        self._publisher = node.create_publisher(MarkerArray, TOPIC, QOS)
        self._held = HeldPublisher(node, robot)

    def show(self, plan: GraspPlan | PlacePlan) -> None:
        """Show a plan in the place of what was shown before."""
        stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(plan_markers(plan, self._kinematics, self._base_frame, stamp))

    def tell_held(self, held: HeldObject | None) -> None:
        """Tell the cameras what is held, see `robot_pose.HELD_TOPIC`."""
        self._held.tell(None if held is None else held.box)

    def clear(self) -> None:
        """Show nothing any more."""
        self._publisher.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))


def plan_markers(plan: GraspPlan | PlacePlan, kinematics: Kinematics, base_frame: str, stamp: Time) -> Any:
    """The MarkerArray of a plan; its first marker takes away all that was shown before."""
    header = Header(stamp=stamp, frame_id=base_frame)
    markers = [Marker(header=header, action=Marker.DELETEALL)]
    for marker in (*_obstacles(plan), *_motion(plan, kinematics)):
        marker.header = header
        marker.id = len(markers)
        markers.append(marker)
    return MarkerArray(markers=markers)


def _obstacles(plan: GraspPlan | PlacePlan) -> Iterator[Any]:
    for box in plan.scene.boxes:
        yield _cube("obstacles", box, ORANGE, 0.3)
    if len(plan.scene.points):
        yield _points("obstacle_points", _some(plan.scene.points), ORANGE)


def _motion(plan: GraspPlan | PlacePlan, kinematics: Kinematics) -> Iterator[Any]:
    gripper = kinematics.robot.gripper
    if isinstance(plan, GraspPlan):
        T, opening, legs = plan.T_base_gripper, plan.opening_m, plan.legs
        if len(plan.points):
            yield _points("target", _some(plan.points), GREEN)
    else:
        T, opening, legs = plan.candidate.T_base_gripper, plan.release_m, plan.legs
        half = np.max([_reach(box) for box in plan.scene.attached], axis=0, initial=0.02)
        stands = Box(pose(np.eye(3), plan.candidate.point), np.array([half, half, _PLACE_M / 2]))
        yield _cube("place", stands, BLUE, 0.6, Marker.CYLINDER)
    hand = gripper.points(min(opening, gripper.max_opening))
    yield _lines("gripper", Marker.LINE_LIST, transform(T, hand[np.array(FINGERS).ravel()]), YELLOW)
    yield _lines("path", Marker.LINE_STRIP, _path(legs, hand[3:].mean(axis=0), kinematics), MAGENTA)


def _reach(box: Box) -> float:
    """How far a held box reaches from the middle of what is held, seen from above as it is held upright [m]."""
    return float(np.sort(box.half_extents)[:2].max())


def _path(legs: Sequence[Trajectory], tip: FloatArray, kinematics: Kinematics) -> FloatArray:
    """(N, 3) where a point (3,) of the gripper is on its way [m]."""
    samples = [q for leg in legs for q in (*leg.q[:-1:_PATH_STEP], leg.q[-1])]
    return np.array([transform(kinematics.fk(q), tip) for q in samples])


def _some(points: ArrayLike) -> FloatArray:
    """At most MOST_POINTS of points (N, 3), evenly chosen."""
    found: FloatArray = np.asarray(points, float)
    return found[:: -(-len(found) // MOST_POINTS)]


def _cube(name: str, box: Box, rgb: tuple[float, float, float], alpha: float, kind: int = Marker.CUBE) -> Any:
    x, y, z = (float(2.0 * half) for half in box.half_extents)
    return Marker(
        ns=name,
        type=kind,
        pose=matrix_to_pose(box.T_parent_box),
        scale=Vector3(x=x, y=y, z=z),
        color=_colour(rgb, alpha),
    )


def _points(name: str, points: FloatArray, rgb: tuple[float, float, float]) -> Any:
    return _many(name, Marker.POINTS, points, rgb, Vector3(x=_POINT_M, y=_POINT_M))


def _lines(name: str, kind: int, points: FloatArray, rgb: tuple[float, float, float]) -> Any:
    return _many(name, kind, points, rgb, Vector3(x=_LINE_M))


def _many(name: str, kind: int, points: FloatArray, rgb: tuple[float, float, float], scale: Vector3) -> Any:
    marker = Marker(ns=name, type=kind, scale=scale, color=_colour(rgb, 1.0))
    marker.pose.orientation.w = 1.0
    marker.points = [Point(x=float(x), y=float(y), z=float(z)) for x, y, z in points]
    return marker


def _colour(rgb: tuple[float, float, float], alpha: float) -> Any:
    r, g, b = rgb
    return ColorRGBA(r=r, g=g, b=b, a=alpha)
