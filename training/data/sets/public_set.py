"""What a public set is here, and how its questions are read one after the other from a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tool_nodes.results import invalid
from training.data.sets.files import rows_of
from training.data.sets.question import Question, RowError, SetRow, shown

KEPT_PROBLEMS = 100
"""Sentences about bad rows that a reader keeps [-]; a round figure. All of them are counted."""

DIFFICULTIES = "object_rel_direction_"
"""Beginning of three question types of VSI-Bench, the difficulties of one."""

MarkedAnswer = tuple[Question, float]
"""A question, and what the answer to it is worth."""


def mean_of(marks: Sequence[float]) -> float:
    """The mean; 0 where there is none."""
    return sum(marks) / len(marks) if marks else 0.0


def over_questions(marked: Sequence[MarkedAnswer]) -> float:
    """The mean over all questions."""
    return mean_of([score for _, score in marked])


def over_categories(marked: Sequence[MarkedAnswer]) -> float:
    """The mean over the categories' means: each counts once, however many questions it has."""
    by_category: dict[str, list[float]] = {}
    for question, score in marked:
        by_category.setdefault(question.category, []).append(score)
    return mean_of([mean_of(scores) for scores in by_category.values()])


def by_source(marked: Sequence[MarkedAnswer]) -> float:
    """((ADE20K + COCO) / 2 + Omni3D) / 2, each the accuracy on one source; an absent one is left out (CV-Bench)."""
    by_name: dict[str, list[float]] = {}
    for question, score in marked:
        by_name.setdefault(question.meta["source"], []).append(score)
    parts = [[mean_of(by_name[name]) for name in part if name in by_name] for part in (("ADE20K", "COCO"), ("Omni3D",))]
    return mean_of([mean_of(part) for part in parts if part])


def over_question_types(marked: Sequence[MarkedAnswer]) -> float:
    """The mean over question types; the difficulties of relative direction count as one of them (VSI-Bench)."""
    directions = [answer for answer in marked if answer[0].category.startswith(DIFFICULTIES)]
    others = [answer for answer in marked if not answer[0].category.startswith(DIFFICULTIES)]
    types = len({question.category for question, _ in others})
    if not directions:
        return over_categories(others)
    return (over_categories(others) * types + over_categories(directions)) / (types + 1)


@dataclass(frozen=True)
class PublicSet:
    """A set in the layout that its authors publish it in.

    Attributes:
        name: Name that users type.
        title: Name that its authors give it.
        home: Where it is published.
        files: For each split, patterns of its files within the set's folder; of several layouts the first that is
            there.
        ask: Makes a question of a row; None leaves out a row of another split. Raises RowError.
        metric: The measure, in words.
        total: The set's own figure over all marked answers.
        total_in_words: Description of that figure.
    """

    name: str
    title: str
    home: str
    files: Mapping[str, tuple[str, ...]]
    ask: Callable[[SetRow], Question | None]
    metric: str
    total: Callable[[Sequence[MarkedAnswer]], float] = over_questions
    total_in_words: str = "mean over all questions"

    def files_in(self, folder: Path, split: str | None) -> dict[str, list[Path]]:
        """The files of a split, or of every split that is there.

        Raises:
            ToolError: INVALID_ARGUMENT for a split that is none, for no folder, and where no file is found.
        """
        if split is not None and split not in self.files:
            raise invalid(f'{self.title} has no split "{split}": it must be one of {", ".join(self.files)}.')
        if not folder.is_dir():
            raise invalid(
                f"There is no folder {folder}: {self.title} is published as {self.home}.",
                "Nothing is downloaded here; get it with its publisher's means, and give the folder.",
            )
        found = {}
        for name in self.files if split is None else (split,):
            layouts = (sorted(path for path in folder.glob(pattern) if path.is_file()) for pattern in self.files[name])
            found[name] = next((files for files in layouts if files), [])
        if not any(found.values()):
            wanted = " or ".join(dict.fromkeys(pattern for name in found for pattern in self.files[name]))
            raise invalid(f"{folder} holds no {wanted}: {self.title} is published as {self.home}.")
        return {name: files for name, files in found.items() if files}


class QuestionReader:
    """The questions of a set, read as they are asked for; a second loop begins anew.

    Args:
        public_set: The set.
        folder: Where it lies.
        split: One of its splits; every one that is there where None.
        strict: Stop at the first bad row, instead of leaving it out.
        most: Number of questions to read, from the first; all of them where None.

    Attributes:
        skipped: How many rows were left out in this loop so far.
        problems: A sentence with file and row about each of them, the first 100.
    """

    def __init__(
        self,
        public_set: PublicSet,
        folder: Path,
        split: str | None = None,
        strict: bool = False,
        most: int | None = None,
    ) -> None:
        self.public_set = public_set
        self.strict = strict
        self._folder, self._most = folder, most
        self._files = public_set.files_in(folder, split)
        self.skipped = 0
        self.problems: list[str] = []

    def __iter__(self) -> Iterator[Question]:
        """The questions.

        Raises:
            ToolError: INVALID_ARGUMENT at a bad row if strict; UNAVAILABLE without the extra that a file needs.
        """
        self.skipped, self.problems = 0, []
        return islice(self._questions(), self._most)

    def _questions(self) -> Iterator[Question]:
        seen: set[str] = set()
        for split, files in self._files.items():
            position = 0
            for file in files:
                for number, fields in rows_of(file):
                    try:
                        if isinstance(fields, RowError):
                            raise fields
                        question = self.public_set.ask(SetRow(self._folder, file, fields, split, position))
                        if question is None:
                            continue
                        if question.id in seen:
                            raise RowError(f"its id {shown(question.id)} is there already")
                    except RowError as problem:
                        self.leave_out(f"{file.relative_to(self._folder)}, row {number}: {problem}.")
                    else:
                        seen.add(question.id)
                        yield question
                    position += 1

    def leave_out(self, sentence: str) -> None:
        """Count a bad row. Raises ToolError INVALID_ARGUMENT if strict."""
        if self.strict:
            raise invalid(sentence)
        self.skipped += 1
        if len(self.problems) < KEPT_PROBLEMS:
            self.problems.append(sentence)
