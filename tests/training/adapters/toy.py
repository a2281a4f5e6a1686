"""A toy of two turns, without stations or images, on which a trainer shows in seconds that it learns.

    [task] red            the operator: a colour
    ask LEFT END          the policy asks one of two tools; each knows one colour
    says yes              the tool's answer: yes or no, or "nothing" where it does not know the colour
    answer yes END        the policy passes it on

The first turn is worth FIRST where the right tool was asked, the second one the rest where the answer is what it said;
who was told nothing can gain nothing any more. A turn of another form ends the episode.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from toolhand.tool_nodes.results import ErrorCode, ToolError

COLOURS = ("red", "blue")
TOOLS = ("left", "right")
"""Who knows the colour of the same place."""
ANSWERS = ("yes", "no")
TASK, END = "[task]", "END"
"""What begins the question; what ends a turn."""
FIRST = 0.25
"""What asking the right tool is worth of a whole episode's 1; chosen by hand."""
TOY_GROUP = 8
"""Episodes of a task."""
TOY_EPOCHS, TOY_RATE = 2, 3e-3
"""Of RL on the toy: passes over an iteration's rollouts, and learning rate; chosen by hand."""
TOY_FORM_STEPS = 25
"""Of SFT before it; chosen by hand: then nearly every turn has the right form."""
TOY_FORM_BATCH = 32
"""Rows of such a step."""
TOY_FORM_RATE = 5e-3
"""Learning rate of these steps; chosen by hand."""


@dataclass(frozen=True)
class ToyTask:
    """What is asked, and what the right tool will say; the same for a whole group.

    Attributes:
        colour: Of the question.
        secret: The right answer.
    """

    colour: str
    secret: str

    @classmethod
    def of(cls, number: int) -> ToyTask:
        """The task of a number, 0 or more: all four in turn."""
        return cls(COLOURS[number % 2], ANSWERS[number // 2 % 2])

    @property
    def right_tool(self) -> str:
        """The one that knows the colour."""
        return TOOLS[COLOURS.index(self.colour)]


@dataclass
class ToyEpisode:
    """One episode, a turn at a time.

    Attributes:
        task: What is asked.
        said: Texts so far: the prompt, a turn of the policy, the tool's answer, the last turn.
        rewards: Of each turn that was taken.
        done: It is over.
    """

    task: ToyTask
    said: list[str] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    done: bool = False

    def __post_init__(self) -> None:
        self.said = [f"{TASK} {self.task.colour}"]

    @property
    def total(self) -> float:
        """Reward so far, 0..1."""
        return sum(self.rewards)

    def say(self, turn: str) -> str:
        """Take a turn of words; END at its end may be left out.

        Returns:
            What the tool answers; empty when the episode is over.

        Raises:
            ToolError: INVALID_ARGUMENT after the end.
        """
        if self.done:
            raise ToolError(ErrorCode.INVALID_ARGUMENT, "The episode is over.")
        words = turn.removesuffix(END).split()
        self.said.append(turn)
        if len(self.rewards) == 0 and len(words) == 2 and words[0] == "ask" and words[1] in TOOLS:
            right = words[1] == self.task.right_tool
            self.rewards.append(FIRST * right)
            self.said.append(f"says {self.task.secret if right else 'nothing'}")
            return self.said[-1]
        right = self.rewards == [FIRST] and words == ["answer", self.task.secret]
        self.rewards.append((1.0 - FIRST) * right)
        self.done = True
        return ""


def form_examples(seed: int, n: int) -> list[list[str]]:
    """Episodes of a teacher that knows the form and nothing else: it asks anyone and answers anything.

    Returns:
        For each its texts, as `ToyEpisode.said`; what trains on them learns to speak, with a success of about 1 in 4.
    """
    rng = np.random.default_rng((seed, _STREAM, n))
    episodes = []
    for number in range(n):
        episode = ToyEpisode(ToyTask.of(number))
        episode.say(f"ask {TOOLS[rng.integers(len(TOOLS))]} {END}")
        episode.say(f"answer {ANSWERS[rng.integers(len(ANSWERS))]} {END}")
        episodes.append(episode.said)
    return episodes


_STREAM = 29
"""Keeps these random numbers apart from others of the same seed."""
