"""Worlds of boxes, and two free postures of the arm between which a path is asked for.

Five kinds, drawn from a seed: a table with a few low boxes, clutter of tall ones, a shelf of four compartments, two
bins, and slots between upright slabs into which the hand just fits. In the last three both postures reach in, and the
hand can be drawn straight out from each; whether the two ways out meet is not looked at.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from toolhand.tool_nodes.geometry import pose, rotation_z, transform
from toolhand.tool_nodes.motion.collision import Checker
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.planner import EmbeddedPlanner
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.motion.scene_model import SceneModel
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.types import Box, CollisionScene, FloatArray, LinearGoal

_DOWN = np.diag([1.0, -1.0, -1.0])
"""Orientation of a hand that points down, its fingers closing along x."""
_AHEAD = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
"""Orientation of a hand that points along x, its fingers closing along y."""
_POSES = 200
"""Poses that are drawn for one posture before the boxes are drawn anew."""
_POSTURES = 6
"""Random postures that inverse kinematics begins from at each pose."""
_ITERATIONS = 60
"""Iterations of inverse kinematics from each."""
_DRAWS = 50
"""Times that the boxes of a problem are drawn, at most."""


@dataclass(frozen=True)
class Problem:
    """A path is asked for.

    Attributes:
        world: Its kind.
        scene: Obstacles.
        start: (n,) free joint positions [rad].
        goal: (n,) free joint positions [rad].
    """

    world: str
    scene: CollisionScene
    start: FloatArray
    goal: FloatArray


@dataclass(frozen=True)
class Place:
    """Where the hand can be: a sampler of poses (4, 4) of the tip frame, and how far it is drawn out along -Z [m]."""

    draw: Callable[[np.random.Generator], FloatArray]
    way_out: float = 0.0


Furnished = tuple[list[Box], list[Place]]
"""Boxes, and where the hand is at the start and at the goal."""


def _box(low: tuple[float, float, float], high: tuple[float, float, float]) -> Box:
    """The box from one corner to the other [m]."""
    a, b = np.array(low), np.array(high)
    return Box(pose(np.eye(3), (a + b) / 2), (b - a) / 2)


def _standing(at: FloatArray, half: FloatArray, yaw: float) -> Box:
    """A box on the table."""
    return Box(pose(rotation_z(yaw), [at[0], at[1], half[2]]), half)


def _over_the_table(low: float, high: float, depth: float) -> Place:
    """A hand that points down anywhere in reach, its fingertips between two heights [m]."""

    def draw(rng: np.random.Generator) -> FloatArray:
        radius, azimuth = rng.uniform(0.3, 0.66), rng.uniform(-0.7, 0.7)
        at = [radius * np.cos(azimuth), radius * np.sin(azimuth), rng.uniform(low, high) + depth]
        return pose(rotation_z(rng.uniform(-np.pi, np.pi)) @ _DOWN, at)

    return Place(draw)


def _boxes(rng: np.random.Generator, count: int, least: float, most: float) -> list[Box]:
    """Boxes on the table of heights between two [m]."""
    boxes = []
    for _ in range(count):
        at = rng.uniform([0.25, -0.45], [0.7, 0.45])
        half = np.array([*rng.uniform(0.02, 0.04, 2), rng.uniform(least, most) / 2])
        boxes.append(_standing(at, half, rng.uniform(-np.pi, np.pi)))
    return boxes


def table(rng: np.random.Generator, depth: float) -> Furnished:
    """Five boxes of 4 to 20 cm; the fingertips start and end 1 to 15 cm above the table."""
    return _boxes(rng, 5, 0.04, 0.20), [_over_the_table(0.01, 0.15, depth)] * 2


def clutter(rng: np.random.Generator, depth: float) -> Furnished:
    """Eighteen boxes of 15 to 35 cm; the fingertips start and end 5 to 30 cm above the table."""
    return _boxes(rng, 18, 0.15, 0.35), [_over_the_table(0.05, 0.30, depth)] * 2


def shelf(rng: np.random.Generator, depth: float) -> Furnished:
    """Two by two compartments 22 to 26 cm high and 26 to 30 cm wide; from one, hand forward, into another."""
    front, deep, board = rng.uniform(0.48, 0.56), 0.28, 0.02
    height, width = rng.uniform(0.22, 0.26), rng.uniform(0.26, 0.30)
    back, side, bottom = front + deep, width + 1.5 * board, rng.uniform(0.02, 0.10)
    floors = [bottom + row * (height + board) for row in range(3)]
    boxes = [_box((front, -side, z - board), (back, side, z)) for z in floors]
    top = floors[-1]
    for y in (-side, -board / 2, side - board):
        boxes.append(_box((front, y, bottom), (back, y + board, top)))
    boxes.append(_box((back, -side, bottom - board), (back + board, side, top)))

    def compartment(row: int, column: int) -> Place:
        def draw(rng: np.random.Generator) -> FloatArray:
            inside = rng.uniform(0.08, 0.18)
            y = (column - 0.5) * (width + board) + rng.uniform(-0.05, 0.05)
            z = floors[row] + height / 2 + rng.uniform(-0.03, 0.03)
            turn = rotation_z(rng.uniform(-0.3, 0.3)) @ _AHEAD @ rotation_z(rng.integers(2) * np.pi / 2)
            return pose(turn, [front + inside - depth, y, z])

        return Place(draw, 0.20)

    cells = list(product(range(2), range(2)))
    first, second = rng.choice(len(cells), 2, replace=False)
    return boxes, [compartment(*cells[first]), compartment(*cells[second])]


def bins(rng: np.random.Generator, depth: float) -> Furnished:
    """Two bins 24 to 30 cm wide with walls of 20 to 30 cm; from the floor of one to the floor of the other."""
    wall = 0.01
    boxes, places = [], []
    for side in (-1, 1):
        half, height = rng.uniform(0.12, 0.15), rng.uniform(0.20, 0.30)
        x, y, yaw = rng.uniform(0.38, 0.52), side * rng.uniform(0.19, 0.25), rng.uniform(-0.3, 0.3)
        T = pose(rotation_z(yaw), [x, y, height / 2])
        for axis, sign in product(range(2), (-1, 1)):
            offset, size = np.zeros(3), np.array([half + wall, half + wall, height / 2])
            offset[axis], size[axis] = sign * (half + wall / 2), wall / 2
            boxes.append(Box(T @ pose(np.eye(3), offset), size))

        def draw(
            rng: np.random.Generator, T: FloatArray = T, free: float = half - 0.09, floor: float = -height / 2
        ) -> FloatArray:
            at = transform(T, np.array([*rng.uniform(-free, free, 2), floor + rng.uniform(0.01, 0.05)]))
            return pose(rotation_z(rng.uniform(-np.pi, np.pi)) @ _DOWN, at + np.array([0.0, 0.0, depth]))

        places.append(Place(draw, height))
    return boxes, places if rng.integers(2) else places[::-1]


def gap(rng: np.random.Generator, depth: float) -> Furnished:
    """Three slabs 18 to 24 cm high, 8 to 9.5 cm apart, and a hand of 7.6 cm; from one slot into the other."""
    x, deep, thick = rng.uniform(0.42, 0.50), 0.20, 0.06
    widths = rng.uniform(0.080, 0.095, 2)
    height = rng.uniform(0.18, 0.24)
    first = -(3 * thick + widths.sum()) / 2
    starts = [first, first + thick + widths[0], first + 2 * thick + widths.sum()]
    boxes = [_box((x - deep / 2, y, 0.0), (x + deep / 2, y + thick, height)) for y in starts]

    def slot(number: int) -> Place:
        middle = starts[number] + thick + widths[number] / 2

        def draw(rng: np.random.Generator) -> FloatArray:
            at = [x + rng.uniform(-0.03, 0.03), middle + rng.uniform(-0.002, 0.002), rng.uniform(0.04, 0.12) + depth]
            return pose(rotation_z(rng.uniform(-0.03, 0.03) + rng.integers(2) * np.pi) @ _DOWN, at)

        return Place(draw, height)

    places = [slot(0), slot(1)]
    return boxes, places if rng.integers(2) else places[::-1]


WORLDS: dict[str, Callable[[np.random.Generator, float], Furnished]] = {
    "table": table,
    "clutter": clutter,
    "shelf": shelf,
    "bin": bins,
    "gap": gap,
}
"""A kind's boxes and places of the hand, made of a generator and the fingertips' distance from the tip frame [m]."""

_STREAMS = {"bin": 0, "clutter": 1, "gap": 2, "shelf": 3, "table": 4}
"""Number of each kind in the seed of its problems: it stays, whatever kinds are added."""


def draw_problem(world: str, seed: int, robot: RobotModel) -> Problem:
    """The problem of a kind and a seed: the same for the same robot.

    Raises:
        ToolError: INVALID_ARGUMENT if the kind is unknown, or the robot cannot reach into its boxes.
    """
    if world not in WORLDS:
        raise invalid(f"Unknown world {world!r}. Known: {', '.join(WORLDS)}.")
    rng = np.random.default_rng([_STREAMS[world], seed])
    planner, kinematics = EmbeddedPlanner(robot=robot), Kinematics(robot)
    depth = float(robot.gripper.points(robot.gripper.max_opening)[3:, 2].max())
    for _ in range(_DRAWS):
        boxes, places = WORLDS[world](rng, depth)
        scene = CollisionScene(tuple(boxes))
        checker = Checker(SceneModel(scene, robot))
        postures = []
        for place in places:
            posture = _posture(place, rng, robot, kinematics, checker, planner, scene)
            if posture is None:
                break
            postures.append(posture)
        if len(postures) == len(places):
            return Problem(world, scene, postures[0], robot.nearest_turn(postures[1], postures[0]))
    raise invalid(f"{robot.name} does not reach into the boxes of {world!r}, seed {seed}.")


def _posture(
    place: Place,
    rng: np.random.Generator,
    robot: RobotModel,
    kinematics: Kinematics,
    checker: Checker,
    planner: EmbeddedPlanner,
    scene: CollisionScene,
) -> FloatArray | None:
    """A free posture (n,) [rad] at the place from which the hand can be drawn out; None where none is found."""
    low, high = robot.sampled_range
    for _ in range(_POSES):
        T = place.draw(rng)
        for seed in rng.uniform(low, high, (_POSTURES, robot.dof)):
            q = kinematics.solve_ik(T, seed, _ITERATIONS)
            if q is not None and checker.free(q) and (not place.way_out or _comes_out(q, T, place, planner, scene)):
                return q
    return None


def _comes_out(q: FloatArray, T: FloatArray, place: Place, planner: EmbeddedPlanner, scene: CollisionScene) -> bool:
    out = T.copy()
    out[:3, 3] -= place.way_out * T[:3, 2]
    try:
        planner.plan(q, LinearGoal(out), scene)
    except ToolError:
        return False
    return True
