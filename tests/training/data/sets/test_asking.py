"""A policy that is asked questions of a set, with tools over their pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from agent_node.calls import ToolCall
from agent_node.policy import Message, Reply
from agent_node.protocol import load_protocol
from tests.training.data.sets.layouts import LAYOUTS, RED, png
from tool_nodes.backends import make_ports
from tool_nodes.results import ErrorCode, ToolError, ToolResult
from tool_nodes.toolbox.toolbox import Toolbox
from tool_nodes.tools.suites import SUITES
from training.data.sets import load_set
from training.data.sets.asking import answer_of, asked, picture_toolbox
from training.data.sets.predictions import marked_answers
from training.data.sets.question import Question, RowError

PERIA = load_protocol("peria")


class Says:
    """A policy that says what it was given, one after the other, and keeps what it saw."""

    def __init__(self, *texts: str | ToolError | Exception) -> None:
        self._texts = list(texts)
        self.seen: list[Sequence[Message]] = []

    def respond(self, messages: Sequence[Message]) -> Reply:
        self.seen.append(messages)
        said = self._texts.pop(0)
        if isinstance(said, Exception):
            raise said
        return Reply(said)


@pytest.fixture(scope="module")
def toolbox() -> Toolbox:
    return picture_toolbox(make_ports("pixels"), SUITES)


TWO = Question("q", "Which is redder?", (png(), png((0, 0, 90))), "choice", "A", ("first", "second"))


def test_the_tools_of_all_papers_are_there_but_those_for_a_robot(toolbox: Toolbox) -> None:
    assert {"vision_ops.point_crop", "image_crop", "image_zoom_in", "ZoomCrop"} <= set(toolbox.specs)
    assert not [name for name in toolbox.specs if name.startswith(("robot.", "grasp_generator.", "code_executor."))]


def test_pictures_stand_before_the_words_and_have_the_first_indices(toolbox: Toolbox) -> None:
    conversation = asked(TWO, toolbox, PERIA)
    system, first, words = conversation.messages
    assert [m.role for m in (system, first, words)] == ["system", "user", "user"]
    assert (first.image_index, words.image_index) == (0, 1)
    assert first.picture is not None
    assert first.picture[0, 0].tolist() == list(RED)
    assert words.picture is not None
    assert words.text.index("<image 1>") < words.text.index(TWO.text)
    assert "`spatial reasoning` question" in words.text
    assert len(conversation.episode.session.images) == 2


def test_a_policy_looks_with_a_tool_and_answers(toolbox: Toolbox) -> None:
    crop = r'{"name": "image_crop", "arguments": {"image_index": 1, "bounding_box": "\\boxed{0,0,500,1000}"}}'
    policy = Says(f"<think>Look.</think><action>{crop}</action>", "<think>Blue.</think><answer>(A)</answer>")
    assert answer_of(policy, TWO, toolbox, PERIA) == "(A)"
    result = policy.seen[1][-1]
    assert result.role == "tool"
    assert result.image_index == 2
    assert result.picture is not None
    assert np.unique(result.picture.reshape(-1, 3), axis=0).tolist() == [[0, 0, 90]]


def test_an_answer_after_a_failed_call_is_an_answer(toolbox: Toolbox) -> None:
    wrong = '{"name": "image_crop", "arguments": {"image_index": 9, "bounding_box": ""}}'
    policy = Says(f"<think>Look.</think><action>{wrong}</action>", "<think>So.</think><answer>B</answer>")
    assert answer_of(policy, TWO, toolbox, PERIA) == "B"


@pytest.mark.parametrize("perception", ["pixels", "sim"])
@pytest.mark.parametrize(
    "call",
    [
        ToolCall("roborefer.detect_one", {"obj_name": "cup", "image_index": 0}),
        ToolCall("depth_estimator.estimate_depth", {"image_index": 0}),
        ToolCall("sam2.segment_from_point", {"x": 0.5, "y": 0.5, "image_index": 0}),
    ],
    ids=lambda call: call.name,
)
def test_a_picture_that_no_tool_can_use_is_the_policys_affair(call: ToolCall, perception: str) -> None:
    form, box = load_protocol("spacetools"), picture_toolbox(make_ports(perception), SUITES)
    policy = Says(form.render_turn("Look.", (call,)), "<think>So.</think><answer>B</answer>")
    assert answer_of(policy, TWO, box, form) == "B"
    code = policy.seen[1][-1].words.split(":")[0]
    assert code in ("Error PICTURE_UNUSABLE", "Error EMPTY_MASK")  # the segmenter sees a plain square as a drawing


def test_a_tool_that_is_gone_says_why_and_not_what_the_policy_answered() -> None:
    box = picture_toolbox(make_ports("pixels"), ("peria",)).done_by("image_crop", _gone)
    crop = r'{"name": "image_crop", "arguments": {"image_index": 1, "bounding_box": "\\boxed{0,0,500,1000}"}}'
    policy = Says(f"<think>Look.</think><action>{crop}</action>", "<think>Red.</think><answer>(A)</answer>")
    with pytest.raises(ToolError, match="image_crop: The server is gone") as error:
        answer_of(policy, TWO, box, PERIA)
    assert error.value.code is ErrorCode.UNAVAILABLE


def _gone(**values: object) -> ToolResult:
    raise ToolError(ErrorCode.UNAVAILABLE, "The server is gone.")


def test_no_answer_within_the_turns_is_none(toolbox: Toolbox) -> None:
    assert answer_of(Says("hm", "hm"), TWO, toolbox, PERIA, turns=2) is None


@pytest.mark.parametrize("fault", [ToolError(ErrorCode.UNAVAILABLE, "The server is gone."), RuntimeError("oops")])
def test_a_policy_that_is_not_there_is_no_answer(fault: Exception, toolbox: Toolbox) -> None:
    with pytest.raises(ToolError) as error:
        answer_of(Says(fault), TWO, toolbox, PERIA)
    assert error.value.code in (ErrorCode.UNAVAILABLE, ErrorCode.INTERNAL)


def test_what_cannot_be_asked_is_refused(toolbox: Toolbox) -> None:
    with pytest.raises(ToolError, match="comes with no picture"):
        asked(Question("v", "How many?", (), "number", 2.0), toolbox, PERIA)
    with pytest.raises(RowError, match="its picture cannot be read"):
        asked(Question("b", "?", (png()[:30],), "choice", "A"), toolbox, PERIA)


def test_marking_counts_what_was_not_answered_not_asked_and_not_reached(tmp_path: Path) -> None:
    LAYOUTS["cvbench"][1](tmp_path)
    reader = load_set("cvbench", tmp_path)

    def answer_to(question: Question) -> str | None:
        if question.id == "2D/1":
            raise ToolError(ErrorCode.UNAVAILABLE, "The server is gone.")
        if question.id == "2D/2":
            raise RowError("its picture cannot be read: it is damaged")
        return None if question.id == "3D/3" else "A"

    marked = marked_answers(reader, answer_to)
    assert [(question.id, score) for question, score in marked.answers] == [("2D/0", 1.0), ("3D/3", 0.0)]
    assert (marked.unanswered, marked.unscored, reader.skipped) == (1, 1, 1)
    assert reader.problems == ["question 2D/2: its picture cannot be read: it is damaged."]


def test_after_five_faults_of_the_infrastructure_in_a_row_no_more_is_asked(tmp_path: Path) -> None:
    row = {"question_id": 0, "image": "a.png", "category": "c", "label": "A", "text": "?\n(A) x\n(B) y"}
    from tests.training.data.sets.layouts import jsonl, put

    put(tmp_path / "a.png", png())
    jsonl(tmp_path / "test_questions.jsonl", [row | {"question_id": k} for k in range(9)])
    asked_for: list[str] = []

    def answer_to(question: Question) -> str | None:
        asked_for.append(question.id)
        raise ToolError(ErrorCode.UNAVAILABLE, "The server is gone.")

    marked = marked_answers(load_set("vstar", tmp_path), answer_to)
    assert (len(asked_for), marked.unscored, marked.answers) == (5, 5, [])
    assert [score for _, score in marked.asked] == [0.0] * 5
    assert str(marked.stopped) == "The server is gone."
