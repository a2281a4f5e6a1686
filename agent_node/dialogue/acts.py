"""What one part of an utterance asks for, as data."""

from __future__ import annotations

from dataclasses import dataclass

from toolhand.tool_nodes.results import ErrorCode


@dataclass(frozen=True)
class Deed:
    """One thing to pick up or to place.

    Attributes:
        text: The whole command in words that every policy reads by itself, e.g. "put the lemon in the bowl".
    """

    text: str


@dataclass(frozen=True)
class SkillAct:
    """Something that the arm can do beside picking and placing.

    Attributes:
        name: Its name in the table of skills, e.g. "open_gripper".
        thing: Noun phrase of the thing that it is about; empty where it is about none.
        speed: Share of the allowed speed that was asked for, in (0, 1].
    """

    name: str
    thing: str = ""
    speed: float = 1.0


@dataclass(frozen=True)
class QuestionAct:
    """Something to be told; nothing moves.

    Attributes:
        kind: Its name in the table of questions, e.g. "how_many".
        things: Noun phrases that it is about.
        said: The question as it was said.
    """

    kind: str
    things: tuple[str, ...] = ()
    said: str = ""


@dataclass(frozen=True)
class GroupAct:
    """Several things, which only a look can tell apart: it becomes deeds then.

    Attributes:
        form: Its name in the table of groups, e.g. "everything_but".
        things: Noun phrases that it names.
        place: Words of the place where they are to go; empty where the form says that.
    """

    form: str
    things: tuple[str, ...] = ()
    place: str = ""


@dataclass(frozen=True)
class FollowUp:
    """What goes on with something that was said or done before.

    Attributes:
        kind: Its name in the table of follow-ups, e.g. "undo".
        words: Words that it adds, e.g. the noun phrase of "not that: the lemon".
    """

    kind: str
    words: str = ""


@dataclass(frozen=True)
class Unsure:
    """A second thought that may mean several commands; the operator has to say which."""

    commands: tuple[str, ...]


@dataclass(frozen=True)
class SmallTalk:
    """Words that want a friendly answer and nothing else; the kind is its name in the table of small talk."""

    kind: str


@dataclass(frozen=True)
class Refused:
    """What cannot be served.

    Attributes:
        code: Code of the error.
        message: One sentence for the operator, which quotes the words that have to change.
    """

    code: ErrorCode
    message: str


Act = Deed | SkillAct | QuestionAct | GroupAct | FollowUp | SmallTalk | Unsure | Refused
