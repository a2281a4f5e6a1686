"""Sentences that name a thing before they order something with it, or remark on something before or after an order.

| said | read |
|---|---|
| "the sugar, hand it over" | "hand the sugar over" |
| "salt! I need salt!" | "I need salt" |
| "that banana looks lonely, put the box beside it" | "put the box beside the banana", and a remark |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from toolhand.agent_node.dialogue.clauses import clause_of, parses
from toolhand.agent_node.dialogue.wordings import ends_with_product, is_thing, joints, names_products
from toolhand.agent_node.policies.scripted.points import the
from toolhand.agent_node.policies.scripted.verbs import VERBS
from toolhand.tool_nodes.language.place_phrases import begins_place
from toolhand.tool_nodes.language.relations import find_relations
from toolhand.tool_nodes.language.traced import Token
from toolhand.tool_nodes.language.words import DETERMINERS, GENERIC, tokenize, word_set

_SIGNS = ",.!?"
_PRONOUN = re.compile(
    r"\b(?:it|that one|this one|them|they|those|these|that|this|him)\b(?! (?:is|was|are|were|\w+ \w+ (?:is|was)))",
    re.IGNORECASE,
)
_HINDERS = word_set(
    "not never no if when unless until before after once while but only except without instead avoid careful watch "
    "must should want wants need needs shall let do does did ought forget leave keep cannot"
)
"""Words of a clause that may change what is wished: such a clause is no mere remark."""
_SUBJECTS = word_set(
    "i we you he she it they there that this who somebody someone the my our your his her its nobody everyone"
)
_STATES = word_set(
    "is are am was were looks look seems seem smells has have had feels left put likes love loves like would may might "
    "see find belongs stands sits lies goes came fell got"
)
"""Verbs of a clause that tells how things are."""
_BEFORE_A_SIDE = word_set("the my your a on to at far further furthest more most one")
"""Words after which "left" is a side."""
_UNSEEN = re.compile(r"^(?:i|we) (?:can not|can hardly|do not|did not) (?:see|find|reach|spot|remember|know)\b")
"""A remark although it denies something."""
_NO_ARTICLE = frozenset({"of", "there", "here", "same", "some", "any"})
_WANTED = re.compile(
    r"^(?:i|we) (?:want|need|would like|would love|would have) (?:that|it|this|them|those|these) ", re.IGNORECASE
)
"""What leads to the place of a thing that is named before."""
_RESTRAINT = re.compile(
    r"^(?:please )?(?:do not|don't|dont|never) (?:touch|move|disturb|knock(?: over)?|bump(?: into)?|hit|break) ",
    re.IGNORECASE,
)
"""What asks to leave another thing alone, which no order touches."""
_LONGEST_NAME = 5
"""Most words of a thing that a remark names [words]."""


def fronted(text: str, tokens: Sequence[Token]) -> str:
    """An order of a thing that is named before it, as one sentence; empty for other sentences."""
    at = next((k for k, token in enumerate(tokens) if token in _SIGNS), 0)
    rest = list(tokens[at + 1 :])
    if not at or at == len(tokens) - 1:  # dictated, without a sign
        it = ("it", "them", "that")
        at = next((k for k in range(2, len(tokens) - 1) if _orders(tokens, k) and tokens[k + 1] in it), 0)
        rest = list(tokens[at:])
    while rest and rest[0] in (*_SIGNS, "and", "then", "so", "please"):
        rest = rest[1:]
    if not at or len(rest) < 2 or not _is_named(tokens[:at]):
        return ""
    thing, order = clause_of(text, tokens[:at]).said, clause_of(text, rest).said
    if any(str(token) in (",", ".") for token in rest[:-1]):
        return ""
    wanted = _WANTED.match(" ".join(str(token) for token in rest))
    if wanted and begins_place(rest[len(wanted.group().split()) :]):
        return f"put {the(_plain(thing))} {clause_of(text, rest[len(wanted.group().split()) :]).said}"
    named = _with_thing(order, thing)
    if named != order:
        return named
    verb = str(rest[0])
    if verb in VERBS and VERBS[verb][0] == verb and begins_place(rest[1:]):
        return f"{clause_of(text, rest[:1]).said} {the(_plain(thing))} {clause_of(text, rest[1:]).said}"
    return order if parses(order) and _plain(thing).split()[-1].lower() in tokenize(order) else ""


def remarked(text: str, tokens: Sequence[Token]) -> tuple[str, str] | None:
    """(a remark, the order without it, with the thing of the remark for "it"); None for other sentences."""
    cuts = [k for k, token in enumerate(tokens) if token in _SIGNS and 0 < k < len(tokens) - 1]
    spoken = [k for k in range(2, len(tokens) - 2) if not cuts and _orders(tokens, k)]
    for k in spoken:  # dictated, without a sign
        if _is_remark(tokens[:k]):
            return _with_its_thing(text, tokens[:k], tokens[k:])
    for k in cuts:
        before, after = list(tokens[:k]), list(tokens[k + 1 :])
        while after and after[0] in (*_SIGNS, "and", "so", "then"):
            after = after[1:]
        if not after:
            continue
        if _RESTRAINT.match(clause_of(text, before).said) and not set(before) & set(after) & _content(before):
            return clause_of(text, before).said, clause_of(text, after).said
        if _is_remark(before) and not _is_remark(after):
            return _with_its_thing(text, before, after)
    for k in reversed(cuts):
        before, after = list(tokens[:k]), list(tokens[k + 1 :])
        if after and _is_remark(after) and not _is_remark(before):
            return clause_of(text, after).said, clause_of(text, before).said
    return None


def _with_its_thing(text: str, before: Sequence[Token], after: Sequence[Token]) -> tuple[str, str] | None:
    """A remark and the order after it, with the thing of the remark; None where it names several that "it" may be."""
    order, name = clause_of(text, after).said, _name(before)
    if name is None and _with_thing(order, "thing") != order:
        return None
    return clause_of(text, before).said, _with_thing(order, name) if name else order


def _orders(tokens: Sequence[Token], k: int) -> bool:
    """Whether an order begins at a place: a verb as it stands in one, and what it is of."""
    word, after = str(tokens[k]), str(tokens[k + 1])
    known = word in VERBS and VERBS[word][0] == word and VERBS[word][1] in ("pick", "place")
    return known and (after in DETERMINERS - {"of"} or after in ("it", "them", "up", "me"))


def _content(tokens: Sequence[Token]) -> set[Token]:
    return {token for token in tokens if token not in DETERMINERS and ends_with_product([str(token)])}


def _is_remark(tokens: Sequence[Token]) -> bool:
    """Whether a clause only tells how things are, or asks who did that."""
    words = [str(token) for token in tokens if token not in _SIGNS]
    if len(words) < 2 or (words[0] in VERBS and VERBS[words[0]][0] == words[0]):
        return False
    text = " ".join(words)
    if any(word in VERBS and VERBS[word] == (word, "place") for word in words[1:]) and words[0] != "who":
        return False
    if _UNSEEN.match(text):
        return True
    if _HINDERS.intersection(words) or (words[0] in joints()["begins a question"] and words[0] != "who"):
        return False
    return words[0] in _SUBJECTS and any(_tells(words, k) for k in range(1, min(len(words), 5)))


def _tells(words: Sequence[str], k: int) -> bool:
    """Whether a word tells how things are: not the "is" of "the one that is blue", nor the "left" of "on the left"."""
    describes = words[k - 1] in ("that", "which", "who") and k > 1
    return words[k] in _STATES and not describes and not (words[k] == "left" and words[k - 1] in _BEFORE_A_SIDE)


def _is_named(tokens: Sequence[Token]) -> bool:
    words = [str(token) for token in tokens]
    thing = " ".join(words)
    told = any(w in _STATES and words[k] not in ("that", "which", "who", "one") for k, w in enumerate(words[1:]))
    return is_thing(thing) and not told and (words[0] in DETERMINERS or names_products(thing))


def _name(tokens: Sequence[Token]) -> str | None:
    """The thing that a clause names, as far as its article or a product's name shows; None where it names several."""
    words = [str(token) for token in tokens]
    names: list[list[str]] = []
    unknown: list[list[str]] = []
    end = len(words)
    while end > 0:
        name = next((n for n in _ending_at(words, end) if _may_name(n)), None)
        if name is None:
            end -= 1
            continue
        (names if name[-1] not in GENERIC and ends_with_product(name) else unknown).append(name)
        end -= len(name)
    found = names or unknown[-1:]
    return None if len(found) > 1 else " ".join(next(iter(found), []))


def _ending_at(words: Sequence[str], end: int) -> Iterator[list[str]]:
    return (list(words[begin:end]) for begin in range(max(0, end - _LONGEST_NAME), end))


def _may_name(name: Sequence[str]) -> bool:
    led = name[0] in DETERMINERS - _NO_ARTICLE and len(name) > 1
    bare = names_products(" ".join(name)) and ends_with_product(name) and list(name) != ["can"]
    return (led or bare) and is_thing(" ".join(name)) and not find_relations(name) and not _tells_of(name)


def _tells_of(name: Sequence[str]) -> bool:
    return any(_tells(name, k) for k in range(1, len(name)))


def _plain(thing: str) -> str:
    first, _, rest = thing.partition(" ")
    return rest if first.lower() in DETERMINERS - {"of"} and rest else thing


def _with_thing(order: str, thing: str) -> str:
    """An order in which the first pronoun is a thing."""
    return _PRONOUN.sub(the(_plain(thing)), order, count=1)
