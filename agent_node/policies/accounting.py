"""Which words of a sentence bind and have no part in a learned policy's plan.

A model says the likeliest plan of any words, and one that has learned from commands alone knows none that takes them
back. So every word of the sentence has to be a word of the plan, or one of the frames that such sentences were learned
in; a word that binds, such as "not", "if" or "second", counts only in a phrase that was learned whole. The frames are
in frames.yaml.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from pathlib import Path

from toolhand.agent_node.policy import Message
from toolhand.agent_node.protocol import REMEMBERED
from toolhand.tool_nodes.language.words import (
    DETERMINERS,
    FUNCTION_WORDS,
    GENERIC,
    NUMBERS,
    ORDINALS,
    SIDES,
    stem,
    word_set,
)
from toolhand.tool_nodes.plain_yaml import load
from toolhand.tool_nodes.results import ErrorCode

OBJECT = "{}"
"""Stands in a phrase for the words of an object."""
ANY = "*"
"""Stands in a phrase for whatever comes before, or, at its end, after."""
BINDING = word_set(
    "not no never nothing nobody none neither nor cannot without except excluding but instead if unless whether until "
    "till when whenever while before after once otherwise or all every each both either any anything everything twice "
    "several dont doesnt didnt wont cant couldnt shouldnt mustnt isnt arent who whose why how other "
    "than under underneath beneath below"
) | frozenset((NUMBERS | ORDINALS).keys() - {"pair", "last", "final"})
"""Closed classes: negation, exception, condition, question, number and quantity, and a place that no plan has."""
_ASKED = re.compile(
    r"\b(?:what|which(?: one)?|where|when) (?:is|are|was|were|do|does|did|can|could|should|would|will)\b"
    r"|^(?:is|are|was|were|does|did|has)\b|^(?:do|have) (?:you|i|we|they)\b"
)
"""A question, also within a sentence; "what I need is the milk" is none."""
_PICKS = """
    pick pickup grab grasp grip take get lift raise fetch hold collect retrieve clutch seize bring hand give pass have
    catch obtain snatch hoist carry deliver remove extract gather pluck scoop clasp heave nab
    took taken brought gave given held got caught
"""
_PLACES = """
    put place set drop lay move leave deposit position stack insert release transfer relocate shift store stow pop stick
    pack stash plop plonk nudge scoot add bury return rest load arrange rearrange reposition stand lower slide park
    nestle situate laid stuck
"""
_DOUBLED = word_set("get set put grip drop grab pop plop")
"""Verbs whose last letter is doubled before an ending."""


def _forms(verbs: str) -> frozenset[str]:
    """The verbs of a list with their endings."""
    roots = {verb: verb[:-1] if verb.endswith("e") else verb + verb[-1] * (verb in _DOUBLED) for verb in verbs.split()}
    return frozenset(form for verb, root in roots.items() for form in (verb, f"{verb}s", f"{root}ing", f"{root}ed"))


_PICKING, _PLACING = _forms(_PICKS), _forms(_PLACES)
_LIFTS = word_set("need want wants wanted like up have after target secure elevate come")
"""Words of a pick that are no verbs of one: "I need the milk", "up with it"."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_REACH = 3
"""Words after one that binds by which its phrase is known [-]; "do not take the wrong one" needs as many."""
_QUOTED = 4
"""Most words that are quoted [-]."""


_GRAMMAR = FUNCTION_WORDS | DETERMINERS | word_set("take put nowhere free table space inside and of front top")
"""Words of a plan beside those of its objects."""


def is_command(message: Message) -> bool:
    """Whether it is the operator's, and neither an answer to a question nor an image."""
    return message.role == "user" and not message.answers and message.image_index is None


def newest_command(conversation: Sequence[Message]) -> list[Message]:
    """A conversation without the commands before its newest: as it is where that is the first."""
    commands = [k for k, message in enumerate(conversation) if is_command(message)]
    if len(commands) < 2:
        return list(conversation)
    return [*conversation[: commands[0]], *conversation[commands[-1] :]]


