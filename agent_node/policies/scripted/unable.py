"""What no command may hold: wishes that the arm cannot heed, found in the words, each with its refusal.

A refusal quotes the words that have to change. It never says that they may be left out where what remained would be
another wish, as "put the can in the bin" is another one than "pretend to put the can in the bin".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from toolhand.agent_node.policies.scripted.refusals import ABILITY, PLACES, refuse
from toolhand.agent_node.policies.scripted.verbs import LOOSELY, VERBS, strip_politeness
from toolhand.tool_nodes.language.stopping import is_stop
from toolhand.tool_nodes.language.traced import Traced, WordTrace
from toolhand.tool_nodes.language.viewpoint import BETWEEN
from toolhand.tool_nodes.language.words import NUMBERS, tokenize
from toolhand.tool_nodes.results import ErrorCode, ToolError

_QUESTION = re.compile(
    r"^(?:what|where|which|who|whose|why|how|when|is|are|am|was|were|do you|does|did|has|have you|should)\b"
)
_NEGATED = re.compile(
    r"^(?:never|not|avoid|no|nobody|do not|stop|cancel|abort|halt|refrain)\b"
    r"|\b(?:do|did|would|should|must|can|could|will) not\b|\bnever\b"
    r"|\binstead of (?:picking|putting|placing|moving)|\bwithout (?:\w+ing|release|grab)\b"
    r"|\bnothing\b(?! (?:else|more)\b)"
)
_CONDITION = re.compile(
    r"\b(?:if|unless|whenever|whether|as long as|until|otherwise|in case|provided(?: that)?|supposing)\b"
)
_BOTH_SIDES = re.compile(
    r"\b(?:(left|right) (?:side )?(?:and|or) (?:to the |on the )?(left|right)"
    r"|(front|behind)(?: of)? (?:and|or) (?:in )?(behind|front)|both sides|(inside|outside) and (outside|inside))\b"
)
_ALPHA_NUMBERS = "|".join(sorted(word for word in NUMBERS if word.isalpha()))
_AMOUNT = rf"(?:\d++ ?|(?:half|quarter|few|an?|one|{_ALPHA_NUMBERS}) )"
_UNIT = (
    r"(?:fingers?"
    r"|cm|mm|m|km|ft|centimet(?:er|re)s?|millimet(?:er|re)s?|met(?:er|re)s?|inch(?:es)?|foot|feet|hands? ?widths?"
    r"|degrees?|radians?|percent|seconds?|minutes?|hours?|days?|times?|steps?|l|lit(?:er|re)s?|ml|g|kg|grams?|ounces?|oz)"
)
_DELAY = re.compile(
    rf"\b(?:(?:in|within|after|for|every) (?:(?:about|exactly|the next|at least|at most) )?|wait (?:for )?){_AMOUNT}"
    rf"(?:{_AMOUNT}|or |to |more )*(?:seconds?|minutes?|hours?|days?|weeks?)\b"
)
"""A time to wait for, or how long a thing is to be held."""
_MEASURE = re.compile(
    rf"\b(?<!with )(?:(?:about|around|exactly|roughly|approximately|only|at least|at most) )?{_AMOUNT}"
    rf"(?:[.,] \d+ )?(?:{_AMOUNT}|or |to )*{_UNIT}\b(?! (?:of|at|speed|pace)\b)"
    rf"|\b(?:\d+|{_ALPHA_NUMBERS}) (?:places|spots)\b"
)
_DISTANCE = re.compile(rf"(?:{_MEASURE.pattern})(?= (?:away )?from\b)")
"""A measure without which the rest would be no place."""
PART = (
    r"(?:side|back|head|end|bottom|top|edge|front|face|belly|cap|lid|label|opening|handle|spout|logo|neck|rim|tail|leg|"
    r"ears?|nose|stem|arm|waist|middle)"
)
_POSE = re.compile(
    r"\bupside down\b|\bupright\b|\bsideways\b|\b(?:horizont|vertic)ally\b"
    rf"|\b(?:on|onto) (?:its|his|her|their|one) (?:\w+ )?{PART}\b(?! of\b)"
    rf"|\bwith (?:the |its )?(?:\w+ )?{PART} (?:up|down)\b"
    rf"|\bwith (?:the |its )(?:\w+ )?{PART} (?:to|on|at|towards?) .*"
    r"|\b(?:with|so)(?: \w+){1,5} (?:facing|pointing|upwards?|downwards?)\b(?: \w+)*"
    r"|(?<!am )(?<!are )(?<!is )\b(?:facing|pointing|turned|tilted|rotated)\b.*"
)
"""How a thing is to stand or lie."""
_CORRECTION = re.compile(
    r"(?<=\w )(?:[.,;:!?] )?(?:(?:no|sorry|actually|wait|oops|well)(?: ,)? )*"
    r"(?:i mean(?:t)?|no wait|wait no|(?<=[.,;:!?] )(?:no|actually|wait|oops|rather(?! than))"
    r"|scratch that|on second thoughts?"
    r"|make that|or rather|correction|sorry"
    r"|(?:actually|oops|wait)(?=(?: ,)? (?:the|an?|that|this|not|no|pick|put|take|grab|my)\b))"
    r"(?: ,)?(?= (?!and\b)\w).*"
)
"""A second thought, and all that follows it."""
_REST = r"[^,.?!]*"
"""To the end of a clause."""
_DEEDS = "|".join(sorted(form for form, verb in VERBS.items() if verb[1] in ("pick", "place") and form == verb[0]))
_UP_TO_DEED = (
    rf"(?:(?!(?<!you)(?<! i)(?<! we)(?<!they)(?<! to)(?<!have)(?<!not) (?:{_DEEDS}) (?:up |down )?"
    r"(?:the|an?|my|it|them|that|this)\b)[^,.?!])*"
)
"""To the end of a clause, or to the command that follows without a comma: "after lunch pick up the can"."""
_AUXILIARY = r"(?:will|do|does|did|is|are|can|should|would|could|may|shall)\b"
_CLAUSE = (
    r"(?:(?:you|i|we|it|they|he|she|everything)\b|(?!the\b)\w+ing\b"
    r"|(?:the|my|a|that|this) (?:\w+ ){1,3}(?:is|are|has|have|was|gets)\b)"
)
_TIME = re.compile(
    rf"^(?:after|before|once|while|until|till|during|whenever|as soon as|by the time|the moment|every time|next time"
    rf"|when(?! {_AUXILIARY}))\b{_UP_TO_DEED}"
    rf"|\b(?:right )?(?:after|before|while|when|once|whenever|as soon as|until|till) {_CLAUSE}{_REST}"
    r"|\b(?:later(?: on)?|tomorrow|tonight|yesterday|some ?day|one day|soon|next time|(?:the )?day after"
    r"|this (?:morning|afternoon|evening)"
    r"|(?:every|each) (?:day|hour|morning|evening|night|week|minute|time|monday|sunday)"
    r"|(?:at )?(?:noon|midnight|dawn|night)|(?:at )?\w+ o ?clock|in the (?:morning|afternoon|evening)"
    r"|(?:before|after|during|at|by) (?:the |your |my )?(?:lunch|dinner|breakfast|break|noon|midnight|meeting|night)"
    r"|in a (?:while|minute|moment)|(?:on|at) (?:my|the) (?:signal|command|mark|word|cue|beep|tone))\b"
)
_UNREAL = re.compile(
    r"^(?:(?:pretend|imagine|simulate|plan|practi[sc]e|rehearse|consider|suppose|assume|learn|teach|refuse|forget"
    r"|prepare|get ready|be ready|hesitate|decline|promise|intend|fail|postpone|delay|demonstrate|expect|propose"
    r"|suggest|recommend|threaten|mime)\b(?= (?:to|that|how|if|you|i|\w+ing)\b)"
    r"|act as (?:if|though)|(?:think|dream|talk) (?:about|of)|(?:show|tell|teach) (?:me|us) (?:how|when|where|why)"
    r"|have (?:already )?(?:picked|put|placed|taken|moved|grabbed|set|dropped|lifted|held)\b)"
    r"(?: (?:to|that|how|if|you|i|me|us)\b)*"
)
_RIDDANCE = re.compile(r"^(?:get rid of|dispose of|do away with)\b")
_HALF = re.compile(
    r"\b(?:almost|nearly|hardly|barely|scarcely|virtually|partly|partially|not quite"
    r"|half(?: ?way)?(?= (?:in|into|on|onto|to|out|off|over)\b))\b(?: (?:in|into|on|onto|to|out of|off|over)\b)?"
    r"|\b\d+ per ?cent of (?!(?:the |your )?(?:\w+ )?(?:speed|pace)\b)"
)
_LEFT_ALONE = re.compile(
    r"^(?:leave|let)\b(?! go\b)[^,.]*? (?:alone|be|in peace|untouched"
    r"|(?:where|as|how) (?:it|they) (?:is|are|stands?))(?=$| [,.]| and\b)"
)
_OUTSIDE = re.compile(r"\boutside(?: of)?\b")
_PEOPLE = r"(?:i|we|you|he|she|they|it|there|the|my|a|that|this)"
_UNKNOWN_HERE = re.compile(
    r"(?<=\w )(?:what(?:ever)?|which|who(?:ever)?) (?:i|we|you|he|she|they)\b(?! (?:can |could |do )?(?:see|have)\b)"
    rf"{_REST}|(?<=\w )(?:whatever|anything that|something that) (?:is|was|stands|lies|sits)\b{_REST}"
    rf"|(?<=\w )where(?:ver)? (?!you (?:like|want)){_PEOPLE}\b{_REST}"
)
_TAKEN = re.compile(rf"(?<=\w )where (?:the|my|that|this) (?:\w+ ){{1,4}}(?:is|was|are|were|stands|stood)\b{_REST}")
"""A place where another thing is."""
_MANNER = re.compile(
    rf"\bby \w+ing\b{_REST}|\bby (?:its|the|his|her|one|both) (?!edge\b)(?:\w+ (?!edge\b))?{PART}s?\b(?! of\b)"
    r"|\bat (?:full|half|top|low|high|normal|maximum|max|double|slow|walking) power\b|\bat a walking pace\b"
    r"|\bwith (?:(?:great|more|less|full|all|some|much|a lot of|as much|as little) )*"
    r"(?:force|speed|power|strength|ease|effort|feeling|love|both hands|two hands|one hand|patience|precision)\b"
    r"|\bwith (?:\d+|one|two|three|four|five|both|all|only) (?:\w+ )?(?:fingers?|hands?)\b"
    r"|\bin (?:one go|a hurry)\b|\bfrom (?:the )?(?:sides?|top|above|below)$"
)
_GAP = re.compile(
    rf"\b(?:leaving|keeping|with|having) (?:\w+ ){{0,2}}(?:gap|space|room|distance|clearance)\b(?! of =){_REST}"
    r"|\btouching it$"
)
_OWNER = r"(?:your|(?:the )?(?:robots?|arms?|grippers?)|his|her)"
_VIEW = re.compile(
    rf"\b(?:(?:on|to|at|from|in|by|towards?) )?{_OWNER} {BETWEEN}(?:left|right|front|back)(?: (?:hand|side))*\b"
    r"|\b(?:to|on|at) the (?:left|right) of (?:the |your )?(?:robot|arm|gripper|you|yourself)\b(?! \w)"
    r"|\bas (?:you|the robot) (?:see|look at)s? (?:it|them)\b|\bfrom your (?:side|point of view|perspective|view)\b"
)
_NUMBER = re.compile(
    rf"\b(?:number|no|nr) (?:\d+|one|{_ALPHA_NUMBERS})$|(?<=[a-z] )(?<!than )(?<!number )(?:\d+)$|\bnumber (?:\d+)\b"
)
_NOT_WITH_TWO = r"(?! with .+ and | with .*\b(?:two|both)\b)"
_NOWHERE = re.compile(
    rf"\b(?:in (?:a |one )?(?:line|row|column|circle|pile|stack|order)\b{_NOT_WITH_TWO}|(?<!even )in with\b"
    rf"|at an? angle\b|parallel\b|perpendicular\b|opposite\b|across\b|diagonal(?:ly)?\b|crosswise\b|lengthwise\b"
    rf"|aligned\b{_NOT_WITH_TWO}|flush\b|level with\b"
    r"|(?:all )?around\b|(?:north|south|east|west)\b|by itself\b|on its own\b|all alone\b|beyond reach\b"
    rf"|in(?:to)? (?:the )?(?:place|stead|position|spot) of\b"
    rf"|(?:in|into|out of|within) (?:\w+ )?(?:reach|sight)\b|in (?:the|my) way\b){_REST}"
)
_PARK = re.compile(
    r"^(?:go|move|drive|return|come)(?: back)?(?: to)?(?: the| your)? "
    r"(?:home|park|parking|start|rest|zero|initial|ready|base)(?: position| pose)?$"
)
_CONVERSATION = re.compile(
    rf"^(?!(?:{_DEEDS}) one of (?:the|these|those|my)\b)"
    r"(?:(?:i mean(?:t)?|not|now|rather|and|then) )*(?:the |that |this |these |those )?(?:\w+ )?ones?"
    r"(?: (?:on|in|at|to|of) .*)?$"
    r"|^(?:(?:i mean(?:t)?|not|now|rather|and|then) )*(?:the )?(?:first|second|third|fourth|fifth|last|other|left|right"
    r"|former|latter)(?: one| thing)?$"
    r"|^(?:number|option|answer|nr) \w+$|^\d+$"
    r"|^(?:yes|yeah|yep|ok|okay|no|nope|sure|right|correct|wrong|exactly|again|once more|one more time"
    r"|(?:do|try) (?:it|that|this)(?: again| once more)?|(?:un|re)do(?: it| that| this)?|repeat(?: it| that| this)?"
    r"|(?:do )?(?:the )?same(?: again| thing)?(?: (?:with|for|to) .*)?|continue|go on|go ahead|go back|never ?mind|both"
    r"|(?:both|all|any|either|none|neither) of them|either|neither|this|that)$"
)
"""Answers to a question, and what refers to a command before: none of them is remembered."""
_AT_ONCE = "What I understand I do at once"


def check_whole(plain: Traced, account: WordTrace) -> None:
    """Refuse second thoughts, measures and poses. Raises ToolError NOT_UNDERSTOOD."""
    deed, kind = next((VERBS[word] for word in plain.split() if word in VERBS), ("", ""))
    for pattern, sentence in (
        (_CORRECTION, "The command changes while it is said, at {}: say it once more from the start."),
        (_DELAY, f"{_AT_ONCE}, and I cannot heed {{}}."),
        (_DISTANCE, 'I do not work by measures such as {}: say "next to", or another place that I know.'),
        (_MEASURE, "I do not work by measures: leave out {}."),
        (_POSE, "I put a thing down as it was picked up and cannot turn it: leave out {}."),
    ):
        if pattern in (_MEASURE, _POSE) and kind == "unsupported" and deed not in LOOSELY:
            continue  # the deed itself is what cannot be done
        found = pattern.search(plain.text)
        if found and not (pattern is _CORRECTION and VERBS.keys().isdisjoint(plain[: found.start()].split())):
            refuse(sentence.format(account.quote(plain[found.start() : found.end()].words)))


_NO_WISH = (
    (_UNREAL, f"{_AT_ONCE}, and I cannot {{}}."),
    (_RIDDANCE, f"I cannot {{}}; {ABILITY}."),
    (_HALF, "I pick a thing up or put it down, and cannot heed {}."),
    (_LEFT_ALONE, "I move only what a command names, so {} asks for nothing: say what is to be moved."),
)
"""What no arm can do, each with the sentence that says so."""
_NO_CONDITION = (
    (_NEGATED, "The command says what not to do ({}); say what to do."),
    (_CONDITION, "I carry out commands without conditions such as {}."),
    (_TIME, f"{_AT_ONCE}, and I cannot heed {{}}."),
    (_PARK, f"I cannot {{}}; {ABILITY}."),
)
"""What a command cannot be bound to, each with the sentence that says so."""
_NO_PLACE = (
    (_VIEW, "I cannot tell whose side is meant by {}: left and right are those of the camera's picture."),
    (_TAKEN, 'I can place a thing beside, in or on another one, and not {}: say such as "next to the bowl".'),
    (_UNKNOWN_HERE, "I know only what stands on the table now, and not {}; name a thing."),
    (_NUMBER, 'Nothing has a number for me, as {} says: say which one, such as "the second can from the left".'),
    (_GAP, "I choose the gap between things myself and cannot heed {}."),
)
"""What cannot be said of a thing, each with the sentence that says so."""
_NO_MANNER = (
    (_MANNER, "I choose myself how to take and move a thing and cannot heed {}."),
    (_OUTSIDE, '{} says only where a thing is not to be: say where it is to be, such as "next to the bowl".'),
    (_NOWHERE, f"{{}} is no place for me. {PLACES}"),
)
"""How and where nothing is placed, each with the sentence that says so."""


def check_kind(spoken: Traced, polite: bool, account: WordTrace) -> None:
    """Refuse what is no command, and wishes that no arm heeds. Raises ToolError NOT_UNDERSTOOD, INVALID_ARGUMENT."""
    text = spoken.text
    if is_stop(text):
        raise nothing_to_stop(account.quote(spoken.words))
    check_follow_up(spoken, account)
    if _BOTH_SIDES.search(text):
        refuse("A thing cannot be in two opposite places at once.", ErrorCode.INVALID_ARGUMENT)
    _refuse_any(_NO_WISH, spoken, account)
    if _QUESTION.match(text) and not polite and not re.match(rf"when (?!{_AUXILIARY})", text):
        asked = account.quote(spoken.words)
        refuse(f"I carry out commands and do not answer questions such as {asked}; {ABILITY}.")
    _refuse_any(_NO_CONDITION, spoken, account)
    kind = VERBS.get(text.split()[0], ("", ""))[1]
    if kind in ("unsupported", "mention"):
        return  # the deed itself is what cannot be done
    _refuse_any(_NO_PLACE, spoken, account)
    _refuse_any(_NO_MANNER, spoken, account)


def nothing_to_stop(quoted: str) -> ToolError:
    """The refusal of words of stopping as a command, with those words in quotes."""
    return ToolError(
        ErrorCode.NOT_UNDERSTOOD,
        f"Nothing is moving in this command, so there is nothing to stop: {quoted}.",
        'To stop the arm at any time, run "toolhand stop" in another terminal, or press Ctrl-C where it moves.',
    )


def is_unable(text: str) -> bool:
    """Whether a sentence holds a wish that no arm heeds; questions, and what nobody understands, are none."""
    plain = Traced.join(tokenize(text))
    spoken, _ = strip_politeness(plain)
    try:
        check_whole(plain, WordTrace(text))
        for refused in (_NO_WISH, _NO_CONDITION, _NO_MANNER):
            _refuse_any(refused, spoken, WordTrace(text))
    except ToolError:
        return True
    return False


def check_follow_up(spoken: Traced, account: WordTrace) -> None:
    """Refuse an answer to a question, and what refers to a command before. Raises ToolError NOT_UNDERSTOOD."""
    words = spoken.tidied(",.?!")
    if _CONVERSATION.match(words.text):
        refuse(
            f"I remember no question and no command, so {account.quote(words.words)} tells me nothing: type the whole "
            'command, such as "pick up the left can".'
        )


def _refuse_any(table: Sequence[tuple[re.Pattern[str], str]], spoken: Traced, account: WordTrace) -> None:
    for pattern, sentence in table:
        if found := pattern.search(spoken.text):
            end = found.end()
            if pattern is _NEGATED:  # what is denied is quoted, too
                end = next((k for k in range(end, len(spoken.text)) if spoken.text[k] in ",.?!"), len(spoken.text))
            refuse(sentence.format(account.quote(spoken[found.start() : end].words)))
