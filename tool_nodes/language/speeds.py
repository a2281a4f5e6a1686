"""How fast an operator wants a motion, by the words of a sentence: "slowly", "a bit slower", "at half speed"."""

from __future__ import annotations

import re
from dataclasses import dataclass

SLOWLY = 0.3
"""Share of the allowed speed of what is done slowly [-]; a round figure."""
HALF = 0.5
"""The same of "half as fast" [-]."""
A_BIT_SLOWER = 0.6
"""The same of "a bit slower" [-]: clearly seen to be slower, and no crawl."""
LEAST = 0.05
"""Least share that a percentage asks for [-]: below, a motion of a few seconds takes minutes."""

_SLOW = r"(?:slow|gentl|careful|soft|cautious|delicate|steadi)"
_QUICK = r"(?:quick|swift|rapid|speedi|hasti)"
_AS_ONE_CAN = r"as (?:you can|you are able to|possible)"
_BIT = r"(?:(?:just )?(?:a (?:little|wee|tiny)? ?(?:bit|tad|touch)|a little|slightly|somewhat|rather))"
_USUAL = r"(?:(?:the|your|of the|of your|its) )*(?:usual |normal |allowed |full |maximum |top )?"
SLOWER = rf"(?:slower|more (?:{_SLOW}l?y)|less (?:fast|quickly))"
SPEEDS: tuple[tuple[float, str], ...] = (
    (
        A_BIT_SLOWER,
        rf"{_BIT} {SLOWER}|{_BIT} less (?:fast|quickly)|not (?:so|too|that|quite so) (?:fast|quick(?:ly)?)",
    ),
    (
        HALF,
        rf"(?:at |with )?half (?:of )?{_USUAL}(?:speed|pace)|(?:half|twice) as (?:fast|quick(?:ly)?|slow(?:ly)?)",
    ),
    (0.25, rf"(?:at |with )?(?:a )?quarter (?:of )?{_USUAL}(?:speed|pace)"),
    (
        SLOWLY,
        rf"(?:{_SLOW}l?y|{SLOWER})"
        r"|take your time|take it (?:easy|slow)|easy does it|in slow motion"
        r"|(?:with|at) (?:a )?(?:low|slow|reduced) (?:speed|pace)"
        r"|(?:with|be) (?:great |very |really )?(?:care(?:ful)?|caution)"
        rf"|as (?:{_SLOW}l?y?|slow) {_AS_ONE_CAN}",
    ),
    (
        1.0,
        rf"(?:very |really )?{_QUICK}ly|faster|quicker|real(?:ly)? quick|hurry(?: up)?|asap|as soon as possible"
        rf"|as (?:{_QUICK}l?y?|fast) {_AS_ONE_CAN}"
        r"|(?:(?:at|with) )?(?:(?:your|the) )?(?:full|top|maximum|max|normal|usual|regular|high|double) (?:speed|pace)",
    ),
)
"""Share of the allowed speed [-], and the lower-case words that ask for it."""
_PACE = r"(?: (?:of )?" + _USUAL + r"(?:speed|pace))"
PERCENT = (
    r"(?:(?:at |with )(?:about )?(?P<percent>\d{1,3}) ?(?:%|per ?cent)(?: (?!of\b)|$|" + _PACE + r")"
    r"|(?:about )?(?P<share>\d{1,3}) ?(?:%|per ?cent)(?:$|" + _PACE + r"))"
)
_SPOKEN = tuple((share, re.compile(rf"\b(?:{words})(?!\w)", re.IGNORECASE)) for share, words in SPEEDS)
_PERCENT = re.compile(rf"\b{PERCENT}(?!\w)", re.IGNORECASE)


@dataclass(frozen=True)
class SpokenSpeed:
    """A speed that was asked for.

    Attributes:
        share: Share of the allowed speed, in (0, 1].
        words: Words that ask for it.
    """

    share: float
    words: str

    @property
    def told(self) -> str:
        """What came of it, in a sentence."""
        if self.share < 1.0:
            return f'I moved at {self.share:g} of the allowed speed, as "{self.words}" asks.'
        return f'I always move as fast as I am allowed to: "{self.words}" makes it no faster.'

    @property
    def kept(self) -> str:
        """That it holds from now on, in a sentence."""
        if self.share < 1.0:
            return f"From now on I move at {self.share:g} of the allowed speed, until you say otherwise."
        return "From now on I move as fast as I am allowed to, and no faster."


def spoken_speed(sentence: str) -> SpokenSpeed | None:
    """The speed that a sentence asks for; None where it asks for none. Who asks for several gets the slowest."""
    found = [(match.span(), share, match.group()) for share, words in _SPOKEN for match in words.finditer(sentence)]
    for match in _PERCENT.finditer(sentence):
        share = min(max(int(match["percent"] or match["share"]) / 100, LEAST), 1.0)
        found.append((match.span(), share, match.group()))
    # "A bit slower" is no "slower", and "not so quickly" no "quickly".
    whole = [
        each
        for each in found
        if not any(other[0] != each[0] and other[0][0] <= each[0][0] and each[0][1] <= other[0][1] for other in found)
    ]
    if not whole:
        return None
    _, share, words = min(whole, key=lambda each: each[1])
    return SpokenSpeed(share, words)


def spoken_share(sentence: str) -> float:
    """Share of the allowed speed that a sentence asks for, in (0, 1]; 1 where it asks for none."""
    speed = spoken_speed(sentence)
    return 1.0 if speed is None else speed.share
