"""What one operator and the robot have said, as far as rules need it to read what comes next."""

from __future__ import annotations

from dataclasses import dataclass, field

from toolhand.agent_node.open_question import OpenQuestion


@dataclass
class OperatorMemory:
    """What one operator and the robot have said.

    Attributes:
        question: The question that waits for an answer.
        answered: The question that was answered last, whose other candidates "the other one" may mean.
        chosen: Index of the candidate that was chosen then; -1 for none.
        heard: The plan that was understood last, in the robot's words.
        last_object: Plain name of the object that "it" means.
        last_said: The last deed that was understood, in the robot's words.
        done: Steps of the pending plan that are done, in the robot's words.
        left: Steps of it that are not done, in order.
        stopped_because: Why the plan did not go on; empty where none waits.
        pace: Speed of what follows, "slowly" or such as "40 %"; empty for as fast as is allowed.
    """

    question: OpenQuestion | None = None
    answered: OpenQuestion | None = None
    chosen: int = -1
    heard: str = ""
    last_object: str = ""
    last_said: str = ""
    done: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    stopped_because: str = ""
    pace: str = ""
