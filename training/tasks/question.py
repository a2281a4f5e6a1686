"""A question about what the camera sees: text, truth, and how an answer is graded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from toolhand.sim.scene.scenes import Scene
from toolhand.sim.tasks.task import TASK_GOAL, History, Score, Transcript
from toolhand.tool_nodes.ports import Camera
from toolhand.tool_nodes.types import Frame
from toolhand.training.tasks.answers import WrongForm
from toolhand.training.tasks.sayings import say, side_words
from toolhand.training.tasks.splits import Split, layout_of
from toolhand.training.tasks.wordings import FORMS

Truth = Any
"""What is true, in tuples of numbers and texts: of the form that the kind's marking takes."""


@dataclass(frozen=True)
class Marking:
    """How answers to one kind of question are graded.

    Attributes:
        read: The answer in the form that was asked for; raises `answers.WrongForm`.
        terms: (what was read, the truth) -> reward by name of `toolhand.training.rewards.REWARDS`, each in 0..1; the
            first is the kind's own.
        success: From those terms, whether the answer counts as right.
        rule: The same in words.
    """

    read: Callable[[str], Any]
    terms: Callable[[Any, Truth], Mapping[str, float]]
    success: Callable[[Mapping[str, float]], bool]
    rule: str
    names: tuple[str, ...]

    @property
    def reward(self) -> str:
        """The kind's own reward."""
        return self.names[0]


@dataclass(frozen=True)
class QuestionTask:
    """A question that is answered in words; the robot need not move.

    **Randomised**: the scene or the drawing, what is asked about, and the words. What is hidden, small or nearly tied
    is not asked.

    **Success**: as the kind's marking says, on the final answer alone.

    Attributes:
        kind: One of `toolhand.training.tasks.kinds.QUESTIONS`.
        text: The question, and the form of its answer.
        scene: Scene on the table; empty where the image is a drawing.
        truth: The true answer.
        marking: How answers are graded.
        drawing: Draws the image that the question is about; None where it is the camera's.
        asked: Products or places that the question names.
        layout: The counts that decided the split of the arrangement.
    """

    kind: str
    seed: int
    split: Split
    text: str
    scene: Scene
    truth: Truth
    asked: tuple[str, ...]
    layout: tuple[int, ...]
    marking: Marking = field(compare=False, repr=False)
    drawing: Callable[[], Frame] | None = field(default=None, compare=False, repr=False)
    source: str = TASK_GOAL
    holds_s: ClassVar[tuple[float, ...]] = ()

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Kind, seed and split are all of it: pickled, it is made again."""
        from toolhand.training.tasks.kinds import make_task

        return make_task, (self.kind, self.seed, self.split)

    @property
    def goal(self) -> str:
        """See Task."""
        return f"{self.kind}: {_short(self.truth)}"

    def shown(self, camera: Camera) -> Frame:
        """The image that the question is about, index 0 of the conversation: a drawing, or what a camera sees."""
        return camera.capture() if self.drawing is None else self.drawing()

    def score(self, history: History, transcript: Transcript) -> Score:
        """See Task; the terms are the rewards of the kind's marking, 0 with a reason for an answer of another form."""
        return self.graded(transcript.answer)

    def graded(self, said: str) -> Score:
        """The score of a final answer; nothing else counts."""
        marking = self.marking
        try:
            answer = marking.read(said)
        except WrongForm as why:
            return Score(dict.fromkeys(marking.names, 0.0), False, (str(why),))
        terms = dict(marking.terms(answer, self.truth))
        right = marking.success(terms)
        return Score(terms, right, () if right else (f"not {marking.rule}",))


def asked_of_table(
    rng: np.random.Generator,
    kind: str,
    seed: int,
    split: Split,
    scene: Scene,
    truth: Truth,
    names: Sequence[str],
    marking: Marking,
    **blanks: str,
) -> QuestionTask:
    """A question about objects of a table: the first name stands in the blank `a`, the second in `b`; see `worded`."""
    text = worded(rng, kind, split, **{**dict(zip("ab", names, strict=False)), **blanks})
    return QuestionTask(kind, seed, split, text, scene, truth, tuple(names), layout_of(scene.objects), marking)


def worded(rng: np.random.Generator, kind: str, split: Split, options: str = "", side: str = "", **blanks: str) -> str:
    """A question of a kind in one of its split's wordings, and the form of its answer.

    Args:
        rng: Draws the words.
        options: Answers to choose from, of a choice.
        side: Side for the blank `where`, in words of the split; "" where the wordings have none.
        blanks: Words for the other blanks.
    """
    if side:
        blanks["where"] = side_words(rng, side, split, compared=kind == "yes_no")
    return f"{say(rng, kind, split, **blanks)} {FORMS[kind].format(options=options)}"


def _short(truth: Truth) -> str:
    """A truth in one line of at most 80 characters."""
    text = repr(np.round(truth, 4).tolist() if isinstance(truth, float) else truth)
    return text if len(text) <= 80 else f"{text[:77]}..."
