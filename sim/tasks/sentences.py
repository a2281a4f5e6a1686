"""What operators say: the paper's sentences with what each needs on the table, and words for generated ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from toolhand.sim.objects.asset import ObjectAsset
from toolhand.sim.scene.scenes import Side
from toolhand.sim.tasks.predicates import Relation
from toolhand.tool_nodes.catalogue import Description

PICK = (
    "Pick up {target}",
    "Pick up {target}, please",
    "Grab {target}",
    "Take {target}",
    "Please pick up {target}",
    "Get {target}",
)

PICK_AND_PLACE = (
    "Pick up {target} and place it {where}",
    "Pick up {target} and put it {where}",
    "Take {target} and place it {where}",
    "Grab {target} and put it {where}",
    "Put {target} {where}",
    "Place {target} {where}",
    "Move {target} {where}",
)

WHERE: dict[Relation, tuple[str, ...]] = {
    "in": ("in {0}", "into {0}", "inside {0}"),
    "on": ("on {0}", "on top of {0}", "onto {0}"),
    "left_of": ("left of {0}", "to the left of {0}"),
    "right_of": ("right of {0}", "to the right of {0}"),
    "in_front_of": ("in front of {0}",),
    "behind": ("behind {0}",),
    "next_to": ("next to {0}", "beside {0}"),
    "between": ("between {0} and {1}",),
}

SUPERLATIVES: dict[str, tuple[str, ...]] = {
    "left": ("the leftmost {0}", "the {0} furthest to the left"),
    "right": ("the rightmost {0}", "the {0} furthest to the right"),
    "front": ("the nearest {0}", "the {0} closest to the camera"),
    "behind": ("the farthest {0}", "the {0} furthest from the camera"),
}
"""Words for the one of several that is furthest to a side; {0} names the group."""

COMPARATIVES: dict[str, tuple[str, ...]] = {
    "left": ("the left {0}", "the {0} on the left"),
    "right": ("the right {0}", "the {0} on the right"),
    "front": ("the near {0}", "the {0} that is closer to the camera", "the nearer {0}"),
    "behind": ("the far {0}", "the {0} that is further from the camera", "the further {0}"),
}
"""Words for the one of exactly two that is further to a side."""


def choose(rng: np.random.Generator, options: Sequence[str]) -> str:
    """One of several wordings."""
    return options[int(rng.integers(len(options)))]


def could_mean(phrase: str, item: Description) -> bool:
    """True if every word of a phrase occurs somewhere in what is said of an item.

    Deliberately generous: a phrase that only one object of a scene could mean is unambiguous for any listener.
    """
    said = {word for text in (*item.words, item.secondary_colour or "") for word in text.split()}
    return set(phrase.split()) <= said


_NOUNS = (
    "condiment",
    "container",
    "dessert",
    "drink",
    "food",
    "fruit",
    "juice",
    "sauce",
    "snack",
    "soda",
    "spice",
    "toy",
)
"""Categories that name an object, as in "the condiment"."""


def descriptions(item: Description) -> list[str]:
    """Ways to refer to an item without an article, most specific first."""
    phrases = [item.name, *item.synonyms, f"{item.colour} {item.kind}", f"{item.colour} object", item.kind]
    phrases += [f"{attribute} {item.kind}" for attribute in item.attributes]
    phrases += [category for category in item.categories if category in _NOUNS]
    return list(dict.fromkeys(phrases))


def unique_descriptions(item: Description, scene_items: Sequence[Description]) -> list[str]:
    """Descriptions of an item that no other object of the scene could mean.

    Args:
        scene_items: The item of every object in the scene, the described one included once.
    """
    return [phrase for phrase in descriptions(item) if sum(_fits(phrase, other) for other in scene_items) == 1]


def _fits(phrase: str, item: Description) -> bool:
    return could_mean(phrase.removesuffix(" object"), item)


# ---- The paper's sentences ----

Forbids = Callable[[ObjectAsset], bool]


@dataclass(frozen=True)
class Recipe:
    """What a sentence needs on the table.

    Attributes:
        targets: One of these names is the object to pick.
        copies: How many of the target there are; the one furthest to `side` is meant.
        side: Which of the copies, None if there is one.
        relation: Place relation, see Task.
        references: Lists of names; one of each is there as a reference.
        also: Lists of names; one of each is there to be confused with.
        forbids: Objects that must not be there because the sentence could mean them.
    """

    text: str
    targets: tuple[str, ...]
    forbids: Forbids
    copies: int = 1
    side: Side | None = None
    relation: Relation | None = None
    references: tuple[tuple[str, ...], ...] = ()
    also: tuple[tuple[str, ...], ...] = ()


_PLUSH = ("teddy bear", "bunny", "plush frog")
_SOLID = ("pony", "toy car", "toy block")
_CONDIMENTS = ("ketchup", "mustard", "hot sauce", "soy sauce", "mayonnaise")


def _toyish(item: Description) -> bool:
    return "toy" in item.categories or item.kind == "ball" or "soft" in item.attributes


def _tall_cylinder(item: Description) -> bool:
    return {"tall", "cylindrical"} <= set(item.attributes) or item.kind == "tube" or item.name == "tennis ball"


def _reddish_box(item: ObjectAsset) -> bool:
    return item.shape in ("box", "carton") and "red" in f"{item.colour} {item.secondary_colour}"


def _dark(item: Description) -> bool:
    return item.colour in ("blue", "dark blue", "black") or item.secondary_colour == "dark blue"


def _named(*words: str) -> Forbids:
    """Forbids whatever any of these phrases could mean."""
    return lambda item: any(could_mean(word, item) for word in words)


def _or_container(forbids: Forbids) -> Forbids:
    return lambda item: item.container or forbids(item)


RECIPES = (
    Recipe("Pick up the dark blue object", ("pasta box", "dark blue cup"), _dark),
    Recipe("Pick up the soft toy", _PLUSH, _toyish, also=(_SOLID,)),
    Recipe("Pick up the solid toy", _SOLID, _toyish, also=(_PLUSH,)),
    Recipe("Pick up the tall cylindrical tennis ball container", ("tennis ball tube",), _tall_cylinder),
    Recipe("Pick up the coconut water", ("coconut water",), _named("coconut")),
    Recipe("Pick up the plastic bottle", ("water bottle", "ketchup", "mustard", "shampoo"), _named("plastic bottle")),
    Recipe("Pick up the red box", ("red box",), _reddish_box),
    Recipe("Pick up the far coconut water", ("coconut water",), _named("coconut"), 2, "behind"),
    Recipe("Pick up the coconut water that is closer to the camera", ("coconut water",), _named("coconut"), 2, "front"),
    Recipe("Pick up the left pineapple juice can", ("pineapple juice",), _named("pineapple"), 2, "left"),
    Recipe("Pick up the right pineapple juice can", ("pineapple juice",), _named("pineapple"), 2, "right"),
    Recipe("Pick up the further purple drink", ("grape soda",), _named("purple"), 2, "behind"),
    Recipe("Pick up the near purple bottle", ("grape soda",), _named("purple"), 2, "front"),
    Recipe(
        "Pick up the hot dog and place it in the black bin",
        ("hot dog",),
        _or_container(_named("hot dog", "sausage")),
        relation="in",
        references=(("black bin",),),
    ),
    Recipe(
        "Pick up the tall cylindrical container and place it in the transparent bin",
        ("tennis ball tube",),
        _or_container(_tall_cylinder),
        relation="in",
        references=(("transparent bin",),),
    ),
    Recipe(
        "Pick up the leftmost condiment and place it in the transparent bin",
        _CONDIMENTS,
        _or_container(_named("condiment", "sauce")),
        side="left",
        relation="in",
        references=(("transparent bin",),),
        also=(_CONDIMENTS,),
    ),
    Recipe(
        "Pick up the cinnamon and place it in front of the rice box",
        ("cinnamon",),
        _named("cinnamon", "rice"),
        relation="in_front_of",
        references=(("rice box",),),
    ),
    Recipe(
        "Pick up the rice box and place it next to the hot sauce",
        ("rice box",),
        _named("rice", "hot sauce", "sauce"),
        relation="next_to",
        references=(("hot sauce",),),
    ),
    Recipe(
        "Pick up the plushie and place it left of the coconut water",
        _PLUSH,
        lambda item: item.kind == "plush" or "coconut" in item.name,
        relation="left_of",
        references=(("coconut water",),),
    ),
    Recipe(
        "Pick up the pony and place it left of the two plushies",
        ("pony",),
        lambda item: item.kind in ("plush", "figurine"),
        relation="left_of",
        references=(_PLUSH, _PLUSH),
    ),
)

PAPER_SENTENCES: tuple[str, ...] = tuple(recipe.text for recipe in RECIPES)
"""As printed in the paper's table, in its order: 7 picks, 6 relational picks, 7 pick and place."""
