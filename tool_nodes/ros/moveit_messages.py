"""Questions to MoveIt's move_group, and its answers, as messages.

Poses are frames of the robot's base; quaternions are turned into messages and back by
`toolhand.tool_nodes.ros.messages` alone, which names their parts. A message that cannot be read raises `BadMessage`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion
from moveit_msgs.msg import (
    AttachedCollisionObject,
    CollisionObject,
    Constraints,
    JointConstraint,
    MoveItErrorCodes,
    OrientationConstraint,
    PlanningScene,
    PositionConstraint,
    RobotState,
)
from scipy.interpolate import CubicSpline
from sensor_msgs.msg import JointState
from shape_msgs.msg import SolidPrimitive
from std_msgs.msg import Header

from toolhand.tool_nodes.camera_checks import BadMessage
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.motion.timing import SAMPLE_PERIOD, resampled
from toolhand.tool_nodes.results import ErrorCode, ToolError, unavailable
from toolhand.tool_nodes.ros.messages import matrix_to_pose
from toolhand.tool_nodes.types import Box, CollisionScene, FloatArray, Trajectory

TABLE, BOXES, POINTS, HELD = "toolhand_table", "toolhand_boxes", "toolhand_points", "toolhand_held"
WALLS, TIPS = "toolhand_walls", "toolhand_tips"
"""Names of what is put into MoveIt's planning scene; everything else in it is left alone."""

OURS = frozenset({TABLE, BOXES, POINTS, HELD, WALLS, TIPS})

MOST_POINTS = 20_000
"""Points of an answer that are read, at most, and samples that are made of them: 200 s at 100 Hz. MoveIt's own have one
each 0.1 s."""

ROUNDING = 1e-9
"""Joint positions that differ by less [rad] are those of one state, turned by whole turns and back."""

SPEED_SHARE, ACCELERATION_SHARE = 0.94, 0.64
"""Shares of the limits that MoveIt is asked for [-]. Its samples are 0.1 s apart, and the cubics between them, which
the controller follows, need more than the path that it timed: up to 1.5 times the acceleration, where that changes its
sign in the middle of an interval, and a speed that is greater by an eighth of acceleration times interval, which is
0.07 of a Gen3's 1.2 rad/s."""

_TABLE_SIZE = (4.0, 4.0, 0.1)
"""Size of the slab that stands for the table [m]: larger than any arm's reach."""
_TABLE_GAP = 0.002
"""The slab lies so much lower than the table [m], or the robot's base, which stands on it, would touch it always. The
own check knows the table exactly."""
_WALL_GAP, _TIP_RADIUS = 0.001, 0.0005
"""Walls about the workspace stand so far outside [m], and the ends of the fingers are balls of this radius [m]."""

_CODES = {value: name for name, value in vars(MoveItErrorCodes).items() if name.isupper() and isinstance(value, int)}

_NO_PATH = frozenset(
    {
        "FAILURE",
        "PLANNING_FAILED",
        "INVALID_MOTION_PLAN",
        "MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE",
        "TIMED_OUT",
        "PREEMPTED",
        "ABORT",
        "START_STATE_IN_COLLISION",
        "START_STATE_VIOLATES_PATH_CONSTRAINTS",
        "START_STATE_INVALID",
        "GOAL_IN_COLLISION",
        "GOAL_VIOLATES_PATH_CONSTRAINTS",
        "GOAL_CONSTRAINTS_VIOLATED",
        "GOAL_STATE_INVALID",
    }
)
"""Codes of MoveIt that mean that there is no path to this goal from this start. All others but NO_IK_SOLUTION say that
move_group is set up for something else, or is broken: nothing that another goal would mend."""

_HINTS = {
    "INVALID_GROUP_NAME": "Set the parameter moveit_group of the node motion to a group of move_group's SRDF.",
    "INVALID_LINK_NAME": "move_group must have the same robot description.",
    "INVALID_ROBOT_STATE": "move_group must have the same robot description.",
    "FRAME_TRANSFORM_FAILURE": "robot_state_publisher must run, and know the frame of the parameter base_frame.",
    "ROBOT_STATE_STALE": "move_group must hear the joint states.",
}
_LONGEST = 200
"""Characters of MoveIt's own words that a message repeats."""


