"""Objects that fall and come to rest on the table, before there is a robot: the physics behind settled scenes.

The same objects dropped in the same order come to rest in the same poses, to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import mujoco
import numpy as np

from toolhand.sim.scene.scenes import PlacedObject, triple
from toolhand.sim.scene.table import add_table
from toolhand.tool_nodes.types import BoolArray, FloatArray

_FAST_S = 0.004
"""Time step while objects fall [s]: the greatest that a world may have (`toolhand.sim.world.TIMESTEPS_S`)."""
_EXACT_S = 0.002
"""Time step in which they come to rest in the end [s]: that of the robots that come along."""
_FAST_ITERATIONS = 20
"""Most iterations of the solver in a step while objects fall [-]; 2 to 5 are usual."""
_FAST_TOLERANCE = 1e-5
"""Where the solver stops while objects fall [-]; MuJoCo's own is 1e-8."""
_FAST_IMPRATIO, _EXACT_IMPRATIO = 5.0, 1000.0
"""Stiffness of friction against that of the normal force, while objects fall and in the end [-]: the one of the robots
that come along makes heaps tremble in the longer time step; with less in the end they creep when a robot's world
begins."""
_CALM = (0.1, 1e-4)
"""Damping of an object that comes to rest, linear [N s/m] and angular [N m s/rad]: what rolls freely, as a mug on its
side, stops within seconds. What rests is not moved by it, and a fall over some centimetres is hardly slower."""
_STILL = (0.001, 0.015)
"""An object is at rest below this speed [m/s] and spin [rad/s]: it moves by less than 1 mm in a second."""
_TREMBLING = (0.0003, 0.006)
"""What moves and turns by less than this meanwhile trembles in place [m], [rad]: 0.3 mm at 5 cm from the middle."""
_ROUGHLY_STILL = (0.006, 0.1)
"""The same while others fall: the faster solver leaves a trembling of half as much."""
_CHECK_S = 0.1
"""Time between two looks whether all are at rest [s]."""
_WALL_M = 0.05
"""Height of the walls [m]: they hold the lowest objects together, and those above lie as steep as they would anyway."""
_SHORT_REST, _LONG_REST = 2, 8
"""Looks on end in which an object is still before it counts as at rest, while others fall and in the end [-]: what
stands on an edge begins to fall slowly."""
_NUDGE = 0.3
"""Spin of a nudge [rad/s]: it tips over what stands on an edge, and lifts a side of what stands on a face by less than
0.1 mm."""
_AWAY_M = 50.0
"""Where objects wait that have not been dropped, apart from everything and from each other [m]."""
_POSITION_DECIMALS, _QUATERNION_DECIMALS = 6, 8
"""Decimals of poses of settled scenes: micrometres, and less than a micrometre at 10 cm from the middle. A file gives
them back to the last bit whatever they are; rounded they can be read."""

BodyPose = tuple[FloatArray, FloatArray]
"""Position (3,) [m] and quaternion (4,) wxyz, base frame."""


