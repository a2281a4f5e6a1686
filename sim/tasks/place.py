"""Pick up one object and put it somewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from toolhand.sim.objects.products import PRODUCTS
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import PlacedObject
from toolhand.sim.tasks import sentences
from toolhand.sim.tasks.arrangement import one_described, placeable
from toolhand.sim.tasks.predicates import RELATIONS, THRESHOLDS, PlaceRelation, Relation, judge_place
from toolhand.sim.tasks.stages import place_stages
from toolhand.sim.tasks.task import Category, History, SceneTask, Score, Transcript, held_ids
from toolhand.tool_nodes.language.relations import RELATION_WORDS

_TOPS = ("red box", "tea box", "sugar box")
"""What small objects are put on."""
_SMALL = ("cinnamon", "basil", "salt", "toy block", "tuna can")
"""What is put on them."""
_MOVED_RADIUS = 0.058
"""Objects with a wider footprint are not moved [m]."""


@dataclass(frozen=True)
class PlaceTask(SceneTask):
    """The operator names an object and a place for it: in, on, beside, between or anywhere on the table.

    **Randomised**: the scene, the object, the relation and its references, and the words for them, which fit nothing
    else. The relation does not hold before, and there is a reachable spot where it would.

    **Success**: `picked` and `placed`. One of the targets, and nothing else, was lifted for `hold_s` at some time; then
    it stands where it should, let go and still, with nothing moved or toppled that should not be; see
    `predicates.judge_place` and `predicates.THRESHOLDS`.

    Attributes:
        target_ids: The objects to pick; any one of them counts.
    """

    target_ids: tuple[str, ...]
    relation: PlaceRelation
    reference_ids: tuple[str, ...] = ()
    category: ClassVar[Category] = "pick_and_place"
    holds_s: ClassVar[tuple[float, ...]] = (THRESHOLDS.hold_s, THRESHOLDS.still_s)
    """What is still in the hand was lifted too: it is given the time; then what was put down lies still."""

    @property
    def goal(self) -> str:
        """See Task."""
        where = RELATION_WORDS.get(self.relation, self.relation)
        return f"pick {' or '.join(self.target_ids)}, place {where} {' and '.join(self.reference_ids)}".rstrip()

    def score(self, history: History, transcript: Transcript) -> Score:
        """See Task; the terms are `picked` and `placed`, and without the first there is not the second."""
        stages = place_stages(history, self.target_ids, self.relation, self.reference_ids)
        up = tuple(sorted(history.picked_up))
        lifted = history.lifted | held_ids(history.before)
        right = lifted & set(self.target_ids)
        if len(right) != 1 or lifted != right:
            lifts = f"lifted: {', '.join(sorted(lifted)) or 'nothing'}"
            return Score({"picked": False, "placed": False}, False, (lifts,), stages, up, self.target_ids)
        (moved,) = right
        verdict = judge_place(
            history.scene,
            history.before,
            history.holds[-1],
            moved,
            self.relation,
            self.reference_ids,
            history.T_base_camera,
        )
        terms = {"picked": True, "placed": verdict.ok}
        return Score(terms, verdict.ok, verdict.reasons, stages, up, self.target_ids)


def random_place(rng: np.random.Generator) -> PlaceTask | None:
    """A random task; None where the scene that was drawn has none that can be put in words and carried out."""
    relation = RELATIONS[int(rng.integers(len(RELATIONS)))]
    required: list[str] = []
    if relation == "in":
        required = [sentences.choose(rng, [i.name for i in PRODUCTS.values() if i.container])]
    elif relation == "on":
        required = [sentences.choose(rng, _TOPS), sentences.choose(rng, _SMALL)]
    scene = generate_scene(int(rng.integers(2**31)), required)
    moved = one_described(rng, scene, [p for p in scene.objects if _movable(p, relation)])
    if moved is None:
        return None
    target, target_phrase = moved
    others = [placed for placed in scene.objects if placed.id != target.id and _refers(placed, relation)]
    references: list[tuple[PlacedObject, str]] = []
    for _ in range(2 if relation == "between" else 1):
        found = one_described(rng, scene, [p for p in others if all(p.id != r.id for r, _ in references)])
        if found is None:
            return None
        references.append(found)
    if not placeable(scene.objects, target, relation, [placed for placed, _ in references]):
        return None
    where = sentences.choose(rng, sentences.WHERE[relation]).format(*(f"the {phrase}" for _, phrase in references))
    text = sentences.choose(rng, sentences.PICK_AND_PLACE).format(target=f"the {target_phrase}", where=where)
    return PlaceTask(text, scene, (target.id,), relation, tuple(p.id for p, _ in references))


def _movable(placed: PlacedObject, relation: Relation) -> bool:
    if relation == "on":
        return placed.item in _SMALL
    return placed.asset.graspable and placed.asset.outer_radius <= _MOVED_RADIUS


def _refers(placed: PlacedObject, relation: Relation) -> bool:
    if relation == "in":
        return placed.asset.container
    return placed.item in _TOPS if relation == "on" else True
