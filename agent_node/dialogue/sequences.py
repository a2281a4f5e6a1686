"""Plans for several things: what a group of things means after a look, as single commands in order."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from toolhand.agent_node.dialogue.acts import GroupAct
from toolhand.agent_node.dialogue.looking import FREE_TABLE
from toolhand.agent_node.dialogue.sorting import FindThings, MeasureThings, check_sorted, sorting
from toolhand.agent_node.dialogue.wordings import listed_things, number_of
from toolhand.agent_node.memory import POINTED, at_point
from toolhand.agent_node.policies.scripted.commands import parse_command
from toolhand.agent_node.policies.scripted.points import SAME_POINT
from toolhand.agent_node.policies.scripted.transcript import PicturePoint
from toolhand.tool_nodes.language.phrases import parse_noun_phrase
from toolhand.tool_nodes.language.words import COLOURS, NUMBERS, singular
from toolhand.tool_nodes.results import ErrorCode, ToolError

_ALL = "object"
"""Words that everything on the table fits."""
_BINS = ("bin", "basket", "bowl")
"""Containers into which a table is cleared where no place is said, the first that is there."""
MOST_STEPS = 12
"""Most steps of a plan [-]: as many things as stand on the table of the fullest scenes that come along."""


_TOGETHER = ("next to each other", "beside each other", "next to one another", "beside one another")
"""Places of things that go to the first of them."""


def steps_of(act: GroupAct, look: FindThings, measure: MeasureThings) -> list[str]:
    """The single commands that a group stands for, in order; none where all is as it is to be.

    Raises:
        ToolError: EXECUTION_FAILED for a check that finds something else, OBJECT_NOT_FOUND where there is none of the
            things, AMBIGUOUS where there is another number of them than was said, NOT_UNDERSTOOD for a place that
            cannot be read, INVALID_ARGUMENT for too many.
    """
    noun = _one_of(act.things[0]) if act.things else _ALL
    if act.form == "sort":
        steps = sorting(noun, look, measure)
    elif act.form == "sorted":
        check_sorted(_ALL, look, measure)
        steps = []
    else:
        form = {
            "swap": _swap,
            "stack": _stack,
            "clear": _clear,
            "empty": _empty,
            "several": _several,
            "without_verb": _without_verb,
        }.get(act.form, _group)
        steps = form(act, look)
        _require_room(steps, look, measure)
    if len(steps) > MOST_STEPS:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT,
            f"That would be {len(steps)} steps, and a plan may have {MOST_STEPS}.",
            "Name fewer things at once.",
        )
    return steps


def _require_room(steps: Sequence[str], look: FindThings, measure: MeasureThings) -> None:
    """Raise ToolError PLACE_BLOCKED where things cannot lie side by side in the container that they are to go in."""
    found = [_INTO.search(step) for step in steps]
    into = {match["container"] for match in found if match is not None}
    if len(steps) < _FEW or len(into) != 1 or None in found:
        return
    [container] = into
    points = [(float(match["x"]), float(match["y"])) for match in found if match is not None]
    bins = look([container])[container]
    if not bins:
        return
    box, *boxes = measure([bins[0], *points])
    if box is None or any(each is None for each in boxes):
        return
    needed = sum(float(each.extent[0] * each.extent[1]) for each in boxes if each is not None)
    room = _INSIDE * float(box.extent[0] * box.extent[1])
    if needed > room:
        raise ToolError(
            ErrorCode.PLACE_BLOCKED,
            f"These {len(steps)} things will not all fit into the {container}: side by side they need about "
            f"{10000 * needed:.0f} cm2, and it has about {10000 * room:.0f} cm2. Nothing has moved.",
            "Name those that are to go in.",
        )


_TO = frozenset({"to", "into", "onto", "toward", "towards", "over", "all"})
"""Words that begin a place to go to, and no description: "the can to the back right corner"."""
_INTO = re.compile(r"at \((?P<x>[\d.]+), (?P<y>[\d.]+)\) (?:in|into|inside) (?:the )?(?P<container>[a-z][a-z ]*)$")
"""A step that puts a thing at a point into a container."""
_FEW = 3
"""So few things are tried without measuring them first [-]."""
_INSIDE = 0.8
"""Share of a container's outline that is room inside [-]: walls of 6 to 10 mm about bins 20 to 30 cm long."""


