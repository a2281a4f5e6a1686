"""Trials of grasps in physics, and the probabilities that are fitted to them."""

import numpy as np
import pytest
from scipy.special import expit

from toolhand.sim.objects.sets import find_asset
from toolhand.sim.scene.scenes import PlacedObject, Scene
from toolhand.tool_nodes import geometry
from toolhand.tool_nodes.grasp.chances import FEATURES
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.types import FloatArray
from toolhand.training.grasps.fit import fit, reliability
from toolhand.training.grasps.trials import TrialHand


def test_chances_that_outcomes_were_drawn_with_are_found_again() -> None:
    rng = np.random.default_rng(0)
    x = rng.random((6_000, len(FEATURES)))
    chances = expit(6.0 * (x[:, 0] - 0.5) + 8.0 * (x[:, 1] - 0.5) * (x[:, 2] > 0.5))  # no sum of features says that
    held = rng.random(len(x)) < chances
    said = fit(x[:4_000], held[:4_000])(x[4_000:].astype(np.float32))
    assert np.abs(said - chances[4_000:]).mean() < 0.1
    assert reliability(said, held[4_000:])[1] < 0.05


def test_scores_that_say_too_much_are_not_reliable() -> None:
    held = np.random.default_rng(0).random(4000) < 0.6
    table, error = reliability(np.full(4000, 0.9), held)
    assert error == pytest.approx(0.3, abs=0.03)
    assert sum(n for _, _, n in table) == 4000


@pytest.fixture(scope="module")
def hand() -> TrialHand:
    """A hand over one block that stands on the table."""
    size = find_asset("generated/block-1").size_m
    block = PlacedObject("block", "generated/block-1", (0.45, 0.0, size[2] / 2.0 + 0.001), 0.0)
    return TrialHand(Scene(0, (block,), (0.8, -0.75, 1.9), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.6, 0.5, 0.4), "block"))


def from_above(x: float, y: float) -> FloatArray:
    """Straight down, the pads 25 mm above the table, closing along x."""
    gripper = load_robot().gripper
    return geometry.pose(np.diag([1.0, -1.0, -1.0]), [x, y, 0.025 + gripper.pad_depth(0.05)])


def test_a_grasp_on_an_object_holds_and_one_beside_it_holds_nothing(hand: TrialHand) -> None:
    good = hand.grasp(from_above(0.45, 0.0), "block")
    assert good is not None
    assert good.held
    assert good.up == {"block"}
    assert good.opening_m == pytest.approx(find_asset("generated/block-1").size_m[0], abs=0.012)
    beside = hand.grasp(from_above(0.45, 0.2), "block")
    assert beside is not None
    assert not beside.held
    assert not beside.up
    assert hand.grasp(from_above(0.45, 0.0), "block") == good


def test_a_pose_out_of_reach_is_not_tried(hand: TrialHand) -> None:
    assert hand.grasp(from_above(1.5, 0.0), "block") is None
