"""Worlds whose objects change, and scenes that cross a wire as text."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhand.sim.arm import SimArm
from toolhand.sim.scene.files import named_scene, parse_scene, scene_yaml
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import PlacedObject
from toolhand.sim.tasks.tasks import random_task
from toolhand.sim.world import LOG_PERIOD_S, World
from toolhand.tool_nodes.results import ErrorCode, ToolError


@settings(max_examples=8)
@given(seed=st.integers(0, 2000))
def test_a_scene_comes_back_from_its_text_to_the_last_bit(seed: int) -> None:
    for scene in (generate_scene(seed), random_task(seed).scene):
        assert parse_scene(scene_yaml(scene)) == scene


def test_the_example_comes_back_from_its_text() -> None:
    assert parse_scene(scene_yaml(named_scene("example"))) == named_scene("example")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("objects:\n- {name: cola, position: [0.4, 0.1], yaw: 1.0, yaw_deg: 3}", "yaw or yaw_deg"),
        (
            "camera_turn: [0, 1]\nobjects:\n- {name: cola, position: [0.4, 0.1]}",
            "must be a finite number from",
        ),
        ("camera_offset: [0, 0, 9]\nobjects:\n- {name: cola, position: [0.4, 0.1]}", "from -0.5 to 0.5"),
        ("", "must be a mapping"),
    ],
)
def test_a_text_with_a_mistake_is_refused_with_its_name(text: str, words: str) -> None:
    with pytest.raises(ToolError, match=words) as refused:
        parse_scene(text, "sent.yaml")
    assert refused.value.code is ErrorCode.INVALID_ARGUMENT
    assert str(refused.value).startswith("sent.yaml")


@pytest.mark.parametrize("name", ["-3", "nobody.yaml", "", "EXAMPLE"])
def test_a_scene_that_nobody_knows_is_refused(name: str) -> None:
    with pytest.raises(ToolError):
        named_scene(name)


@pytest.fixture
def world() -> World:
    return World(generate_scene(3))


def test_the_rest_stays_as_it_is_when_objects_change(world: World) -> None:
    SimArm(world).move_gripper(0.03)
    first, *others = world.scene.objects
    before, time = world.snapshot().objects, world.time
    knuckle, reference = world.knuckle, world.arm_reference
    new = PlacedObject("guest_1", "cola", (0.45, 0.0, 0.5), 0.0)
    world.change_objects(replace(world.scene, objects=(*others, new)))
    after = world.snapshot().objects
    assert first.id not in after
    assert set(after) == {placed.id for placed in others} | {"guest_1"}
    for placed in others:
        assert np.allclose(after[placed.id].position_m, before[placed.id].position_m, atol=1e-6)
    assert world.time == time
    assert world.knuckle == knuckle
    assert np.array_equal(world.arm_reference, reference)
    world.step(600)
    assert world.snapshot().objects["guest_1"].position_m[2] < 0.2
    assert np.abs(world.arm_position - reference).max() < 1e-3


def test_a_moved_object_has_the_velocity_it_was_given_in_the_base_frame(world: World) -> None:
    name = world.scene.objects[0].id
    velocity = np.array([0.1, -0.2, 0.3, 1.0, 2.0, -3.0])
    world.place_object(name, np.array([0.4, 0.1, 0.6]), np.array([1.0, 1.0, 0.0, 1.0]), velocity)
    state = world.snapshot().objects[name]
    assert np.allclose(state.position_m, [0.4, 0.1, 0.6])
    assert np.allclose(state.quat_wxyz, np.array([1.0, 1.0, 0.0, 1.0]) / np.sqrt(3))
    assert np.allclose(state.velocity, velocity, atol=1e-9)


def test_time_that_passes_without_physics_is_logged_and_moves_nothing(world: World) -> None:
    world.log.clear()
    place, time = world.data.qpos.copy(), world.time
    world.pass_time(250)
    assert world.time == pytest.approx(time + 0.5)
    assert np.array_equal(world.data.qpos, place)
    assert len(world.log) == pytest.approx(0.5 / LOG_PERIOD_S, abs=1)


def test_a_clock_that_is_set_begins_a_new_log(world: World) -> None:
    world.step(100)
    world.set_time(0.0)
    assert world.log == []
    world.step(50)
    assert world.time == pytest.approx(0.1)
    assert 2 <= len(world.log) <= 4
