"""The film of a run: what the arm did, from the log of the physics."""

import numpy as np
import pytest

from tests.gen3 import NAMED_STATES
from tests.stations import FAST
from toolhand.sim.animation import ANIMATION_FRAMES, ANIMATION_SIZE, animate
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.types import CollisionScene, JointGoal


@pytest.fixture(scope="module")
def moved() -> Station:
    station = Station(load_scene(EXAMPLE_SCENE), FAST)
    home = JointGoal(np.asarray(NAMED_STATES["Home"], float))
    station.arm.follow(station.planner.plan(station.arm.state().q, home, CollisionScene()))
    return station


def test_an_animation_shows_the_motion_and_leaves_the_world_as_it_was(moved: Station) -> None:
    station = moved
    time, qpos = station.world.time, station.world.data.qpos.copy()
    shown = 0

    def cancelled() -> bool:
        nonlocal shown
        shown += 1
        return shown > 4

    frames, times = animate(station, cancelled)
    assert len(frames) == len(times) == 4
    assert frames[0].shape == (ANIMATION_SIZE[1], ANIMATION_SIZE[0], 3)
    assert not np.array_equal(frames[0], frames[-1])
    assert times[0] == 0.0
    assert np.all(np.diff(times) > 0)
    assert station.world.time == time
    assert np.array_equal(station.world.data.qpos, qpos)


def test_an_animation_has_a_bounded_number_of_images_of_the_whole_motion(moved: Station) -> None:
    station = moved
    frames, times = animate(station)
    assert len(frames) == ANIMATION_FRAMES
    assert times[-1] == pytest.approx(station.world.log[-1][0] - station.world.log[0][0])


def test_an_arm_that_never_moved_has_no_animation() -> None:
    assert animate(Station(load_scene(EXAMPLE_SCENE))) == ([], [])
