"""Tasks on recorded frames."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from toolhand.sim.mock.data import MAX_FRAMES, MockDataset
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.tasks import sentences
from toolhand.sim.tasks.arrangement import one_described
from toolhand.sim.tasks.pick import PickTask
from toolhand.tool_nodes.results import invalid

_STREAM = 16
"""Keeps these random numbers apart from others of the same seed."""

_scene_of = lru_cache(maxsize=MAX_FRAMES)(generate_scene)


def recorded_scene(dataset: MockDataset, index: int) -> Scene:
    """What frame `index` of a data set of `toolhand mock record` shows: each frame shows the next seed's scene."""
    return _scene_of(dataset.seed + index)


def recorded_pick(dataset: MockDataset, seed: int) -> PickTask:
    """A pick in one of the frames, both drawn from the seed.

    Raises:
        ToolError: INVALID_ARGUMENT where no frame has an object to pick that words can single out.
    """
    rng = np.random.default_rng([seed, _STREAM])
    for index in rng.permutation(dataset.n):
        scene = recorded_scene(dataset, int(index))
        found = one_described(rng, scene, [placed for placed in scene.objects if placed.asset.graspable])
        if found is not None:
            target, phrase = found
            return PickTask(sentences.choose(rng, sentences.PICK).format(target=f"the {phrase}"), scene, (target.id,))
    raise invalid(f"The frames of {dataset.name} have nothing to pick by words.")
