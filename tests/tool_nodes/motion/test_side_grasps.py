"""Objects that are grasped from the side: lifted straight up, set down as they stood, and left along the approach."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.gen3 import pad_depth
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import PlacedObject
from toolhand.sim.station import Station
from toolhand.tool_nodes.geometry import pose
from toolhand.tool_nodes.types import FloatArray

BOTTLE = PlacedObject("bottle", "generated/bottle-3", (0.50, 0.0, 0.07), 0.0)
PLACE = np.array([0.56, 0.14, 0.0])


def from_the_side(at: FloatArray, down: float, width_m: float) -> FloatArray:
    """A hand (4, 4) that comes from the robot, pointing down by an angle [rad], its pads about a point [m]."""
    z, x = np.array([np.cos(down), 0.0, -np.sin(down)]), np.array([0.0, 1.0, 0.0])
    return pose(np.column_stack([x, np.cross(z, x), z]), at - pad_depth(width_m) * z)


@pytest.mark.parametrize(("x", "z", "down"), [(0.62, 0.09, 0.0), (0.52, 0.055, np.radians(40.0))])
def test_a_bottle_that_is_grasped_from_the_side_stands_upright_where_it_is_placed(
    x: float, z: float, down: float
) -> None:
    height = float(BOTTLE.asset.size_m[2])
    standing = replace(BOTTLE, position_m=(x, 0.0, height / 2 + 0.001))
    station = Station(replace(generate_scene(0, n_objects=1), objects=(standing,)))
    width = float(BOTTLE.asset.size_m[1])
    manipulator = station.manipulator
    manipulator.grasp(from_the_side(np.array([x, 0.0, z]), down, width), station.camera.capture())
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
