"""What a policy did in its episodes, counted from records by the simulator's truth, never by its own reading.

| measure | counted |
|---|---|
| true success | the judge of the task found everything as asked for |
| done and said | the same, and the tools and the answer say so: what an operator gets |
| wrong object | something left the table in the hand that was not meant |
| false success | the tools and the answer say done, and the judge disagrees |
| refusals, right | it ended with a code, had asked for the object, and no point that it then got was on it |
| refusals, wrong | it ended with a code, and had got a right point |
| refusals, unasked | it ended with a code without having asked for the object, or the task means none, as a question |
| calls, invalid | calls run or refused; malformed turns, and calls refused for name, arguments or repetition |

An attempt is what lies between two motions while nothing is held. Refusals are judged by the last one: to ask for the
object is to ask a pointer in words of which the operator's sentence has one. The right and the wrong ones are rates of
the episodes whose task means an object. What a point lies on is known by the ids of the image
(`toolhand.training.rollouts.labels`). What policies do about errors is in `toolhand.training.rollouts.comparison`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from toolhand.agent_node.episode import admits_failure
from toolhand.agent_node.protocol import Protocol, load_protocol
from toolhand.tool_nodes.results import ErrorCode
from toolhand.training.intervals import wilson
from toolhand.training.rollouts.labels import GRASP, calls_with_objects
from toolhand.training.rollouts.record import CallEntry, RolloutRecord

LOOK = "robot.capture_image"
"""The tool that takes a picture."""
_ASKED = {"detect_all", "detect_one"}
"""What pointing tools are called after their family and a dot."""
_WORD = re.compile(r"\w+")
_EMPTY_WORDS = frozenset(
    ("a", "an", "the", "of", "to", "and", "in", "on", "it", "one", "thing", "object", "everything")
)
"""Words that say nothing of which object is meant."""
_INVALID = frozenset({ErrorCode.INVALID_ARGUMENT, ErrorCode.UNKNOWN_TOOL})


@dataclass(frozen=True)
class EpisodeMeasures:
    """One episode; the names are those of the module's table."""

    true_success: bool
    reported: bool
    wrong_object: bool
    false_success: bool
    refused: bool
    refused_rightly: bool
    refused_wrongly: bool
    means_an_object: bool
    calls: int
    invalid: int
    turns: int
    looks: int


@dataclass(frozen=True)
class _Call:
    """A call that was run, with what its points lie on."""

    entry: CallEntry
    objects: Sequence[str] | None

    @property
    def asked(self) -> bool:
        return self.entry.tool.rpartition(".")[2] in _ASKED

    @property
    def words(self) -> str:
        return str(self.entry.arguments.get("obj_name", ""))


def measure(record: RolloutRecord) -> EpisodeMeasures:
    """The measures of one episode."""
    meant = frozenset(record.truth.get("meant", ()))
    picked_up = frozenset(record.truth.get("picked_up", ()))
    refused = refuses(record)
    attempts = list(_attempts(record))
    invalid = sum(bool(turn.problem) + _refused_calls(turn.calls) for turn in record.turns)
    asked = [call for call in (attempts[-1] if attempts else ()) if call.asked]
    found = any(set(call.objects or ()) & meant for call in asked)
    sought = any(_content(call.words) & _content(record.text) for call in asked)
    return EpisodeMeasures(
        true_success=record.true_success,
        reported=record.true_success and record.success,
        wrong_object=bool(picked_up - meant),
        false_success=record.success and not record.true_success,
        refused=refused,
        refused_rightly=refused and sought and bool(meant) and not found,
        refused_wrongly=refused and found,
        means_an_object=bool(meant),
        calls=sum(len(turn.calls) for turn in record.turns),
        invalid=invalid,
        turns=len(record.turns),
        looks=sum(call.tool == LOOK for turn in record.turns for call in turn.calls),
    )


def _content(words: str) -> frozenset[str]:
    """The words that say what is meant."""
    return frozenset(_WORD.findall(words.lower())) - _EMPTY_WORDS


def _refused_calls(calls: Sequence[CallEntry]) -> int:
    """Calls of a turn that were invalid; what only lacks the result of a call before it that failed is not."""
    count = 0
    for call in calls:
        count += call.error_code in _INVALID
        if call.error_code is not None:
            break
    return count


def refuses(record: RolloutRecord) -> bool:
    """Whether the last turn is an answer that begins with a code."""
    answer = None if not record.turns else _protocol(record.protocol).parse(record.turns[-1].text).answer
    return answer is not None and admits_failure(answer)


@cache
def _protocol(name: str) -> Protocol:
    return load_protocol(name)


