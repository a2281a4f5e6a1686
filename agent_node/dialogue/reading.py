"""From what an operator says to acts: a wording of a table, a single command, or several of them in order.

A clause is an act where a wording of a table matches all of it. Whatever no table knows is a `Deed`, whose words go to
the policy as they are; where it has none for them either, the policy refuses with the words that have to change.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from toolhand.agent_node.dialogue.acts import (
    Act,
    Deed,
    FollowUp,
    GroupAct,
    QuestionAct,
    Refused,
    SkillAct,
    SmallTalk,
    Unsure,
)
from toolhand.agent_node.dialogue.apposition import apposed
from toolhand.agent_node.dialogue.asked import topic_of
from toolhand.agent_node.dialogue.clauses import (
    SpokenClause,
    carry_verb_on,
    clause_of,
    clauses_of,
    corrected,
    join_deeds,
    parses,
)
from toolhand.agent_node.dialogue.hearing import heard
from toolhand.agent_node.dialogue.languages import answer_in_its_language
from toolhand.agent_node.dialogue.remarks import fronted, remarked
from toolhand.agent_node.dialogue.wordings import WordingMatch, is_thing, joints, matches, names_products, table
from toolhand.agent_node.memory import POINTED
from toolhand.agent_node.policies.scripted.commands import MAX_COMMAND, parse_command
from toolhand.agent_node.policies.scripted.frames import in_plain_words
from toolhand.agent_node.policies.scripted.points import the
from toolhand.agent_node.policies.scripted.verbs import VERBS, strip_politeness
from toolhand.tool_nodes.language.measures import as_said
from toolhand.tool_nodes.language.speeds import WORDS as SPEED_WORDS
from toolhand.tool_nodes.language.speeds import spoken_speed
from toolhand.tool_nodes.language.stopping import is_stop
from toolhand.tool_nodes.language.traced import Token, Traced
from toolhand.tool_nodes.language.words import DETERMINERS, FUNCTION_WORDS, tokenize, word_set, words_only
from toolhand.tool_nodes.results import ErrorCode

_MANNER = re.compile(rf"\b(?:(?:very|really|quite) )?(?:{SPEED_WORDS})(?: (?:and|but|,))?(?!\w)")
"""What is said of the speed, and no table knows."""
MOST_CLAUSES = 10
"""Most clauses of an utterance [-]: a longer plan is no longer one that a listener has in mind."""


@dataclass(frozen=True)
class Read:
    """One act, and the words of the operator that it is from.

    Attributes:
        act: The act.
        said: The words.
        remark: Words before or after it that ask for nothing.
    """

    act: Act
    said: str
    remark: str = ""


def read(text: str) -> list[Read]:
    """The acts of an utterance, in order; one `Refused` where it cannot be served at all.

    Args:
        text: Any text of the operator.
    """
    plain = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    if len(plain) > MAX_COMMAND:
        sentence = f"A command may have at most {MAX_COMMAND:,} characters, got {len(plain):,}."
        return [Read(Refused(ErrorCode.NOT_UNDERSTOOD, sentence), "")]
    if is_stop(plain):
        whole = read_clause(SpokenClause(tuple(tokenize(heard(plain))), plain))
        return [Read(whole or FollowUp("stop", plain), plain)]
    if POINTED.search(plain) and parses(plain):
        return [Read(Deed(plain), plain)]  # a single command as plans and undoing make it
    said = apposed(heard(plain))
    if isinstance(said, tuple):
        return [Read(Unsure(said), plain)]
    plain = said
    tokens = tokenize(plain)
    words = words_only(tokens)
    if not any(word[0].isalnum() for word in words):
        foreign = answer_in_its_language(plain, words)
        return [Read(Refused(ErrorCode.NOT_UNDERSTOOD, foreign or "I have heard no words."), plain)]
    if _is_framed(tokens) and parses(plain):
        return [Read(Deed(plain), plain)]
    whole = read_clause(SpokenClause(tuple(tokens), plain))
    if (about := topic_of(plain, tokens)) is not None and not isinstance(whole, QuestionAct):
        return [_asked_about(plain, *about)]
    if whole is None or isinstance(whole, QuestionAct | GroupAct):
        several = _several_placings(plain, tokens) if whole is None or _may_be_several(whole) else []
        if len(several) > 1:
            return several
    if whole is None and (rest := fronted(plain, tokens)):
        return read(rest)
    if whole is None and (found := remarked(plain, tokens)):
        remark, order = found
        reads = read(order)
        if not isinstance(reads[0].act, Refused) and all(parses(r.act.text) for r in reads if isinstance(r.act, Deed)):
            return [replace(reads[0], remark=remark), *reads[1:]]
    polite = isinstance(whole, QuestionAct) and tokens[0] in _ASKING
    if (whole is None or polite or _says_no_verb(whole)) and parses(plain):
        # "Can you pick up the can?" asks politely; "the can behind the box, please" may say which can or where to.
        command = parse_command(plain)
        unheld = command.action == "place" and command.target is None and command.held_as is None
        if isinstance(whole, QuestionAct) and whole.kind == "reach" and unheld:
            return [Read(whole, plain)]  # "can you get to the can?"
        if isinstance(whole, GroupAct) and command.action == "pick":
            whole = replace(whole, things=(*whole.things, "which"))
        else:
            whole = Deed(plain)
    if whole is not None:
        return [Read(whole, plain)]
    if foreign := answer_in_its_language(plain, words):
        return [Read(Refused(ErrorCode.NOT_UNDERSTOOD, foreign), plain)]
    correction = corrected(plain, tokens)
    if isinstance(correction, str):
        return read(correction) if correction != plain else [Read(Deed(plain), plain)]
    if correction is not None:
        return [Read(Unsure(correction), plain)]
    clauses = clauses_of(plain, tokens)
    parts = [_read_or_deed(clause, bool(k)) for k, clause in enumerate(clauses)]
    if not all(_asks(part, clause) for part, clause in zip(parts, clauses, strict=True)):
        return [Read(Deed(plain), plain)]  # a part says when, whether or how; the policy refuses that
    joined = join_deeds([(part.said, isinstance(part.act, Deed)) for part in parts])
    by_words = {part.said: part.act for part in parts}
    acts = [Read(by_words.get(said, Deed(said)), said) for said in joined]
    acts = [each for part in acts for each in _carried_on(part)]
    if len(acts) > MOST_CLAUSES:
        sentence = f"I keep at most {MOST_CLAUSES} steps in mind, and these are {len(acts)}: say fewer at once."
        return [Read(Refused(ErrorCode.NOT_UNDERSTOOD, sentence), plain)]
    refused = next((part for part in acts if isinstance(part.act, Refused)), None)
    if refused is not None:
        return [refused]
    if len(acts) > 1 and isinstance(acts[0].act, FollowUp) and acts[0].act.kind in ("no_to_it", "yes_to_it"):
        acts = acts[1:]  # "no, put it back" says what to do instead
    if len(acts) > 1 or not isinstance(acts[0].act, Deed):
        return acts
    return [_unanswered(plain, tokens) or Read(Deed(plain), plain)]


def _is_framed(tokens: Sequence[Token]) -> bool:
    """Whether a command is said in a way of its own that the policy knows."""
    spoken, _ = strip_politeness(Traced.join(tokens))
    return in_plain_words(spoken) is not spoken


_PROPERTIES = word_set("distance size height width length weight name time date number way matter problem point")
"""What is asked of a thing, and is none."""
_ASKING = frozenset({"can", "could", "would", "will", "may", "might", "shall", "do", "are"})
"""Words that begin a question or a polite order: "can you pick up the can"."""


def _asked_about(plain: str, topic: str, questions: Sequence[str]) -> Read:
    """The question that a sentence asks about what it names first; nothing moves where it is none that is known."""
    for said in questions:
        if isinstance(act := read_clause(SpokenClause(tuple(tokenize(said)), plain)), QuestionAct):
            return Read(act, plain)
    hint = f'If something is to be moved, say "{topic}" by itself.' if parses(topic) else QUESTIONS_ANSWERED
    return Read(Refused(ErrorCode.NOT_UNDERSTOOD, f'I have no answer to "{plain[:_QUOTED]}". {hint}'), plain)


def _several_placings(plain: str, tokens: Sequence[Token]) -> list[Read]:
    """ "Put the lemon in the bowl, the pear in the bin", with a verb or without any, in its parts; else nothing."""
    if tokens[0] in VERBS:
        several = carry_verb_on(plain)
        if len(several) > 1 or "other" not in tokens:
            return [Read(Deed(said), said) for said in several] if len(several) > 1 else []
        tokens = tokens[1:]  # "put one can in the bowl and the other one in the bin"
    for i in range(2, len(tokens) - 2):
        if tokens[i] in (",", "and"):
            first, second = (_placing(part) for part in _one_and_other(plain, tokens[:i], tokens[i + 1 :]))
            if first is not None and second is not None:
                return [first, second]
    return []


def _one_and_other(plain: str, first: Sequence[Token], second: Sequence[Token]) -> tuple[SpokenClause, SpokenClause]:
    """Two clauses, with the noun of the first one in "the other one goes there"."""
    before, after = clause_of(plain, first), clause_of(plain, second)
    words = [str(token) for token in after.tokens if token not in ",.?!"]
    named = next((match for match in matches(_signs_as_commas(before.tokens), ("groups",)) if match.get("thing")), None)
    if words[:2] == ["the", "other"] and named is not None:
        noun = " ".join(word for word in named.get("thing").split() if word not in DETERMINERS and word != "one")
        said = f"put the other {noun} {' '.join(words[3 if words[2:3] == ['one'] else 2 :])}"
        return before, SpokenClause(tuple(tokenize(said)), said)
    return before, after


def _placing(clause: SpokenClause) -> Read | None:
    """A thing and its place without a verb; None for other words."""
    words = _signs_as_commas(clause.tokens)
    if words[:3] == ["put", "the", "other"]:
        return Read(Deed(clause.said), clause.said)
    if len(words) < 3 or words[0] in VERBS:
        return None
    act = read_clause(clause)
    if act is not None and _says_no_verb(act):
        return Read(act, clause.said)
    bare = act is None and parses(clause.said) and parse_command(clause.said).action == "place"
    return Read(Deed(clause.said), clause.said) if bare else None


def _may_be_several(act: Act) -> bool:
    return isinstance(act, GroupAct) and act.form in ("several", "without_verb")


def _says_no_verb(act: Act) -> bool:
    return isinstance(act, GroupAct) and act.form == "without_verb"


def _unanswered(plain: str, tokens: Sequence[Token]) -> Read | None:
    """The refusal of a question that no table knows; None for another sentence, and for what the policy reads."""
    first, after = tokens[0], tokens[1] if len(tokens) > 1 else ""
    asks = first in ("what", "where", "which", "who", "whose", "why", "how", "when") and after not in ("about", "if")
    asks = asks or (first in ("is", "are", "was", "were", "did", "does", "has") and len(tokens) > 2)
    if not asks or parses(plain):
        return None
    sentence = f'I have no answer to "{plain.rstrip(" ?.!")[:_QUOTED]}". {QUESTIONS_ANSWERED}'
    return Read(Refused(ErrorCode.NOT_UNDERSTOOD, sentence), plain)


_QUOTED = 120
"""Longest question that is quoted [characters]; more than that is cut."""
QUESTIONS_ANSWERED = (
    "I can say what I see, how many there are, where a thing is, how big it is, what is next to it or in it, which is "
    "nearest or largest, what I hold, whether I can reach it and what I have done."
)
"""What can be asked, for the refusal of another question."""


def _read_or_deed(clause: SpokenClause, later: bool) -> Read:
    """The act of a clause; a thing alone, after a command, is for the same to be done with."""
    act = read_clause(clause)
    if act is None and later and is_thing(" ".join(_signs_as_commas(clause.tokens))):
        return Read(FollowUp("same_with", clause.said), f"the same with {clause.said}")
    return Read(Deed(clause.said) if act is None else act, clause.said)


def _asks(part: Read, clause: SpokenClause) -> bool:
    """Whether a clause asks for something by itself, with a verb or by a wording of a table."""
    first = clause.tokens[0] if clause.tokens else ""
    asks = not isinstance(part.act, Deed) or parses(part.said)
    orders = first not in FUNCTION_WORDS and clause.tokens[1:2] and clause.tokens[1] in DETERMINERS
    return bool(asks or orders or first in VERBS or first in joints()["begins a question"])


def _carried_on(part: Read) -> list[Read]:
    """ "Put the lemon in the bowl and the pear in the bin" as two deeds; others as they are."""
    if not isinstance(part.act, Deed) or parses(part.said):
        return [part]
    return [Read(Deed(said), said) for said in carry_verb_on(part.said)]


def read_clause(clause: SpokenClause) -> Act | None:
    """What a table makes of a clause; None where none knows all of its words."""
    for words in _forms(clause.tokens):
        for match in matches(words):
            act = _act(match, clause)
            if act is not None:
                return act
    return None


def _in_other_words(found: WordingMatch, clause: SpokenClause) -> Act | None:
    """What a command stands for that is said in a way of its own; "it" is the thing that is said before it."""
    command = table("deeds")[found.wording.entry].command
    thing = found.get("thing")
    for slot, words in found.slots:
        told = _about(thing, words) if slot == "words" and thing else words
        command = command.replace(f"{{{slot}}}", as_said(told), 1)
    if found.wording.entry == "brought" and found.get("place").split()[0] in ("off", "out", "from"):
        return None  # "push it off the table" says where it is not to be
    if found.wording.entry == "away" and thing.split()[-1] in ("furthest", "farthest", "most", "further", "farther"):
        return None  # "take the can that is furthest away" says which one
    if found.wording.entry == "nudged" and not parses(command):
        return None  # "nudge the can 5 cm to the left" says how far
    if command.lower() == " ".join(_signs_as_commas(clause.tokens)):
        return Deed(command)  # it is said in the very words that it stands for
    parts = read(command)
    return parts[0].act if len(parts) == 1 else Deed(command)


def _about(thing: str, words: str) -> str:
    """Words in which the first "it" is a thing: "put the can in the bin" for "put it in the bin"."""
    said = words.split()
    at = next((k for k, word in enumerate(said) if word in ("it", "that", "them")), None)
    return words if at is None else " ".join([*said[:at], *the(thing.removeprefix("the ")).split(), *said[at + 1 :]])


def _forms(tokens: Sequence[Token]) -> list[list[str]]:
    """The words of a clause as they are, without politeness, and without words of manner."""
    hesitates = joints()["hesitates"]
    tokens = [token for token in tokens if token not in hesitates]
    said = _signs_as_commas(tokens)
    while len(said) > 1 and said[-1] in ("please", ","):
        said.pop()
    stripped, _ = strip_politeness(Traced.join(list(tokens)))
    polite = _signs_as_commas(stripped.split())
    calm = _signs_as_commas(_MANNER.sub(" ", " ".join(said)).split())
    forms: list[list[str]] = []
    for form in (said, polite, calm):
        if form and form not in forms:
            forms.append(form)
    return forms


def _signs_as_commas(tokens: Sequence[str]) -> list[str]:
    words = ["," if token[0] in ",.?!" else str(token) for token in tokens]
    while words and words[-1] == ",":
        words.pop()
    while words and words[0] == ",":
        words.pop(0)
    return [word for i, word in enumerate(words) if word != "," or words[i - 1] != ","]


def _is_plain(thing: str, found: WordingMatch) -> bool:
    """Whether a thing and its place are said without a doubt: with an article, or after words that wish for it."""
    first, *rest = thing.split()
    wished = found.literal > 1 or first in DETERMINERS or names_products(thing)
    joined = any(word in DETERMINERS or word in VERBS or word in ("is", "are", "was", "has") for word in rest)
    named = thing.split()[-1] not in ("one", "ones") and not _AMOUNTS.intersection(rest[:2])
    return wished and named and not joined and first not in VERBS and "," not in found.get("place")


_AMOUNTS = frozenset({"bit", "little", "tad", "touch", "lot", "few", "couple"})
"""Words after "a" that begin no thing."""


def _act(found: WordingMatch, clause: SpokenClause) -> Act | None:
    name, kind = found.wording.entry, found.wording.table
    things = found.all("thing")
    match kind:
        case "questions":
            things = things or found.all("plural")
            if name == "what_is" and _PROPERTIES.intersection(things[0].split()):
                return None  # "what is the distance"
            asked = (*things, *found.all("place")) if name == "related" else things or found.all("place")
            return QuestionAct(name, asked, clause.said)
        case "skills":
            speed = spoken_speed(clause.said)
            return SkillAct(name, as_said(next(iter(things), "")), 1.0 if speed is None else speed.share)
        case "groups":
            named = [words for slot, words in found.slots if slot in ("thing", "things", "plural", "count")]
            if name == "stack" and "both" in clause.tokens and not found.get("count"):
                named = ["two", *named]
            if name == "without_verb" and not _is_plain(named[0], found):
                return None
            if name == "together":
                return GroupAct("all", tuple(named), "next to each other")
            return GroupAct(name, tuple(named), found.get("place"))
        case "smalltalk":
            return SmallTalk(name)
        case "deeds":
            return _in_other_words(found, clause)
        case "limits":
            entry = table("limits")[name]
            return Refused(ErrorCode(entry.code or ErrorCode.NOT_UNDERSTOOD), entry.answer.format(said=clause.said))
    words = next(reversed(things), "") or found.get("number") or found.get("words")
    if name in ("go_on", "again", "other_one", "any_one", "yes_to_it", "skip", "pace"):
        words = clause.said
    if name == "not_that" and words in ("one", "ones"):
        return FollowUp("not_that_one", clause.said)  # "not the left one"
    if name == "put_back" and "them" in clause.tokens:
        words = "them"
    if name == "choice":
        words = " ".join(_signs_as_commas(clause.tokens))
    if (
        name == "not_that"
        and " not " in f" {' '.join(clause.tokens)}"
        and found.wording.pattern.startswith("{thing} not")
    ):
        words = things[0]
    return FollowUp(name, words)
