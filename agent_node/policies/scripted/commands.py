"""An operator's sentence becomes one command: pick up a thing, or place it in relation to others.

Every word of the sentence has to become part of the command or stand on a list of words that change nothing. What has
become nothing is quoted in a refusal, so that no wish of the operator is dropped in silence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from agent_node.policies.scripted.reading import NO_EFFECT, Draft, Reader
from agent_node.policies.scripted.refusals import EXAMPLES, refuse
from agent_node.policies.scripted.verbs import VERBS, strip_politeness
from tool_nodes.language.phrases import NounPhrase
from tool_nodes.language.relations import RELATION_WORDS
from tool_nodes.language.traced import Traced, WordTrace
from tool_nodes.language.words import NUMBERS, stem, tokenize, words_only
from tool_nodes.results import ErrorCode, ToolError

__all__ = ["EXAMPLES", "MAX_COMMAND", "Command", "parse_command"]

MAX_COMMAND = 2000
"""Longest sentence that is read [characters]."""

_QUESTION = re.compile(
    r"^(?:what|where|which|who|whose|why|how|when|is|are|am|was|were|do you|does|did|has|have you|should)\b"
)
_STOP = re.compile(
    r"^(?:(?:emergency )?stop|halt|freeze|abort|cancel|hold still|do not move)"
    r"(?: (?:it|that|this|now|moving|everything|all|here|(?:the )?(?:robot|arm|motion|movement|command|task)))*"
    r"(?: [.!])*$"
)
_NEGATED = re.compile(
    r"^(?:never|not|avoid|no|nobody|do not|stop|cancel|abort|halt|refrain)\b"
    r"|\b(?:do|did|would|should|must|can|could|will) not\b|\bnever\b"
    r"|\binstead of (?:picking|putting|placing|moving)|\bwithout (?:\w+ing|release|grab)\b"
)
_CONDITION = re.compile(r"\b(?:if|unless|whenever|whether|as long as|until|otherwise)\b|^when\b")
_BOTH_SIDES = re.compile(
    r"\b(?:(left|right) (?:side )?(?:and|or) (?:to the |on the )?(left|right)"
    r"|(front|behind)(?: of)? (?:and|or) (?:in )?(behind|front)|both sides|(inside|outside) and (outside|inside))\b"
)
_AMOUNT = rf"(?:\d++ ?|(?:half|quarter|few|an?|{'|'.join(sorted(word for word in NUMBERS if word.isalpha()))}) )"
_UNIT = (
    r"(?:places?|spots?|fingers?"
    r"|cm|mm|m|km|ft|centimet(?:er|re)s?|millimet(?:er|re)s?|met(?:er|re)s?|inch(?:es)?|foot|feet|hand ?widths?"
    r"|degrees?|radians?|percent|seconds?|minutes?|hours?|days?|times?|steps?|l|lit(?:er|re)s?|ml|g|kg|grams?|ounces?|oz)"
)
_MEASURE = re.compile(
    rf"\b(?:(?:about|around|exactly|roughly|approximately|only|at least|at most) )?{_AMOUNT}"
    rf"(?:[.,] \d+ )?(?:{_AMOUNT}|or |to )*{_UNIT}\b(?! (?:of|from|at)\b)"
)
_PART = r"(?:side|back|head|end|bottom|top|edge|front|face|belly|cap|lid|label|opening|handle|spout|logo|neck)"
_POSE = re.compile(
    r"\bupside down\b|\bupright\b|\bsideways\b|\b(?:horizont|vertic)ally\b"
    rf"|\b(?:on|onto) (?:its|his|her|their|one) (?:\w+ )?{_PART}\b(?! of\b)"
    rf"|\bwith (?:the |its )?(?:\w+ )?{_PART} (?:up|down)\b"
    r"|\b(?:with|so)(?: \w+){1,5} (?:facing|pointing|upwards?|downwards?)\b(?: \w+)*"
    r"|\b(?:facing|pointing|turned|tilted|rotated)\b.*"
)
"""How a thing is to stand or lie."""
_MANNER = re.compile(
    r"\b(?:(?:slow|quick|swift|immediate|firm|neat|gentl|soft|precise|exact)\w*|real(?:ly)? quick|asap"
    r"|as soon as possible|for a (?:moment|second|minute|while|bit))\b",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"(?<=\w )(?:[.,;:!?] )?(?:(?:no|sorry|actually|wait|oops|well)(?: ,)? )*"
    r"(?:i mean(?:t)?|no wait|wait no|(?<=[.,;:!?] )(?:no|actually|wait|oops|rather)|scratch that|on second thoughts?"
    r"|make that|or rather|correction|sorry"
    r"|(?:actually|oops|wait)(?=(?: ,)? (?:the|an?|that|this|not|no|pick|put|take|grab|my)\b))"
    r"(?: ,)?(?= (?!and\b)\w).*"
)
"""A second thought, and all that follows it."""
_INSTEAD = re.compile(r"\b(?:rather than|instead of|as opposed to|other than|apart from|and not|and never|nor)\b")


@dataclass(frozen=True)
class Command:
    """What an operator asks for.

    Attributes:
        action: "pick" keeps the thing in the gripper, "place" puts it down.
        target: The thing; None for what is held ("put it down", "drop the can").
        relation: Where to place: in, on, left_of, right_of, in_front_of, behind, next_to, between, anywhere.
            None for a pick. Directions are those of the camera picture.
        references: What the relation is to; empty for anywhere.
        held_as: What the operator calls the thing that is held ("drop the can"), if anything.
        reading: (role, words as they were said) in the order of the sentence; the role "no effect" is that of words
            that change nothing.
    """

    action: Literal["pick", "place"]
    target: NounPhrase | None
    relation: str | None = None
    references: tuple[NounPhrase, ...] = ()
    held_as: NounPhrase | None = None
    reading: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    @property
    def understood(self) -> str:
        """The command in words: "pick: red box; place: in black bin"."""
        picked = [f"pick: {self.target.text}"] if self.target else []
        if self.action == "pick":
            return picked[0]
        where = "on the table" if self.relation == "anywhere" else RELATION_WORDS[self.relation or "on"]
        names = " and ".join(reference.text for reference in self.references)
        held = [f"held: {self.held_as.text if self.held_as else 'what the gripper holds'}"]
        return "; ".join([*(picked or held), f"place: {where} {names}".strip()])

    @property
    def without_effect(self) -> tuple[str, ...]:
        """The words that change nothing, as they were said."""
        return tuple(words for role, words in self.reading if role == NO_EFFECT)

    @property
    def unheeded(self) -> str:
        """Those of them that ask for a manner or a time that the arm does not have, quoted; or ""."""
        found = [match.group() for words in self.without_effect for match in _MANNER.finditer(words)]
        return " and ".join(f'"{words}"' for words in found)


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
    if not any(token[0].isalpha() for token in tokens):
        refuse("The command is empty." if not text.strip() else "The command has no words.")
    letters = [c for c in text if c.isalpha()]
    if sum(c.isascii() for c in letters) < 0.8 * len(letters):
        refuse("I understand commands in English only.")
    account = WordTrace(text)
    plain = Traced.join(tokens)
    _check_whole(plain, account)
    spoken, polite = strip_politeness(plain)
    account.give(spoken.dropped, NO_EFFECT)
    if not words_only(spoken.split()):
        refuse("The command does not say what to do.")
    _check_kind(spoken, polite, account)
    draft = Reader(account).read(spoken.sub(_INSTEAD, "not"), asked="please" in tokens)
    if account.unread:
        refuse(f"I do not understand {account.quote(account.unread)} here; leave it out or say it in other words.")
    return _checked(_command(draft, account))


def _check_whole(plain: Traced, account: WordTrace) -> None:
    """Refuse second thoughts, measures and poses."""
    for pattern, sentence in (
        (_CORRECTION, "The command changes while it is said, at {}: say it once more from the start."),
        (_MEASURE, "I do not work by measures: leave out {}."),
        (_POSE, "I put a thing down as it was picked up and cannot turn it: leave out {}."),
    ):
        found = pattern.search(plain.text)
        if found and not (pattern is _CORRECTION and VERBS.keys().isdisjoint(plain[: found.start()].split())):
            refuse(sentence.format(account.quote(plain[found.start() : found.end()].words)))


def _check_kind(spoken: Traced, polite: bool, account: WordTrace) -> None:
    """Refuse what is no command at all, and what no command may hold."""
    if _STOP.match(spoken.text):
        raise ToolError(
            ErrorCode.NOT_UNDERSTOOD,
            "Nothing is moving in this command, so there is nothing to stop.",
            'To stop the arm at any time, run "toolhand stop" in another terminal, or press Ctrl-C where it moves.',
        )
    if _QUESTION.match(spoken.text) and not polite:
        refuse("I carry out commands and do not answer questions.")
    negated = _NEGATED.search(spoken.text)
    if negated:
        said = account.quote(spoken[negated.start() : negated.end()].words)
        refuse(f"The command says what not to do ({said}); say what to do.")
    condition = _CONDITION.search(spoken.text)
    if condition:
        said = account.quote(spoken[condition.start() : condition.end()].words)
        refuse(f"I carry out commands without conditions such as {said}.")
    if _BOTH_SIDES.search(spoken.text):
        refuse("A thing cannot be in two opposite places at once.", ErrorCode.INVALID_ARGUMENT)


def _command(draft: Draft, account: WordTrace) -> Command:
    if draft.place is None and (draft.unplaced or not draft.picks):
        refuse("The command does not say where to place it.")
    reading = account.reading()
    if draft.place is None:
        if draft.target is None:
            refuse("The command does not say which object.")
        return Command("pick", draft.target, reading=reading)
    relation, references = draft.place
    if draft.lets_go:
        # Letting go is of what is held, whatever it is called.
        return Command("place", None, relation, references, draft.target, reading)
    return Command("place", draft.target, relation, references, reading=reading)


def _same_place(a: NounPhrase, b: NounPhrase) -> bool:
    return (a.selectors, a.relation, a.references) == (b.selectors, b.relation, b.references)


def _stems(phrase: NounPhrase) -> tuple[str, ...]:
    return tuple(stem(word) for word in phrase.words)


def _named(phrase: NounPhrase) -> bool:
    return bool(phrase.words or phrase.selectors or phrase.relation or phrase.plural or phrase.excluded) or bool(
        re.search(r"\b(?:object|thing|item|one)$", phrase.text)
    )


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
    if command.relation == "between" and len(command.references) == 1 and not command.references[0].plural:
        refuse('"Between" needs two things, such as "between the box and the bowl".')
    return command
