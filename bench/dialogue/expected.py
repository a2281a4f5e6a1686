"""What is to come of an utterance, as its maker means it; nothing here knows how the robot reads."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from toolhand.sim.scene.scenes import Scene
from toolhand.sim.tasks.gestures import UntouchedTask
from toolhand.sim.tasks.task import Task

WantedEnd = Literal["deed", "asked", "refused", "answered", "quiet"]
"""A deed is done; the robot asks back; it refuses; it answers; or, whatever it says, nothing moves."""

_WORD_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True)
class Expected:
    """One way in which an utterance is carried out as meant.

    Attributes:
        task: Judge of what moved.
        quoted: Words of which a refusal has to repeat any one, so that the operator knows what to change.
        right: Whether an answer is right.
        kept: A refusal may not call words needless: without them another deed would be done.
    """

    wanted: WantedEnd
    task: Task
    quoted: tuple[str, ...] = ()
    right: Callable[[str], bool] = bool
    kept: bool = False


@dataclass(frozen=True)
class Uttered:
    """An utterance with all that it may mean.

    Attributes:
        kind: Kind of utterance that it belongs to, e.g. "undo".
        words: Utterance of the operator.
        options: Outcomes, any one of which is right.
    """

    kind: str
    words: str
    options: tuple[Expected, ...]

    @property
    def goal(self) -> str:
        """The meanings in a line of the scene's ids."""
        return " or ".join(f"{option.wanted}: {option.task.goal}{_quotes(option)}" for option in self.options)


def _quotes(option: Expected) -> str:
    return f' "{"|".join(option.quoted)}"' if option.quoted else ""


def asked(words: str, scene: Scene) -> Expected:
    """The robot asks back and moves nothing."""
    return Expected("asked", UntouchedTask(words, scene))


def refused(words: str, scene: Scene, *quoted: str, kept: bool = False) -> Expected:
    """The robot refuses with one of these words and moves nothing."""
    return Expected("refused", UntouchedTask(words, scene), quoted, kept=kept)


def answered(words: str, scene: Scene, right: Callable[[str], bool]) -> Expected:
    """The robot answers and moves nothing."""
    return Expected("answered", UntouchedTask(words, scene), right=right)


def quiet(words: str, scene: Scene) -> Expected:
    """Nothing moves, whatever is said."""
    return Expected("quiet", UntouchedTask(words, scene))


# ---- What an answer says ----


def plain(words: str) -> str:
    """Words in small letters, without hyphens and marks."""
    return " ".join(re.sub(r"[^\w.()]+", " ", words.lower().replace("_", " ")).split())


def counts(number: int) -> Callable[[str], bool]:
    """Whether an answer gives a number, in digits or as a word, and no other one up to ten."""

    def right(answer: str) -> bool:
        said = plain(re.sub(r"\([^)]*\)|\d+\.\d+", " ", answer))
        found = {int(digits) for digits in re.findall(r"\b\d{1,2}\b(?! *(?:cm|mm|%|percent))", said)}
        found |= {k for k, word in enumerate(_WORD_NUMBERS) if re.search(rf"\b{word}\b", said)}
        if re.search(r"\b(?:none|nothing)\b", said):
            found.add(0)
        return number in found

    return right


def lengths_m(answer: str) -> list[float]:
    """Every length that an answer gives [m]."""
    unit = {"mm": 0.001, "millimet": 0.001, "cm": 0.01, "centimet": 0.01, "m": 1.0, "met": 1.0, "inch": 0.0254}
    # "6.2 x 6.2 x 11 cm" gives its unit once.
    text = answer.lower()
    found = []
    for group, name in re.findall(
        r"((?:\d+(?:\.\d+)?\s*(?:x|×|by|to|and|-|–|\+-|±|,|wide|deep|long|\s)*\s*)+)(mm|millimet|cm|centimet|inch|met|m\b)",
        text,
    ):
        found += [float(number) * unit[name] for number in re.findall(r"\d+(?:\.\d+)?", group)]
    return found


def gives_length(*true_m: float, least: float = 0.015, share: float = 0.25) -> Callable[[str], bool]:
    """Whether an answer gives any of these lengths [m], within `least` or a share of it where that is more."""
    return lambda answer: any(
        abs(said - true) <= max(least, share * true) for said in lengths_m(answer) for true in true_m
    )


def says_yes(answer: str) -> bool:
    """True for a yes."""
    said = plain(answer)
    return re.match(r"(?:yes\b|there is\b|there are (?!no\b)|i (?:can|could|do|see)\b(?! ?no))", said) is not None


def says_no(answer: str) -> bool:
    """True for a no."""
    said = plain(answer)
    return re.search(r"^no\b|\bnot\b|\bno \w|\bcannot\b|\bcan t\b|\bnone\b", said) is not None
