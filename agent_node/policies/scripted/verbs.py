"""The verbs and polite forms of operators, reduced to clauses that begin with what the arm is to do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from toolhand.tool_nodes.language.speeds import WORDS as SPEED_WORDS
from toolhand.tool_nodes.language.traced import Token, Traced
from toolhand.tool_nodes.language.words import is_slip

VerbClass = Literal["pick", "place", "mention", "unsupported"]

_PICK = """
    pick pickup grab grasp grip take get lift raise fetch hold collect retrieve clutch seize bring hand give pass
    have catch obtain snatch hoist carry deliver remove extract gather pluck scoop clasp heave nab
"""
_PLACE = """
    put place set drop lay move leave deposit position stack insert release transfer relocate shift store stow pop stick
    pack stash plop plonk nudge scoot add bury return rest load arrange rearrange reposition stand lower slide park
    nestle situate
"""
_MENTION = "find locate spot identify detect see approach look search go notice check select choose keep"
"""Verbs that only lead up to a command: "find the red box and pick it up"."""
_UNSUPPORTED = """
    throw toss pour push pull open close shake stir rotate turn flip spin squeeze press cut wipe clean wash eat
    kick hit break crush tap touch poke roll fill empty sort tidy clear point count describe show tell say
    dance wave stop drive walk play sing make bake cook mix swap exchange switch unscrew twist bend fold tear burn
    hide feed lick love like hate want read write draw paint measure weigh inspect scan wait sleep home reset
    dump fling chuck hurl balance assemble build connect plug drag knock tip tilt jump fly explain help sit peel slice
    shove send lean list name discard dispose hover attach glue serve prepare pretend simulate sweep wrap lend
