"""The turn format: what is a call, what is an answer, and that nothing malformed becomes either."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhand.agent_node.protocol import load_protocol, render_response

SPACETOOLS = load_protocol("spacetools")


def test_a_turn_with_thought_and_calls_is_parsed_in_order() -> None:
    turn = SPACETOOLS.parse(
        "<think> look first </think>\n"
        '<tool_call> {"name": "a.one", "arguments": {"x": 0.5, "mask": "$m"}} </tool_call>'
        "some words between"
        '<tool_call>\n{"name": "a.two",\n "arguments": {}}\n</tool_call>'
    )
    assert turn.thought == "look first"
    assert [(call.name, call.arguments, call.problem) for call in turn.calls] == [
        ("a.one", {"x": 0.5, "mask": "$m"}, ""),
        ("a.two", {}, ""),
    ]
    assert turn.answer is None
    assert turn.problem == ""


def test_an_answer_ends_a_turn_and_thoughts_are_joined() -> None:
    turn = SPACETOOLS.parse("<think>a</think><think>b</think><answer> Done.\nReally. </answer>")
    assert turn.thought == "a\nb"
    assert turn.answer == "Done.\nReally."
    assert turn.calls == ()


def test_tags_inside_a_thought_are_part_of_the_thought() -> None:
    turn = SPACETOOLS.parse('<think>maybe <tool_call>{"name": "a"}</tool_call>?</think><answer>no</answer>')
    assert turn.calls == ()
    assert turn.answer == "no"


def test_a_closing_tag_without_an_opening_one_is_only_text() -> None:
    turn = SPACETOOLS.parse('thoughts of a template that opened the tag</think><tool_call>{"name": "a"}</tool_call>')
    assert [call.name for call in turn.calls] == ["a"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "a turn needs a <tool_call> or an <answer>"),
        ("I will grasp it now.", "a turn needs a <tool_call> or an <answer>"),
        ("<think>only thoughts</think>", "a turn needs a <tool_call> or an <answer>"),
        ('{"name": "a", "arguments": {}}', "a turn needs a <tool_call> or an <answer>"),
        ('<TOOL_CALL>{"name": "a"}</TOOL_CALL>', "a turn needs a <tool_call> or an <answer>"),
        ('<tool_call>{"name": "a"}', "the <tool_call> tag is not closed"),
        ('<tool_call>{"name": "a"}</tool_call><answer>cut', "the <answer> tag is not closed"),
        ('<think>cut <tool_call>{"name": "a"}</tool_call>', "the <think> tag is not closed"),
        ("<answer>a</answer><answer>b</answer>", "a turn may hold only one <answer>"),
        (
            '<tool_call>{"name": "a"}</tool_call><answer>done</answer>',
            "a turn may not hold both <tool_call> and <answer>: wait for the results",
        ),
    ],
)
def test_a_malformed_turn_has_a_problem_and_neither_calls_nor_an_answer(text: str, problem: str) -> None:
    turn = SPACETOOLS.parse(text)
    assert turn.problem == problem
    assert turn.calls == ()
    assert turn.answer is None


@pytest.mark.parametrize(
    "content",
    [
        "",
        "a.one(x=1)",
        "{'name': 'a.one'}",
        '{"name": "a.one", "arguments": {"x": 0.5}',
        '{"name": "a.one"} trailing',
        '{"name": "a.one", "arguments": {"x": NaN}}',
        '{"name": "a.one", "arguments": {"x": Infinity}}',
        '{"name": "a.one", "arguments": {"x": [-Infinity]}}',
        '{"name": "a.one", "arguments": {"x": 1e999}}',
        '{"name": "a.one", "arguments": {"x": 0.1, "x": 0.9}}',
        '{"name": "a.one", "name": "a.two"}',
        '{"name": "a.one", "arguments": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"name": "a.one", "arguments": ' + "9" * 5000 + "}",
        '{"name": "a.one", "arguments": {}, "id": 3}',
        '{"name": 3}',
        '{"arguments": {}}',
        '["a.one", {}]',
        '"a.one"',
        "null",
        '<tool_call>{"name": "a.one"}',
    ],
    ids=range(20),
)
def test_a_malformed_call_keeps_its_place_but_cannot_be_run(content: str) -> None:
    turn = SPACETOOLS.parse(f'<tool_call>{content}</tool_call><tool_call>{{"name": "b.two"}}</tool_call>')
    assert [call.name for call in turn.calls] == ["", "b.two"]
    assert "tool call" in turn.calls[0].problem
    assert turn.calls[1].problem == ""


def test_a_model_that_repeats_an_opening_tag_is_parsed_in_one_pass() -> None:
    assert SPACETOOLS.parse("<think>" * 200_000).problem == "the <think> tag is not closed"


PIECES = st.sampled_from(
    ["<think>", "</think>", "<tool_call>", "</tool_call>", "<answer>", "</answer>", '{"name": "a"}', "NaN", "{", "\\"]
)


@given(st.text() | st.lists(PIECES | st.text(max_size=4), max_size=12).map("".join))
def test_arbitrary_text_never_raises_and_only_whole_calls_can_be_run(text: str) -> None:
    turn = SPACETOOLS.parse(text)
    for call in turn.calls:
        assert bool(call.problem) == (call.name == "")
    if any(not call.problem for call in turn.calls):
        assert '<tool_call>{"name":"a"}</tool_call>' in "".join(text.split())
    assert sum([bool(turn.problem), bool(turn.calls), turn.answer is not None]) == 1


@given(st.text(min_size=1), st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False) | st.text()))
def test_a_call_written_as_json_comes_back_as_it_was(name: str, arguments: dict[str, float | str]) -> None:
    written = json.dumps({"name": name, "arguments": arguments}).replace("<", "\\u003c")
    (call,) = SPACETOOLS.parse(f"<tool_call>{written}</tool_call>").calls
    assert (call.name, call.arguments, call.problem) == (name, arguments, "")


def test_a_response_shows_its_text_and_the_index_of_its_image() -> None:
    assert render_response("Done.", None) == "<tool_response>Done.</tool_response>"
    assert render_response("Seen.", 3) == "<tool_response>Seen. <image 3></tool_response>"


def test_the_system_prompt_holds_every_schema_on_its_own_line() -> None:
    schemas = [{"type": "function", "function": {"name": name}} for name in ("a.one", "a.{two}")]
    prompt = SPACETOOLS.system_prompt(schemas)
    listed = prompt[prompt.rindex("<tools> ") + len("<tools> ") : prompt.index(" </tools>")]
    assert [json.loads(line) for line in listed.splitlines()] == schemas
    assert '<tool_call> {"name": <func-name>, "arguments": <args-json-object>} </tool_call>' in prompt
