"""Markers of a plan: standard ones, in the base frame, and no more of them than a viewer needs."""

from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from visualization_msgs.msg import Marker

from tests.guarded import KINEMATICS, OVER_TABLE, turned
from toolhand.console.ros_watch import marks_of
from toolhand.tool_nodes.geometry import pose, transform
from toolhand.tool_nodes.motion.placing import PlaceCandidate
from toolhand.tool_nodes.motion.plans import GraspPlan, PlacePlan
from toolhand.tool_nodes.ros.motion_markers import MOST_POINTS, plan_markers
from toolhand.tool_nodes.types import Box, CollisionScene, Frame

FRAME = Frame(np.zeros((4, 4, 3), np.uint8), np.ones((4, 4), np.float32), np.eye(3), np.eye(4), 1.0)
BOX = Box(pose(np.eye(3), (0.4, 0.1, 0.05)), np.array([0.02, 0.03, 0.05]))
LEGS = (turned(0.2), turned(0.3))
T_GRASP = KINEMATICS.fk(OVER_TABLE)


def markers(plan: GraspPlan | PlacePlan) -> dict[str, Any]:
    """The markers by namespace; the first takes away what was there."""
    found = plan_markers(plan, KINEMATICS, "base_link", Time(sec=3)).markers
    assert found[0].action == Marker.DELETEALL
    assert [marker.id for marker in found] == list(range(len(found)))
    assert all(marker.header.frame_id == "base_link" and marker.header.stamp.sec == 3 for marker in found)
    assert all(marker.action == Marker.ADD and marker.color.a > 0.0 for marker in found[1:])
    return {marker.ns: marker for marker in found[1:]}


def numbers(points: Any) -> np.ndarray:
    return np.array([(point.x, point.y, point.z) for point in points])


def test_a_grasp_shows_its_object_the_hand_the_way_and_what_it_avoids() -> None:
    item = np.random.default_rng(0).random((5000, 3), np.float32)
    scene = CollisionScene((BOX,), points=np.ones((10_000, 3)))
    found = markers(GraspPlan(LEGS, T_GRASP, scene, item, FRAME, 0.05))
    assert set(found) == {"obstacles", "obstacle_points", "target", "gripper", "path"}
    box = found["obstacles"]
    assert box.type == Marker.CUBE
    assert (box.scale.x, box.scale.y, box.scale.z) == (0.04, 0.06, 0.1)
    assert (box.pose.position.x, box.pose.position.y, box.pose.position.z) == (0.4, 0.1, 0.05)
    assert all(MOST_POINTS / 2 < len(found[name].points) <= MOST_POINTS for name in ("target", "obstacle_points"))
    hand = KINEMATICS.robot.gripper.points(0.05)
    tips = numbers(found["gripper"].points)[[5, 7]]
    np.testing.assert_allclose(tips, transform(T_GRASP, hand[3:]), atol=1e-9)
    way = numbers(found["path"].points)
    for k, q in ((0, LEGS[0].q[0]), (-1, LEGS[1].q[-1])):
        np.testing.assert_allclose(way[k], transform(KINEMATICS.fk(q), hand[3:].mean(axis=0)), atol=1e-9)


def test_a_placement_shows_where_the_object_will_stand() -> None:
    held = Box(pose(np.eye(3), (0.0, 0.0, 0.0)), np.array([0.03, 0.02, 0.08]))
    candidate = PlaceCandidate(T_GRASP, np.array([0.5, -0.1, 0.0]))
    found = markers(PlacePlan(LEGS, candidate, CollisionScene(attached=(held,)), False, 0.06, FRAME))
    assert set(found) == {"place", "gripper", "path"}
    area = found["place"]
    assert area.type == Marker.CYLINDER
    assert (area.scale.x, area.scale.y) == (0.06, 0.06)
    assert (area.pose.position.x, area.pose.position.y) == (0.5, -0.1)


def test_the_console_reads_them_and_leaves_out_what_is_no_number() -> None:
    scene = CollisionScene((BOX,))
    message = plan_markers(GraspPlan(LEGS, T_GRASP, scene, np.ones((7, 3)), FRAME, 0.05), KINEMATICS, "b", Time())
    marks = {mark.name: mark for mark in marks_of(message)}
    assert set(marks) == {"obstacles", "target", "gripper", "path"}
    assert marks["obstacles"].segments.shape == (12, 2, 3)
    np.testing.assert_allclose(marks["obstacles"].segments.reshape(-1, 3).max(axis=0), (0.42, 0.13, 0.1))
    assert marks["target"].points.shape == (7, 3)
    assert marks["gripper"].segments.shape == (4, 2, 3)
    way = marks["path"].segments
    np.testing.assert_array_equal(way[:-1, 1], way[1:, 0])
    message.markers[1].scale.x = float("nan")
    message.markers[2].points[0].x = float("inf")
    message.markers[3].pose.orientation.w = 0.0
    assert {mark.name for mark in marks_of(message)} == {"path"}