def _attempts(record: RolloutRecord) -> Iterator[list[_Call]]:
    """The calls between motions while nothing is held, each stretch with a question or more."""
    stretch: list[_Call] = []
    for call in _calls(record):
        if call.entry.tool != GRASP:
            stretch.append(call)
            continue
        if any(other.asked for other in stretch):
            yield stretch
        stretch = []
        if call.entry.error_code is None:
            return  # something is held: what is asked now is where it goes
    if any(other.asked for other in stretch):
        yield stretch


def _calls(record: RolloutRecord) -> Iterator[_Call]:
    for turn in record.turns:
        for entry, on in calls_with_objects(turn):
            if entry.run and isinstance(entry.arguments, Mapping):
                yield _Call(entry, on)


# -- many episodes -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Share:
    """A rate with its 95 % Wilson interval."""

    count: int
    n: int

    @property
    def rate(self) -> float | None:
        """None where nothing was tried."""
        return self.count / self.n if self.n else None

    def __str__(self) -> str:
        if not self.n:
            return "-"
        low, high = wilson(self.count, self.n)
        return f"{100 * self.count / self.n:.1f} % ({100 * low:.1f}..{100 * high:.1f})"

    def document(self) -> dict[str, float | int | None]:
        """As JSON has it."""
        low, high = wilson(self.count, self.n)
        return {"count": self.count, "n": self.n, "rate": self.rate, "low": low, "high": high}


@dataclass(frozen=True)
class Measures:
    """What a policy did in n episodes.

    Attributes:
        n: Number of episodes.
        planned: Episodes that there were to be: those that are missing were dropped, or have not been done.
        calls, invalid: Mean of an episode.
    """

    n: int
    planned: int
    true_success: Share
    reported: Share
    wrong_objects: Share
    false_success: Share
    right_refusals: Share
    wrong_refusals: Share
    unasked_refusals: Share
    calls: float
    invalid: float

    @property
    def unscored(self) -> int:
        """Episodes that are missing."""
        return self.planned - self.n

    @property
    def success_of_planned(self) -> Share:
        """True success where an episode that is missing is none."""
        return Share(self.true_success.count, self.planned)

    def document(self) -> dict[str, object]:
        """As JSON has it."""
        return {name: value.document() if isinstance(value, Share) else value for name, value in vars(self).items()}


def summarise(records: Iterable[RolloutRecord], planned: int | None = None) -> Measures:
    """The measures of many episodes.

    Args:
        records: Records of the episodes that have a score.
        planned: How many there were to be; as many as there are where None.
    """
    rows = [measure(record) for record in records]
    n = len(rows)

    def share(flags: Iterable[bool]) -> Share:
        return Share(sum(flags), n)

    def of_deeds(flags: Iterable[bool]) -> Share:
        return Share(sum(flags), sum(row.means_an_object for row in rows))

    return Measures(
        n=n,
        planned=max(n, planned or 0),
        true_success=share(row.true_success for row in rows),
        reported=share(row.reported for row in rows),
        wrong_objects=share(row.wrong_object for row in rows),
        false_success=share(row.false_success for row in rows),
        right_refusals=of_deeds(row.refused_rightly for row in rows),
        wrong_refusals=of_deeds(row.refused_wrongly for row in rows),
        unasked_refusals=share(row.refused and not (row.refused_rightly or row.refused_wrongly) for row in rows),
        calls=sum(row.calls for row in rows) / n if n else 0.0,
        invalid=sum(row.invalid for row in rows) / n if n else 0.0,
    )


COLUMNS: tuple[tuple[str, str], ...] = (
    ("unscored", "unscored"),
    ("true success", "true_success"),
    ("done and said", "reported"),
    ("wrong thing", "wrong_objects"),
    ("false success", "false_success"),
    ("refused, rightly", "right_refusals"),
    ("refused, wrongly", "wrong_refusals"),
    ("refused, unasked", "unasked_refusals"),
    ("calls", "calls"),
    ("invalid", "invalid"),
)
"""Of a table: what stands above a column, and the field of Measures."""
_OF_PLANNED = ("true success, unscored as wrong", "success_of_planned")


def markdown_table(rows: Sequence[tuple[str, Measures]], first: str = "policy") -> str:
    """Measures as a Markdown table, a row each; rates with their 95 % Wilson intervals.

    Where episodes are missing, a last column counts them as wrong.
    """
    columns = [*COLUMNS, *([_OF_PLANNED] if any(measures.unscored for _, measures in rows) else [])]
    head = [first, "n", *(title for title, _ in columns)]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name, measures in rows:
        cells = [name, str(measures.n), *(_cell(getattr(measures, field)) for _, field in columns)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(value: Share | float) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)