def refusal(sentence: str, plan: str) -> str:
    """What is answered where a sentence has words that bind and no part in its plan; empty where it has none.

    Args:
        sentence: The operator's.
        plan: "take WHAT, put WHERE", as the policies write it.
    """
    take, _, where = plan.partition(", put ")
    words = unaccounted(sentence.partition(REMEMBERED)[0], (take, where), NOWHERE not in where)
    quoted = " ".join(f'"{word}"' for word in words)
    return f"{ErrorCode.NOT_UNDERSTOOD}: My plan has no part for {quoted}, so I do nothing. {_INSTEAD}" if words else ""


NOWHERE = "nowhere"
"""Where a plan that is a pick alone puts the object."""
_INSTEAD = "Say one thing to pick up, or one thing and its place, without such a word."


def unaccounted(sentence: str, objects: Sequence[str], places: bool) -> tuple[str, ...]:
    """Words of a sentence that bind and have no part in its plan, in order; none where it may be carried out.

    Args:
        sentence: The operator's.
        objects: Words of the plan: the object with its side, and what its place is in relation to.
        places: The plan puts the object somewhere.
    """
    named = {stem(word) for phrase in objects for word in _words(phrase) if word not in _GRAMMAR}
    words = _words(sentence)
    parts = [OBJECT if stem(word) in named and word not in SIDES else word for word in words]
    said = [part for k, part in enumerate(parts) if part != OBJECT or parts[k - 1 : k] != [OBJECT]]
    known = _frames()[0] | SIDES.keys() | GENERIC
    left = [word for k, word in enumerate(said) if word in BINDING and not _learned(said, k)]
    left += _ASKED.findall(" ".join(said))
    left += [word for word in said if word not in known | BINDING | {OBJECT} | _PICKING | _PLACING]
    deed = any(word in _PICKING or word in _LIFTS or (places and word in _PLACING) for word in said)
    if not (left or deed or places):
        left = [word for word in said if word in _PLACING] or words[:1]
    return tuple(dict.fromkeys(left))[:_QUOTED]


def _words(text: str) -> list[str]:
    return [re.sub(r"['’]", "", word) for word in _WORD.findall(text.lower())]


def _learned(said: Sequence[str], k: int) -> bool:
    """Whether a word that binds stands in a phrase that was learned whole."""
    before = said[k - 1] if k else ""
    return any(
        first in (ANY, before) and list(said[k : k + len(rest)]) == list(rest)
        for first, *rest in _frames()[1].get(said[k], ())
    )


@functools.cache
def _frames() -> tuple[frozenset[str], dict[str, tuple[tuple[str, ...], ...]]]:
    """The words of frames, and of each that binds the phrases: the word before it, itself and what follows."""
    document = load(Path(__file__).with_name("frames.yaml").read_bytes())
    phrases: dict[str, tuple[tuple[str, ...], ...]] = {}
    for frame in document["frames"]:
        for word, phrase in phrases_of(frame):
            phrases[word] = (*phrases.get(word, ()), phrase)
    words = {word for frame in document["frames"] for word in _words(re.sub(r"\{\w*\}", " ", frame))}
    return frozenset(words), phrases


def phrases_of(frame: str) -> list[tuple[str, tuple[str, ...]]]:
    """Each word of a frame that binds, with its phrase; blanks of more than an object's name end it."""
    tokens = [
        OBJECT if token in ("{a}", "{b}", "{c}") else ANY if token.startswith("{") else re.sub(r"['’]", "", token)
        for token in re.findall(r"\{\w*\}|[^\W_]+(?:['’][^\W_]+)*", frame.lower())
    ]
    found = []
    for k, token in enumerate(tokens):
        if token in BINDING:
            rest = tokens[k : k + 1 + _REACH]
            end = rest.index(ANY) if ANY in rest else len(rest)
            found.append((token, (tokens[k - 1] if k else ANY, *rest[:end])))
    return found
