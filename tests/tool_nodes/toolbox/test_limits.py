"""The guards that stand before and after every tool: sizes of calls, answers and images."""

from typing import Any

import numpy as np
import pytest

from tests.tool_nodes.toolbox.toy_tools import ToyTools, error_of, refusal
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.limits import CallLimiter, CallLimits
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox


def nested(depth: int, value: Any = 0) -> Any:
    for _ in range(depth):
        value = [value]
    return value


# -- sizes --------------------------------------------------------------------------------------------


def self_containing() -> list[Any]:
    own: list[Any] = []
    own.append(own)
    return own


def doubled(levels: int) -> Any:
    """2^levels values in a few lists."""
    value: Any = 0
    for _ in range(levels):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"text": "x" * 100_001}, "say: the arguments may have 100,000 characters in all."),
        ({"text": "x" * 60_000, "times": "y" * 60_000}, "100,000 characters in all"),
        ({"x" * 1_000_000: 1}, "100,000 characters in all"),
        ({"text": {"k" * 60_000: {"l" * 60_000: 1}}}, "100,000 characters in all"),
        ({"text": [0] * 1_000_000}, "20,000 values in all"),
        ({"text": [[0] * 200] * 200}, "20,000 values in all"),
        ({"text": doubled(11)}, "argument 'text' must be a string"),
        ({"text": [doubled(10)] * 100}, "20,000 values in all"),
        ({str(k): 0 for k in range(20_001)}, "20,000 values in all"),
        ({"text": nested(100)}, "12 levels of lists and objects"),
        ({"text": nested(100_000)}, "12 levels of lists and objects"),
        ({"text": self_containing()}, "12 levels of lists and objects"),
        ({"text": {"a": nested(12)}}, "12 levels of lists and objects"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_arguments_that_are_too_long_too_many_or_too_deep_are_refused(
    box: Toolbox, arguments: Any, sentence: str
) -> None:
    assert sentence in refusal(box, "say", arguments)


@pytest.mark.parametrize("count", [1, 6000])
def test_a_long_list_within_the_limits_is_taken(box: Toolbox, count: int) -> None:
    record = box.call("points", {"points": [[0.5, 0.25]] * count}, Session())
    assert record.result.text == f"{count} points."


def test_every_value_counts_once() -> None:
    # The arguments hold: the key, the list, and its numbers.
    box = Toolbox([ToyTools()], guard=CallLimiter(CallLimits(argument_values=7)))
    assert "values in all" not in refusal(box, "points", {"points": [0.5] * 5})
    assert "7 values in all" in refusal(box, "points", {"points": [0.5] * 6})


def test_every_character_counts_once() -> None:
    box = Toolbox([ToyTools()], guard=CallLimiter(CallLimits(argument_characters=10)))
    assert box.call("say", {"text": "123456"}, Session()).result.text == "123456"
    assert "10 characters in all" in refusal(box, "say", {"text": "1234567"})


def test_the_levels_are_lists_and_objects_inside_each_other() -> None:
    box = Toolbox([ToyTools()], guard=CallLimiter(CallLimits(argument_depth=3)))
    assert "levels" not in refusal(box, "say", {"text": [[1]]})
    assert "3 levels of lists and objects" in refusal(box, "say", {"text": [[[1]]]})


@pytest.mark.parametrize("key", [1, None, ("a", "b"), 10**5000, 0.5, True], ids=lambda key: type(key).__name__)
def test_keys_that_are_no_strings_are_unknown_arguments(box: Toolbox, key: Any) -> None:
    assert "is unknown; allowed: text, times" in refusal(box, "say", {key: 1})


@pytest.mark.parametrize("text", ["\ud800", "fine \udfff"])
@pytest.mark.parametrize("where", ["value", "key", "nested"])
def test_half_a_surrogate_pair_is_refused_wherever_it_stands(box: Toolbox, text: str, where: str) -> None:
    arguments = {"value": {"text": text}, "key": {text: 1}, "nested": {"text": [{"a": [text]}]}}[where]
    message = refusal(box, "say", arguments)
    assert "is no Unicode text" in message
    message.encode()


@pytest.mark.parametrize("text", ["é", "日本", "😀", "a\x00b", "e\u0301", "\u202eabc", "\U0010ffff"])
def test_any_unicode_text_is_taken_as_it_is(box: Toolbox, text: str) -> None:
    assert box.call("say", {"text": text}, Session()).result.text == text


def test_arrays_from_python_are_not_walked(box: Toolbox) -> None:
    assert box.call("measure", {"data": np.zeros((2000, 2000))}, Session()).result.ok


def test_an_array_where_none_belongs_is_refused_in_one_line(box: Toolbox) -> None:
    assert "argument 'text' must be a string" in refusal(box, "say", {"text": np.zeros((30, 30))})


def test_many_wrong_arguments_are_counted_when_they_are_too_many_to_tell(box: Toolbox) -> None:
    message = refusal(box, "say", {f"argument_{k}_{'x' * 50}": k for k in range(500)})
    assert "argument 'argument_0_xxx" in message
    # 500 unknown ones and one that is missing; the sentence says how many it leaves out.
    told = message.count("is unknown")
    assert message.endswith(f"; and {501 - told} more.")


def test_a_long_unknown_variable_is_named_in_short(box: Toolbox) -> None:
    session = Session(variables={f"{'v' * 300}{k}": k for k in range(20)})
    message = error_of(box.call("mask", {"mask": "$" + "w" * 90_000}, session)).message
    assert "which does not exist" in message


@pytest.mark.parametrize("name", ["$mask\n", "$mask ", "$ma\nsk", "$", "$$mask", "$mask.T", "$mask[0]", "$1"])
def test_only_a_whole_variable_name_refers_to_a_variable(box: Toolbox, name: str) -> None:
    session = Session(variables={"mask": np.ones((2, 2), bool)})
    assert "must be a variable such as $name" in refusal(box, "mask", {"mask": name}, session)


# -- answers ------------------------------------------------------------------------------------------


def test_a_long_text_is_cut_and_says_by_how_much(box: Toolbox) -> None:
    text = box.call("say", {"text": "ab", "times": 10_001}, Session()).result.text
    assert text == "ab" * 10_000 + " ... (2 more characters are not shown)"
    whole = box.call("say", {"text": "ab", "times": 10_000}, Session()).result.text
    assert whole == "ab" * 10_000


def test_the_backend_is_told_after_the_text(box: Toolbox) -> None:
    assert box.call("look", {}, Session()).result.text == "Looked. (backend: pixels)"
    assert box.call("say", {"text": "Hello."}, Session()).result.text == "Hello."


def test_a_failure_inside_is_told_in_one_short_line(box: Toolbox) -> None:
    error = error_of(box.call("fail", {}, Session()))
    assert error.code is ErrorCode.INTERNAL
    assert error.message.startswith("fail failed inside: ValueError: first line second line xxx")


@pytest.mark.parametrize(("width", "height"), [(8193, 1), (1, 8193), (9000, 9000)])
def test_an_image_with_too_long_a_side_does_not_enter_the_conversation(box: Toolbox, width: int, height: int) -> None:
    session = Session()
    error = error_of(box.call("picture", {"width": width, "height": height}, session))
    assert error.code is ErrorCode.INVALID_ARGUMENT
    assert error.message == f"picture: the picture would be {width}x{height}; a side may have 8192 px."
    assert session.images == []


def test_an_image_of_the_largest_side_enters_the_conversation(box: Toolbox) -> None:
    session = Session()
    record = box.call("picture", {"width": 8192, "height": 1}, session)
    assert record.image_index == 0
    assert session.images[0].rgb is record.result.image is not None


def test_what_is_no_image_is_a_failure_of_the_tool(box: Toolbox) -> None:
    for name, arguments in (("grey", {}), ("picture", {"width": 0, "height": 4})):
        session = Session()
        assert error_of(box.call(name, arguments, session)).code is ErrorCode.INTERNAL
        assert session.images == []


def test_the_image_that_enters_is_the_one_that_was_shown_not_another_that_is_kept(box: Toolbox) -> None:
    session = Session(images=[SessionImage(np.zeros((4, 6, 3), np.uint8))])
    record = box.call("copy", {"image_index": 0}, session)
    assert record.result.ok
    assert session.images[1].rgb is record.result.image
    assert session.variables["kept"].size == (1, 1)