# -- questions ---------------------------------------------------------------------------------------


def robot_state(names: Sequence[str], positions: Iterable[float]) -> RobotState:
    """The measured state with some joints elsewhere [rad]; what is attached to the robot stays attached."""
    state = RobotState(is_diff=True)
    state.joint_state = JointState(name=list(names), position=[float(value) for value in positions])
    return state


def pose_constraints(T: FloatArray, frame: str, link: str, position: float, rotation: float) -> Constraints:
    """A goal for a link: its pose (4, 4) in a frame, within a ball [m] and an angle [rad]."""
    header = Header(frame_id=frame)
    target = matrix_to_pose(T)
    ball = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[float(position)])
    place = PositionConstraint(header=header, link_name=link, weight=1.0)
    place.constraint_region.primitives = [ball]
    place.constraint_region.primitive_poses = [Pose(position=target.position, orientation=Quaternion(w=1.0))]
    turn = OrientationConstraint(header=header, link_name=link, orientation=target.orientation, weight=1.0)
    # MoveIt allows so much about each of three axes at once, and makes use of it.
    each = float(rotation) / np.sqrt(3.0)
    turn.absolute_x_axis_tolerance = turn.absolute_y_axis_tolerance = turn.absolute_z_axis_tolerance = each
    turn.parameterization = OrientationConstraint.ROTATION_VECTOR
    return Constraints(position_constraints=[place], orientation_constraints=[turn])


def joint_constraints(names: Sequence[str], q: FloatArray, tolerance: float) -> Constraints:
    """A goal in joint positions (n,) [rad], each within a tolerance [rad]."""
    joints = [
        JointConstraint(
            joint_name=name, position=float(at), tolerance_above=tolerance, tolerance_below=tolerance, weight=1.0
        )
        for name, at in zip(names, q, strict=True)
    ]
    return Constraints(joint_constraints=joints)


def stamped(T: FloatArray, frame: str) -> PoseStamped:
    """The pose (4, 4) in a frame."""
    return PoseStamped(header=Header(frame_id=frame), pose=matrix_to_pose(T))


def scene_change(
    scene: CollisionScene, frame: str, tip_frame: str, hand_links: Sequence[str], there: frozenset[str]
) -> PlanningScene:
    """What makes MoveIt's planning scene one with these obstacles and this held object; all else in it stays.

    Args:
        scene: Obstacles in `frame`, grown by the scene's margin; what is held in `tip_frame`.
        frame: The robot's base.
        tip_frame: Link that the held object is fixed to.
        hand_links: Links that it may touch.
        there: Names of `OURS` that are in MoveIt's scene now.
    """
    header = Header(frame_id=frame)
    slab = Box(np.eye(4), np.array(_TABLE_SIZE) / 2.0)
    slab.T_parent_box[2, 3] = scene.table_z - _TABLE_GAP - _TABLE_SIZE[2] / 2.0
    objects = [_object(TABLE, header, *_boxes((slab,), 0.0))]
    if scene.boxes:
        objects.append(_object(BOXES, header, *_boxes(scene.boxes, scene.margin)))
    if len(scene.points):
        objects.append(_object(POINTS, header, *_balls(scene)))
    change = PlanningScene(is_diff=True)
    change.robot_state.is_diff = True
    if scene.attached:
        held = _object(HELD, Header(frame_id=tip_frame), *_boxes(scene.attached, 0.0))
        change.robot_state.attached_collision_objects = [
            AttachedCollisionObject(link_name=tip_frame, object=held, touch_links=list(hand_links))
        ]
    elif HELD in there:
        # MoveIt lets go of it where it is: among the obstacles, from which it is then removed, in this order.
        change.robot_state.attached_collision_objects = [
            AttachedCollisionObject(link_name=tip_frame, object=_removal(HELD, tip_frame))
        ]
        objects.append(_removal(HELD, frame))
    gone = there - {each.id for each in objects} - {HELD, WALLS, TIPS}
    objects += [_removal(name, frame) for name in sorted(gone)]
    change.world.collision_objects = objects
    return change


