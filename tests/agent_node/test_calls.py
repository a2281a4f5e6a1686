"""Calls and answers as the four papers write them: read exactly, never repaired, never run, never an exception."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhand.agent_node.calls import MAX_CALL_LENGTH, blocks, boxed_answers, json_call, python_call

EVIC_CALL = """{"name": "draw_point",
 "arguments": {"image_idx": 2,
               "points": [[156, 234], [312, 189]]}}"""
LAST_CALLS = {
    'EstimateDepth(img_path="image-0")': ("EstimateDepth", {"img_path": "image-0"}),
    'EstimateDepth(img_path="image-0",\ntext_labels=["a person", "a frisbee"])': (
        "EstimateDepth",
        {"img_path": "image-0", "text_labels": ["a person", "a frisbee"]},
    ),
    'EstimateSize(img_path="image-0",\n  text_labels=["a person"],\n  threshold=0.1)': (
        "EstimateSize",
        {"img_path": "image-0", "text_labels": ["a person"], "threshold": 0.1},
    ),
    "ZoomCrop(img_path='image-0', box=[100, 200, 300, 400])": (
        "ZoomCrop",
        {"img_path": "image-0", "box": [100, 200, 300, 400]},
    ),
    " robot.capture_image() ": ("robot.capture_image", {}),
    "Tool(a=-1.5, b=True, c=None, d=(1, -2), e={'k': [1]})": (
        "Tool",
        {"a": -1.5, "b": True, "c": None, "d": [1, -2], "e": {"k": [1]}},
    ),
}


def test_e_vics_call_on_many_lines_is_read() -> None:
    call = json_call(EVIC_CALL)
    assert (call.name, call.problem) == ("draw_point", "")
    assert call.arguments == {"image_idx": 2, "points": [[156, 234], [312, 189]]}


def test_perias_box_with_one_backslash_arrives_as_a_backspace_and_with_two_as_written() -> None:
    once = r'{"name": "image_crop", "arguments": {"image_index": 0, "bounding_box": "\boxed{700,300,1000,500}"}}'
    assert json_call(once).arguments["bounding_box"] == "\boxed{700,300,1000,500}"
    twice = once.replace("\\", "\\\\")
    assert json_call(twice).arguments["bounding_box"] == r"\boxed{700,300,1000,500}"


@pytest.mark.parametrize("wrong", ["\x00", "\n", r"\q", r"\u12"])
def test_a_string_with_a_control_character_or_an_unknown_escape_is_refused(wrong: str) -> None:
    for text in ('{"name": "f", "arguments": {"a": "xWRONG"}}', '{"name": "fWRONG", "arguments": {}}'):
        problem = json_call(text.replace("WRONG", wrong)).problem
        assert problem.startswith("the tool call is not valid JSON: Invalid ")


def test_a_control_character_that_is_escaped_is_read() -> None:
    assert json_call(r'{"name": "a", "arguments": {"x": "one\ntwo"}}').arguments == {"x": "one\ntwo"}


@pytest.mark.parametrize("text", LAST_CALLS)
def test_lasts_calls_are_read(text: str) -> None:
    name, arguments = LAST_CALLS[text]
    call = python_call(text)
    assert (call.name, call.arguments, call.problem) == (name, arguments, "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "must be Name(argument=value, ...)"),
        ("EstimateDepth", "must be Name(argument=value, ...)"),
        ('EstimateDepth(img_path="image-0"', "must be Name(argument=value, ...)"),
        ('EstimateDepth(img_path="image-0"); import os', "must be Name(argument=value, ...)"),
        ("f(a=1)(b=2)", "must be Name(argument=value, ...)"),
        ("().__class__(a=1)", "must be Name(argument=value, ...)"),
        ("f()[0]", "must be Name(argument=value, ...)"),
        ("lambda: f(a=1)", "must be Name(argument=value, ...)"),
        ("f(a='\x00')", "must be Name(argument=value, ...)"),
        ("f(a='\udc80')", "must be Name(argument=value, ...)"),
        ("f(a=" + "[" * 300 + "]" * 300 + ")", "must be Name(argument=value, ...)"),
        ("f(a=" + "9" * 5000 + ")", "must be Name(argument=value, ...)"),
        ("f(a=" + "-" * 15_000 + "1)", "must be Name(argument=value, ...)"),
        ('EstimateDepth("image-0")', "must be named"),
        ("f(**{'a': 1})", "must be named"),
        ("f(*[1])", "must be named"),
        ("f(a=1, a=2)", "a key is given twice"),
        ("f(a={'k': 1, 'k': 2})", "a key is given twice"),
        ("f(a=1e999)", "a number is too large"),
        ("f(a=float('nan'))", "values must be"),
        ("f(a=__import__('os').system('true'))", "values must be"),
        ("f(a=b)", "values must be"),
        ("f(a=f'{b}')", "values must be"),
        ("f(a=1 + 1)", "values must be"),
        ("f(a=-True)", "values must be"),
        ("f(a=--1)", "values must be"),
        ("f(a=b'x')", "values must be"),
        ("f(a=1j)", "values must be"),
        ("f(a=...)", "values must be"),
        ("f(a={1: 2})", "values must be"),
        ("f(a={**{}})", "values must be"),
        ("f(a={1, 2})", "values must be"),
        ("f(a=[i for i in 'ab'])", "values must be"),
        ("f(a='" + "x" * MAX_CALL_LENGTH + "')", "is longer than"),
    ],
    ids=range(34),
)
def test_an_expression_that_is_no_plain_call_cannot_be_run(text: str, problem: str) -> None:
    call = python_call(text)
    assert problem in call.problem
    assert (call.name, call.arguments) == ("", {})
    assert len(call.problem) < 200


def test_boxed_answers_are_read_with_the_braces_in_them() -> None:
    text = r"First \boxed{[(25, 90), (73, 129)]}, then \boxed{ A }, \boxed {\frac{1}{2}} and \boxed{\{\}}."
    assert boxed_answers(text) == ["[(25, 90), (73, 129)]", "A", r"\frac{1}{2}", r"\{\}"]


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("", []),
        ("no box {A}", []),
        (r"\boxed{A", []),
        (r"\boxed{A\}", []),
        (r"\\boxed{A}", []),
        (r"\boxed A", []),
        (r"\boxed{\boxed{A}", []),
        (r"\boxed{\boxed{A}}", [r"\boxed{A}"]),
        (r"a set { and \boxed{A}", ["A"]),
        (r"} \boxed{A}", ["A"]),
        (r"\boxed{}", [""]),
    ],
)
def test_a_box_that_is_not_closed_is_no_answer(text: str, answers: list[str]) -> None:
    assert boxed_answers(text) == answers


def test_a_turn_of_last_falls_into_its_blocks() -> None:
    text = '<analy>Look <ans> no </analy>\n<action>\nEstimateDepth(img_path="image-0")</action> words <ans>0.9 m</ans>'
    found, unclosed = blocks(text, ("analy", "action", "ans"))
    assert [tag for tag, _ in found] == ["analy", "action", "ans"]
    assert unclosed == ""
    assert python_call(found[1][1]).name == "EstimateDepth"
    assert blocks("<ans>1</ans><action>", ("analy", "action", "ans")) == ([("ans", "1")], "action")


def test_texts_that_repeat_an_opening_are_read_in_one_pass() -> None:
    assert boxed_answers(r"\boxed{" * 100_000) == []
    assert blocks("<action>" * 100_000, ("action",)) == ([], "action")


VALID = [*LAST_CALLS, EVIC_CALL, r"\boxed{\frac{1}{2}}", '<action>{"name": "a"}</action>']
SIGNS = st.sampled_from([*"(){}[],=\"'\\-.:#\n0e9_", "\x00", "\udc80", "\\boxed{", "lambda ", "*", "f'", "nan"])


@pytest.mark.filterwarnings("ignore:invalid")  # escapes that Python keeps as they are
@settings(max_examples=150)
@given(st.sampled_from(VALID), st.lists(st.tuples(st.integers(0, 90), st.integers(0, 3), SIGNS), max_size=6))
def test_a_mutated_call_never_raises_and_is_a_call_or_has_a_problem(
    text: str, edits: list[tuple[int, int, str]]
) -> None:
    for place, removed, added in edits:
        text = text[:place] + added + text[place + removed :]
    for call in (json_call(text), python_call(text)):
        assert not (call.problem and (call.name or call.arguments))
    assert bool(python_call(text).problem) == (python_call(text).name == "")
    assert all(answer in text for answer in boxed_answers(text))
    blocks(text, ("action", "ans"))


ARGUMENTS = st.dictionaries(
    st.text("abcxyz_", min_size=1).filter(str.isidentifier),
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text("aé'\"\\\n"),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)


@settings(max_examples=100)
@given(ARGUMENTS)
def test_a_call_written_as_an_expression_or_as_json_comes_back_as_it_was(arguments: dict[str, Any]) -> None:
    expression = f"Tool({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
    for call in (python_call(expression), json_call(json.dumps({"name": "Tool", "arguments": arguments}))):
        assert (call.name, call.arguments, call.problem) == ("Tool", arguments, "")