def _group(act: GroupAct, look: FindThings) -> list[str]:
    """Both, all, two of, everything but: each thing goes to the place."""
    words = act.things[0] if act.things else _ALL
    count = None
    if act.form == "number":
        count, words = number_of(act.things[0]), act.things[1]
    excluded = ""
    if act.form == "everything_but":
        words, excluded = (act.things[0], act.things[1]) if len(act.things) > 1 else (_ALL, act.things[0])
    excluded = _plain(excluded) if excluded else ""
    name = _one_of(words)
    if act.place.endswith(_TOGETHER):
        alike = look([name])[name]
        if len(alike) < 2:
            raise ToolError(ErrorCode.OBJECT_NOT_FOUND, f'I see {len(alike)} that are called "{words}", not two.')
        first, *rest = alike
        return [f"put the {name} at {at_point(at)} next to the {name} at {at_point(first)}" for at in rest]
    targets = _references(act.place)
    inside = _inside(act.place, name)
    shaped = f"{name} {_ALL}" if " " not in name and name != _ALL else name  # "everything round"
    asked = [name, shaped, *([excluded] if excluded else []), *targets, *inside]
    points = look(list(dict.fromkeys(asked)))
    if not points[name] and act.form == "all":
        name = shaped
    left_out = [*targets, *inside, *([excluded] if excluded else [])]
    if excluded and not points[excluded]:
        raise _none_here(excluded)
    there = _without(points[name], [point for phrase in left_out for point in points[phrase]])
    if not points[name]:
        raise _none_here(words)
    if not there:
        raise ToolError(ErrorCode.OBJECT_NOT_FOUND, f"Of {_the(words)} nothing is left to be moved.")
    wanted = 2 if act.form == "both" else count
    if wanted is not None and act.form == "both" and len(there) != wanted:
        raise ToolError(
            ErrorCode.AMBIGUOUS,
            f"You speak of two, and I see {len(there)} that are called {name!r}.",
            f'Say "all", or which, such as "the left {name}".',
        )
    if wanted is not None and len(there) < wanted:
        raise ToolError(ErrorCode.OBJECT_NOT_FOUND, f"I see only {len(there)} that are called {name!r}.")
    return [f"put the {name} at {at_point(point)} {act.place}" for point in there[:wanted]]


def _several(act: GroupAct, look: FindThings) -> list[str]:
    return [f"put {_the(each)} {act.place}" for each in _listed(act)]


def _without_verb(act: GroupAct, look: FindThings) -> list[str]:
    """ "The can in the bin" is where to put it, unless a can stands there already, which it may describe.

    A second word for the thing, "which", says that the policy takes it for the description of what to pick up.

    Raises:
        ToolError: AMBIGUOUS where it may describe a thing.
    """
    words, place = act.things[0], act.place
    put = f"put {_the(words)} {place}"
    if POINTED.search(place) or place.split()[0] in _TO:
        return [put]
    described = parse_noun_phrase(f"{words} {place}")
    if described.unread or not (described.relation or described.selectors):
        return [put]
    points = look([described.text])
    if not points[described.text]:
        return [put]
    if len(act.things) > 1:
        return [f"pick up {_the(words)} {place}"]
    raise ToolError(
        ErrorCode.AMBIGUOUS,
        f'I cannot tell whether "{words} {place}" says which one is meant, as one is there, or where to put it.',
        'Say "pick up" or "put" before it.',
    )


def _swap(act: GroupAct, look: FindThings) -> list[str]:
    """The first makes room on the free table, the second takes its place, the first takes that of the second."""
    named = list(act.things)
    if len(named) == 4 and (named[0], named[1]) != (named[3], named[2]):
        raise ToolError(ErrorCode.NOT_UNDERSTOOD, "I cannot tell which two things are to change places.")
    if len(named) == 1:
        name = _one_of(named[0])
        points = look([name, FREE_TABLE])
        if len(points[name]) != 2:
            raise ToolError(
                ErrorCode.AMBIGUOUS if points[name] else ErrorCode.OBJECT_NOT_FOUND,
                f"Two things change places, and I see {len(points[name])} that are called {name!r}.",
            )
        first, second = ((name, point) for point in points[name])
    else:
        one, other = (_plain(each) for each in named[:2])
        points = look(list(dict.fromkeys([one, other, FREE_TABLE])))
        first, second = _only(one, points), _only(other, points)
    if not points[FREE_TABLE]:
        raise ToolError(ErrorCode.PLACE_BLOCKED, "There is no free room on the table for one of them meanwhile.")
    room = points[FREE_TABLE][0]
    return [
        f"put the {first[0]} at {at_point(first[1])} on the free spot at {at_point(room)}",
        f"put the {second[0]} at {at_point(second[1])} where the {first[0]} was",
        f"put the {first[0]} at {at_point(room)} where the {second[0]} was",
    ]