def workspace(
    robot: RobotModel, frame: str, low: FloatArray, high: FloatArray, opening_m: float
) -> list[AttachedCollisionObject]:
    """What keeps the ends of the fingers inside a box: walls, and two balls that alone can touch them.

    Both are attached to the robot, which names for each object what it may touch.

    Args:
        robot: The robot.
        frame: The robot's base, a link.
        low: (3,) corner of the box, in `frame` [m].
        high: (3,) the opposite one.
        opening_m: Opening of the jaws [m].
    """
    thick = _TABLE_SIZE[2]
    slabs = []
    for axis in range(3):
        for side, corner in ((-1.0, low), (1.0, high)):
            half = (high - low) / 2.0 + thick
            half[axis] = thick / 2.0
            slab = Box(np.eye(4), half)
            slab.T_parent_box[:3, 3] = (low + high) / 2.0
            slab.T_parent_box[axis, 3] = corner[axis] + side * (thick / 2.0 + _WALL_GAP)
            slabs.append(slab)
    ends = CollisionScene(points=robot.gripper.tips(opening_m), point_radius=_TIP_RADIUS, margin=0.0)
    walls = _object(WALLS, Header(frame_id=frame), *_boxes(slabs, 0.0))
    tips = _object(TIPS, Header(frame_id=robot.tip_frame), *_balls(ends))
    links = sorted(robot.urdf.links)
    return [
        AttachedCollisionObject(link_name=frame, object=walls, touch_links=[*links, HELD]),
        AttachedCollisionObject(link_name=robot.tip_frame, object=tips, touch_links=links),
    ]


def _object(name: str, header: Header, shapes: list[SolidPrimitive], poses: list[Pose]) -> CollisionObject:
    one = CollisionObject(header=header, id=name, operation=CollisionObject.ADD)
    one.pose = Pose(orientation=Quaternion(w=1.0))
    one.primitives, one.primitive_poses = shapes, poses
    return one


def _removal(name: str, frame: str) -> CollisionObject:
    return CollisionObject(header=Header(frame_id=frame), id=name, operation=CollisionObject.REMOVE)


def _boxes(boxes: Iterable[Box], margin: float) -> tuple[list[SolidPrimitive], list[Pose]]:
    shapes, poses = [], []
    for box in boxes:
        size = [2.0 * (float(half) + margin) for half in box.half_extents]
        shapes.append(SolidPrimitive(type=SolidPrimitive.BOX, dimensions=size))
        poses.append(matrix_to_pose(box.T_parent_box))
    return shapes, poses


def _balls(scene: CollisionScene) -> tuple[list[SolidPrimitive], list[Pose]]:
    ball = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[float(scene.point_radius + scene.margin)])
    places = [Point(x=x, y=y, z=z) for x, y, z in np.asarray(scene.points, float).tolist()]
    return [ball] * len(places), [Pose(position=place, orientation=Quaternion(w=1.0)) for place in places]


# -- answers -----------------------------------------------------------------------------------------


def refusal(code: MoveItErrorCodes, what: str) -> ToolError | None:
    """What an error code means, or None where it says success.

    Args:
        code: The code, and where there are any MoveIt's own words.
        what: Beginning of the sentence, e.g. "MoveIt found no path".

    Returns:
        IK_FAILED; PLAN_FAILED where this goal from this start has no path; UNAVAILABLE for all that no goal would mend.
    """
    if code.val == MoveItErrorCodes.SUCCESS:
        return None
    name = _CODES.get(code.val, f"code {code.val}")
    words = "".join(c if c.isprintable() else " " for c in f"{code.source}: {code.message}" if code.message)
    said = f" ({' '.join(words.split()).removeprefix(': ')[:_LONGEST].rstrip('.')})" if words.strip() else ""
    sentence = f"{what}: {name}{said}."
    if name == "NO_IK_SOLUTION":
        return ToolError(ErrorCode.IK_FAILED, sentence, "Try another orientation or a nearer pose.")
    if name in _NO_PATH:
        return ToolError(ErrorCode.PLAN_FAILED, sentence, "Try another pose, or move objects out of the way first.")
    return ToolError(ErrorCode.UNAVAILABLE, sentence, _HINTS.get(name, "Look at the log of move_group."))


