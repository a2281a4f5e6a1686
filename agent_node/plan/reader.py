"""Readers of utterances: each gives a plan, how certain it is of it, and which words it has not used."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from toolhand.agent_node.plan.reading import is_plan, read_plan
from toolhand.agent_node.plan.types import Plan
from toolhand.tool_nodes.language.speeds import SLOWLY, spoken_speed
from toolhand.tool_nodes.language.vocabulary import catalogue_lexicon
from toolhand.tool_nodes.language.words import COLOURS, FUNCTION_WORDS, GENERIC, RELATIVE, SHADES, SIDES, SIZES

if TYPE_CHECKING:
    from toolhand.agent_node.plan.learned import LearnedReader

SURE = 0.45
"""Least certainty of a plan that moves something without asking [0..1]: of sentences of a voice that was not read 5 %
are below 0.4, and one in ten of their plans is word by word the one that was meant."""
QUESTION = " ? "
"""Stands in a context between the plan before and the question that waits."""
_COURTESY = re.compile(r"^(?:(?:please|(?:can|could|would) you)(?:\s*,)? )+|(?:\s*,)?(?: please)?[ .!?]*$")
_OTHERWISE_SPELT = tuple(
    (re.compile(rf"(?<!\S)(?:{words})(?!\S)"), meant)
    for words, meant in (
        (r"(\d+)cm", r"\1 cm"),
        ("an|any", "a"),
        ("all the", "all"),
        ("the camera", "me"),
        ("(to|from) the (?:robot|arm)", r"\1 you"),
        ("further", "farther"),
        ("furthest", "farthest"),
        ("farthest to the (left|right)", r"\1most"),
        ("that is (?:closer|nearer) to", "that is closest to"),
        ("that is farther from", "that is farthest from"),
        ("the (?:nearer|closer)", "the nearest"),
        ("the farther", "the farthest"),
        ("farthest away", "farthest"),
        ("(?:to|on|at) the (left|right) of", r"\1 of"),
        ("inside", "in"),
        ("on top of", "on"),
        ("beside|close to", "next to"),
        (r"(\d+ cm) (?:away )?from", r"\1 next to"),
        ("(corner|side|edge|middle) of the table", r"\1"),
        (r"not the (\S+(?: \S+)*) one", r"that is not \1"),
        (r"[.!]|(?:, )?and(?: then)?(?= (?:put|place|move) it)", ";"),
        ("(^|[;,] )(?:grab|take|get)", r"\1pick up"),
        ("(^|[;,] )(?:place|move)", r"\1put"),
        ("(put [^;]*) (in|on)to", r"\1 \2"),
        ("put it down|drop it", "put it on the table"),
        ("never ?mind|forget it", "cancel"),
    )
)
"""Other words for those of the grammar, as whole words, each with those; applied in this order."""
_NO, _NUMBER = re.compile(r"^(?:no|yes) ?, ?"), re.compile(r"^(?:number )?(\d+)$")


@dataclass(frozen=True)
class Understood:
    """What a reader makes of an utterance.

    Attributes:
        plan: Acts that are wanted.
        certainty: How sure the reader is of it [0..1]; of the learned one the least probability of a step.
        left_over: Words of the utterance that no word of the plan stands for, in order.
    """

    plan: Plan
    certainty: float = 1.0
    left_over: tuple[str, ...] = ()


class PlanReader(Protocol):
    """Reads what an operator says."""

    def read(self, utterance: str, context: str = "") -> Understood | None:
        """What is meant; None where this reader cannot tell.

        Args:
            utterance: Words that were said.
            context: The plan before it in the robot's words, and after " ? " the question that waits for an answer.
        """
        ...


class CanonicalReader:
    """Reads the robot's own words exactly, and sentences that differ from them by no more than a few other words.

    Args:
        known: Every word of a name has to be one of a product or of its looks; else any word names something.
    """

    def __init__(self, known: bool = False) -> None:
        self._known = known

    def read(self, utterance: str, context: str = "") -> Understood | None:
        """See `PlanReader`. What names an object is a choice of it where a question waits."""
        said = " ".join(re.sub(r"(?<!\d)(?=[,;!])|(?=\.(?:\s|$))", " ", utterance.lower()).split())
        words = _COURTESY.sub("", said)
        forms = [_spelt(words), words, _spelt(_speed_first(words)), said.rstrip(" .!?")]
        if QUESTION.strip() in context.split():
            forms += _choices(_spelt(_NO.sub("", words)))
        plans = (read_plan(form, True) for form in forms if is_plan(form, True))
        return next((Understood(plan) for plan in plans if not self._names_sentence(plan)), None)

    def _names_sentence(self, plan: Plan) -> bool:
        """Whether a name of the plan has words that no name has: the grammar takes any, as in "the can you see"."""
        refs = [ref for act in plan for ref in (*act.objects, *(each for part in act.place for each in part.objects))]
        while refs:
            ref = refs.pop()
            names = ref.words.split()
            if not _NO_NAMES.isdisjoint(names) or (self._known and not all(map(_is_name, names))):
                return True
            refs += [each for clause in ref.clauses for each in clause.objects]
        return False


def _is_name(word: str) -> bool:
    looks = (COLOURS, SHADES, RELATIVE, GENERIC, SIZES, SIDES)
    return any(word in each for each in looks) or catalogue_lexicon().knows(word)


_NO_NAMES = (FUNCTION_WORDS - {"of", "flat", "next"}).union("i you we could would put pick take give".split())  # noqa: SIM905
"""Words of which no name of an object is made."""


def _spelt(words: str) -> str:
    """Words in those of the grammar."""
    for pattern, meant in _OTHERWISE_SPELT:
        words = pattern.sub(meant, words)
    return words


def _speed_first(words: str) -> str:
    """Words with the speed that they ask for before them, as the grammar has it."""
    speed = spoken_speed(words)
    if speed is None:
        return words
    before, _, after = words.partition(speed.words.strip())
    rest = _COURTESY.sub("", " ".join(f"{before.rstrip(' ,')} {after.lstrip(' ,')}".split()))
    return f"slowly , {rest}" if speed.share == SLOWLY else f"at {round(100 * speed.share)} % speed , {rest}"


def _choices(words: str) -> list[str]:
    numbered = _NUMBER.match(words)
    return [f"choose number {numbered[1]}"] if numbered else [f"choose {words}", f"choose the {words}"]


def context_of(plan: str, question: str = "") -> str:
    """What a reader is told of what was before an utterance: the plan that was understood, and the open question."""
    return f"{plan}{QUESTION}{question}" if question else plan


class ShippedReader:
    """The learned reader of the shipped weights, which are read when they are first needed."""

    def read(self, utterance: str, context: str = "") -> Understood | None:
        """See `PlanReader`. Raises ToolError UNAVAILABLE where the weights cannot be used."""
        return shipped_reader().read(utterance, context)


@lru_cache(maxsize=1)
def shipped_reader() -> LearnedReader:
    """The learned reader of the shipped weights. Raises ToolError UNAVAILABLE where they cannot be used."""
    from toolhand.agent_node.plan.learned import LearnedReader

    return LearnedReader()
