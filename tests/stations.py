"""Stations for tests that do not depend on the size of images or the time step, and those that are made only once."""

from functools import lru_cache

from toolhand.sim.scene.files import parse_scene
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.station import Station, StationConfig, StationState

FAST = StationConfig(image_size=(320, 240), timestep=0.004, sleep=True)
"""A quarter of the pixels, half as many time steps, and physics only of what moves: an episode takes a third of the
processor time."""

FULL = StationConfig()
"""As users have it."""

BLOCK_AND_BOX = parse_scene("""
objects:
  - {name: toy block, position: [0.45, 0.0]}
  - {name: red box, position: [0.50, -0.15]}
""")
"""Two objects with room about each."""


@lru_cache(maxsize=2)
def _made(scene: Scene, config: StationConfig) -> tuple[Station, StationState]:
    station = Station(scene, config)
    return station, station.save()


def restored(scene: Scene, config: StationConfig = FULL) -> Station:
    """A station at its first moment, to the last bit: 3 ms instead of half a second.

    It is made once for a scene and a configuration, so nobody may hold two of them at once, and a test that replaces
    a part of it must put that back (`monkeypatch`).
    """
    station, beginning = _made(scene, config)
    station.arm.reset_stop()
    station.restore(beginning)
    return station
