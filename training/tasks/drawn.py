"""Scenes for questions: of a split's own products and layouts, with objects that words single out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from toolhand.sim.objects.asset import ObjectAsset
from toolhand.sim.objects.products import PRODUCTS
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import PlacedObject, Scene
from toolhand.sim.tasks import sentences
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.tasks.seen import SeenScene
from toolhand.training.tasks.splits import Split, layout_of, products_of, split_of_layout

FEWEST, MOST = 5, 7
"""Objects on the table of a question [-]: more of them take longer to arrange than to look at."""


def draw_scene(
    rng: np.random.Generator,
    split: Split,
    required: Sequence[str],
    forbidden: Callable[[ObjectAsset], bool] = lambda item: False,
    count: int | None = None,
    arrangement_ok: Callable[[Sequence[PlacedObject]], bool] = lambda objects: True,
) -> Scene | None:
    """A random scene whose products and layout belong to a split; None where no arrangement was found.

    Args:
        rng: Decides everything.
        split: Split with the products and layouts.
        required: Names of the split's products that must be there, the first objects of the scene.
        forbidden: Which others may not be there.
        count: How many objects; FEWEST to MOST, drawn, where None.
        arrangement_ok: A further condition on the arrangement.
    """
    common = frozenset(products_of("train"))
    number = count or max(int(rng.integers(FEWEST, MOST + 1)), len(required))
    try:
        scene = generate_scene(
            int(rng.integers(2**31)),
            required,
            lambda item: item.name not in common or forbidden(item),
            number,
            lambda objects: split_of_layout(layout_of(objects)) == split and arrangement_ok(objects),
        )
    except ToolError as error:
        if error.code is not ErrorCode.INVALID_ARGUMENT:
            raise
        return None
    return replace(scene, name=f"{split} scene {scene.seed}")


def drawn_products(
    rng: np.random.Generator,
    split: Split,
    count: int,
    fits: Callable[[ObjectAsset], bool] = lambda item: True,
) -> list[str]:
    """Different products of a split that fit, in random order; fewer where there are not so many."""
    names = [name for name in products_of(split) if fits(PRODUCTS[name])]
    return [names[k] for k in rng.permutation(len(names))[:count]]


def called(scene: Scene, placed: PlacedObject) -> str | None:
    """Words that mean this object and no other of the scene; None where there are none."""
    phrases = sentences.unique_descriptions(placed.asset, [other.asset for other in scene.objects])
    return placed.item if placed.item in phrases else None


def draw_asked(
    rng: np.random.Generator, split: Split, fits: Callable[[ObjectAsset], bool]
) -> tuple[SeenScene, PlacedObject, str] | None:
    """A random scene as it is seen, an object of it that may be asked about, and what that is called; None for a miss.

    Args:
        rng: Decides everything.
        split: Split with the products and layouts.
        fits: Which products may be asked about.
    """
    scene = draw_scene(rng, split, drawn_products(rng, split, 1, fits))
    if scene is None:
        return None
    seen, target = SeenScene(scene), scene.objects[0]
    name = called(scene, target)
    return None if name is None or not seen.clear(target) else (seen, target, name)


def draw_pair(
    rng: np.random.Generator, split: Split
) -> tuple[SeenScene, tuple[PlacedObject, PlacedObject], tuple[str, str]] | None:
    """A random scene as it is seen, two of its objects that are clear to see, and what they are called; None for a
    miss."""
    scene = draw_scene(rng, split, drawn_products(rng, split, 2, is_plain))
    if scene is None:
        return None
    seen, first, second = SeenScene(scene), *scene.objects[:2]
    names = called(scene, first), called(scene, second)
    if names[0] is None or names[1] is None or not (seen.clear(first) and seen.clear(second)):
        return None
    return seen, (first, second), (names[0], names[1])


def is_plain(item: ObjectAsset) -> bool:
    """Whether a product is opaque and closed, so that its middle and its box are no matter of opinion."""
    return not item.container and item.colour != "transparent"
