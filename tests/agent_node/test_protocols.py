"""The papers' protocols as data: what each writes, reads, allows and stops at."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.protocol import BOXED, load_protocol, protocol_names
from toolhand.tool_nodes.results import ErrorCode, ToolError

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


def test_the_turn_budgets_are_those_that_two_papers_print_and_ours_for_the_two_that_print_none() -> None:
    printed = {name: load_protocol(name).turn_budget for name in ("peria", "evic")}
    assert printed == {"peria": 11, "evic": 5}
    ours = {name: load_protocol(name).turn_budget for name in ("spacetools", "last")}
    assert ours == {"spacetools": 10, "last": 10}


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


@pytest.mark.parametrize("between", ["", " or so, but I look again first: "])
def test_a_boxed_answer_ends_an_evic_turn_before_its_calls_are_looked_at(between: str) -> None:
    protocol = load_protocol("evic")
    written = protocol.render_turn("", CALLS[:2])
    for text in (rf"It is \boxed{{B}}{between}{written}", rf"{written}{between}It is \boxed{{B}}"):
        turn = protocol.parse(text)
        assert (turn.answer, turn.calls, turn.problem, turn.ignored) == ("B", (), "", 2)
    cut = protocol.parse(r"It is \boxed{B} <tool_call>{" + '"name": "draw_po')
    assert (cut.answer, cut.calls, cut.problem) == ("B", (), "")


def test_an_empty_box_is_the_prompts_own_and_no_answer() -> None:
    protocol = load_protocol("evic")
    turn = protocol.parse(
        r"I will give the final answer in \boxed{}, but first I look. " + protocol.render_turn("", CALLS[:1])
    )
    assert (turn.answer, turn.calls, turn.problem) == (None, CALLS[:1], "")
    assert protocol.parse(r"\boxed{}").answer is None


@pytest.mark.parametrize(
    "thought", ["<think>look first</think>", "what a template has opened</think>", "<think></think>"]
)
def test_peria_runs_an_action_that_reasoning_precedes(thought: str) -> None:
    protocol = load_protocol("peria")
    written = protocol.render_turn("", CALLS[:1]).removeprefix("<think></think>")
    assert protocol.parse(thought + written).calls == CALLS[:1]


@pytest.mark.parametrize("text", ["{call}", "I look first. {call}", "{call}<think>I have looked</think>"])
def test_peria_refuses_an_action_that_no_reasoning_precedes_and_the_others_do_not(text: str) -> None:
    peria, spacetools = load_protocol("peria"), load_protocol("spacetools")
    turn = peria.parse(text.format(call=peria.render_turn("", CALLS[:1]).removeprefix("<think></think>")))
    assert (turn.calls, turn.problem) == ((), "every <action> must come after <think>...</think>")
    written = spacetools.render_turn("", CALLS[:1]).removeprefix("<think></think>")
    assert spacetools.parse(text.format(call=written)).calls == CALLS[:1]


def test_the_end_of_a_thought_inside_of_an_action_precedes_nothing() -> None:
    turn = load_protocol("peria").parse('<action>{"name": "image_label", "arguments": {"text": "</think>"}}</action>')
    assert turn.problem.startswith("every <action> must come after")


def test_a_task_of_another_kind_says_so_where_the_paper_has_the_blanks() -> None:
    peria = replace(load_protocol("peria"), task_type="counting", output_format="an integer")
    prompt = peria.user_prompt("How many {output_format} cans?")
    assert "following `counting` question:\nQuestion: `How many {output_format} cans?`" in prompt
    assert prompt.endswith("Output format: `an integer`")


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
