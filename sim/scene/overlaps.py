"""Which objects of a scene reach into each other, by the physics' own collision shapes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import mujoco

from toolhand.sim.scene.scenes import PlacedObject, footprint, gap

DEEPEST_M = 0.005
"""Objects at rest reach into each other by up to this much [m]: MuJoCo's contacts are soft, and in settled piles of
twenty the deepest was 2 mm."""


def overlaps(objects: Sequence[PlacedObject]) -> dict[tuple[int, int], float]:
    """Pairs (later, earlier index) of objects that reach into each other by more than DEEPEST_M, and how far [m]."""
    outlines = [footprint(placed) for placed in objects]
    heights = [placed.heights for placed in objects]
    suspects: set[int] = set()
    for (i, a), (j, b) in combinations(enumerate(outlines), 2):
        apart = heights[i][0] >= heights[j][1] - DEEPEST_M or heights[j][0] >= heights[i][1] - DEEPEST_M
        if not apart and gap(a, b) <= -DEEPEST_M:
            suspects |= {i, j}
    if not suspects:
        return {}
    spec = mujoco.MjSpec()
    for index in sorted(suspects):
        objects[index].add_to(spec, index)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    index_of = {model.body(objects[index].id).id: index for index in suspects}
    deepest: dict[tuple[int, int], float] = {}
    for contact in data.contact[: data.ncon]:
        i, j = (index_of[int(model.geom_bodyid[geom])] for geom in contact.geom)
        pair = max(i, j), min(i, j)
        if -contact.dist > max(DEEPEST_M, deepest.get(pair, 0.0)):
            deepest[pair] = -float(contact.dist)
    return deepest
