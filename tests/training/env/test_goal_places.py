"""Places of free sentences as goals: judged by true poses, whatever the robot found."""

from dataclasses import replace

import pytest

from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.station import Station
from toolhand.sim.tasks.arranged import ArrangedTask
from toolhand.sim.tasks.places import Change
from toolhand.tool_nodes.geometry import invert, project, transform
from toolhand.tool_nodes.types import FloatArray
from toolhand.training.env.goal_from_text import OWN_READING, TrueScene

SEED = 57
"""Its objects are a bunny, a pear, a green bowl, hot sauce, basil and two toy blocks."""


@pytest.fixture(scope="module")
def station() -> Station:
    return Station(generate_scene(SEED))


def fault(station: Station, text: str, move: FloatArray | tuple[float, float, float]) -> str | None:
    """Why a sentence about the bunny is not done where it was moved by so much [m]; None where it is."""
    true = TrueScene.of(station)
    task = true.task(text)
    assert isinstance(task, ArrangedTask), task
    assert task.source == OWN_READING
    before = station.world.snapshot().objects
    bunny = before["bunny_1"]
    after = {**before, "bunny_1": replace(bunny, position_m=bunny.position_m + move)}
    change = Change(station.scene, before, after, true.camera.T_base_camera)
    assert task.placings[0].ids == ("bunny_1",)
    return task.placings[0].place.fault("bunny_1", change)


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        ("move the bunny 10 cm closer to me", (0.10, 0.0, 0.0), (-0.10, 0.0, 0.0)),
        ("move the bunny a bit to the left", (0.0, -0.05, 0.0), (0.0, 0.05, 0.0)),
        ("put the bunny to the left", (0.0, -0.60, 0.0), (0.0, 0.0, 0.0)),
        ("put the bunny in the middle of the table", (0.08, -0.21, 0.0), (0.0, 0.15, 0.0)),
        ("put the bunny in the right corner", (-0.15, 0.2, 0.0), (0.0, -0.60, 0.0)),
        ("move the bunny further from the pear", (0.0, 0.1, 0.0), (0.0, -0.1, 0.0)),
        ("put the bunny on the table but not on the right", (0.0, -0.60, 0.0), (0.0, 0.1, 0.0)),
    ],
)
def test_a_place_is_judged_by_where_the_object_came_to_stand(
    station: Station, text: str, right: tuple[float, float, float], wrong: tuple[float, float, float]
) -> None:
    assert fault(station, text, right) is None
    assert fault(station, text, wrong) is not None


def test_a_point_of_the_image_is_a_place(station: Station) -> None:
    camera = station.scene_camera()
    bunny = station.world.snapshot().objects["bunny_1"].position_m
    foot = transform(invert(camera.T_base_camera), (bunny * (1, 1, 0))[None])
    u, v = (project(foot, camera.K)[0] + 0.5) / camera.size
    text = f"put the bunny on the free spot at ({u:.3f}, {v:.3f})"
    assert fault(station, text, (0.0, 0.0, 0.0)) is None
    assert fault(station, text, (0.03, 0.0, 0.0)) is not None
