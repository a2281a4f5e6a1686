from dataclasses import replace

import numpy as np
import pytest

from tests.gen3 import pad_depth
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import PlacedObject
from toolhand.sim.station import Station
from toolhand.tool_nodes.geometry import pose
from toolhand.tool_nodes.motion.planner_wrapper import PlannerWrapper
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import CollisionScene, FloatArray, Goal, Trajectory


class NoWayWhileHolding(PlannerWrapper):
    """A planner that finds a way for the empty hand only, and counts those that it does not."""

    refused = 0

    def plan(self, start: FloatArray, goal: Goal, scene: CollisionScene, speed: float = 1.0) -> Trajectory:
        if scene.attached:
            self.refused += 1
            raise ToolError(ErrorCode.PLAN_FAILED, f"Straight line {self.refused} is blocked.")
        return super().plan(start, goal, scene, speed)


def test_a_lift_that_is_blocked_lets_go_and_does_not_claim_that_nothing_moved() -> None:
    block = PlacedObject("block", "toy block", (0.45, 0.0, 0.023), 0.0)
    station = Station(replace(generate_scene(0, n_objects=1), objects=(block,)), wrap_planner=NoWayWhileHolding)
    T = pose(np.diag([1.0, -1.0, -1.0]), (0.45, 0.0, 0.025 + pad_depth(0.046)))
    with pytest.raises(ToolError, match=r"let go again\. Straight line 3 is blocked") as caught:
        station.manipulator.grasp(T, station.camera.capture())
    assert caught.value.code is ErrorCode.EXECUTION_FAILED
    assert station.manipulator.held is None
    assert station.world.opening_m > 0.08
    resting = station.world.snapshot().objects["block"]
    assert np.linalg.norm(resting.position_m - block.position_m) < 0.02
