"""Marks of answers, 0 to 1, as the public sets' own evaluation gives them; `MARKS` has them by kind of question.

What a policy wrote may be anything: what is no answer of the kind scores 0. Where an answer stands in tags
(`<answer>`, `<ans>`), or after a thought (`</think>`), only that part is read. How a set's own program finds an
answer in a long text differs from set to set, and some ask a language model; here one rule a kind reads it, and the
published formula marks what it found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tool_nodes.results import invalid
from tool_nodes.types import FloatArray
from training.data.sets.question import Question, mask_of
from training.rewards.last import right_number
from training.rewards.peria import answers_match, ndtw
from training.rewards.words import plain

MOST_CHARACTERS = 100_000
"""A longer answer is none [characters], so that no answer can hold up a benchmark."""
NEAR_PATH = 1.0
"""A path nearer than this by NDTW is right [picture widths]; PERIA, B.2."""

THETAS = np.linspace(0.5, 0.95, 10)
"""Thresholds of MRA, to the last bit as the programs of VSI-Bench and SPAR-Bench make them [-]."""

NUMBER = r"[-+]?\d{1,12}(?:\.\d{0,40})?"
PAIR = re.compile(rf"[(\[]\s*({NUMBER})\s*,\s*({NUMBER})\s*[)\]]")
POINT_OR_BOX = re.compile(rf"\(\s*({NUMBER})\s*,\s*({NUMBER})(?:\s*,\s*({NUMBER})\s*,\s*({NUMBER}))?\s*\)")
LEADING_LETTER = re.compile(r"[(\[{*\s]*([A-Z])(?:[)\]}*\s.,:;]*$|[)\]}.,:;])")
SAID_LETTER = re.compile(r"\b(?i:answer|option|choice)\b[\s*:]*(?i:is\b)?[\s*:]*[(\[{]?([A-Z])\b")
LETTER_IN_BRACKETS = re.compile(r"\(([A-Z])\)")
WORDS = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
]  # fmt: skip
METRES = {
    **dict.fromkeys(("m", "meter", "meters", "metre", "metres"), 1.0),
    **dict.fromkeys(("cm", "centimeter", "centimeters", "centimetre", "centimetres"), 0.01),
    **dict.fromkeys(("mm", "millimeter", "millimeters", "millimetre", "millimetres"), 0.001),
    **dict.fromkeys(("in", "inch", "inches"), 0.0254),
    **dict.fromkeys(("ft", "foot", "feet"), 0.3048),
}
MEASURE = re.compile(rf"(?<![\w.])({NUMBER})\s*({'|'.join(sorted(METRES, key=len, reverse=True))})\b", re.IGNORECASE)
VIEW_CHANGES = (
    ("move_right", "move_left"),
    ("move_up", "move_down"),
    ("move_forward", "move_backward"),
    ("rotate_right", "rotate_left"),
    ("rotate_up", "rotate_down"),
)


def answer_part(said: str) -> str:
    """What counts of a policy's text: the last tagged answer, else what follows the last thought, else all of it."""
    for tag in ("answer", "ans"):
        start, end = said.rfind(f"<{tag}>"), said.rfind(f"</{tag}>")
        if start >= 0:
            return said[start + len(tag) + 2 : end if end > start else None].strip()
    return said[said.rfind("</think>") + len("</think>") :].strip() if "</think>" in said else said.strip()


def chosen_letter(said: str, options: Sequence[str] = (), letters: int = 26) -> str | None:
    """The letter that an answer chooses; None where it chooses none.

    The text of an option; a letter alone, or one before a bracket, full stop, comma or colon at the beginning; the last
    one after "answer", "option" or "choice"; or the only one in brackets.

    Args:
        said: An answer.
        options: Texts of the options, A first.
        letters: How many letters there are, where the texts are not known.
    """
    for k, option in enumerate(options):
        if plain(said) == plain(option) != "":
            return chr(ord("A") + k)
    allowed = {chr(ord("A") + k) for k in range(len(options) or letters)}
    alone = plain(said).upper()
    if found := LEADING_LETTER.match(alone if len(alone) == 1 else said):
        return found[1] if found[1] in allowed else None
    named = [letter for letter in SAID_LETTER.findall(said) if letter in allowed][-1:]
    named = named or [letter for letter in LETTER_IN_BRACKETS.findall(said) if letter in allowed]
    return named[-1] if len(set(named)) == 1 else None


def mark_choice(question: Question, said: str) -> float:
    """1 for the letter of the right option; `truth` is that letter."""
    return float(chosen_letter(said, question.options) == question.truth)


def mark_yes_no(question: Question, said: str) -> float:
    """1 where the answer begins with the right word; `truth` is "yes" or "no" (RoboSpatial-Eval, evaluation.py)."""
    return float(plain(said).startswith(question.truth))


