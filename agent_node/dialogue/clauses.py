"""Where one clause of an utterance ends and the next begins, and second thoughts within one."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from toolhand.agent_node.dialogue.wordings import is_place, is_thing, joints
from toolhand.agent_node.policies.scripted.commands import Command, parse_command
from toolhand.agent_node.policies.scripted.reading import OBJECT, PLACE, REFERENCE
from toolhand.agent_node.policies.scripted.verbs import PRONOUNS, VERBS
from toolhand.tool_nodes.language.traced import Token, origin, spoken_words
from toolhand.tool_nodes.language.words import DETERMINERS, tokenize
from toolhand.tool_nodes.results import ErrorCode, ToolError


@dataclass(frozen=True)
class SpokenClause:
    """A part of an utterance: its tokens, and its words as they were said."""

    tokens: tuple[Token, ...]
    said: str


def parse_problem(text: str) -> ToolError | None:
    """Why the scripted policy cannot read a text as one command; None where it can."""
    problem = _problem(text)
    return None if problem is None else ToolError(*problem)


def parses(text: str) -> bool:
    """Whether the scripted policy can read a text as one command."""
    return _problem(text) is None


@functools.lru_cache(maxsize=256)
def _problem(text: str) -> tuple[ErrorCode, str, str] | None:
    """Code, message and hint: an error that is kept would keep, by its traceback, the robot of whoever said it."""
    try:
        parse_command(text)
    except ToolError as error:
        return error.code, error.message, error.hint
    return None


def clause_of(text: str, tokens: Sequence[Token]) -> SpokenClause:
    """The clause of some tokens of a text."""
    spans = spoken_words(text)
    words = sorted(origin(tokens))
    said = text[spans[words[0]][0] : spans[words[-1]][1]] if words else ""
    return SpokenClause(tuple(tokens), said)


def clauses_of(text: str, tokens: Sequence[Token]) -> list[SpokenClause]:
    """The clauses of an utterance, without what joins them."""
    parts: list[list[Token]] = [[]]
    i = 0
    while i < len(tokens):
        width = _separator(tokens, i)
        if width and (parts[-1] or i == 0):
            parts.append([])
            i += width
        else:
            parts[-1].append(tokens[i])
            i += 1
    kept = [_without_lead(part) for part in parts]
    return [clause_of(text, part) for part in kept if any(token.words for token in part)]


def _without_lead(part: list[Token]) -> list[Token]:
    while part and (part[0] in ",.?!" or (part[0] in joints()["leads"] and len(part) > 1)):
        part = part[1:]
    while part and part[-1] in (*",.?!", "and"):
        part = part[:-1]
    return part


def _separator(tokens: Sequence[Token], i: int) -> int:
    """How many tokens from a position on part two clauses; 0 where none do."""
    k = i
    if 0 < i < len(tokens) - 1 and tokens[i - 1][-1].isdigit() and tokens[i + 1][0].isdigit():
        return 0  # "0.41, 0.22" is a point
    while k < len(tokens) and tokens[k] in ",.?!":
        k += 1
    for words in joints()["then"]:
        parts = words.split()
        if list(tokens[k : k + len(parts)]) == parts:
            return k + len(parts) - i
    if k > i and any(token in ".?!" for token in tokens[i:k]):
        return k - i
    weak = k + 1 if k < len(tokens) and tokens[k] == "and" else k
    while weak < len(tokens) and weak > i and tokens[weak] in ("also", "please"):
        weak += 1
    if weak > i and _begins(tokens, weak):
        return weak - i
    return 0


def _begins(tokens: Sequence[Token], at: int) -> bool:
    """Whether a clause may begin here: with a verb as it stands in an order, or with a question."""
    if at >= len(tokens):
        return False
    word, after = tokens[at], tokens[at + 1] if at + 1 < len(tokens) else ""
    if word in joints()["begins a question"] and after:
        return True
    return word in VERBS and VERBS[word][0] == word and after not in ("of", "is", "and", "are")


def join_deeds(parts: Sequence[tuple[str, bool]]) -> list[str]:
    """Clauses with those joined again that are one command together: "pick up the can" and "put it in the bin".

    Args:
        parts: Words of each clause, and whether no table knows it.
    """
    joined: list[tuple[str, bool]] = []
    for said, deed in parts:
        if deed and joined and joined[-1][1]:
            both = f"{joined[-1][0]} and {said}"
            if parses(both) and _speaks_of_it(said):
                joined[-1] = (both, True)
                continue
        joined.append((said, deed))
    return [said for said, _ in joined]


def _speaks_of_it(said: str) -> bool:
    return any(word in PRONOUNS for word in tokenize(said)[1:3])


def carry_verb_on(said: str) -> list[str]:
    """ "Put the lemon in the bowl and the pear in the bin" in its two commands; other words as they are."""
    tokens = tokenize(said)
    if not tokens or tokens[0] not in VERBS:
        return [said]
    for i in range(2, len(tokens) - 1):
        if tokens[i] not in ("and", ",") or tokens[i + 1] not in DETERMINERS:
            continue
        first, second = clause_of(said, tokens[:i]).said, clause_of(said, tokens[i + 1 :]).said
        verb = clause_of(said, tokens[:1]).said
        if parses(first) and _places(first):
            rest = carry_verb_on(f"{verb} {second}")
            if all(parses(part) for part in rest):
                return [first, *rest]
    return [said]


def _places(said: str) -> bool:
    return parse_command(said).action == "place"


def corrected(text: str, tokens: Sequence[Token]) -> str | tuple[str, ...] | None:
    """What a second thought makes of an utterance: the corrected command, several that it may mean, or None.

    The correction takes the place of what it is one of: a thing that of the thing, a place that of the place, and a
    whole command that of the command. Where a thing may stand for the thing or for what its place refers to, both
    commands are given.
    """
    found = _second_thought(tokens)
    if found is None:
        return None
    at, end = found
    before, after = clause_of(text, tokens[:at]).said, clause_of(text, tokens[end:])
    if corrected_again := corrected(before, tokenize(before)):
        before = corrected_again if isinstance(corrected_again, str) else before
    if after.tokens[0] in VERBS and VERBS[after.tokens[0]][0] == after.tokens[0] and parses(after.said):
        return after.said
    if not parses(before):
        return None
    command = parse_command(before)
    words = [str(token) for token in after.tokens if token[0] not in ",.?!"]
    if words[0] not in DETERMINERS and is_place(words) and (placed := with_place(before, " ".join(words))):
        return placed
    if is_thing(" ".join(words)):
        meant = [_with(command, OBJECT, after.said)]
        meant += [_with(command, REFERENCE, after.said)] if len(command.references) == 1 else []
        meant = [each for each in meant if each and parses(each)]
        return tuple(meant) if len(meant) > 1 else meant[0] if meant else None
    return (with_place(before, after.said) or None) if is_place(words) else None


def _second_thought(tokens: Sequence[Token]) -> tuple[int, int] | None:
    """(where the last second thought begins, where what it says begins); None without one."""
    for at in range(len(tokens) - 2, 1, -1):
        for mark in (*joints()["corrects"], *joints()["may correct"]):
            parts = mark.split()
            end = at + len(parts)
            if list(tokens[at:end]) != parts or end >= len(tokens):
                continue
            set_off = tokens[at - 1] in ",.!?"
            while end < len(tokens) and tokens[end] in ",.!?":
                end += 1
            follows = end < len(tokens) and (
                tokens[end] in DETERMINERS or is_place(tokens[end:]) or tokens[end] in VERBS
            )
            if end < len(tokens) and (set_off or mark in joints()["corrects"] or follows) and follows:
                begins = at
                while begins > 0 and tokens[begins - 1] in ",.!?":
                    begins -= 1
                longer = next(
                    (
                        m
                        for m in (*joints()["corrects"], *joints()["may correct"])
                        if m.endswith(f" {mark}") and _ends_with(tokens[:begins], m, mark)
                    ),
                    "",
                )
                return begins - (len(longer.split()) - len(parts) if longer else 0), end
    return None


def _ends_with(tokens: Sequence[Token], longer: str, mark: str) -> bool:
    lead = longer.removesuffix(mark).split()
    return [str(token) for token in tokens[len(tokens) - len(lead) :]] == lead


def _with(command: Command, role: str, words: str) -> str:
    """A command with other words for its thing or for what its place refers to; empty where it has none of these."""
    if not any(part == role for part, _ in command.reading):
        return ""
    done, said = False, []
    for part, spoken in command.reading:
        if part != role:
            said.append(spoken)
        elif not done and spoken not in PRONOUNS:
            said.append(words)
            done = True
        elif spoken in PRONOUNS:
            said.append(spoken)
    return _closed(" ".join(said))


def _closed(text: str) -> str:
    """A text in which every point has the sign that closes it, which no word of a reading holds."""
    return re.sub(r"(\(\s*[\d.]+\s*,\s*[\d.]+)(?=\s|$)", r"\1)", text)


def with_thing(text: str, words: str) -> str:
    """A command with another thing; empty where the command names none, or cannot be read."""
    return _with(parse_command(text), OBJECT, words) if parses(text) else ""


def with_reference(text: str, plain: str, words: str) -> str:
    """A command in which the reference that a phrase names is called by other words; empty where that is not one."""
    if not parses(text):
        return ""
    command = parse_command(text)
    if len(command.references) == 1:
        return _with(command, REFERENCE, words)
    named = [reference for reference in command.references if reference.plain == plain]
    if len(named) != 1:
        return ""
    said = next((spoken for part, spoken in command.reading if part == REFERENCE and plain in spoken.lower()), "")
    again = said.lower().replace(f"the {plain}", words, 1) if f"the {plain}" in said.lower() else ""
    return text.replace(said, again, 1) if again else ""


def with_place(text: str, words: str) -> str:
    """A command that places, at another place; empty where it does not place, or cannot be read with that."""
    if not parses(text):
        return ""
    command = parse_command(text)
    kept = [said for role, said in command.reading if role not in (PLACE, REFERENCE)]
    again = f"{_closed(' '.join(kept))} {words}"
    return again if command.action == "place" and parses(again) else ""