def joint_positions(state: RobotState, names: Sequence[str]) -> FloatArray:
    """Positions (n,) of some joints in a state [rad]. Raises BadMessage where one is missing or no number."""
    positions = dict(zip(state.joint_state.name, state.joint_state.position, strict=False))
    if missing := [name for name in names if name not in positions]:
        raise BadMessage(f"the state lacks the joint {missing[0]}")
    q = np.array([positions[name] for name in names], float)
    if not np.isfinite(q).all():
        raise BadMessage("the state holds NaN or infinite numbers")
    return q


def read_points(message: Any, names: tuple[str, ...], most: int) -> tuple[FloatArray, FloatArray]:
    """Times (N,) [s] and positions (N, n) [rad] of a JointTrajectory, its joints in the order of `names`.

    Args:
        message: The message.
        names: Names of the robot's joints.
        most: Points that are read at most.

    Raises:
        BadMessage: Why it is no trajectory of these joints, to be put after "MoveIt's answer cannot be used: ".
    """
    points, theirs = message.points, tuple(message.joint_names)
    if not points:
        raise BadMessage("it has no points")
    if len(points) > most:
        raise BadMessage(f"it has {len(points):,} points, where {most:,} are the most")
    if set(theirs) != set(names) or len(theirs) != len(names):
        raise BadMessage(f"it is for the joints {', '.join(theirs)[:_LONGEST] or 'of no name'}")
    if any(len(point.positions) != len(names) for point in points):
        raise BadMessage(f"its points do not have {len(names)} positions each")
    order = [theirs.index(name) for name in names]
    t = np.array([point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec for point in points])
    q = np.array([point.positions for point in points], float)[:, order]
    if not np.isfinite(q).all():
        raise BadMessage("it holds NaN or infinite numbers")
    if t[0] != 0.0 or not (np.diff(t) > 0.0).all():
        raise BadMessage(
            "its times do not increase from 0; move_group needs a response adapter that times paths, "
            "such as AddTimeOptimalParameterization"
        )
    if len(t) == 1:  # where the arm is at the goal already
        t, q = np.array([0.0, SAMPLE_PERIOD]), np.repeat(q, 2, axis=0)
    return t, q


def followed(message: Any, start: FloatArray, robot: RobotModel) -> Trajectory:
    """The trajectory of an answer, at the whole turns of the start, in samples that can be followed as they are.

    Args:
        message: A RobotTrajectory.
        start: (n,) where the motion starts [rad].
        robot: Robot whose joints it moves.

    Raises:
        ToolError: UNAVAILABLE where it is no trajectory of this robot.
    """
    try:
        t, q = read_points(message.joint_trajectory, robot.arm_joints, MOST_POINTS)
        # Of a joint without stops MoveIt says where it points, at any turn; between two points it is the near way.
        q[0] = robot.nearest_turn(q[0], start)
        for k in range(1, len(q)):
            q[k] = robot.nearest_turn(q[k], q[k - 1])
        if float(abs(q[0] - start).max()) < ROUNDING:
            q[0] = start
        # MoveIt's velocities are those of up to 1 ms later, that of the first sample, too: no cubics fit them.
        qd = CubicSpline(t, q, bc_type="clamped")(t, 1)
        qd[[0, -1]] = 0.0
        timed = resampled(Trajectory(robot.arm_joints, t, q, qd), MOST_POINTS)
        if timed is None:
            raise BadMessage(f"it takes {t[-1]:.0f} s, more than {MOST_POINTS * SAMPLE_PERIOD:.0f} s")
    except BadMessage as bad:
        raise unusable(bad) from bad
    return timed


def unusable(bad: BadMessage) -> ToolError:
    """UNAVAILABLE for an answer that cannot be read."""
    return unavailable(f"MoveIt's answer cannot be used: {bad}.", "Look whether MoveIt is set up for this robot.")


def hand_links(robot: RobotModel) -> list[str]:
    """Links that what is held may touch: the gripper's, in alphabetical order."""
    base, urdf = robot.gripper.base_link, robot.urdf
    return [link for link in sorted(urdf.links) if base in (link, *(urdf.child(joint) for joint in urdf.chain(link)))]
