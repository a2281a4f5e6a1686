"""Frames of simulated scenes as recorded data for the mock robot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from toolhand.sim.camera.ray import RayCamera, jittered, scene_camera
from toolhand.sim.camera.sensor import make_sensor
from toolhand.sim.mock.data import MockFrame
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.world import World
from toolhand.tool_nodes.port_names import DEFAULT_SENSOR


def record_frame(seed: int, size: tuple[int, int], stamp: float = 0.0, sensor: str = DEFAULT_SENSOR) -> MockFrame:
    """The scene camera's image of a random scene.

    Args:
        seed: Decides the scene and the sensor's noise.
        size: (width, height) [px].
        stamp: Time that the frame is given [s].
        sensor: Name of the camera's sensor model.
    """
    return record_scene(generate_scene(seed), seed, size, stamp, sensor)


def record_scene(
    scene: Scene, seed: int, size: tuple[int, int], stamp: float = 0.0, sensor: str = DEFAULT_SENSOR
) -> MockFrame:
    """The scene camera's image of a scene; `seed` is that of the sensor's noise, the rest as of `record_frame`."""
    world = World(scene)
    model = jittered(scene_camera(size), scene)
    lamp = np.asarray(scene.light_position_m)
    measuring = make_sensor(sensor, model.name, seed)
    camera = RayCamera(
        world.model, world.data, model, world.body_index, sensor=measuring, seed=seed, lamp_position=lamp
    )
    labels = tuple(placed.asset.name for placed in scene.objects)
    return MockFrame(replace(camera.capture(), stamp=stamp, labels=labels), scene_seed=scene.seed)


def record_frames(n: int, seed: int, size: tuple[int, int], sensor: str = DEFAULT_SENSOR) -> Iterator[MockFrame]:
    """Frames of the scenes seed, seed + 1, ..., one second apart."""
    for k in range(n):
        yield record_frame(seed + k, size, float(k), sensor)
