"""The planner's own geometry: robot, table, obstacle boxes and the held object, compiled by MuJoCo.

Nothing here knows the simulator. The robot's parts meet each other, the table and the boxes; what is held
meets the arm, the table and the boxes, but not the gripper that holds it.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from dataclasses import replace
from functools import cache

import mujoco
import numpy as np

from toolhand.tool_nodes.motion.gripper import GripperModel
from toolhand.tool_nodes.motion.robot_model import RobotModel, load_robot
from toolhand.tool_nodes.motion.robot_spec import compile_spec, load_robot_spec
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import MOST_CLOUD_POINTS, Box, CollisionScene, FloatArray

NEAR = 0.002
"""Objects closer than this are reported, with a negative penetration [m]."""

TOUCH_DEPTH = 0.003
"""How deep the held object may touch the table or a box before it counts as a collision [m]."""

_ROBOT, _HELD = 1, 2
"""MuJoCo's contact types of the robot, and of what it holds."""
_CONTACT_BYTES = 1024
"""Memory that MuJoCo needs for one contact, at most [bytes]: 5,000 balls about the hand took 731 for each of 12,209."""
_ARENA_BYTES = 16 * 2**20
"""Memory that it needs besides [bytes]: what it takes for a scene without points, rounded up."""
_WIDEST = 0.005
"""Margin [m] up to which scenes that differ in it alone share what is compiled: the usual one."""
_TABLE, _POINT, _BOXES, _POINTS = "table", "point", "boxes", "points"


def attached_opening(scene: CollisionScene, gripper: GripperModel) -> float:
    """Jaw opening [m] that the planner assumes: the scene's, else the width of what is attached, else wide open."""
    if scene.opening_m is not None:
        return scene.opening_m
    if not scene.attached:
        return gripper.max_opening
    low = min(box.T_parent_box[0, 3] - np.abs(box.T_parent_box[0, :3]) @ box.half_extents for box in scene.attached)
    high = max(box.T_parent_box[0, 3] + np.abs(box.T_parent_box[0, :3]) @ box.half_extents for box in scene.attached)
    return gripper.clipped(high - low)


def check_scene(scene: CollisionScene) -> None:
    """Raises ToolError INVALID_ARGUMENT unless every number of the scene is finite and every size positive."""
    try:
        poses, halves = _arrays((*scene.boxes, *scene.attached))
    except (TypeError, ValueError):
        poses = halves = np.empty(0)
    boxes = len(scene.boxes) + len(scene.attached)
    if poses.shape != (boxes, 4, 4) or halves.shape != (boxes, 3) or not np.isfinite([poses.sum(), halves.sum()]).all():
        raise invalid("A box needs a finite (4, 4) pose and 3 finite half extents.")
    flat = (halves <= 0).any(axis=1)
    if flat.any():
        raise invalid(f"Half extents of a box must be positive, got {halves[flat][0]} m.")
    points, radius = np.asarray(scene.points), scene.point_radius
    if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all() or not 0.0 < radius < np.inf:
        raise invalid("Points of a scene need finite positions (N, 3) and a finite radius greater than 0.")
    if len(points) > MOST_CLOUD_POINTS:
        raise invalid(f"A scene has at most {MOST_CLOUD_POINTS} points, got {len(points)}: thin the cloud.")
    if (
        not np.isfinite([scene.table_z, scene.margin, scene.yielding_m]).all()
        or min(scene.margin, scene.yielding_m) < 0
    ):
        raise invalid(
            "The scene's table height must be finite, and its margin and what it yields finite and not negative."
        )


class _Kinds:
    """The shapes of a compiled model by what they belong to: fingers, the whole hand, what is held, obstacle boxes."""

    def __init__(self, model: mujoco.MjModel, robot: RobotModel) -> None:
        boxes = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, _BOXES)
        of_fingers, of_hand = _moved_with(robot)
        self.fingers, self.hand, self.boxes = (
            frozenset(np.flatnonzero(np.isin(model.geom_bodyid, bodies)).tolist())
            for bodies in (of_fingers, of_hand, (boxes,))
        )
        self.held = frozenset(np.flatnonzero(model.geom_contype == _HELD).tolist())