"""
_DOUBLE = re.compile(r"(\w)\1")
_IRREGULAR = {
    "took": "take",
    "taken": "take",
    "brought": "bring",
    "gave": "give",
    "given": "give",
    "held": "hold",
    "got": "get",
    "laid": "lay",
    "stuck": "stick",
    "caught": "catch",
    "threw": "throw",
    "thrown": "throw",
}
LOOSELY: dict[str, frozenset[str]] = {
    **dict.fromkeys(("toss", "throw", "chuck", "dump", "fling"), frozenset({"in", "into", "inside"})),
    "balance": frozenset({"on", "onto", "atop"}),
}
"""Verbs of other deeds that mean placing when one of these words follows: "toss it into the bin"."""
_DOUBLED = frozenset(
    {"get", "set", "put", "grip", "drop", "grab", "pop", "stop", "cut", "hit", "plop", "tap", "spin", "sit"}
)
CARRYING = frozenset(
    {"take", "bring", "get", "carry", "deliver", "fetch", "return", "move", "transfer", "pass", "hand", "give"}
)
"""Verbs that may name a destination: "take the can to the bin"."""
MOVING = frozenset({"bring", "carry", "deliver", "return"})
"""Those of them that mean a destination by "to the left of"."""
HOLDING = frozenset({"hold", "keep", "lift", "raise", "hoist"})
"""Verbs of what is in the hand: a place after them may be that of the hand."""
LETTING_GO = frozenset({"drop", "release"})
"""Verbs that need no destination."""
PRONOUNS = frozenset({"it", "them", "this", "that", "him", "her"})
_CONNECTORS = frozenset({"and", "then", ",", ".", "!", "?", "so", "afterwards", "finally", "also", "now"})


def _inflections() -> dict[str, tuple[str, VerbClass]]:
    forms: dict[str, tuple[str, VerbClass]] = {}
    classes: tuple[tuple[VerbClass, str], ...] = (
        ("unsupported", _UNSUPPORTED),
        ("mention", _MENTION),
        ("pick", _PICK),
        ("place", _PLACE),
    )
    for verb_class, verbs in classes:
        for verb in verbs.split():
            root = verb[:-1] if verb.endswith("e") else verb + verb[-1] if verb in _DOUBLED else verb
            for form in (verb, verb + "s", root + "ing", root + "ed"):
                forms[form] = (verb, verb_class)
    return forms | {form: forms[verb] for form, verb in _IRREGULAR.items()}


VERBS = _inflections()
"""Every form of every known verb: (base form, class)."""

_REQUEST = (
    r"(?:can|could|would|will|may|might|shall) (?:you|i|we)\b"
    r"(?: (?:be (?:able|so kind as) to|mind|have you|help me|like to|to))*"
)
_WISH = (
    r"(?:i|we) (?:would|want|need|wish|will need|should)(?: really)?(?: (?:like|love|prefer|appreciate))?"
    r"(?: for)? (?:you to|it if you(?: could| would)?|you(?= \w+))"
)
_NICE = r"(?:nice|great|good|lovely|perfect|helpful|awesome|wonderful|fantastic|appreciated|kind|fine|ideal|cool)"
_MAIN_VERB = r"(?:please|you|pick|put|take|grab|place|move|get|lift|find|fetch|bring|set|drop)"
_TASK = r"(?:the |your |my |this |new |next |current )?(?:task|job|goal|mission|request|command|order|instruction)s?"
_OPENERS = re.compile(
    r"^(?:(?:hey|hi|hello|ok|okay|alright|all right|well(?! done)|so|now|then|and|yes|yeah|good morning|dear|robot"
    r"|(?:careful|oops|whoops|nearly|almost(?: there)?|not quite|wrong|(?:that|this|it) (?:is|was) wrong|so close"
    r"|(?:(?:that|this|it) is )?(?:a bit )?too (?:close|near|far|high|low)(?: away)?)(?= ,)"
    r"|toolhand|kinova|arm|(?:thanks|thank you)(?: (?:a (?:lot|million|bunch)|so much|very much))?"
    r"|(?:alexa|siri|google)|(?:good|great|nice|excellent|well) (?:job|work|done)|i (?:have )?changed my mind|no(?= ,)"
    r"|(?:great|nice|perfect|excellent|super)(?= [,.!])|firstly|finally|maybe|perhaps|listen|buddy|sir|yo|sorry"
    rf"|(?:first|next|all|right|cool|like)(?= (?:,|{_MAIN_VERB}\b))|excuse me|actually"
    r"|basically|my (?:dear |good )?(?:robot|friend|arm)|mate|dude|friend|assistant|[,.!?])(?= )"
    rf"|(?:it|that) would be (?:\w+ )?{_NICE},? if (?:you|we)(?: (?:could|would|can))?"
    r"|(?:i|we) would be (?:very |so )?(?:glad|happy|grateful)(?: ,)? if you(?: (?:could|would|can))?"
    rf"|{_REQUEST}|{_WISH}"
    r"|(?:is|would) it (?:be )?possible (?:for you )?to|do you(?= see\b)|(?:how|what) about(?: you)?(?= \w+ing\b)"
    r"|are you able to|do you think you (?:can|could)|i was wondering if you could"
    r"|(?:i|we) (?:would (?:like|love|prefer)|want|need|wish|am going) to(?! have\b)"
    r"|you (?:should|must|need to|have to|can|could|may|will|are to|ought to)"
    rf"|{_TASK}(?= ,)|{_TASK}(?: now| today)? is(?! to have\b)(?: to| that you)?"
    r"|use (?:the |your )(?:robot |robotic )?(?:gripper|hand|arm) to"
    r"|go ahead and|go and|go(?= (?:get|grab|pick|fetch|take|put|place))|try(?: to| and)?|make sure (?:to|that you|you)"
    r"|be so (?:kind|good|nice) (?:as to|and)"
    r"|(?:might|may|can|could) i ask (?:of )?you to|i (?:must |would |have to )?ask you to"
    r"|(?:please )?have the (?:goodness|kindness) to|(?:i|we) would be (?:much )?obliged if you (?:could|would)"
    r"|be a dear and|do me a favou?r (?:and|,)|do not forget to|remember to|let us|time to"
    r"|help me(?: to)?|start by|proceed to|proceed by|begin by|your turn to|how about you|why (?:do not|can not) you"
    r"|reach out and|it is time to|see (?:if|whether) (?:you|we) can|(?:make|let|have) the (?:arm|robot|gripper)(?= \w)"
    r"|(?:i|we) (?:will|should|shall|can|could)(?= (?!not\b)\w)|like(?= ,)"
    r"|you(?= (?!are |is |were |was |did |do |have |had |know )\w)|to(?= (?!the |a |my |your |this |that |me )\w))"
)
_CARE = (
    r"(?:(?:very |so |really |quite |nice and )?"
    r"(?:carefully|gently|slowly|quickly|softly|safely|neatly|immediately|firmly|swiftly))"
)
_ASIDES = re.compile(
    rf"\b(?:{_CARE}(?:(?: ,)? (?:and|but|yet)(?: also)? {_CARE})+"
    rf"|{SPEED_WORDS}"
    r"|please|kindly|be (?:very |really )?careful(?: with (?:it|that|this))?"
    r"(?: not to (?:drop|break|damage|tip|crush|spill) (?:it|anything))?"
    rf"|{_CARE}|right now"
    r"|right away|now|for (?:me|us)|if (?:you (?:can|could|would|like|please|do not mind)|possible)"
    r"|when (?:you (?:can|are ready|get a chance))"
    r"|for a (?:moment|second|minute|while|bit)|thx|ty|(?:next|first)$|(?:already|ok|okay|alright)(?=$| [.?!]$)"
    r"|real(?:ly)? quick|(?<=, )right(?= \?)|thanks(?: a (?:lot|million|bunch))?|thank you(?: (?:very|so) much)?"
    r"|cheers|asap|for now|with (?:great )?(?:care|caution)"
    r"|as (?:quick|slow|careful|gent|soft|fast)\w* as (?:you can|possible)"
    r"|as soon as possible|just|precisely|directly|um|uh|uhm|er|erm|hmm|you know|i mean|i guess|i think"
    r"|(?:will|would|could|can) you$|(?<=[,.?!] )(?:can|could|would|will) you(?= (?!mind\b)\w)"
    r"|(?:with|using|by) (?:the |your )(?:robot |robotic )?(?:gripper|hand|arm|fingers|jaws|claw))(?!\w)"
)
_A_THING = (
    r"(?:the|my|this|that|a|an) (?:(?!in\b|into\b|and\b|then\b|off\b|away\b|out\b)\w+ ?)*?(?!in\b|into\b|and\b)\w+"
)
_IN_THE_HAND = (
    r"\b(?:what(?:ever)?|(?:the|that) (?:thing|object|item|one)(?: (?:that|which))?)"
    r" (?:you (?:are |now |just |currently )*(?:hold(?:ing)?|carry(?:ing)?|grasp(?:ed|ing)?|grabbed|lifted|picked up"
    r"|have (?:(?:in|between) (?:your|the) (?:hand|gripper|claw|jaws|fingers)|picked up|grabbed))"
    r"|(?:is |that is )?in (?:your|the) (?:hand|gripper|claw|jaws))(?= |$)"
    r"|\b(?:the|your) held (?:thing|object|item)\b|\bwhat is in (?:your|the) (?:hand|gripper)\b"
)
_LATER = r"after that|after which|afterwards|and also|once done|once you have it|once you are done|when done"
_ENSURE = r"(?:ensure|make sure|see to it)(?: that)?"
_CAUSE = rf"(?:have|get|{_ENSURE}|(?:i|we) (?:want|need|would like))"
_RAISED = (
    r"((?:(?!that\b|which\b|you\b|and\b)\w+ )+?)(?:(?:is|gets|to be) )?"
    r"(?:picked up|picked|lifted|grabbed|raised|held|hoisted)\b"
)
"""What somebody else is to lift: "the can lifted"."""
_IDIOMS = (
    (re.compile(r"\b(?:pick|grab) (?:up )?(?:and|&) (?:then )?(?:place|put|drop|move)\b"), "place"),
    (re.compile(r"\b(?:get|take|grab|catch|lay|seize)(?: a)? (?:hold|grip)(?: of| on)?\b"), "grab"),
    (re.compile(r"\b(?:hold on to|hold onto|reach for|reach out for|go for|get me|fetch me|pick out)\b"), "grab"),
    (re.compile(r"\blet(?:ting)? go(?: of)?\b|\blet loose(?: of)?\b"), "release"),
    (re.compile(r"^(?:i|we) (?:would like|would love|want|need|wish) to have\b"), "i want"),
    (re.compile(rf"^(?:bin|trash) ({_A_THING})$"), r"put \1 in the bin"),
    (re.compile(rf"^(?:throw|toss|chuck) (?:away|out) ({_A_THING})$"), r"put \1 in the bin"),
    (re.compile(rf"^(?:throw|toss|chuck) ({_A_THING}) (?:away|out)$"), r"put \1 in the bin"),
    (re.compile(rf"\bdrop (?:off ({_A_THING})|({_A_THING}) off) (?:at|by)(?= )"), r"put \1\2 to"),
    (re.compile(_IN_THE_HAND), "it"),
    (re.compile(rf"^{_TASK} is to have (.+)$"), r"put \1"),
    (re.compile(rf"^{_CAUSE} {_RAISED}(?= \w)(?! (?:and|then)\b)"), r"lift \1"),
    (re.compile(rf"^(?:have|get|{_ENSURE}) {_RAISED}"), r"pick \1"),
    (
        re.compile(
            r"^(?:could|can|may|would|should) (?=(?:the|my|this|that|a)\b)(.+?) "
            r"(?=be (?:placed|put|moved|set|picked|lifted|grabbed|taken)\b)"
        ),
        r"\1 should ",
    ),
    (re.compile(r"\b(?:in order|so as) to\b"), "and"),
    (re.compile(rf"\b(?:{_LATER})\b"), "then"),
    (re.compile(r"\b(?:so|such) (?:that )?it (?:is|sits|stands|ends up)\b"), "and put it"),
    (re.compile(r"^(?:ensure|make sure|see to it)(?: that)? (.+?) (?:is|are|ends up|sits|stands)\b"), r"put \1"),
    (re.compile(r"\blet (?:me|us) have\b"), "give"),
    (re.compile(r"^let (?!me\b|us\b|go\b)(.+?) (?:sit|be|stand|go|rest)\b(?= \w)"), r"put \1"),
    (re.compile(r"^(want|need)(?= (?:the|this|that|my|a)\b)"), r"i \1"),
    (re.compile(r"^(?:i am|we are) looking for\b"), "find"),
    (
        re.compile(r"^(?:have|get) ((?:(?!and )\w+ )*?(?!and )\w+) (?:placed|put|moved|set|positioned|moved over)\b"),
        r"put \1",
    ),
    (re.compile(rf"(?:,? (?:that|it))? (?:would|will) be (?:very )?{_NICE}(?: [.!])?$"), ""),
    (
        re.compile(
            r"\b(find|locate|look|search|approach|see|go(?! at)) (?:for|at|to|over to)(?= (?:the|a|my|that|this)\b)"
        ),
        r"\1",
    ),
)


@dataclass(frozen=True)
class Clause:
    """One thing to do.

    Attributes:
        verb: Base form, e.g. "pick".
        verb_class: Kind of deed.
        words: The words after it.
        spoken: The verb as it was said.
    """

    verb: str
    verb_class: VerbClass
    words: tuple[str, ...]
    spoken: tuple[str, ...] = ()


def strip_politeness(text: Traced) -> tuple[Traced, bool]:
    """A sentence without greetings, requests and asides, which it has dropped; True if it asked politely."""
    asked = False
    before = ""
    while before != text.text:
        before = text.text
        opener = _OPENERS.match(text.text)
        if opener and opener.end():
            asked = asked or " " in opener.group().strip()
            rest = text[opener.end() :]
            text = Traced(rest.text, rest.origins, text.dropped | text[: opener.end()].words)
        text = text.sub(_ASIDES, " ").tidied(",")
    for pattern, replacement in _IDIOMS:
        text = text.sub(pattern, replacement)
    return text.tidied(), asked


def _verb_at(tokens: Sequence[str], i: int) -> tuple[str, VerbClass] | None:
    """The verb that starts a clause at token i, or None."""
    token = tokens[i]
    following = tokens[i + 1] if i + 1 < len(tokens) else ""
    known = VERBS.get(token)
    if i == 0:
        if known is None and len(token) >= 3 and following:
            near = {VERBS[form] for form in VERBS if len(form) >= 4 and is_slip(token, form)}
            # "Putt", "gett": a short verb with a letter twice.
            near = near or {VERBS[form] for form in (_DOUBLE.sub(r"\1", token),) if form in VERBS}
            supported = sorted(verb for verb in near if verb[1] != "unsupported")
            same_class = len({verb[1] for verb in near}) == 1
            known = supported[0] if supported and same_class else None
        return known
    if known is None:
        return None
    previous = tokens[i - 1]
    if known[1] == "unsupported" and following not in ("", "the", "a", "it", "them", "for", "to", "back", "away", ","):
        return None
    if token in ("close", "rest", "position", "stick", "like", "open", "clear", "empty") and following not in (
        "the",
        "it",
    ):
        return None
    if known[1] == "place" and following in ("the", "my", "it") and not any(word in VERBS for word in tokens[:i]):
        return known  # "To the left of the bowl put the can"
    if previous in _CONNECTORS or (previous == "to" and following in (*PRONOUNS, "the") and tokens[i - 2] != "next"):
        return known
    return known if following in ("it", "them") and known[1] != "unsupported" else None


def split_clauses(tokens: Sequence[Token]) -> tuple[list[Token], list[Clause]]:
    """(words before the first verb, clauses) of tokens without politeness."""
    starts = [(i, verb) for i in range(len(tokens)) if (verb := _verb_at(tokens, i))]
    if not starts:
        return list(tokens), []
    ends = [i for i, _ in starts[1:]] + [len(tokens)]
    clauses = []
    for (start, (base, verb_class)), end in zip(starts, ends, strict=True):
        words, spoken = list(tokens[start + 1 : end]), [tokens[start]]
        while words and (words[-1] in (*_CONNECTORS, "the") or (words[-1] == "to" and end < len(tokens))):
            spoken.append(words.pop())
        placing = LOOSELY.get(base, frozenset()) & set(words)
        clauses.append(Clause(base, "place" if placing else verb_class, tuple(words), tuple(spoken)))
    lead = list(tokens[: starts[0][0]])
    while lead and lead[-1] in _CONNECTORS:
        joined = lead.pop()
        clauses[0] = replace(clauses[0], spoken=(joined, *clauses[0].spoken))
    return lead, clauses