def points_of(said: str, width: int, height: int) -> list[tuple[int, int, int, int]]:
    """Points and boxes of an answer as (x1, y1, x2, y2) [px], the ends exclusive; a point is a box of one pixel.

    "(x, y)" or "(x1, y1, x2, y2)": with a decimal point a share of the picture, without one pixels (text2pts of
    RoboPoint and RoboRefer).
    """
    found = []
    for texts in POINT_OR_BOX.findall(said):
        numbers = [float(text) for text in texts if text]
        if any("." in text for text in texts):
            numbers = [number * (width, height)[k % 2] for k, number in enumerate(numbers)]
        x1, y1, *rest = (int(number) for number in numbers)
        found.append((x1, y1, *(rest or (x1 + 1, y1 + 1))))
    return found


def share_in_mask(said: str, mask: FloatArray) -> float:
    """The mean of a mask (H, W) over the points of an answer; outside the picture it is 0, and so without a point.

    A box counts as all pixels in it. This is the accuracy of Where2Place and RefSpatial-Bench.
    """
    height, width = mask.shape
    total = hit = 0.0
    for x1, y1, x2, y2 in points_of(said, width, height):
        total += max(0, x2 - x1) * max(0, y2 - y1)
        hit += float(mask[max(0, y1) : max(0, y2), max(0, x1) : max(0, x2)].sum())
    return hit / total if total else 0.0


def mark_mask(question: Question, said: str) -> float:
    """Share of the answered points that lie in the mask; `truth` is the picture of a mask, in which all but 0 is in."""
    return share_in_mask(said, (mask_of(question.truth) > 0).astype(np.float64))


def mark_soft_mask(question: Question, said: str) -> float:
    """The same with the mask's own values, so that the grey edge of a JPEG counts in part (RoboPoint)."""
    return share_in_mask(said, mask_of(question.truth))


def in_polygon(x: float, y: float, polygon: Sequence[tuple[float, float]]) -> bool:
    """Whether a point lies in a polygon, its corners in the order that they are given in (even-odd rule)."""
    inside = False
    for (x1, y1), (x2, y2) in zip(polygon, [polygon[-1], *polygon[:-1]], strict=True):
        if (y1 > y) != (y2 > y) and x < (x2 - x1) * (y - y1) / (y2 - y1) + x1:
            inside = not inside
    return inside


def mark_polygon(question: Question, said: str) -> float:
    """1 where the first point of an answer lies in a polygon, `truth`, (N, 2) in [0, 1] (RoboSpatial-Eval)."""
    found = PAIR.search(said)
    return float(found is not None and in_polygon(float(found[1]), float(found[2]), question.truth))


def first_number(said: str) -> float | None:
    """The first number in a text; where there is no digit, the first number word up to twenty."""
    if found := re.search(NUMBER, said):
        return float(found[0])
    named = [WORDS.index(word) for word in re.findall(r"[a-z]+", said.casefold()) if word in WORDS]
    return float(named[0]) if named else None


def mean_relative_accuracy(said: float | None, truth: float) -> float:
    """MRA: the share of the thresholds theta = 0.5, 0.55 ... 0.95 with `|said - truth| / |truth| <= 1 - theta`.

    As the programs of VSI-Bench and SPAR-Bench have it; E-ViC's reward, `evic.mra`, has < there. For a true 0 the error
    is not divided (SPAR-Bench).
    """
    if said is None:
        return 0.0
    error = abs(said - truth) / (abs(truth) or 1.0)
    return float((error <= 1 - THETAS).mean())


def mark_number(question: Question, said: str) -> float:
    """MRA of the first number of an answer; `truth` is a number."""
    return mean_relative_accuracy(first_number(said), question.truth)


def mark_last_number(question: Question, said: str) -> float:
    """MRA of the last number of an answer: SPAR-Bench's questions over several views."""
    found = re.findall(NUMBER, said)
    return mean_relative_accuracy(float(found[-1]) if found else None, question.truth)


def mark_view(question: Question, said: str, as_printed: bool = True) -> float:
    """MRA averaged over five pairs of moves, "move_right:0.3,rotate_up:10"; `truth` is such a text (SPAR-Bench).

    Oversight: its program divides by the answer, not by the truth, so that too large a number costs less than too small
    a one. Corrected, by the truth.
    """
    answered, true = view_change(said), view_change(question.truth)
    if answered is None or true is None:
        return 0.0
    pairs = zip(answered, true, strict=True)
    scores = [mean_relative_accuracy(t, a) if as_printed else mean_relative_accuracy(a, t) for a, t in pairs]
    return sum(scores) / len(scores)


