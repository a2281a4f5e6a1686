"""An operator's sentence becomes one command: pick up a thing, or place it in relation to others.

Every word of the sentence has to become part of the command or stand on a list of words that change nothing. What has
become nothing is quoted in a refusal, so that no wish of the operator is dropped in silence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NoReturn

from toolhand.agent_node.policies.scripted.drafts import Draft
from toolhand.agent_node.policies.scripted.foreign import is_foreign
from toolhand.agent_node.policies.scripted.frames import in_plain_words
from toolhand.agent_node.policies.scripted.reading import NO_EFFECT, Reader
from toolhand.agent_node.policies.scripted.refusals import ABILITY, EXAMPLES, refuse
from toolhand.agent_node.policies.scripted.unable import check_follow_up, check_kind, check_whole
from toolhand.agent_node.policies.scripted.verbs import strip_politeness
from toolhand.tool_nodes.language.phrases import NounPhrase
from toolhand.tool_nodes.language.places import FreeSpaceRequest, place_words
from toolhand.tool_nodes.language.relations import RELATION_WORDS
from toolhand.tool_nodes.language.speeds import spoken_speed
from toolhand.tool_nodes.language.traced import Token, Traced, WordTrace, origin
from toolhand.tool_nodes.language.words import DETERMINERS, FUNCTION_WORDS, UNCHECKED, stem, tokenize, words_only
from toolhand.tool_nodes.results import ErrorCode

__all__ = ["EXAMPLES", "MAX_COMMAND", "Command", "parse_command"]

MAX_COMMAND = 2000
"""Longest sentence that is read [characters]."""

_MANNER = re.compile(
    r"\b(?:(?:immediate|firm|neat|precise|exact)\w*|for a (?:moment|second|minute|while|bit))\b",
    re.IGNORECASE,
)
_LONGEST_PHRASE = 8
"""Most words that are quoted with a small word that was not understood [words]."""
_APART = re.compile(r"(=\S+) apart from\b")
_INSTEAD = re.compile(r"\b(?:rather than|instead of|as opposed to|other than|apart from|and not|and never|nor)\b")


@dataclass(frozen=True)
class Command:
    """What an operator asks for.

    Attributes:
        action: "pick" keeps the thing in the gripper, "place" puts it down.
        target: The thing; None for what is held ("put it down", "drop the can").
        relation: Where to place, see FreeSpaceRequest; None for a pick. Directions are those of the camera picture.
        references: Things that the place refers to; empty for anywhere.
        form: The place in full, with empty words for its references, where relation and references do not say it all.
        held_as: Name that the operator uses for the thing that is held ("drop the can"), if any.
        reading: (role, words as they were said) in the order of the sentence; the role "no effect" is that of words
            that change nothing.
        asides: References with a side after their name (`NounPhrase.aside`), and the side as it was said, quoted.
    """

    action: Literal["pick", "place"]
    target: NounPhrase | None
    relation: str | None = None
    references: tuple[NounPhrase, ...] = ()
    held_as: NounPhrase | None = None
    reading: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    asides: tuple[tuple[NounPhrase, str], ...] = field(default=(), compare=False)
    form: FreeSpaceRequest | None = None

    def place(self, names: Sequence[str] | None = None, thing: str | None = None) -> FreeSpaceRequest:
        """Where to place, as a pointer is asked for it.

        Args:
            names: Words for each of the references; their own where None.
            thing: Words for the target while it stands on the table; where None its own, of a way from there.
        """
        words = [reference.text for reference in self.references] if names is None else list(names)
        if self.form is None:
            inside = thing or "" if self.relation == "in" else ""
            return FreeSpaceRequest(self.relation or "anywhere", tuple(words), thing=inside)  # type: ignore[arg-type]
        if thing is None:
            thing = self.target.text if self.target is not None and self.relation == "moved" else ""
        return self.form.naming(words, thing)

    @property
    def understood(self) -> str:
        """The command in words: "pick: red box; place: in black bin"."""
        picked = [f"pick: {self.target.text}"] if self.target else []
        if self.action == "pick":
            return picked[0]
        held = [f"held: {self.held_as.text if self.held_as else 'what the gripper holds'}"]
        if self.form is not None:
            return "; ".join([*(picked or held), f"place: {place_words(self.place())}"])
        where = "on the table" if self.relation == "anywhere" else RELATION_WORDS[self.relation or "on"]
        names = " and ".join(reference.text for reference in self.references)
        return "; ".join([*(picked or held), f"place: {where} {names}".strip()])

    @property
    def without_effect(self) -> tuple[str, ...]:
        """The words that change nothing, as they were said."""
        return tuple(words for role, words in self.reading if role == NO_EFFECT)

    @property
    def manner(self) -> str:
        """The speed that the words ask for, and those that ask for a manner or a time that the arm does not have."""
        plain = " ".join(self.without_effect)
        speed = spoken_speed(plain)
        told = [] if speed is None else [speed.told]
        found = [match.group() for match in _MANNER.finditer(plain) if spoken_speed(match.group()) is None]
        if found:
            quoted = " and ".join(f'"{words}"' for words in found)
            told.append(f"I move in one way only: {quoted} changed nothing.")
        return " ".join(told)


def parse_command(text: str) -> Command:
    """Understand one English sentence.

    Raises:
        ToolError: NOT_UNDERSTOOD with one sentence that says what is missing (no verb, no object, a question, a
            negation, several commands, more than 2,000 characters) or quotes the words that were not understood;
            INVALID_ARGUMENT for a command that contradicts itself ("put the cup in the cup").
    """
    if len(text) > MAX_COMMAND:
        refuse(f"A command may have at most {MAX_COMMAND:,} characters, got {len(text):,}.")
    tokens = tokenize(text)
    account = WordTrace(text)
    plain = Traced.join(tokens)
    check_follow_up(plain, account)
    if not any(token[0].isalpha() for token in tokens):
        refuse("The command is empty." if not text.strip() else "The command has no words.")
    letters = [c for c in text if c.isalpha()]
    if sum(c.isascii() for c in letters) < 0.8 * len(letters):
        refuse("I understand commands in English only.")
    if is_foreign(words_only(tokens), text):
        refuse(f"I find no action that I know in {account.quote(plain.words)}: I understand commands in English only.")
    check_whole(plain, account)
    spoken, polite = strip_politeness(plain)
    account.give(spoken.dropped, NO_EFFECT)
    if not words_only(spoken.split()):
        refuse(f"The command does not say what to do; {ABILITY}.")
    spoken = in_plain_words(spoken)
    account.give(spoken.dropped, NO_EFFECT)
    check_kind(spoken, polite, account)
    draft = Reader(account).read(spoken.sub(_APART, r"\1 from").sub(_INSTEAD, "not"), asked="please" in tokens)
    if account.unread:
        _refuse_unread(tokens, account)
    return _checked(_command(draft, account))


def _refuse_unread(tokens: Sequence[Token], account: WordTrace) -> NoReturn:
    """Refuse what has become nothing, as the phrase that it stands in; only what adorns a thing may be left out."""
    unread = account.unread
    for i, token in enumerate(tokens):
        if token.words & account.unread and token in FUNCTION_WORDS:
            unread = unread | origin(_phrase(tokens[i:]))
    lost = [token for token in tokens if token.words & unread]
    needless = all(token in UNCHECKED - {"here", "there", "over", "so"} for token in lost)
    advice = "leave it out or say it in other words" if needless else "say it in other words"
    refuse(f"I do not understand {account.quote(unread)} here; {advice}.")


def _phrase(tokens: Sequence[Token]) -> list[Token]:
    """The phrase that a small word begins: up to the next small word after its noun, or the end of the clause."""
    phrase: list[Token] = []
    for token in tokens[:_LONGEST_PHRASE]:
        named = any(word not in FUNCTION_WORDS and word not in DETERMINERS for word in phrase)
        if token in ",.?!" or token in ("and", "then", "but") or (named and token in FUNCTION_WORDS):
            break
        phrase.append(token)
    return phrase


def _command(draft: Draft, account: WordTrace) -> Command:
    if draft.place is None and (draft.unplaced or not draft.picks):
        thing = f' "{draft.target.text}"' if draft.target else " it"
        refuse(f"The command does not say where to place{thing}.")
    reading = account.reading()
    if draft.place is None:
        if draft.target is None:
            refuse("The command does not say which object: name it.")
        if draft.gone:
            thing = draft.target.text
            refuse(
                f"I do not know where to take the {thing}, as {draft.gone} does not say: say where to put it, or "
                '"pick up" if I am to hold it.'
            )
        return Command("pick", draft.target, reading=reading)
    where, asides = draft.place, tuple(draft.asides)
    # Letting go is of what is held, whatever it is called.
    target, held_as = (None, draft.target) if draft.lets_go else (draft.target, None)
    return Command("place", target, where.relation, where.references, held_as, reading, asides, where.form)


def _same_place(a: NounPhrase, b: NounPhrase) -> bool:
    return (a.selectors, a.relation, a.references, a.point) == (b.selectors, b.relation, b.references, b.point)


def _stems(phrase: NounPhrase) -> tuple[str, ...]:
    return tuple(stem(word) for word in phrase.words)


def _named(phrase: NounPhrase) -> bool:
    said = phrase.words or phrase.selectors or phrase.relation or phrase.plural or phrase.excluded or phrase.point
    return bool(said) or bool(re.search(r"\b(?:object|thing|item|one)$", phrase.text))


def _checked(command: Command) -> Command:
    """The command, if it says enough and does not contradict itself."""
    target = command.target
    if target is not None and not _named(target):
        refuse("The command does not say which object.")
    which = {"other", "another"} & set(target.text.split()) if target is not None else set()
    if target is not None and which:
        refuse(f'Nothing says which one "{target.text}" is not: say where it stands or what it looks like.')
    for reference in command.references:
        words = reference.text.split()
        if "itself" in words or words in (["it"], ["them"]):
            refuse("A thing cannot be placed relative to itself.", ErrorCode.INVALID_ARGUMENT)
        if not _named(reference):
            refuse("The command does not say what to place it relative to.")
        other = {"other", "another", "second"} & set(words)
        same = target is not None and _stems(target) == _stems(reference) and bool(target.words)
        if target and same and not other and not reference.plural and _same_place(target, reference):
            refuse(f'"{target.text}" cannot be placed relative to itself.', ErrorCode.INVALID_ARGUMENT)
    own = command.references if command.form is None else command.references[: len(command.form.references)]
    if command.relation == "between" and len(own) == 1 and not own[0].plural:
        refuse('"Between" needs two things, such as "between the box and the bowl".')
    return command
