"""Forced reflection: what is doubted, what is made again, and what the teacher reads of it."""

from collections.abc import Sequence

import pytest

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.protocol import load_protocol, render_response
from toolhand.training.data.synthesis.reflection import Reflecting, doubt_of, turns_of

PROTOCOL = load_protocol("spacetools")
LOOK = ToolCall("roborefer.detect_one", {"obj_name": "cup", "image_index": 0})
SEGMENT = ToolCall("sam2.segment_from_point", {"x": 0.5, "y": 0.5, "image_index": 0})
GRASP = ToolCall("robot.execute_grasp", {"grasp_pose": "$grasp_pose"})
HEAD = [Message("system", "Tools: roborefer.detect_one, vlm.detect_one"), Message("user", "Where is the cup?")]


def said(*calls: ToolCall) -> Message:
    return Message("assistant", PROTOCOL.render_turn("so", calls))


def heard(text: str, image_index: int | None = None) -> Message:
    return Message("tool", render_response(text, image_index), text, image_index)


class Teacher:
    """Remembers what it was given."""

    name = "teacher"

    def __init__(self) -> None:
        self.read: Sequence[Message] = ()

    def respond(self, conversation: Sequence[Message]) -> Reply:
        self.read = list(conversation)
        return Reply(PROTOCOL.render_turn("done", [], "(0.1, 0.2)"))


def next_turn(*messages: Message) -> tuple[Reply, Teacher]:
    teacher = Teacher()
    return Reflecting(teacher, PROTOCOL, seed=3).respond([*HEAD, *messages]), teacher


def test_a_failed_call_is_made_again_and_its_failure_is_named() -> None:
    reply, teacher = next_turn(said(LOOK), heard("Error OBJECT_NOT_FOUND: no cup here."))
    parsed = PROTOCOL.parse(reply.text)
    assert parsed.calls == (LOOK,)
    assert "OBJECT_NOT_FOUND" in parsed.thought or "roborefer.detect_one" in parsed.thought
    assert not teacher.read


def test_the_second_repetition_takes_another_tool_that_is_offered() -> None:
    failed = heard("Error TIMEOUT: no result.")
    reply, _ = next_turn(said(LOOK), failed, said(LOOK), failed)
    assert PROTOCOL.parse(reply.text).calls == (ToolCall("vlm.detect_one", LOOK.arguments),)
    assert "vlm.detect_one" in PROTOCOL.parse(reply.text).thought


def test_the_teacher_reads_the_repetition_in_the_place_of_what_failed() -> None:
    worked = heard("Detected 1 instance(s) of 'cup': [(0.1, 0.2)]", 1)
    _, teacher = next_turn(said(LOOK), heard(""), said(LOOK), worked)
    assert [message.text for message in teacher.read] == [*(m.text for m in HEAD), said(LOOK).text, worked.text]


def test_after_two_repetitions_the_teacher_decides() -> None:
    failed = heard("Error OBJECT_NOT_FOUND: no cup here.")
    _, teacher = next_turn(*[said(LOOK), failed] * 3)
    assert [message.text for message in teacher.read[2:]] == [said(LOOK).text, failed.text]


def test_what_came_after_the_failed_call_is_made_again_too() -> None:
    reply, _ = next_turn(said(LOOK, SEGMENT), heard(""), heard("Error INVALID_ARGUMENT: no such variable."))
    assert PROTOCOL.parse(reply.text).calls == (LOOK, SEGMENT)
    reply, _ = next_turn(said(LOOK, SEGMENT), heard("Detected [(0.1, 0.2)]"), heard("Error EMPTY_MASK: nothing."))
    assert PROTOCOL.parse(reply.text).calls == (SEGMENT,)


@pytest.mark.parametrize("error", ["INVALID_ARGUMENT: wrong.", "UNAVAILABLE: gone.", "UNKNOWN_TOOL: no."])
def test_an_error_that_cannot_pass_is_left_to_the_teacher(error: str) -> None:
    assert next_turn(said(LOOK), heard(f"Error {error}"))[1].read


def test_a_motion_is_never_repeated() -> None:
    assert next_turn(said(GRASP), heard("Error TIMEOUT: no result."))[1].read


def test_not_finding_an_object_that_was_lifted_is_an_answer() -> None:
    gone = heard("Error OBJECT_NOT_FOUND: no cup here.")
    assert next_turn(said(GRASP), heard("Grasp executed."), said(LOOK), gone)[1].read
    late = heard("Error TIMEOUT: no result.")
    assert not next_turn(said(GRASP), heard("Grasp executed."), said(LOOK), late)[1].read


def test_a_result_about_a_part_of_what_was_asked_is_doubtful() -> None:
    call = ToolCall("EstimateDepth", {"img_path": "image-0", "text_labels": ["cup", "can"]})
    found = doubt_of(0, call, heard("cup 1: average depth 0.9 m.\ncan: not found."))
    assert found is not None
    assert (found.kind, found.missing) == ("partial", "can")
    assert doubt_of(0, call, heard("cup: not found.\ncan: not found.")) is None
    assert doubt_of(0, call, heard("cup 1: average depth 0.9 m.\ncan 1: average depth 1.0 m.")) is None


def test_one_call_a_turn_where_the_protocol_has_one() -> None:
    peria = load_protocol("peria")
    turn = Message("assistant", peria.render_turn("so", [LOOK]))
    reply = Reflecting(Teacher(), peria, seed=0).respond([*HEAD, turn, heard("")])
    assert peria.parse(reply.text).problem == ""
    assert peria.parse(reply.text).calls == (LOOK,)


def test_a_conversation_is_taken_apart_at_its_assistant_turns() -> None:
    one, two = said(LOOK), said(SEGMENT)
    a, b = heard("a"), heard("b")
    head, turns = turns_of([*HEAD, one, a, two, b, a])
    assert list(head) == HEAD
    assert [(turn, list(answers)) for turn, answers in turns] == [(one, [a]), (two, [b, a])]
    assert turns_of(HEAD) == (HEAD, [])
