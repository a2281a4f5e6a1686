"""What is remembered between utterances: of the robot, shared by all who speak to it, and of each operator."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Literal

MOST_DEEDS = 20
"""Deeds that are remembered; undoing goes back so far at most."""
MOST_SEEN = 40
"""Things seen that are remembered: more than stand on a table of the generated scenes."""
POINTED = re.compile(r"\bat \(\s*[01]?\.?\d*\s*,\s*[01]?\.?\d*\s*\)?")
"""Where a command says that a thing or a spot is, as `at_point` writes it."""
ANSWER_WITHIN_S = 60.0
"""A question is closed so long after it was asked [s]: by then the table may be another one."""


@dataclass(frozen=True)
class Spot:
    """Where a thing stood.

    Attributes:
        point: Normalized point (x, y) of the scene camera's picture, where its middle met what it stood on.
        position_m: The same (x, y, z) in the base frame [m].
    """

    point: tuple[float, float]
    position_m: tuple[float, float, float]


@dataclass(frozen=True)
class DoneDeed:
    """One thing that was picked up or placed, or was to be.

    Attributes:
        said: Words of the command, as the policy was given them.
        action: "pick" leaves the thing in the gripper, "place" puts it down.
        thing: Words that it was named by.
        before: Spot on which it stood; None where unknown.
        after: Spot on which it was put; None where it was not, or that is unknown.
        success: The tools reported that it was done.
        error_code: Code of what went wrong; empty where nothing did.
        time_s: Time of the robot at its end [s].
        undone: It has been taken back, or took another one back.
        opening_m: Opening of the jaws that held it [m]; None where unknown.
        known_as: Name that a picture gave it, where its words name no kind of thing, as "the red one" does not.
        sequence: Number of the plan that it is a step of; 0 for a deed that was asked for by itself.
    """

    said: str
    action: Literal["pick", "place"]
    thing: str
    before: Spot | None = None
    after: Spot | None = None
    success: bool = True
    error_code: str = ""
    time_s: float = 0.0
    undone: bool = False
    opening_m: float | None = None
    known_as: str = ""
    sequence: int = 0


@dataclass(frozen=True)
class SeenThing:
    """A thing that a picture showed: the words that named it, its normalized point, and the robot's time [s]."""

    thing: str
    point: tuple[float, float]
    time_s: float


@dataclass
class RobotMemory:
    """What happened to the robot and its table, whoever asked for it.

    Attributes:
        deeds: Deeds so far, the newest last.
        seen: Things that the newest pictures showed, the newest last.
        over_table: A skill has left the hand over the table, where it hides things and is in the way.
    """

    deeds: list[DoneDeed] = field(default_factory=list)
    seen: list[SeenThing] = field(default_factory=list)
    over_table: bool = False

    @property
    def held(self) -> DoneDeed | None:
        """The pick whose thing the gripper should still hold; None where the last deed left it empty."""
        last = next((deed for deed in reversed(self.deeds) if deed.success), None)
        return last if last is not None and last.action == "pick" else None

    def last_of(self, thing: str) -> DoneDeed | None:
        """The newest deed that put a thing of these words somewhere known; None without one."""
        return next((d for d in reversed(self.deeds) if d.success and d.thing == thing and d.after is not None), None)

    def note(self, deed: DoneDeed) -> None:
        """Remember one more deed."""
        self.deeds = [*self.deeds, deed][-MOST_DEEDS:]

    def sequence(self, goes_on: bool = False) -> int:
        """A number for the deeds of a plan: that of the last deed where it goes on, else a new one."""
        last = self.deeds[-1].sequence if self.deeds else 0
        return last if goes_on and last else 1 + max((deed.sequence for deed in self.deeds), default=0)

    def note_sequence(self, known: list[DoneDeed], sequence: int) -> None:
        """Number the deeds that are none of some earlier ones."""
        old = {id(deed) for deed in known}
        self.deeds = [
            deed if id(deed) in old or deed.undone else replace(deed, sequence=sequence) for deed in self.deeds
        ]

    def note_seen(self, things: list[SeenThing]) -> None:
        """Remember what a picture showed, in the place of what the same words named before."""
        named = {seen.thing for seen in things}
        self.seen = [*(seen for seen in self.seen if seen.thing not in named), *things][-MOST_SEEN:]

    def text(self) -> str:
        """The memory in a few sentences, for a policy that reads; empty where nothing is remembered."""
        lines = []
        if self.held is not None:
            lines.append(f"The gripper holds the {self.held.thing}, which stood {_at(self.held.before)}.")
        for deed in self.deeds[-_TOLD_DEEDS:]:
            if deed.success and deed.action == "place":
                lines.append(f"The {deed.thing} was put {_at(deed.after)}; before it stood {_at(deed.before)}.")
            elif not deed.success:
                lines.append(f'"{deed.said}" ended with {deed.error_code or "no success"}.')
        return " ".join(lines)


_TOLD_DEEDS = 5
"""Newest deeds of the text for a policy [-]: more would fill a model's context with what is rarely meant."""


def _at(spot: Spot | None) -> str:
    return "at an unknown place" if spot is None else f"at {at_point(spot.point)}"


def at_point(point: tuple[float, float]) -> str:
    """ "(0.480, 0.420)", as every policy is given a point in a command."""
    return f"({point[0]:.3f}, {point[1]:.3f})"


@dataclass(frozen=True)
class Choice:
    """One of the things that a question lets choose from.

    Attributes:
        words: Words for it, e.g. "the left one"; or a whole command, where the question is which one is meant.
        point: Its normalized point; None where the candidates are commands.
    """

    words: str
    point: tuple[float, float] | None = None


@dataclass(frozen=True)
class OpenQuestion:
    """A question that the operator has not answered yet.

    Attributes:
        text: The question.
        command: The command that it is about, as a policy was given it.
        asked_s: Wall-clock time when it was asked, seconds since the epoch.
        phrase: Words of the command that the candidates fit, e.g. "can"; empty where the question is another one.
        candidates: Things that may be chosen, in the order of their numbers; the first has the number 1.
        left: Steps of a plan that come after the command.
    """

    text: str
    command: str
    asked_s: float
    phrase: str = ""
    candidates: tuple[Choice, ...] = ()
    left: tuple[str, ...] = ()


@dataclass
class OperatorMemory:
    """What one operator and the robot have said.

    Attributes:
        question: The question that waits for an answer.
        answered: The question that was answered last, whose other candidates "the other one" may mean.
        chosen: Index of the candidate that was chosen then; -1 for none.
        last_thing: Words of the thing that "it" means.
        last_said: The last command that was understood.
        done: Steps of the pending plan that are done.
        left: Steps of it that are not done, in order.
        stopped_because: Why the plan did not go on; empty where none waits.
        pace: Words for the speed of what follows, such as "a bit slower"; empty for as fast as is allowed.
        whose_left: Viewer whose left and right are meant: as the camera's picture shows it, or the robot's own.
    """

    question: OpenQuestion | None = None
    answered: OpenQuestion | None = None
    chosen: int = -1
    last_thing: str = ""
    last_said: str = ""
    done: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    stopped_because: str = ""
    pace: str = ""
    whose_left: Literal["camera", "robot"] = "camera"
