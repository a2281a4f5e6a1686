"""How PERIA's tools answer questions: reading what is printed, finding what is drawn, and looking closer."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from toolhand.agent_node.policies.scripted.steps import Done, Script
from toolhand.agent_node.policies.scripted.transcript import Response
from toolhand.tool_nodes.types import FloatArray
from toolhand.training.teacher.reading import ReadQuestion
from toolhand.training.teacher.steps import (
    Asking,
    Unread,
    asked,
    boxed,
    listed,
    no_answer,
    one,
    result_json,
    side_of,
    yes_no_or_letter,
)

_LOT = re.compile(r"\b([A-Z]\s?\d\s?-\s?\d{4})\b")


WIDER = 4 / 3
"""Width of the camera's images by their height [-]."""


def count(question: ReadQuestion) -> Script:
    """Count by a concept."""
    name = question.blanks["a"]
    found = yield from asked(
        f"How many {name}?",
        lambda response: result_json(response, "count", int),
        ("concept_count", {"image_index": 0, "text_prompt": name}),
    )
    raise Done(f"There are {found}.", str(found))


def _boxes(key: str) -> Callable[[Response], list[FloatArray]]:
    """Reads the boxes (4,), normalized, that an answer lists."""
    return lambda response: [boxed(item) for item in result_json(response, key, list)]


def _detected(name: str) -> Asking[FloatArray]:
    found = yield from asked(
        f"Where is the {name}?", _boxes("objects"), ("grounding_dino", {"image_index": 0, "question": name})
    )
    if not found:
        raise no_answer(f"the {name} is not found")
    return found[0]


def box(question: ReadQuestion) -> Script:
    """The detector's box."""
    found = yield from _detected(question.blanks["a"])
    raise Done("The detector frames it.", one(found))


def point(question: ReadQuestion) -> Script:
    """The middle of the detector's box."""
    x1, y1, x2, y2 = yield from _detected(question.blanks["a"])
    raise Done("The middle of its box.", one([(x1 + x2) / 2, (y1 + y2) / 2]))


def yes_no(question: ReadQuestion) -> Script:
    """Compare the boxes' feet: on a table that is seen from above, what is higher in the image is farther away."""
    first = yield from _detected(question.blanks["a"])
    second = yield from _detected(question.blanks["b"])
    right = (first[0] + first[2] - second[0] - second[2]) / 2 * WIDER
    words = side_of(right, second[3] - first[3])
    raise Done(f"The first one is {words} the second.", yes_no_or_letter(question, words))


def _spotted() -> Asking[list[tuple[str, FloatArray]]]:
    """Words and their boxes (4,), normalized."""

    def read(response: Response) -> list[tuple[str, FloatArray]]:
        items = result_json(response, "items", list)
        return [(str(item.get("text", "")), found) for item, found in zip(items, map(boxed, items), strict=True)]

    return (yield from asked("What is printed where?", read, ("text_spotting", {"image_index": 0})))


def _ride(question: ReadQuestion) -> Asking[tuple[list[str], FloatArray]]:
    """(names, stops (N, 2)) of the stations of the line from the first to the last one, in order."""
    first, last, line = (question.blanks[key] for key in ("a", "b", "line"))
    texts = yield from _spotted()
    boxes = yield from asked(
        f"And where does the {line} line stop?",
        _boxes("proposals"),
        ("text_segment", {"image_index": 0, "text_prompt": f"{line} circle"}),
    )
    stops = np.array([[(x1 + x2) / 2, (y1 + y2) / 2] for x1, y1, x2, y2 in boxes]).reshape(-1, 2)
    if len(stops) < 2 or not texts:
        raise no_answer(f"the {line} line is not found")
    stops = stops[np.argsort(stops[:, int(np.argmax(np.ptp(stops, axis=0)))])]
    names = [_name_at(stop, texts) for stop in stops]
    if first not in names or last not in names:
        raise no_answer(f"{first} and {last} are not both on the {line} line")
    start, end = names.index(first), names.index(last)
    order = list(range(start, end + 1)) if start <= end else list(range(start, end - 1, -1))
    return [names[k] for k in order], stops[order]


def _name_at(stop: FloatArray, texts: list[tuple[str, FloatArray]]) -> str:
    """The text that is nearest above a stop."""
    return min(texts, key=lambda item: float(np.hypot((item[1][0] + item[1][2]) / 2 - stop[0], item[1][3] - stop[1])))[
        0
    ]


def map_route(question: ReadQuestion) -> Script:
    """Follow a line's stops in order."""
    _, stops = yield from _ride(question)
    raise Done("From stop to stop.", listed(stops))


def map_stations(question: ReadQuestion) -> Script:
    """Name the stops between two."""
    names, _ = yield from _ride(question)
    raise Done("Those lie between.", ", ".join(names[1:-1]))


def _image(response: Response) -> int:
    """Index of the image that came back."""
    if response.image_index is None:
        raise Unread("no picture came back")
    return response.image_index


def small_print(question: ReadQuestion) -> Script:
    """Find a package by its large name, crop it, and read the crop."""
    name = question.blanks["a"]
    texts = yield from _spotted()
    place = next((found for text, found in texts if text.casefold() == name), None)
    if place is None:
        raise no_answer(f"no package is called {name}")
    left, top = max(place[0] - 0.03, 0.0), max(place[1] - 0.02, 0.0)
    region = [round(1000 * value) for value in (left, top, min(left + 0.29, 1.0), min(top + 0.42, 1.0))]
    corners = ",".join(map(str, region))
    crop = yield from asked(
        f"The small print is too small here; I look closer at the {name}.",
        _image,
        ("image_crop", {"image_index": 0, "bounding_box": f"\\boxed{{{corners}}}"}),
    )
    text = yield from asked(
        "What does it say?", lambda response: result_json(response, "text", str), ("text_ocr", {"image_index": crop})
    )
    lot = _LOT.search(text)
    if lot is None:
        raise no_answer("no lot number can be read")
    raise Done("There it is.", lot[1].replace(" ", ""))


SCRIPTS = {
    "count": count,
    "box": box,
    "point": point,
    "map_route": map_route,
    "map_stations": map_stations,
    "small_print": small_print,
    "yes_no": yes_no,
}
"""Kind -> script."""
