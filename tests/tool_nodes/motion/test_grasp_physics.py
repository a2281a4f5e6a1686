"""The compiled model grips and lifts by contact alone, driven by planned trajectories."""

import mujoco
import numpy as np
import pytest

from tests.gen3 import (
    ARM_JOINTS,
    GRIPPER_JOINT,
    NAMED_STATES,
    knuckle_from_opening,
    load_robot_spec,
    opening_from_knuckle,
    pad_depth,
)
from toolhand.tool_nodes.geometry import pose, rotation_z
from toolhand.tool_nodes.motion.planner import EmbeddedPlanner
from toolhand.tool_nodes.types import CollisionScene, LinearGoal, PoseGoal, Trajectory

CUBE = np.array([0.45, 0.08, 0.02])


class Bench:
    """Robot, a table and a 4 cm cube of 150 g."""

    def __init__(self) -> None:
        spec = load_robot_spec()
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 0.1])
        cube = spec.worldbody.add_body(name="cube", pos=CUBE)
        cube.add_freejoint()
        cube.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.02] * 3, mass=0.15, friction=[0.6, 0.005, 0.0001])
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.data.qpos[:7] = self.data.ctrl[:7] = NAMED_STATES["Park"]
        mujoco.mj_forward(self.model, self.data)
        self.worst_error = 0.0

    @property
    def q(self) -> np.ndarray:
        return np.array([self.data.joint(name).qpos[0] for name in ARM_JOINTS])

    @property
    def opening(self) -> float:
        return opening_from_knuckle(float(self.data.joint(GRIPPER_JOINT).qpos[0]))

    def cube_in_hand(self) -> np.ndarray:
        hand = self.data.body("end_effector_link")
        return hand.xmat.reshape(3, 3).T @ (self.data.body("cube").xpos - hand.xpos)

    def rest(self, seconds: float) -> None:
        mujoco.mj_step(self.model, self.data, round(seconds / self.model.opt.timestep))

    def follow(self, trajectory: Trajectory) -> None:
        for time in np.arange(0.0, trajectory.duration, self.model.opt.timestep):
            reference = [np.interp(time, trajectory.t, column) for column in trajectory.q.T]
            self.data.ctrl[:7] = reference
            mujoco.mj_step(self.model, self.data)
            self.worst_error = max(self.worst_error, float(np.abs(self.q - reference).max()))
        self.data.ctrl[:7] = trajectory.q[-1]
        self.rest(0.2)

    def move_knuckle(self, target: float, seconds: float = 0.8) -> None:
        steps = round(seconds / self.model.opt.timestep)
        for angle in np.linspace(float(self.data.ctrl[7]), target, steps):
            self.data.ctrl[7] = angle
            mujoco.mj_step(self.model, self.data)


def test_a_cube_is_gripped_lifted_fifteen_centimetres_and_held() -> None:
    bench, planner, scene = Bench(), EmbeddedPlanner(), CollisionScene()
    at_cube = pose(rotation_z(0.4) @ np.diag([1.0, -1.0, -1.0]), CUBE + np.array([0, 0, pad_depth(0.04)]))
    bench.data.qpos[-4:] = [np.cos(0.2), 0, 0, np.sin(0.2)]
    above, lifted = at_cube.copy(), at_cube.copy()
    above[2, 3] += 0.10
    lifted[2, 3] += 0.15

    bench.follow(planner.plan(bench.q, PoseGoal(above[None]), scene))
    bench.follow(planner.plan(bench.q, LinearGoal(at_cube), scene))
    bench.move_knuckle(knuckle_from_opening(0.0))
    assert bench.opening == pytest.approx(0.04, abs=0.002)
    in_hand = bench.cube_in_hand()
    bench.follow(planner.plan(bench.q, LinearGoal(lifted), scene))
    bench.rest(2.0)

    assert float(bench.data.body("cube").xpos[2]) == pytest.approx(0.17, abs=0.003)
    assert np.linalg.norm(bench.cube_in_hand() - in_hand) < 0.001
    assert bench.worst_error < 0.1
    assert np.isfinite(bench.data.qpos).all()
    assert not any(bench.data.warning[kind].number for kind in range(mujoco.mjtWarning.mjNWARNING))


def test_empty_jaws_close_completely_and_open_again() -> None:
    bench = Bench()
    bench.move_knuckle(knuckle_from_opening(0.0))
    bench.rest(0.2)
    assert bench.opening < 0.001
    bench.move_knuckle(0.0)
    bench.rest(0.2)
    assert bench.opening > 0.084


def test_the_servos_hold_the_parked_arm_against_gravity() -> None:
    bench = Bench()
    bench.rest(1.0)
    assert np.abs(bench.q - NAMED_STATES["Park"]).max() < 1e-3
