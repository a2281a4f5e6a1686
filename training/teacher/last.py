"""How LAST's tools answer questions: counts, and 3D points of named objects."""

from __future__ import annotations

import math
import re

from toolhand.agent_node.policies.scripted.steps import Done, Script
from toolhand.agent_node.policies.scripted.transcript import Response
from toolhand.tool_nodes.results import ErrorCode
from toolhand.training.teacher.reading import ReadQuestion
from toolhand.training.teacher.steps import Asking, Unread, after, asked, numbers, side_of, yes_no_or_letter

_IMAGE = "image-0"


def count(question: ReadQuestion) -> Script:
    """Count what is detected."""
    name = question.blanks["a"]

    def read(response: Response) -> str:
        found = re.search(r"count (\d+)", response.text)
        if found is None:
            raise Unread(f"no {name} are found", ErrorCode.OBJECT_NOT_FOUND)
        return found[1]

    found = yield from asked(
        f"How many {name} are found?", read, ("CountObjects", {"img_path": _IMAGE, "text_labels": [name]})
    )
    raise Done(f"There are {found}.", found)


def _places(question: ReadQuestion) -> Asking[list[list[float]]]:
    names = [question.blanks["a"], question.blanks["b"]]

    def read(response: Response) -> list[list[float]]:
        lines = response.text.splitlines()
        found = [next((line for line in lines if line.startswith(f"{name} 1:")), None) for name in names]
        if None in found:
            raise Unread("they are not both found", ErrorCode.OBJECT_NOT_FOUND)
        return [numbers(after(str(line), "1:"), 3) for line in found]

    return (
        yield from asked(
            f"Where are the {names[0]} and the {names[1]} in space?",
            read,
            ("Get3DPoint", {"img_path": _IMAGE, "text_labels": names}),
        )
    )


def depth(question: ReadQuestion) -> Script:
    """Compare the third coordinates."""
    first, second = yield from _places(question)
    raise Done(f"A is at {first[2]:.2f} m and B at {second[2]:.2f} m.", "A" if first[2] < second[2] else "B")


def distance(question: ReadQuestion) -> Script:
    """The distance of two 3D points."""
    first, second = yield from _places(question)
    raise Done("That is as far as it is from the one point to the other.", f"{math.dist(first, second):.3f}")


def relation(question: ReadQuestion) -> Script:
    """Compare two 3D points."""
    (x0, y0, z0), (x1, y1, z1) = yield from _places(question)
    words = side_of(x0 - x1, math.copysign(math.hypot(y0 - y1, z0 - z1), z0 - z1))
    raise Done(f"The first one is {words} the second.", yes_no_or_letter(question, words))


SCRIPTS = {"count": count, "depth": depth, "distance": distance, "yes_no": relation, "choice": relation}
"""Kind -> script."""
