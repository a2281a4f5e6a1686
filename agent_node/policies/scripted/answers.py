"""What the operator's answer to a question means, for the policy that asked and for the judge that knows the scene.

| answer to "Which can do you mean?" | what it means |
|---|---|
| "the left one", "number 2", "the second from the left", "the can in the back" | one of the candidates |
| a point of the picture, such as "(0.41, 0.22)" | the candidate there |
| "the red one", "the one next to the bowl" | the only candidate among what these words find |
| "pick up the left can", "put the banana in the bowl" | another command in the place of the first |
| "never mind", "neither" | the end of the command, as words of stopping are for any policy |

Anything else is not understood, and the question is asked again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from toolhand.agent_node.events import TYPED_POINT
from toolhand.agent_node.policies.scripted.commands import Command, parse_command
from toolhand.agent_node.policies.scripted.points import nearest
from toolhand.agent_node.policies.scripted.transcript import PicturePoint
from toolhand.tool_nodes.language.phrases import NounPhrase, noun_phrase, parse_noun_phrase
from toolhand.tool_nodes.language.referring import select_points
from toolhand.tool_nodes.language.relations import find_relations, rewrite, split_references
from toolhand.tool_nodes.language.words import NUMBERS, stem, tokenize, words_only
from toolhand.tool_nodes.results import ToolError

REACH = 0.1
"""Normalized distance from which a point is at none of the candidates: about the width of the larger things in a
picture of the scene camera."""
CLEARER = 2.0
"""Ratio of distances, next candidate to nearest, from which on a point is at the nearest one [-]."""

_ENDS = frozenset(
    {
        "no", "none", "neither", "nothing", "never mind", "nevermind", "forget it",
        "forget about it", "leave it", "neither one", "none of them", "neither of them",
    }
)  # fmt: skip
_LEAD = re.compile(
    r"^(?:(?:no|yes|well|um|uh|please) )*(?:(?:i (?:mean|meant|want)|take|pick up|pick|grab|get|choose|use|it is) )?"
)
_POLITE = re.compile(r" (?:please|thanks|thank you)$")
_NUMBERED = re.compile(r"^(?:the )?(?:(?:number|no|option|candidate) )?(\d{1,2}|one|two|three|four|five|six|seven)$")
_POINTING = frozenset({"at", "the", "this", "that", "it", "one", "thing", "point", "here", "there", "please"})
_ALONE = re.compile(r" ?\b(?:alone|only|just|itself)\b")
_BESIDE = frozenset({"left_of", "right_of", "in_front_of", "behind", "next_to"})


def point_in(text: str) -> PicturePoint | None:
    """The normalized point that an answer is; None where it says something else, or anything beside it."""
    found = TYPED_POINT.search(text)
    if found is None or set(_plain(f"{text[: found.start()]} {text[found.end() :]}").split()) - _POINTING:
        return None
    return float(found[1]), float(found[2])


def ends(text: str) -> bool:
    """Whether an answer says that nothing is to be done."""
    return _plain(text) in _ENDS


def another_command(text: str) -> Command | None:
    """The whole command that an answer is; None for one that only says which thing, as "take the red one" does."""
    try:
        command = parse_command(text)
    except ToolError:
        return None
    target = command.target
    return command if target is None or (target.head and not target.generic) else None


def choose(text: str, phrase: NounPhrase, points: Sequence[PicturePoint]) -> int | tuple[str, ...]:
    """Which of several candidates an answer means, as far as that is known without another look at the picture.

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
    said = _LEAD.sub("", _POLITE.sub("", _plain(text)))
    numbered = _NUMBERED.match(said)
    if numbered:
        number = NUMBERS.get(numbered[1], 1 if numbered[1] in ("1", "one") else 0)
        return sorted(range(len(points)), key=lambda i: points[i][0])[number - 1] if 0 < number <= len(points) else ()
    try:
        described = parse_noun_phrase(said)
    except ToolError:
        return ()
    if described.unread or described.setting or described.plural:
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


def with_place(text: str, command: Command, phrase: NounPhrase) -> Command | None:
    """The command with what an answer says of the side behind the only thing of a name: it was a place, or needless.

    "To the left of the bowl" makes it a place, "the bowl" leaves the side out. None where the answer is not understood.
    """
    said = _ALONE.sub("", _plain(text))
    name = parse_noun_phrase(phrase.plain)
    words = rewrite(said.split())
    mark = next((m for m in find_relations(words, noun_first=False) if m.start == 0), None)
    if mark is not None and mark.relation in _BESIDE:
        rest = [str(word) for word in words[mark.end :]]
        if rest in ([], ["it"]) or _is_named(noun_phrase(rest), name):
            return replace(command, relation=mark.relation, references=(name,), asides=())
        return None
    try:
        named = parse_noun_phrase(said)
    except ToolError:
        return None
    if not _is_named(named, name):
        return None
    references = tuple(name if reference == phrase else reference for reference in command.references)
    return replace(command, references=references, asides=())


def with_two(text: str, command: Command) -> Command | None:
    """The command between the two things of an answer ("the box and the bowl"); None where it does not name two."""
    words = rewrite(_LEAD.sub("", _plain(text)).removeprefix("between ").split())
    try:
        parts = [noun_phrase(part) for part in split_references("between", words)]
    except ToolError:
        return None
    named = len(parts) == 2 and all(part.words and not part.unread for part in parts)
    return replace(command, references=tuple(parts)) if named else None


def _is_named(phrase: NounPhrase, name: NounPhrase) -> bool:
    bare = not (phrase.selectors or phrase.relation or phrase.excluded or phrase.unread)
    return bare and bool(phrase.words) and {stem(w) for w in phrase.words} <= {stem(w) for w in name.words}


def _plain(text: str) -> str:
    """The words in lower case without punctuation."""
    return " ".join(words_only(tokenize(text)))
