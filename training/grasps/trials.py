"""One grasp in physics, without planner and tools: in straight, close, lift; then what is up is judged."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from toolhand.sim.arm import close_or_open
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.tasks.predicates import THRESHOLDS, lifted_ids
from toolhand.sim.world import World
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.types import FloatArray

APPROACH_M, LIFT_M = 0.08, 0.12
"""Straight way in, and straight way up [m]: about those of a whole grasp."""
_IN_S, _STILL_S, _UP_S, _HOLD_S = 0.35, 0.1, 0.9, 0.5
"""Times of the way in, of the rests after it and after the lift's end, of the way up, and of the hold [s]."""
_STATIONS = 6
"""Arm configurations that make a straight way [-]."""
_STARTS = 7
"""Configurations from which inverse kinematics is tried [-]."""
_ITERATIONS = 150
"""Iterations of inverse kinematics of each [-]."""


@dataclass(frozen=True)
class GraspTrial:
    """What came of a grasp: held, or nothing; opening_m, the jaws after closing [m]; up, ids of what was lifted."""

    held: bool
    opening_m: float
    up: frozenset[str]


class TrialHand:
    """The arm of the world of a scene at rest, which starts each trial anew."""

    def __init__(self, scene: Scene) -> None:
        self.world = World(scene)
        self._kinematics = Kinematics(self.world.robot)
        self._state, self._before = self.world.save(), self.world.snapshot()
        park = self.world.robot.park
        spread = np.random.default_rng(0).uniform(-0.6, 0.6, (_STARTS - 1, len(park)))
        self._starts = [park, *(park + turn for turn in spread)]

    def grasp(self, T_base_gripper: FloatArray, target: str) -> GraspTrial | None:
        """Try a pose (4, 4) or its mirror image on an object; None where the arm cannot get there."""
        flipped = T_base_gripper.copy()
        flipped[:3, :2] *= -1.0
        for T in (T_base_gripper, flipped):
            for start in self._starts:
                q = self._kinematics.solve_ik(T, start, _ITERATIONS)
                if q is None:
                    continue
                way_out = self._line(T, -APPROACH_M * T[:3, 2], q)
                way_up = self._line(T, np.array([0.0, 0.0, LIFT_M]), q)
                if way_out is not None and way_up is not None:
                    return self._run(way_out[::-1], way_up, target)
        return None

    def _line(self, T: FloatArray, shift: FloatArray, q: FloatArray) -> list[FloatArray] | None:
        way = [q]
        for k in range(1, _STATIONS + 1):
            moved = T.copy()
            moved[:3, 3] += shift * k / _STATIONS
            there = self._kinematics.solve_ik(moved, way[-1], _ITERATIONS)
            if there is None or np.abs(there - way[-1]).max() > 0.5:
                return None
            way.append(there)
        return way

    def _run(self, way_in: list[FloatArray], way_up: list[FloatArray], target: str) -> GraspTrial:
        world = self.world
        world.restore(self._state)
        model, data = world.model, world.data
        for name, angle in zip(world.robot.arm_joints, way_in[0], strict=True):
            joint = model.joint(name)
            data.qpos[joint.qposadr[0]], data.qvel[joint.dofadr[0]] = angle, 0.0
        world.command_arm(way_in[0])
        mujoco.mj_forward(model, data)
        self._follow(way_in, _IN_S)
        world.step(round(_STILL_S / world.timestep))
        for _ in close_or_open(world, 0.0, lambda: False):
            world.step()
        opening = world.opening_m
        self._follow(way_up, _UP_S)
        world.step(round(_STILL_S / world.timestep))
        ends = []
        for _ in range(2):
            world.step(round(_HOLD_S / 2.0 / world.timestep))
            ends.append(frozenset(lifted_ids(self._before, world.snapshot(), THRESHOLDS)))
        return GraspTrial(all(up == {target} for up in ends), opening, ends[-1])

    def _follow(self, way: list[FloatArray], seconds: float) -> None:
        steps = round(seconds / self.world.timestep)
        for share in np.arange(1, steps + 1) / steps * (len(way) - 1):
            k = min(int(share), len(way) - 2)
            self.world.command_arm(way[k] + (share - k) * (way[k + 1] - way[k]))
            self.world.step()