def _stack(act: GroupAct, look: FindThings) -> list[str]:
    """The last of the things that are named stays, and each before it goes on top; of one kind, the left one stays."""
    count = number_of(act.things[0]) if len(act.things) > 1 else None
    named = _listed(act if count is None else replace(act, things=act.things[1:]))
    if len(named) > 1:
        points = look([_plain(each) for each in named])
        things = [_only(_plain(each), points) for each in reversed(named)]
    else:
        name = _one_of(named[0])
        things = [(name, point) for point in look([name])[name]]
        if count is not None and len(things) > count:
            raise ToolError(
                ErrorCode.AMBIGUOUS,
                f"You speak of {count}, and I see {len(things)} that are called {name!r}.",
                'Say "all", or which goes on which, such as "put the left one on the right one".',
            )
        if count is not None and 1 < len(things) < count:
            raise ToolError(ErrorCode.OBJECT_NOT_FOUND, f"I see only {len(things)} that are called {name!r}.")
        if len(things) < 2:
            raise (
                _none_here(named[0])
                if not things
                else ToolError(
                    ErrorCode.OBJECT_NOT_FOUND, f"A stack needs two things, and I see one that is called {name!r}."
                )
            )
    below = things[0]
    steps = []
    for thing in things[1:]:
        steps.append(f"put the {thing[0]} at {at_point(thing[1])} on top of the {below[0]} at {at_point(below[1])}")
        below = (thing[0], below[1])
    return steps


def _clear(act: GroupAct, look: FindThings) -> list[str]:
    if act.place:
        return _group(GroupAct("all", (), act.place), look)
    points = look(list(_BINS))
    bin_there = next((name for name in _BINS if len(points[name]) == 1), None)
    if bin_there is None:
        raise ToolError(
            ErrorCode.AMBIGUOUS,
            "I see no single container to clear the table into.",
            'Say where to, such as "clear the table into the bin".',
        )
    return _group(GroupAct("all", (), f"in the {bin_there}"), look)


def _empty(act: GroupAct, look: FindThings) -> list[str]:
    container = _plain(act.things[0])
    inside = f"{_ALL} in the {container}"
    points = look([container, inside])
    if not points[container]:
        raise _none_here(container)
    things = _without(points[inside], points[container])
    if not things:
        raise ToolError(ErrorCode.OBJECT_NOT_FOUND, f"I see nothing in the {container}.")
    return [f"put the {_ALL} at {at_point(point)} on the table" for point in things]


def _listed(act: GroupAct) -> list[str]:
    return [part for words in act.things for part in listed_things(words)]


def _references(place: str) -> list[str]:
    """Plain words of the things that a place refers to, which stay where they are.

    Raises:
        ToolError: As the grammar refuses the place.
    """
    return list(dict.fromkeys(reference.text for reference in parse_command(f"put it {place}").references))


def _inside(place: str, name: str) -> list[str]:
    """The things that are where they are to go."""
    command = parse_command(f"put it {place}")
    return [f"{name} in the {reference.text}" for reference in command.references if command.relation == "in"]


def _one_of(words: str) -> str:
    """The name of one of several things: "red box" for "the red boxes", "red object" for "red things"."""
    phrase = parse_noun_phrase(words)
    if not phrase.words and not phrase.selectors:
        return _ALL
    kept = [word for word in phrase.text.split() if word not in ("all", "both", "of", "the", "every", "each", *NUMBERS)]
    name = " ".join(
        singular(word) if k == len(kept) - 1 or word == phrase.head else word for k, word in enumerate(kept)
    )
    named = parse_noun_phrase(name)
    return named.plain if named.generic or not named.head or named.head in COLOURS else name


def _plain(words: str) -> str:
    return parse_noun_phrase(words).text


def _the(words: str) -> str:
    first = words.split()[0]
    return words if first in ("the", "a", "an", "my", "this", "that", "these", "those") else f"the {words}"


def _only(name: str, points: Mapping[str, list[PicturePoint]]) -> tuple[str, PicturePoint]:
    """The name and the point of the only thing of a name."""
    if len(points[name]) == 1:
        return parse_noun_phrase(name).plain, points[name][0]
    if not points[name]:
        raise _none_here(name)
    raise ToolError(
        ErrorCode.AMBIGUOUS,
        f"I see {len(points[name])} that are called {name!r}.",
        f'Say which, such as "the left {name}".',
    )


def _without(points: Sequence[PicturePoint], others: Sequence[PicturePoint]) -> list[PicturePoint]:
    return [point for point in points if all(math.dist(point, other) > SAME_POINT for other in others)]


def _none_here(words: str) -> ToolError:
    return ToolError(ErrorCode.OBJECT_NOT_FOUND, f"I see nothing that is called {words.removeprefix('the ')!r}.")
