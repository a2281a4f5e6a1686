"""Cards, rulers and plates: things hardly thicker than the noise of a depth camera, or wider than the jaws."""

from __future__ import annotations

import numpy as np
import pytest

from sim.camera.ray import RayCamera, jittered, scene_camera
from sim.camera.sensor import make_sensor
from sim.scene.clutter import clutter_scene
from tool_nodes import geometry
from tool_nodes.grasp.sampling import AnalyticGraspGenerator
from tool_nodes.grasp.seen import flattened
from tool_nodes.perception.shape_completion import complete_shape
from tool_nodes.types import FloatArray
from training.grasps.trials import TrialHand

NOISE = 0.003


def points(height: FloatArray, width: float = 0.05, length: float = 0.09) -> FloatArray:
    """Points (40, 60) of a top, base frame [m], with noise."""
    x, y = np.meshgrid(np.linspace(0.4, 0.4 + width, 40), np.linspace(0.0, length, 60), indexing="ij")
    noise = np.random.default_rng(0).normal(0.0, NOISE, x.shape)
    return np.column_stack([x.ravel(), y.ravel(), (height + noise).ravel()]).astype(np.float32)


def test_a_card_is_as_flat_as_it_is_and_a_dome_stays_a_dome() -> None:
    card = points(np.full((40, 60), 0.006))
    assert np.percentile(np.abs(flattened(card, NOISE)[:, 2] - 0.006), 99.0) < 0.001
    across = np.linspace(-1.0, 1.0, 40)[:, None] ** 2 + np.linspace(-1.0, 1.0, 60) ** 2
    dome = points(0.03 - 0.012 * across)
    assert flattened(dome, NOISE) is dome
    assert flattened(card, 0.0) is card


def test_a_board_is_not_taken_for_a_wide_rod() -> None:
    top = points(np.full((40, 60), 0.006), 0.02, 0.15).astype(float)
    top[:, 2] = 0.006
    assert np.ptp(complete_shape(top)[:, 0]) < 0.026


@pytest.mark.parametrize(("seed", "tries"), [(5017, 1), (5071, 1), (5006, 3)])
def test_what_is_flat_is_held_through_a_noisy_camera(seed: int, tries: int) -> None:
    """A ruler 5 mm high, a card of 8 mm, and a plate by its rim, which not every one of the best grasps holds."""
    scene = clutter_scene("single", seed)
    hand = TrialHand(scene)
    world, pose = hand.world, jittered(scene_camera(), scene)
    sensor = make_sensor("realsense_d435", "scene", seed)
    frame = RayCamera(world.model, world.data, pose, world.body_index, seed=seed, sensor=sensor).capture()
    assert frame.ids is not None
    cloud = geometry.backproject(frame.depth, frame.K)
    grasps = AnalyticGraspGenerator(seed).generate(cloud, (frame.ids == 0).ravel(), frame.T_base_camera)
    trials = (hand.grasp(frame.T_base_camera @ T, scene.objects[0].id) for T in grasps.T_camera_gripper[:tries])
    assert any(trial is not None and trial.held for trial in trials)


def test_where_the_camera_is_thought_too_low_the_hand_still_goes_as_deep_as_the_table_allows() -> None:
    scene = clutter_scene("single", 5017)
    world = TrialHand(scene).world
    frame = RayCamera(world.model, world.data, scene_camera(), world.body_index, seed=0).capture()
    assert frame.ids is not None
    cloud, mask = geometry.backproject(frame.depth, frame.K), (frame.ids == 0).ravel()
    gripper = AnalyticGraspGenerator().gripper
    tips = []
    for error in (0.0, -0.005):
        T_base_camera = frame.T_base_camera.copy()
        T_base_camera[2, 3] += error
        grasps = AnalyticGraspGenerator().generate(cloud, mask, T_base_camera)
        T = T_base_camera @ grasps.T_camera_gripper[0]
        tips.append(geometry.transform(T, gripper.tips(float(grasps.widths_m[0])))[:, 2].min())
    assert tips[1] == pytest.approx(tips[0], abs=0.0005)
