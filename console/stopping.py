"""What a stop of the robot comes to, as the stop server answers it: three states, each with one sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class StopOutcome(StrEnum):
    """What is known after a stop or a reset."""

    STOPPED = "stopped"
    """All joints were measured at rest."""

    UNCONFIRMED = "unconfirmed"
    """It was sent, and nobody knows whether the arm is at rest."""

    UNREACHABLE = "unreachable"
    """Nobody was there to send it to."""

    RESET = "reset"
    """Motions are allowed again."""

    REFUSED = "refused"
    """A reset was not accepted: the stop stays."""


@dataclass(frozen=True)
class StopAnswer:
    """What came of a stop or a reset.

    Attributes:
        state: Outcome.
        message: One or two sentences for the operator.
        stops: Number of the last stop that the motion node has counted, as far as is known.
    """

    state: StopOutcome
    message: str
    stops: int = 0


@dataclass(frozen=True)
class StopStatus:
    """What is known of the stop of the robot's graph.

    Attributes:
        reachable: Somebody serves /stop.
        message: Why it is not reachable; empty where it is.
        latched: A stop is latched: nothing moves until a reset. None where it is not known.
        confirmed: The joints were measured at rest after the last stop. None where it is not known.
        stops: Number of the last stop since the motion node was started.
    """

    reachable: bool
    message: str
    latched: bool | None = None
    confirmed: bool | None = None
    stops: int = 0


class Stopper(Protocol):
    """The robot as the stop server knows it. Its methods return at once and may be called in any thread."""

    def stop(self, done: Callable[[StopAnswer], None]) -> None:
        """Stop the arm; `done` is called once, in some thread, as soon as it is known what came of it."""

    def reset(self, done: Callable[[StopAnswer], None]) -> None:
        """Allow motions again; `done` likewise."""

    def state(self) -> StopStatus:
        """What is known now."""