class Settling:
    """Objects, some of them waiting to be dropped, in a world of their own.

    Args:
        objects: The objects; where they are placed says nothing yet.
        fixed: Objects that stand there from the beginning as they are placed, such as a bin.
        walls: (centre x, centre y, half width) of walls that hold a heap together until `open`; None for no walls [m].
    """

    def __init__(
        self,
        objects: Sequence[PlacedObject],
        fixed: Sequence[PlacedObject] = (),
        walls: tuple[float, float, float] | None = None,
    ) -> None:
        self.objects = tuple(objects)
        spec = mujoco.MjSpec()
        spec.option.timestep = _FAST_S
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        spec.option.impratio = _FAST_IMPRATIO
        spec.option.iterations, spec.option.tolerance = _FAST_ITERATIONS, _FAST_TOLERANCE
        add_table(spec, (0.5, 0.5, 0.5))
        if walls is not None:
            _add_walls(spec, walls)
        for index, placed in enumerate((*objects, *fixed)):
            placed.add_to(spec, index)
        self._model = spec.compile()
        self._data = mujoco.MjData(self._model)
        joints = [self._model.body_jntadr[self._model.body(placed.id).id] for placed in self.objects]
        self._qpos = self._model.jnt_qposadr[joints]
        self._dof = self._model.jnt_dofadr[joints]
        self._walls = [k for k in range(self._model.ngeom) if self._model.geom(k).name.startswith("wall")]
        self._points = [placed.asset.hull_points for placed in self.objects]
        self._out = np.ones(len(self.objects), dtype=bool)
        self._keep_away()

    @property
    def dropped(self) -> BoolArray:
        """(N,) which objects are there, not waiting."""
        return ~self._out

    def put(self, index: int, pose: BodyPose) -> None:
        """Let an object go at a pose, at rest."""
        address, dof = self._qpos[index], self._dof[index]
        self._data.qpos[address : address + 3], self._data.qpos[address + 3 : address + 7] = pose
        self._data.qvel[dof : dof + 6] = 0.0
        self._out[index] = False

    def take_away(self, index: int) -> None:
        """Let an object wait again."""
        self._out[index] = True

    def pose(self, index: int) -> BodyPose:
        """Where an object is now."""
        address = self._qpos[index]
        return self._data.qpos[address : address + 3].copy(), self._data.qpos[address + 3 : address + 7].copy()

    def points(self, index: int) -> FloatArray:
        """(K, 3) hull points of an object where it is now, base frame [m]."""
        position, quat = self.pose(index)
        matrix = np.zeros(9)
        mujoco.mju_quat2Mat(matrix, quat)
        return self._points[index] @ matrix.reshape(3, 3).T + position

    def top(self, xy: FloatArray, radius: float) -> float:
        """Height of the highest point of what is within a radius of a place of the table [m]; 0 for the table."""
        heights = [0.0]
        for index in np.flatnonzero(self.dropped).tolist():
            points = self.points(index)
            if np.hypot(*(points[:, :2].mean(axis=0) - xy)) < radius + np.ptp(points[:, :2], axis=0).max() / 2:
                heights.append(float(points[:, 2].max()))
        return max(heights)

    def open(self) -> None:
        """Take the walls away."""
        for geom in self._walls:
            self._model.geom_contype[geom] = self._model.geom_conaffinity[geom] = 0

    def run(self, seconds: float) -> None:
        """Let time pass [s]."""
        for _ in range(round(seconds / self._model.opt.timestep)):
            mujoco.mj_step(self._model, self._data)
        self._keep_away()

    def nudge(self) -> None:
        """Give every object that is there a small spin, so that nothing is left balanced on an edge."""
        rng = np.random.default_rng(len(self.objects))
        for index in np.flatnonzero(self.dropped).tolist():
            spin = rng.normal(size=3)
            dof = self._dof[index]
            self._data.qvel[dof + 3 : dof + 6] = _NUDGE * spin / np.linalg.norm(spin)

    def rest(self, longest_s: float, exact: bool = False) -> BoolArray:
        """Let objects come to rest.

        Args:
            longest_s: After this time it ends whether they rest or not [s].
            exact: Time step, solver and damping are those of a world with a robot.

        Returns:
            (N,) which objects are there and at rest; in the end also those that tremble without getting anywhere, as
            what stands on a rounded face does.
        """
        model, (linear, angular) = self._model, (0.0, 0.0) if exact else _CALM
        if exact:
            model.opt.timestep, model.opt.impratio = _EXACT_S, _EXACT_IMPRATIO
            model.opt.iterations, model.opt.tolerance = 100, 1e-8
        for dof in self._dof:
            model.dof_damping[dof : dof + 3], model.dof_damping[dof + 3 : dof + 6] = linear, angular
        least, limits = (_LONG_REST, _STILL) if exact else (_SHORT_REST, _ROUGHLY_STILL)
        checks = np.zeros(len(self.objects), dtype=int)
        poses: list[FloatArray] = []
        for _ in range(math.ceil(longest_s / _CHECK_S)):
            self.run(_CHECK_S)
            checks = np.where(self._slower(limits) & self.dropped, checks + 1, 0)
            poses.append(self._data.qpos[self._qpos[:, None] + np.arange(7)])
            if (checks[self.dropped] >= least).all():
                return np.asarray(checks >= least)
        spread = np.ptp(poses[-least - 1 :], axis=0)
        in_place = (spread[:, :3].max(axis=1) < _TREMBLING[0]) & (2.0 * spread[:, 3:].max(axis=1) < _TREMBLING[1])
        return np.asarray((checks >= least) | (in_place & self.dropped & exact))

    def placed(self, index: int) -> PlacedObject:
        """An object as a scene has it, where it is now."""
        position, quat = self.pose(index)
        w, x, y, z = np.round(quat / np.linalg.norm(quat), _QUATERNION_DECIMALS).tolist()
        rounded = triple(np.round(position, _POSITION_DECIMALS) + 0.0)
        return replace(self.objects[index], position_m=rounded, yaw=0.0, tilt_wxyz=(w, x, y, z))

    def _slower(self, limits: tuple[float, float]) -> BoolArray:
        speeds = np.array([np.linalg.norm(self._data.qvel[dof : dof + 3]) for dof in self._dof])
        spins = np.array([np.linalg.norm(self._data.qvel[dof + 3 : dof + 6]) for dof in self._dof])
        return np.asarray((speeds < limits[0]) & (spins < limits[1]))

    def _keep_away(self) -> None:
        """Put back what waits, which falls: it touches nothing, and is never far from where it waits."""
        for index in np.flatnonzero(self._out).tolist():
            at = np.array([_AWAY_M + index, _AWAY_M, 0.0])
            self.put(index, (at, np.array([1.0, 0.0, 0.0, 0.0])))
            self._out[index] = True


def settled_alone(objects: Sequence[PlacedObject], tilts: Sequence[FloatArray]) -> list[BodyPose]:
    """How each object comes to rest by itself on the table, let go just above it.

    Args:
        tilts: Quaternion (4,) wxyz in which each is let go.
    """
    poses: list[BodyPose] = []
    for placed, tilt in zip(objects, tilts, strict=True):
        world = Settling([placed])
        world.put(0, (np.array([0.5, 0.0, 0.0]), tilt))
        low = world.points(0)[:, 2].min()
        world.put(0, (np.array([0.5, 0.0, 0.001 - low]), tilt))
        world.rest(1.0)
        world.nudge()
        world.rest(2.0)
        poses.append(world.pose(0))
    return poses


def _add_walls(spec: mujoco.MjSpec, walls: tuple[float, float, float]) -> None:
    x, y, half = walls
    thick, high = 0.05, _WALL_M / 2
    for k, (dx, dy) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1))):
        away = half + thick
        spec.worldbody.add_geom(
            name=f"wall{k}",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=[x + dx * away, y + dy * away, high],
            size=[thick if dx else half + 2 * thick, thick if dy else half + 2 * thick, high],
            friction=[0.1, 0.005, 0.0001],
        )
