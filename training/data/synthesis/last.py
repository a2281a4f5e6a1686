"""LAST's teaching data (3.2): what the images of tools mean (stage 1), and tools that fail on purpose (stage 2).

Stage 1 of the paper has 6,000 questions about mask maps and depth maps that tools had drawn before; they ask which
kind of image it is and what it shows. Here the policy itself calls the tool and reads what comes back, so that the
form of a call is learned with it. The true answer is what that tool draws; a trajectory counts only if that very tool
was called, worked and brought an image. In the paper Qwen-VL-Plus wrote the answers.

Stage 2 has 16,000 trajectories, in about 3,000 of which tools return nothing or fail: `SIMULATED` are their rates a
call, which the paper does not give. Where the paper's model goes back to the image, `reflection` calls again and
then another tool. Only trajectories in which a failure happened and was checked count as such."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.protocol import Protocol
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.tasks.task import History, SceneTask, Score, Transcript
from toolhand.tool_nodes.ports import Camera
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.types import Frame
from toolhand.training.data.synthesis.reflection import turns_of
from toolhand.training.env.failures import ALL_TOOLS, EMPTY, FACT, Failures
from toolhand.training.rewards.last import correct_choice

STAGE_ONE_SHARE = 6 / 22
"""Share of stage 1 among the trajectories that are imitated: 6,000 beside 16,000."""
FAILING_SHARE = 3 / 16
"""Share of the trajectories of stage 2 in which tools fail: about 3,000 of 16,000."""
SIMULATED = Failures({ALL_TOOLS: {EMPTY: 0.3, ErrorCode.EXECUTION_FAILED: 0.2}})
"""Failures of such a trajectory, per call, so that most of short ones have one."""

VIEWS = {
    "EstimateDepth": ("a depth map: its colours say how far away each place is", "depth map"),
    "SegmentObjects": ("a mask map: coloured areas say which pixels belong to the things that were named", "masks"),
    "CountObjects": ("the picture with a box around each thing that was counted", "boxes"),
    "ZoomCrop": ("a part of the picture, enlarged", "part"),
}
"""Tool of LAST -> what its image shows, and that in a word."""

_QUESTIONS = (
    "Call {tool} on the picture{on}. What does the picture that comes back show?",
    "Use {tool}{on} and look at its result: what is the picture that it returns?",
    "Which kind of picture does {tool} give{on}?",
    "Try {tool}{on}. How is the picture that it draws to be read?",
)
_LETTERS = "ABCD"
_MIDDLE = [100, 80, 220, 160]
"""What is enlarged: left, top, right and bottom [px], in the middle of an image of 320x240."""


@dataclass(frozen=True)
class ViewTask(SceneTask):
    """A question of stage 1: what a tool's image shows.

    **Randomised**: the scene, the tool, the object that it is called for, the order of the options, the wording.

    **Success**: the right letter, after that tool was called, worked and brought an image.

    Attributes:
        text: The question with its options.
        tool: Which is asked about.
        truth: The right letter.
    """

    tool: str
    truth: str
    seed: int
    kind: ClassVar[str] = "view"
    holds_s: ClassVar[tuple[float, ...]] = ()

    @property
    def goal(self) -> str:
        """See Task."""
        return f"view: {self.truth}"

    def shown(self, camera: Camera) -> Frame:
        """The image that the question is about: what the camera sees."""
        return camera.capture()

    def score(self, history: History, transcript: Transcript) -> Score:
        """See Task; the terms are `called` and `last.choice`."""
        called = any(
            record.name == self.tool and record.result.ok and record.image_index is not None
            for record in transcript.records
        )
        right = correct_choice(transcript.answer, self.truth)
        reasons = [*([] if called else [f"{self.tool} gave no picture"]), *([] if right else ["not the right letter"])]
        return Score({"called": called, "last.choice": right}, called and right == 1.0, tuple(reasons))


def make_view(rng: np.random.Generator, seed: int) -> ViewTask:
    """A question about what a tool's image shows."""
    scene = generate_scene(int(rng.integers(2**31)))
    tool = list(VIEWS)[int(rng.integers(len(VIEWS)))]
    item = scene.objects[int(rng.integers(len(scene.objects)))].item
    order = [list(VIEWS)[k] for k in rng.permutation(len(VIEWS))]
    on = f' for "{item}"' if tool != "ZoomCrop" else f" for the box {_MIDDLE}"
    asked = _QUESTIONS[int(rng.integers(len(_QUESTIONS)))].format(tool=tool, on=on)
    options = " ".join(f"{letter}) {VIEWS[name][0]}" for letter, name in zip(_LETTERS, order, strict=True))
    return ViewTask(f"{asked} {options} Answer with the letter.", scene, tool, _LETTERS[order.index(tool)], seed)


class ViewTeacher:
    """Answers a `ViewTask`: calls the tool that is asked about and says what it drew. Stateless, for one task.

    Args:
        task: Task with the tool and the objects.
    """

    name = "scripted view teacher"

    def __init__(self, task: ViewTask, protocol: Protocol) -> None:
        self._protocol = protocol
        self._tool = task.tool
        quoted = task.text.split('"')
        arguments: dict[str, object] = {"img_path": "image-0"}
        if task.tool == "ZoomCrop":
            arguments["box"] = _MIDDLE
        else:
            arguments["text_labels"] = [quoted[1]]
        self._call = ToolCall(task.tool, arguments)
        sought = VIEWS[task.tool][0]
        self._letter = next(letter for letter in _LETTERS if f"{letter}) {sought}" in task.text)

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """The call, and after it the answer."""
        _, turns = turns_of(conversation)
        if not turns:
            thought = f"I am asked about the picture of {self._tool}, so I call it and look."
            return Reply(self._protocol.render_turn(thought, [self._call]))
        shown = [message for message in turns[-1][1] if message.image_index is not None]
        if not shown:
            thought = f"{self._tool} brought no picture, so I cannot tell by looking; I answer by what it is made for."
        else:
            thought = f"{self._tool} returned image {shown[-1].image_index}. It shows {VIEWS[self._tool][0]}."
        return Reply(self._protocol.render_turn(thought, [], self._letter))


def failures_in(episode: Episode) -> int:
    """How many of the calls failed on purpose."""
    return sum(FACT in record.result.facts for record in episode.records)


def failures_checked(episode: Episode) -> bool:
    """After every failure on purpose there was another call: it was not simply passed over."""
    failed = [k for k, record in enumerate(episode.records) if FACT in record.result.facts]
    return not failed or failed[-1] < len(episode.records) - 1
