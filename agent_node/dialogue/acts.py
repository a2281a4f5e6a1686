"""What one act of a plan asks of the dialogue, as data."""

from __future__ import annotations

from dataclasses import dataclass

from toolhand.agent_node.plan.types import ObjectRef, PlanAct
from toolhand.tool_nodes.results import ErrorCode


@dataclass(frozen=True)
class Deed:
    """One object to pick up or to place, as the session's policy does it.

    Attributes:
        plan: The act.
    """

    plan: PlanAct


@dataclass(frozen=True)
class SkillAct:
    """Something that the arm can do beside picking and placing.

    Attributes:
        name: Its name in `toolhand.agent_node.dialogue.skills`, e.g. "open_gripper".
        object: Noun phrase of the object that it is about; empty where it is about none.
        speed: Share of the allowed speed that was asked for, in (0, 1].
    """

    name: str
    object: str = ""
    speed: float = 1.0


@dataclass(frozen=True)
class QuestionAct:
    """Something to be told; nothing moves.

    Attributes:
        kind: Its name in `toolhand.agent_node.dialogue.questions`, e.g. "how_many".
        objects: Noun phrases, or words of a place, that it is about.
        word: Word that is compared by or asked about, such as "tallest", "taller", "farthest from" and "full".
    """

    kind: str
    objects: tuple[str, ...] = ()
    word: str = ""


@dataclass(frozen=True)
class GroupAct:
    """Several objects, which only a look can tell apart: it becomes deeds then.

    Attributes:
        plan: The act.
    """

    plan: PlanAct


@dataclass(frozen=True)
class FollowUp:
    """What goes on with something that was said or done before.

    Attributes:
        kind: "undo", "undo_last", "undo_all", "put_back", "again", "not_that", "not_that_one", "other_one", "go_on",
            "skip", "stop", "pace", or what only answers a question: "choice", "any_one", "yes", "no" and "cancel".
        object: The object that it names; None where it names none.
        words: The speed of "pace".
    """

    kind: str
    object: ObjectRef | None = None
    words: str = ""

    @property
    def only_answers(self) -> bool:
        """Whether it means something only as an answer."""
        return self.kind in ("choice", "any_one", "other_one", "yes", "no", "cancel")


@dataclass(frozen=True)
class AnswerAct:
    """Words that want an answer and nothing else."""

    answer: str


@dataclass(frozen=True)
class Refused:
    """What cannot be served.

    Attributes:
        code: Code of the error.
        message: One sentence for the operator, which quotes the words that have to change.
    """

    code: ErrorCode
    message: str


Act = Deed | SkillAct | QuestionAct | GroupAct | FollowUp | AnswerAct | Refused
