"""Objects that are grasped from the side: lifted straight up, set down as they stood, and left along the approach."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.gen3 import pad_depth
from tests.guarded import RecordingArm
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import PlacedObject
from toolhand.sim.station import Station
from toolhand.tool_nodes.geometry import pose
from toolhand.tool_nodes.motion.collision import Checker
from toolhand.tool_nodes.motion.manipulation import Manipulator
from toolhand.tool_nodes.motion.scene_model import SceneModels
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.types import Box, CollisionScene, FloatArray

BOTTLE = PlacedObject("bottle", "generated/bottle-3", (0.50, 0.0, 0.07), 0.0)
PLACE = np.array([0.56, 0.14, 0.0])


HEIGHT, WIDTH = float(BOTTLE.asset.size_m[2]), float(BOTTLE.asset.size_m[1])


def standing_at(x: float, y: float) -> Station:
    """A station with the bottle alone."""
    standing = replace(BOTTLE, position_m=(x, y, HEIGHT / 2 + 0.001))
    return Station(replace(generate_scene(0, n_objects=1), objects=(standing,)))


def from_the_side(at: FloatArray, down: float, turn: float = 0.0) -> FloatArray:
    """A hand (4, 4) about a point [m], pointing down by an angle [rad], turned about the vertical from +X [rad]."""
    x = np.array([-np.sin(turn), np.cos(turn), 0.0])
    z = np.array([np.cos(down) * np.cos(turn), np.cos(down) * np.sin(turn), -np.sin(down)])
    return pose(np.column_stack([x, np.cross(z, x), z]), at - pad_depth(WIDTH) * z)


@pytest.mark.parametrize(("x", "z", "down"), [(0.62, 0.09, 0.0), (0.52, 0.055, np.radians(40.0))])
def test_a_bottle_that_is_grasped_from_the_side_stands_upright_where_it_is_placed(
    x: float, z: float, down: float
) -> None:
    station = standing_at(x, 0.0)
    manipulator = station.manipulator
    manipulator.grasp(from_the_side(np.array([x, 0.0, z]), down), station.camera.capture())
    plan = manipulator.plan_place(PLACE, station.camera.capture())
    assert plan.back is not None
    hand = [manipulator._kinematics.fk(q) for q in plan.back.q]
    moved = hand[-1][:3, 3] - hand[0][:3, 3]
    assert moved @ hand[0][:3, 2] < -0.05, "it backs out along its approach"
    manipulator.run_place(plan)
    station.world.hold(1.0)
    found = station.world.snapshot().objects["bottle"]
    up = Rotation.from_quat(np.roll(np.array(found.quat_wxyz), -1)).apply([0.0, 0.0, 1.0])
    assert up[2] > 0.98
    assert found.position_m[:2] == pytest.approx(PLACE[:2], abs=0.02)


def test_a_grasp_from_which_the_hand_cannot_rise_is_none() -> None:
    """Beside the base the arm reaches this bottle, and comes to its joints' limits 5 cm above it."""
    station = standing_at(0.33, 0.12)
    at, frame, manipulator = np.array([0.33, 0.12, 0.073]), station.camera.capture(), station.manipulator
    sideways, along = (from_the_side(at, 0.0, np.radians(turn)) for turn in (70.0, 45.0))
    assert manipulator.reachable(sideways, frame) == 1.0
    assert manipulator.reachable(along, frame) == 0.0
    manipulator.plan_grasp(sideways, frame)
    with pytest.raises(ToolError):
        manipulator.plan_grasp(along, frame)


def test_the_way_to_a_grasp_leads_around_its_target() -> None:
    station = standing_at(0.5, 0.0)
    at, frame = np.array([0.5, 0.0, 0.09]), station.camera.capture()
    beside = station.manipulator.plan_grasp(from_the_side(at, 0.0, np.radians(-90.0)), frame).legs[0].q[-1]
    manipulator = Manipulator(RecordingArm(beside), station.planner, station.camera)
    approach = manipulator.plan_grasp(from_the_side(at, 0.0, np.radians(50.0)), frame).legs[0]
    core = Box(pose(np.eye(3), (0.5, 0.0, HEIGHT / 2)), np.array([WIDTH, WIDTH, HEIGHT]) / 2 - 0.01)
    assert Checker(SceneModels().of(CollisionScene((core,), margin=0.0))).path_free(approach.q)
