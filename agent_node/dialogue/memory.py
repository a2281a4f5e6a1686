"""What is remembered between utterances: of the robot, shared by all who speak to it, and of each operator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

MOST_DEEDS = 20
"""Deeds that are remembered; undoing goes back so far at most."""


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
        said: Words of the operator.
        action: "pick" leaves the thing in the gripper, "place" puts it down.
        thing: Words that it was named by.
        before: Spot on which it stood; None where unknown.
        after: Spot on which it was put; None where it was not, or that is unknown.
        success: The tools reported that it was done.
        error_code: Code of what went wrong; empty where nothing did.
        time_s: Time of the robot at its end [s].
    """

    said: str
    action: Literal["pick", "place"]
    thing: str
    before: Spot | None = None
    after: Spot | None = None
    success: bool = True
    error_code: str = ""
    time_s: float = 0.0


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
        seen: What the newest pictures showed, the newest last.
    """

    deeds: list[DoneDeed] = field(default_factory=list)
    seen: list[SeenThing] = field(default_factory=list)

    @property
    def held(self) -> DoneDeed | None:
        """The pick whose thing the gripper should still hold; None where the last deed left it empty."""
        last = next((deed for deed in reversed(self.deeds) if deed.success), None)
        return last if last is not None and last.action == "pick" else None


@dataclass(frozen=True)
class OpenQuestion:
    """A question that the operator has not answered yet.

    Attributes:
        text: The question.
        command: The command that it is about, as a policy was given it.
        asked_s: Wall-clock time when it was asked, seconds since the epoch.
    """

    text: str
    command: str
    asked_s: float


@dataclass
class OperatorMemory:
    """What one operator and the robot have said.

    Attributes:
        question: The question that waits for an answer.
        last_thing: Words of the thing that "it" means.
        last_said: The last command that was understood.
        left: Deeds of a plan that are not done, in order.
        stopped_because: Why the plan did not go on; empty where none waits.
        whose_left: Whose left and right "left" means: as the camera's picture shows it, or the robot's own.
    """

    question: OpenQuestion | None = None
    last_thing: str = ""
    last_said: str = ""
    left: list[str] = field(default_factory=list)
    stopped_because: str = ""
    whose_left: Literal["camera", "robot"] = "camera"
