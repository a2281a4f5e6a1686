"""The planner's own collision model."""

import numpy as np
import pytest

from tests.gen3 import GEN3, MAX_OPENING, NAMED_STATES
from toolhand.tool_nodes.geometry import pose
from toolhand.tool_nodes.motion import scene_model
from toolhand.tool_nodes.motion.collision import Checker
from toolhand.tool_nodes.motion.scene_model import SceneModel, SceneModels, attached_opening
from toolhand.tool_nodes.types import Box, CollisionScene

HOME, PARK = NAMED_STATES["Home"], NAMED_STATES["Park"]


def box(x: float, y: float, z: float, half: float = 0.03) -> Box:
    return Box(pose(np.eye(3), [x, y, z]), np.full(3, half))


def test_equal_scenes_share_one_model_and_changed_ones_do_not() -> None:
    models = SceneModels()
    first = models.of(CollisionScene((box(0.5, 0.0, 0.03),)))
    assert models.of(CollisionScene((box(0.5, 0.0, 0.03),))) is first
    assert models.of(CollisionScene((box(0.5, 0.0, 0.04),))) is not first
    assert models.of(CollisionScene(attached=(box(0.5, 0.0, 0.03),))) is not first
    assert models.of(CollisionScene((box(0.5, 0.0, 0.03),), margin=0.01)) is not first


def test_scenes_that_differ_in_their_margin_touch_as_if_each_were_compiled_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    boxes = tuple(box(*rng.uniform([0.3, -0.3, 0.0], [0.7, 0.3, 0.3]), 0.02) for _ in range(40))
    points = rng.uniform([0.3, -0.3, 0.0], [0.7, 0.3, 0.3], (40, 3))
    scenes = [CollisionScene(boxes, points=points, margin=margin) for margin in (0.0, 0.002, 0.005, 0.02, 0.01)]
    models = SceneModels()
    shared = [models.of(scene) for scene in scenes]
    monkeypatch.setattr(scene_model, "_WIDEST", 0.0)
    alone = [SceneModel(scene, GEN3) for scene in scenes]
    touched = []
    for q in HOME + rng.uniform(-0.8, 0.8, (100, 7)):
        for model, other in zip(shared, alone, strict=True):
            model.update(q)
            other.update(q)
            assert sorted(model.depths()) == sorted(other.depths())
        touched.append([len(model.depths()) for model in shared])
    assert (np.diff(np.sum(touched, axis=0)[:4]) > 0).all()


def test_only_the_last_few_models_are_kept() -> None:
    models = SceneModels(capacity=2)
    scenes = [CollisionScene((box(0.5, 0.1 * index, 0.03),)) for index in range(3)]
    first, second, third = (models.of(scene) for scene in scenes)
    assert models.of(scenes[2]) is third
    assert models.of(scenes[1]) is second
    assert models.of(scenes[0]) is not first


def test_the_jaw_opening_is_the_width_of_what_is_attached() -> None:
    assert attached_opening(CollisionScene(), GEN3.gripper) == MAX_OPENING
    assert attached_opening(CollisionScene(attached=(box(0.0, 0.0, 0.15, 0.02),)), GEN3.gripper) == pytest.approx(0.04)
    assert attached_opening(CollisionScene(attached=(box(0.0, 0.0, 0.15, 0.1),)), GEN3.gripper) == MAX_OPENING


def test_named_states_on_the_table_are_free() -> None:
    checker = Checker(SceneModel(CollisionScene(), GEN3))
    for name in ("Home", "Retract", "Park"):
        assert checker.free(NAMED_STATES[name]), name


def test_an_arm_folded_into_itself_or_the_table_is_refused_with_the_parts_named() -> None:
    checker = Checker(SceneModel(CollisionScene(), GEN3))
    assert not checker.free(np.array([0.0, 2.1, 0.0, 0.0, 0.0, 0.0, 0.0]))
    assert "the table" in checker.error("It").message
    assert not checker.free(np.array([0.0, 0.0, 0.0, 2.5, 0.0, 2.05, 0.0]))
    assert "the robot's" in checker.error("It").message


def test_a_raised_table_is_avoided() -> None:
    q = HOME
    assert Checker(SceneModel(CollisionScene(), GEN3)).free(q)
    assert not Checker(SceneModel(CollisionScene(table_z=0.42), GEN3)).free(q)


def test_a_segment_through_a_small_box_is_refused_although_both_ends_are_free() -> None:
    ends = [PARK, HOME]
    checker = Checker(SceneModel(CollisionScene(), GEN3))
    assert checker.segment_free(ends[0], ends[1])
    middle = SceneModel(CollisionScene(), GEN3)
    middle.update((PARK + HOME) / 2)
    x, y, z = middle.tips()[0]
    blocked = Checker(SceneModel(CollisionScene((box(x, y, z, 0.01),)), GEN3))
    assert blocked.free(ends[0])
    assert blocked.free(ends[1])
    assert not blocked.segment_free(ends[0], ends[1])


def test_a_contact_at_the_start_may_stay_but_not_deepen() -> None:
    model = SceneModel(CollisionScene(), GEN3)
    model.update(HOME)
    x, y, z = model.tips()[0]
    scene = CollisionScene((Box(pose(np.eye(3), [x + 0.022, y, z]), np.array([0.02, 0.1, 0.1])),))
    checker = Checker(SceneModel(scene, GEN3), HOME)
    assert checker.free(HOME)
    assert not Checker(SceneModel(scene, GEN3)).free(HOME)
    reach_out = HOME + np.array([0, 0.05, 0, 0.05, 0, 0, 0])
    assert not checker.free(reach_out)
