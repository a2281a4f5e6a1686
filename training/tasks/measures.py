"""Questions that are answered with a number or a comparison of two: depth, counts, sizes, distances."""

from __future__ import annotations

import numpy as np

from toolhand.sim.objects.products import PRODUCTS
from toolhand.sim.tasks import sentences
from toolhand.training.rewards import evic, last, peria, spacetools
from toolhand.training.tasks import answers
from toolhand.training.tasks.boxes import extents_of
from toolhand.training.tasks.drawn import draw_asked, draw_pair, draw_scene, is_plain
from toolhand.training.tasks.question import Marking, QuestionTask, Truth, asked_of_table, worded
from toolhand.training.tasks.seen import SeenScene
from toolhand.training.tasks.splits import Split, layout_of, products_of
from toolhand.training.tasks.wordings import PLURALS

CLEARLY_NEARER_M = 0.06
"""Least difference by which one of two objects is nearer, between middles and nearest parts alike [m]."""
LEAST_DISTANCE_M = 0.10
"""Smaller distances are not asked for [m]: there the middles themselves are a matter of opinion."""
MOST_COUNTED = 4
"""The largest number that is asked for [-]: each from 1 on is as frequent."""
ALPHA_METRES, ALPHA_COUNT = 10.0, 1.0
"""Alpha of LAST's reward of numbers, which the paper does not give: an error of 7 cm scores a half [1/m], one of 1
scores 0.37 [-]."""

LETTERS = ("a", "b", "c", "d")
"""Options of a choice, as answers are compared."""


def _choice_terms(said: str, truth: Truth) -> dict[str, float]:
    return {
        "spacetools.choice": spacetools.choice(said, truth),
        "evic.choice": evic.choice(said, truth),
        "last.choice": last.correct_choice(said, truth),
    }


def choice_marking(options: tuple[str, ...]) -> Marking:
    """One of some letters."""
    return Marking(
        lambda answer: answers.option(answer, options),
        _choice_terms,
        lambda terms: terms["spacetools.choice"] == 1.0,
        "the right letter",
        ("spacetools.choice", "evic.choice", "last.choice"),
    )


DEPTH = choice_marking(LETTERS[:2])


def _number_terms(said: float, truth: Truth) -> dict[str, float]:
    return {
        "last.number": last.correct_number(said, truth, ALPHA_METRES),
        "evic.mra": evic.mra(said, truth),
        "close": float(last.right_number(said, truth, as_printed=False)),
    }


METRES = Marking(
    answers.metres,
    _number_terms,
    lambda terms: terms["close"] == 1.0,
    f"within {100 * last.MARGIN:g} %",
    ("last.number", "evic.mra", "close"),
)


def _count_terms(said: int, truth: Truth) -> dict[str, float]:
    return {
        "evic.mra": evic.mra(said, truth),
        "peria.answer": peria.answers_match(str(said), str(truth)),
        "last.number": last.correct_number(said, truth, ALPHA_COUNT),
    }


COUNT = Marking(
    answers.count,
    _count_terms,
    lambda terms: terms["peria.answer"] == 1.0,
    "the right number",
    ("evic.mra", "peria.answer", "last.number"),
)


def make_depth(rng: np.random.Generator, seed: int, split: Split, fate: float) -> QuestionTask | None:
    """Which of two objects is nearer to the camera."""
    nearer_first, drawn = fate < 0.5, draw_pair(rng, split)
    if drawn is None:
        return None
    seen, pair, names = drawn
    by_middle = seen.distance(pair[1]) - seen.distance(pair[0])
    by_front = seen.nearest(pair[1]) - seen.nearest(pair[0])
    if min(abs(by_middle), abs(by_front)) < CLEARLY_NEARER_M or by_middle * by_front < 0:
        return None
    asked = names if (by_middle > 0) == nearer_first else names[::-1]
    return asked_of_table(rng, "depth", seed, split, seen.scene, "A" if nearer_first else "B", asked, DEPTH)


def make_count(rng: np.random.Generator, seed: int, split: Split, fate: float) -> QuestionTask | None:
    """How many objects of a kind stand on the table."""
    number = 1 + int(fate * MOST_COUNTED)
    own = [PRODUCTS[name] for name in products_of(split) if is_plain(PRODUCTS[name])]
    kinds = [kind for kind in PLURALS if any(item.kind == kind for item in own)]
    kind = kinds[int(rng.integers(len(kinds)))]
    names = [item.name for item in own if item.kind == kind]
    counted = [names[int(rng.integers(len(names)))] for _ in range(number)]
    scene = draw_scene(rng, split, counted, lambda item: sentences.could_mean(kind, item), count=max(5, number + 2))
    if scene is None:
        return None
    seen = SeenScene(scene)
    if not all(seen.clear(placed) for placed in scene.objects[:number]):
        return None
    text = worded(rng, "count", split, a=PLURALS[kind])
    layout = layout_of(scene.objects)
    return QuestionTask("count", seed, split, text, scene, number, tuple(dict.fromkeys(counted)), layout, COUNT)


def make_size(rng: np.random.Generator, seed: int, split: Split) -> QuestionTask | None:
    """How tall an object is."""
    asked = draw_asked(rng, split, is_plain)
    if asked is None:
        return None
    seen, target, name = asked
    truth = float(extents_of(target.item)[2])
    return asked_of_table(rng, "size", seed, split, seen.scene, truth, (name,), METRES)


def make_distance(rng: np.random.Generator, seed: int, split: Split) -> QuestionTask | None:
    """How far apart the middles of two objects are."""
    drawn = draw_pair(rng, split)
    if drawn is None:
        return None
    seen, pair, names = drawn
    truth = float(np.linalg.norm(np.subtract(pair[0].position_m, pair[1].position_m)))
    if truth < LEAST_DISTANCE_M:
        return None
    return asked_of_table(rng, "distance", seed, split, seen.scene, truth, names, METRES)