class SceneModel:
    """The compiled geometry of one scene.

    Args:
        scene: Obstacles; boxes and the balls of the points are inflated by the scene's margin.
        robot: The robot.
        like: Model of an equal scene, whatever its opening, what yields and its margin, if that is no wider than the
            model's `widest`, so that it need not be compiled again.

    Attributes:
        robot: The robot.
        opening_m: Jaw opening the fingers are modelled at [m].
        margin: How much the obstacles are inflated [m].
        widest: Margin up to which another scene may be `like` it [m].
    """

    def __init__(self, scene: CollisionScene, robot: RobotModel, like: SceneModel | None = None) -> None:
        self.robot = robot
        self.margin = scene.margin
        self.widest: float = max(scene.margin, _WIDEST) if like is None else like.widest
        self.opening_m = attached_opening(scene, robot.gripper)
        self._boxes, self._points, self._table_z = scene.boxes, scene.points, scene.table_z
        model = _compile(replace(scene, margin=self.widest), robot) if like is None else like._model
        known = self.widest if like is None else like.margin
        self._model: mujoco.MjModel = model if scene.margin == known else _with_margin(model, scene)
        self._data = mujoco.MjData(self._model)
        self._arm = slice(0, robot.dof)  # the gripper hangs on the arm, so that its joints come later
        position = robot.gripper.joint_position(self.opening_m)
        for name, factor, offset in followers(robot):
            self._data.qpos[self._model.joint(name).qposadr[0]] = factor * position + offset
        tip = self._model.body(robot.tip_frame).id
        self._frame = self._data.xmat[tip], self._data.xpos[tip]
        self._tips = robot.gripper.points(self.opening_m)[3:].tolist()
        self._workspace = robot.reach.low.tolist(), robot.reach.high.tolist()
        self._yielding_m = scene.yielding_m
        self._kinds: _Kinds = _Kinds(self._model, robot) if like is None else like._kinds

    def update(self, q: FloatArray) -> int:
        """Place the arm at q (n,) and find contacts; returns how many."""
        self._data.qpos[self._arm] = q
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_collision(self._model, self._data)
        return int(self._data.ncon)

    def depths(self) -> list[tuple[tuple[int, int], float]]:
        """((geom, geom), penetration [m]) of what touches or nearly touches since the last `update`.

        Negative penetrations are distances; those beyond `NEAR` are not listed.
        """
        contact = self._data.contact
        return [
            ((first, second), -distance)
            for (first, second), distance in zip(contact.geom.tolist(), contact.dist.tolist(), strict=True)
        ]

    def tolerance(self, pair: tuple[int, int]) -> float:
        """Depth [m] that a pair of geoms may always have."""
        if self._kinds.held.intersection(pair):
            return TOUCH_DEPTH
        yields = self._yielding_m and self._kinds.fingers.intersection(pair) and self._kinds.boxes.intersection(pair)
        return self._yielding_m if yields else 0.0

    def in_the_way_of_the_hand(self, pair: tuple[int, int]) -> bool:
        """True where the hand meets an obstacle: however else the arm bends, it meets it there."""
        return bool(self._kinds.hand.intersection(pair)) and bool(self._kinds.boxes.intersection(pair))

    def robot_meets_box(self, pair: tuple[int, int]) -> bool:
        """True where a part of the robot, not what it holds, meets an obstacle."""
        return bool(self._kinds.boxes.intersection(pair)) and not self._kinds.held.intersection(pair)

    def tips(self) -> list[tuple[float, float, float]]:
        """The two fingertips in the base frame after the last `update` [m]."""
        # In plain numbers: for two points that takes an eighth of numpy's time, and every check of a path asks it.
        R, p = self._frame
        xx, xy, xz, yx, yy, yz, zx, zy, zz = R.tolist()
        px, py, pz = p.tolist()
        return [
            (xx * a + xy * b + xz * c + px, yx * a + yy * b + yz * c + py, zx * a + zy * b + zz * c + pz)
            for a, b, c in self._tips
        ]

    def tip_excess(self) -> float:
        """How far the outermost fingertip is out of the workspace after the last `update` [m]; negative within it."""
        (low_x, low_y, low_z), (high_x, high_y, high_z) = self._workspace
        return max(max(low_x - x, x - high_x, low_y - y, y - high_y, low_z - z, z - high_z) for x, y, z in self.tips())

    def describe(self, pair: tuple[int, int]) -> str:
        """The two objects that touch, in words."""
        names = sorted(
            (self._model.geom(geom).name for geom in pair), key=lambda n: n.startswith(("box", _POINT, _TABLE))
        )
        return f"{self._spoken(names[0])} with {self._spoken(names[1])}"

    def _spoken(self, name: str) -> str:
        """A geom in words. Of an obstacle the planner knows where it is and how high, not what it is."""
        if name == _TABLE:
            return "the table"
        kind, _, index = name.rpartition("_")
        if kind == "box":
            box = self._boxes[int(index)]
            x, y, _ = box.T_parent_box[:3, 3]
            return f"the obstacle near x={x:.2f} m, y={y:.2f} m ({self._height(box):.2f} m high)"
        if kind == "held":
            return "the held object"
        if kind == _POINT:
            x, y, z = self._points[int(index)]
            return f"a point of the cloud near x={x:.2f} m, y={y:.2f} m, z={z:.2f} m"
        return f"the robot's {name.removeprefix(self.robot.gripper.name_prefix)}"

    def _height(self, box: Box) -> float:
        """Height of a box's top above the table [m]."""
        up = np.abs(box.T_parent_box[2, :3]) @ np.asarray(box.half_extents, float)
        return float(box.T_parent_box[2, 3] + up - self._table_z)


