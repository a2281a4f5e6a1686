"""Questions about how two objects stand to each other: yes or no, and one of four."""

from __future__ import annotations

import numpy as np

from toolhand.sim.scene.scenes import SIDES, Scene, Side
from toolhand.sim.tasks.arrangement import CLEAR_M
from toolhand.training.rewards import peria, spacetools
from toolhand.training.tasks.answers import option
from toolhand.training.tasks.drawn import draw_pair
from toolhand.training.tasks.measures import LETTERS, choice_marking
from toolhand.training.tasks.question import Marking, QuestionTask, Truth, asked_of_table
from toolhand.training.tasks.splits import Split
from toolhand.training.tasks.wordings import SIDE_WORDS

STEEPEST = 0.6
"""Objects are beside each other in one direction where they are apart across it by no more than this, by the distance
along it: 31 degrees, far from the 45 where it becomes another one [-]."""
CLEAR_IN_IMAGE = 0.05
"""And left or right in the image by this, so that perspective changes nothing [image widths]."""

_OPPOSITE: dict[Side, Side] = {"left": "right", "right": "left", "front": "behind", "behind": "front"}


def _yes_no_terms(said: str, truth: Truth) -> dict[str, float]:
    return {
        "peria.answer": peria.answers_match(said, truth),
        "spacetools.choice": spacetools.choice(_plain(said), truth),
    }


def _plain(said: str) -> str:
    return "yes" if said in peria.YES else "no"


YES_NO = Marking(
    lambda answer: option(answer, tuple(sorted(peria.YES | peria.NO))),
    _yes_no_terms,
    lambda terms: terms["peria.answer"] == 1.0,
    "the right one of yes and no",
    ("peria.answer", "spacetools.choice"),
)
CHOICE = choice_marking(LETTERS)


def make_yes_no(rng: np.random.Generator, seed: int, split: Split, fate: float) -> QuestionTask | None:
    """Whether one object is left of, right of, in front of or behind another; yes as often as no."""
    yes = fate < 0.5
    drawn = _pair(rng, split)
    if drawn is None:
        return None
    scene, names, side = drawn
    asked = side if yes else _OPPOSITE[side]
    return asked_of_table(rng, "yes_no", seed, split, scene, "yes" if yes else "no", names, YES_NO, side=asked)


def make_choice(rng: np.random.Generator, seed: int, split: Split, fate: float) -> QuestionTask | None:
    """Which of four relations holds; each letter as often."""
    correct = int(fate * len(LETTERS))
    drawn = _pair(rng, split)
    if drawn is None:
        return None
    scene, names, side = drawn
    others = [other for other in SIDES if other != side]
    order = [others[k] for k in rng.permutation(len(others))]
    order.insert(correct, side)
    options = ", ".join(f"{letter.upper()}) {SIDE_WORDS[one]} it" for letter, one in zip(LETTERS, order, strict=True))
    truth = LETTERS[correct].upper()
    return asked_of_table(rng, "choice", seed, split, scene, truth, names, CHOICE, options=f"{options}.")


def _pair(rng: np.random.Generator, split: Split) -> tuple[Scene, tuple[str, str], Side] | None:
    """A scene, two of its objects by name, and on which side of the second one the first one clearly stands."""
    drawn = draw_pair(rng, split)
    if drawn is None:
        return None
    seen, pair, names = drawn
    offset = np.subtract(pair[0].position_m, pair[1].position_m)[:2]
    side = max(SIDES, key=lambda one: float(offset @ np.asarray(SIDES[one])))
    along = float(offset @ np.asarray(SIDES[side]))
    across = float(abs(offset @ np.asarray(SIDES[side])[::-1]))
    if along < CLEAR_M or across > STEEPEST * along:
        return None
    if side in ("left", "right"):
        (x0, _), (x1, _) = seen.project(np.array([placed.position_m for placed in pair]))
        if (x0 - x1) * (1 if side == "right" else -1) < CLEAR_IN_IMAGE:
            return None
    else:
        by_front = (seen.nearest(pair[0]) - seen.nearest(pair[1])) * (1 if side == "behind" else -1)
        if by_front <= 0:
            return None
    return seen.scene, names, side
