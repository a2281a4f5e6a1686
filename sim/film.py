"""A film of what a station's arm did, from the log of its physics."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mujoco
import numpy as np

from sim.camera.ray import overview_camera
from sim.tasks.judge import JudgedStation
from sim.world import LOG_PERIOD_S

ANIMATION_FRAMES = 60
"""Pictures in a film at most."""
ANIMATION_SIZE = (400, 300)
"""Width and height of each [px]."""


def animate(
    station: JudgedStation, cancelled: Callable[[], bool] = lambda: False
) -> tuple[Sequence[np.ndarray], Sequence[float]]:
    """Pictures of the logged motion, at most ANIMATION_FRAMES, and their simulated times [s]."""
    world = station.world
    log = world.log
    if len(log) < 2 or log[-1][0] - log[0][0] < 2 * LOG_PERIOD_S:
        return [], []
    picks = np.unique(np.linspace(0, len(log) - 1, min(ANIMATION_FRAMES, len(log))).astype(int))
    camera = station.make_camera(overview_camera(ANIMATION_SIZE))
    saved_time, saved_qpos = world.data.time, world.data.qpos.copy()
    frames, times = [], []
    try:
        for pick in picks:
            if cancelled():
                break
            world.data.time, world.data.qpos[:] = log[pick]
            mujoco.mj_kinematics(world.model, world.data)
            frames.append(camera.capture().rgb)
            times.append(log[pick][0] - log[0][0])
    finally:
        world.data.time, world.data.qpos[:] = saved_time, saved_qpos
        mujoco.mj_forward(world.model, world.data)
    return frames, times
