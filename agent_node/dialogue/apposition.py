"""A second description of a thing that was just named, after a comma: "the can, the red one".

| said | read |
|---|---|
| "pick up the can, the red one" | "pick up the red can" |
| "put the mug, the one at the back, in the bin" | "put the mug that is at the back in the bin" |
| "put the can in the bowl, the green one" | one of two commands, about which the operator is asked |
"""

from __future__ import annotations

import re

from toolhand.agent_node.dialogue.clauses import parses, with_reference, with_thing
from toolhand.agent_node.dialogue.wordings import is_place, is_thing
from toolhand.agent_node.policies.scripted.commands import parse_command
from toolhand.agent_node.policies.scripted.points import the
from toolhand.agent_node.policies.scripted.verbs import VERBS
from toolhand.tool_nodes.language.words import DETERMINERS, FUNCTION_WORDS, SIDES, tokenize

_ARTICLE = r"(?:the|a|an|my|that|this)"
_SIGN = r"\s*(?:[,.;:(–—]|\s-+\s)\s*"
_MEANING = r"(?:(?:that is|i mean|namely|meaning|to be exact)\s*,?\s*)?"
_ENDS = r"\s*(?:\)\s*,?|,|(?=[.?!]|$))"
_NAMED = rf"(?P<article>\b{_ARTICLE}) (?P<noun>(?:[\w-]+ ){{0,3}}?[\w-]+){_SIGN}{_MEANING}{_ARTICLE} "
_DESCRIBED = re.compile(rf"{_NAMED}(?P<words>(?:[\w-]+ ){{0,2}}?[\w-]+?)(?: (?P<one>one))?{_ENDS}", re.IGNORECASE)
"""A noun, and what is said of it before "one", or a side of it without "one"."""
_PLACED = re.compile(
    rf"{_NAMED}one(?P<that>'s| (?:that|which)(?:'s| is)| is)? (?P<words>[^,.?!()]+?){_ENDS}", re.IGNORECASE
)
"""A noun, and where the one is that is meant, or what it is."""


def apposed(text: str, again: bool = False) -> str | tuple[str, ...]:
    """A sentence in which what is said of a thing after a comma stands with it; the same where nothing is.

    Where it may be said of the thing or of what its place refers to, both sentences are given.

    Args:
        text: The sentence.
        again: A thing before has been described so already: the next description is of what stands before it.
    """
    for pattern in (_PLACED, _DESCRIBED):
        at = 0
        while found := pattern.search(text, at):
            at = found.start() + 1
            if not _is_noun(found["noun"]) or not _describes(found, pattern is _PLACED):
                continue
            before = text[: found.end("noun")]
            last = not text[found.end() :].strip(" .?!)")
            if last and not again and len(both := _either(before, found, pattern is _PLACED)) > 1:
                return both
            thing = _with_words(found["article"], found["noun"], found, pattern is _PLACED)
            rest = text[found.end() :]
            joined = f"{text[: found.start()]}{thing}{'' if rest[:1] in '.?! ' else ' '}{rest}"
            return apposed(joined, again=True)
    return text


def _is_noun(words: str) -> bool:
    said = [str(token) for token in tokenize(words)]
    small = FUNCTION_WORDS | DETERMINERS | {"and", "or", "one", "ones"}
    return bool(said) and not small.intersection(said) and is_thing(" ".join(said))


def _describes(found: re.Match[str], placed: bool) -> bool:
    """Whether words after the sign are those of the one that is meant."""
    said = [str(token) for token in tokenize(found["words"])]
    if placed:
        return is_place(said) or bool(found["that"])
    if not found["one"]:
        return bool(said) and all(word in SIDES for word in said)
    adjectives = not (FUNCTION_WORDS | DETERMINERS | {"other", "same", "and", "or"}).intersection(said)
    verb = bool(said) and said[0] in VERBS and said[0] not in SIDES and VERBS[said[0]][0] == said[0]
    return adjectives and not verb and is_thing(f"the {' '.join(said)} one")


def _with_words(article: str, noun: str, found: re.Match[str], placed: bool) -> str:
    return f"{article} {noun} that is {found['words']}" if placed else f"{article} {found['words']} {noun}"


def _either(before: str, found: re.Match[str], placed: bool) -> tuple[str, ...]:
    """The commands that a description at the end may make of the one before it."""
    if not parses(before):
        return ()
    command = parse_command(before)
    if command.target is None or len(command.references) != 1 or placed:
        return ()
    reference = command.references[0].plain
    meant = (
        with_thing(before, _with_words("the", command.target.plain, found, placed)),
        with_reference(before, reference, the(f"{found['words']} {reference}")),
    )
    return tuple(each for each in meant if each and parses(each))
