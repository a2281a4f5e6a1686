"""How an object lies among others: what of it is seen, and what rests on it, by the simulator's truth."""

from dataclasses import replace

import pytest

from toolhand.bench.grasp.calls import true_ids
from toolhand.bench.grasp.lying import visible_share
from toolhand.sim.objects.sets import find_asset
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import PlacedObject, Scene
from toolhand.sim.station import Station, StationConfig

HALF_BOX, HALF_CAN = (find_asset(name).size_m[2] / 2 for name in ("red box", "cola"))


def station_of(*placed: PlacedObject, sleep: bool = False) -> Station:
    scene: Scene = replace(generate_scene(0, n_objects=1), objects=placed)
    return Station(scene, StationConfig(perception="pixels", image_size=(320, 240), sleep=sleep))


def shares(station: Station) -> list[float | None]:
    """The visible share of each object."""
    ids = true_ids(station, station.camera.capture())
    return [visible_share(station, index, ids) for index in range(len(station.world.scene.objects))]


BOX = PlacedObject("box", "red box", (0.48, 0.0, HALF_BOX), 0.0)
CAN = PlacedObject("can", "cola", (0.48, 0.2, HALF_CAN), 0.0)
ON_BOX = replace(CAN, position_m=(0.48, 0.0, 2 * HALF_BOX + HALF_CAN + 1e-4))


def test_objects_apart_are_seen_whole_and_bear_nothing() -> None:
    station = station_of(BOX, CAN)
    assert shares(station) == pytest.approx([1.0, 1.0], abs=0.005)
    assert [station.world.resting_on(name) for name in ("box", "can")] == [frozenset(), frozenset()]


@pytest.mark.parametrize("sleep", [False, True])
def test_what_stands_on_an_object_hides_a_part_of_it_and_rests_on_it(sleep: bool) -> None:
    station = station_of(BOX, ON_BOX, sleep=sleep)
    below, above = shares(station)
    assert below is not None
    assert 0.05 < below < 0.95
    assert above == pytest.approx(1.0, abs=0.005)
    assert station.world.resting_on("box") == {"can"}
    assert station.world.resting_on("can") == frozenset(), "the box holds it up and does not press on it"


def test_looking_at_how_objects_lie_changes_nothing() -> None:
    stations = [station_of(BOX, ON_BOX, sleep=True) for _ in range(2)]
    shares(stations[0])
    stations[0].world.resting_on("box")
    for station in stations:
        station.world.step(200)
    positions = [station.world.snapshot().objects["can"].position_m for station in stations]
    assert (positions[0] == positions[1]).all()
