"""Reads the clauses of a sentence one by one; every word is recorded with the part it plays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NoReturn

from toolhand.agent_node.policies.scripted.clauses import (
    as_said,
    inverted_at,
    is_bare_command,
    is_particle,
    picked_and_put,
    same_thing,
)
from toolhand.agent_node.policies.scripted.drafts import ClauseHalves, Draft
from toolhand.agent_node.policies.scripted.nouns import CONTAINERS, check_reference, check_target
from toolhand.agent_node.policies.scripted.places import (
    SpokenPlace,
    destination,
    direction,
    find_place_on_table,
    is_second_place,
    only_leaves,
    refuse_second_relation,
    starts_place,
)
from toolhand.agent_node.policies.scripted.refusals import ABILITY, SEVERAL, refuse, refuse_side
from toolhand.agent_node.policies.scripted.verbs import CARRYING, LETTING_GO, PRONOUNS, Clause, split_clauses
from toolhand.agent_node.policies.scripted.worded import WordedPart, joined_place, part_clause
from toolhand.tool_nodes.language.phrases import NounPhrase, noun_phrase
from toolhand.tool_nodes.language.place_phrases import begins_place
from toolhand.tool_nodes.language.relations import (
    BREAKS,
    RelationMark,
    find_relations,
    rewrite,
    split_list,
    split_references,
)
from toolhand.tool_nodes.language.traced import Token, Traced, WordTrace
from toolhand.tool_nodes.language.words import (
    DETERMINERS,
    FILLERS,
    ORDINALS,
    SIDES,
    SIZES,
    stem,
    words_only,
)

NO_EFFECT = "no effect"
VERB, OBJECT, PLACE, REFERENCE = "verb", "object", "place", "reference"

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
_TAKEN_FROM = re.compile(
    r"\b(?:from|out of|off(?: of)?) (?!(?:the |a |my |this )?(?:table|desk|counter|here|surface)\b)\w"
)
_THERE = re.compile(r"^(?:it |them )?(?:there|here)$")
_HERE = re.compile(r"\b(?:over )?here$")
_LIGHT = frozenset({"make", "turn", "do"})
"""Verbs that say little without what follows them."""
_CONNECTING = frozenset({"then", "and", "also"})
_SHOWN_WORDS = 12
"""Most words that are quoted of a sentence without an action [words]."""
_BESIDE = frozenset({"left_of", "right_of", "in_front_of", "behind", "next_to"})
_TELLING = frozenset({"that", "which", "is", "are", "one"})
_ON_SIDE = ('"on ', '"at ', '"in ')


_POSSESSIVES = frozenset({"its", "his", "her", "their"})
"""Words for whose side or place is meant, which nothing before them says."""


class Reader:
    """Reads one sentence and keeps account of its words."""

    def __init__(self, account: WordTrace) -> None:
        self._account = account
        self._asides: list[tuple[NounPhrase, str]] = []

    def read(self, spoken: Traced, asked: bool) -> Draft:
        """The deeds of a sentence without politeness. `asked`: it said please.

        Raises:
            ToolError: NOT_UNDERSTOOD or INVALID_ARGUMENT, with what the sentence lacks or holds too much of.
        """
        lead, clauses = self._clauses(spoken, asked)
        unsupported = next((c for c in clauses if c.verb_class == "unsupported"), None)
        if unsupported:
            light = unsupported.verb in _LIGHT and unsupported.words
            said = " ".join((unsupported.verb, *words_only(unsupported.words))[:_SHOWN_WORDS])
            refuse(
                f'I cannot "{as_said(unsupported)}"{f", as in {chr(34)}{said}{chr(34)}" if light else ""}; {ABILITY}.'
            )
        draft = Draft(asides=self._asides)
        if lead:
            clauses[-1] = self._read_lead(lead, clauses[-1], draft)
        if all(clause.verb_class == "mention" for clause in clauses):
            refuse(f'I cannot only "{clauses[0].verb}"; {ABILITY}.')
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
            return [], picked_and_put(thing, rest)[: 1 if picks else 2]
        if not clauses and is_bare_command(tokens):
            return [], [Clause("put", "place", tuple(tokens))]
        if not clauses and asked and tokens[0] in DETERMINERS:
            return [], [Clause("give", "pick", tuple(tokens))]
        if not clauses:
            self._refuse_unknown_deed(spoken)
        return lead, clauses

    def _refuse_unknown_deed(self, spoken: Traced) -> NoReturn:
        tokens = words_only(spoken.split())
        marks = find_relations(rewrite(tokens))
        if tokens[0] in DETERMINERS and marks:
            refuse(
                f"I find no action that I know in {self._account.quote(tokens)}: "
                'say "pick up" if it tells which thing is meant, "put" if it tells where to.'
            )
        verb = len(tokens) > 1 and tokens[0] not in DETERMINERS and tokens[1] in (*DETERMINERS, *PRONOUNS, "to")
        said = tokens[:1] if verb else tokens[:_SHOWN_WORDS]
        refuse(f"I find no action that I know in {self._account.quote(said)}; {ABILITY}.")

    def _wanted(self, rest: Traced) -> list[Clause]:
        """ "I would like the red box in the bin" asks to place; "the can next to the bowl" is ambiguous."""
        explicit = _PARTICIPLE.search(rest.text)
        if explicit and explicit.start() > 0:
            self._account.give(rest[explicit.start() : explicit.end()].words, VERB)
            return picked_and_put(rest[: explicit.start()], rest[explicit.end() :])
        lifted = _LIFTED.search(rest.text)
        if lifted:
            self._account.give(rest[lifted.start() :].words, VERB)
            return [Clause("pick", "pick", tuple(rest[: lifted.start()].split()))]
        rest = self._without(_IN_HAND, rest)
        marks = find_relations(rewrite(rest.split()))
        inward = any(mark.directed or mark.relation in ("in", "on", "between") for mark in marks)
        placing = inward or find_place_on_table(rest.text) is not None
        words = rewrite(rest.split())
        beside = next((m for m in marks if m.relation in _BESIDE and words[m.start - 1] not in _TELLING), None)
        if beside is not None and not placing:
            refuse(
                f"I cannot tell whether {self._account.quote(words[beside.start :])} says which one is wanted or "
                'where: say "put" if it is to go there, "pick up" if it stands there.'
            )
        return [Clause("put" if placing else "pick", "place" if placing else "pick", tuple(rest.split()))]

    def _read_lead(self, lead: list[Token], last: Clause, draft: Draft) -> Clause:
        """What comes before the first verb: the place of the last clause, or the thing."""
        words = self._polished(rewrite(lead))
        if starts_place(words, adjectives=True) or begins_place(lead):
            return Clause(last.verb, last.verb_class, (*last.words, *lead), last.spoken)
        announced = next((k for k, word in enumerate(words) if word not in ("there", "is", "are", "i", "see")), 0)
        thing = noun_phrase(words[announced:])
        if not thing.words or thing.unread:
            refuse(
                f"I do not understand {self._account.quote(lead)} before the command, and it may change what you want: "
                "say it in other words."
            )
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
        polished = [word for i, word in enumerate(kept) if not is_particle(word, kept[:i], kept[i + 1 :])]
        left = {id(word) for word in polished}
        self._account.give((word for word in words if id(word) not in left), VERB)
        return polished

    # ---- One clause ----

    def _read(self, clause: Clause, draft: Draft) -> None:
        """Add one clause to the draft. Raises ToolError when it asks for a second command."""
        self._account.give(clause.spoken, VERB)
        placing = clause.verb_class == "place"
        worded = part_clause(clause)
        text = self._check_direction(clause, worded.rest, draft)
        if not placing:
            text = self._without(_IN_HAND, text)
            text = self._without(_HERE, text) if clause.verb in CARRYING else text
        if _THERE.search(text.text):
            if draft.place is not None and clause.verb in ("leave", "keep"):
                self._account.give(text.words, PLACE)
                return
            refuse("The command does not say where to place it: name a thing that is there.")
        halves = self._halves(clause, text)
        lowered = placing and (clause.verb in LETTING_GO or bool({"down", "aside"} & set(text.text.split())))
        rest, split = [*halves.before, *halves.after], len(halves.before)
        held, held_by_pronoun = (not rest and worded.first is None) or starts_place(rest), False
        if rest and rest[0] in PRONOUNS and (len(rest) == 1 or rest[0] in ("it", "them") or starts_place(rest[1:])):
            self._account.give(rest[:1], OBJECT)
            rest, split, held, held_by_pronoun = rest[1:], max(split - 1, 0), True, True
        mark: RelationMark | None
        if halves.before and halves.after:
            first = next(m for m in find_relations(rest[split : split + 12], noun_first=False) if m.start == 0)
            mark = RelationMark(first.relation, split, split + first.end, first.directed)
        else:
            onto = re.match(r"(?:down )?(?:onto|to|into)\b", halves.table)
            mark = None if onto else destination(rest, held, clause, self._account)
        place: SpokenPlace | None = None
        self._check_way(clause, rest[: mark.start] if mark else rest)
        if mark is not None:
            if "else" in halves.table:
                refuse(SEVERAL)
            thing_at = inverted_at(mark, rest) if placing and not held_by_pronoun else None
            place = self._place(mark, rest[:thing_at])
            rest = rest[thing_at:] if thing_at else rest[: mark.start]
            self._check_how_far(rest, placing)
            if not thing_at:
                self._check_side_before(mark, rest, placing)
        elif halves.table or (lowered and worded.first is None):
            place = SpokenPlace("anywhere")
        elif placing and any(word.startswith("<") for word in rest):
            refuse_side(self._account.quote(next([word] for word in rest if word.startswith("<"))))
        thing = self._thing(rest) if rest else None
        parts = [part for part in (worded.first, *worded.more) if part is not None]
        if parts:
            place = joined_place(place, parts, self._read_parts(parts, place), self._account)
        self._merge(clause, draft, thing, place, explicit=bool(mark is not None or halves.table or parts))

    def _check_direction(self, clause: Clause, text: Traced, draft: Draft) -> Traced:
        """Refuse a way to go instead of a place; of a thing that is only to be gone, a place may follow.

        Returns:
            The words without the way.
        """
        way = None if _THERE.search(text.text) else direction(text, clause)
        removed = clause.verb == "remove" and not _TAKEN_FROM.search(text.text)
        if way is not None and (clause.verb_class == "place" or not only_leaves(way.text)):
            if way.text.endswith("here") and not only_leaves(way.text):
                refuse(f"I cannot see where {self._account.quote(way.words)} is: name a thing that is there.")
            refuse_side(self._account.quote(way.words))
        if removed or way is not None:
            draft.gone = self._account.quote(clause.spoken[:1] if way is None else way.words)
        if way is None:
            return text
        self._account.give(way.words, VERB)
        return Traced.join([token for token in text.split() if not token.words & way.words], text.dropped)

    def _check_way(self, clause: Clause, words: Sequence[Token]) -> None:
        """Refuse "to the left" after a verb of carrying: it says where to, and not which thing."""
        told = [word for k, word in enumerate(words) if k and words[k - 1] in ("is", "are")]  # "that is to the left"
        sides = [word for word in words if word.startswith("<") and word.endswith(":to>") and word not in told]
        if sides and clause.verb in CARRYING:
            refuse_side(self._account.quote(sides))

    def _check_side_before(self, mark: RelationMark, thing: Sequence[Token], placing: bool) -> None:
        """Refuse "put the can on the left next to the bowl": which can, or where to?"""
        last = thing[-1] if placing and thing else Token("")
        said = self._account.quote([last]) if last.startswith("<") else ""
        beside = mark.relation not in ("in", "on") and not mark.directed
        if said.startswith(_ON_SIDE) and beside and thing[-2:-1] not in (["is"], ["are"]):
            refuse(f'I cannot tell whether {said} says which thing or where to: if it says which, add "that is".')

    def _halves(self, clause: Clause, text: Traced) -> ClauseHalves:
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
        return ClauseHalves(first, table.group() if table else "", second)

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
        stays = place is None or place.relation in ("anywhere", "in", "on", "region")
        if clause.verb == "leave" and stays and thing is not None and not draft.picks and draft.target is None:
            refuse('I cannot tell if "leave" asks for it to be moved: say "put" if it is to go there.')
        if thing is not None:
            other = draft.target is not None and not same_thing(thing, draft.target)
            if other and draft.lead:
                refuse(f"I do not understand {self._account.quote(draft.lead)} before the command.")
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
            draft.lets_go = lets_go and place.relation == "anywhere"
            draft.place = draft.place or place
        elif verb_class == "place":
            draft.unplaced = True

    # ---- Things and places ----

    def _noun(self, words: Sequence[str], role: str) -> NounPhrase:
        """A noun phrase whose words go to the account, but for those that say nothing."""
        phrase = noun_phrase(words)
        counted = any(word in ORDINALS for word in words)
        ordered = any(word in SIDES or word in SIZES or word.startswith("<") for word in words)
        if counted and not ordered and not phrase.unread:
            refuse(
                f'Nothing says from where {self._account.quote(words)} counts: add "from the left", "from the right", '
                '"from the front" or "from the back".'
            )
        pronoun = len(words) == 1 and (words[0] in PRONOUNS or words[0] == "itself")
        self._account.give((w for w in words if pronoun or not any(w is other for other in phrase.unread)), role)
        return phrase

    def _thing(self, words: Sequence[str]) -> NounPhrase:
        """The object of a verb. Raises ToolError when it is several things."""
        parts = split_list(words)
        if "or" in words:
            other = self._account.quote(words[words.index("or") :])
            refuse(f"The command leaves a choice between objects, {other}; name one.")
        more = next((part for part in parts[1:] if part and part[0] in DETERMINERS), None)
        if more:
            joined = words[next(i for i, word in enumerate(words) if word is more[0]) - 1 :]
            refuse(f"I can handle one object at a time: {self._account.quote(joined)} is one too many.")
        if is_second_place(words):
            refuse(f"{SEVERAL} I do not understand {self._account.quote(words)}.")
        check_target(words, self._account)
        thing = self._noun(words, OBJECT)
        if (thing.count or 1) > 1 or (thing.plural and not thing.head and not thing.selectors) or "all" in words:
            refuse(f"I can handle one object at a time: {self._account.quote(words)} is more than one.")
        return thing

    def _place(self, mark: RelationMark, rest: Sequence[Token]) -> SpokenPlace:
        self._account.give(rest[mark.start : mark.end], PLACE)
        relation, words = mark.relation, list(rest[mark.end :])
        if _POSSESSIVES & set(words):
            refuse(f"I do not know whose {self._account.quote(words)} is: name the thing.")
        references = self._references(mark, rest, split_references(relation, words))
        self._account.give((word for word in words if word in _CONNECTING and words[-1] is not word), REFERENCE)
        if len(references) > 1 and (relation in ("in", "on", "to") or references[-1].relation):
            refuse(SEVERAL)
        if relation == "to":
            relation = "in" if references and stem(references[0].head) in CONTAINERS else "next_to"
        return SpokenPlace({"nearest_to": "next_to"}.get(relation, relation), references)

    def _read_parts(self, parts: Sequence[WordedPart], place: SpokenPlace | None) -> list[tuple[NounPhrase, ...]]:
        """The things of each condition; "it" is the only one before it. Other words are those of a place."""
        before = list(place.references) if place else []
        found = []
        for part in parts:
            own = part.own
            self._account.give((*part.joined, *own), PLACE)
            mark = RelationMark(part.place.request.relation, 0, len(own), True)
            if len(before) == 1 and [list(words) for words in part.place.things] == [["it"]]:
                self._account.give(part.place.things[0], REFERENCE)
                found.append(tuple(before))
                continue
            found.append(self._references(mark, own, [list(words) for words in part.place.things]))
            before += found[-1]
        return found

    def _references(
        self, mark: RelationMark, rest: Sequence[Token], parts: Sequence[list[Token]]
    ) -> tuple[NounPhrase, ...]:
        """The things that a place is to; `mark` is where its relation stands in `rest`."""
        relation = mark.relation
        if relation == "between" and len(parts) > 2:
            refuse('"Between" needs two things, such as "between the box and the bowl".')
        if any(is_second_place(part) for part in parts):
            refuse(SEVERAL)
        for part in parts:
            refuse_second_relation(relation, part, self._account)
            check_reference(mark, rest, part, self._account)
        references = tuple(self._noun(part, REFERENCE) for part in parts)
        for reference, part in zip(references, parts, strict=True):
            if reference.aside:
                side = self._account.quote([word for word in part if word.startswith("<")])
                self._asides.append((reference, side))
        return references