def view_change(text: str) -> list[float] | None:
    """A move along each of the five pairs, the first of a pair positive; None where a part is no "name:number"."""
    moves: dict[str, float] = {}
    for part in text.split(","):
        name, colon, number = part.partition(":")
        if not colon or not re.fullmatch(NUMBER, number.strip()):
            return None
        moves[name.strip()] = float(number)
    return [moves.get(there, 0.0) - moves.get(back, 0.0) for there, back in VIEW_CHANGES]


def path_of(said: str) -> list[list[float]]:
    """The points "(x, y)" or "[x, y]" of a text, in their order."""
    return [[float(x), float(y)] for x, y in PAIR.findall(said)]


def mark_path(question: Question, said: str) -> float:
    """1 where the NDTW of a path is below 1.0 (PERIA, B.2); `truth` is the true path, (N, 2) in [0, 1]."""
    return float(ndtw(path_of(said), question.truth) < NEAR_PATH)


def mark_text(question: Question, said: str) -> float:
    """PERIA's rules for equal answers (B.2) without its judge, a language model: a lower bound; `truth` is a text."""
    return answers_match(said, question.truth)


def measures_of(text: str, unit: bool) -> list[float]:
    """The lengths in a text [m], or all its numbers where `unit` is False."""
    if not unit:
        return [float(number) for number in re.findall(rf"(?<![\w.]){NUMBER}", text)]
    return [float(number) * METRES[name.casefold()] for number, name in MEASURE.findall(text)]


def mark_measures(question: Question, said: str) -> float:
    """1 where each number of an answer is within 25 % of the true one (LAST, 4.1), in their order.

    `truth` is a list of numbers, lengths in metres where the question's meta has unit "m".
    """
    answered = measures_of(said, question.meta["unit"] == "m")
    if len(answered) < len(question.truth):
        return 0.0
    pairs = zip(answered, question.truth, strict=False)
    return float(all(right_number(a, t, as_printed=False) for a, t in pairs))


def stop_name(text: str) -> str:
    """The name of a stop without what ReasonMap's program leaves out: brackets, blanks, hyphens, "Metro"."""
    text = re.sub(r"[Mm]etro|[,*\n]", "", text)
    return re.sub(r"[\s\-]+", "", re.sub(r"[(（][^)）]*[)）]", "", text)).lower()


def mark_route(question: Question, said: str) -> float:
    """1 for a route that can be travelled from the first stop to the last (ReasonMap's accuracy, main.py).

    An answer has sections apart by "--", each with lines "Route Name:", "Departure Stop:" and "Arrival Stop:". Each
    line must exist and have both stops, and the next section begin where the one before ends. `truth` has "from",
    "to" and "lines", {name: stops}.
    """
    sections = []
    for section in said.split("--"):
        found = [re.search(rf"{name}: *(.*)", section) for name in ("Route Name", "Departure Stop", "Arrival Stop")]
        if all(found):
            sections.append([match[1].strip() for match in found if match])
    ends = sections and (stop_name(sections[0][1]), stop_name(sections[-1][2]))
    if not ends or ends != (stop_name(question.truth["from"]), stop_name(question.truth["to"])):
        return 0.0
    for k, (line, start, end) in enumerate(sections):
        line = "Line 1" if "八通" in line else "Line 4" if "大兴" in line else line
        stops = {stop_name(stop) for stop in question.truth["lines"].get(line, ())}
        follows = k + 1 == len(sections) or stop_name(end) == stop_name(sections[k + 1][1])
        if not {stop_name(start), stop_name(end)} <= stops or not follows:
            return 0.0
    return 1.0


MARKS: Mapping[str, Callable[[Question, str], float]] = {
    "choice": mark_choice,
    "yes_no": mark_yes_no,
    "mask": mark_mask,
    "soft_mask": mark_soft_mask,
    "polygon": mark_polygon,
    "number": mark_number,
    "last_number": mark_last_number,
    "view": mark_view,
    "path": mark_path,
    "text": mark_text,
    "measures": mark_measures,
    "route": mark_route,
}
"""How an answer to each kind of question is marked."""


def mark(question: Question, said: Any) -> float:
    """What an answer is worth, 0 to 1; 0 for what is no text, or a text without end.

    Raises:
        RowError: The set's own truth cannot be read, such as the picture of a mask.
        ToolError: INVALID_ARGUMENT for an unknown kind.
    """
    if question.kind not in MARKS:
        raise invalid(f'There is no kind of question "{question.kind}", only {", ".join(sorted(MARKS))}.')
    if not isinstance(said, str) or len(said) > MOST_CHARACTERS:
        return 0.0
    return MARKS[question.kind](question, answer_part(said))
