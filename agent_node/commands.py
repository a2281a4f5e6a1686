"""An operator's sentence becomes one command: pick up a thing, or place it in relation to others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn

from agent_node.verbs import CARRYING, LETTING_GO, MOVING, PRONOUNS, Clause, split_clauses, strip_politeness
from tool_nodes.perception.phrases import NounPhrase, noun_phrase
from tool_nodes.perception.relations import (
    STOP,
    RelationMark,
    find_relations,
    rewrite,
    split_list,
    split_references,
)
from tool_nodes.perception.words import DETERMINERS, SIDES, stem, tokenize, words_only
from tool_nodes.results import ErrorCode, ToolError

MAX_COMMAND = 2000
"""Longest sentence that is read [characters]."""
EXAMPLES = 'For example: "Pick up the red box" or "Put the can to the left of the bowl".'
RELATION_WORDS = {
    "in": "in",
    "on": "on",
    "left_of": "to the left of",
    "right_of": "to the right of",
    "in_front_of": "in front of",
    "behind": "behind",
    "next_to": "next to",
    "between": "between",
}
"""How each relation is said."""

_SEVERAL = "I carry out one command at a time: one object and at most one place."
_OPPOSITES = ({"left_of", "right_of"}, {"in_front_of", "behind"}, {"in", "on"})
_CONTAINERS = frozenset(("bin", "bowl", "basket", "crate", "tray", "bucket", "container", "tub", "drawer"))
_QUESTION = re.compile(
    r"^(?:what|where|which|who|whose|why|how|when|is|are|am|was|were|do you|does|did|has|have you|should)\b"
)
_NEGATED = re.compile(
    r"^(?:never|not|avoid|no|nobody|do not|stop|cancel|abort|halt|refrain)\b"
    r"|\b(?:do|did|would|should|must|can|could|will) not\b|\bnever\b"
    r"|\binstead of (?:picking|putting|placing|moving)|\bwithout (?:picking|lifting|moving|touching|taking)"
)
_WANT = re.compile(
    r"^(?:i|we) (?:would(?: really)? (?:like|love|prefer)|want|need|wish for)(?: to have| to see)? (?P<rest>.+)$"
)
_DECLARED = re.compile(
    r"^(?P<thing>(?!there\b).+?) (?:(?:should|must|needs? to|ha[sv]e? to|ought to|is to|can) (?:be|go|sit|stand)"
    r"|goes?|belongs?)"
    r"(?: (?P<how>picked up|picked|lifted|grabbed|taken|placed|put|moved|set|dropped|left|laid))?(?: down)?\b"
    r"(?P<rest>.*)$"
)
_LIFTED = re.compile(r" (?:to be )?(?:picked(?: up)?|lifted(?: up)?|grabbed|taken)$")
_PARTICIPLE = re.compile(
    r"\b(?:to be|be|being|to go|to end up)(?: (?:placed|put|moved|set|positioned))?\b|\b(?:placed|moved|put)\b"
)
_TABLE = r"(?:the |this |my |your )?(?:table|desk|counter|surface|work surface|tabletop|workspace)(?: top)?"
_SPOT = (
    r"(?:a |an |any |the |some )?(?:(?:free|empty|clear|open|vacant|another|different) )+(?:\w+ )?"
    r"(?:space|spot|place|area|room|location|surface|table)"
)
_ANYWHERE = re.compile(
    rf"\b(?:down )?(?:(?:on|onto|to|upon) (?:to )?{_TABLE}|(?:in|at|on|to|near) the (?:middle|centre) of {_TABLE}"
    rf"|(?:in|on|onto|at|to|into) {_SPOT}(?: (?:on|of) {_TABLE})?"
    rf"|(?:any|some|else)where(?: (?:else|free|you like|you want))?(?: on {_TABLE})?"
    rf"|wherever(?: you (?:like|want))?){STOP}"
)
_IN_HAND = re.compile(
    r"\b(?:over )?(?:to me|to us|over here|here|in the air|into the air|off the ground|high"
    r"|(?:in|with|between|inside) (?:the|your|its) (?:gripper|hand|claw|fingers|jaws))(?= |$)"
)
"""Where a thing that is picked up is held."""
_UNDER = re.compile(r"\b(?:under|underneath|below|beneath)\b")
_ATTACHED = frozenset(
    {"and", "that", "which", "is", "are", "was", "sitting", "standing", "lying", "located", "placed", "resting"}
)
"""Words after which a relation does not say where to place."""
_INTO = frozenset({"to", "toward", "towards", "into", "in to", "onto", "on to"})
_CONDITION = re.compile(r"\b(?:if|unless|whenever|whether|as long as|until|otherwise)\b|^when\b")
_BOTH_SIDES = re.compile(
    r"\b(?:(left|right) (?:side )?(?:and|or) (?:to the |on the )?(left|right)"
    r"|(front|behind)(?: of)? (?:and|or) (?:in )?(behind|front)|both sides|(inside|outside) and (outside|inside))\b"
)


@dataclass(frozen=True)
class Command:
    """What an operator asks for.

    Attributes:
        action: "pick" keeps the thing in the gripper, "place" puts it down.
        target: The thing; None for what is held ("put it down").
        relation: Where to place: in, on, left_of, right_of, in_front_of, behind, next_to, between, anywhere.
            None for a pick. Directions are those of the camera picture.
        references: What the relation is to; empty for anywhere.
    """

    action: Literal["pick", "place"]
    target: NounPhrase | None
    relation: str | None = None
    references: tuple[NounPhrase, ...] = ()


def _refuse(sentence: str, code: ErrorCode = ErrorCode.NOT_UNDERSTOOD) -> NoReturn:
    raise ToolError(code, sentence, EXAMPLES)


def parse_command(text: str) -> Command:
    """Understand one English sentence.

    Raises:
        ToolError: NOT_UNDERSTOOD with one sentence that says what is missing (no verb, no object, a question, a
            negation, several commands, more than 2,000 characters); INVALID_ARGUMENT for a command that contradicts
            itself ("put the cup in the cup").
    """
    if len(text) > MAX_COMMAND:
        _refuse(f"A command may have at most {MAX_COMMAND:,} characters, got {len(text):,}.")
    tokens = tokenize(text)
    if not any(token[0].isalpha() for token in tokens):
        _refuse("The command is empty." if not text.strip() else "The command has no words.")
    letters = [c for c in text if c.isalpha()]
    if sum(c.isascii() for c in letters) < 0.8 * len(letters):
        _refuse("I understand commands in English only.")
    spoken, polite = strip_politeness(" ".join(tokens))
    if not words_only(spoken.split()):
        _refuse("The command does not say what to do.")
    if _QUESTION.match(spoken) and not polite:
        _refuse("I carry out commands and do not answer questions.")
    if _NEGATED.search(spoken):
        _refuse("The command says what not to do; say what to do.")
    if _CONDITION.search(spoken):
        _refuse("I carry out commands without conditions.")
    if _BOTH_SIDES.search(spoken):
        _refuse("A thing cannot be in two opposite places at once.", ErrorCode.INVALID_ARGUMENT)
    return _checked(_reading(spoken.split(), asked="please" in tokens))


@dataclass
class _Draft:
    """A command while its clauses are read. `place` is (relation, references)."""

    target: NounPhrase | None = None
    place: tuple[str, tuple[NounPhrase, ...]] | None = None
    picks: bool = False
    unplaced: bool = False


def _reading(tokens: list[str], asked: bool) -> Command:
    spoken = " ".join(tokens)
    wanted, declared = _WANT.match(spoken), _DECLARED.match(spoken)
    lead, clauses = split_clauses(tokens)
    if wanted and not (clauses and clauses[0].verb_class != "unsupported"):
        clauses, lead = _wanted(wanted["rest"]), []
    elif declared and (not clauses or lead):
        picks = (declared["how"] or "").split(" ")[0] in ("picked", "lifted", "grabbed", "taken")
        clauses, lead = _picked_and_put(declared["thing"], declared["rest"])[: 1 if picks else 2], []
    if not clauses and any(" ".join(tokens[m.start : m.end]) in ("into", "onto") for m in find_relations(tokens)):
        clauses, lead = [Clause("put", "place", tuple(tokens))], []
    if not clauses and asked and tokens[0] in DETERMINERS:
        clauses, lead = [Clause("give", "pick", tuple(tokens))], []
    if not clauses:
        shown = spoken if len(spoken) <= 60 else spoken[:57] + "..."
        _refuse(f'I find no action that I know in "{shown}"; I can pick things up and place them.')
    unsupported = next((c for c in clauses if c.verb_class == "unsupported"), None)
    if unsupported:
        _refuse(f'I cannot "{unsupported.verb}"; I can pick things up and place them.')
    draft = _Draft()
    if lead:
        lead = lead[len(spoken[: wanted.start("rest")].split()) :] if wanted else lead
        lead_words = _polished(rewrite(lead))
        if [m for m in find_relations(lead_words[:12], noun_first=False) if m.start == 0]:
            last = clauses[-1]
            clauses[-1] = Clause(last.verb, last.verb_class, (*last.words, *lead))
        elif noun_phrase(lead_words).words:
            draft.target = noun_phrase([w for w in lead_words if w not in ("there", "is", "see")])
    if all(clause.verb_class == "mention" for clause in clauses):
        _refuse(f'I cannot only "{clauses[0].verb}"; I can pick things up and place them.')
    for clause in clauses:
        _read(clause, draft)
    if draft.place is None and (draft.unplaced or not draft.picks):
        _refuse("The command does not say where to place it.")
    if draft.place is None:
        if draft.target is None:
            _refuse("The command does not say which object.")
        return Command("pick", draft.target)
    return Command("place", draft.target, *draft.place)


def _wanted(rest: str) -> list[Clause]:
    """ "I would like the red box in the bin" asks to place, "I want the can next to the bowl" to hand over."""
    explicit = _PARTICIPLE.search(rest)
    if explicit and explicit.start() > 0:
        return _picked_and_put(rest[: explicit.start()], rest[explicit.end() :])
    lifted = _LIFTED.search(rest)
    if lifted:
        return [Clause("pick", "pick", tuple(rest[: lifted.start()].split()))]
    rest = _IN_HAND.sub("", rest)
    marks = find_relations(rewrite(rest.split()))
    inward = any(mark.directed or mark.relation in ("in", "on", "between") for mark in marks)
    placing = inward or bool(_ANYWHERE.search(rest))
    return [Clause("put" if placing else "pick", "place" if placing else "pick", tuple(rest.split()))]


def _picked_and_put(thing: str, place: str) -> list[Clause]:
    """Two clauses, so that what is said of the thing is not taken for its new place."""
    return [Clause("pick", "pick", tuple(thing.split())), Clause("put", "place", ("it", *place.split()))]


def _polished(words: Sequence[str]) -> list[str]:
    """Without the particles of a verb: "it back down" becomes "it"."""
    kept = [word for word in words if word not in ("down", "up", "me", "us", "upright")]
    return [word for i, word in enumerate(kept) if not _is_particle(word, kept[:i], kept[i + 1 :])]


def _is_particle(word: str, before: Sequence[str], rest: Sequence[str]) -> bool:
    """True for "back" in "put it back on the table", but not in "the back can"."""
    if word not in ("back", "away", "aside", "again", "off", "out", "over") or rest[:1] in (["of"], ["from"]):
        return False
    if not rest or rest[0] in ("to", "toward", "towards", "and") or _starts_place(rest):
        return True
    # "Hand over the can", but "put it over the box".
    leads = not before and (rest[0] in DETERMINERS or rest[0] in PRONOUNS)
    return leads or (word != "over" and before[-1:] in (["it"], ["them"]))


def _read(clause: Clause, draft: _Draft) -> None:
    """Add one clause to the draft. Raises ToolError when it asks for a second command."""
    words = words_only(clause.words)
    text = " ".join(words)
    if clause.verb_class != "place":
        text = _IN_HAND.sub("", text)
    anywhere = _ANYWHERE.search(text)
    resting = clause.verb_class != "place" and anywhere and not text[anywhere.start() :].startswith(("to ", "onto "))
    if anywhere and not resting:
        text = text[: anywhere.start()] + " " + text[anywhere.end() :]
    lowered = "down" in words or "aside" in words or clause.verb in LETTING_GO
    if re.search(r"^(?:it |them )?(?:there|here)$", text.strip()):
        _refuse("The command does not say where to place it: name a thing that is there.")
    rest = _polished(rewrite(text.split()))
    pronoun = (
        bool(rest) and rest[0] in PRONOUNS and (len(rest) == 1 or rest[0] in ("it", "them") or _starts_place(rest[1:]))
    )
    if pronoun:
        rest = rest[1:]
    held = pronoun or not rest or _starts_place(rest)
    onto_table = anywhere and not resting and re.match(r"(?:down )?(?:onto|to|into)\b", anywhere.group())
    mark = None if onto_table else _destination(rest, held, clause)
    place: tuple[str, tuple[NounPhrase, ...]] | None = None
    if mark is not None:
        place = _place(mark, rest[mark.end :])
        rest = rest[: mark.start]
    elif (anywhere and not resting) or (clause.verb_class == "place" and lowered):
        place = ("anywhere", ())
    elif clause.verb_class == "place" and any(word.startswith("<") for word in rest):
        side = next(word.strip("<>") for word in rest if word.startswith("<"))
        _refuse(f'The command does not say what the thing is to be placed relative to: "{side}" of what?')
    thing = _thing(rest) if rest else None
    _merge(clause, draft, thing, place)


def _starts_place(words: Sequence[str]) -> bool:
    adjective = len(words) > 1 and words[0] in SIDES and words[1] not in (*DETERMINERS, "of", "to")
    return not adjective and any(mark.start == 0 for mark in find_relations(words[:12], noun_first=False))


def _merge(
    clause: Clause, draft: _Draft, thing: NounPhrase | None, place: tuple[str, tuple[NounPhrase, ...]] | None
) -> None:
    if thing is not None:
        same = draft.target is not None and set(_stems(thing)) <= set(_stems(draft.target))
        if (draft.target is not None and not same) or (draft.target is None and draft.place is not None):
            _refuse(_SEVERAL)
        draft.target = draft.target or thing
    if clause.verb_class == "mention":
        return
    if clause.verb_class == "pick":
        if draft.picks and thing is not None and draft.place is not None:
            _refuse(_SEVERAL)
        draft.picks = True
    if place is not None:
        if draft.place is not None and place != ("anywhere", ()):
            _refuse(_SEVERAL)
        draft.place = draft.place or place
    elif clause.verb_class == "place":
        draft.unplaced = True


def _destination(words: Sequence[str], held: bool, clause: Clause) -> RelationMark | None:
    """The relation that says where to place, or None. Others belong to the description of a thing."""
    marks = [
        m
        for m in _marks(words, held)
        if words[m.start] not in ("from", "out", "off") and (m.start == 0 or words[m.start - 1] not in _ATTACHED)
    ]
    if _UNDER.search(" ".join(words)) and clause.verb_class == "place":
        _refuse(f"I can place things {', '.join(RELATION_WORDS.values())} other things or on the table.")
    strong = [m for m in marks if " ".join(words[m.start : m.end]) in _INTO]
    if clause.verb_class == "mention":
        return None
    if clause.verb_class == "pick":
        near = [m for m in marks if words[m.start] in ("closer", "nearer")]
        carried = marks if held else near + [m for m in marks if m.directed and clause.verb in MOVING]
        usable = strong or (carried if clause.verb in CARRYING else [])
        return usable[-1] if usable else None
    if not marks:
        return None
    marks = [m for m in marks if m.relation not in ("nearest_to", "farthest_from")] or marks
    if strong:
        chosen = strong[-1]
    elif marks[0].relation in ("in", "on") or held:
        chosen = marks[0]
    elif marks[-1].relation == "in":
        chosen = marks[-1]
    else:
        sideways = [m for m in marks if m.directed]
        chosen = sideways[-1] if sideways else marks[0]
    if chosen.relation == "farthest_from":
        _refuse(f"I can place things {', '.join(RELATION_WORDS.values())} other things or on the table.")
    return chosen


def _marks(words: Sequence[str], held: bool) -> list[RelationMark]:
    """Relations, and "to the bin" as a destination of its own."""
    marks = find_relations(words, noun_first=not held)
    covered = {i for mark in marks for i in range(mark.start, mark.end)}
    for i, word in enumerate(words):
        if word in ("to", "toward", "towards") and i not in covered and i + 1 < len(words):
            marks.append(RelationMark("to" if word == "to" else "next_to", i, i + 1, True))
    return sorted(marks, key=lambda mark: mark.start)


def _place(mark: RelationMark, words: Sequence[str]) -> tuple[str, tuple[NounPhrase, ...]]:
    words = [word for word in words if word not in ("please", "then")]
    relation = mark.relation
    for i, word in enumerate(words):
        second = (
            [m for m in find_relations(words[i + 1 : i + 13], noun_first=False) if m.start == 0]
            if word == "and"
            else []
        )
        if second:
            if any({relation, second[0].relation} == pair for pair in _OPPOSITES):
                _refuse("A thing cannot be in two opposite places at once.", ErrorCode.INVALID_ARGUMENT)
            _refuse("I can place a thing in one relation at a time.")
    references = tuple(noun_phrase(part) for part in split_references(relation, words))
    if len(references) > 1 and (relation in ("in", "on", "to") or references[-1].relation):
        _refuse(_SEVERAL)
    if relation == "to":
        relation = "in" if references and stem(references[0].head) in _CONTAINERS else "next_to"
    return {"nearest_to": "next_to"}.get(relation, relation), references


def _thing(words: Sequence[str]) -> NounPhrase:
    """The object of a verb. Raises ToolError when it is several things."""
    parts = split_list(words)
    if "or" in words:
        _refuse("The command leaves a choice between objects; name one.")
    if any(part and part[0] in DETERMINERS for part in parts[1:]):
        _refuse("I can handle one object at a time.")
    thing = noun_phrase(words)
    if (thing.count or 1) > 1 or (thing.plural and not thing.head and not thing.selectors) or "all" in words:
        _refuse("I can handle one object at a time.")
    return thing


def _stems(phrase: NounPhrase) -> tuple[str, ...]:
    return tuple(stem(word) for word in phrase.words)


def _same_place(a: NounPhrase, b: NounPhrase) -> bool:
    return (a.selectors, a.relation, a.references) == (b.selectors, b.relation, b.references)


def _named(phrase: NounPhrase) -> bool:
    return bool(phrase.words or phrase.selectors or phrase.relation or phrase.plural or phrase.excluded) or bool(
        re.search(r"\b(?:object|thing|item|one)$", phrase.text)
    )


def _checked(command: Command) -> Command:
    """The command, if it says enough and does not contradict itself."""
    target = command.target
    if target is not None and not _named(target):
        _refuse("The command does not say which object.")
    for reference in command.references:
        words = reference.text.split()
        if "itself" in words or words in (["it"], ["them"]):
            _refuse("A thing cannot be placed relative to itself.", ErrorCode.INVALID_ARGUMENT)
        if not _named(reference):
            _refuse("The command does not say what to place it relative to.")
        other = {"other", "another", "second"} & set(words)
        same = target is not None and _stems(target) == _stems(reference) and bool(target.words)
        if target and same and not other and not reference.plural and _same_place(target, reference):
            _refuse(f'"{target.text}" cannot be placed relative to itself.', ErrorCode.INVALID_ARGUMENT)
    if command.relation == "between" and len(command.references) == 1 and not command.references[0].plural:
        _refuse('"Between" needs two things, such as "between the box and the bowl".')
    return command
