"""How LAST's tools answer questions: counts, and 3D points of named things."""

from __future__ import annotations

import math
import re
from typing import Any

from agent_node.policies.scripted.steps import Done, Script
from training.teacher.reading import ReadQuestion
from training.teacher.steps import after, asked, no_answer, numbers, side_of, yes_no_or_letter

_IMAGE = "image-0"


def count(question: ReadQuestion) -> Script:
    """Count what is detected."""
    name = question.blanks["a"]
    (response,) = yield from asked(
        f"How many {name} are found?", ("CountObjects", {"img_path": _IMAGE, "text_labels": [name]})
    )
    found = re.search(r"count (\d+)", response.text)
    if found is None:
        raise no_answer(f"no {name} are found")
    raise Done(f"There are {found[1]}.", found[1])


def _places(question: ReadQuestion) -> Any:
    names = [question.blanks["a"], question.blanks["b"]]
    (response,) = yield from asked(
        f"Where are the {names[0]} and the {names[1]} in space?",
        ("Get3DPoint", {"img_path": _IMAGE, "text_labels": names}),
    )
    lines = [line for name in names for line in response.text.splitlines() if line.startswith(f"{name} 1:")]
    if len(lines) < 2:
        raise no_answer("they are not both found")
    return [numbers(after(line, "1:"))[:3] for line in lines]


def depth(question: ReadQuestion) -> Script:
    """Compare the third coordinates."""
    first, second = yield from _places(question)
    raise Done(f"A is at {first[2]:.2f} m and B at {second[2]:.2f} m.", "A" if first[2] < second[2] else "B")


def distance(question: ReadQuestion) -> Script:
    """The distance of two 3D points."""
    first, second = yield from _places(question)
    raise Done("From point to point.", f"{math.dist(first, second):.3f}")


def relation(question: ReadQuestion) -> Script:
    """Compare two 3D points."""
    (x0, y0, z0), (x1, y1, z1) = yield from _places(question)
    words = side_of(x0 - x1, math.copysign(math.hypot(y0 - y1, z0 - z1), z0 - z1))
    raise Done(f"The first one is {words} the second.", yes_no_or_letter(question, words))


SCRIPTS = {"count": count, "depth": depth, "distance": distance, "yes_no": relation, "choice": relation}
"""Kind -> script."""
