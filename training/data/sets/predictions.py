"""Predictions for a public set: a file of JSON lines {"id": ..., "answer": ...}, and what they are worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tool_nodes.results import INFRASTRUCTURE_ERRORS, ToolError, invalid
from training.data.sets.files import rows_of
from training.data.sets.marks import mark
from training.data.sets.public_set import MarkedAnswer, QuestionReader
from training.data.sets.question import Question, RowError, SetRow, shown

MOST_IN_A_ROW = 5
"""Infrastructure errors in a row after which no more questions are asked [-]; a round figure."""


@dataclass
class Marked:
    """What came of marking.

    Attributes:
        answers: Each question that could be marked, with the worth of its answer.
        unanswered: How many of them have no answer; they are worth 0.
        lost: Each question that an infrastructure error took; they are in none of the other numbers.
        stopped: The last such error, where MOST_IN_A_ROW in a row ended the questions.
    """

    answers: list[MarkedAnswer] = field(default_factory=list)
    unanswered: int = 0
    lost: list[Question] = field(default_factory=list)
    stopped: ToolError | None = None

    @property
    def unscored(self) -> int:
        """How many questions an infrastructure error took."""
        return len(self.lost)

    @property
    def asked(self) -> list[MarkedAnswer]:
        """Every question that was asked, those that an infrastructure error took as wrong."""
        return [*self.answers, *((question, 0.0) for question in self.lost)]


def read_predictions(file: Path, strict: bool = False) -> tuple[dict[str, str], list[str]]:
    """Answers by the id of their question, and a sentence about each line that could not be used.

    The second line for one id is such a line: the first counts.

    Raises:
        ToolError: INVALID_ARGUMENT where there is no such file; at the first bad line if strict.
    """
    if not file.is_file():
        raise invalid(f"There is no file {file} of predictions.", 'Each line is {"id": "...", "answer": "..."}.')
    answers: dict[str, str] = {}
    problems = []
    for number, row in rows_of(file, ".jsonl"):
        try:
            if isinstance(row, RowError):
                raise row
            name, answer = SetRow(file.parent, file, row, "", number).name("id"), row.get("answer")
            if not isinstance(answer, str):
                raise RowError(f'its "answer" must be a text, got {shown(answer)}')
            if name in answers:
                raise RowError(f"its id {shown(name)} is there already")
        except RowError as problem:
            problems.append(f"{file.name}, row {number}: {problem}.")
            if strict:
                raise invalid(problems[-1]) from problem
        else:
            answers[name] = answer
    return answers, problems


def marked_answers(reader: QuestionReader, answer_to: Callable[[Question], str | None]) -> Marked:
    """Mark an answer to each question of a reader.

    A question whose picture or truth turns out to be unreadable, such as a broken mask, is left out like a bad row.

    Args:
        reader: Reader of a set.
        answer_to: Gives the answer, None for none. It may raise RowError for a question that cannot be asked, and
            ToolError: UNAVAILABLE and INTERNAL leave the question unscored, and after MOST_IN_A_ROW of them in a row
            no more are asked; others are passed on.

    Raises:
        ToolError: See `QuestionReader` and `answer_to`.
    """
    marked = Marked()
    in_a_row = 0
    for question in reader:
        try:
            answer = answer_to(question)
            score = mark(question, answer)
        except RowError as problem:
            reader.leave_out(f"question {question.id}: {problem}.")
        except ToolError as error:
            if error.code not in INFRASTRUCTURE_ERRORS:
                raise
            marked.lost.append(question)
            in_a_row += 1
            if in_a_row == MOST_IN_A_ROW:
                marked.stopped = error.with_traceback(None)
                return marked
        else:
            in_a_row = 0
            marked.unanswered += answer is None
            marked.answers.append((question, score))
    return marked
