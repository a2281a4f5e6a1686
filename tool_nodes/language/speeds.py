"""How fast an operator wants a motion, by the words of a sentence: "slowly", "as fast as you can"."""

from __future__ import annotations

import re
from dataclasses import dataclass

SLOWLY = 0.3
"""Share of the allowed speed of what is done slowly [-]; a round figure."""

_SLOW = r"(?:slow|gentl|careful|soft|cautious)"
_QUICK = r"(?:quick|swift|rapid|speedi|hasti)"
_AS_ONE_CAN = r"as (?:you can|you are able to|possible)"
_SLOWLY = re.compile(
    rf"\b(?:{_SLOW}l?y|slower|take your time|take it easy|(?:with|be) (?:great |very |really )?(?:care(?:ful)?|caution)"
    rf"|as (?:{_SLOW}l?y?|slow) {_AS_ONE_CAN})\b",
    re.IGNORECASE,
)
_QUICKLY = re.compile(
    rf"\b(?:{_QUICK}ly|faster|real(?:ly)? quick|hurry(?: up)?|asap|as soon as possible"
    rf"|as (?:{_QUICK}l?y?|fast) {_AS_ONE_CAN})\b",
    re.IGNORECASE,
)


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


def at_that_speed(command: str, said: str) -> str:
    """A command as slow as words ask for that it comes from, where it does not say so itself."""
    speed = spoken_speed(said)
    slow = speed is not None and speed.share < 1.0 and spoken_speed(command) is None
    return f"{command}, {speed.words}" if slow and speed is not None else command


def spoken_speed(sentence: str) -> SpokenSpeed | None:
    """The speed that a sentence asks for; None where it asks for none. Who asks for both gets the slower."""
    if found := _SLOWLY.search(sentence):
        return SpokenSpeed(SLOWLY, found.group())
    if found := _QUICKLY.search(sentence):
        return SpokenSpeed(1.0, found.group())
    return None
