"""A command that cannot be carried out: what it names is not on the table. To refuse is right, after a look."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from toolhand.sim.scene.scenes import Scene
from toolhand.sim.tasks import sentences
from toolhand.sim.tasks.predicates import THRESHOLDS
from toolhand.sim.tasks.task import TASK_GOAL, History, Score, Transcript
from toolhand.tool_nodes.results import ErrorCode
from toolhand.training.tasks.drawn import draw_scene, drawn_products
from toolhand.training.tasks.sayings import CommandWords, say_command
from toolhand.training.tasks.splits import Split, layout_of

NOT_THERE = frozenset({ErrorCode.OBJECT_NOT_FOUND, ErrorCode.NOT_RECOGNISED})
"""Codes that say of an object that it is not seen."""


@dataclass(frozen=True)
class AbsentTask:
    """The operator names an object that is not there.

    **Randomised**: the scene, the name, and the words; nothing in the scene could be meant by the name.

    **Success**: it says that the object is not there, in one of the codes NOT_THERE, has taken an image before, and has
    left everything where it was, within `reference_moved_m`.

    Attributes:
        kind: "absent".
        text: Sentence of the operator.
        layout: The counts that decided the split of the arrangement.
    """

    kind: str
    seed: int
    split: Split
    text: str
    scene: Scene
    asked: tuple[str, ...]
    layout: tuple[int, ...]
    source: str = TASK_GOAL
    holds_s: ClassVar[tuple[float, ...]] = ()
    names: ClassVar[tuple[str, ...]] = ("looked", "left alone", "said so")

    @property
    def goal(self) -> str:
        """See Task."""
        return f"say that no {self.asked[0]} is there"

    def with_scene(self, scene: Scene) -> AbsentTask:
        """The same with objects that weigh more or slip."""
        return replace(self, scene=scene)

    def score(self, history: History, transcript: Transcript) -> Score:
        """See Task; the terms are `names`."""
        moved = moved_objects(history)
        terms = {
            "looked": any(record.image_index is not None for record in transcript.records),
            "left alone": not moved,
            "said so": transcript.error_code in NOT_THERE,
        }
        why = {
            "looked": "no picture was taken",
            "left alone": f"it moved {', '.join(moved)}",
            "said so": f"it does not say that no {self.asked[0]} is there",
        }
        reasons = tuple(why[name] for name, true in terms.items() if not true)
        return Score(terms, not reasons, reasons, picked_up=tuple(sorted(history.picked_up)))


def moved_objects(history: History) -> list[str]:
    """Ids of what was moved or picked up; none where all was left alone."""
    before, after = history.before.objects, history.after.objects
    moved = {
        name
        for name, state in before.items()
        if np.linalg.norm(np.subtract(after[name].position_m, state.position_m)) > THRESHOLDS.reference_moved_m
    }
    return sorted(moved | set(history.picked_up))


def make_absent(rng: np.random.Generator, seed: int, split: Split) -> AbsentTask | None:
    """Pick up an object that is not there."""
    named, *there = drawn_products(rng, split, 2, lambda item: item.graspable)
    scene = draw_scene(rng, split, there, lambda item: sentences.could_mean(named, item), count=7)
    if scene is None or any(sentences.could_mean(named, placed.asset) for placed in scene.objects):
        return None
    text = say_command(rng, split, CommandWords(named))
    return AbsentTask("absent", seed, split, text, scene, (named,), layout_of(scene.objects))
