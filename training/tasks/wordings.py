"""In which form questions want their answers, and words that every split shares; `sayings` has the questions."""

from __future__ import annotations

POINT_FORM = "Answer with one point [x, y], each from 0 to 1, measured from the top left of the picture."

FORMS: dict[str, str] = {
    "point": POINT_FORM,
    "free_space": POINT_FORM,
    "depth": "Answer with A or B.",
    "count": "Answer with a whole number in digits.",
    "box": "Answer with [x1, y1, x2, y2], top left and bottom right corner, each from 0 to 1.",
    "pose": "Answer with a list of eight points [x, y], each from 0 to 1, in any order.",
    "grasp": "Your answer should be as Grasp center: [], Left finger base: [], Right finger base: [], "
    "Left finger tip: [], Right finger tip: [].",
    "size": "Answer with a number of metres.",
    "distance": "Answer with a number of metres.",
    "yes_no": "Answer with yes or no.",
    "choice": "{options} Answer with the letter.",
    "map_route": "Answer with the points [x, y] of the path in order, each from 0 to 1, measured from the top left.",
    "map_stations": "Answer with their names, separated by commas.",
    "small_print": "Answer with the lot number alone.",
}
"""Kind -> the form of the answer, one sentence that ends every question of the kind."""

SIDE_WORDS = {"left": "left of", "right": "right of", "front": "in front of", "behind": "behind"}
"""Side as the camera sees it -> words between two objects."""

PLURALS = {
    "can": "cans",
    "bottle": "bottles",
    "jar": "jars",
    "carton": "cartons",
    "box": "boxes",
    "cup": "cups",
    "ball": "balls",
}
"""Kinds of the catalogue that are counted, with the word for several."""
