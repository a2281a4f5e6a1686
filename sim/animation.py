"""Images of what a station's arm did, from the log of its physics."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

import mujoco
import numpy as np

from toolhand.sim.camera.ray import CameraModel, overview_camera
from toolhand.sim.tasks.judge import JudgedStation
from toolhand.sim.world import LOG_PERIOD_S
from toolhand.tool_nodes.types import FloatArray

ANIMATION_FRAMES = 60
"""Images in a film at most."""
ANIMATION_SIZE = (400, 300)
"""Width and height of each [px]."""


def logged_images(
    station: JudgedStation, states: Iterable[tuple[float, FloatArray]], model: CameraModel
) -> Iterator[np.ndarray]:
    """An image of each logged state (time [s], qpos), uint8 RGB (H, W, 3).

    While they are made the world is in the logged states; afterwards it is restored.
    """
    world = station.world
    camera = station.make_camera(model)
    saved_time, saved_qpos = world.data.time, world.data.qpos.copy()
    try:
        for time, qpos in states:
            world.data.time, world.data.qpos[:] = time, qpos
            mujoco.mj_kinematics(world.model, world.data)
            yield camera.capture().rgb
    finally:
        world.data.time, world.data.qpos[:] = saved_time, saved_qpos
        mujoco.mj_forward(world.model, world.data)


def animate(
    station: JudgedStation, cancelled: Callable[[], bool] = lambda: False
) -> tuple[Sequence[np.ndarray], Sequence[float]]:
    """Images of the logged motion, at most ANIMATION_FRAMES, and their simulated times [s]."""
    log = station.world.log
    if len(log) < 2 or log[-1][0] - log[0][0] < 2 * LOG_PERIOD_S:
        return [], []
    picks = np.unique(np.linspace(0, len(log) - 1, min(ANIMATION_FRAMES, len(log))).astype(int))
    states = itertools.takewhile(lambda state: not cancelled(), (log[pick] for pick in picks))
    frames = list(logged_images(station, states, overview_camera(ANIMATION_SIZE)))
    return frames, [log[pick][0] - log[0][0] for pick in picks[: len(frames)]]
