"""What the operator's answer to a question means, for the policy that asked and for the judge that knows the scene.

| answer to "Which can do you mean?" | as a reader has it | what it means |
|---|---|---|
| "the left one", "the can in the back" | choose the left one | one of the candidates |
| "number 2" | choose number 2 | the second one from the left |
| a point of the image, such as "(0.41, 0.22)" | | the candidate there |
| "the red one", "the one next to the bowl" | choose the red one | the only candidate among what these words find |
| "pick up the left can", "put the banana in the bowl" | the same | another command in the place of the first |
| "never mind", "no" | cancel, no | the end of the command, as words of stopping are for any policy |

Anything else is not understood, and the question is asked again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from toolhand.agent_node.events import TYPED_POINT
from toolhand.agent_node.plan.reader import context_of
from toolhand.agent_node.plan.types import PlanAct
from toolhand.agent_node.policies.scripted.commands import Command, parse_command, understand
from toolhand.agent_node.policies.scripted.nouns import noun_of
from toolhand.agent_node.policies.scripted.points import nearest
from toolhand.tool_nodes.language.phrases import NounPhrase
from toolhand.tool_nodes.language.sides import select_points
from toolhand.tool_nodes.language.words import ORDINALS, stem
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.types import ImagePoint

REACH = 0.1
"""Normalized distance from which a point is at none of the candidates: about the width of the larger objects in a
image of the scene camera."""
CLEARER = 2.0
"""Ratio of distances, next candidate to nearest, from which on a point is at the nearest one [-]."""

_ENDING = frozenset({"cancel", "no", "stop", "skip it"})
"""Fixed words that say that nothing is to be done."""
_POINTING = frozenset({"at", "the", "this", "that", "it", "one", "thing", "point", "here", "there", "please"})


_WHICH = "Which one do you mean?"
"""What a reader is told that was asked, where the question is not known."""


def point_in(text: str) -> ImagePoint | None:
    """The normalized point that an answer is; None where it says something else, or anything beside it."""
    found = TYPED_POINT.search(text)
    if found is None or set(re.findall(r"\w+", f"{text[: found.start()]} {text[found.end() :]}".lower())) - _POINTING:
        return None
    return float(found[1]), float(found[2])


def _act(text: str, question: str = _WHICH) -> PlanAct | None:
    """The one act that an answer is; None for none or several."""
    try:
        understood = understand(text, context_of("", question))
    except ToolError:
        return None
    return understood.plan[0] if understood is not None and len(understood.plan) == 1 else None


def ends(text: str) -> bool:
    """Whether an answer says that nothing is to be done."""
    act = _act(text)
    return act is not None and act.kind == "fixed" and act.words in _ENDING


def another_command(text: str) -> Command | None:
    """The whole command that an answer is; None for one that only says which object, as "take the red one" does."""
    try:
        command = parse_command(text, context_of("", _WHICH))
    except ToolError:
        return None
    target = command.target
    return command if target is None or (target.head and not target.generic) else None


def choose(text: str, phrase: NounPhrase, points: Sequence[ImagePoint]) -> int | tuple[str, ...]:
    """Which of several candidates an answer means, as far as that is known without another look at the image.

    Args:
        text: The operator's answer.
        phrase: Name that all of them share.
        points: Their normalized points.

    Returns:
        The index of the candidate; or phrases to look for, in the order in which they should be tried, since the
        answer means the candidate that is the only one among what is found. None to look for where the answer is not
        understood.
    """
    point = point_in(text)
    if point is not None:
        away = sorted(math.dist(point, candidate) for candidate in points)
        clear = away[0] <= REACH and (len(away) == 1 or away[1] >= CLEARER * away[0])
        return points.index(nearest(points, point)) if clear else ()
    act = _act(text, f"Which {phrase.plain} do you mean?")
    if act is not None and act.words == "choose any":
        return 0
    counted = [] if act is None else [ref.ordinal for ref in act.objects if ref.ordinal and not ref.side]
    if act is not None and (act.kind == "choose_number" or counted):
        number = ORDINALS[counted[0]] if counted else int(act.words)
        return sorted(range(len(points)), key=lambda i: points[i][0])[number - 1] if 0 < number <= len(points) else ()
    if act is None or act.kind not in ("choose", "pick") or len(act.objects) != 1:
        return ()
    try:
        described = noun_of(act.objects[0])
    except ToolError:
        return ()
    if described.setting or described.plural:
        return ()
    own = {stem(word) for word in phrase.words}
    only_sides = all(s.positional for s in described.selectors) and not (described.relation or described.excluded)
    if described.selectors and only_sides and {stem(word) for word in described.words} <= own:
        picked = select_points(described.selectors, points)
        return picked[0] if len(picked) == 1 else ()
    return _to_look_for(described, phrase)


def _to_look_for(described: NounPhrase, phrase: NounPhrase) -> tuple[str, ...]:
    """ "Red one" of several cans is "red can"; "coke" may be "coke can" or "coke"."""
    text, name = described.text, phrase.plain
    if described.generic:
        named = re.sub(r"\b(?:ones?|things?|objects?|items?|it)\b", name, text, count=1)
        return (named,) if described.words or described.selectors or described.relation or described.excluded else ()
    if described.head and stem(described.head) == stem(phrase.head or name.split()[-1]):
        return (text,) if text != phrase.text else ()
    if not described.words:
        return (f"{name} {text}",) if described.relation or described.excluded else (f"{text} {name}",)
    return f"{text} {name}", text


def only_candidate(found: Sequence[int]) -> int | None:
    """The candidate among what was found by the words of an answer, where it is the only one."""
    return found[0] if len(set(found)) == 1 else None


def with_two(text: str, command: Command) -> Command | None:
    """The command between the two objects of an answer ("the box and the bowl"); None where it does not name two."""
    act = _act(re.sub(r"^between ", "", text, flags=re.IGNORECASE))
    try:
        objects = tuple(noun_of(ref) for ref in act.objects) if act is not None and act.kind == "choose" else ()
    except ToolError:
        return None
    return replace(command, references=objects) if len(objects) == 2 and all(obj.words for obj in objects) else None
