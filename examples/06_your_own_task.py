"""Your own task: a sentence, a scene, and a score that knows the truth and no policy's parser.

This one asks a question and moves nothing; `sim/tasks/pick.py` is one in which something has to happen.

    python examples/06_your_own_task.py

You will see:

    How many red objects are on the table? (there are 2)
    {'counted': True, 'looked': True} success
    {'counted': False, 'looked': True} not 2: There are 3.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from toolhand.agent_node.policy import Message, Reply
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.station import Station
from toolhand.sim.tasks.task import TASK_GOAL, History, Score, Transcript
from toolhand.training.env.episode import run_episode


@dataclass(frozen=True)
class CountTask:
    """The operator asks how many objects of a colour there are.

    **Success**: `counted`, the answer has the number; `looked`, an image was taken before it was given.
    """

    colour: str
    scene: Scene
    source: str = TASK_GOAL
    holds_s: tuple[float, ...] = ()  # nothing has to stand still before it is judged

    @property
    def text(self) -> str:
        """What the operator says."""
        return f"How many {self.colour} objects are on the table?"

    @property
    def truth(self) -> int:
        """The truth of the scene when it was made."""
        return sum(self.colour in placed.asset.colour for placed in self.scene.objects)

    @property
    def goal(self) -> str:
        """For results and reports."""
        return f"answer {self.truth}"

    def score(self, history: History, transcript: Transcript) -> Score:
        """Named terms, each in 0..1."""
        counted = re.findall(r"\d+", transcript.answer) == [str(self.truth)]
        looked = any(record.name == "robot.capture_image" for record in transcript.records)
        reasons = () if counted else (f"not {self.truth}: {transcript.answer}",)
        return Score({"counted": counted, "looked": looked}, counted and looked, reasons)


def random_count(rng: np.random.Generator) -> CountTask:
    """What `--tasks count_red` draws: red objects on a random table."""
    return CountTask("red", generate_scene(int(rng.integers(2**31))))


class Guesses:
    """Looks once, and says a number that it was born with."""

    name = "guesses"

    def __init__(self, number: int) -> None:
        self._number = number

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """Look, then answer."""
        if conversation[-1].role == "user":
            return Reply(f"<tool_call>{json.dumps({'name': 'robot.capture_image', 'arguments': {}})}</tool_call>")
        return Reply(f"<answer>There are {self._number}.</answer>")


if __name__ == "__main__":
    task = random_count(np.random.default_rng(0))
    print(task.text, f"(there are {task.truth})")
    for guess in (2, 3):
        score = run_episode(Station(task.scene), Guesses(guess), task).truth
        assert score is not None  # None only after an infrastructure error
        print(dict(score.terms), "success" if score.success else " ".join(score.reasons))