class SceneModels:
    """The models of the last few scenes; equal scenes share one. A tuple of boxes is not changed once it was asked for.

    Args:
        capacity: How many to keep.
        robot: The robot; the default one where None.
    """

    def __init__(self, capacity: int = 12, robot: RobotModel | None = None) -> None:
        self.robot = robot or load_robot()
        self._capacity = capacity
        self._models: OrderedDict[tuple[bytes, float, float, float], SceneModel] = OrderedDict()
        self._boxes: OrderedDict[int, tuple[tuple[Box, ...], bytes]] = OrderedDict()

    def of(self, scene: CollisionScene) -> SceneModel:
        """The model of a scene, compiled if none of the last few was equal.

        Raises:
            ToolError: INVALID_ARGUMENT if a number of the scene is not finite or a size not positive.
        """
        content, opening = self._content(scene), attached_opening(scene, self.robot.gripper)
        key = content, scene.margin, opening, scene.yielding_m
        if key not in self._models:
            equal = [model for (other, *_), model in self._models.items() if other == content]
            fit = [model for model in equal if model.widest >= scene.margin]
            like = min(fit, key=lambda model: abs(model.margin - scene.margin), default=None)
            self._models[key] = SceneModel(scene, self.robot, like)
            while len(self._models) > self._capacity:
                self._models.popitem(last=False)
        self._models.move_to_end(key)
        return self._models[key]

    def _content(self, scene: CollisionScene) -> bytes:
        """What the compiled model depends on: all but the margin, the opening of the jaws, and what yields to them.

        Scenes of one image share a tuple of some hundred boxes, which is read once. Raises ToolError as `of`.
        """
        known = self._boxes.get(id(scene.boxes))
        if known is None or known[0] is not scene.boxes:
            check_scene(scene)
            known = scene.boxes, b"".join(each.tobytes() for each in _arrays(scene.boxes))
            self._boxes[id(scene.boxes)] = known
            while len(self._boxes) > self._capacity:
                self._boxes.popitem(last=False)
        else:
            check_scene(replace(scene, boxes=()))
        counts = [len(scene.boxes), len(scene.attached), scene.table_z, scene.point_radius]
        rest = np.array(counts, float), *_arrays(scene.attached), np.asarray(scene.points, float)
        return known[1] + b"".join(each.tobytes() for each in rest)


def _arrays(boxes: tuple[Box, ...]) -> tuple[FloatArray, FloatArray]:
    """Poses (N, 4, 4) and half extents (N, 3) [m] of boxes."""
    if not boxes:
        return np.empty((0, 4, 4)), np.empty((0, 3))
    return np.array([box.T_parent_box for box in boxes], float), np.array([box.half_extents for box in boxes], float)


@cache
def followers(robot: RobotModel) -> tuple[tuple[str, float, float], ...]:
    """(joint, factor, offset) of the gripper's joints: where each is relative to the driven one, itself included."""
    followers = [(robot.gripper.joint, 1.0, 0.0)]
    for equality in load_robot_spec(robot).equalities:
        offset, factor = (float(number) for number in equality.data[:2])
        followers.append((equality.name1, factor, offset))
    return tuple(followers)


@cache
def _moved_with(robot: RobotModel) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Bodies of the fingers, and of the hand: what the jaws move, and what is fixed to the arm's last link."""
    model = compile_spec(_bare_robot(robot).copy(), robot)
    jaws = [int(model.joint(name).bodyid[0]) for name, _, _ in followers(robot)]
    last = int(model.joint(robot.arm_joints[-1]).bodyid[0])
    return _below(model, jaws), _below(model, [last])


