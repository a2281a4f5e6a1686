"""Pick up one object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.tasks import sentences
from toolhand.sim.tasks.arrangement import one_described
from toolhand.sim.tasks.predicates import THRESHOLDS, judge_pick
from toolhand.sim.tasks.stages import pick_stages
from toolhand.sim.tasks.task import Category, History, SceneTask, Score, Transcript


@dataclass(frozen=True)
class PickTask(SceneTask):
    """The operator names an object, and the robot holds it up.

    **Randomised**: the scene, the object, and the words for it, which fit nothing else in the scene.

    **Success**: `picked`. One of the targets, and nothing else, is at least `lift_m` up in the gripper from the end of
    the command for `hold_s`; see `predicates.THRESHOLDS`.

    Attributes:
        target_ids: The objects to pick; any one of them counts.
    """

    target_ids: tuple[str, ...]
    category: ClassVar[Category] = "pick"
    holds_s: ClassVar[tuple[float, ...]] = (THRESHOLDS.hold_s,)

    @property
    def goal(self) -> str:
        """See Task."""
        return f"pick {' or '.join(self.target_ids)}"

    def score(self, history: History, transcript: Transcript) -> Score:
        """See Task; the terms are `picked`."""
        picked = judge_pick(history.before, history.holds[0], self.target_ids)
        reasons = () if picked else ("the target is not held up, or something else is",)
        stages, up = pick_stages(history, self.target_ids), tuple(sorted(history.picked_up))
        return Score({"picked": picked}, picked, reasons, stages, up, self.target_ids)


def random_pick(rng: np.random.Generator) -> PickTask | None:
    """A random task; None where the scene that was drawn has nothing to pick that words can single out."""
    scene = generate_scene(int(rng.integers(2**31)))
    found = one_described(rng, scene, [placed for placed in scene.objects if placed.asset.graspable])
    if found is None:
        return None
    target, phrase = found
    text = sentences.choose(rng, sentences.PICK).format(target=f"the {phrase}")
    return PickTask(text, scene, (target.id,))
