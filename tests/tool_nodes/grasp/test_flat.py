"""Grasps of flat objects, from straight above, and of what only one side is seen of."""

import numpy as np
import pytest
from scipy import ndimage

from tests.tool_nodes.grasp.test_sampling import SegmentedObject, box, make_image
from toolhand.sim.camera.ray import RayCamera, jittered, scene_camera
from toolhand.sim.camera.sensor import make_sensor
from toolhand.sim.scene.clutter import clutter_scene
from toolhand.tool_nodes import geometry, registry
from toolhand.tool_nodes.grasp.sampling import AnalyticGraspGenerator
from toolhand.tool_nodes.grasp.seen import flattened
from toolhand.tool_nodes.grasp.seen_depth import SeenDepth
from toolhand.tool_nodes.grasp.top_down import TopDownGraspGenerator
from toolhand.tool_nodes.perception.shape_completion import complete_shape
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame
from toolhand.training.grasps.trials import TrialHand

# -- cards, rulers and plates: hardly thicker than the noise of a depth camera, or wider than the jaws

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


# -- the naive control generator: one grasp, straight down, whatever stands around -----------------


@pytest.mark.parametrize("neighbour", [(), ((0.45, 0.06, box(0, 0.02, 0.02, 0.06)),)])
def test_it_goes_straight_down_across_the_narrow_side_whatever_stands_there(neighbour: tuple) -> None:  # type: ignore[type-arg]
    frame = make_image((0.45, 0.0, box(30, 0.02, 0.045)), *neighbour)
    assert frame.ids is not None
    cloud = geometry.backproject(frame.depth, frame.K)
    found = TopDownGraspGenerator().generate(cloud, (frame.ids == 0).ravel(), frame.T_base_camera)
    T = frame.T_base_camera @ found.T_camera_gripper[0]
    assert T[2, 2] == pytest.approx(-1.0)
    assert np.hypot(T[0, 3] - 0.45, T[1, 3]) < 0.015
    narrow = geometry.rotation_z(np.radians(30.0))[:3, 0]
    assert abs(T[:3, 0] @ narrow) > np.cos(np.radians(10.0))
    assert len(found.scores) == found.sampled == 1


def test_what_lies_flat_on_the_table_is_refused() -> None:
    frame = make_image((0.45, 0.0, box(0, 0.03, 0.03, 0.0015)))
    assert frame.ids is not None
    cloud = geometry.backproject(frame.depth, frame.K)
    with pytest.raises(ToolError) as caught:
        TopDownGraspGenerator().generate(cloud, (frame.ids == 0).ravel(), frame.T_base_camera)
    assert caught.value.code is ErrorCode.NO_GRASP


def test_it_is_chosen_by_its_name() -> None:
    made = registry.make("grasps", "top_down", registry.Setting(0))
    assert made.backend == "top_down"


# -- what a camera saw about an object: edges that leak, guesses that it looked through, and what the object lies on


def seen(*objects: SegmentedObject, target: int = 0) -> tuple[Frame, SeenDepth, BoolArray]:
    """An image, the view of one object, and the mask (H, W) that the view keeps of it."""
    frame = make_image(*objects)
    assert frame.ids is not None
    cloud = geometry.backproject(frame.depth, frame.K)
    view, kept = SeenDepth.of(cloud, (frame.ids == target).ravel(), frame.T_base_camera)
    return frame, view, kept.reshape(frame.ids.shape)


def test_the_image_is_put_together_from_the_cloud_alone() -> None:
    frame, view, kept = seen((0.45, 0.1, box(20)))
    assert view.pitch == pytest.approx(1.0 / frame.K[0, 0], rel=1e-3)
    assert frame.ids is not None
    assert (kept == (frame.ids == 0)).mean() > 0.999
    assert int(view.mask.sum()) == int(kept.sum())


def test_a_mask_that_leaks_onto_what_stands_behind_is_trimmed() -> None:
    objects = (0.40, 0.0, box(0)), (0.32, 0.0, box(0, 0.02, 0.12, 0.09))
    frame = make_image(*objects)
    assert frame.ids is not None
    mask = ndimage.binary_dilation(frame.ids == 0, iterations=3) & (frame.ids >= 0)
    assert (mask & (frame.ids == 1)).sum() > 50
    cloud = geometry.backproject(frame.depth, frame.K)
    _, kept = SeenDepth.of(cloud, mask.ravel(), frame.T_base_camera)
    assert (kept & (frame.ids == 1).ravel()).sum() < 10
    generator = AnalyticGraspGenerator()
    leaked, clean = (generator.generate(cloud, m, frame.T_base_camera) for m in (mask, frame.ids == 0))
    assert leaked.widths_m[0] == pytest.approx(clean.widths_m[0], abs=0.002)


def test_an_object_that_another_one_parts_in_two_stays_whole() -> None:
    frame, _, kept = seen((0.40, 0.0, box(0, 0.015, 0.09, 0.03)), (0.50, 0.0, box(0, 0.01, 0.02, 0.06)))
    assert frame.ids is not None
    assert kept.sum() > 0.97 * (frame.ids == 0).sum()


def test_what_lies_on_another_object_is_known_to() -> None:
    below = '<geom type="box" size=".06 .06 .03" pos="0 0 .03"/>'
    upper = '<geom type="box" size=".02 .03 .02" pos="0 0 .08"/>'
    assert seen((0.45, 0.0, below), (0.45, 0.0, upper), target=1)[1].support_height() == pytest.approx(0.06, abs=0.006)
    assert seen((0.45, 0.0, below), (0.45, 0.2, box(0)), target=1)[1].support_height() == 0.0


def dome(radius: float, height: float) -> FloatArray:
    """The upper half of a ball, its rim at half of the height of an object that stands on the table (N, 3)."""
    azimuth, polar = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, 60), np.linspace(0.05, 0.5 * np.pi, 20))
    z = height - radius + radius * np.cos(polar)
    level = radius * np.sin(polar)
    return np.column_stack([(level * np.cos(azimuth)).ravel(), (level * np.sin(azimuth)).ravel(), z.ravel()])


def test_a_fitted_body_that_was_looked_through_is_not_believed() -> None:
    points = dome(0.034, 0.1)

    def seen_free(guessed: FloatArray) -> BoolArray:
        return np.asarray(np.hypot(guessed[:, 0], guessed[:, 1]) > 0.036)

    assert np.ptp(complete_shape(points)[:, 0]) > 0.075
    assert np.ptp(complete_shape(points, 0.0, seen_free)[:, 0]) < 0.073
