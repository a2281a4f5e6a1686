"""The papers' protocols as data: what each writes, reads, allows and stops at."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_node.calls import ToolCall
from agent_node.protocol import BOXED, load_protocol, protocol_names
from tool_nodes.results import ErrorCode, ToolError

CALLS = (
    ToolCall("roborefer.detect_one", {"obj_name": "red box", "image_index": 0}),
    ToolCall("robot.place_object_at_2d_location", {"placement_point_2d": [0.25, 0.5]}),
    ToolCall("image_crop", {"image_index": 1, "bounding_box": r"\boxed{700,300,1000,500}"}),
    ToolCall("EstimateDepth", {"img_path": "image-0", "text_labels": ["a person", "a frisbee"]}),
)
SCHEMA = {
    "type": "function",
    "function": {
        "name": "robot.capture_image",
        "description": "Capture.",
        "parameters": {"type": "object", "properties": {}, "required": []},
    },
}


@pytest.mark.parametrize("name", protocol_names())
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_what_a_protocol_writes_it_reads_back(name: str, call: ToolCall) -> None:
    protocol = load_protocol(name)
    turn = protocol.parse(protocol.render_turn("look first", [call]))
    assert turn == type(turn)("look first", (call,), None)
    end = protocol.parse(protocol.render_turn("done", (), "Placed the box."))
    assert (end.thought, end.calls, end.answer, end.problem) == ("done", (), "Placed the box.", "")


def test_the_turn_budgets_are_the_papers() -> None:
    budgets = {name: load_protocol(name).turn_budget for name in ("spacetools", "peria", "evic")}
    assert budgets == {"spacetools": 10, "peria": 11, "evic": 5}


def test_evic_runs_one_call_a_turn_and_counts_those_that_it_passes_over() -> None:
    protocol = load_protocol("evic")
    turn = protocol.parse(protocol.render_turn("", CALLS[:3]))
    assert (turn.calls, turn.ignored, turn.problem) == (CALLS[:1], 2, "")


def test_evic_answers_in_a_box_that_stands_outside_of_its_calls() -> None:
    protocol = load_protocol("evic")
    inside = protocol.parse(protocol.render_turn("crop", [CALLS[2]]))
    assert (inside.answer, inside.calls) == (None, (CALLS[2],))
    assert protocol.parse(r"so it is \boxed{[(25, 90), (73, 129)]}").answer == "[(25, 90), (73, 129)]"
    thinking = protocol.parse("I look at the left side first.")
    assert (thinking.problem, thinking.answer, thinking.calls) == ("", None, ())


def test_peria_allows_one_call_per_action_and_says_so() -> None:
    protocol = load_protocol("peria")
    turn = protocol.parse(protocol.render_turn("two at once", CALLS[:2]))
    assert (turn.calls, turn.problem) == ((), "a turn may hold only one <action>")


def test_last_lists_its_tools_by_signature_and_the_others_by_schema() -> None:
    assert "• robot.capture_image(): Capture." in load_protocol("last").system_prompt([SCHEMA])
    for name in ("spacetools", "peria", "evic"):
        assert '"name": "robot.capture_image"' in load_protocol(name).system_prompt([SCHEMA])
    assert "robot.capture_image" not in load_protocol("native").system_prompt([SCHEMA])


@pytest.mark.parametrize("name", protocol_names())
def test_prompts_leave_no_blank_unfilled(name: str) -> None:
    protocol = load_protocol(name)
    for prompt in (protocol.system_prompt([]), protocol.user_prompt("pick up {tools} and {task}")):
        assert prompt.count("{tools}") == ("pick up {tools}" in prompt)
    assert "pick up the box" in protocol.user_prompt("pick up the box")


def test_a_server_that_stops_at_the_closing_tag_gives_a_whole_turn() -> None:
    protocol = load_protocol("peria")
    whole = protocol.render_turn("look", CALLS[:1])
    cut = whole.removesuffix("</action>")
    assert protocol.closed(cut) == whole
    assert protocol.closed(whole) == whole
    assert protocol.closed("<think>cut off") == "<think>cut off"


def test_an_unknown_protocol_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ToolError, match="spacetools") as caught:
        load_protocol("../secret")
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT


TAGS = [f"<{end}{tag}>" for tag in ("think", "tool_call", "action", "answer", "analy", "ans") for end in ("", "/")]
CALL_TEXTS = ['{"name": "a", "arguments": {}}', 'A(x="b")', "A(x=__import__('os'))", "\x08oxed{1,2,3,4}"]
SIGNS = [BOXED + "{", "{", "}", '"', "\\", "\n", " ", "NaN", "\ud800", "robot.execute_grasp", ":", "[", "]", "(", ")"]
PIECES = st.sampled_from(TAGS + CALL_TEXTS + SIGNS)


@pytest.mark.parametrize("name", protocol_names())
@given(st.lists(PIECES | st.text(max_size=4), max_size=24).map("".join))
@settings(max_examples=150, deadline=None)
def test_no_text_makes_a_parser_fail_or_a_call_of_what_is_none(name: str, text: str) -> None:
    turn = load_protocol(name).parse(text)
    assert not (turn.calls and turn.answer)
    assert not (turn.problem and (turn.calls or turn.answer))
    for call in turn.calls:
        assert bool(call.problem) != bool(call.name)
