"""What one operator and the robot have said, as far as rules need it to read what comes next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from toolhand.agent_node.open_question import OpenQuestion


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
