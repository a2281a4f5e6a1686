"""Words that are not to be carried out as a pick or a placement: negations, conditions, questions, other deeds."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from toolhand.sim.tasks.task import History, Score, Transcript
from toolhand.tool_nodes.plain_yaml import load
from toolhand.training.tasks.absent import AbsentTask, moved_objects
from toolhand.training.tasks.drawn import draw_scene, drawn_products
from toolhand.training.tasks.splits import Split, layout_of


class RefusalTask(AbsentTask):
    """The operator names objects that are there, in words that bind more than a pick or a placement.

    **Randomised**: the scene and the objects; the sentences come in turn, by the seed.

    **Success**: it has left everything where it was, within `reference_moved_m`, and claims no deed: it asks
    or refuses.
    """

    names = ("left alone", "claimed nothing")

    @property
    def goal(self) -> str:
        """See Task."""
        return "move nothing, and ask or refuse"

    def score(self, history: History, transcript: Transcript) -> Score:
        """See Task; the terms are `names`."""
        moved = moved_objects(history)
        terms = {"left alone": not moved, "claimed nothing": transcript.error_code is not None}
        why = {"left alone": f"it moved {', '.join(moved)}", "claimed nothing": "it says that it has done it"}
        reasons = tuple(why[name] for name, true in terms.items() if not true)
        return Score(terms, not reasons, reasons, picked_up=tuple(sorted(history.picked_up)))


@cache
def refused_sentences() -> tuple[str, ...]:
    """The sentences, with {a} for an object that is there and {b} for another one."""
    return tuple(load((Path(__file__).parent / "said" / "refusals.yaml").read_bytes())["said"])


def make_refusal(rng: np.random.Generator, seed: int, split: Split) -> AbsentTask | None:
    """Words about two objects that are there."""
    first, second = drawn_products(rng, split, 2, lambda item: item.graspable)
    scene = draw_scene(rng, split, (first, second), lambda item: item.name in (first, second), count=7)
    if scene is None:
        return None
    said = refused_sentences()
    text = said[seed % len(said)].format(a=first, b=second)
    return RefusalTask("refusals", seed, split, text, scene, (first, second), layout_of(scene.objects))
