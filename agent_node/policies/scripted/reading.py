"""Reads the clauses of a sentence one by one; every word is recorded with the part it plays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_node.policies.scripted.places import (
    SpokenPlace,
    destination,
    find_place_on_table,
    is_second_place,
    refuse_second_relation,
    starts_place,
)
from agent_node.policies.scripted.refusals import SEVERAL, refuse
from agent_node.policies.scripted.verbs import CARRYING, LETTING_GO, PRONOUNS, Clause, split_clauses
from tool_nodes.language.phrases import NounPhrase, noun_phrase
from tool_nodes.language.relations import BREAKS, RelationMark, find_relations, rewrite, split_list, split_references
from tool_nodes.language.traced import Token, Traced, WordTrace
from tool_nodes.language.words import DETERMINERS, FILLERS, SIDES, stem, words_only
from tool_nodes.results import ErrorCode

NO_EFFECT = "no effect"
VERB, OBJECT, PLACE, REFERENCE = "verb", "object", "place", "reference"

_OPPOSITES = ({"left_of", "right_of"}, {"in_front_of", "behind"}, {"in", "on"})
_CONTAINERS = frozenset(("bin", "bowl", "basket", "crate", "tray", "bucket", "container", "tub", "drawer"))
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
_IN_HAND = re.compile(
    r"\b(?:(?:over )?to (?:me|us)|(?:high |up )?(?:in|into) the air|off the ground"
    r"|(?:in|with|between|inside) (?:the|your|its) (?:gripper|hand|claw|fingers|jaws))(?= |$)"
)
"""Where a thing that is picked up is held."""
_HERE = re.compile(r"\b(?:over )?here$")
_CONNECTING = frozenset({"then", "and", "also"})


@dataclass
class Draft:
    """A command while its clauses are read.

    Attributes:
        target: What is to be moved.
        place: (relation, references) of where it is to go.
        picks: A clause asks to pick up.
        unplaced: A clause asks to place and says not where.
        lets_go: The only deed is to let go of what is held.
        lead: The words before the first verb, where they name the target.
    """

    target: NounPhrase | None = None
    place: SpokenPlace | None = None
    picks: bool = False
    unplaced: bool = False
    lets_go: bool = False
    lead: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Halves:
    """The words before and after `table`, such as "on the table", which is empty where a clause has none."""

    before: list[Token]
    table: str
    after: list[Token]


_POSSESSIVES = frozenset({"its", "his", "her", "their"})
"""Words for whose side or place is meant, which nothing before them says."""


class Reader:
    """Reads one sentence and keeps account of its words."""

    def __init__(self, account: WordTrace) -> None:
        self._account = account

    def read(self, spoken: Traced, asked: bool) -> Draft:
        """The deeds of a sentence without politeness. `asked`: it said please.

        Raises:
            ToolError: NOT_UNDERSTOOD or INVALID_ARGUMENT, with what the sentence lacks or holds too much of.
        """
        lead, clauses = self._clauses(spoken, asked)
        unsupported = next((c for c in clauses if c.verb_class == "unsupported"), None)
        if unsupported:
            refuse(f'I cannot "{unsupported.verb}"; I can pick things up and place them.')
        draft = Draft()
        if lead:
            clauses[-1] = self._read_lead(lead, clauses[-1], draft)
        if all(clause.verb_class == "mention" for clause in clauses):
            refuse(f'I cannot only "{clauses[0].verb}"; I can pick things up and place them.')
        for clause in clauses:
            self._read(clause, draft)
        return draft

    # ---- From a sentence to clauses ----

    def _clauses(self, spoken: Traced, asked: bool) -> tuple[list[Token], list[Clause]]:
        tokens = spoken.split()
        wanted, declared = _WANT.match(spoken.text), _DECLARED.match(spoken.text)
        lead, clauses = split_clauses(tokens)
        if wanted:
            begins = spoken[: wanted.start("rest")]
            self._account.give(begins.words, VERB)
            if not (clauses and clauses[0].verb_class != "unsupported"):
                return [], self._wanted(spoken[wanted.start("rest") :])
            return lead[len(begins.split()) :], clauses
        if declared and (not clauses or lead):
            thing, rest = (spoken[slice(*declared.span(name))] for name in ("thing", "rest"))
            self._account.give(spoken.words - thing.words - rest.words, VERB)
            picks = (declared["how"] or "").split(" ")[0] in ("picked", "lifted", "grabbed", "taken")
            return [], _picked_and_put(thing, rest)[: 1 if picks else 2]
        if not clauses and any(" ".join(tokens[m.start : m.end]) in ("into", "onto") for m in find_relations(tokens)):
            return [], [Clause("put", "place", tuple(tokens))]
        if not clauses and asked and tokens[0] in DETERMINERS:
            return [], [Clause("give", "pick", tuple(tokens))]
        if not clauses:
            shown = spoken.text if len(spoken.text) <= 60 else spoken.text[:57] + "..."
            refuse(f'I find no action that I know in "{shown}"; I can pick things up and place them.')
        return lead, clauses

    def _wanted(self, rest: Traced) -> list[Clause]:
        """ "I would like the red box in the bin" asks to place, "I want the can next to the bowl" to hand over."""
        explicit = _PARTICIPLE.search(rest.text)
        if explicit and explicit.start() > 0:
            self._account.give(rest[explicit.start() : explicit.end()].words, VERB)
            return _picked_and_put(rest[: explicit.start()], rest[explicit.end() :])
        lifted = _LIFTED.search(rest.text)
        if lifted:
            self._account.give(rest[lifted.start() :].words, VERB)
            return [Clause("pick", "pick", tuple(rest[: lifted.start()].split()))]
        rest = self._without(_IN_HAND, rest)
        marks = find_relations(rewrite(rest.split()))
        inward = any(mark.directed or mark.relation in ("in", "on", "between") for mark in marks)
        placing = inward or find_place_on_table(rest.text) is not None
        return [Clause("put" if placing else "pick", "place" if placing else "pick", tuple(rest.split()))]

    def _read_lead(self, lead: list[Token], last: Clause, draft: Draft) -> Clause:
        """What comes before the first verb: the place of the last clause, or the thing."""
        words = self._polished(rewrite(lead))
        if starts_place(words, adjectives=True):
            return Clause(last.verb, last.verb_class, (*last.words, *lead), last.spoken)
        announced = next((k for k, word in enumerate(words) if word not in ("there", "is", "are", "i", "see")), 0)
        thing = noun_phrase(words[announced:])
        if not thing.words or thing.unread:
            refuse(f"I do not understand {self._account.quote(lead)} before the command; leave it out.")
        self._account.give(words[:announced], VERB)
        draft.target, draft.lead = self._noun(words[announced:], OBJECT), tuple(lead)
        return last

    def _without(self, pattern: re.Pattern[str], text: Traced) -> Traced:
        """A text without what belongs to the verb."""
        kept = text.sub(pattern, "")
        self._account.give(kept.dropped, VERB)
        return kept.tidied()

    def _polished(self, words: Sequence[Token]) -> list[Token]:
        """Without the particles of a verb: "it back down" becomes "it"."""
        kept = [w for i, w in enumerate(words) if w not in ("down", "up") and not (i == 0 and w in ("me", "us"))]
        polished = [word for i, word in enumerate(kept) if not _is_particle(word, kept[:i], kept[i + 1 :])]
        left = {id(word) for word in polished}
        self._account.give((word for word in words if id(word) not in left), VERB)
        return polished

    # ---- One clause ----

    def _read(self, clause: Clause, draft: Draft) -> None:
        """Add one clause to the draft. Raises ToolError when it asks for a second command."""
        self._account.give(clause.spoken, VERB)
        placing = clause.verb_class == "place"
        text = Traced.join(words_only(clause.words))
        if not placing:
            text = self._without(_IN_HAND, text)
            text = self._without(_HERE, text) if clause.verb in CARRYING else text
        if re.search(r"^(?:it |them )?(?:there|here)$", text.text):
            if draft.place is not None and clause.verb in ("leave", "keep"):
                self._account.give(text.words, PLACE)
                return
            refuse("The command does not say where to place it: name a thing that is there.")
        halves = self._halves(clause, text)
        lowered = placing and (clause.verb in LETTING_GO or bool({"down", "aside"} & set(text.text.split())))
        rest, split = [*halves.before, *halves.after], len(halves.before)
        held = not rest or starts_place(rest)
        if rest and rest[0] in PRONOUNS and (len(rest) == 1 or rest[0] in ("it", "them") or starts_place(rest[1:])):
            self._account.give(rest[:1], OBJECT)
            rest, split, held = rest[1:], max(split - 1, 0), True
        mark: RelationMark | None
        if halves.before and halves.after:
            first = next(m for m in find_relations(rest[split : split + 12], noun_first=False) if m.start == 0)
            mark = RelationMark(first.relation, split, split + first.end, first.directed)
        else:
            mark = None if re.match(r"(?:down )?(?:onto|to|into)\b", halves.table) else destination(rest, held, clause)
        place: SpokenPlace | None = None
        if mark is not None:
            if "else" in halves.table:
                refuse(SEVERAL)
            place = self._place(mark, rest)
            rest = rest[: mark.start]
            self._check_how_far(rest, placing)
        elif halves.table or lowered:
            place = ("anywhere", ())
        elif placing and any(word.startswith("<") for word in rest):
            side = self._account.quote(next([word] for word in rest if word.startswith("<")))
            refuse(f'{side} alone is no place for me; name a thing as well, such as "to the left of the bowl".')
        thing = self._thing(rest) if rest else None
        self._merge(clause, draft, thing, place, explicit=mark is not None or bool(halves.table))

    def _halves(self, clause: Clause, text: Traced) -> _Halves:
        """Part the words of a clause at "on the table" or "down", after which only a place may follow a thing."""
        placing = clause.verb_class == "place"
        table = find_place_on_table(text.text)
        if table and not placing and not table.group().startswith(("to ", "onto ")):
            table = None  # "The can on the table": where it is, not where it is to go
        parting = table or (re.search(r"\b(?:down|aside)\b", text.text) if placing else None)
        before, after = (text[: parting.start()], text[parting.end() :]) if parting else (text, Traced("", ()))
        if parting:
            self._account.give(text[parting.start() : parting.end()].words, PLACE if table else VERB)
        first, second = (self._polished(rewrite(part.split())) for part in (before, after))
        self._check_denied([*first, *second], len(first) if table else None)
        if table and first and first[-1] in ("and", "or", "then"):
            refuse(f"{SEVERAL} {self._account.quote(text[table.start() :].words)} is one too many.")
        if first and second and not starts_place(second):
            refuse(
                f"I do not understand {self._account.quote(second)} here; "
                "I can put a thing somewhere on the table, or beside, in or on another thing."
            )
        return _Halves(first, table.group() if table else "", second)

    def _check_how_far(self, words: list[Token], placing: bool) -> None:
        """Refuse "far" in "put the can far to the left of the bowl": it says how far, and not which can."""
        last = words[-1] if placing and len(words) > 1 else ""
        how_far = SIDES.get(last) in ("far", "near") and words[-2] not in DETERMINERS
        if how_far or (last.startswith("<") and self._account.quote([last]).startswith('"to ')):
            refuse(f"I cannot choose how far: leave out {self._account.quote([last])}.")

    def _check_denied(self, words: list[Token], table_at: int | None) -> None:
        """Refuse a denied place: "not in the bin"; and anything denied after "on the table"."""
        for i, word in enumerate(words):
            if word not in BREAKS:
                continue
            tail = words[i + 1 :]
            while tail and (tail[0] in FILLERS or tail[0] in ("it", "that", "be", "go")):
                tail = tail[1:]
            placed = not tail or tail[0].startswith("<") or starts_place(tail, adjectives=True)
            if placed or (table_at is not None and i >= table_at):
                denied = self._account.quote(words[i:])
                refuse(f"I do not understand {denied}: say only which thing, and where it is to go.")

    def _merge(
        self, clause: Clause, draft: Draft, thing: NounPhrase | None, place: SpokenPlace | None, explicit: bool
    ) -> None:
        """Add what a clause says; `explicit`: it names the place in words."""
        verb_class = clause.verb_class
        lets_go = clause.verb in LETTING_GO and not draft.picks and draft.place is None
        stays = place is None or place[0] in ("anywhere", "in", "on")
        if clause.verb == "leave" and stays and thing is not None and not draft.picks and draft.target is None:
            refuse('I cannot tell if "leave" asks for it to be moved: say "put" if it is to go there.')
        if thing is not None:
            other = draft.target is not None and not _same(thing, draft.target)
            if other and draft.lead:
                refuse(f"I do not understand {self._account.quote(draft.lead)} before the command; leave it out.")
            if other or (draft.target is None and draft.place):
                refuse(SEVERAL)
            draft.target = draft.target or thing
        if verb_class != "place" and draft.place is not None:
            refuse(f"{SEVERAL} I do not understand {self._account.quote((*clause.spoken, *clause.words))}.")
        if verb_class == "mention":
            if draft.picks and clause.verb != "keep":
                refuse(f"{SEVERAL} I do not understand {self._account.quote((*clause.spoken, *clause.words))}.")
            return
        draft.picks = draft.picks or verb_class == "pick"
        if place is not None:
            if draft.place is not None and (explicit or clause.verb not in LETTING_GO):
                refuse(SEVERAL)
            draft.lets_go = lets_go and place[0] == "anywhere"
            draft.place = draft.place or place
        elif verb_class == "place":
            draft.unplaced = True

    # ---- Things and places ----

    def _noun(self, words: Sequence[str], role: str) -> NounPhrase:
        """A noun phrase whose words go to the account, but for those that say nothing."""
        phrase = noun_phrase(words)
        pronoun = len(words) == 1 and (words[0] in PRONOUNS or words[0] == "itself")
        self._account.give((w for w in words if pronoun or not any(w is other for other in phrase.unread)), role)
        return phrase

    def _thing(self, words: Sequence[str]) -> NounPhrase:
        """The object of a verb. Raises ToolError when it is several things."""
        parts = split_list(words)
        if "or" in words:
            refuse("The command leaves a choice between objects; name one.")
        if any(part and part[0] in DETERMINERS for part in parts[1:]):
            refuse("I can handle one object at a time.")
        if is_second_place(words):
            refuse(SEVERAL)
        thing = self._noun(words, OBJECT)
        if (thing.count or 1) > 1 or (thing.plural and not thing.head and not thing.selectors) or "all" in words:
            refuse("I can handle one object at a time.")
        return thing

    def _place(self, mark: RelationMark, rest: Sequence[Token]) -> SpokenPlace:
        self._account.give(rest[mark.start : mark.end], PLACE)
        relation, words = mark.relation, list(rest[mark.end :])
        for i, word in enumerate(words):
            ahead = find_relations(words[i + 1 : i + 13], noun_first=False) if word == "and" else []
            if ahead and ahead[0].start == 0:
                if any({relation, ahead[0].relation} == pair for pair in _OPPOSITES):
                    refuse("A thing cannot be in two opposite places at once.", ErrorCode.INVALID_ARGUMENT)
                refuse("I can place a thing in one relation at a time.")
        if _POSSESSIVES & set(words):
            refuse(f"I do not know whose {self._account.quote(words)} is: name the thing.")
        parts = split_references(relation, words)
        if relation == "between" and len(parts) > 2:
            refuse('"Between" needs two things, such as "between the box and the bowl".')
        if any(is_second_place(part) for part in parts):
            refuse(SEVERAL)
        for part in parts:
            refuse_second_relation(relation, part, self._account)
        references = tuple(self._noun(part, REFERENCE) for part in parts)
        self._account.give((word for word in words if word in _CONNECTING and words[-1] is not word), REFERENCE)
        if len(references) > 1 and (relation in ("in", "on", "to") or references[-1].relation):
            refuse(SEVERAL)
        if relation == "to":
            relation = "in" if references and stem(references[0].head) in _CONTAINERS else "next_to"
        return {"nearest_to": "next_to"}.get(relation, relation), references


def _picked_and_put(thing: Traced, place: Traced) -> list[Clause]:
    """Two clauses, so that what is said of the thing is not taken for its new place."""
    return [Clause("pick", "pick", tuple(thing.split())), Clause("put", "place", (Token("it"), *place.split()))]


def _is_particle(word: str, before: Sequence[str], rest: Sequence[str]) -> bool:
    """True for "back" in "put it back on the table", but not in "the back can"."""
    if word not in ("back", "away", "aside", "again", "off", "out", "over") or rest[:1] in (["of"], ["from"]):
        return False
    if not rest or rest[0] in ("to", "toward", "towards", "and") or starts_place(rest):
        return True
    # "Hand over the can", but "put it over the box".
    leads = not before and (rest[0] in DETERMINERS or rest[0] in PRONOUNS)
    return leads or (word != "over" and before[-1:] in (["it"], ["them"]))


def _same(thing: NounPhrase, target: NounPhrase) -> bool:
    """True if a later clause speaks of the thing that an earlier one named, and adds nothing."""
    said = (thing.selectors, thing.relation, thing.references, thing.excluded, thing.details)
    known = (target.selectors, target.relation, target.references, target.excluded, target.details)
    words = {stem(word) for word in thing.words}
    return words <= {stem(word) for word in target.words} and (said == known or said == ((), None, (), None, ()))