def _below(model: mujoco.MjModel, bodies: list[int]) -> tuple[int, ...]:
    """The bodies, and all that hangs on them."""
    found = set(bodies)
    for body in range(1, model.nbody):  # parents come first
        if model.body_parentid[body] in found:
            found.add(body)
    return tuple(sorted(found))


def _add_boxes(body: mujoco.MjsBody, name: str, boxes: tuple[Box, ...], inflate: float) -> list[mujoco.MjsGeom]:
    poses, halves = _arrays(boxes)
    quats = np.tile([1.0, 0.0, 0.0, 0.0], (len(boxes), 1))
    # Most boxes stand along the axes.
    for index in np.flatnonzero((np.einsum("nii->ni", poses[:, :3, :3]) != 1.0).any(axis=1)):
        mujoco.mju_mat2Quat(quats[index], poses[index, :3, :3].ravel())
    return [
        body.add_geom(name=f"{name}_{index}", type=mujoco.mjtGeom.mjGEOM_BOX, size=size, pos=pos, quat=quat)
        for index, (size, pos, quat) in enumerate(zip(halves + inflate, poses[:, :3, 3], quats, strict=True))
    ]


@cache
def _bare_robot(robot: RobotModel) -> mujoco.MjSpec:
    """The robot without visuals and drives, to be copied."""
    spec = load_robot_spec(robot)
    for items in (spec.actuators, spec.equalities, spec.tendons):
        for item in list(items):
            spec.delete(item)
    for geom in list(spec.geoms):
        if geom.contype == 0:
            spec.delete(geom)
        else:
            # The gripper's parts keep their zero affinity: they meet neither each other nor what they hold.
            geom.contype = _ROBOT
            geom.conaffinity = _ROBOT | _HELD if geom.conaffinity else 0
            geom.margin = NEAR
    return spec


def _compile(scene: CollisionScene, robot: RobotModel) -> mujoco.MjModel:
    """Robot, the table as a half-space, boxes and balls inflated by the margin, held boxes on the gripper."""
    spec = _bare_robot(robot).copy()
    plane = spec.worldbody.add_geom(
        name=_TABLE, type=mujoco.mjtGeom.mjGEOM_PLANE, size=[2, 2, 0.1], pos=[0, 0, scene.table_z]
    )
    obstacles = [plane]
    boxes = spec.worldbody.add_body(name=_BOXES)  # one body, so that MuJoCo looks for near boxes in one tree
    obstacles += _add_boxes(boxes, "box", scene.boxes, scene.margin)
    if len(scene.points):
        # A ball has one contact with each part: where all balls touch all parts, no contact may be left out.
        spec.memory = _ARENA_BYTES + _CONTACT_BYTES * len(scene.points) * (len(spec.geoms) + len(scene.attached))
        cloud = spec.worldbody.add_body(name=_POINTS)  # one body, as for the boxes
        for index, point in enumerate(scene.points):
            obstacles.append(
                cloud.add_geom(
                    name=f"{_POINT}_{index}",
                    type=mujoco.mjtGeom.mjGEOM_SPHERE,
                    size=[scene.point_radius + scene.margin, 0, 0],
                    pos=point,
                )
            )
    for geom in obstacles:
        geom.contype, geom.conaffinity = 0, _ROBOT | _HELD
    for held in _add_boxes(spec.body(robot.tip_frame), "held", scene.attached, 0.0):
        held.contype, held.conaffinity, held.mass, held.margin = _HELD, 0, 0.0, NEAR
    return compile_spec(spec, robot)


def _with_margin(compiled: mujoco.MjModel, scene: CollisionScene) -> mujoco.MjModel:
    """A compiled model with a scene's margin, which is no wider than its own: bounds in its trees stay as they are.

    Copying takes a fifteenth of the time of compiling. Wider bounds let more pairs be looked at, and no more touch.
    """
    _, halves = _arrays(scene.boxes)
    boxes, points = (_geoms_of(compiled, name) for name in (_BOXES, _POINTS))
    model = copy.copy(compiled)
    model.geom_size[boxes] = halves + scene.margin
    model.geom_size[points, 0] = scene.point_radius + scene.margin
    return model


def _geoms_of(model: mujoco.MjModel, name: str) -> slice:
    """Geoms of a body, none where there is no body of that name."""
    body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name)
    first = int(model.body_geomadr[body]) if body >= 0 else 0
    return slice(first, first + int(model.body_geomnum[body]) if body >= 0 else 0)
