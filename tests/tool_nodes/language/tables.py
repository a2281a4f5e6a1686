"""Two tables full of objects, as a perfect observer would describe them."""

from typing import Any

import numpy as np

from toolhand.tool_nodes.types import ObjectView


def make_object(name: str, kind: str, colour: str, x: float, y: float, **more: Any) -> ObjectView:
    """A view whose place on the table roughly follows its point in the image."""
    size = np.asarray(more.pop("size", (0.06, 0.06, 0.10)), float)
    z = float(more.pop("z", size[2] / 2))
    words = {key: tuple(value) for key, value in more.items() if key != "container"}
    return ObjectView(
        name=name,
        kind=kind,
        colour=colour,
        synonyms=words.get("synonyms", ()),
        categories=words.get("categories", ()),
        attributes=words.get("attributes", ()),
        point=(x, y),
        position_m=np.array([0.2 + 0.6 * y, 0.9 * (x - 0.5), z]),
        size_m=size,
        container=bool(more.get("container", False)),
    )


TOY = {"categories": ["toy"]}


DRINK = {"categories": ["drink"]}


JUICE = {"synonyms": ["pineapple juice can"], "categories": ["drink", "juice"]}


GRAPE = {"synonyms": ["purple drink"], "categories": ["drink", "soda"]}


PLUSH = TOY | {"attributes": ["soft"]}


TUBE = {
    "synonyms": ["tennis ball container"],
    "categories": ["container"],
    "attributes": ["tall", "cylindrical", "plastic"],
}


CONTAINER = {"categories": ["container"], "container": True}


TABLE = [
    make_object("coconut water", "carton", "turquoise", 0.30, 0.20, **DRINK),
    make_object("coconut water", "carton", "turquoise", 0.36, 0.70, **DRINK),
    make_object("red box", "box", "red", 0.60, 0.30, attributes=["cardboard", "rigid"]),
    make_object("pasta box", "box", "dark blue", 0.50, 0.80, categories=["food"], size=(0.05, 0.08, 0.15)),
    make_object("teddy bear", "plush", "brown", 0.72, 0.60, synonyms=["plushie", "stuffed animal"], **PLUSH),
    make_object("bunny", "plush", "pink", 0.82, 0.66, synonyms=["plushie", "rabbit"], **PLUSH),
    make_object("pony", "figurine", "light purple", 0.90, 0.20, attributes=["rigid"], size=(0.1, 0.04, 0.1), **TOY),
    make_object("tennis ball tube", "tube", "lime", 0.50, 0.50, size=(0.07, 0.07, 0.20), **TUBE),
    make_object("black bin", "bin", "black", 0.13, 0.50, size=(0.14, 0.17, 0.08), **CONTAINER),
    make_object("hot dog", "sandwich", "tan", 0.14, 0.49, categories=["food"], size=(0.13, 0.06, 0.04), z=0.03),
    make_object(
        "water bottle", "bottle", "light blue", 0.21, 0.82, synonyms=["water"], attributes=["plastic"], **DRINK
    ),
]


DRINKS = [
    make_object("pineapple juice", "can", "yellow", 0.20, 0.50, **JUICE),
    make_object("pineapple juice", "can", "yellow", 0.55, 0.52, **JUICE),
    make_object("cola", "can", "red", 0.80, 0.30, synonyms=["coke", "soda"], size=(0.05, 0.05, 0.14), **DRINK),
    make_object("grape soda", "bottle", "purple", 0.40, 0.20, **GRAPE),
    make_object("grape soda", "bottle", "purple", 0.44, 0.80, **GRAPE),
    make_object("blue cup", "cup", "blue", 0.70, 0.60, **CONTAINER),
    make_object("dark blue cup", "cup", "dark blue", 0.75, 0.75, **CONTAINER),
    make_object("orange", "fruit", "orange", 0.10, 0.20, categories=["fruit"]),
    make_object("orange juice", "carton", "orange", 0.90, 0.80, categories=["drink", "juice"]),
    make_object("tennis ball", "ball", "lime", 0.30, 0.90, **TOY),
]
